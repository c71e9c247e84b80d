//! Law F7: dead mounts that cover what they show, or are another user's; and what keeps a mount from being made.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, kill_process};
use utf8fs::names::Quoted;

use super::users::prepare_for_user;
use crate::support::mount::{binary, detach, mounted};
use crate::support::{Tree, needs, user};

/// Who mounts: root where we are it, and an ordinary user.
fn mounters() -> Vec<u32> {
    match needs::is_root() {
        true => vec![0, user::NOBODY],
        false => vec![user::NOBODY],
    }
}

/// Mounts in the background as `uid`.
fn background(uid: u32, program: &Path, backing: &Path, point: &Path) -> Output {
    user::command(uid, program)
        .args(["mount", "--background", "--audit-log", "/dev/null"])
        .args([backing, point])
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A daemon in the foreground, which goes with the test.
struct Daemon {
    child: Child,
}

impl Daemon {
    /// Mounts as `uid` and waits until the mount answers.
    fn start(uid: u32, program: &Path, backing: &Path, point: &Path) -> Self {
        let mounts = File::open("/proc/self/mountinfo").unwrap();
        let child = user::command(uid, program)
            .args(["mount", "--quiet", "--audit-log", "/dev/null"])
            .args([backing, point])
            .current_dir("/")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut daemon = Self { child };
        while mounted(point).is_none() {
            assert_eq!(daemon.child.try_wait().unwrap(), None, "nothing is mounted");
            let mut fds = [PollFd::new(&mounts, PollFlags::PRI | PollFlags::ERR)];
            let second = rustix::event::Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            };
            poll(&mut fds, Some(&second)).unwrap();
        }
        let asked = user::script(uid, point, "ls \"$PLACE\"");
        assert!(asked.status.success(), "{asked:?}");
        daemon
    }

    /// Kills the daemon, which leaves its mount behind.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The backing directory cannot be opened before the dead mount over it is gone; nor can one that lies below the mount point.
#[test]
fn f7_a_dead_mount_over_its_own_backing_directory_is_mounted_again() {
    for uid in mounters() {
        for inside in [false, true] {
            let tree = Tree::new();
            let program = prepare_for_user(&tree);
            let point = tree.backing();
            let backing = match inside {
                true => point.join("inside"),
                false => point.clone(),
            };
            let owner = if needs::is_root() {
                Some(user::NOBODY)
            } else {
                None
            };
            std::fs::create_dir_all(&backing).unwrap();
            std::fs::write(backing.join("file"), "content").unwrap();
            std::os::unix::fs::chown(&backing, owner, owner).unwrap();
            Daemon::start(uid, &program, &backing, &point).kill();
            assert_eq!(mounted(&point).as_deref(), Some("fuse.utf8fs"));
            let output = background(uid, &program, &backing, &point);
            let listed = user::script(uid, &point, "ls \"$PLACE\"");
            detach(&point);
            let text = said(&output);
            assert!(output.status.success(), "{uid} {inside}: {text}");
            assert!(text.contains("is dead: its daemon was killed"), "{text}");
            assert_eq!(listed.stdout, b"file\n", "{uid} {inside}");
        }
    }
}

/// Only the dead mount at the mount point is taken away.
#[test]
fn a_dead_mount_elsewhere_and_a_live_one_stay() {
    let tree = Tree::new();
    let program = prepare_for_user(&tree);
    let uid = mounters()[0];
    let real = tree.backing();
    let daemon = Daemon::start(uid, &program, &real, &real);
    let output = background(uid, &program, &real, &real);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said(&output).contains("is mounted already"), "{output:?}");
    daemon.kill();
    let output = background(uid, &program, &real, &tree.point());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said(&output).contains("cannot be read"), "{output:?}");
    assert_eq!(mounted(&real).as_deref(), Some("fuse.utf8fs"));
    assert_eq!(mounted(&tree.point()), None);
}

