//! docs/internals/security.md against running daemons, and what works in the sandbox all the same.

mod calls;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, inotify};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use utf8fs::os::sandbox::{Call, DAEMON, HELPER, OLDER};

use super::users::prepare_for_user;
use crate::support::mount::{binary, detach, mounted, wait_until_unmounted};
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, audit, needs, page, user};

/// No test waits longer than this; reaching it is a failure, never a result.
const PATIENCE: Duration = Duration::from_secs(120);

/// The capabilities by number, as linux/capability.h has them.
const CAPABILITIES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

/// The lines of a section of docs/internals/security.md.
fn section(title: &str) -> Vec<&'static str> {
    let lines: Vec<&str> = page("docs/internals/security.md")
        .lines()
        .skip_while(|line| *line != title)
        .skip(1)
        .take_while(|line| !line.starts_with('#'))
        .collect();
    assert!(
        !lines.is_empty(),
        "no section {title:?} in docs/internals/security.md"
    );
    lines
}

/// What stands in backquotes in the list items of a section, each with what stands in brackets right behind it.
fn listed(title: &str) -> BTreeSet<(String, String)> {
    let items: Vec<&str> = section(title)
        .into_iter()
        .filter(|line| line.starts_with("* "))
        .collect();
    let mut found = BTreeSet::new();
    for item in items {
        let parts: Vec<&str> = item.split('`').collect();
        for pair in parts[1..].chunks(2) {
            let after = pair.get(1).copied().unwrap_or_default();
            let condition = after
                .strip_prefix(" (")
                .and_then(|rest| rest.split_once(')'))
                .map_or("", |(condition, _)| condition);
            let new = found.insert((pair[0].to_owned(), condition.to_owned()));
            assert!(new, "{pair:?} stands twice under {title:?}");
        }
    }
    found
}

/// A field of a thread's status in proc(5).
fn field(status: &str, name: &str) -> String {
    let start = format!("{name}:");
    let line = status.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_else(|| panic!("no {name} in {status}"))
        .trim()
        .to_owned()
}

fn names_of(set: &str) -> BTreeSet<String> {
    let bits = u64::from_str_radix(set, 16).unwrap();
    (0..CAPABILITIES.len())
        .filter(|bit| bits & (1 << bit) != 0)
        .map(|bit| format!("CAP_{}", CAPABILITIES[bit]))
        .collect()
}

/// The status of each thread of a process, but of those that end meanwhile.
fn threads(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses: Vec<String> = tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
        .collect();
    assert!(!statuses.is_empty(), "{pid} has no thread");
    statuses
}

/// The helpers, the children of a daemon: the one in use, and the one that stands by.
pub(super) fn helpers_of(daemon: u32) -> [u32; 2] {
    let parent = daemon.to_string();
    let mut children: Vec<(u64, u32)> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let started = stat.rsplit(')').next()?.split(' ').nth(20)?.parse().ok()?;
            (field(&status, "PPid") == parent).then_some((started, pid))
        })
        .collect();
    children.sort_unstable();
    let children: Vec<u32> = children.into_iter().map(|(_, pid)| pid).collect();
    <[u32; 2]>::try_from(children).unwrap_or_else(|all| panic!("children of {daemon}: {all:?}"))
}

/// Capabilities, privileges and filters of every thread are those of these sections.
fn assert_confined(pid: u32, capabilities: &str) {
    let listed = listed(capabilities);
    let permitted: BTreeSet<String> = listed.iter().map(|(name, _)| name.clone()).collect();
    let effective: BTreeSet<String> = listed
        .into_iter()
        .filter(|(_, condition)| condition.is_empty())
        .map(|(name, _)| name)
        .collect();
    for status in threads(pid) {
        let capability = |set: &str| names_of(&field(&status, set));
        println!(
            "{} {}: {:?}, NoNewPrivs {}, Seccomp {}, Seccomp_filters {}",
            field(&status, "Name"),
            field(&status, "Pid"),
            capability("CapEff"),
            field(&status, "NoNewPrivs"),
            field(&status, "Seccomp"),
            field(&status, "Seccomp_filters"),
        );
        assert_eq!(capability("CapPrm"), permitted);
        assert_eq!(capability("CapBnd"), permitted);
        assert_eq!(capability("CapEff"), effective);
        assert_eq!(capability("CapInh"), BTreeSet::new());
        assert_eq!(capability("CapAmb"), BTreeSet::new());
        let [privileges, mode, filters] =
            ["NoNewPrivs", "Seccomp", "Seccomp_filters"].map(|name| field(&status, name));
        assert_eq!([&*privileges, &*mode, &*filters], ["1", "2", "1"]);
    }
}

fn root() -> bool {
    needs::root("what root's daemon gives up")
}

/// A mount with a thread for each of these, and a file.
const THREADS: [&str; 2] = ["--threads", "6"];

