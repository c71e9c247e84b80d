//! The audit log is no way for who may write to its directory to have root write elsewhere.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
use rustix::process::Signal;

use crate::support::mount::{binary, mounted};
use crate::support::{Tree, at, needs, user};

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
            ["audit.jsonl", "audit.jsonl.1", "victim"].map(|name| tree.parent().join(name));
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
