//! Entries that are renamed, and taken back.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, Signal, getpriority_process};

use super::{Guard, short};
use crate::support::mount::binary;
use crate::support::wait::until;
use crate::support::{Tree, at, audit, needs, status, user};

fn undo(tree: &Tree) -> Output {
    Command::new(binary())
        .args(["undo", "--apply"])
        .arg(tree.logs().join("journal"))
        .output()
        .unwrap()
}

/// The inodes of a tree by their paths.
fn inodes(directory: &Path) -> BTreeMap<u64, Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                left.push(path.clone());
            }
            all.insert(metadata.ino(), path.as_os_str().as_bytes().to_vec());
        }
    }
    all
}

/// Names get what `migrate` would make of them, in directories that are renamed themselves; the undo journal takes all of it back.
#[test]
fn names_are_put_right_and_taken_back() {
    if !needs::root("guards") {
        return;
    }
    for tree in [Tree::new(), Tree::in_memory()] {
        tree.file(b"before\xE9", b"1");
        let guard = Guard::mending(&tree, &["--profile", "portable"]);
        let below = tree.below_dir();
        at::mkdir(&below, b"dir\xE9").unwrap();
        let dir = at::open_dir(&below, b"dir\xE9").unwrap();
        at::write_new(&dir, b"f\xE9", b"2").unwrap();
        at::symlink(b"nowhere", &dir, b"s\xE9").unwrap();
        at::write_new(&dir, b"fine", b"3").unwrap();
        let made = inodes(&tree.backing());
        until(|| at::sorted(&below) == [b"before\xC3\xA9".as_slice(), b"dir\xC3\xA9"]);
        until(|| at::sorted(&dir) == [b"fine".as_slice(), b"f\xC3\xA9", b"s\xC3\xA9"]);
        assert_eq!(at::read(&dir, b"f\xC3\xA9").unwrap(), b"2");
        let log = guard.stop();
        let mut got: Vec<_> = log.iter().map(short).collect();
        got.sort();
        let normalized = |operation: &str, path: &[u8]| {
            (operation.to_owned(), path.to_vec(), "normalized".to_owned())
        };
        assert_eq!(got.len(), 4, "{got:?}");
        assert!(
            got.contains(&normalized("found", b"/before\xE9")),
            "{got:?}"
        );
        assert!(got.contains(&normalized("mkdir", b"/dir\xE9")), "{got:?}");
        assert!(
            log.iter()
                .any(|record| record.name("visible").unwrap() == "fé".as_bytes())
        );
        let output = undo(&tree);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(inodes(&tree.backing()), made);
    }
}

/// A name that another entry has, or of which no reading is sure, stays and is reported.
#[test]
fn collisions_and_uncertain_readings_are_left() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    tree.file(b"a\xC3\xA9", b"taken");
    let guard = Guard::mending(&tree, &[]);
    let below = tree.below_dir();
    at::write_new(&below, b"a\xE9", b"").unwrap();
    // A control character in Latin-1.
    at::write_new(&below, b"b\x81", b"").unwrap();
    guard.wait_for(2);
    let log = guard.stop();
    for record in &log {
        assert_eq!(record.text("verdict"), "reported");
    }
    let taken = log
        .iter()
        .find(|record| record.name("name").unwrap() == b"a\xE9")
        .unwrap();
    assert_eq!(taken.name("sibling").unwrap(), "aé".as_bytes());
    assert_eq!(
        at::sorted(&below),
        [b"a\xC3\xA9".as_slice(), b"a\xE9", b"b\x81"]
    );
    assert_eq!(at::read(&below, b"a\xC3\xA9").unwrap(), b"taken");
}

/// A new name that differs from a sibling's in case only is reported as one that somebody made: no rename comes of it.
#[test]
fn a_name_that_is_alike_once_it_is_put_right_is_reported() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let guard = Guard::mending(&tree, &["--unique", "casefold"]);
    let below = tree.below_dir();
    at::write_new(&below, "hé".as_bytes(), b"").unwrap();
    at::write_new(&below, b"H\xE9", b"").unwrap();
    guard.wait_for(2);
    let mut log = guard.stop();
    // The new name may be heard of before its rename is recorded.
    log.sort_by_key(|record| record.text("rule").to_owned());
    let [renamed, alike] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(renamed.text("rule"), "ill-formed");
    assert_eq!(alike.text("rule"), "not-unique");
    assert_eq!(alike.name("name").unwrap(), "Hé".as_bytes());
    assert_eq!(alike.name("sibling").unwrap(), "hé".as_bytes());
}