#[test]
fn the_running_daemon_and_its_helper_are_as_docs_security_md_says() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mount = tree.mount(&THREADS);
    assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
    let daemon = mount.id();
    // They are started one after the other, and the first serves already.
    until(|| threads(daemon).len() > 6);
    assert_confined(daemon, "### Capabilities of the daemon");
    let helpers = helpers_of(daemon);
    for helper in helpers {
        assert_confined(helper, "### Capabilities of the helper process");
    }

    let table = std::fs::read_to_string(format!("/proc/{daemon}/mountinfo")).unwrap();
    println!("{table}");
    let mounts: BTreeSet<String> = table
        .lines()
        .map(|line| line.split(' ').nth(4).unwrap().to_owned())
        .collect();
    let wanted = listed("### The root of the daemon");
    assert_eq!(mounts, wanted.into_iter().map(|(path, _)| path).collect());
    let mut entries: Vec<_> = std::fs::read_dir(format!("/proc/{daemon}/root"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    entries.sort();
    assert_eq!(entries, ["dev", "proc"]);
    // A helper process holds one thing of the daemon's, that which aborts the connection; seven sockets, and /dev/null thrice.
    for helper in helpers {
        let held = std::fs::read_dir(format!("/proc/{helper}/fd")).unwrap();
        let mut held: Vec<String> = held
            .map(|fd| std::fs::read_link(fd.unwrap().path()).unwrap())
            .map(|to| to.file_name().unwrap().to_str().unwrap().to_owned())
            .map(|name| name.split(':').next().unwrap().to_owned())
            .collect();
        held.sort();
        assert_eq!(
            held,
            [
                "abort", "null", "null", "null", "socket", "socket", "socket", "socket", "socket",
                "socket", "socket"
            ]
        );
    }
    mount.stop();
}

#[test]
fn the_system_calls_are_as_docs_security_md_says() {
    let calls = |list: &'static [Call]| -> BTreeSet<(String, String)> {
        list.iter()
            .map(|call| (call.name.to_owned(), call.condition().to_owned()))
            .collect()
    };
    assert_eq!(listed("### System calls of the daemon"), calls(DAEMON));
    assert_eq!(
        listed("### System calls of the helper process"),
        calls(HELPER)
    );
    if cfg!(target_arch = "x86_64") {
        assert_eq!(listed("### Older names of system calls"), calls(OLDER));
    }
}

#[test]
fn without_the_sandbox_nothing_is_confined_but_the_capabilities_in_effect() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    let mount = tree.mount(&["--sandbox", "none"]);
    mount.dir();
    for status in threads(mount.id()) {
        assert_eq!(field(&status, "Seccomp"), "0");
        assert_eq!(field(&status, "NoNewPrivs"), "0");
    }
    mount.stop();
}

#[test]
fn an_ordinary_users_daemon_gives_up_what_it_can() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let program = prepare_for_user(&tree);
    let mount = Mount::start_as(&tree, user::NOBODY, &program, &["-v"]);
    for status in threads(mount.id()) {
        let [privileges, mode] = ["NoNewPrivs", "Seccomp"].map(|name| field(&status, name));
        assert_eq!([&*privileges, &*mode], ["1", "2"]);
        assert_eq!(names_of(&field(&status, "CapPrm")), BTreeSet::new());
    }
    // It is what runs fusermount3, which gets its rights by being run.
    let helpers = helpers_of(mount.id()).map(threads);
    assert!(
        helpers
            .iter()
            .flatten()
            .all(|status| field(status, "NoNewPrivs") == "0")
    );
    let said = mount.stderr();
    for piece in ["no new privileges", "fewer system calls"] {
        assert!(said.contains(&format!("sandbox: {piece}\n")), "{said}");
    }
    mount.stop();
}

#[test]
fn the_log_is_made_anew_at_its_path_after_a_rotation() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let [log, old] = ["audit.jsonl", "audit.jsonl.1"].map(|name| tree.logs().join(name));
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    let changes = inotify::WatchFlags::CREATE | inotify::WatchFlags::MODIFY;
    inotify::add_watch(&watch, tree.logs(), changes).unwrap();
    let wait_for = |what: &dyn Fn() -> bool| {
        let patience = Timespec::try_from(PATIENCE).unwrap();
        while !what() {
            let mut fds = [PollFd::new(&watch, PollFlags::IN)];
            assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "no change");
            rustix::io::read(&watch, &mut [0; 4096]).unwrap();
        }
    };
    at::mkdir(mount.dir(), b"\xFF").unwrap_err();
    wait_for(&|| log.metadata().unwrap().len() > 0);
    rustix::fs::rename(&log, &old).unwrap();
    mount.signal(Signal::HUP);
    wait_for(&|| log.is_file());
    at::mkdir(mount.dir(), b"\xFE").unwrap_err();
    let new = mount.stop();
    assert_eq!(new.len(), 1);
    assert_eq!(new[0].name("name").unwrap(), b"\xFE");
    assert_eq!(audit::offences(&old)[0].name("name").unwrap(), b"\xFF");
}

