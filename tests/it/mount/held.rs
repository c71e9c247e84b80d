//! Law F5: what somebody does who holds the lock of a directory for as long as he likes.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::coherence::{HEARD, SLOW};
use crate::support::wait::{until, within};
use crate::support::{Mount, Tree, at, needs, status};

/// Holds the lock of a directory above, as any user can: what it lists is to be written to a file of his own filesystem, whose
/// daemon is stopped.
struct Holder<'m> {
    process: Child,
    stopped: Mount<'m>,
}

impl<'m> Holder<'m> {
    /// Holds each of `directories`, by a thread of its own.
    fn of(directories: &[PathBuf], own: &'m Tree) -> Self {
        own.file(b"mapped", &[0; 4096]);
        let stopped = own.mount(&["--passthrough=off"]);
        let script = r"
import ctypes, mmap, os, sys, threading
file = os.open(sys.argv[1], os.O_RDONLY)
def hold(path):
    listed = os.open(path, os.O_RDONLY)
    memory = mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ready.wait()
    begin.wait()
    ctypes.CDLL(None).syscall(217, listed, ctypes.c_void_p(address), 4096)
ready = threading.Barrier(len(sys.argv) - 1)
begin = threading.Event()
threads = [threading.Thread(target=hold, args=[path]) for path in sys.argv[2:]]
for thread in threads: thread.start()
ready.wait()
print('ready', flush=True)
sys.stdin.readline()
begin.set()
for thread in threads: thread.join()
";
        let mut process = Command::new("python3")
            .args(["-c", script])
            .arg(stopped.point().join("mapped"))
            .args(directories)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        process
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .unwrap();
        stopped.pause();
        process.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let tasks = format!("/proc/{}/task", process.id());
        until(|| {
            let tasks = std::fs::read_dir(&tasks).unwrap();
            let is_held = |task: &Path| {
                let of = |what| std::fs::read_to_string(task.join(what)).unwrap();
                of("syscall").starts_with("217 ") && of("stat").contains(") D ")
            };
            let held = tasks.filter(|task| is_held(&task.as_ref().unwrap().path()));
            held.count() == directories.len()
        });
        Self { process, stopped }
    }

    fn let_go(mut self) {
        self.stopped.go_on();
        assert!(self.process.wait().unwrap().success());
        self.stopped.stop();
    }
}

/// Law F5: a directory that somebody works in for as long as he likes delays notifications about itself alone.
#[test]
fn f5_whoever_holds_a_directory_delays_changes_of_no_other() {
    if !needs::root("fanotify") {
        return;
    }
    let (tree, own) = (Tree::new(), Tree::new());
    for name in [&b"held"[..], b"other"] {
        tree.directory(name);
    }
    for name in [
        &b"held/removed"[..],
        b"other/removed",
        b"other/late",
        b"last",
    ] {
        tree.file(name, b"content");
    }
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("has held back a notification");
    let (above, below) = (mount.dir(), tree.below_dir());
    for name in [
        &b"held/removed"[..],
        b"other/removed",
        b"other/late",
        b"last",
    ] {
        at::stat(above, name).unwrap();
    }
    let holder = Holder::of(&[mount.point().join("held")], &own);
    let is_gone = |name: &[u8]| at::stat(above, name).err() == Some(Errno::NOENT);
    at::unlink(&below, b"held/removed").unwrap();
    at::unlink(&below, b"other/removed").unwrap();
    within(HEARD, || is_gone(b"other/removed"));

    // The kernel keeps nothing for long while that lasts, and it is said.
    within(SLOW, || {
        status::of(&mount.point())["watch"]["stalled"] == true
    });
    let lookups = || status::requests(&mount.point())["lookup"];
    at::stat(above, b"other/late").unwrap();
    let before = lookups();
    within(SLOW, || {
        at::stat(above, b"other/late").unwrap();
        lookups() > before
    });
    at::unlink(&below, b"other/late").unwrap();
    within(HEARD, || is_gone(b"other/late"));

    holder.let_go();
    within(SLOW, || is_gone(b"held/removed"));
    within(SLOW, || {
        status::of(&mount.point())["watch"]["stalled"] == false
    });
    at::unlink(&below, b"last").unwrap();
    within(HEARD, || is_gone(b"last"));
    mount.stop();
}

