//! What mount(8), a service manager and an administrator ask of the program.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::nested::umount;
use crate::support::mount::{Mount, binary, detach, mounted, wait_until_unmounted};
use crate::support::wait::until;
use crate::support::{Tree, at, audit, needs, user};

/// A manager that says nothing for so long says nothing at all.
const PATIENCE: Duration = Duration::from_secs(120);

fn words(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).unwrap()
}

fn utf8fs(args: &[&str], point: Option<&Path>) -> Output {
    let mut command = Command::new(binary());
    command.args(args).args(point).output().unwrap()
}

/// What is mounted there goes with the test.
struct Cleared(PathBuf);

impl Drop for Cleared {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

/// `sd_notify(3)`: the mount answers when READY is told, from within the sandbox too, and the end is told.
#[test]
fn a_service_manager_is_told_of_the_beginning_and_the_end() {
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        tree.file(b"file", b"content");
        let path = tree.parent().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        // As with SO_PASSCRED of systemd's, anybody may write.
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let heard = || {
            let mut message = [0; 1024];
            let length = socket.recv(&mut message).unwrap();
            words(&message[..length])
        };
        let variable = format!("NOTIFY_SOCKET={}", path.to_str().unwrap());
        let mount = Mount::start_under(&tree, &["env", &variable], &["--sandbox", sandbox]);
        let ready = heard();
        let shown = format!(
            "\nSTATUS={:?} is shown at {:?}",
            tree.backing(),
            tree.point()
        );
        assert_eq!(ready, format!("READY=1{shown}"));
        assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
        mount.signal(Signal::HUP);
        mount.signal(Signal::TERM);
        assert_eq!(heard(), "STOPPING=1\nSTATUS=ending", "{sandbox}");
        mount.finish();
    }
}