/// What waits is judged by the policy that is in force when its turn comes, and the log has the section of that one.
#[test]
fn what_waits_is_judged_by_the_policy_of_then() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let policy = tree.logs().join("policy.toml");
    let [renamed, kept] = [b"renamed".as_slice(), b"kept"].map(|name| tree.directory(name));
    let section =
        |name: &str, mode: &str| format!("[[section]]\npath = '/{name}/**'\nmode = '{mode}'\n");
    let all = [
        section("renamed", "normalize"),
        section("kept", "normalize"),
    ];
    std::fs::write(&policy, all.concat()).unwrap();
    let guard = Guard::mending(&tree, &["--policy", policy.to_str().unwrap()]);
    let open = [&renamed, &kept].map(|dir| at::create_new(dir, b"a\xE9").unwrap());
    until(|| status::of(&tree.backing())["waiting"] == 2);
    let all = [section("kept", "off"), section("renamed", "normalize")];
    std::fs::write(&policy, all.concat()).unwrap();
    guard.signal(Signal::HUP);
    until(|| guard.stderr().contains("is in force"));
    drop(open);
    until(|| at::stat(&renamed, b"a\xC3\xA9").is_ok());
    until(|| status::of(&tree.backing())["waiting"] == 0);
    let log = guard.stop();
    let [record] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(record.text("verdict"), "normalized");
    assert_eq!(record.name("section").unwrap(), b"#2");
    assert_eq!(at::sorted(&kept), [b"a\xE9"]);
}

/// A file that is being written to is left alone until it is closed.
#[test]
fn what_is_open_for_writing_waits() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let guard = Guard::mending(&tree, &[]);
    let below = tree.below_dir();
    let file = at::create_new(&below, b"open\xE9").unwrap();
    // The open one is looked at before each of these.
    for name in [b"1", b"2", b"3"] {
        at::write_new(&below, &[name, b"\xE9".as_slice()].concat(), b"").unwrap();
        until(|| at::stat(&below, &[name, "é".as_bytes()].concat()).is_ok());
    }
    assert!(at::stat(&below, b"open\xE9").is_ok());
    at::write_all(&file, b"content").unwrap();
    drop(file);
    until(|| at::stat(&below, b"open\xC3\xA9").is_ok());
    assert_eq!(guard.stop().len(), 4);
}

/// A name that is put right, broken anew and put right again is taken back step by step; a guard that was killed goes on with its
/// journal.
#[test]
fn a_journal_is_gone_on_with() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let below = tree.below_dir();
    let guard = Guard::mending(&tree, &[]);
    at::write_new(&below, b"a\xE9", b"").unwrap();
    until(|| at::stat(&below, b"a\xC3\xA9").is_ok());
    at::rename(&below, b"a\xC3\xA9", b"b\xE9").unwrap();
    until(|| at::stat(&below, b"b\xC3\xA9").is_ok());
    // Killed.
    drop(guard);
    // A journal whose last frame was cut.
    let journal = std::fs::File::options()
        .append(true)
        .open(tree.logs().join("journal"));
    let start = b"00112233445566778899aabbccddeeff {\"event\":\"jo";
    std::io::Write::write_all(&mut journal.unwrap(), start).unwrap();
    let guard = Guard::mending(&tree, &[]);
    at::write_new(&below, b"c\xE9", b"").unwrap();
    until(|| at::stat(&below, b"c\xC3\xA9").is_ok());
    let busy = undo(&tree);
    assert_eq!(busy.status.code(), Some(1), "{busy:?}");
    guard.stop();
    let migrate = |options: &[&str]| {
        let mut command = Command::new(binary());
        command.args(["migrate", "--from", "koi8-r", "--apply", "--journal"]);
        command
            .arg(tree.logs().join("journal"))
            .args(options)
            .arg(tree.backing());
        command.output().unwrap()
    };
    let refused = migrate(&[]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("the journal is of a guard"), "{text}");
    let output = undo(&tree);
    // The user's own rename stands between: the first one cannot be taken back.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(at::sorted(&below), [b"b\xE9".as_slice(), b"c\xE9"]);
}

