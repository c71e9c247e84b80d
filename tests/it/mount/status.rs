//! `utf8fs status` on real mounts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::mount::{MountFlags, mount_remount};
use serde_json::{Value, json};
use utf8fs::records::Name;

use super::mounts_inside::Inner;
use crate::support::mount::{binary, detach, mounted};
use crate::support::strace::Strace;
use crate::support::wait::until_some;
use crate::support::{Tree, at, cpu, memory, needs, status, user};

/// A second ordinary user that every Debian has: `daemon`.
const DAEMON: u32 = 1;

/// The mount works on one request at a time, and the kernel keeps what it knows: what is asked for is what is counted.
const STEADY: &[&str] = &["--threads", "1", "--cache", "3600"];

fn words(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).expect("what is printed is UTF-8")
}

/// What `utf8fs status` says of `path` that has none.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    words(&output.stderr)
}

/// The object that `utf8fs status --json` prints for `path`, with this exit code.
fn object(code: i32, path: &Path) -> Value {
    let output = status::run(&[OsStr::new("--json"), path.as_os_str()]);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The exit code of `utf8fs status`, and its second line.
fn judgement(path: &Path) -> (Option<i32>, String) {
    let output = status::run(&[path.as_os_str()]);
    let line = words(&output.stdout).lines().nth(1).map(str::to_owned);
    (output.status.code(), line.unwrap_or_default())
}

/// A copy of the program that every user can run.
fn program(tree: &Tree) -> PathBuf {
    let copy = tree.parent().join("utf8fs");
    // By a program of its own: while one of ours has it open for writing, it can't be run, and others fork meanwhile.
    let copied = Command::new("cp").arg(binary()).arg(&copy).status();
    assert!(copied.unwrap().success());
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    copy
}

fn ask_as(uid: u32, program: &Path, point: &Path) -> Output {
    let mut command = user::command(uid, program);
    command.arg("status").arg(point).output().unwrap()
}

#[test]
fn requests_errors_offences_and_what_is_open_are_counted() {
    let _kept = memory::kept();
    let tree = Tree::in_memory();
    cpu::stay();
    let mount = tree.mount(STEADY);
    mount.dir();
    // It was opened to see whether it answers, too, and RELEASEDIR is not waited for.
    let before = until_some(|| {
        Some(status::of(&mount.point())).filter(|status| status["open"]["directories"] == 1)
    });
    let mut open = Vec::new();
    for number in 0..20 {
        let name = format!("file-{number}");
        open.push(at::create_new(mount.dir(), name.as_bytes()).unwrap());
        assert!(at::stat(mount.dir(), format!("none-{number}").as_bytes()).is_err());
    }
    for name in [&b"caf\xE9"[..], b"\xFF"] {
        assert!(at::create_new(mount.dir(), name).is_err());
    }
    let after = status::of(&mount.point());
    let counted = |what: &str, field: &str| {
        let number = |status: &Value| status["operations"][what][field].as_u64().unwrap();
        number(&after) - number(&before)
    };
    assert_eq!(counted("create", "requests"), 22);
    assert_eq!(counted("create", "errors"), 2);
    assert_eq!(counted("lookup", "errors"), 20 + 22);
    assert_eq!(counted("rename", "requests"), 0);
    assert!(counted("create", "backing_calls") >= 20);
    assert!(counted("create", "microseconds") > 0);
    let times = |status: &Value| -> u64 {
        let times = status["operations"]["create"]["times"].as_array().unwrap();
        times.iter().map(|count| count.as_u64().unwrap()).sum()
    };
    assert_eq!(times(&after) - times(&before), 22);
    for field in ["requests", "errors", "backing_calls"] {
        let all = after["operations"].as_object().unwrap().values();
        let sum: u64 = all.map(|counted| counted[field].as_u64().unwrap()).sum();
        assert_eq!(after["total"][field], json!(sum), "{field}");
    }
    assert_eq!(after["open"], json!({ "files": 20, "directories": 1 }));
    assert_eq!(after["inodes"], json!(21));
    assert_eq!(after["offences"]["ill-formed"], json!(2));
    assert_eq!(after["verdicts"]["refused"], json!(2));
    assert_eq!(after["options"]["threads"], json!(1));
    assert_eq!(after["options"]["cache"], json!(3600.0));
    assert_eq!(after["kept"]["names_seconds"], json!(3600.0));
    assert_eq!(after["watch"], Value::Null);
    drop(open);
    mount.stop();
}

/// Looking twice shows the same: the question itself is counted nowhere.
#[test]
fn asking_changes_nothing_and_the_attribute_is_in_no_list() {
    let tree = Tree::in_memory();
    cpu::stay();
    let mount = tree.mount(STEADY);
    mount.dir();
    let first = status::requests(&mount.point());
    assert_eq!(status::requests(&mount.point()), first);
    let names = rustix::fs::flistxattr(mount.dir(), &mut [0; 100][..]).unwrap();
    assert_eq!(names, 0);
    // Nothing but the root has it, nobody can set it, and what is asked there is the backing filesystem's to answer.
    let set = rustix::fs::fsetxattr(
        mount.dir(),
        "utf8fs.status",
        b"x",
        rustix::fs::XattrFlags::empty(),
    );
    assert_eq!(set, Err(rustix::io::Errno::OPNOTSUPP));
    let file = at::create_new(mount.dir(), b"file").unwrap();
    let got = rustix::fs::fgetxattr(&file, "utf8fs.status", &mut [0; 65_536][..]);
    assert_eq!(got, Err(rustix::io::Errno::OPNOTSUPP));
    drop(file);
    mount.stop();
}

/// System calls of the daemon's threads that are not made on the backing filesystem for a request: those towards the kernel's FUSE
/// side, those that change or wait for threads, and close(2).
const OTHER_CALLS: &[&str] = &[
    "read",
    "write",
    "io_uring_enter",
    "ioctl",
    "close",
    "futex",
    "setfsuid",
    "setfsgid",
    "umask",
    "prctl",
    "capset",
    "capget",
    "unshare",
    "clock_gettime",
    "clock_nanosleep",
    "sched_yield",
    "gettid",
    "madvise",
    "mmap",
    "munmap",
    "mprotect",
    "brk",
    "restart_syscall",
    "recvfrom",
    "ppoll",
    "rt_sigprocmask",
    "clone",
    "clone3",
    "set_robust_list",
    "rseq",
    "sigaltstack",
    "sched_getaffinity",
    "exit",
];

#[test]
fn the_backing_calls_are_those_that_strace_sees() {
    if !needs::root("tracing the daemon") {
        return;
    }
    let _kept = memory::kept();
    let tree = Tree::new();
    for number in 0..20 {
        tree.file(format!("old-{number}").as_bytes(), b"content");
    }
    cpu::stay();
    let mount = tree.mount(&[STEADY, &["--passthrough", "off"]].concat());
    // What is done once only, and the root's attributes.
    drop(at::create_new(mount.dir(), b"first").unwrap());
    at::stat(mount.dir(), b".").unwrap();
    let calls = || {
        status::of(&mount.point())["total"]["backing_calls"]
            .as_u64()
            .unwrap()
    };
    let before = calls();
    let log = tree.parent().join("calls");
    let tracer = Strace::attach(&mount, &["-o", log.to_str().unwrap()]);
    for number in 0..20 {
        let (old, new) = (format!("old-{number}"), format!("new-{number}"));
        at::stat(mount.dir(), old.as_bytes()).unwrap();
        assert_eq!(at::read(mount.dir(), old.as_bytes()).unwrap(), b"content");
        at::write_new(mount.dir(), new.as_bytes(), b"content").unwrap();
        at::rename(mount.dir(), new.as_bytes(), b"renamed").unwrap();
    }
    at::symlink(b"target", mount.dir(), b"link").unwrap();
    at::mkdir(mount.dir(), b"directory").unwrap();
    drop(at::open_dir(mount.dir(), b"directory").unwrap());
    // Closing is not waited for; what comes after it, is.
    rustix::fs::fstatfs(mount.dir()).unwrap();
    tracer.detach();
    let counted = calls() - before;
    let log = std::fs::read(&log).unwrap().escape_ascii().to_string();
    let name = |line: &str| -> Option<String> {
        // `1234  openat(...`, or what goes on after another thread's line.
        let call = line.split_once(' ')?.1.trim_start().split_once('(')?.0;
        (!call.is_empty()
            && call
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .then(|| call.to_owned())
    };
    // Builds for tests ask whether what they close is open.
    let seen: Vec<String> = log
        .split("\\n")
        .filter(|line| !line.contains("F_GETFD"))
        .filter_map(name)
        .filter(|call| !OTHER_CALLS.contains(&call.as_str()))
        .collect();
    assert!(seen.len() > 100, "{log}");
    assert_eq!(counted, seen.len() as u64, "{log}");
    mount.stop();
}

#[test]
fn what_is_no_mount_of_utf8fs_is_said_to_be_none() {
    let tree = Tree::in_memory();
    tree.directory(b"inside");
    let mount = tree.mount(&[]);
    let ask = |path: &Path| refusal(&status::run(&[path.as_os_str()]));
    let backing = ask(&tree.backing());
    assert!(
        backing.contains("is not a utf8fs mount: it is on"),
        "{backing}"
    );
    let inside = ask(&mount.point().join("inside"));
    assert!(inside.contains("is inside the mount on"), "{inside}");
    let none = ask(&tree.parent().join("none\n"));
    assert!(
        none.contains("none\\n\" cannot be looked at: No such file"),
        "{none}"
    );
    mount.stop();
    let gone = ask(&tree.point());
    assert!(gone.contains("is not a utf8fs mount"), "{gone}");
    let object = object(1, &tree.point());
    let expected =
        json!({ "mountpoint": Name::of_path(&tree.point()), "source": null, "state": "unknown" });
    assert_eq!(object, expected);
}

#[test]
fn a_dead_mount_is_said_to_be_dead() {
    let tree = Tree::in_memory();
    let mut mount = tree.mount(&[]);
    let point = mount.point();
    // A series of metrics keeps its labels when the mount dies, by whatever path it is asked.
    let link = tree.parent().join("link");
    std::os::unix::fs::symlink(&point, &link).unwrap();
    let up_by_link = || {
        let said = status::run(&[OsStr::new("--format=prometheus"), link.as_os_str()]);
        let said = words(&said.stdout);
        let up = said.lines().find(|line| line.starts_with("utf8fs_up{"));
        up.map(|up| up.split_at(up.len() - 1).0.to_owned())
    };
    let up = up_by_link();
    mount.close();
    mount.kill();
    assert!(up.is_some());
    assert_eq!(up_by_link(), up);
    let said = refusal(&status::run(&[point.as_os_str()]));
    assert!(said.contains("is gone"), "{said}");
    assert!(said.contains("hint: unmount it, or mount again"), "{said}");
    let metrics = status::run(&[OsStr::new("--format=prometheus"), point.as_os_str()]);
    assert_eq!(metrics.status.code(), Some(1));
    let metrics = words(&metrics.stdout);
    for metric in ["up", "well"] {
        let down = format!("utf8fs_{metric}{{mountpoint={point:?}}} 0\n");
        assert!(metrics.contains(&down), "{metrics}");
    }
    let expected = json!({
        "mountpoint": Name::of_path(&point), "source": Name::of_path(&tree.backing()), "state": "dead"
    });
    assert_eq!(object(1, &point), expected);
}

/// What is written goes where nobody looks.
#[test]
fn a_mount_whose_backing_directory_is_gone_or_another_is_impaired() {
    let tree = Tree::in_memory();
    let mount = tree.mount(&[]);
    let (point, backing, away) = (mount.point(), tree.backing(), tree.parent().join("away"));
    let well = (Some(0), "the mount is well".to_owned());
    assert_eq!(judgement(&point), well);
    assert_eq!(object(0, &point)["state"], "well");
    rustix::fs::rename(&backing, &away).unwrap();
    let gone = format!("impaired: the backing directory {backing:?} is gone");
    assert_eq!(judgement(&point), (Some(1), gone));
    let impaired = object(1, &point);
    assert_eq!(impaired["state"], "impaired");
    assert_eq!(impaired["backing_fault"], "gone");
    std::fs::create_dir(&backing).unwrap();
    let (code, line) = judgement(&point);
    let replaced = format!("impaired: {backing:?} is another directory than");
    assert!(code == Some(1) && line.starts_with(&replaced), "{line}");
    std::fs::remove_dir(&backing).unwrap();
    rustix::fs::rename(&away, &backing).unwrap();
    assert_eq!(judgement(&point), well);
    mount.stop();
}

#[test]
fn a_mount_whose_filesystem_was_unmounted_below_is_impaired() {
    if !needs::root("mounts below the mount") {
        return;
    }
    let tree = Tree::in_memory();
    let inner = Inner::memory(tree.backing());
    let mount = tree.mount(&[]);
    assert_eq!(judgement(&mount.point()).0, Some(0));
    drop(inner);
    let (code, line) = judgement(&mount.point());
    assert!(
        code == Some(1) && line.contains("its filesystem unmounted"),
        "{line}"
    );
    mount.stop();
}

/// A container sees other directories by the same paths.
#[test]
fn a_mount_whose_daemon_is_outside_the_container_is_not_judged_by_paths_inside() {
    if !needs::root("a PID namespace") {
        return;
    }
    let tree = Tree::in_memory();
    let mount = tree.mount(&[]);
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"])
        .arg("mount --bind / \"$0\" && \"$1\" status \"$2\"")
        .args([&tree.backing(), Path::new(binary()), &mount.point()])
        .output()
        .unwrap();
    let said = words(&output.stdout);
    assert!(said.contains("\nthe mount is well\n"), "{output:?}");
    mount.stop();
}

#[test]
fn a_mount_over_its_own_backing_directory_is_well() {
    if !needs::root("serving what is mounted over") {
        return;
    }
    let tree = Tree::in_memory();
    let point = Detached(tree.backing());
    let made = Command::new(binary())
        .args(["mount", "--background", "--quiet"])
        .args([&point.0, &point.0])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let well = (Some(0), "the mount is well".to_owned());
    assert_eq!(judgement(&point.0), well);
}

#[test]
fn the_flags_are_those_that_the_mount_has_by_now() {
    if !needs::root("a remount") {
        return;
    }
    let tree = Tree::in_memory();
    let mount = tree.mount(&["-o", "noatime"]);
    let flags = || status::of(&mount.point())["options"]["flags"].clone();
    assert_eq!(flags(), json!(["nosuid", "nodev", "noatime"]));
    let read_only = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOEXEC;
    mount_remount(mount.point(), read_only, c"").unwrap();
    assert_eq!(flags(), json!(["ro", "noexec", "noatime"]));
    mount.stop();
}

#[test]
fn a_daemon_that_is_stopped_is_not_waited_for_for_ever() {
    let tree = Tree::in_memory();
    let mount = tree.mount(&[]);
    mount.pause();
    let output = status::run(&[OsStr::new("--json"), mount.point().as_os_str()]);
    mount.go_on();
    let said = words(&output.stderr);
    assert!(said.contains("does not answer for 5 seconds"), "{said}");
    assert!(said.contains("kill -CONT"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["state"], "silent");
    mount.stop();
}

/// Who asks a stopped daemon may not end before that goes on; who reads what `status` says must not wait for it.
#[test]
fn who_asks_has_nothing_open_that_others_read() {
    let tree = Tree::in_memory();
    let mount = tree.mount(&[]);
    mount.pause();
    let mut command = Command::new(binary());
    command.arg("status").arg(mount.point());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let status = command.spawn().unwrap();
    let asker = loop {
        let children = format!("/proc/{0}/task/{0}/children", status.id());
        let children = std::fs::read_to_string(children).unwrap();
        // Until it has its name, it has what its parent has.
        let asks = |id: &&str| {
            let name = std::fs::read(format!("/proc/{id}/comm"));
            name.is_ok_and(|name| name == b"utf8fs-status\n")
        };
        if let Some(id) = children.split_whitespace().find(asks) {
            break id.to_owned();
        }
    };
    let open = |id: &str, fd: u32| std::fs::read_link(format!("/proc/{id}/fd/{fd}")).unwrap();
    for fd in [1, 2] {
        assert_ne!(open(&asker, fd), open(&status.id().to_string(), fd));
    }
    mount.go_on();
    assert!(status.wait_with_output().unwrap().status.success());
    mount.stop();
}

#[test]
fn other_users_are_told_nothing() {
    if !needs::root("several users on one mount") {
        return;
    }
    let tree = Tree::in_memory();
    let program = program(&tree);
    let mount = tree.mount(&[]);
    let point = mount.point();
    // It may look at the mount, not ask it.
    assert!(
        user::script(user::NOBODY, &point, "ls \"$PLACE\"")
            .status
            .success()
    );
    let said = refusal(&ask_as(user::NOBODY, &program, &point));
    assert!(
        said.contains("permission denied: only root and the user who mounted it may ask"),
        "{said}"
    );
    assert!(ask_as(0, &program, &point).status.success());
    mount.stop();
}

/// Who mounts as an ordinary user may ask, and root may, whom the kernel does not let in.
#[test]
fn the_user_who_mounted_and_root_are_told() {
    if !needs::root("mounting as another user") {
        return;
    }
    let tree = Tree::in_memory();
    let program = program(&tree);
    for directory in [tree.backing(), tree.point()] {
        std::os::unix::fs::chown(directory, Some(user::NOBODY), Some(user::NOBODY)).unwrap();
    }
    let mount = crate::support::Mount::start_as(&tree, user::NOBODY, &program, &[]);
    for uid in [user::NOBODY, 0] {
        let output = ask_as(uid, &program, &mount.point());
        assert!(output.status.success(), "{uid}: {output:?}");
        assert!(
            words(&output.stdout).contains("options in force"),
            "{output:?}"
        );
    }
    let said = refusal(&ask_as(DAEMON, &program, &mount.point()));
    assert!(said.contains("permission denied"), "{said}");
    mount.stop();
}

/// A mount that goes with the test.
struct Detached(PathBuf);

impl Drop for Detached {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

/// In the background and confined, where the paths are no text and would move the cursor or end a label.
#[test]
fn a_mount_in_the_background_tells_hostile_paths_unharmed() {
    let tree = Tree::in_memory();
    let directory = |name: &[u8]| {
        let path = tree.parent().join(OsStr::from_bytes(name));
        std::fs::create_dir(&path).unwrap();
        path
    };
    let backing = directory(b"below\"}\xE9\x1B[2J");
    let point = Detached(directory(b"above\"}\xE9\x1B[2J"));
    let made = Command::new(binary())
        .args(["mount", "--background", "--quiet", "--audit-log"])
        .args([tree.parent().join("log").as_path(), &backing, &point.0])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    assert!(mounted(&point.0).is_some());
    let status = status::of(&point.0);
    assert_eq!(status["options"]["sandbox"], json!("full"));
    assert_eq!(status["options"]["background"], json!(true));
    for format in ["text", "json", "prometheus"] {
        let arguments: [OsString; 3] = ["--format".into(), format.into(), point.0.clone().into()];
        let output = status::run(&arguments.each_ref().map(OsString::as_os_str));
        assert!(output.status.success(), "{output:?}");
        let said = words(&output.stdout);
        assert!(
            !said.contains(|c: char| c.is_control() && c != '\n'),
            "{said:?}"
        );
        let shown = match format {
            "text" => r#"above\"}\xE9\x1B[2J""#.to_owned(),
            "prometheus" => r#"above\\\"}\\xE9\\x1B[2J",operation="lookup""#.to_owned(),
            _ => {
                use base64::{Engine, engine::general_purpose::STANDARD};
                let octets = point.0.clone().into_os_string().into_vec();
                format!(r#""mountpoint":{{"bytes":"{}"}}"#, STANDARD.encode(octets))
            }
        };
        assert!(said.contains(&shown), "{format}: {said}");
    }
}
