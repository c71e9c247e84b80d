//! Law T9: a migration of a part, and the links of the whole tree. They follow, or are named and counted; a later run mends what
//! an earlier one left.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, CWD};

use super::{PATIENCE, Run, migrate, utf8fs};
use crate::support::snapshot::{self, Content, Snapshot, Times};
use crate::support::{Tree, at, needs, user};

const JOURNAL: [&[u8]; 3] = [b"--apply", b"--journal", b"journal"];

/// Directories, files and links: the links lead to the content `in d`, but for `d\xE9/out`, which leads to `stays`.
fn tree() -> Tree {
    let tree = Tree::new();
    let below = tree.below_dir();
    let dir = tree.directory(b"d\xE9");
    at::write_new(&dir, b"f\xE9", b"in d").unwrap();
    at::mkdir(&dir, b"sub").unwrap();
    at::write_new(at::open_dir(&dir, b"sub").unwrap(), b"\xE0", b"in d").unwrap();
    at::symlink(b"../other/stays\xE9", &dir, b"out").unwrap();
    let other = tree.directory(b"other");
    at::write_new(&other, b"stays\xE9", b"stays").unwrap();
    at::mkdir(&other, b"deep\xE9r").unwrap();
    let deep = at::open_dir(&other, b"deep\xE9r").unwrap();
    at::symlink(b"../d\xE9/f\xE9", &other, b"link").unwrap();
    // Through a link, in the middle of a target, absolute, of a name of its own that is Latin-1, and in a deep directory.
    at::symlink(b"../d\xE9", &other, b"way").unwrap();
    at::symlink(b"way/f\xE9", &other, b"through").unwrap();
    at::symlink(b"through", &other, b"chain").unwrap();
    at::symlink(b"../d\xE9/./sub//../f\xE9", &other, b"li\xE9n").unwrap();
    at::symlink(b"li\xE9n", &other, b"to li\xE9n").unwrap();
    let absolute = [tree.backing().as_os_str().as_bytes(), b"/d\xE9/f\xE9"].concat();
    at::symlink(&absolute, &deep, b"absolute").unwrap();
    at::symlink(b"../../d\xE9/sub/\xE0", &deep, b"up").unwrap();
    at::symlink(b"d\xE9/f\xE9", &below, b"top").unwrap();
    at::symlink(b"f\xE9", &dir, b"beside").unwrap();
    tree
}

fn all(tree: &Tree) -> Snapshot {
    snapshot::take(&tree.backing(), Times::Kept)
}

/// The links of a tree, with what is read through each; `None` through one that dangles.
fn links(tree: &Tree) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let links = all(tree).into_iter();
    let links = links.filter(|(_, entry)| matches!(entry.content, Content::Symlink(_)));
    let read = |path: &[u8]| {
        let path = tree.backing().join(OsStr::from_bytes(path));
        match path.metadata() {
            Ok(found) if found.is_dir() => Some(b"a directory".to_vec()),
            Ok(_) => Some(std::fs::read(path).unwrap()),
            Err(_) => None,
        }
    };
    links.map(|(path, _)| (path.clone(), read(&path))).collect()
}

#[track_caller]
fn assert_none_dangles(tree: &Tree) {
    for (path, content) in links(tree) {
        let shown = path.escape_ascii().to_string();
        let expected: &[u8] = match path.as_slice() {
            path if path.ends_with(b"/way") => b"a directory",
            path if path.ends_with(b"/out") => b"stays",
            _ => b"in d",
        };
        assert_eq!(content.as_deref(), Some(expected), "{shown}");
    }
}

fn run(tree: &Tree, arguments: &[&[u8]]) -> Run {
    let fixed: [&[u8]; 3] = [b"migrate", b"--from", b"iso-8859-1"];
    utf8fs(tree.parent(), &[&fixed, arguments].concat())
}

fn undo(tree: &Tree) {
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    std::fs::remove_file(tree.parent().join("journal")).unwrap();
}

/// Arguments of which each selects a part.
const PARTS: [&[&[u8]]; 6] = [
    &[b"--only", b"d*", b"backing"],
    &[b"--only", b"/d?/f*", b"backing"],
    &[b"--exclude", b"other", b"backing"],
    &[b"--exclude", b"f*", b"backing"],
    &[b"--exclude", b"*li?n", b"--exclude", b"deep*", b"backing"],
    &[b"--own-name", b"backing/d\xE9"],
];