/// Makes a directory beside the tree, and opens it.
fn outside(tree: &Tree) -> OwnedFd {
    let outside = tree.parent().join("outside");
    std::fs::create_dir(&outside).unwrap();
    at::open_dir_path(&outside)
}

/// Whoever swaps the directory for a link gets nothing outside touched (law T5).
#[test]
fn no_link_leads_a_rename_elsewhere() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let outside = outside(&tree);
    let below = tree.below_dir();
    let guard = Guard::mending(&tree, &["--audit-burst", "100000"]);
    let is_right = |name: &Vec<u8>| std::str::from_utf8(name).is_ok();
    for round in 0..20 {
        at::mkdir(&below, b"dir").unwrap();
        let dir = at::open_dir(&below, b"dir").unwrap();
        for number in 0..200_u8 {
            let name = [b"n", number.to_string().as_bytes(), b"\xE9"].concat();
            at::write_new(&dir, &name, b"").unwrap();
            if round == 0 {
                at::write_new(&outside, &name, b"").unwrap();
            }
        }
        // In the midst of the renames, or before them.
        if round % 2 == 0 {
            until(|| at::list(dir.as_fd()).iter().any(is_right));
        }
        at::rename(&below, b"dir", format!("old{round}").as_bytes()).unwrap();
        at::symlink(b"../outside", &below, b"dir").unwrap();
        until(|| at::list(dir.as_fd()).iter().all(is_right));
        at::unlink(&below, b"dir").unwrap();
    }
    assert!(
        at::list(&outside)
            .iter()
            .all(|name| name.ends_with(b"\xE9"))
    );
    guard.stop();
}

/// Whoever swaps the directory for a link without pause gets nothing outside touched either; then all is put right.
#[test]
fn swaps_without_pause_lead_no_rename_elsewhere() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let outside = outside(&tree);
    let below = tree.below_dir();
    at::mkdir(&below, b"dir").unwrap();
    at::symlink(b"../outside", &below, b"link").unwrap();
    let dir = at::open_dir(&below, b"dir").unwrap();
    let guard = Guard::mending(&tree, &[]);
    let start = Instant::now();
    let swap = || {
        while start.elapsed() < Duration::from_secs(2) {
            at::rename_with(&below, b"dir", b"link", RenameFlags::EXCHANGE).unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(swap);
        for number in 0..500 {
            let name = [b"n", number.to_string().as_bytes(), b"\xE9"].concat();
            at::write_new(&dir, &name, b"").unwrap();
            at::write_new(&outside, &name, b"").unwrap();
        }
    });
    let is_right = |name: &Vec<u8>| std::str::from_utf8(name).is_ok();
    until(|| at::list(&dir).iter().all(is_right));
    assert!(!at::list(&outside).iter().any(is_right));
    assert_eq!(at::list(&dir).len(), 500);
    guard.stop();
}

/// A user who fills the kernel's queue, and makes more names than are put right at a time, keeps no other's name from being put right
/// within a minute.
#[test]
fn a_flood_of_one_user_delays_no_other() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let open = PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(tree.backing(), open).unwrap();
    let guard = Guard::mending(&tree, &[]);
    guard.pause();
    let flood = "b=$(printf '\\351'); i=0; cd \"$PLACE\"\n\
                 while [ $i -lt 20000 ]; do : >\"$b$i\"; i=$((i + 1)); done; echo $i";
    let flood = user::script(1001, &tree.backing(), flood);
    assert_eq!(flood.stdout, b"20000\n", "{flood:?}");
    let one = user::script(1002, &tree.backing(), ": >\"$PLACE/$(printf 'v\\351')\"");
    assert!(one.status.success(), "{one:?}");
    let start = Instant::now();
    guard.signal(Signal::CONT);
    until(|| at::stat(tree.below_dir(), "vé".as_bytes()).is_ok());
    assert!(start.elapsed() < Duration::from_secs(60));
    guard.stop();
}

