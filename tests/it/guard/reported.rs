//! What is heard of, what is found, and what is in the log.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::fs::CWD;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Signal;

use super::{Guard, short};
use crate::support::mount::binary;
use crate::support::wait::until;
use crate::support::{Tree, at, audit, needs, status, user};

fn rows(rows: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>, String)> {
    let row = |(operation, path): &(&str, &[u8])| {
        (
            (*operation).to_owned(),
            path.to_vec(),
            "reported".to_owned(),
        )
    };
    rows.iter().map(row).collect()
}

/// Names are made as ever; the log says which, where, by what operation and by whom (law L2).
#[test]
fn every_way_of_making_a_name_is_reported_with_its_maker() {
    if !needs::root("guards") {
        return;
    }
    for tree in [Tree::new(), Tree::in_memory()] {
        let deep = tree.directory(b"deep");
        let guard = Guard::start(&tree, &["--no-initial-scan"]);
        at::write_new(&deep, b"fine \xC3\xA9", b"").unwrap();
        at::write_new(&deep, b"f\xE9", b"").unwrap();
        at::mkdir(&deep, b"d\xE9").unwrap();
        at::symlink(b"f\xE9", &deep, b"s\xE9").unwrap();
        at::link(&deep, b"f\xE9", b"l\xE9").unwrap();
        at::rename(&deep, b"fine \xC3\xA9", b"r\xE9").unwrap();
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(&deep, b"p\xE9".as_slice(), kind, 0o600.into(), 0).unwrap();
        guard.wait_for(6);
        let log = guard.stop();
        let expected: [(&str, &[u8]); 6] = [
            ("create", b"/deep/f\xE9"),
            ("mkdir", b"/deep/d\xE9"),
            ("symlink", b"/deep/s\xE9"),
            ("link", b"/deep/l\xE9"),
            ("rename", b"/deep/r\xE9"),
            ("mknod", b"/deep/p\xE9"),
        ];
        let got: Vec<_> = log.iter().map(short).collect();
        // The file may have had both names when the first event was read.
        let mut expected = rows(&expected);
        if got[0].0 == "link" {
            expected[0].0 = "link".to_owned();
        }
        assert_eq!(got, expected);
        for record in &log {
            assert_eq!(record.number("pid"), u64::from(std::process::id()));
            assert_eq!(record.text("rule"), "ill-formed");
            assert_eq!(
                record.name("mount").unwrap(),
                tree.backing().as_os_str().as_encoded_bytes()
            );
        }
        assert_eq!(at::sorted(&deep).len(), 6);
    }
}

/// Of a process that has ended, the owner of the file is named, without a pid.
#[test]
fn what_another_user_made_is_that_users() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(tree.backing(), open).unwrap();
    let guard = Guard::start(&tree, &[]);
    let script = "touch \"$PLACE\"/$(printf 'a\\351')";
    assert!(user::script(1234, &tree.backing(), script).status.success());
    let log = guard.wait_for(1);
    assert_eq!(log[0].number("uid"), 1234);
    if log[0].number("pid") == 0 {
        assert_eq!(log[0].name("command").unwrap(), b"");
    } else {
        assert_eq!(log[0].name("command").unwrap(), b"touch");
    }
    guard.stop();
}

