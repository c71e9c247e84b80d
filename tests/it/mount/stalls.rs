//! Operations that the backing filesystem lets wait: the others go on.
//!
//! A lease (fcntl(2), `F_SETLEASE`) lets whoever opens a file wait until its holder gives it back: a disk that stalls, for
//! some files only.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::OFlags;

use crate::support::wait::until;
use crate::support::{Tree, at, needs};

/// More than there are processors, and than threads read at a time.
const FILES: usize = 20;

/// Holds leases of files until its standard input ends.
struct Holder(Child);

impl Holder {
    fn of(tree: &Tree, names: &[Vec<u8>]) -> Self {
        // 1024 is F_SETLEASE, 1 F_WRLCK.
        let script = "$SIG{IO} = 'IGNORE'; \
            for (@ARGV) { open my $f, '+<', $_ or die $!; fcntl $f, 1024, 1 or die $!; push @held, $f } \
            $| = 1; print qq{held\\n}; <STDIN>";
        let mut command = Command::new("perl");
        command.args(["-e", script]).current_dir(tree.backing());
        command.args(
            names
                .iter()
                .map(|name| String::from_utf8(name.clone()).unwrap()),
        );
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = Self(pipes.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(holder.0.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "held\n");
        holder
    }

    /// How many wait for it.
    fn waiting(&self) -> usize {
        let id = self.0.id().to_string();
        std::fs::read_to_string("/proc/locks")
            .unwrap()
            .lines()
            .filter(|line| line.contains("LEASE") && line.contains("BREAKING"))
            .filter(|line| line.split_whitespace().any(|word| word == id))
            .count()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn a_stalled_operation_does_not_stop_the_others() {
    needs::fuse();
    let tree = Tree::new();
    let names: Vec<Vec<u8>> = (0..FILES)
        .map(|number| format!("held {number}").into_bytes())
        .collect();
    for name in &names {
        tree.file(name, b"held");
    }
    tree.file(b"free", b"free");
    let mount = tree.mount(&[]);
    let holder = Holder::of(&tree, &names);
    let opened = AtomicUsize::new(0);
    thread::scope(|scope| {
        for name in &names {
            let (mount, opened) = (&mount, &opened);
            scope.spawn(move || {
                at::open(mount.dir(), name, OFlags::RDONLY).unwrap();
                opened.fetch_add(1, Ordering::Release);
            });
        }
        until(|| holder.waiting() == FILES);
        let dir = mount.dir();
        assert_eq!(at::list(dir).len(), FILES + 1);
        assert_eq!(at::read(dir, b"free").unwrap(), b"free");
        at::write_new(dir, b"new", b"made meanwhile").unwrap();
        at::rename(dir, b"new", b"newer").unwrap();
        at::unlink(dir, b"newer").unwrap();
        assert_eq!(opened.load(Ordering::Acquire), 0, "they were not stalled");
        drop(holder);
    });
    assert_eq!(opened.load(Ordering::Acquire), FILES);
    mount.stop();
}