/// The command of the caller, which a daemon without `/proc` cannot see itself.
#[test]
fn the_record_has_the_command_of_the_caller() {
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    mount.close();
    let failed = Command::new("/bin/sh")
        .args(["-c", r#"mkdir "$PLACE/$(printf '\377')""#])
        .env("PLACE", mount.point())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!failed.success());
    let records = mount.stop();
    assert!(!records.is_empty());
    for record in records {
        assert_eq!(record.name("command").unwrap(), b"mkdir");
    }
}

#[test]
fn the_second_signal_cuts_what_is_still_in_use() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mut mount = tree.mount(&[]);
    mount.close();
    let file = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
    mount.close();
    mount.signal(Signal::TERM);
    wait_until_unmounted(&mount.point());
    mount.signal(Signal::TERM);
    assert_eq!(mount.wait().code(), Some(1));
    assert!(mount.stderr().contains("is cut"));
    drop(file);
}

fn process(pid: u32) -> std::os::fd::OwnedFd {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

fn wait_for_end(process: impl std::os::fd::AsFd) {
    let patience = Timespec::try_from(PATIENCE).unwrap();
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "it lives on");
}

/// Signals that a terminal or systemd sends to all processes do not move the helper process; it ends with the daemon, however
/// that ends, and leaves a dead mount, which the next daemon clears away.
#[test]
fn the_helper_acts_on_no_signal_and_ends_with_the_daemon() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let helpers = helpers_of(mount.id()).map(process);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        for helper in &helpers {
            pidfd_send_signal(helper, signal).unwrap();
        }
    }
    // It does its work still.
    at::mkdir(mount.dir(), b"\xFF").unwrap_err();
    assert_eq!(mount.stop()[0].name("command").unwrap(), own_command());
    helpers.into_iter().for_each(wait_for_end);

    let mount = tree.mount(&[]);
    let helpers = helpers_of(mount.id()).map(process);
    mount.kill();
    helpers.into_iter().for_each(wait_for_end);
    assert_eq!(mounted(&tree.point()).as_deref(), Some("fuse.utf8fs"));
    let mut mount = tree.mount(&[]);
    mount.allow_warning("is dead: its daemon was killed");
    mount.stop();
}

/// What the records call this thread.
fn own_command() -> Vec<u8> {
    let comm = std::fs::read("/proc/thread-self/comm").unwrap();
    comm.trim_ascii_end().to_vec()
}

fn kill_and_wait(pid: u32) {
    let helper = process(pid);
    pidfd_send_signal(&helper, Signal::KILL).unwrap();
    wait_for_end(&helper);
}

/// SIGTERM left the mount, for want of the right to unmount it; a second one left it dead.
#[test]
fn f7_a_daemon_whose_helper_was_killed_unmounts_on_sigterm() {
    for killed in [0, 1] {
        let tree = Tree::new();
        let mount = tree.mount(&[]);
        kill_and_wait(helpers_of(mount.id())[killed]);
        at::mkdir(mount.dir(), b"\xFF").unwrap_err();
        let records = mount.stop();
        assert_eq!(records[0].name("command").unwrap(), own_command());
        assert_eq!(mounted(&tree.point()), None);
    }
}

/// Without any helper a daemon serves on, says that it cannot unmount, and ends when others unmount.
#[test]
fn a_daemon_whose_helpers_were_killed_serves_on() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mut mount = tree.mount(&[]);
    helpers_of(mount.id()).into_iter().for_each(kill_and_wait);
    assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
    // It neither waits for the name of the command nor fails for want of it.
    at::mkdir(mount.dir(), b"\xFF").unwrap_err();
    mount.signal(Signal::TERM);
    until(|| {
        mount
            .stderr()
            .contains("the helper processes were killed; unmount it by umount(8)")
    });
    let by_hand = Command::new("umount").arg("-l").arg(mount.point()).status();
    assert!(by_hand.unwrap().success());
    mount.close();
    assert!(mount.wait().success());
}

/// A program in a mount namespace of its own, whose `/dev` is ours.
struct Namespace {
    child: Child,
    orders: Option<ChildStdin>,
}

impl Namespace {
    /// Runs `script` with `$DEV` as its `/dev`, and waits for its first line.
    fn start(tree: &Tree, dev: &Path, script: &str) -> Self {
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-e", "-c"])
            .arg(format!("mount --bind \"$DEV\" /dev\n{script}"))
            .env("DEV", dev)
            .env("PROGRAM", binary())
            .env("BACKING", tree.backing())
            .env("POINT", tree.point())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take();
        Self { child, orders }
    }

