//! Each test serves in a process of its own, this program run again, so that signals can be sent to it.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fstat};
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::daemon::auditor::{Sink, SinkKind};
use crate::daemon::fuse_mount::mount;
use crate::daemon::fuse_mount::tests::Place;
use crate::fuse::samples::{connect, service};
use crate::fuse::{NoRings, Plan, Rings, Service};
use crate::os::catch_signals;
use crate::records::{AuditConfig, LogFormat};

/// An id that owns nothing.
const NOBODY: u32 = 65534;

/// Says all messages on standard output.
struct Talk;

fn say(line: &str) {
    // In one write, past the test harness's capturing.
    io::stdout()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}

impl log::Log for Talk {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        say(&format!("{}: {}", record.level(), record.args()));
    }
    fn flush(&self) {}
}

/// Not a test: what the tests run.
#[test]
#[ignore = "run by other tests"]
fn daemon() {
    let Some(spec) = env::var_os("SERVE") else {
        return;
    };
    log::set_boxed_logger(Box::new(Talk)).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let spec = crate::fuse::mounting::MountSpec {
        source: "/back".into(),
        mountpoint: spec.into(),
        flags: crate::fuse::mounting::MountFlags::of(&[]),
        allow_other: env::var_os("ALLOW_OTHER").is_some(),
        checks_rights: true,
    };
    let signals = catch_signals().unwrap();
    match mount(&spec) {
        Ok(mounted) => {
            say(&format!("unprivileged: {}", mounted.is_unprivileged));
            let empty = tempfile::tempdir().unwrap();
            let service = match env::var_os("SILENT") {
                None => service(empty.path(), 2),
                Some(_) => over_what_ended(),
            };
            let rings = match env::var_os("RINGS") {
                None => Err(NoRings::Off),
                // The kernel refuses so short a payload.
                Some(_) => Plan::of_machine(2, 8)
                    .and_then(|plan| Rings::new(&mounted.fuse_fd, plan))
                    .map(|rings| rings.with_payload(4096)),
            };
            let coherence = Arc::clone(&service.coherence);
            say(&format!(
                "ended {:?}",
                connect(service, rings, mounted.fuse_fd).and_then(|connection| {
                    // Kept for good, which is the wrong thing to do.
                    std::mem::forget(connection.forgetting());
                    session(mounted.attached, coherence).serve(
                        connection,
                        unwanted(),
                        signals,
                        io::pipe().unwrap(),
                    )
                })
            ));
        }
        Err(error) => say(&format!(
            "failed {}; {}",
            error.message,
            error.hint.unwrap_or_default()
        )),
    }
}

/// A session whose log cannot be reopened, so that it says so when it is to be.
fn session(attached: Attached, coherence: Arc<Coherence>) -> Session {
    let place = tempfile::tempdir().unwrap();
    let log = AuditConfig {
        audit_log: SinkKind::File(place.path().join("log")),
        audit_format: LogFormat::default(),
        audit_burst: 100,
        audit_per_minute: 60,
    };
    let sink = Sink::open(log.audit_log.clone()).unwrap();
    let auditor = Auditor::new(&log, sink, Vec::new());
    auditor.begin().unwrap();
    Session {
        attached,
        coherence,
        auditor,
        reloader: Reloader::default(),
        manager: Manager::default(),
        shown: "ready".to_owned(),
        unmounted: AtomicBool::new(false),
        aborted: AtomicBool::new(false),
    }
}

/// The duty towards a process that has ended, if that is asked for.
fn unwanted() -> Option<crate::os::background::Daemon> {
    env::var_os("UNWANTED")?;
    let (_ended, starter) = io::pipe().unwrap();
    let null = std::fs::File::options().write(true).open("/dev/null");
    let null = null.unwrap().into();
    Some(crate::os::background::Daemon { null, starter })
}

/// A filesystem that cannot tell of its root: the list of open files (proc(5)) of a process that has ended.
fn over_what_ended() -> Service {
    let mut process = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let service = service(format!("/proc/{}/fd", process.id()).as_ref(), 2);
    drop(process.stdin.take());
    process.wait().unwrap();
    service
}