#[test]
fn t9_links_in_all_of_the_tree_follow_what_a_part_renames() {
    for part in PARTS {
        let shown = part.join(&b' ').escape_ascii().to_string();
        let tree = tree();
        let before = all(&tree);
        assert_none_dangles(&tree);
        let done = run(&tree, &[&JOURNAL, part].concat()).expect(0);
        assert!(
            done.stderr.contains("led to new names"),
            "{shown}: {done:?}"
        );
        assert_none_dangles(&tree);
        undo(&tree);
        assert_eq!(all(&tree), before, "{shown}");
        // The rest, by the whole tree, and by a second part.
        run(&tree, &[&JOURNAL, part].concat()).expect(0);
        let whole: [&[u8]; 4] = [b"--apply", b"--journal", b"journal 2", b"backing"];
        run(&tree, &whole).expect(0);
        assert_none_dangles(&tree);
        let again = run(&tree, &[b"backing"]).expect(0);
        assert!(again.stderr.contains("nothing to do"), "{shown}: {again:?}");
        utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal 2"]).expect(0);
        undo(&tree);
        assert_eq!(all(&tree), before, "{shown}");
    }
}

#[test]
fn t9_links_beside_a_file_and_below_follow_it() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"in d");
    let sub = tree.directory(b"s\xE9");
    at::symlink(b"../caf\xE9", &sub, b"l\xE9").unwrap();
    at::symlink(b"caf\xE9", tree.below_dir(), b"l\xE9").unwrap();
    let before = all(&tree);
    let done = run(&tree, &[&JOURNAL[..], &[b"backing/caf\xE9"]].concat()).expect(0);
    let words = "1 name changed, 2 links led to new names, of";
    assert!(done.stderr.contains(words), "{done:?}");
    // Their own names stay.
    let names: Vec<Vec<u8>> = links(&tree).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, [b"l\xE9".to_vec(), b"s\xE9/l\xE9".to_vec()]);
    assert_none_dangles(&tree);
    undo(&tree);
    assert_eq!(all(&tree), before);
}

/// The plan of a part shows its links, in each form.
#[test]
fn t9_what_is_planned_shows_the_links_that_follow() {
    let tree = tree();
    let part: [&[u8]; 4] = [b"--verbose", b"--only", b"d*", b"backing"];
    let shown = run(&tree, &part).expect(0);
    let line = r#""other/link" leads to "../d\xE9/f\xE9" -> "../dé/fé""#;
    assert!(shown.stdout.contains(line), "{shown:?}");
    for format in [&b"json"[..], b"readable"] {
        let plan: [&[u8]; 7] = [
            b"--plan",
            b"plan",
            b"--plan-format",
            format,
            b"--only",
            b"d*",
            b"backing",
        ];
        run(&tree, &plan).expect(0);
        let by_plan = ["--plan", "plan", "--apply", "--journal", "journal"];
        migrate(tree.parent(), &by_plan).expect(0);
        assert_none_dangles(&tree);
        undo(&tree);
        std::fs::remove_file(tree.parent().join("plan")).unwrap();
    }
}

/// Renames as an earlier run did that looked at no link.
fn rename_alone(tree: &Tree) {
    let below = tree.below_dir();
    let dir = at::open_dir(&below, b"d\xE9").unwrap();
    at::rename(&dir, b"f\xE9", "fé".as_bytes()).unwrap();
    at::rename(&dir, b"sub/\xE0", "sub/à".as_bytes()).unwrap();
    at::rename(&below, b"d\xE9", "dé".as_bytes()).unwrap();
}

#[test]
fn t9_a_later_run_mends_links_that_an_earlier_one_left() {
    let whole: &[&[u8]] = &[b"backing"];
    let parts: [&[&[u8]]; 4] = [
        whole,
        &[b"--only", b"nothing", b"backing"],
        &[b"--exclude", b"*", b"backing"],
        &[b"--only", b"other", b"backing"],
    ];
    for part in parts {
        let tree = tree();
        rename_alone(&tree);
        let before = all(&tree);
        assert!(links(&tree).iter().filter(|link| link.1.is_none()).count() > 5);
        let planned = run(&tree, &[&[&b"--verbose"[..]], part].concat()).expect(0);
        let line = r#""other/way" leads to "../d\xE9" -> "../dé""#;
        assert!(planned.stdout.contains(line), "{planned:?}");
        assert_eq!(all(&tree), before);
        let done = run(&tree, &[&JOURNAL, part].concat()).expect(0);
        assert!(done.stderr.contains("led to new names"), "{done:?}");
        assert_none_dangles(&tree);
        undo(&tree);
        assert_eq!(all(&tree), before);
    }
}