/// The exit codes of mount(8), which are not ours: 1 for wrong arguments, 32 for what failed.
#[test]
fn mount_8_is_answered_in_its_own_way() {
    needs::fuse();
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let helper = tree.parent().join("mount.fuse.utf8fs");
    symlink(binary(), &helper).unwrap();
    let call = |backing: &Path, options: &[&str]| {
        let mut command = Command::new(&helper);
        command.arg(backing).arg(tree.point()).args(options);
        command.output().unwrap()
    };
    let _cleared = Cleared(tree.point());
    let wrong = call(&tree.backing(), &["-n", "-o", "rw,profil=safe"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert_eq!(
        words(&wrong.stderr),
        format!(
            "error: mount.utf8fs: {:?}: unknown option in -o: \"profil=safe\"\nhint: did you mean profile?\n",
            tree.point()
        )
    );
    let none = call(&tree.parent().join("none"), &["-o", "rw"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    let relative = call(&tree.backing(), &["-o", "rw,audit-log=log"]);
    assert_eq!(relative.status.code(), Some(1));
    assert!(words(&relative.stderr).contains("\"log\" is relative"));
    let value = call(&tree.backing(), &["-o", "rw,profile=none"]);
    assert!(words(&value.stderr).starts_with("utf8fs: cannot mount on \"/"));
    let fake = call(&tree.backing(), &["-f", "-o", "rw"]);
    assert_eq!(
        (fake.status.code(), mounted(&tree.point())),
        (Some(0), None)
    );
    let options =
        "rw,user=me,_netdev,nofail,x-systemd.automount,from=iso-8859-1,audit_log=/dev/null";
    let done = call(&tree.backing(), &["-v", "-o", options]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let dir = at::open_dir_path(&tree.point());
    assert_eq!(at::read(&dir, "café".as_bytes()).unwrap(), b"content");
    drop(dir);
    let again = call(&tree.backing(), &["-o", "rw"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    let umount = utf8fs(&["umount", "--lazy"], Some(&tree.point()));
    assert!(umount.status.success(), "{umount:?}");
    wait_until_unmounted(&tree.point());
}

/// A program that works in a directory until it is told to end.
struct Holder(Child);

impl Holder {
    fn new(place: &Path) -> Self {
        let mut command = Command::new("cat");
        let command = command.current_dir(place).stdin(Stdio::piped());
        // Its echo says that it is there.
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

#[test]
fn a_mount_in_use_is_left_with_the_name_of_who_holds_it_unless_lazily() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mut mount = tree.mount(&[]);
    mount.close();
    let holder = Holder::new(&mount.point());
    let refused = utf8fs(&["umount"], Some(&mount.point()));
    assert_eq!(refused.status.code(), Some(1));
    let said = words(&refused.stderr);
    assert!(said.contains("is in use\nhint: it is held by"), "{said}");
    let held = format!("process {} (\"cat\")", holder.0.id());
    assert!(said.contains(&held), "{said}");
    let dry = utf8fs(&["umount", "-n"], Some(&mount.point()));
    assert_eq!((dry.status.code(), dry.stderr), (Some(1), refused.stderr));
    assert!(mounted(&mount.point()).is_some());
    let lazy = utf8fs(&["umount", "-l"], Some(&mount.point()));
    assert_eq!((lazy.status.code(), &*lazy.stderr), (Some(0), &b""[..]));
    assert_eq!(mounted(&mount.point()), None);
    drop(holder);
    mount.finish();
}

/// Does one of these descriptors of a process lead there?
fn has_open(pid: u32, is_it: impl Fn(&Path) -> bool) -> bool {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut links = links.flatten();
    links.any(|link| std::fs::read_link(link.path()).is_ok_and(|target| is_it(&target)))
}

/// A process that asks a mount how it does holds it while it waits for the answer.
#[test]
fn a_mount_that_is_only_asked_how_it_does_is_unmounted_when_it_has_answered() {
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    mount.close();
    let point = mount.point();
    mount.pause();
    let start = |words: &[&str]| {
        let mut command = Command::new(binary());
        command.args(words).arg(&point);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let status = start(&["status", "--json"]);
    let children = format!("/proc/{0}/task/{0}/children", status.id());
    until(|| {
        let children = std::fs::read_to_string(&children).unwrap();
        let mut children = children.split_whitespace();
        let is_asking = |id: &str| has_open(id.parse().unwrap(), |target| target == point);
        children.any(is_asking)
    });
    // It tries for two seconds.
    let umount = start(&["umount"]);
    assert!(mounted(&point).is_some());
    mount.go_on();
    let asked = status.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(said["pid"], mount.id());
    let done = umount.wait_with_output().unwrap();
    assert_eq!(
        (done.status.code(), words(&done.stderr)),
        (Some(0), String::new())
    );
    assert_eq!(mounted(&point), None);
    mount.finish();
}

/// A script that sums the audit log up next misses nothing.
#[test]
fn umount_returns_when_the_daemon_has_ended_and_its_audit_log_is_complete() {
    if !needs::root("the kernel's list of connections") {
        return;
    }
    let tree = Tree::new();
    for sandbox in ["full", "none", "full", "none"] {
        let mut mount = tree.mount(&["--sandbox", sandbox]);
        mount.close();
        let done = utf8fs(&["umount"], Some(&mount.point()));
        let log = audit::read(&tree.audit_log());
        let last = log.last().unwrap().text("event");
        assert_eq!((done.status.code(), last), (Some(0), "summary"));
        mount.finish();
    }
}

/// It does not end, and nobody asks it anything.
#[test]
fn umount_of_a_mount_whose_daemon_is_stopped_is_done_all_the_same() {
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    mount.close();
    mount.pause();
    let done = utf8fs(&["umount"], Some(&mount.point()));
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]));
    assert_eq!(mounted(&mount.point()), None);
    mount.go_on();
    mount.finish();
}

/// As in a container: that takes no three seconds.
#[test]
fn umount_does_not_wait_for_a_daemon_that_serves_the_mount_elsewhere() {
    if !needs::root("mount(8)") {
        return;
    }
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    mount.close();
    let elsewhere = tree.parent().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let connections = ["-t", "fusectl", "none", "/sys/fs/fuse/connections"];
    // It may be mounted already.
    Command::new("mount").args(connections).output().unwrap();
    let mut bind = Command::new("mount");
    let bind = bind.arg("--bind").args([&mount.point(), &elsewhere]);
    assert!(bind.status().unwrap().success());
    let _cleared = Cleared(elsewhere.clone());
    let start = Instant::now();
    let done = utf8fs(&["umount"], Some(&mount.point()));
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(start.elapsed() < Duration::from_secs(3));
    umount(&elsewhere);
    mount.finish();
}

/// Runs a script in a mount namespace of its own, which has no mounts of utf8fs but its own, of `$A` at `$P` and of `$B` at `$Q`.
/// Gives the script's exit status, and what it prints.
fn with_two_mounts(script: &str) -> (Option<i32>, String) {
    let (tree, other) = (Tree::new(), Tree::new());
    let setting = "umount -a -t fuse.utf8fs; trap 'umount -a -l -t fuse.utf8fs' EXIT
        utf8fs() { \"$PROGRAM\" \"$@\"; }
        mounted() { grep -c fuse.utf8fs /proc/self/mountinfo; }
        exec 2>&1
        utf8fs mount --background --quiet \"$A\" \"$P\" && utf8fs mount --background --quiet \"$B\" \"$Q\" || exit 99
        ";
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c"])
        .arg(format!("{setting}{script}"))
        .env("PROGRAM", binary())
        .envs([("A", tree.backing()), ("P", tree.point())])
        .envs([("B", other.backing()), ("Q", other.point())])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut said = words(&output.stdout).replace('\r', "");
    for (name, path) in [
        ("A", tree.backing()),
        ("P", tree.point()),
        ("B", other.backing()),
        ("Q", other.point()),
    ] {
        said = said.replace(path.to_str().unwrap(), name);
    }
    (output.status.code(), said)
}

const LIST: &str = "\"Q\" shows \"B\", mounted by root\n\"P\" shows \"A\", mounted by root\n";

#[test]
fn without_a_terminal_all_mounts_are_listed_and_left_unless_yes_is_given() {
    if !needs::root("a mount namespace") {
        return;
    }
    let (code, said) = with_two_mounts("utf8fs umount --all; code=$?; mounted; exit $code");
    let refused = "error: nothing is unmounted: --all asks first, and there is no terminal\n\
        hint: add --yes to unmount all of these, or name the mount points\n";
    assert_eq!((code, said), (Some(2), format!("{LIST}{refused}2\n")));
    let (code, said) = with_two_mounts("utf8fs umount --all --yes && mounted");
    let unmounted = "\"Q\" is unmounted\n\"P\" is unmounted\n0\n";
    assert_eq!((code, &*said), (Some(1), unmounted));
}

/// On a terminal that `script(1)` makes, with what is typed there.
#[test]
fn on_a_terminal_all_mounts_are_unmounted_after_a_yes_only() {
    if !needs::root("a mount namespace") || !needs::program("script", "asking on a terminal") {
        return;
    }
    let asked = format!("{LIST}Unmount these mounts (2)? [y/N] ");
    for (typed, is_yes) in [
        ("y\\n", true),
        ("YES\\n", true),
        ("n\\n", false),
        ("\\n", false),
        ("yep\\n", false),
    ] {
        let ask =
            "script --quiet --return --echo never --command '\"$PROGRAM\" umount --all' /dev/null";
        let (code, said) = with_two_mounts(&format!(
            "printf '{typed}' | {ask}; code=$?; mounted; exit $code"
        ));
        let end = match is_yes {
            true => "\"Q\" is unmounted\n\"P\" is unmounted\n0\n",
            false => "error: nothing is unmounted: not confirmed\n2\n",
        };
        let expected = (Some(i32::from(!is_yes)), format!("{asked}{end}"));
        assert_eq!((code, said), expected, "{typed}");
    }
}

/// Whose mounts they are: root sees all, others theirs alone.
#[test]
fn an_ordinary_user_sees_no_mounts_of_others() {
    if !needs::root("a mount namespace") {
        return;
    }
    let user = "cp \"$PROGRAM\" \"${P%/*}/copy\" && setpriv --reuid 1234 --clear-groups -- \"${P%/*}/copy\"";
    let (code, said) = with_two_mounts(&format!(
        "{user} umount --all; code=$?; mounted; exit $code"
    ));
    assert_eq!((code, &*said), (Some(0), "2\n"));
}

#[test]
fn nothing_but_a_mount_of_utf8fs_is_unmounted() {
    let tree = Tree::new();
    let bare = utf8fs(&["umount"], Some(&tree.point()));
    assert_eq!(bare.status.code(), Some(1));
    assert!(words(&bare.stderr).starts_with("error: nothing is mounted on "));
    let proc = utf8fs(&["umount", "--lazy"], Some(Path::new("/proc")));
    assert_eq!(proc.status.code(), Some(1));
    assert!(words(&proc.stderr).contains("is not a utf8fs mount, but of \"proc\""));
    assert!(mounted(Path::new("/proc")).is_some());
    let mount = tree.mount(&[]);
    at::mkdir(mount.dir(), b"inside").unwrap();
    let inside = utf8fs(&["umount"], Some(&mount.point().join("inside")));
    assert!(words(&inside.stderr).starts_with("error: nothing is mounted on "));
    mount.stop();
}

/// The line of `status --all` for this mount.
fn state(point: &Path) -> (Option<i32>, Option<Value>) {
    let all = utf8fs(&["status", "--all", "--format", "json"], None);
    let said = words(&all.stdout);
    let mut objects = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ours = objects.find(|object| object["mountpoint"]["text"] == *point.to_str().unwrap());
    (all.status.code(), ours)
}

/// A dead mount is told of, with an exit status for who watches, and is cleared though somebody is still in it.
#[test]
fn a_dead_mount_is_reported_and_cleared() {
    if !needs::root("clearing a dead mount that is in use") {
        return;
    }
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    let point = mount.point();
    mount.close();
    let well = state(&point).1.unwrap();
    assert_eq!(well["state"], "well");
    assert!(well["pid"].is_u64());
    let holder = Holder::new(&point);
    mount.kill();
    let _cleared = Cleared(point.clone());
    let (code, dead) = state(&point);
    let dead = dead.unwrap();
    assert_eq!((code, &dead["state"]), (Some(1), &Value::from("dead")));
    assert_eq!(dead["pid"], Value::Null);
    let done = utf8fs(&["umount"], Some(&point));
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]));
    assert_eq!(mounted(&point), None);
    assert_eq!(state(&point).1, None);
    drop(holder);
}

/// What `utf8fs@.service` leaves of root's capabilities is all that a daemon would keep anyway, and enough to mount.
#[test]
fn the_capabilities_of_the_unit_are_enough() {
    if !needs::root("a limited set of capabilities") {
        return;
    }
    let permitted = |mount: &Mount<'_>| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", mount.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
        line.unwrap().trim().to_owned()
    };
    let (tree, other) = (Tree::new(), Tree::new());
    tree.file(b"file", b"content");
    let command = user::limited_by("utf8fs@.service");
    let limited = Mount::start_under(&tree, &command.each_ref().map(String::as_str), &[]);
    let usual = other.mount(&[]);
    assert_eq!(at::read(limited.dir(), b"file").unwrap(), b"content");
    at::write_new(limited.dir(), b"new", b"written").unwrap();
    assert_eq!(permitted(&limited), permitted(&usual));
    limited.stop();
    usual.stop();
}
