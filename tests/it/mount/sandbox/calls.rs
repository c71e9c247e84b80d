//! The system calls that daemons make, against the list of those that they may make.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use utf8fs::os::sandbox::{DAEMON, OLDER};

use super::super::users::prepare_for_user;
use crate::support::mount::{binary, wait_until_unmounted};
use crate::support::wait::until;
use crate::support::{Tree, needs, status, user};

/// The calls that are listed though no run of this test is sure to make them, each with its reason.
const SPARE: &[(&str, &str)] = &[
    ("brk", "memory, by the C library"),
    ("mremap", "memory, by the C library"),
    ("madvise", "memory, by the C library"),
    ("sched_yield", "locks that are busy"),
    ("restart_syscall", "the kernel's own, after a stop"),
    ("rt_sigreturn", "the end of a signal's handler"),
    ("tgkill", "an abort"),
    ("clock_gettime", "where the kernel maps no clock"),
    ("nanosleep", "clock_nanosleep(2), by another C library"),
    ("fstat", "statx(2), by another C library"),
    ("newfstatat", "statx(2), by another C library"),
    ("dup3", "dup2(2), where the processor has none"),
    (
        "geteuid",
        "it cannot fail, so that nobody would see that it did",
    ),
];

/// Calls off the list that a C library tries first.
const TRIED: &[&str] = &["clone3"];

/// Run in `$PLACE` by who may: what programs do with files. Not all of it works everywhere.
const ACT: &str = r#"
cd "$PLACE" && umask 027
printf x > file; printf y >> file; cat file; mkdir dir; mkfifo fifo; mknod device c 1 3
ln -s file link; ln file hard; readlink link; ls -lR .; stat -f .; test -w file; test -x dir
chmod 640 file; chmod 2775 dir; mkdir dir/deep; chown 1:1 file; chown -h 1:1 link; touch file; touch -h -d @1 link
perl -e 'truncate "file", 3; rename "hard", "harder"; rename "nothing", "nowhere"'
for name in user.a trusted.a; do
    setfattr -n $name -v b file; getfattr -n $name file; getfattr -d -m - file; setfattr -x $name file
    setfattr -h -n $name -v b link; getfattr -h -d -m - link; setfattr -h -x $name link
done
setfacl -m u:1:rw file; cp file copy; mv -n copy moved; mv moved ö
dd if=/dev/zero of=big bs=4096 count=4 conv=fsync; dd if=/dev/zero of=big bs=4096 count=4 conv=fdatasync,notrunc
dd if=big of=/dev/null bs=4096; fallocate -l 32768 big; fallocate -p -o 0 -l 4096 big; cp --sparse=always big sparse
perl -e 'open F, "<", "big"; sysseek F, 0, 4'
perl -e 'use Fcntl; sysopen F, ".", 0x410000 | O_RDWR, 0600; syswrite F, "x"; truncate F, 0; utime 1, 1, F'
perl -e 'use Fcntl ":flock"; open F, "+<", "file"; flock F, LOCK_EX; fcntl F, 6, pack "s s x4 q q i x4", 1, 0, 0, 0, 0'
sync dir; mkdir "$(printf 'bad\377')"; cat caf*; mv café naïve; cp "$PROGRAM" program && ./program --version
rm link harder fifo device sparse program; rmdir dir/deep dir
"#;

/// Traces of what was run, a file for each thread.
struct Traces(PathBuf);

impl Traces {
    fn new(tree: &Tree, name: &str) -> Self {
        let traces = tree.parent().join(name);
        std::fs::create_dir(&traces).unwrap();
        Self(traces)
    }

    /// strace(1), which is to run a program as `uid` in its own place.
    fn command(&self, uid: u32, program: &Path) -> Command {
        let mut strace = Command::new("strace");
        strace.args(["--daemonize", "-ff", "-q", "-e", "signal=none", "-o"]);
        strace.arg(self.0.join("thread"));
        if uid == user::NOBODY {
            // It lets fusermount3 be root.
            strace.args(["-u", "nobody"]);
        }
        strace.arg(program);
        strace
    }