/// The names conform already, and only links are left.
#[test]
fn t9_links_are_mended_where_no_name_is_left_to_change() {
    let tree = Tree::new();
    tree.file("dé".as_bytes(), b"in d");
    at::symlink(b"d\xE9", tree.below_dir(), b"short").unwrap();
    at::symlink(b"short", tree.below_dir(), b"chain").unwrap();
    at::symlink(b"gone\xE9", tree.below_dir(), b"gone").unwrap();
    let part: [&[u8]; 6] = [
        b"--apply",
        b"--journal",
        b"journal",
        b"--only",
        b"x",
        b"backing",
    ];
    let done = run(&tree, &part).expect(0);
    assert!(done.stderr.contains("1 link led to new names"), "{done:?}");
    let found = links(&tree);
    let content = |name: &[u8]| found.iter().find(|link| link.0 == name).unwrap().1.clone();
    assert_eq!(content(b"short"), Some(b"in d".to_vec()));
    assert_eq!(content(b"chain"), Some(b"in d".to_vec()));
    // What leads nowhere by any name is no matter of a part.
    let gone = at::readlink(tree.below_dir(), b"gone").unwrap();
    assert_eq!(gone, b"gone\xE9");
}

/// Guessed alone a name is uncertain. That an entry has one of its readings decides.
#[test]
fn t9_links_are_mended_where_the_charset_is_guessed_or_another_form_was_given() {
    let guessed: [&str; 2] = ["--from", "auto"];
    let rows: [(&[&str], &[u8], &str); 4] = [
        (&guessed, b"d\xE9", "dé"),
        (&guessed, b"\xCF\xF0\xE8\xE2\xE5\xF2", "Привет"),
        (&["--normalize", "nfc"], "de\u{301}".as_bytes(), "dé"),
        (&["--unescape", "percent"], b"d%20e", "d e"),
    ];
    for (options, old, new) in rows {
        let tree = Tree::new();
        tree.file(new.as_bytes(), b"in d");
        at::symlink(old, tree.below_dir(), b"link").unwrap();
        let arguments = [options, &["--apply", "--journal", "journal", "backing"]].concat();
        migrate(tree.parent(), &arguments).expect(0);
        let target = at::readlink(tree.below_dir(), b"link").unwrap();
        assert_eq!(target, new.as_bytes());
        undo(&tree);
        assert_eq!(at::readlink(tree.below_dir(), b"link").unwrap(), old);
    }
    // Two entries could be meant: it stays.
    let tree = Tree::new();
    for name in ["dй", "dι", "dИ"] {
        tree.file(name.as_bytes(), b"in d");
    }
    at::symlink(b"d\xE9", tree.below_dir(), b"link").unwrap();
    let arguments = [
        "--from",
        "auto",
        "--apply",
        "--journal",
        "journal",
        "backing",
    ];
    migrate(tree.parent(), &arguments).expect(0);
    assert_eq!(at::readlink(tree.below_dir(), b"link").unwrap(), b"d\xE9");
}

fn path(tree: &Tree, name: &[u8]) -> PathBuf {
    tree.backing().join(OsStr::from_bytes(name))
}

fn chown(path: &Path, uid: u32) {
    let (uid, gid) = (
        rustix::fs::Uid::from_raw(uid),
        rustix::fs::Gid::from_raw(uid),
    );
    let how = AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::chownat(CWD, path, Some(uid), Some(gid), how).unwrap();
}

#[test]
fn t9_links_that_cannot_follow_are_named_and_make_the_exit_status_1() {
    let parts: [&[&[u8]]; 2] = [
        &[b"--only", b"d*", b"backing"],
        &[b"--exclude", b"other", b"backing"],
    ];
    for part in parts {
        let tree = Tree::new();
        drop(tree.directory(b"d\xE9"));
        let other = tree.directory(b"other");
        at::symlink(b"../d\xE9", &other, b"twice").unwrap();
        at::link(&other, b"twice", b"again").unwrap();
        let long = [b"./".repeat(2045).as_slice(), b"../d\xE9"].concat();
        assert_eq!(long.len(), 4095);
        at::symlink(&long, &other, b"long").unwrap();
        let planned = run(&tree, part).expect(1);
        assert!(planned.stderr.contains("3 entries"), "{planned:?}");
        let done = run(&tree, &[&JOURNAL, part].concat()).expect(1);
        for name in ["again", "twice", "long"] {
            let name = format!("\"other/{name}\"");
            assert!(done.stdout.contains(&name), "{name}: {done:?}");
        }
        assert!(done.stderr.contains("3 entries"), "{done:?}");
        undo(&tree);
    }
}

