//! What the kernel is told, and what it may keep, where changes are followed.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::UNIX_EPOCH;

use super::queues::Task;
use super::*;
use crate::backing::{Dir, private_clone};
use crate::coherence::{Coherence, Keeping};
use crate::fs::samples::{CALLER, config, map, new_entry};
use crate::fs::{Config, Listed, Plus};
use crate::names::Legacy;
use crate::wait::until;

/// Says which inodes it is told of.
struct Listener(Mutex<Sender<u64>>);

impl Kernel for Listener {
    fn invalidate_name(&self, _directory: u64, _name: &[u8]) {}
    fn expire_name(&self, _directory: u64, _name: &[u8]) {}
    fn expire_attributes(&self, _number: u64) -> bool {
        true
    }
    fn invalidate_inode(&self, number: u64) -> bool {
        // Who listens may have gone.
        _ = self.0.lock().send(number);
        true
    }
}

/// Says which names it is told of, and whether it is to drop them.
struct NameListener(Mutex<Sender<(Vec<u8>, bool)>>);

impl Kernel for NameListener {
    fn invalidate_name(&self, _directory: u64, name: &[u8]) {
        drop(self.0.lock().send((name.to_vec(), true)));
    }
    fn expire_name(&self, _directory: u64, name: &[u8]) {
        drop(self.0.lock().send((name.to_vec(), false)));
    }
    fn expire_attributes(&self, _number: u64) -> bool {
        true
    }
    fn invalidate_inode(&self, _number: u64) -> bool {
        true
    }
}

/// How long things are kept here.
const TIMES: Times = Times {
    heard: LONGEST,
    unheard: Duration::from_millis(1100),
};

/// Attributes of what may have been mapped.
const MAPPED: Duration = Duration::from_secs(1);

/// What follows changes, or none where this process may not. The root is marked.
fn following(below: &Path) -> Option<Coherence> {
    let mut watcher = match Watcher::new() {
        Ok(watcher) => watcher,
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
            return None;
        }
    };
    let root = Dir::open_root(below).unwrap().into_fd();
    let own = private_clone(&root).unwrap();
    watcher.leave_out_writes_through(&own).unwrap();
    watcher.add(&root).unwrap();
    let fs = Utf8Fs::new(Config {
        opens_by_name: true,
        by_handle: Some(std::fs::File::open(below).unwrap().into()),
        ..config(root, map(Legacy::Escape, &[]))
    });
    let keeping = Keeping {
        times: TIMES,
        watcher: Ok(watcher),
        keeps_lists: true,
    };
    let coherence = Coherence::new(Arc::new(fs.unwrap()), keeping);
    mark(&coherence, ROOT);
    Some(coherence)
}

fn watched(coherence: &Coherence) -> &Arc<Watched> {
    coherence.watched.as_ref().unwrap()
}

/// Marks a directory as one that is idle, although something changed in it of late.
fn mark(coherence: &Coherence, number: u64) {
    let inode = coherence.fs.inodes().get(number).unwrap();
    watched(coherence).mark(&inode);
    inode.notes.set(IDLE, true);
}

/// The number of an entry of the root, and how long its attributes are kept.
fn looked_up(coherence: &Coherence, name: &[u8]) -> (u64, Duration) {
    let (entry, kept) = coherence.lookup(CALLER, ROOT, name).unwrap();
    (entry.inode.number, kept.attributes)
}

