//! Law F7: a daemon that is killed at any moment under load loses nothing that was acknowledged, leaves nothing of its
//! own behind, and another one takes over at once.
//!
//! `scripts/long kills` has many more kills than the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::sandbox::helpers_of;

use crate::support::mount::means_dead;
use crate::support::random::Random;
use crate::support::strace::Strace;
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, needs, show};

const WRITERS: usize = 4;

/// What a writer was told is on the disk: contents by visible name.
type Acknowledged = BTreeMap<Vec<u8>, Vec<u8>>;

/// Makes files as careful programs do, each with an old name of the charset in turn: written under a passing name, synced,
/// renamed, and the directory synced. Ends when the daemon does.
fn write_until_death(
    mount: &Mount<'_>,
    writer: usize,
    round: usize,
    done: &AtomicUsize,
) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    let mut write = |n: usize| -> at::Result<()> {
        let passing = format!("w{writer}-passing");
        let name = match n % 3 {
            0 => format!("w{writer}-r{round}-{}-caf\u{E9}", n % 10),
            _ => format!("w{writer}-r{round}-{n}"),
        };
        let content = format!("{name} written as number {n} ").repeat(1 + n % 50);
        let flags =
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CREATE | rustix::fs::OFlags::TRUNC;
        let file = at::open(mount.dir(), passing.as_bytes(), flags)?;
        at::write_all(&file, content.as_bytes())?;
        rustix::fs::fsync(&file)?;
        // From here on either content is right, until the rename is acknowledged.
        acknowledged.remove(name.as_bytes());
        at::rename(mount.dir(), passing.as_bytes(), name.as_bytes())?;
        acknowledged.insert(name.into_bytes(), content.into_bytes());
        rustix::fs::fsync(mount.dir())?;
        done.fetch_add(1, Ordering::Release);
        Ok(())
    };
    let mut n = 0;
    while write(n).is_ok() {
        n += 1;
    }
    acknowledged
}

/// Programs that are installed and work on the mount until it dies.
struct Others(Vec<Child>);

impl Others {
    fn start(point: &Path, source: &Path, round: usize) -> Self {
        let place = point.join(format!("tree{round}"));
        std::fs::create_dir(&place).unwrap();
        let quiet = |command: &mut Command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .ok()
        };
        let script = "while cp -a \"$1\" \"$2/copy\" && tar -C \"$2\" -cf \"$2/tar\" copy && tar -C \"$2\" -xf \"$2/tar\" && rm -r \"$2/copy\"; do :; done";
        let mut tar = Command::new("sh");
        tar.args(["-c", script, "sh"]).arg(source).arg(&place);
        let mut all = vec![quiet(&mut tar)];
        if std::env::var_os("UTF8FS_KILLS").is_some() {
            let mut dbench = Command::new("dbench");
            dbench.args(["-t", "600", "-D"]).arg(&place).arg("2");
            all.push(quiet(&mut dbench));
            let mut fsx = Command::new("fsx");
            fsx.args(["-q", "-N", "100000000"]).arg(place.join("fsx"));
            all.push(quiet(&mut fsx));
        }
        Self(all.into_iter().flatten().collect())
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // With what it started itself, which would go on working on the next mount.
            _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            drop(child.wait());
        }
    }
}

/// A kill when so many files were acknowledged, and what is there afterwards by another daemon.
fn kill_once(
    tree: &Tree,
    source: &Path,
    round: usize,
    random: &mut Random,
    all: &mut Acknowledged,
) {
    let options = ["--store-as", "iso-8859-1"];
    let mut mount = tree.mount(&options);
    mount.allow_warning("is dead: its daemon was killed; taking it away");
    let moment = usize::try_from(1 + random.below(300)).unwrap();
    let done = AtomicUsize::new(0);
    let told = Mutex::new(Acknowledged::new());
    let others = Others::start(&mount.point(), source, round);
    std::thread::scope(|scope| {
        let (mount, done, told) = (&mount, &done, &told);
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let acknowledged = write_until_death(mount, writer, round, done);
                told.lock().unwrap().extend(acknowledged);
            });
        }
        until(|| done.load(Ordering::Acquire) >= moment);
        // Anywhere in what goes on.
        for _ in 0..random.below(200_000) {
            std::hint::spin_loop();
        }
        mount.signal(Signal::KILL);
    });
    drop(others);
    mount.close();
    mount.kill();
    all.extend(told.into_inner().unwrap());
    let mut mount = tree.mount(&options);
    mount.allow_warning("is dead: its daemon was killed; taking it away");
    check(&mount, tree, all, round);
    mount.stop();
}