/// A directory of another user's, in which a link cannot be made anew, and one that is read-only.
#[test]
fn t9_links_in_directories_that_cannot_be_written_are_named() {
    if !needs::root("another user") {
        return;
    }
    let tree = Tree::new();
    let dir = tree.directory(b"d\xE9");
    at::write_new(&dir, b"f", b"in d").unwrap();
    let foreign = tree.directory(b"foreign");
    at::symlink(b"../d\xE9/f", &foreign, b"link").unwrap();
    for name in [&b""[..], b"d\xE9", b"d\xE9/f"] {
        chown(&path(&tree, name), user::NOBODY);
    }
    chown(tree.parent(), user::NOBODY);
    let program = tree.parent().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_utf8fs"), &program).unwrap();
    let migrate = |arguments: &[&str]| {
        let output = user::command(user::NOBODY, Path::new("timeout"))
            .args([PATIENCE, "./program", "migrate", "--from", "latin1"])
            .args(arguments)
            .current_dir(tree.parent())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    };
    for part in ["--only=d*", "--exclude=foreign"] {
        let apply = ["--apply", "--journal", "journal", part, "backing"];
        let done = migrate(&apply).expect(1);
        assert!(done.stdout.contains("\"foreign/link\" stays: "), "{done:?}");
        assert!(done.stderr.contains("1 step failed"), "{done:?}");
        assert!(path(&tree, "dé".as_bytes()).is_dir());
        // Root mends it, though no name is left to be changed.
        let mended: [&[u8]; 4] = [b"--apply", b"--journal", b"root", b"backing"];
        run(&tree, &mended).expect(0);
        assert_eq!(
            std::fs::read(path(&tree, b"foreign/link")).unwrap(),
            b"in d"
        );
        utf8fs(tree.parent(), &[b"undo", b"--apply", b"root"]).expect(0);
        utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
        for name in ["root", "journal"] {
            std::fs::remove_file(tree.parent().join(name)).unwrap();
        }
    }
    // A directory that cannot be read may hold such links: not everything was read.
    std::fs::set_permissions(path(&tree, b"foreign"), PermissionsExt::from_mode(0o700)).unwrap();
    let apply = [
        "--apply",
        "--journal",
        "journal",
        "--exclude=foreign",
        "backing",
    ];
    let done = migrate(&apply).expect(3);
    assert!(
        done.stderr.contains("\"foreign\" cannot be read"),
        "{done:?}"
    );
}

/// Who edits a plan need not know the links.
#[test]
fn t9_links_follow_a_plan_that_was_edited() {
    for format in ["json", "readable"] {
        let tree = tree();
        let before = all(&tree);
        let plan = [
            "--from",
            "latin1",
            "--plan",
            "plan",
            "--plan-format",
            format,
        ];
        migrate(tree.parent(), &[&plan[..], &["backing"]].concat()).expect(0);
        let file = tree.parent().join("plan");
        let text = std::fs::read_to_string(&file).unwrap();
        // Without the targets of links, and with another name for a directory.
        let without_target = |line: &str| {
            let json = line.split(",\"target\":").next().unwrap();
            let (name, tail) = line.split_once(" leads to ").unwrap_or((line, ""));
            match format {
                "json" if json != line => Some(format!("{json}}}")),
                "readable" if !tail.is_empty() && !name.contains("->") => None,
                "readable" if !tail.is_empty() => {
                    let (_, kind) = tail.split_once("  ").unwrap();
                    Some(format!("{name}  {kind}"))
                }
                _ => Some(line.to_owned()),
            }
        };
        let text: Vec<String> = text.lines().filter_map(without_target).collect();
        let text = text.join("\n") + "\n";
        let text = text.replace("\"dé\"", "\"Daten\"");
        std::fs::write(&file, text).unwrap();
        let by_plan = ["--plan", "plan"];
        let checked = migrate(tree.parent(), &by_plan);
        assert!(
            checked.stderr.contains("would be led to new names"),
            "{checked:?}"
        );
        assert_eq!(all(&tree), before);
        let apply = ["--plan", "plan", "--apply", "--journal", "journal"];
        migrate(tree.parent(), &apply).expect(0);
        assert!(path(&tree, b"Daten").is_dir());
        assert_none_dangles(&tree);
        undo(&tree);
        assert_eq!(all(&tree), before);
    }
}