/// What lies elsewhere on the filesystem is nobody's business, nor is what is moved out.
#[test]
fn names_elsewhere_are_not_reported() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let exempt = ["--exempt", "/old/**", "--exempt", "*.tmp"];
    let guard = Guard::start(&tree, &[&exempt[..], &["--no-initial-scan"]].concat());
    let elsewhere = tree.parent().join("backing-not");
    std::fs::create_dir(&elsewhere).unwrap();
    let elsewhere = at::open_dir_path(&elsewhere);
    let below = tree.below_dir();
    at::write_new(&elsewhere, b"a\xE9", b"").unwrap();
    at::write_new(&below, b"b\xE9.tmp", b"").unwrap();
    let old = tree.directory(b"old");
    at::write_new(&old, b"c\xE9", b"").unwrap();
    at::write_new(&below, b"d\xE9", b"").unwrap();
    let path = |dir: &std::os::fd::OwnedFd| dir.as_fd().try_clone_to_owned().unwrap();
    rustix::fs::renameat(
        path(&below),
        b"d\xE9".as_slice(),
        path(&elsewhere),
        b"e\xE9".as_slice(),
    )
    .unwrap();
    at::write_new(&below, b"last\xE9", b"").unwrap();
    guard.wait_for(2);
    let got: Vec<_> = guard.stop().iter().map(short).collect();
    assert_eq!(
        got,
        rows(&[("create", b"/d\xE9"), ("create", b"/last\xE9")])
    );
}

/// What is there at the start is found, and what is moved in as a tree; each once. Links are not followed.
#[test]
fn what_was_not_heard_is_found() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    tree.file(b"old\xE9", b"");
    let moved = tree.parent().join("moved");
    std::fs::create_dir_all(moved.join("in")).unwrap();
    at::write_new(at::open_dir_path(&moved.join("in")), b"new\xE9", b"").unwrap();
    symlink(&moved, tree.backing().join("link")).unwrap();
    let guard = Guard::start(&tree, &[]);
    guard.wait_for(1);
    rustix::fs::renameat(CWD, &moved, CWD, tree.backing().join("came")).unwrap();
    guard.wait_for(2);
    // Within the directory a rename is no news of what is in it.
    at::rename(tree.below_dir(), b"came", b"went").unwrap();
    at::write_new(tree.below_dir(), b"end\xE9", b"").unwrap();
    guard.wait_for(3);
    let got: Vec<_> = guard.stop().iter().map(short).collect();
    let expected: [(&str, &[u8]); 3] = [
        ("found", b"/old\xE9"),
        ("found", b"/came/in/new\xE9"),
        ("create", b"/end\xE9"),
    ];
    assert_eq!(got, rows(&expected));

    std::fs::remove_file(tree.audit_log()).unwrap();
    let guard = Guard::start(&tree, &["--no-initial-scan"]);
    at::write_new(tree.below_dir(), b"more\xE9", b"").unwrap();
    guard.wait_for(1);
    let got: Vec<_> = guard.stop().iter().map(short).collect();
    assert_eq!(got, rows(&[("create", b"/more\xE9")]));
}

/// Of a process that has ended no groups are known: the owner's are those of the system's tables.
#[test]
fn a_section_of_a_group_holds_for_files_of_its_members() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let [passwd, group] = ["passwd", "group"].map(|table| tree.logs().join(table));
    std::fs::write(
        &passwd,
        "ana:x:4242:70:::\nbob:x:4243:71:::\neva:x:4244:72:::\n",
    )
    .unwrap();
    std::fs::write(&group, "team:x:72:ana\n").unwrap();
    let policy = tree.logs().join("policy.toml");
    std::fs::write(&policy, "[[section]]\ngroups = 'team'\nmode = 'off'").unwrap();
    for (name, owner) in [(b"ana\xE9", 4242), (b"bob\xE9", 4243), (b"eva\xE9", 4244)] {
        tree.file(name, b"");
        let path = tree.backing().join(OsStr::from_bytes(name));
        std::os::unix::fs::chown(path, Some(owner), None).unwrap();
    }
    let script = r#"mount --bind "$0" /etc/passwd; mount --bind "$1" /etc/group; shift; exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script]);
    command.args([&passwd, &group]).arg(binary());
    let guard = Guard::start_by(command, &tree, &["--policy", policy.to_str().unwrap()]);
    guard.wait_for(1);
    let got: Vec<_> = guard.stop().iter().map(short).collect();
    assert_eq!(got, rows(&[("found", b"/bob\xE9")]));
}