/// Every name and byte that was acknowledged is there, and no name that nobody made, nor one twice.
fn check(mount: &Mount<'_>, tree: &Tree, all: &Acknowledged, round: usize) {
    let listed = at::list(mount.dir());
    let names: BTreeSet<&Vec<u8>> = listed.iter().collect();
    assert_eq!(
        names.len(),
        listed.len(),
        "round {round}: a name is doubled"
    );
    assert_eq!(
        at::list(tree.below_dir()).len(),
        listed.len(),
        "round {round}"
    );
    for (name, content) in all {
        let found = at::read(mount.dir(), name);
        assert_eq!(found.as_ref(), Ok(content), "round {round}: {}", show(name));
    }
    for name in names {
        let name = std::str::from_utf8(name).unwrap();
        let is_ours = name.starts_with("tree")
            || (0..WRITERS).any(|writer| {
                name == format!("w{writer}-passing") || name.starts_with(&format!("w{writer}-r"))
            });
        assert!(is_ours, "round {round}: {name} was made by nobody");
    }
}

/// A tree to copy: names of both kinds, of many sizes.
fn source(tree: &Tree) -> PathBuf {
    let source = tree.parent().join("source");
    std::fs::create_dir(&source).unwrap();
    for n in 0..200 {
        let name = if n % 4 == 0 {
            format!("{n}-\u{E9}t\u{E9}")
        } else {
            format!("file{n}")
        };
        std::fs::write(source.join(name), vec![b'x'; n * 97]).unwrap();
    }
    source
}

#[test]
fn f7_what_was_acknowledged_is_there_after_a_kill_at_any_moment() {
    if !needs::root("files that a daemon leaves behind that was killed") {
        return;
    }
    let number = |name: &str, otherwise: u64| {
        let given = std::env::var(name).ok();
        given.map_or(otherwise, |number| number.parse().unwrap())
    };
    let tree = Tree::new();
    let source = source(&tree);
    let mut random = Random::new(number("UTF8FS_KILLS_SEED", 1));
    let mut all = Acknowledged::new();
    for round in 0..number("UTF8FS_KILLS", 5) {
        let round = usize::try_from(round).unwrap();
        kill_once(&tree, &source, round, &mut random, &mut all);
        let place = tree.backing().join(format!("tree{round}"));
        std::fs::remove_dir_all(place).unwrap();
    }
    eprintln!("{} files were acknowledged, and are there", all.len());
}

/// The kernel cuts the connection of a daemon whose last thread is gone. One that tells it what to forget waits for whoever
/// works in that directory, and who works there waited for the daemon: neither went away. `end` kills it in that moment, and
/// has to let go of who works there.
fn kill_while_a_thread_waits(tree: &Tree, end: impl FnOnce(&Mount<'_>, Strace)) {
    tree.directory(b"d");
    tree.until_idle();
    let mut mount = tree.mount(&["--cache=watch"]);
    let (above, below) = (mount.dir(), tree.below_dir());
    at::list(at::open_dir(above, b"d").unwrap());
    // The directory is made in an hour; until then it is locked above.
    let log = tree.parent().join("calls");
    let delay = [
        "-e",
        "trace=mkdirat",
        "-e",
        "inject=mkdirat:delay_enter=3600000000",
    ];
    let arguments = [&delay[..], &["-o", log.to_str().unwrap()]].concat();
    let tracer = Strace::attach(&mount, &arguments);
    let made = std::thread::scope(|scope| {
        let made = scope.spawn(|| at::mkdir(above, b"d/above"));
        let mut number = 0;
        while !is_notification_held_back(&mount) {
            number += 1;
            at::write_new(&below, format!("d/below{number}").as_bytes(), b"").unwrap();
            assert!(!made.is_finished());
        }
        end(&mount, tracer);
        made.join().unwrap()
    });
    let errno = made.unwrap_err();
    assert!(means_dead(errno), "{errno}");
    mount.close();
    mount.kill();
}

#[test]
fn f7_a_killed_daemon_lets_go_of_callers_that_its_own_thread_waits_for() {
    if needs::root("fanotify, strace(1) of a daemon") {
        let tree = Tree::in_memory();
        kill_while_a_thread_waits(&tree, |mount, tracer| {
            mount.signal(Signal::KILL);
            drop(tracer);
        });
    }
}

/// As service managers kill what does not end in time.
#[test]
fn f7_mounting_again_lets_go_of_them_where_the_helpers_were_killed_too() {
    if !needs::root("fanotify, strace(1) of a daemon") {
        return;
    }
    let tree = Tree::in_memory();
    kill_while_a_thread_waits(&tree, |mount, tracer| {
        for helper in helpers_of(mount.id()) {
            kill_process(Pid::from_raw(helper.cast_signed()).unwrap(), Signal::KILL).unwrap();
        }
        mount.signal(Signal::KILL);
        drop(tracer);
        let mut again = tree.mount(&[]);
        again.allow_warning("is dead: its daemon was killed; taking it away");
        at::mkdir(again.dir(), b"d/again").unwrap();
        again.stop();
    });
}

/// Does the kernel hold a worker back in a notification about a name?
fn is_notification_held_back(mount: &Mount<'_>) -> bool {
    let workers = mount.threads().into_iter();
    let mut workers = workers.filter(|(comm, _)| comm == b"notify");
    workers.any(|(_, task)| {
        let place = std::fs::read_to_string(task.join("wchan")).unwrap();
        place.contains("inval_entry")
    })
}