/// Law T4: killed at any of its renames it goes on, and can be taken back.
#[test]
fn t4_a_part_that_is_killed_goes_on_with_its_links() {
    let kill = |tree: &Tree, call: &str, when: usize| {
        let inject = format!("inject={call}:signal=KILL:when={when}");
        let output = Command::new("timeout")
            .args([PATIENCE, "strace", "-f", "-qq", "-o", "/dev/null", "-e"])
            .arg(inject)
            .args([env!("CARGO_BIN_EXE_utf8fs"), "migrate", "--from", "latin1"])
            .args(["--only", "d*", "--apply", "--journal", "journal", "backing"])
            .current_dir(tree.parent())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        output.status.code() != Some(0)
    };
    let part: [&[u8]; 3] = [b"--only", b"d*", b"backing"];
    let part = [&JOURNAL[..], &part].concat();
    let (expected, before) = {
        let tree = tree();
        let before = all(&tree);
        run(&tree, &part).expect(0);
        (all(&tree), before)
    };
    let targets = |snapshot: &Snapshot| -> Vec<(Vec<u8>, Vec<u8>)> {
        let links = snapshot
            .iter()
            .filter_map(|(path, entry)| match &entry.content {
                // One that is absolute names the tree.
                Content::Symlink(target) if !target.starts_with(b"/") => {
                    Some((path.clone(), target.clone()))
                }
                _ => None,
            });
        links.collect()
    };
    let mut killed_in_the_middle = 0;
    for (call, when) in [
        ("symlinkat", 1),
        ("symlinkat", 2),
        ("renameat2", 2),
        ("renameat2", 3),
        ("renameat2", 4),
        ("unlinkat", 1),
        ("unlinkat", 2),
    ] {
        let tree = tree();
        let own = all(&tree);
        // Each thread counts its own calls, and the journal's are among them.
        let is_killed = kill(&tree, call, when);
        if !is_killed || !tree.parent().join("journal").is_file() {
            continue;
        }
        killed_in_the_middle += 1;
        run(&tree, &part).expect(0);
        assert_none_dangles(&tree);
        assert_eq!(targets(&all(&tree)), targets(&expected));
        undo(&tree);
        assert_eq!(all(&tree), own);
        assert_eq!(targets(&own), targets(&before));
        kill(&tree, call, when);
        if tree.parent().join("journal").is_file() {
            undo(&tree);
        }
        assert_eq!(all(&tree), own);
    }
    assert!(killed_in_the_middle > 2, "{killed_in_the_middle}");
}

/// Law T7: through a mount the links lead to the same before, during and after.
#[test]
fn t7_links_read_the_same_through_a_mount_while_a_part_is_migrated() {
    let tree = tree();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let read = || {
        let all = snapshot::take(&mount.point(), Times::Ignored);
        let links = all.iter().filter_map(|(path, entry)| {
            let Content::Symlink(target) = &entry.content else {
                return None;
            };
            // One that is absolute leads out of the mount.
            (!target.starts_with(b"/")).then(|| (path.clone(), target.clone()))
        });
        let links: Vec<_> = links.collect();
        for (path, _) in &links {
            let path = mount.point().join(OsStr::from_bytes(path));
            assert!(path.metadata().is_ok(), "{path:?}");
        }
        links
    };
    let before = read();
    assert!(before.len() > 8);
    run(
        &tree,
        &[&JOURNAL[..], &[b"--only", b"d*", b"backing"]].concat(),
    )
    .expect(0);
    assert_eq!(read(), before);
    let whole: [&[u8]; 4] = [b"--apply", b"--journal", b"rest", b"backing"];
    run(&tree, &whole).expect(0);
    assert_eq!(read(), before);
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"rest"]).expect(0);
    undo(&tree);
    assert_eq!(read(), before);
    mount.stop();
}