/// A name that is alike to an older sibling is reported, heard of or found.
#[test]
fn a_name_that_is_alike_to_a_sibling_is_reported() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    tree.file(b"README", b"");
    tree.file(b"ReadMe", b"");
    let guard = Guard::start(&tree, &["--unique", "casefold"]);
    guard.wait_for(1);
    let below = tree.below_dir();
    for name in ["Straße", "other", "strasse"] {
        at::write_new(&below, name.as_bytes(), b"").unwrap();
    }
    guard.wait_for(2);
    let log = guard.stop();
    assert_eq!(log.len(), 2);
    let row = |record: &audit::Record| {
        let sibling = record.name("sibling").unwrap();
        assert_eq!(record.text("rule"), "not-unique");
        (short(record), sibling, record.number("offset"))
    };
    let [found, heard] = [row(&log[0]), row(&log[1])];
    assert_eq!((found.0.0.as_str(), found.2), ("found", 1));
    assert!(log.iter().all(|record| record.name("accepted").is_none()));
    let expected = rows(&[("create", b"/strasse")]).remove(0);
    assert_eq!(heard, (expected, "Straße".into(), 0));
}

/// The policy is read anew on SIGHUP; a broken one leaves the old one in force.
#[test]
fn the_policy_is_read_anew() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let policy = tree.logs().join("policy.toml");
    std::fs::write(&policy, "profile = 'portable'").unwrap();
    let options = ["--no-initial-scan", "--policy", policy.to_str().unwrap()];
    let guard = Guard::start(&tree, &options);
    let below = tree.below_dir();
    at::write_new(&below, b"a?", b"").unwrap();
    guard.wait_for(1);
    for (text, said) in [
        ("mode = 'normalize'", "started with a journal"),
        ("profile = 'nonsense'", "stays in force"),
        (
            "[[section]]\npath = '/x/**'\nforbid = 'windows'\n",
            "is in force",
        ),
    ] {
        std::fs::write(&policy, text).unwrap();
        guard.signal(Signal::HUP);
        until(|| guard.stderr().contains(said));
    }
    at::write_new(&below, b"b?", b"").unwrap();
    let dir = tree.directory(b"x");
    at::write_new(&dir, b"c?", b"").unwrap();
    let log = guard.wait_for(2);
    let got: Vec<_> = log.iter().map(short).collect();
    assert_eq!(got, rows(&[("create", b"/a?"), ("create", b"/x/c?")]));
    assert_eq!(log[1].name("section").unwrap(), b"#1");
}

/// A flood is rate-limited as on a mount (law L3), and what was heard is the sum.
#[test]
fn a_flood_is_rate_limited_and_counted() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let guard = Guard::start(&tree, &["--audit-burst", "5", "--audit-per-minute", "0"]);
    let below = tree.below_dir();
    for number in 0..1000 {
        at::write_new(&below, format!("{number}").as_bytes(), b"").unwrap();
        at::write_new(
            &below,
            &[number.to_string().as_bytes(), b"\xE9"].concat(),
            b"",
        )
        .unwrap();
    }
    guard.wait_for(5);
    guard.stop();
    let log = audit::read(&tree.audit_log());
    let summary = log
        .iter()
        .find(|record| record.text("event") == "summary")
        .unwrap();
    assert_eq!(summary.number("reported"), 1000);
    assert_eq!(summary.number("written"), 5);
    assert_eq!(summary.number("left_out"), 995);
}