/// A tree that is moved in is put right as a whole. What waits in one that is moved out keeps its name.
#[test]
fn a_tree_is_put_right_where_it_is_moved_to() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let (moved, out) = (tree.parent().join("moved"), tree.directory(b"out"));
    std::fs::create_dir(&moved).unwrap();
    let mut dir = at::open_dir_path(&moved);
    for _ in 0..3 {
        at::write_new(&dir, b"f\xE9", b"").unwrap();
        at::mkdir(&dir, b"d\xE9").unwrap();
        dir = at::open_dir(&dir, b"d\xE9").unwrap();
    }
    let guard = Guard::mending(&tree, &[]);
    let file = at::create_new(&out, b"open\xE9").unwrap();
    let place = |name: &str| tree.backing().join(name);
    renameat(CWD, &moved, CWD, place("came")).unwrap();
    until(|| place("came/dé/dé/dé").is_dir());
    until(|| place("came/dé/dé/fé").is_file() && place("came/dé/fé").is_file());
    renameat(CWD, place("out"), CWD, tree.parent().join("out")).unwrap();
    drop(file);
    let log = guard.wait_for(7);
    guard.stop();
    let mut verdicts: Vec<_> = log.iter().map(|record| record.text("verdict")).collect();
    verdicts.sort_unstable();
    assert_eq!(
        verdicts,
        [["normalized"; 6].as_slice(), &["reported"]].concat()
    );
    assert_eq!(at::list(&out), [b"open\xE9"]);
}

/// Names are read in the charset that the map has for their directory, as `migrate` reads them.
#[test]
fn charsets_are_those_of_the_directory() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let map = tree.logs().join("charsets.toml");
    let text = "[[directory]]\npath = '/letters'\ncharset = 'koi8-r'\n\
                [[directory]]\npath = '/kept'\ncharset = 'leave'\n";
    std::fs::write(&map, text).unwrap();
    let [letters, kept] = [b"letters".as_slice(), b"kept"].map(|name| tree.directory(name));
    let guard = Guard::mending(&tree, &["--charset-map", map.to_str().unwrap()]);
    at::write_new(&kept, b"\xC1\xC2", b"").unwrap();
    at::write_new(&letters, b"\xC1\xC2", b"").unwrap();
    at::write_new(tree.below_dir(), b"\xC1\xC2", b"").unwrap();
    until(|| at::stat(&letters, "аб".as_bytes()).is_ok());
    until(|| at::stat(tree.below_dir(), "ÁÂ".as_bytes()).is_ok());
    guard.wait_for(3);
    guard.stop();
    assert_eq!(at::sorted(&kept), [b"\xC1\xC2"]);
}

/// Whoever takes the wanted name just before the rename keeps it, and what has two names keeps the other (law T2).
#[test]
fn no_name_is_overwritten() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let below = tree.below_dir();
    let guard = Guard::mending(&tree, &["--audit-burst", "100000"]);
    for number in 0..500_u32 {
        let name = |end: &[u8]| [number.to_string().as_bytes(), end].concat();
        at::write_new(&below, &name(b"\xE9"), b"bad").unwrap();
        at::link(&below, &name(b"\xE9"), &name(b" link")).unwrap();
    }
    for number in 0..500_u32 {
        let wanted = [number.to_string().as_bytes(), "é".as_bytes()].concat();
        // The guard may have been first.
        at::write_new(&below, &wanted, b"taken").ok();
    }
    let read = |name: &[u8]| at::read(&below, name).unwrap();
    until(|| {
        (0..500_u32).all(|number| {
            let name = |end: &[u8]| [number.to_string().as_bytes(), end].concat();
            assert_eq!(read(&name(b" link")), b"bad");
            read(&name("é".as_bytes())) == b"bad" || at::stat(&below, &name(b"\xE9")).is_ok()
        })
    });
    guard.wait_for(500);
    let log = guard.stop();
    for number in 0..500_u32 {
        let name = |end: &[u8]| [number.to_string().as_bytes(), end].concat();
        let is_renamed = at::stat(&below, &name(b"\xE9")).is_err();
        let expected: &[u8] = if is_renamed { b"bad" } else { b"taken" };
        assert_eq!(read(&name("é".as_bytes())), expected);
        let of_name = |record: &&audit::Record| record.name("name").unwrap() == name(b"\xE9");
        let record = log.iter().find(of_name).unwrap();
        assert_eq!(record.text("verdict") == "normalized", is_renamed);
    }
}

