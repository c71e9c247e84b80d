//! Operations that the backing filesystem lets wait: the others go on.
//!
//! A lease (fcntl(2), `F_SETLEASE`) lets whoever opens a file wait until its holder gives it back: a disk that stalls, for
//! some files only.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::OFlags;

use crate::support::wait::until;
use crate::support::{Tree, at, needs};

/// More than the operations that are served at a time (`--threads`).
const MANY: usize = 40;

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

/// Writes to a file from memory that cannot be read, so that the write holds the file's lock until that can be read again; then opens the file
/// many times with `O_TRUNC`.
const WRITER: &str = r"
import mmap, os, sys, threading
path, mapped, many = sys.argv[1], os.open(sys.argv[2], os.O_RDONLY), int(sys.argv[3])
memory = mmap.mmap(mapped, 4096, mmap.MAP_SHARED, mmap.PROT_READ)
file = os.open(path, os.O_WRONLY)
print('ready', flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=os.write, args=[file, memory])]
threads[0].start()
sys.stdin.readline()
threads += [threading.Thread(target=os.open, args=[path, os.O_WRONLY | os.O_TRUNC]) for _ in range(many)]
for thread in threads[1:]: thread.start()
for thread in threads: thread.join()
";

#[test]
fn one_who_holds_a_write_to_a_file_of_his_stops_nobody_else() {
    if !needs::root("kernel passthrough") {
        return;
    }
    let (tree, own) = (Tree::new(), Tree::new());
    tree.file(b"written", b"content");
    tree.file(b"free", b"free");
    own.file(b"mapped", &[1; 4096]);
    let mount = tree.mount(&["--cache", "none"]);
    let stopped = own.mount(&["--passthrough=off"]);
    let mut writer = Command::new("python3")
        .args(["-c", WRITER])
        .arg(mount.point().join("written"))
        .arg(stopped.point().join("mapped"))
        .arg(MANY.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "ready");
    stopped.pause();
    let tasks = format!("/proc/{}/task", writer.id());
    let mut input = writer.stdin.take().unwrap();
    let mut go_on = || input.write_all(b"\n").unwrap();
    let waiting = || {
        let tasks = std::fs::read_dir(&tasks).unwrap();
        // write(2) and openat(2).
        let waits = |task: &std::fs::DirEntry| {
            let call = std::fs::read_to_string(task.path().join("syscall")).unwrap();
            call.starts_with("1 ") || call.starts_with("257 ")
        };
        tasks.filter(|task| waits(task.as_ref().unwrap())).count()
    };
    go_on();
    until(|| waiting() == 1);
    go_on();
    until(|| waiting() == MANY + 1);
    // In a process of its own: where it is not answered it has to be killed.
    let other = Command::new("timeout")
        .args(["--signal=KILL", "10", "ls", "-l"])
        .arg(mount.point())
        .output()
        .unwrap();
    assert!(other.status.success(), "{other:?}");
    stopped.go_on();
    assert!(writer.wait().unwrap().success());
    stopped.stop();
    mount.stop();
}