/// What the kernel could not keep is found, each name once, and nothing that was reported before is reported again.
#[test]
fn what_the_queue_lost_is_found() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let guard = Guard::start(&tree, &["--audit-burst", "100000"]);
    let below = tree.below_dir();
    at::write_new(&below, b"old\xE9", b"").unwrap();
    guard.wait_for(1);
    // Only names that are as new as the loss are looked at.
    thread::sleep(Duration::from_millis(3500));
    guard.pause();
    // More than the queue holds.
    for number in 0..17_000 {
        at::write_new(&below, format!("{number}").as_bytes(), b"").unwrap();
    }
    for number in 0..100 {
        at::write_new(
            &below,
            &[number.to_string().as_bytes(), b"\xE9"].concat(),
            b"",
        )
        .unwrap();
    }
    guard.signal(Signal::CONT);
    guard.wait_for(101);
    at::write_new(&below, b"end\xE9", b"").unwrap();
    guard.wait_for(102);
    let log: Vec<_> = guard.stop().iter().map(short).collect();
    assert_eq!(log.len(), 102);
    assert!(
        log[1..101]
            .iter()
            .all(|(operation, ..)| operation == "found")
    );
}

/// A directory that cannot be guarded is refused with the reason.
#[test]
fn what_cannot_be_guarded_is_refused() {
    let refused = |options: &[&str]| {
        let output = Command::new(binary())
            .arg("guard")
            .args(options)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let text = refused(&["/none/such"]);
    assert!(text.contains("does not exist"), "{text}");
    assert!(!text.contains("mount point"), "{text}");
    let text = refused(&["--on-violation", "normalize", "/tmp"]);
    assert!(text.contains("--journal FILE"), "{text}");
    let text = refused(&["--on-violation", "normalize", "--journal", "/tmp/j", "/tmp"]);
    assert!(text.contains("is inside the directory"), "{text}");
    if needs::root("guards") {
        let text = refused(&["/proc/self"]);
        assert!(text.contains("cannot report names"), "{text}");
    }
}

/// What `utf8fs status` says of the guard of a tree, and its exit status.
fn ask(tree: &Tree, format: &str) -> (Option<i32>, String) {
    let directory = tree.backing();
    let said = status::run(&["--format".as_ref(), format.as_ref(), directory.as_ref()]);
    (said.status.code(), String::from_utf8(said.stdout).unwrap())
}

/// As a mount is, for a monitor, which goes by the exit status.
#[test]
fn a_guard_is_impaired_while_its_policy_file_is_refused() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let policy = tree.logs().join("policy.toml");
    std::fs::write(&policy, "mode = 'report'\n").unwrap();
    let guard = Guard::start(&tree, &["--policy", policy.to_str().unwrap()]);
    // It is written each second.
    let status = || -> serde_json::Value {
        let (code, said) = ask(&tree, "json");
        let status: serde_json::Value = serde_json::from_str(&said).unwrap();
        let is_well = status["policy"]["fault"].is_null();
        assert_eq!(code, Some(i32::from(!is_well)), "{said}");
        status
    };
    let reload = |text: &str, count: &str, expected: u64| {
        std::fs::write(&policy, text).unwrap();
        guard.signal(Signal::HUP);
        until(|| status()["policy"][count] == expected);
        status()["policy"]["fault"]["lines"][0].to_string()
    };
    until(|| ask(&tree, "text").1.contains("\nthe guard is well\n"));
    let fault = reload("\nmode = 7\n", "failed_reloads", 1);
    assert!(fault.contains("policy.toml:2:8: error: "), "{fault}");
    let (code, said) = ask(&tree, "text");
    assert_eq!(code, Some(1), "{said}");
    let impaired = "\nimpaired: the policy file is refused";
    assert!(said.contains(impaired) && said.contains(":2:8: "), "{said}");
    let (code, said) = ask(&tree, "prometheus");
    let has = |name: &str, value: &str| {
        let mut lines = said.lines();
        lines.any(|line| line.starts_with(name) && line.ends_with(value))
    };
    assert!(code == Some(1), "{said}");
    assert!(has("utf8fs_guard_policy_fault{", " 1"), "{said}");
    assert!(
        has("utf8fs_up{", " 1") && has("utf8fs_well{", " 0"),
        "{said}"
    );
    let fault = reload("mode = 'normalize'\n", "failed_reloads", 2);
    assert!(fault.contains("started with a journal"), "{fault}");
    assert_eq!(reload("mode = 'off'\n", "reloads", 1), "null");
    let said = ask(&tree, "text").1;
    assert!(said.contains("reloads: 1, failed reloads: 2\n"), "{said}");
}