struct Daemon {
    process: Child,
    lines: mpsc::Receiver<String>,
}

impl Daemon {
    fn start(place: &Place, prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command
            .args([
                "--exact",
                "--ignored",
                "--nocapture",
                "daemon::session::tests::daemon",
            ])
            .env("SERVE", place.path())
            .stdout(Stdio::piped());
        prepare(&mut command);
        let mut process = command.spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .try_for_each(|line| send.send(line))
        });
        Self { process, lines }
    }

    fn ready(place: &Place) -> Self {
        let daemon = Self::start(place, |_| ());
        daemon.says("ready");
        daemon
    }

    /// Waits for a line with this in it.
    fn says(&self, part: &str) {
        let mut heard = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(60)) {
            heard.push(line);
            if heard.last().is_some_and(|line| line.contains(part)) {
                return;
            }
        }
        panic!("no {part:?} in {heard:#?}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    fn status(mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn open(place: &Place) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(place.path(), flags, Mode::empty()).unwrap()
}

#[test]
fn f7_sigterm_and_sigint_unmount() {
    let Some(place) = Place::new() else { return };
    for signal in [Signal::TERM, Signal::INT] {
        let daemon = Daemon::ready(&place);
        assert_eq!(place.mounts(), ["fuse.utf8fs"]);
        assert!(std::fs::metadata(place.path()).unwrap().is_dir());
        daemon.signal(signal);
        daemon.says("ended Ok(Unmounted)");
        assert!(place.mounts().is_empty());
        assert!(daemon.status().success());
    }
}

#[test]
fn f7_a_killed_daemon_can_be_replaced_at_once() {
    let Some(place) = Place::new() else { return };
    let killed = Daemon::ready(&place);
    killed.signal(Signal::KILL);
    assert!(!killed.status().success());
    let daemon = Daemon::start(&place, |_| ());
    daemon.says("is dead");
    daemon.says("ready");
    assert_eq!(place.mounts(), ["fuse.utf8fs"]);
    let second = Daemon::start(&place, |_| ());
    second.says("already mounted: \"/back\" is shown there; unmount it first");
    daemon.signal(Signal::TERM);
    daemon.says("ended Ok(Unmounted)");
}

#[test]
fn rings_that_the_kernel_refuses_are_done_without() {
    let Some(place) = Place::new() else { return };
    let parameter = std::fs::read_to_string("/sys/module/fuse/parameters/enable_uring");
    if !parameter.is_ok_and(|parameter| parameter.starts_with('Y')) {
        eprintln!("NOT TESTED, needs the parameter enable_uring of the module fuse");
        return;
    }
    let daemon = Daemon::start(&place, |command| {
        command.env("RINGS", "1");
    });
    daemon.says("the kernel refuses rings");
    let names = std::fs::read_dir(place.path()).unwrap();
    assert_eq!(names.count(), 0);
    daemon.signal(Signal::TERM);
    daemon.says("ended Ok(Unmounted)");
    assert!(place.mounts().is_empty());
}

#[test]
fn what_is_in_use_is_detached_and_served_until_it_is_closed() {
    let Some(place) = Place::new() else { return };
    let daemon = Daemon::ready(&place);
    let in_use = open(&place);
    daemon.signal(Signal::TERM);
    daemon.says("still in use: detached");
    assert!(place.mounts().is_empty());
    assert_eq!(fstat(&in_use).unwrap().st_nlink, 2);
    drop(in_use);
    daemon.says("ended Ok(Unmounted)");
}

#[test]
fn a_second_signal_ends_at_once() {
    let Some(place) = Place::new() else { return };
    let daemon = Daemon::ready(&place);
    let in_use = open(&place);
    daemon.signal(Signal::TERM);
    daemon.says("still in use: detached");
    daemon.signal(Signal::INT);
    daemon.says("is cut");
    daemon.says("ended Ok(Aborted)");
    assert!(fstat(&in_use).is_err());
}