/// What `utf8fs-guard@.service` leaves of root's capabilities is enough to put other users' names right, confined, and to read new names,
/// but do nothing else, before other programs work.
#[test]
fn the_capabilities_of_the_unit_are_enough() {
    if !needs::root("a limited set of capabilities") {
        return;
    }
    let tree = Tree::in_memory();
    let [program, arguments @ ..] = user::limited_by("utf8fs-guard@.service");
    let mut command = Command::new(program);
    command.args(arguments).arg(binary());
    let guard = Guard::mending_by(command, &tree, &[]);
    std::fs::set_permissions(tree.backing(), PermissionsExt::from_mode(0o1777)).unwrap();
    let script = "cd \"$PLACE\" && mkdir -m 700 own && : >\"own/$(printf 'a\\351')\"";
    let made = user::script(1001, &tree.backing(), script);
    assert!(made.status.success(), "{made:?}");
    let right = tree.backing().join("own/aé");
    until(|| right.is_file());
    assert!(!guard.stderr().contains("lacks"), "{}", guard.stderr());
    let process = Pid::from_child(&guard.child);
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    for thread in threads {
        let thread = thread.unwrap().file_name().into_string().unwrap();
        let thread = Pid::from_raw(thread.parse().unwrap());
        let nice = getpriority_process(thread).unwrap();
        assert_eq!(nice < 0, thread == Some(process), "{nice}");
    }
    guard.stop();
}

/// What is mounted below is another filesystem, whose names are left, as is what it covers.
#[test]
fn mounts_below_are_not_entered() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let covered = tree.directory(b"covered");
    let guard = Guard::mending(&tree, &[]);
    let at_path = tree.backing().join("covered");
    let inner = Inner::tmpfs(&at_path);
    let within = at::open_dir_path(&at_path);
    at::write_new(&within, b"in\xE9", b"").unwrap();
    at::write_new(&covered, b"under\xE9", b"").unwrap();
    at::write_new(tree.below_dir(), b"beside\xE9", b"").unwrap();
    until(|| at::stat(tree.below_dir(), "besideé".as_bytes()).is_ok());
    let log = guard.stop();
    drop(inner);
    assert_eq!(at::sorted(&within), [b"in\xE9"]);
    assert_eq!(at::sorted(&covered), [b"under\xE9"]);
    assert_eq!(log.len(), 1);
}

/// A mount of its own, which is taken away with it.
struct Inner<'p>(&'p Path);

impl<'p> Inner<'p> {
    fn tmpfs(at: &'p Path) -> Self {
        let mounted = mount("none", at, "tmpfs", MountFlags::empty(), c"size=2m");
        mounted.unwrap();
        Self(at)
    }
}

impl Drop for Inner<'_> {
    fn drop(&mut self) {
        unmount(self.0, UnmountFlags::DETACH).unwrap();
    }
}

/// Law T11: the journal of a guard is listed, printed and undone as those of migrations are, wherever it lies.
#[test]
fn t11_the_journal_of_a_guard_is_found_by_its_directory() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let below = tree.below_dir();
    let guard = Guard::mending(&tree, &[]);
    at::write_new(&below, b"a\xE9", b"").unwrap();
    until(|| at::stat(&below, b"a\xC3\xA9").is_ok());
    guard.stop();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        let output = command.args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let backing = tree.backing();
    let backing = backing.to_str().unwrap();
    let listed = run(&["undo"]);
    let row = listed.lines().nth(1).unwrap();
    assert!(row.contains("1 step  guard  "), "{listed}");
    assert!(
        row.contains(backing) && row.ends_with("/journal\""),
        "{listed}"
    );
    let journal = tree.logs().join("journal");
    let paths = run(&["journal", "--paths", journal.to_str().unwrap()]);
    let expected = format!("\"{backing}/a\\xE9\"\t\"{backing}/a\u{E9}\"\n");
    assert_eq!(paths, expected);
    run(&["undo", "--apply", backing]);
    assert_eq!(at::sorted(&below), [b"a\xE9".as_slice()]);
    let listed = run(&["journal"]);
    assert!(listed.contains("1 step  undone"), "{listed}");
}
