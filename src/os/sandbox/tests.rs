//! What a filtered process can and cannot do. The filters are of whole processes, so each has one of its own.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit};

use super::*;
use crate::backing::{FileHandle, sys};

fn outcome<T>(done: Result<T, impl Into<io::Error>>) -> String {
    match done {
        Ok(_) => "done".to_owned(),
        Err(error) => match error.into().raw_os_error() {
            Some(libc::ENOSYS) => "off the list".to_owned(),
            Some(errno) => format!("errno {errno}"),
            None => "no errno".to_owned(),
        },
    }
}

/// Not a test: what the tests run. Each line says what came of a call.
#[test]
#[ignore = "run by other tests"]
#[expect(
    clippy::exit,
    reason = "the harness would use calls that are off the list"
)]
fn filtered() {
    let Some(who) = std::env::var_os("FILTERED") else {
        return;
    };
    let privilege = if who == "root" {
        Privilege::Root
    } else {
        Privilege::User
    };
    let file = File::open("/proc/self/exe").unwrap();
    let fork = || Command::new("/bin/true").spawn();
    let namespace = File::open("/proc/self/ns/mnt").unwrap();
    let handle = FileHandle::from_parts(1, &[0; 8]).unwrap();
    let limit = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    // It is no group: what is let through fails.
    let mark = |flags, events| {
        outcome(sys::fanotify_mark(
            file.as_fd(),
            flags,
            events,
            file.as_fd(),
        ))
    };
    rustix::thread::set_no_new_privs(true).unwrap();
    filter(DAEMON, privilege).unwrap();
    let thread = std::thread::spawn(rustix::process::getpid);
    let panicking = std::thread::spawn(|| panic!("with a backtrace"));
    let rows = [
        (
            "thread",
            outcome(thread.join().map_err(|_panic| io::Error::other(""))),
        ),
        ("panic", panicking.join().is_err().to_string()),
        ("open", outcome(File::open("/"))),
        ("umask of its own", outcome(sys::unshare_fs())),
        ("process", outcome(fork())),
        ("mount namespace", outcome(sys::unshare_mounts())),
        (
            "setns",
            outcome(rustix::thread::move_into_link_name_space(
                namespace.as_fd(),
                None,
            )),
        ),
        (
            "mount",
            outcome(rustix::mount::mount_change(
                "/",
                rustix::mount::MountPropagationFlags::PRIVATE,
            )),
        ),
        (
            "unmount",
            outcome(rustix::mount::unmount(
                "/nowhere",
                rustix::mount::UnmountFlags::empty(),
            )),
        ),
        ("root", outcome(rustix::process::pivot_root("/", "/"))),
        ("chroot", outcome(rustix::process::chroot("/"))),
        (
            "internet",
            outcome(rustix::net::socket(
                AddressFamily::INET,
                SocketType::STREAM,
                None,
            )),
        ),
        (
            "machine",
            outcome(rustix::net::socket(
                AddressFamily::UNIX,
                SocketType::STREAM,
                None,
            )),
        ),
        ("ioctl", outcome(rustix::io::ioctl_fionread(&file))),
        (
            "limit",
            outcome(rustix::process::setrlimit(Resource::Nofile, limit)),
        ),
        (
            "dumpable",
            outcome(rustix::process::set_dumpable_behavior(
                rustix::process::DumpableBehavior::Dumpable,
            )),
        ),
        (
            "kill",
            outcome(rustix::process::test_kill_process(rustix::process::getpid())),
        ),
        (
            "handle",
            outcome(sys::open_by_handle(
                file.as_fd(),
                &handle.to_raw(),
                libc::O_PATH,
            )),
        ),
        (
            "group",
            outcome(sys::fanotify_init(libc::FAN_CLASS_CONTENT)),
        ),
        (
            "mark",
            mark(
                libc::FAN_MARK_ADD | libc::FAN_MARK_ONLYDIR,
                libc::FAN_CREATE,
            ),
        ),
        (
            "mark of a filesystem",
            mark(
                libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM,
                libc::FAN_CREATE,
            ),
        ),
        (
            "mark that holds up",
            mark(
                libc::FAN_MARK_ADD | libc::FAN_MARK_ONLYDIR,
                libc::FAN_CREATE | libc::FAN_OPEN_PERM,
            ),
        ),
        ("end", String::new()),
    ];
    let text: Vec<String> = rows.map(|(what, done)| format!("{what}: {done}\n")).into();
    rustix::io::write(rustix::stdio::stdout(), text.concat().as_bytes()).unwrap();
    std::process::exit(0);
}

fn run(who: &str) -> String {
    let output = Command::new("/proc/self/exe")
        .args([
            "--exact",
            "--ignored",
            "--nocapture",
            "os::sandbox::tests::filtered",
        ])
        .env("FILTERED", who)
        .env("RUST_BACKTRACE", "1")
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}: {text}", output.status);
    text
}

#[test]
fn a_call_off_the_list_fails_and_a_call_on_it_works() {
    let said = run("root");
    for done in ["thread", "open", "umask of its own"] {
        assert!(
            said.contains(&format!("{done}: done\n")),
            "{done} in\n{said}"
        );
    }
    assert!(said.contains("panic: true\n"), "{said}");
    for refused in [
        "process",
        "mount namespace",
        "setns",
        "mount",
        "unmount",
        "root",
        "chroot",
        "internet",
        "machine",
        "ioctl",
        "limit",
        "dumpable",
        "kill",
        "group",
        "mark of a filesystem",
        "mark that holds up",
    ] {
        let line = format!("\n{refused}: off the list\n");
        assert!(said.contains(&line), "{refused} in\n{said}");
    }
    for let_through in ["handle", "mark"] {
        let line = format!("\n{let_through}: off the list\n");
        assert!(!said.contains(&line), "{let_through} in\n{said}");
    }
}

#[test]
fn a_user_opens_nothing_by_handle_and_marks_nothing() {
    let said = run("user");
    for refused in ["handle", "mark"] {
        let line = format!("\n{refused}: off the list\n");
        assert!(said.contains(&line), "{refused} in\n{said}");
    }
}

#[test]
fn no_call_is_listed_twice() {
    for list in [DAEMON, HELPER] {
        let mut names: Vec<&str> = list.iter().chain(OLDER).map(|call| call.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

/// Filters are made for both kinds of processors that docs/internals/security.md names, and none is empty.
#[test]
fn there_is_a_filter_for_this_processor() {
    for privilege in [Privilege::Root, Privilege::User] {
        assert!(seccomp::program(DAEMON, privilege).unwrap().len() > DAEMON.len());
    }
}