/// Law F5.
#[test]
fn what_others_write_is_told_before_they_close_the_file_and_once_more() {
    let below = tempfile::tempdir().unwrap();
    let file = below.path().join("file");
    std::fs::write(&file, "").unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    let (number, _) = looked_up(&coherence, b"file");
    let (told, hears): (_, Receiver<u64>) = channel();
    let (ends, end) = std::io::pipe().unwrap();
    let listener: Arc<dyn Kernel> = Arc::new(Listener(Mutex::new(told)));
    std::thread::scope(|scope| {
        scope.spawn(|| watched(&coherence).follow(&listener, &ends));
        // Changes of this process are the kernel's own.
        let mut other = Command::new("sh")
            .args(["-c", r#"exec 3>>"$0"; printf more >&3; read -r _"#])
            .arg(&file)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let until_told = || while hears.recv().unwrap() != number {};
        until_told();
        // Somebody may have been answering with what was before.
        until_told();
        assert_eq!(std::fs::metadata(&file).unwrap().size(), 4);
        other.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(other.wait().unwrap().success());
        drop(end);
    });
}

/// Law F5: whoever looked it up before the change may take note of the answer after the name was expired.
#[test]
fn f5_a_name_that_a_directory_left_is_dropped_the_second_time_unless_it_is_back() {
    const REPEATED: Duration = Duration::from_millis(900);
    let below = tempfile::tempdir().unwrap();
    for name in ["moved", "swapped", "back", "other", "other/new"] {
        std::fs::create_dir(below.path().join(name)).unwrap();
    }
    let Some(coherence) = following(below.path()) else {
        return;
    };
    for name in [&b"moved"[..], b"swapped", b"back"] {
        looked_up(&coherence, name);
    }
    let (told, hears) = channel();
    let (ends, end) = std::io::pipe().unwrap();
    let listener: Arc<dyn Kernel> = Arc::new(NameListener(Mutex::new(told)));
    std::thread::scope(|scope| {
        scope.spawn(|| watched(&coherence).follow(&listener, &ends));
        let script = "mv back b && mv b back && mkdir made && mv moved swapped other && mv other/new swapped";
        let mut other = Command::new("sh");
        let moved = other.args(["-c", script]).current_dir(&below).status();
        assert!(moved.unwrap().success());
        // When each was told of first, and whether it was to be dropped each time.
        let mut all: HashMap<Vec<u8>, (std::time::Instant, Vec<bool>)> = HashMap::new();
        let mut waits = HashSet::from([&b"moved"[..], b"swapped", b"back", b"made"]);
        while !waits.is_empty() {
            let (name, is_dropped) = hears.recv().unwrap();
            let now = std::time::Instant::now();
            let (first, drops) = all.entry(name.clone()).or_insert((now, Vec::new()));
            drops.push(is_dropped);
            if now - *first >= REPEATED {
                waits.remove(&name[..]);
            }
        }
        for (name, is_gone) in [
            (&b"moved"[..], true),
            (b"swapped", true),
            (b"back", false),
            (b"made", false),
        ] {
            let (_, mut drops) = all.remove(name).unwrap();
            assert_eq!(drops.pop(), Some(is_gone), "{}", name.escape_ascii());
            assert!(!drops.contains(&true), "{}", name.escape_ascii());
        }
        drop(end);
    });
}

/// Says how much it is told of: attributes, and names, each of which takes longer than half a stall; and whether one is seen.
struct Slow<'a>(&'a Queues, Mutex<Vec<(bool, Option<u64>)>>);

impl Slow<'_> {
    fn name(&self) {
        self.0.age_running(Duration::from_millis(600));
        self.1.lock().push((true, self.0.tend().stalled));
    }
}

impl Kernel for Slow<'_> {
    fn invalidate_name(&self, _directory: u64, _name: &[u8]) {
        self.name();
    }
    fn expire_name(&self, _directory: u64, _name: &[u8]) {
        self.name();
    }
    fn expire_attributes(&self, _number: u64) -> bool {
        true
    }
    fn invalidate_inode(&self, _number: u64) -> bool {
        self.1.lock().push((false, self.0.tend().stalled));
        true
    }
}

/// Law F5: whoever holds a directory for a while again and again delays each name in it. Attributes do not wait for names, and all
/// that takes over a second is a stall.
#[test]
fn f5_names_that_are_held_up_one_after_another_are_a_stall_and_delay_no_attributes() {
    let below = tempfile::tempdir().unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    let queues = &watched(&coherence).queues;
    let mut notice = Notice::of_itself();
    notice.expired = [b"1", b"2"].map(|name| name[..].into()).into();
    queues.add_once(ROOT, notice);
    let (job, notice) = queues.take().unwrap();
    assert!(matches!(job.1, Task::Notify(ROOT, _)), "{job:?}");
    let kernel = Slow(queues, Mutex::default());
    watched(&coherence).notify(&kernel, ROOT, notice, &job);
    let told = kernel.1.into_inner();
    assert_eq!(told, [(false, None), (true, None), (true, Some(ROOT))]);
}

