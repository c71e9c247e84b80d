//! The audit log is no way for who may write to its directory to have root write elsewhere; and it is turned and asked as
//! docs/audit.md says.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
use rustix::process::Signal;

use super::mounts_inside::Inner;
use crate::support::mount::{binary, mounted};
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, audit, needs, page, status, user};

fn mount(tree: &Tree, log: &Path) -> Output {
    Command::new(binary())
        .args(["mount", "--background", "--audit-log"])
        .args([log, &tree.backing(), &tree.point()])
        .output()
        .unwrap()
}

#[test]
fn a_log_that_is_a_link_or_another_users_is_refused() {
    if !needs::root("files of several users") {
        return;
    }
    let tree = Tree::new();
    let [victim, log] = ["victim", "log"].map(|name| tree.parent().join(name));
    std::fs::write(&victim, "secret\n").unwrap();
    let make: [(&dyn Fn(), &str); 5] = [
        (&|| symlink(&victim, &log).unwrap(), "symbolic link"),
        (&|| symlink("missing", &log).unwrap(), "symbolic link"),
        (&|| std::fs::hard_link(&victim, &log).unwrap(), "name of it"),
        (
            &|| {
                std::fs::write(&log, "").unwrap();
                chown(&log, Some(user::NOBODY), None).unwrap();
            },
            "another user",
        ),
        (
            &|| {
                mknodat(CWD, &log, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
                chown(&log, Some(user::NOBODY), None).unwrap();
            },
            "another user",
        ),
    ];
    for (make, reason) in make {
        make();
        let output = mount(&tree, &log);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{reason}: {text}");
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].contains("/log") && lines[0].contains(reason),
            "{reason}: {text}"
        );
        assert!(lines[1].starts_with("hint: "), "{text}");
        assert_eq!(mounted(&tree.point()), None);
        std::fs::remove_file(&log).unwrap();
    }
    assert!(!tree.parent().join("missing").is_symlink());
    assert_eq!(std::fs::read(&victim).unwrap(), b"secret\n");
}

/// After SIGHUP as well: the old log is kept.
#[test]
fn a_log_that_became_a_link_is_not_followed_when_it_is_opened_anew() {
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        let mut mount = tree.mount(&["--sandbox", sandbox]);
        mount.allow_warning("cannot reopen the audit log");
        let [log, old, victim] =
            ["audit.jsonl", "audit.jsonl.1", "victim"].map(|name| tree.logs().join(name));
        std::fs::write(&victim, "").unwrap();
        std::fs::set_permissions(&victim, PermissionsExt::from_mode(0o600)).unwrap();
        rustix::fs::rename(&log, &old).unwrap();
        symlink(&victim, &log).unwrap();
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, tree.parent(), inotify::WatchFlags::MODIFY).unwrap();
        mount.signal(Signal::HUP);
        while !mount.stderr().contains("the old file stays in use")
            && std::fs::read(&victim).unwrap().is_empty()
        {
            at::mkdir(mount.dir(), b"\xFE").unwrap_err();
            let patience = Timespec {
                tv_sec: 120,
                tv_nsec: 0,
            };
            let mut fds = [PollFd::new(&watch, PollFlags::IN)];
            assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "no change");
            rustix::io::read(&watch, &mut [0; 4096]).unwrap();
        }
        at::mkdir(mount.dir(), b"\xFD").unwrap_err();
        std::fs::remove_file(&log).unwrap();
        rustix::fs::rename(&old, &log).unwrap();
        let records = mount.stop();
        assert!(!records.is_empty(), "{sandbox}: the old log is written");
        assert_eq!(std::fs::read(&victim).unwrap(), b"", "{sandbox}");
    }
}

/// It is well once it has room, and not because it was reopened.
#[test]
fn f6_a_log_on_a_full_disk_is_not_well_for_being_reopened() {
    if !needs::root("a small filesystem") {
        return;
    }
    let tree = Tree::new();
    let logs = tree.logs().to_owned();
    let _small = Inner::memory(logs.clone());
    let mut mount = tree.mount(&[]);
    mount.allow_warning("cannot write to the audit log");
    mount.allow_warning("the audit log was reopened, and has room");
    let filler = logs.join("filler");
    let full = std::fs::write(&filler, vec![0; 4 << 20]).unwrap_err();
    assert_eq!(full.raw_os_error(), Some(libc::ENOSPC));
    let fails = || status::of(&mount.point())["audit_log_fails"] == true;
    at::mkdir(mount.dir(), b"\xFE").unwrap_err();
    until(fails);
    let log = logs.join("audit.jsonl");
    rustix::fs::rename(&log, logs.join("old")).unwrap();
    mount.signal(Signal::HUP);
    until(|| std::fs::symlink_metadata(&log).is_ok());
    assert!(fails());
    std::fs::remove_file(&filler).unwrap();
    mount.signal(Signal::HUP);
    until(|| !fails());
    mount.stop();
}

/// Longest time that the stalled log may take from an operation or from the end; what would break it is for ever.
const SOON: Duration = Duration::from_secs(60);

/// Waits until the thread that writes the log is in one of these system calls.
fn wait_for_the_writer_in(mount: &Mount<'_>, calls: &[i64]) {
    let call = mount.thread("audit").join("syscall");
    let until = Instant::now() + SOON;
    loop {
        let line = std::fs::read_to_string(&call).unwrap();
        let number = line.split(' ').next().unwrap().parse();
        if number.is_ok_and(|number: i64| calls.contains(&number)) {
            return;
        }
        assert!(Instant::now() < until, "the log is not asked for: {line}");
    }
}