/// Law F5: so do many directories, all changed at once.
#[test]
fn f5_whoever_holds_many_directories_delays_changes_of_no_other() {
    if !needs::root("fanotify") {
        return;
    }
    const MANY: usize = 100;
    let (tree, own) = (Tree::new(), Tree::new());
    let held: Vec<String> = (0..MANY).map(|number| format!("held{number}")).collect();
    for name in &held {
        tree.directory(name.as_bytes());
    }
    tree.directory(b"other");
    let names: Vec<String> = (0..8).map(|number| format!("other/{number}")).collect();
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("has held back a notification");
    let (above, below) = (mount.dir(), tree.below_dir());
    let is_there = |name: &[u8]| at::stat(above, name).is_ok();
    let made: Vec<String> = held.iter().map(|name| format!("{name}/made")).collect();
    for name in names.iter().chain(&made) {
        assert!(!is_there(name.as_bytes()));
    }
    let points: Vec<PathBuf> = held.iter().map(|name| mount.point().join(name)).collect();
    let holder = Holder::of(&points, &own);
    for name in &made {
        at::create_new(&below, name.as_bytes()).unwrap();
    }
    // Also after the stall was noticed, and nothing is kept for long any more.
    for (number, name) in names.iter().enumerate() {
        at::create_new(&below, name.as_bytes()).unwrap();
        within(HEARD, || is_there(name.as_bytes()));
        if number == 3 {
            within(SLOW, || {
                status::of(&mount.point())["watch"]["stalled"] == true
            });
        }
    }
    holder.let_go();
    within(SLOW, || made.iter().all(|name| is_there(name.as_bytes())));
    mount.stop();
}

/// Law F5: what the kernel was not told while a directory was held it is told when that is over, of absent names too.
#[test]
fn f5_names_made_in_a_held_directory_are_there_once_it_is_let_go() {
    if !needs::root("fanotify") {
        return;
    }
    let (tree, own) = (Tree::new(), Tree::new());
    tree.directory(b"held");
    tree.file(b"later", b"content");
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("has held back a notification");
    let (above, below) = (mount.dir(), tree.below_dir());
    at::stat(above, b"later").unwrap();
    let names = [&b"held/first"[..], b"held/second"];
    for name in names {
        assert_eq!(at::stat(above, name).err(), Some(Errno::NOENT));
    }
    let holder = Holder::of(&[mount.point().join("held")], &own);
    at::create_new(&below, b"held/first").unwrap();
    within(SLOW, || {
        status::of(&mount.point())["watch"]["stalled"] == true
    });
    // Nobody can tell the kernel of this one now. What comes after it is heard of after it.
    at::create_new(&below, b"held/second").unwrap();
    at::unlink(&below, b"later").unwrap();
    within(HEARD, || at::stat(above, b"later").is_err());
    holder.let_go();
    within(SLOW, || {
        names.iter().all(|name| at::stat(above, name).is_ok())
    });
    mount.stop();
}

/// Law F5, F1: attributes of a listed file reach the kernel once whoever asked for the list has it, who can hold that up for as long as
/// he likes. What changed meanwhile is not kept as it was.
#[test]
fn f5_what_changed_while_its_list_was_held_is_seen_once_that_is_let_go() {
    if !needs::root("fanotify") {
        return;
    }
    let (tree, own) = (Tree::new(), Tree::new());
    tree.directory(b"held");
    let names: Vec<Vec<u8>> = (0..10)
        .map(|number| format!("held/{number}").into_bytes())
        .collect();
    for name in &names {
        tree.file(name, b"content");
    }
    let below = tree.below_dir();
    // Their attributes are kept for as long as they were left alone.
    let rested = || at::stat(&below, &names[9]).unwrap().st_ctime + 6;
    until(|| SystemTime::now() > UNIX_EPOCH + Duration::from_secs(rested().cast_unsigned()));
    let mut mount = tree.mount(&["--cache=watch"]);
    mount.allow_warning("has held back a notification");
    let holder = Holder::of(&[mount.point().join("held")], &own);
    for name in &names {
        rustix::fs::chmodat(&below, &**name, Mode::RUSR, AtFlags::empty()).unwrap();
    }
    // Longer than until a notification is repeated.
    std::thread::sleep(Duration::from_millis(2500));
    holder.let_go();
    within(HEARD, || {
        let mode = |name: &Vec<u8>| at::stat(mount.dir(), name).unwrap().st_mode & 0o777;
        names.iter().all(|name| mode(name) == 0o400)
    });
    mount.stop();
}