#[test]
fn attributes_are_kept_for_as_long_as_their_changes_are_heard_of() {
    let below = tempfile::tempdir().unwrap();
    for name in ["file", "linked", "open"] {
        std::fs::write(below.path().join(name), "content").unwrap();
    }
    std::fs::hard_link(below.path().join("linked"), below.path().join("other")).unwrap();
    std::fs::create_dir(below.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("file", below.path().join("link")).unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    let last = |name: &[u8]| looked_up(&coherence, name).1;
    // Longer than what may change unheard, once it was not changed for longer.
    let lasts_at_rest = |name: &[u8]| {
        until(|| (TIMES.unheard..LONGEST).contains(&last(name)) && last(name) > TIMES.unheard);
    };
    // The kernel would keep its content for as long.
    for name in [&b"link"[..], b"file"] {
        assert_eq!(last(name), TIMES.unheard);
    }
    coherence.watched.as_ref().unwrap().keeps_no_content();
    // It may get another name where nobody looks, and be changed by that.
    lasts_at_rest(b"link");
    lasts_at_rest(b"file");
    // Nobody hears of what is done to it by its other name, if that is in a directory that nobody looked at.
    assert_eq!(last(b"linked"), TIMES.unheard);
    // Who has it open can write to it by a mapping.
    let (number, _) = looked_up(&coherence, b"open");
    let fs = &coherence.fs;
    let opened = fs.open(CALLER, number, libc::O_RDWR).unwrap();
    assert_eq!(last(b"open"), Duration::ZERO);
    fs.release(opened.handle);
    // A mapping may outlive the open file.
    assert_eq!(last(b"open"), MAPPED);
    // What is made in it changes it; it is marked when somebody looks at its attributes, or into it, once it is idle.
    let busy = below.path().join("dir");
    std::fs::write(busy.join("new"), "").unwrap();
    let (number, lasts) = looked_up(&coherence, b"dir");
    assert_eq!(lasts, TIMES.unheard);
    let lasts = || coherence.attributes(number).unwrap().1;
    assert_eq!(lasts(), TIMES.unheard);
    until(|| lasts() == TIMES.heard);
    let changed = std::fs::metadata(busy).unwrap();
    let changed = Time {
        secs: changed.ctime(),
        nanos: changed.ctime_nsec().try_into().unwrap(),
    };
    assert!(age(changed, SystemTime::now()) >= IDLE_AFTER);
    watched(&coherence).follow_no_more();
    for name in [&b"file"[..], b"link", b"dir"] {
        assert_eq!(last(name), TIMES.unheard);
    }
}

/// The table would grow with each directory that others make and remove, whose numbers filesystems on a disk use again at once.
#[test]
fn a_directory_that_is_forgotten_is_marked_no_more() {
    let below = tempfile::tempdir_in(".").unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    let path = below.path().join("d");
    let mut numbers = HashSet::new();
    for _ in 0..50 {
        std::fs::create_dir(&path).unwrap();
        let (number, _) = looked_up(&coherence, b"d");
        mark(&coherence, number);
        numbers.insert(number);
        std::fs::remove_dir(&path).unwrap();
    }
    // None is another's while it is not forgotten.
    assert_eq!(numbers.len(), 50);
    let marked = || watched(&coherence).status().directories;
    assert_eq!(marked(), 51);
    for number in numbers {
        coherence.forget(number, 1);
        let (job, _) = watched(&coherence).queues.take().unwrap();
        let Task::Unmark(number, handle) = &job.1 else {
            panic!("something else to be done");
        };
        watched(&coherence).take_mark(*number, handle);
        drop(job);
    }
    assert_eq!(marked(), 1, "the root");
}

/// Its lookup is taken back as the kernel does it, who may take back its own meanwhile.
#[test]
fn f4_a_directory_that_does_not_fit_into_a_list_is_marked_no_more_if_it_is_forgotten() {
    let below = tempfile::tempdir_in(".").unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    std::fs::create_dir(below.path().join("d")).unwrap();
    let (number, _) = looked_up(&coherence, b"d");
    mark(&coherence, number);
    let handle = coherence.fs.opendir(CALLER, ROOT, 0).unwrap();
    let give = |listed: &Listed<'_>, _kept| {
        let is_full = listed.name == b"d";
        if is_full {
            coherence.forget(number, 1);
        }
        is_full
    };
    coherence
        .readdir(ROOT, (handle, 0), Plus::Yes, give)
        .unwrap();
    assert!(coherence.fs.inodes().get(number).is_err(), "it is known");
    let queues = &watched(&coherence).queues;
    assert!(queues.tend().next.is_some(), "its mark is left");
    let (job, _) = queues.take().unwrap();
    assert!(matches!(job.1, Task::Unmark(unmarked, _) if unmarked == number));
    drop(job);
    coherence.fs.releasedir(handle);
}