/// No path leads to what is mounted in a dead mount. It goes with it, which is said.
#[test]
fn what_is_mounted_in_a_dead_mount_goes_with_it() {
    if !needs::root("mounts a tmpfs") {
        return;
    }
    let tree = Tree::new();
    let program = prepare_for_user(&tree);
    let (backing, point) = (tree.backing(), tree.point());
    let inside = point.join("inside");
    std::fs::create_dir(backing.join("inside")).unwrap();
    let daemon = Daemon::start(0, &program, &backing, &point);
    mount("none", &inside, "tmpfs", MountFlags::empty(), None).unwrap();
    daemon.kill();
    let mut status = user::command(0, &program);
    let output = status.args(["status", "--json"]).arg(&inside).output();
    let output = output.unwrap();
    assert!(
        said(&output).contains("is inside a dead mount"),
        "{output:?}"
    );
    let state = br#""state":"unknown""#;
    assert!(
        output.stdout.windows(state.len()).any(|part| part == state),
        "{output:?}"
    );
    let lost = format!("{}, which is mounted in it", Quoted(bytes(&inside)));
    let umount = |args: &[&str], point: &Path| {
        let mut umount = user::command(0, &program);
        umount.arg("umount").args(args).arg(point).output().unwrap()
    };
    let output = umount(&["-n"], &point);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains(&lost), "{output:?}");
    assert!(mounted(&inside).is_some());
    let output = background(0, &program, &backing, &point);
    let is_there = mounted(&inside).is_some();
    detach(&point);
    assert!(said(&output).contains(&lost), "{output:?}");
    assert!(output.status.success() && !is_there, "{output:?}");
    // A daemon that is stuck: nobody waits for it, and what is inside goes where that is asked for.
    let daemon = Daemon::start(0, &program, &backing, &point);
    mount("none", &inside, "tmpfs", MountFlags::empty(), None).unwrap();
    let pid = Pid::from_child(&daemon.child);
    kill_process(pid, Signal::STOP).unwrap();
    let ask = || {
        user::command(0, &program)
            .arg("status")
            .arg(&inside)
            .output()
    };
    for output in [umount(&["--lazy"], &inside), ask().unwrap()] {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let outer = format!("is inside {}, which does not answer", Quoted(bytes(&point)));
        assert!(said(&output).contains(&outer), "{output:?}");
    }
    let output = umount(&[], &point);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        said(&output).contains("--lazy takes all of it away"),
        "{output:?}"
    );
    let output = umount(&["--lazy"], &point);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains(&lost), "{output:?}");
    assert!(mounted(&inside).is_none() && mounted(&point).is_none());
    daemon.kill();
    // Nor is umount(8) needed where it is dead.
    let daemon = Daemon::start(0, &program, &backing, &point);
    mount("none", &inside, "tmpfs", MountFlags::empty(), None).unwrap();
    daemon.kill();
    let output = umount(&[], &point);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains(&lost), "{output:?}");
    assert!(mounted(&inside).is_none() && mounted(&point).is_none());
}

/// Root may not even look at an ordinary user's mount, dead or not.
#[test]
fn f7_root_takes_an_ordinary_users_dead_mount_away_and_no_live_one() {
    if !needs::root("an ordinary user's dead mount, cleared by root") {
        return;
    }
    for over in [false, true] {
        let tree = Tree::new();
        let program = prepare_for_user(&tree);
        let point = if over { tree.backing() } else { tree.point() };
        let daemon = Daemon::start(user::NOBODY, &program, &tree.backing(), &point);
        let live = background(0, Path::new(binary()), &tree.backing(), &point);
        daemon.kill();
        let dead = background(0, Path::new(binary()), &tree.backing(), &point);
        let answers = std::fs::read_dir(&point).map(drop);
        detach(&point);
        assert_eq!(live.status.code(), Some(2), "{over}: {live:?}");
        if !over {
            let text = said(&live);
            assert!(text.contains("is mounted already (fuse.utf8fs)"), "{text}");
        }
        assert!(dead.status.success(), "{over}: {}", said(&dead));
        assert!(said(&dead).contains("is dead"), "{dead:?}");
        answers.unwrap();
    }
}

/// In a user namespace whose groups cannot be set, and where there is no /proc, the error says so.
#[test]
fn what_a_namespace_lacks_is_named_with_a_hint() {
    if !needs::root("namespaces without /proc or groups") {
        return;
    }
    let tree = Tree::new();
    for (options, script, reason) in [
        ("-Urm", "", "user namespace"),
        (
            "-m",
            "mount --make-rprivate / && umount -l /proc &&",
            "/proc is not mounted here",
        ),
    ] {
        let script = format!("{script} exec \"$0\" mount \"$1\" \"$2\"");
        let output = Command::new("unshare")
            .args([options, "--", "sh", "-c", &script, binary()])
            .args([tree.backing(), tree.point()])
            .output()
            .unwrap();
        let text = said(&output);
        let lines: Vec<&str> = text.lines().collect();
        assert!(!output.status.success());
        assert!(lines.len() == 2, "{text}");
        assert!(
            lines[0].starts_with("error: ") && lines[0].contains(reason),
            "{text}"
        );
        assert!(lines[1].starts_with("hint: "), "{text}");
    }
}