    fn hears(&mut self) -> String {
        let out = self.child.stdout.as_mut().unwrap();
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).unwrap();
        line
    }

    fn order(&mut self, line: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // At the end of its orders it unmounts and ends.
        drop(self.orders.take());
        self.child.wait().unwrap();
    }
}

fn next_refusal(log: &UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    loop {
        let length = log.recv(&mut buffer).unwrap();
        let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
        if text.contains("refused") {
            return text;
        }
    }
}

fn listen(path: &Path) -> UnixDatagram {
    let log = UnixDatagram::bind(path).unwrap();
    log.set_read_timeout(Some(PATIENCE)).unwrap();
    log
}

/// Makes a `/dev` that has what a daemon takes, and a system's log.
fn make_dev(tree: &Tree) -> (PathBuf, UnixDatagram) {
    let dev = tree.parent().join("dev");
    std::fs::create_dir(&dev).unwrap();
    let devices = [("null", 1, 3), ("fuse", 10, 229)];
    for (name, major, minor) in devices {
        let device = rustix::fs::makedev(major, minor);
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(CWD, dev.join(name), FileType::CharacterDevice, mode, device).unwrap();
    }
    let log = listen(&dev.join("log"));
    (dev, log)
}

/// The system's log is found by a daemon that does not see `/dev/log`, also after it was started anew.
#[test]
fn the_systems_log_is_found_again_after_it_was_started_anew() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    let (dev, log) = make_dev(&tree);
    let mut namespace = Namespace::start(
        &tree,
        &dev,
        r#"
        "$PROGRAM" mount --background "$BACKING" "$POINT" 2>/dev/null
        echo ready
        while read name; do mkdir "$POINT/$name$(printf '\377')" 2>/dev/null || true; done
        umount "$POINT"
        "#,
    );
    assert_eq!(namespace.hears(), "ready\n");
    namespace.order("one");
    assert!(next_refusal(&log).contains("one\\xFF"));
    drop(log);
    let path = dev.join("log");
    std::fs::remove_file(&path).unwrap();
    let log = listen(&path);
    namespace.order("two");
    assert!(next_refusal(&log).contains("two\\xFF"));
    drop(namespace);
    detach(&tree.point());
}

/// No operation waits for a system's log that is slow.
#[test]
fn f6_a_slow_systems_log_stops_no_operation() {
    if !root() {
        return;
    }
    const ORDERS: u64 = 30;
    let tree = Tree::new();
    let (dev, log) = make_dev(&tree);
    let mut namespace = Namespace::start(
        &tree,
        &dev,
        r#"
        "$PROGRAM" mount -vv --background --audit-log /dev/null "$BACKING" "$POINT" 2>/dev/null
        name="$POINT/$(printf '\377')"
        refused() { ! true > "$name" || exit 1; } 2>/dev/null
        for number in $(seq 1000); do refused; done
        echo full
        while read order; do refused && refused && echo refused; done
        umount "$POINT"
        "#,
    );
    let asked = Instant::now();
    assert_eq!(namespace.hears(), "full\n");
    for _ in 0..ORDERS {
        log.recv(&mut [0; 4096]).unwrap();
        namespace.order("");
        assert_eq!(namespace.hears(), "refused\n");
    }
    // For each there is room for one message of two: the other would wait for a second.
    let patience = Duration::from_secs(ORDERS / 2);
    assert!(asked.elapsed() < patience, "{:?}", asked.elapsed());
    drop(log);
    drop(namespace);
    detach(&tree.point());
}

/// In a chroot there is no root of its own to be had: the mount works, and one warning says so.
#[test]
fn what_the_system_lacks_is_one_warning() {
    if !root() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let said = tree.parent().join("said");
    let script = r#"
        cd "$TREE" && mkdir root && touch root/program
        for name in usr bin lib lib64 proc dev; do
            [ -e /$name ] || continue
            mkdir root/$name && mount --rbind /$name root/$name
        done
        mkdir root/tree && mount --bind . root/tree
        mount --bind "$PROGRAM" root/program
        chroot root /program mount --background /tree/backing /tree/mnt 2>"$SAID"
        cat root/tree/mnt/file
        umount root/tree/mnt
    "#;
    let output = Command::new("unshare")
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-e",
            "-c",
            script,
        ])
        .env("TREE", tree.parent())
        .env("PROGRAM", binary())
        .env("SAID", &said)
        .output()
        .unwrap();
    let said = std::fs::read_to_string(&said).unwrap();
    assert_eq!(output.stdout, b"content", "{output:?}\n{said}");
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warn")).collect();
    assert_eq!(
        warnings,
        [
            "utf8fs: warn: the sandbox is weaker than it should be; this system lacks: a root of its own (Invalid argument)"
        ]
    );
}