    /// The lines of each thread, once all threads have ended.
    fn threads(&self) -> BTreeMap<u32, Vec<String>> {
        let read = || -> BTreeMap<u32, Vec<String>> {
            let files = std::fs::read_dir(&self.0).unwrap().map(Result::unwrap);
            let parse = |file: std::fs::DirEntry| {
                let number = file.path().extension().unwrap().to_str().unwrap().parse();
                let text = std::fs::read(file.path()).unwrap();
                let lines = text.split(|&octet| octet == b'\n');
                let lines = lines.map(|line| line.escape_ascii().to_string());
                (
                    number.unwrap(),
                    lines.filter(|line| !line.is_empty()).collect(),
                )
            };
            files.map(parse).collect()
        };
        until(|| {
            let ended =
                |lines: &Vec<String>| lines.last().is_some_and(|last| last.starts_with("+++"));
            read().values().all(ended)
        });
        read()
    }

    /// The lines with calls that confined daemons made: those of their first threads since the filter, and of all others.
    fn of_daemons(&self) -> Vec<String> {
        let threads = self.threads();
        let mut calls = Vec::new();
        for (&number, lines) in &threads {
            let is_filter = |line: &String| {
                line.starts_with("seccomp(SECCOMP_SET_MODE_FILTER") && line.ends_with("= 0")
            };
            let is_helper = lines.iter().any(|line| line.contains("utf8fs-helper"));
            let Some(at) = lines.iter().rposition(is_filter).filter(|_| !is_helper) else {
                continue;
            };
            let mut next = vec![(number, at + 1)];
            while let Some((thread, first)) = next.pop() {
                for line in &threads[&thread][first..] {
                    if line.starts_with("clone")
                        && line.contains("CLONE_THREAD")
                        && let Some(Ok(made)) = line.rsplit("= ").next().map(str::parse)
                    {
                        next.push((made, 0));
                    }
                    calls.push(line.clone());
                }
            }
        }
        assert!(!calls.is_empty(), "no daemon was confined");
        calls
    }
}