/// Laws F6 and F7, with a log on a filesystem whose daemon is stopped, and more offences than threads: in opening it
/// anew, and in writing to it.
#[test]
fn f6_a_log_that_hangs_stops_no_operation_and_not_the_end() {
    const OFFENCES: u32 = 40;
    for is_reopened in [true, false] {
        let (logs, tree) = (Tree::new(), Tree::new());
        tree.file(b"file", b"content");
        // By rings a request is in the daemon's hands at once, and who waits for its answer cannot be killed.
        let stalled = logs.mount(&["--uring", "off"]);
        let log = stalled.point().join("audit.jsonl");
        let mut mount = tree.mount(&["--audit-log", log.to_str().unwrap()]);
        mount.allow_warning("cannot reopen the audit log");
        stalled.pause();
        if is_reopened {
            mount.signal(Signal::HUP);
            wait_for_the_writer_in(&mount, &[libc::SYS_recvmsg]);
        } else {
            at::mkdir(mount.dir(), b"\xFF").unwrap_err();
            let calls = [libc::SYS_statx, libc::SYS_write, libc::SYS_ppoll];
            wait_for_the_writer_in(&mount, &calls);
        }

        let (done, is_done) = channel();
        for number in 0..OFFENCES {
            let (done, point) = (done.clone(), mount.point());
            std::thread::spawn(move || {
                let name = [&[0xFF], number.to_string().as_bytes()].concat();
                let refused = std::fs::create_dir(point.join(OsStr::from_bytes(&name)));
                let found = std::fs::metadata(point.join("file"));
                let refused = refused.unwrap_err().raw_os_error();
                _ = done.send((refused, found.is_ok()));
            });
        }
        for _ in 0..OFFENCES {
            let answer = is_done.recv_timeout(SOON);
            let answer = answer.expect("an operation waits for the log");
            assert_eq!(answer, (Some(libc::EILSEQ), true));
        }
        let asked = Instant::now();
        mount.close();
        mount.signal(Signal::TERM);
        assert!(mount.wait().success());
        assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
        let dropped = format!(" {} dropped", OFFENCES + u32::from(!is_reopened));
        assert!(mount.stderr().contains(&dropped), "{}", mount.stderr());
        stalled.go_on();
        stalled.stop();
    }
}

/// The page with the fields, a snippet and queries.
/// The lines between such a fence and its end.
fn fenced(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}");
    let from = page("docs/audit.md")
        .lines()
        .skip_while(move |line| *line != fence);
    from.skip(1).take_while(|line| *line != "```").collect()
}

/// `PATH` with the program under test in front.
fn path() -> String {
    let directory = Path::new(binary()).parent().unwrap();
    format!(
        "{}:{}",
        directory.to_str().unwrap(),
        std::env::var("PATH").unwrap()
    )
}

#[test]
fn logrotate_turns_the_log_as_the_page_says() {
    if !(needs::root("logrotate") && needs::program("logrotate", "a log that is turned")) {
        return;
    }
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let [log, old, config, state] = ["audit.jsonl", "audit.jsonl.1", "logrotate.conf", "state"]
        .map(|name| tree.logs().join(name));
    let offend = |name: &[u8], written: u64| {
        at::mkdir(mount.dir(), name).unwrap_err();
        until(|| status::of(&mount.point())["audit_records"]["written"] == written);
    };
    offend(b"\xFF", 1);
    let snippet = fenced("logrotate").join("\n") + "\n";
    let snippet = snippet
        .replace("/var/log/utf8fs-share.json", log.to_str().unwrap())
        .replace("/mnt/share", mount.point().to_str().unwrap());
    std::fs::write(&config, snippet).unwrap();
    let turned = Command::new("logrotate")
        .args(["--force", "--state"])
        .args([&state, &config])
        .env("PATH", path())
        .output()
        .unwrap();
    assert!(
        turned.status.success() && turned.stderr.is_empty(),
        "{turned:?}"
    );
    assert_eq!(audit::offences(&old)[0].name("name").unwrap(), b"\xFF");
    // The signal is on its way.
    until(|| log.is_file());
    offend(b"\xFE", 2);
    let new = mount.stop();
    assert_eq!(new.len(), 1);
    assert_eq!(new[0].name("name").unwrap(), b"\xFE");
    assert_eq!(audit::offences(&old).len(), 1);
}

#[test]
fn the_queries_of_the_page_are_answered() {
    if !needs::program("jq", "queries of a log") {
        return;
    }
    let tree = Tree::new();
    tree.directory(b"d");
    let mount = tree.mount(&["--profile", "safe", "--exempt", "/d/**"]);
    for name in [&b"caf\xE9"[..], b"a\nb", b"-rf", b"caf\xE9"] {
        at::mkdir(mount.dir(), name).unwrap_err();
    }
    let sub = mount.sub("d");
    at::mkdir(&sub, b"\x1B[2J").unwrap();
    drop(sub);
    mount.stop();
    let log = tree.audit_log();
    let queries = fenced("sh");
    let queries: Vec<&&str> = queries
        .iter()
        .filter(|line| line.starts_with("jq "))
        .collect();
    assert!(!queries.is_empty());
    for query in queries {
        let command = query.replace("/var/log/utf8fs-share.json", log.to_str().unwrap());
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        println!("{query}\n{said}");
        assert!(
            output.stderr.is_empty(),
            "{query}: {:?}",
            output.stderr.escape_ascii()
        );
        assert!(!said.trim().is_empty(), "{query}");
        assert!(
            !said.contains(|c: char| c.is_control() && c != '\n'),
            "{said:?}"
        );
    }
}