#[test]
fn a_foreign_mount_on_top_survives_the_signal() {
    let Some(place) = Place::new() else { return };
    let daemon = Daemon::ready(&place);
    place.cover(place.path());
    daemon.signal(Signal::TERM);
    daemon.says("has another filesystem mounted on it");
    assert_eq!(place.mounts(), ["fuse.utf8fs", "tmpfs"]);
    place.uncover(place.path());
    daemon.signal(Signal::TERM);
    daemon.says("ended Ok(Unmounted)");
    assert!(place.mounts().is_empty());
}

#[test]
fn unmounting_by_others_ends_the_session() {
    let Some(place) = Place::new() else { return };
    let daemon = Daemon::ready(&place);
    daemon.signal(Signal::HUP);
    daemon.says("cannot reopen the audit log");
    place.uncover(place.path());
    daemon.says("ended Ok(Unmounted)");
}

#[test]
fn a_root_that_does_not_answer_is_no_mount() {
    let Some(place) = Place::new() else { return };
    let daemon = Daemon::start(&place, |command| {
        command.env("SILENT", "1");
    });
    daemon.says("is not ready: No such file or directory");
    daemon.says("ended Err(Os { code: 2");
    assert!(place.mounts().is_empty());
}

#[test]
fn a_mount_that_nobody_waits_for_any_more_is_taken_away() {
    let Some(place) = Place::new() else { return };
    let daemon = Daemon::start(&place, |command| {
        command.env("UNWANTED", "1");
    });
    daemon.says("ended Err(Os { code: 32");
    assert!(place.mounts().is_empty());
}

/// A place for an ordinary user, where fusermount3 is installed.
fn place_of_nobody() -> Option<Place> {
    let place = Place::new()?;
    let helper = Command::new("fusermount3")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let mode = std::fs::metadata("/dev/fuse").unwrap().permissions().mode();
    if helper.is_err() || mode & 0o006 != 0o006 {
        eprintln!("skipped: needs fusermount3, and /dev/fuse with mode 0666");
        return None;
    }
    std::os::unix::fs::chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    Some(place)
}

#[test]
fn an_ordinary_user_mounts_and_unmounts_by_fusermount() {
    let Some(place) = place_of_nobody() else {
        return;
    };
    let as_nobody = |command: &mut Command| {
        command.uid(NOBODY).gid(NOBODY);
    };
    let killed = Daemon::start(&place, as_nobody);
    killed.says("unprivileged: true");
    killed.says("ready");
    killed.signal(Signal::KILL);
    drop(killed);
    let daemon = Daemon::start(&place, as_nobody);
    daemon.says("is dead");
    daemon.says("ready");
    assert_eq!(place.mounts(), ["fuse.utf8fs"]);
    let in_use = open(&place);
    daemon.signal(Signal::TERM);
    daemon.says("still in use: detached");
    assert!(place.mounts().is_empty());
    drop(in_use);
    daemon.says("ended Ok(Unmounted)");
}

#[test]
fn an_ordinary_user_may_not_let_others_in_unasked() {
    let Some(place) = place_of_nobody() else {
        return;
    };
    let allowed = std::fs::read_to_string("/etc/fuse.conf").unwrap_or_default();
    if allowed
        .lines()
        .any(|line| line.trim() == "user_allow_other")
    {
        return;
    }
    let daemon = Daemon::start(&place, |command| {
        command.uid(NOBODY).gid(NOBODY).env("ALLOW_OTHER", "1");
    });
    daemon.says("write user_allow_other into /etc/fuse.conf");
}

#[test]
fn an_ordinary_user_without_the_helper_is_told_what_to_install() {
    let Some(place) = place_of_nobody() else {
        return;
    };
    let daemon = Daemon::start(&place, |command| {
        command.uid(NOBODY).gid(NOBODY).env("PATH", "/nonexistent");
    });
    daemon.says("install the package fuse3");
}