/// `utf8fs status` says how a guard does, in each format, and that it was killed.
#[test]
fn its_status_can_be_asked_for() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let guard = Guard::start(&tree, &[]);
    at::write_new(tree.below_dir(), b"a\xE9", b"").unwrap();
    guard.wait_for(1);
    let ask = |format| ask(&tree, format);
    until(|| ask("json").1.contains(r#""reported":1"#));
    let (code, json) = ask("json");
    let status: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (code, &status["offences"]["ill-formed"]),
        (Some(0), &1.into())
    );
    assert!(status["events"].as_u64().unwrap() >= 1);
    assert!(ask("text").1.contains(" guarded, for "));
    let metrics = ask("prometheus").1;
    assert!(metrics.contains("utf8fs_guard_offences_total{mountpoint="));
    assert!(metrics.contains(r#"fate="written"} 1"#), "{metrics}");
    let second = Command::new(binary())
        .arg("guard")
        .arg(tree.backing())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let metadata = std::fs::metadata(tree.backing()).unwrap();
    let file = format!(
        "/run/utf8fs/guard-{}-{}.json",
        metadata.dev(),
        metadata.ino()
    );
    let is_there = || std::fs::metadata(&file).is_ok();
    // Killed.
    drop(guard);
    assert_eq!((ask("text").0, is_there()), (Some(1), true));
    let (code, metrics) = ask("prometheus");
    let is_down = metrics.contains("utf8fs_up{") && !metrics.contains(" 1\n");
    assert!(code == Some(1) && is_down, "{metrics}");
    let (code, json) = ask("json");
    let status: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &status["state"]), (Some(1), &"dead".into()));
    // Its end takes the file away, also that of one that is not confined.
    for options in [&["--sandbox", "full"], &["--sandbox", "none"]] {
        let guard = Guard::start(&tree, options);
        until(|| (ask("text").0, is_there()) == (Some(0), true));
        guard.stop();
        assert_eq!((ask("text").0, is_there()), (Some(1), false));
    }
}

/// Its numbers can be another's later: those of filesystems in memory are.
#[test]
fn what_a_killed_guard_left_is_not_taken_for_a_guard_of_another_directory() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::new();
    let point = tree.parent().join("backing");
    let flags = MountFlags::empty();
    let mount_one = || {
        mount("none", &point, "tmpfs", flags, None).unwrap();
        let metadata = std::fs::metadata(&point).unwrap();
        (metadata.dev(), metadata.ino())
    };
    let file = |(dev, ino): (u64, u64)| format!("/run/utf8fs/guard-{dev}-{ino}.json");
    let before = mount_one();
    let guard = Guard::start(&tree, &[]);
    until(|| ask(&tree, "text").0 == Some(0));
    drop(guard);
    let said = || {
        let said = status::run(&[point.as_ref()]);
        assert_eq!(said.status.code(), Some(1), "{said:?}");
        String::from_utf8(said.stderr).unwrap()
    };
    assert!(said().contains("is gone"), "{}", said());
    let left = std::fs::read(file(before)).unwrap();
    unmount(&point, UnmountFlags::empty()).unwrap();
    // Of another filesystem with the same numbers.
    let after = mount_one();
    std::fs::write(file(after), &left).unwrap();
    assert!(!said().contains("is gone"), "{}", said());
    // A guard of it is not kept from starting.
    Guard::start(&tree, &[]).stop();
    unmount(&point, UnmountFlags::empty()).unwrap();
    for file in [file(before), file(after)] {
        drop(std::fs::remove_file(file));
    }
}