/// Whoever holds a directory below may hold up its opening, and whoever marks another meanwhile.
#[test]
fn f5_a_directory_is_forgotten_at_once_whatever_its_mark_waits_for() {
    let below = tempfile::tempdir_in(".").unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    std::fs::create_dir(below.path().join("d")).unwrap();
    let (number, _) = looked_up(&coherence, b"d");
    mark(&coherence, number);
    let (done, is_done) = channel();
    std::thread::scope(|scope| {
        let marking = watched(&coherence).marked.lock();
        scope.spawn(|| {
            coherence.forget(number, 1);
            done.send(()).unwrap();
        });
        let forgotten = is_done.recv_timeout(Duration::from_secs(10));
        drop(marking);
        forgotten.unwrap();
    });
}

/// Only what others may make is to be expired where it is not heard of.
#[test]
fn what_the_mount_makes_is_absent_no_more() {
    let below = tempfile::tempdir().unwrap();
    let Some(coherence) = following(below.path()) else {
        return;
    };
    let absent = |name: &[u8]| {
        assert!(coherence.lookup(CALLER, ROOT, name).is_err());
        assert_eq!(coherence.keep_absence(ROOT, name), TIMES.heard);
    };
    for name in [&b"fifo"[..], b"file", b"renamed", b"other"] {
        absent(name);
    }
    let make = |name: &[u8], mode| {
        let new = new_entry(ROOT, name, mode);
        coherence.make(&new, |fs| fs.mknod(&new, 0)).unwrap();
    };
    make(b"fifo", libc::S_IFIFO | 0o644);
    make(b"file", libc::S_IFREG | 0o644);
    coherence
        .rename(CALLER, (ROOT, b"file"), (ROOT, b"renamed"), 0)
        .unwrap();
    let absent = coherence.dentries.absent_names();
    assert_eq!(absent, [(ROOT, b"other"[..].into())]);
}

#[test]
fn a_file_is_at_rest_for_as_long_as_it_was_not_changed() {
    let now = UNIX_EPOCH + Duration::new(1_000_000, 500_000_000);
    for (secs, nanos, rest) in [
        (1_000_000, 500_000_000, Duration::ZERO),
        (1_000_000, 400_000_000, Duration::from_millis(100)),
        (999_990, 500_000_000, Duration::from_secs(10)),
        (999_900, 0, LONGEST),
        // By another clock, or by one that was set back.
        (1_000_001, 0, Duration::ZERO),
        (i64::MAX, 999_999_999, Duration::ZERO),
        // Before 1970: nobody's clock says when that was.
        (-1, 0, Duration::ZERO),
        (i64::MIN, 0, Duration::ZERO),
    ] {
        assert_eq!(at_rest(Time { secs, nanos }, now), rest, "{secs}");
    }
}