/// Mounts in the background as `uid`, acts there, has `act` done besides, and ends the mount by SIGTERM.
fn serve(tree: &Tree, name: &str, uid: u32, options: &[&str], act: impl FnOnce(Pid)) -> Traces {
    let traces = Traces::new(tree, name);
    let program = match uid {
        0 => binary().into(),
        _ => prepare_for_user(tree),
    };
    let log = tree.parent().join(format!("{name}.jsonl"));
    drop(File::create(&log).unwrap());
    chown(&log, Some(uid), Some(uid)).unwrap();
    let said = File::create(tree.parent().join("said")).unwrap();
    let status = traces
        .command(uid, &program)
        .args([
            "mount",
            "--background",
            "--from",
            "iso-8859-1",
            "--audit-log",
        ])
        .arg(log)
        .args(options)
        .args([tree.backing(), tree.point()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .status()
        .unwrap();
    let said = std::fs::read_to_string(tree.parent().join("said")).unwrap();
    assert!(status.success(), "{said}");
    let script = format!("PROGRAM={}; {ACT}", program.to_str().unwrap());
    drop(user::script(uid, &tree.point(), &script));
    let daemon = status::of(&tree.point())["pid"].as_i64().unwrap();
    let daemon = Pid::from_raw(daemon.try_into().unwrap()).unwrap();
    act(daemon);
    kill_process(daemon, Signal::TERM).unwrap();
    wait_until_unmounted(&tree.point());
    traces
}

/// A tree with a legacy name in it, of `uid`.
fn tree(uid: u32) -> Tree {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    for path in [tree.backing(), tree.point()] {
        chown(path, Some(uid), Some(uid)).unwrap();
    }
    tree
}

/// Changes that others make below are heard of, and what the kernel has forgotten is not marked any more.
fn change_below(tree: &Tree) {
    tree.until_idle();
    let inside = tree.point().join("inside");
    std::fs::create_dir(tree.backing().join("inside")).unwrap();
    tree.until_idle();
    std::fs::read_dir(&inside).unwrap().for_each(drop);
    std::fs::remove_dir(tree.backing().join("inside")).unwrap();
    until(|| inside.symlink_metadata().is_err());
}

/// A guard that renames what is not well-formed.
fn guard(tree: &Tree) -> Traces {
    let traces = Traces::new(tree, "guard");
    let said = tree.parent().join("said");
    let journal = tree.logs().join("journal");
    let mut guard: Child = traces
        .command(0, Path::new(binary()))
        .args([
            "guard",
            "--on-violation",
            "normalize",
            "--from",
            "iso-8859-1",
        ])
        .args(["--grace", "0.1", "--journal"])
        .args([&*journal, "--audit-log".as_ref(), &*tree.audit_log()])
        .arg(tree.backing())
        .stderr(File::create(&said).unwrap())
        .spawn()
        .unwrap();
    until(|| {
        let said = std::fs::read_to_string(&said).unwrap();
        assert_eq!(guard.try_wait().unwrap(), None, "{said}");
        said.contains(" is guarded")
    });
    tree.file(b"na\xEFf", b"content");
    let mended = ["café", "naïf"].map(|name| tree.backing().join(name));
    until(|| mended.iter().all(|name| name.symlink_metadata().is_ok()));
    kill_process(Pid::from_child(&guard), Signal::TERM).unwrap();
    assert!(guard.wait().unwrap().success());
    traces
}

/// Whoever takes a daemon over can make each call on its list: so none is there that no daemon makes, of root's or of a user's, by
/// rings or by the device, of a mount or a guard.
#[test]
fn each_call_on_the_list_is_made_and_no_other() {
    if !needs::root("strace of daemons") {
        return;
    }
    let trees = [0, 0, 0, user::NOBODY, 0].map(tree);
    let [usual, device, entering, users, guarded] = &trees;
    let runs = [
        serve(usual, "usual", 0, &[], |daemon| {
            change_below(usual);
            kill_process(daemon, Signal::HUP).unwrap();
        }),
        serve(
            device,
            "device",
            0,
            &[
                "--uring",
                "off",
                "--passthrough",
                "off",
                "--locks",
                "backing",
                "-o",
                "sync",
            ],
            drop,
        ),
        serve(
            entering,
            "entering",
            0,
            &["--cross-mounts", "--unique", "casefold"],
            drop,
        ),
        serve(users, "users", user::NOBODY, &[], drop),
        guard(guarded),
    ];
    let calls: Vec<String> = runs.iter().flat_map(Traces::of_daemons).collect();
    let name = |line: &String| line.split('(').next().unwrap().to_owned();
    let made: BTreeSet<String> = calls
        .iter()
        .map(name)
        .filter(|name| !name.starts_with("+++"))
        .collect();
    let refused = calls.iter().filter(|line| line.contains(" ENOSYS "));
    let refused: BTreeSet<&String> = refused
        .filter(|line| !TRIED.contains(&&*name(line)))
        .collect();
    assert!(refused.is_empty(), "not let through: {refused:#?}");
    let listed: BTreeSet<&str> = DAEMON.iter().map(|call| call.name).collect();
    let is_spare = |name: &&str| SPARE.iter().any(|(spare, _)| spare == name);
    let unused: Vec<&&str> = listed
        .iter()
        .filter(|&&name| !made.contains(name) && !is_spare(&name))
        .collect();
    assert!(unused.is_empty(), "no daemon makes them: {unused:?}");
    for (spare, reason) in SPARE {
        assert!(listed.contains(spare), "{spare} ({reason}) is not listed");
    }
    for older in OLDER {
        assert!(made.contains(older.name), "no daemon makes {}", older.name);
    }
}
