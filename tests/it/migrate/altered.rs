//! Plans that somebody altered, and trees that somebody changed since: refused with the line, or done right.

use std::ffi::OsStr;
use std::io::Cursor;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

use utf8fs::backing::Dir;
use utf8fs::records::Unplanned;
use utf8fs::records::{Name, json_line};
use utf8fs::tree::apply::{Observer, apply};
use utf8fs::tree::plan::DirectoryPlan;
use utf8fs::tree::plan::plan_reader::{PlanError, Reader};
use utf8fs::tree::undo_journal::{Draft, JournalRequest, SkipReason, Skipped};

use super::{migrate, utf8fs};
use crate::support::{Tree, at, needs, show};

const HEADER: &str =
    r#"{"utf8fs_plan":1,"root":{"text":"/srv/old"},"options":"--from iso-8859-1"}"#;
const END: &str = r#"{"utf8fs_plan_end":1}"#;
const ROW: &str = r#"{"directory":{"text":"a"},"directory_inode":1,"old":{"bytes":"6Q=="},"new":{"text":"é"},"kind":"file","inode":2,"reason":"decoded","charset":"iso-8859-1","confidence":null,"candidates":[]}"#;

/// The roots of the trees of a plan, and all directories of them.
fn read(text: &str) -> Result<(Vec<Vec<u8>>, Vec<DirectoryPlan>), PlanError> {
    let mut reader = Reader::new(Cursor::new(text.as_bytes()));
    let (mut roots, mut directories) = (Vec::new(), Vec::new());
    while let Some(header) = reader.tree()? {
        roots.push(header.root.into_bytes());
        while let Some(directory) = reader.directory()? {
            directories.push(directory);
        }
    }
    Ok((roots, directories))
}

fn plan(rows: &[&str]) -> String {
    let lines = [&[HEADER], rows, &[END]].concat();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_last_line_may_have_any_spacing() {
    for end in [r#"{"utf8fs_plan_end": 1}"#, "\t{ \"utf8fs_plan_end\" :1 } "] {
        for line_end in ["\n", ""] {
            let text = format!("{HEADER}\n{ROW}\n{end}{line_end}");
            assert_eq!(read(&text).unwrap(), read(&plan(&[ROW])).unwrap());
        }
    }
    for (end, words) in [
        (r#"{"utf8fs_plan_end": 2}"#, "of version 2"),
        (r#"{"utf8fs_plan_end":1,"x":1}"#, "unknown field `x`"),
    ] {
        let (line, what) = refused(&format!("{HEADER}\n{ROW}\n{end}\n"));
        assert_eq!((line, what.contains(words)), (3, true), "{what}");
    }
}

/// The line that is refused, and why.
#[track_caller]
fn refused(text: &str) -> (usize, String) {
    match read(text) {
        Err(PlanError::Line { line, what }) => (line, what),
        other => panic!(
            "{other:?} from {}",
            text.chars().take(2000).collect::<String>()
        ),
    }
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let other = ROW.replace("6Q==", "6A==").replace("é", r#"è\":\\"#);
    let below = ROW.replace(r#"{"text":"a"}"#, r#"{"text":""}"#);
    let (roots, directories) = read(&plan(&[ROW, &other, "", &below])).unwrap();
    let [a, root] = directories.as_slice() else {
        panic!("{directories:?}");
    };
    assert_eq!(roots, [b"/srv/old"]);
    assert_eq!(a.directory()[0].as_bytes(), b"a");
    assert_eq!(
        a.lines.iter().map(|line| line.number).collect::<Vec<_>>(),
        [2, 3]
    );
    let new = a.lines[1].new.as_ref().unwrap();
    assert_eq!(new.as_bytes(), "è\":\\".as_bytes());
    assert_eq!((root.directory().len(), root.lines[0].number), (0, 5));
}

/// T1, T2, C5: nothing of it can lead out, overwrite, or be something else than it says.
#[test]
fn what_is_wrong_is_refused_with_its_line() {
    let replaced = |what: &str, by: &str| {
        assert!(ROW.contains(what), "{what}");
        plan(&[
            ROW,
            &ROW.replace("6Q==", "6A==")
                .replace(r#"{"text":"é"}"#, "null"),
            &ROW.replace(what, by),
        ])
    };
    let directory = |by: &str| replaced(r#"{"text":"a"}"#, by);
    let new = |by: &str| replaced(r#"{"text":"é"}"#, by);
    let rows = [
        // paths
        (directory(r#"{"text":"/etc"}"#), 4, "no path"),
        (directory(r#"{"text":"a/../.."}"#), 4, "no path"),
        (directory(r#"{"text":"a//b"}"#), 4, "no path"),
        (directory(r#"{"text":"."}"#), 4, "no path"),
        (directory("{\"text\":\"a\\u0000\"}"), 4, "no path"),
        (directory("null"), 4, "expected value"),
        // names
        (new(r#"{"text":"../x"}"#), 4, "is no name"),
        (new(r#"{"text":".."}"#), 4, "is no name"),
        (new(r#"{"text":""}"#), 4, "is no name"),
        (new("{\"text\":\"x\\u0000y\"}"), 4, "is no name"),
        (new(r#"{"bytes":"6Q=="}"#), 4, "not well-formed"),
        (new(r#""x""#), 4, "unknown variant `x`"),
        (
            new(&format!(r#"{{"text":"{}"}}"#, "é".repeat(128))),
            4,
            "too long: 256 bytes",
        ),
        (
            replaced(r#"{"bytes":"6Q=="}"#, r#"{"text":"a/b"}"#),
            4,
            "\"a/b\" is no name",
        ),
        // two into one, and one twice
        (
            plan(&[ROW, &ROW.replace("6Q==", "6A==")]),
            3,
            "the same new name as in line 2",
        ),
        (plan(&[ROW, &ROW.replace("é", "è")]), 3, "as in line 2"),
        (
            plan(&[
                ROW,
                &ROW.replace(r#""a""#, r#""b""#),
                &ROW.replace("6Q==", "6A==").replace("é", "è"),
            ]),
            4,
            "have to stand together",
        ),
        // a key twice, in a row, in a name, and in another spelling
        (
            replaced(r#""inode":2"#, r#""inode":2,"new":null"#),
            4,
            "duplicate field `new`",
        ),
        (new(r#"{"text":"\":","text":"y"}"#), 4, "expected value"),
        (
            replaced(r#""inode":2"#, r#""inode":2,"n\u0065w":null"#),
            4,
            "duplicate field `new`",
        ),
        (
            plan(&[]).replace("\"options\"", "\"root\":{\"text\":\"/etc\"},\"options\""),
            1,
            "duplicate field `root`",
        ),
        // keys and values
        (replaced(r#""kind":"file","#, ""), 4, "missing field `kind`"),
        (
            replaced(r#""kind":"file""#, r#""kind":"file","mode":7"#),
            4,
            "unknown field `mode`",
        ),
        (
            replaced(r#""kind":"file""#, r#""kind":"file","\u001b[2J\u202e":7"#),
            4,
            r"unknown field `\u{1B}[2J\u{202E}`",
        ),
        (
            replaced(r#""inode":2"#, r#""inode":-2"#),
            4,
            "invalid value: integer `-2`",
        ),
        (
            replaced(r#""new":{"text":"é"},"#, ""),
            4,
            "missing field `new`",
        ),
        (
            replaced(r#""directory_inode":1"#, r#""directory_inode":3"#),
            4,
            "differs",
        ),
        (
            replaced(
                r#""kind":"file""#,
                r#""kind":"file","new_target":{"text":"x"}"#,
            ),
            4,
            "for symlinks",
        ),
        (
            replaced(
                r#""kind":"file""#,
                r#""kind":"file","same_as":{"text":"x"}"#,
            ),
            4,
            "\"same_as\"",
        ),
        (plan(&["{"]), 2, "EOF while parsing"),
        (plan(&["[]"]), 2, "invalid length 0"),
        // links
        (
            replaced(
                r#""kind":"file""#,
                r#""kind":"symlink","target":{"text":""},"new_target":{"text":"x"}"#,
            ),
            4,
            "\"target\" is empty",
        ),
        // the file
        (
            plan(&[ROW]).replace("\"utf8fs_plan\":1", "\"utf8fs_plan\":2"),
            1,
            "of version 2",
        ),
        (
            plan(&[ROW]).replace("\"/srv/old\"", "\"srv/old\""),
            1,
            "not an absolute path",
        ),
        (
            plan(&[ROW]).replace("\"options\"", "\"option\""),
            1,
            "unknown field `option`",
        ),
        (format!("{ROW}\n{END}\n"), 1, "no header"),
        (format!("{HEADER}\n{ROW}\n"), 3, "cut off"),
        (format!("{HEADER}\n{}", &ROW[..70]), 2, "cut off"),
        (format!("{HEADER}\n{ROW}"), 2, "cut off"),
        (String::new(), 1, "cut off"),
        (format!("{HEADER}\n{END}\n{ROW}\n"), 3, "behind the end"),
        (
            format!("{HEADER}\n{}\n{END}\n", " ".repeat(2 << 20)),
            2,
            "too long",
        ),
    ];
    for (text, line, words) in rows {
        let (refused, what) = refused(&text);
        assert_eq!(refused, line, "{what}");
        assert!(what.contains(words), "{what:?} is not about {words:?}");
        assert!(!what.chars().any(char::is_control), "{what:?}");
    }
}

fn inode(dir: impl AsFd, name: &[u8]) -> u64 {
    at::stat(dir, name).unwrap().st_ino
}

/// The lines of a directory, `directory` of the tree.
struct Edited<'t> {
    tree: &'t Tree,
    directory: &'static str,
    lines: Vec<String>,
}

impl<'t> Edited<'t> {
    fn of(tree: &'t Tree, directory: &'static str) -> Self {
        Self {
            tree,
            directory,
            lines: Vec::new(),
        }
    }

    /// What is there at that name is to get another.
    fn rename(mut self, old: &[u8], new: &str) -> Self {
        let path = self.tree.backing().join(self.directory);
        let dir = at::open_dir_path(&path);
        let inode = inode(&dir, old);
        self.lines.push(format!(
            r#"{{"directory":{},"directory_inode":{},"old":{},"new":{},"kind":"file","inode":{inode}}}"#,
            json_line(&Name::from(self.directory)),
            inode_of(&path),
            json_line(&Name::from(old)),
            json_line(&Name::from(new)),
        ));
        self
    }

    fn rows(&self) -> DirectoryPlan {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        read(&plan(&lines)).unwrap().1.remove(0)
    }

    /// Applies the plan. Returns the names that stay, and why.
    fn apply(&self) -> Vec<(String, SkipReason)> {
        let root = Dir::open_root(&self.tree.backing()).unwrap().into_fd();
        let journals = tempfile::tempdir().unwrap();
        let draft = {
            let request = JournalRequest::of_options(b"", "");
            Draft::create(&journals.path().join("journal"), &root, &request).unwrap()
        };
        let stay = Stay::default();
        for skipped in draft.add(&self.rows()).unwrap() {
            stay.skipped(&skipped);
        }
        apply(
            &root,
            &mut draft.commit(Unplanned::default()).unwrap(),
            1,
            &stay,
        )
        .unwrap();
        let mut stay = stay.0.into_inner().unwrap();
        stay.sort_by(|(one, _), (other, _)| one.cmp(other));
        stay
    }
}

#[derive(Default)]
struct Stay(Mutex<Vec<(String, SkipReason)>>);

impl Observer for Stay {
    fn skipped(&self, skipped: &Skipped) {
        let name = show(skipped.name.as_bytes());
        self.0.lock().unwrap().push((name, skipped.reason));
    }
}

fn inode_of(path: &Path) -> u64 {
    rustix::fs::fstat(at::open_dir_path(path)).unwrap().st_ino
}

/// Names and contents.
fn contents(tree: &Tree) -> Vec<(String, String)> {
    let dir = tree.below_dir();
    let content = |name: &Vec<u8>| {
        let content = at::read(&dir, name).unwrap();
        (
            String::from_utf8(name.clone()).unwrap(),
            String::from_utf8(content).unwrap(),
        )
    };
    at::sorted(&dir).iter().map(content).collect()
}

fn of(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter()
        .map(|(name, content)| ((*name).into(), (*content).into()))
        .collect()
}

fn files(names: &[&str]) -> Tree {
    let tree = Tree::new();
    for name in names {
        tree.file(name.as_bytes(), name.as_bytes());
    }
    tree
}

#[test]
fn chains_and_cycles_are_done_in_an_order_in_which_nothing_is_overwritten() {
    let tree = files(&["a", "b", "c", "p", "q", "r", "x", "y"]);
    let plan = Edited::of(&tree, "")
        // A chain, told from its start; a cycle of three; two that change places.
        .rename(b"a", "b")
        .rename(b"b", "c")
        .rename(b"c", "d")
        .rename(b"p", "q")
        .rename(b"q", "r")
        .rename(b"r", "p")
        .rename(b"y", "x")
        .rename(b"x", "y");
    assert_eq!(plan.apply(), []);
    let expected = of(&[
        ("b", "a"),
        ("c", "b"),
        ("d", "c"),
        ("p", "r"),
        ("q", "p"),
        ("r", "q"),
        ("x", "y"),
        ("y", "x"),
    ]);
    assert_eq!(contents(&tree), expected);
}

#[test]
fn a_name_for_the_meantime_is_one_that_nobody_has() {
    let tree = files(&["x", "y", ".utf8fs-meantime-1"]);
    let plan = Edited::of(&tree, "").rename(b"x", "y").rename(b"y", "x");
    assert_eq!(plan.apply(), []);
    assert_eq!(
        contents(&tree),
        of(&[
            (".utf8fs-meantime-1", ".utf8fs-meantime-1"),
            ("x", "y"),
            ("y", "x")
        ])
    );
}

/// Law T2: who can't move keeps its name, and whoever wanted that stays as well.
#[test]
fn names_that_are_taken_stop_the_chain_that_leads_to_them_and_nothing_else() {
    let tree = files(&["a", "b", "c", "d", "e"]);
    let plan = Edited::of(&tree, "")
        .rename(b"a", "b")
        .rename(b"b", "c")
        .rename(b"c", "d")
        .rename(b"e", "f");
    let taken = ["a", "b", "c"].map(|name| (show(name.as_bytes()), SkipReason::Taken));
    assert_eq!(plan.apply(), taken);
    assert_eq!(
        contents(&tree),
        of(&[("a", "a"), ("b", "b"), ("c", "c"), ("d", "d"), ("f", "e")])
    );
}

/// Law T4: nothing is begun for it, where the name is another of the same file as well.
#[test]
fn a_name_that_another_entry_has_got_since_is_left() {
    let tree = files(&["a", "b", "c"]);
    let below = tree.below_dir();
    let plan = Edited::of(&tree, "")
        .rename(b"a", "new")
        .rename(b"b", "other");
    at::link(&below, b"a", b"new").unwrap();
    let taken = [(show(b"a"), SkipReason::Taken)];
    assert_eq!(plan.apply(), taken);
    let expected = [("a", "a"), ("c", "c"), ("new", "a"), ("other", "b")];
    assert_eq!(contents(&tree), of(&expected));
}

/// Law T3: files that others have changed since are reported, and the rest is done.
#[test]
fn what_changed_since_is_left_and_the_rest_done() {
    let tree = files(&["gone", "other", "stays", "kind"]);
    let plan = Edited::of(&tree, "")
        .rename(b"gone", "1")
        .rename(b"other", "2")
        .rename(b"kind", "3")
        .rename(b"stays", "4");
    let below = tree.below_dir();
    at::unlink(&below, b"gone").unwrap();
    // Another file in its place; the old one is kept, so that its number is not given away anew.
    at::rename(&below, b"other", b"kept").unwrap();
    tree.file(b"other", b"another");
    at::unlink(&below, b"kind").unwrap();
    at::symlink(b"x", &below, b"kind").unwrap();
    let expected = [
        ("gone", SkipReason::Gone),
        ("kind", SkipReason::Changed),
        ("other", SkipReason::Changed),
    ];
    let expected = expected.map(|(name, reason)| (show(name.as_bytes()), reason));
    assert_eq!(plan.apply(), expected);
    assert_eq!(at::read(&below, b"4").unwrap(), b"stays");
}

/// Law T5: a directory that was swapped is not entered.
#[test]
fn a_directory_that_is_another_one_now_or_behind_a_link_is_refused() {
    let tree = Tree::new();
    let dir = tree.directory(b"dir");
    at::write_new(&dir, b"file", b"").unwrap();
    let plan = Edited::of(&tree, "dir").rename(b"file", "new");
    let below = tree.below_dir();
    at::rename(&below, b"dir", b"moved").unwrap();
    at::symlink(b"moved", &below, b"dir").unwrap();
    let stays = [(show(b"file"), SkipReason::Elsewhere)];
    assert_eq!(plan.apply(), stays);
    at::unlink(&below, b"dir").unwrap();
    assert_eq!(plan.apply(), stays);
    at::mkdir(&below, b"dir").unwrap();
    assert_eq!(plan.apply(), stays);
}

/// Law T3: what the system says is told as it is.
#[test]
fn a_directory_whose_name_is_too_long_is_told_as_such() {
    let tree = Tree::new();
    let long = ROW.replace(
        r#"{"text":"a"}"#,
        &format!(r#"{{"text":"{}"}}"#, "a".repeat(300)),
    );
    let plan = Edited {
        lines: vec![long],
        ..Edited::of(&tree, "")
    };
    let reason = SkipReason::System(libc::ENAMETOOLONG);
    assert_eq!(plan.apply(), [(show(b"\xE9"), reason)]);
    assert_eq!(reason.to_string(), "File name too long");
}

/// A link whose target is changed is made anew, and so it is when that is taken back.
#[test]
fn a_plan_is_done_again_after_an_undo_also_for_links() {
    let tree = files(&[]);
    tree.file(b"caf\xE9", b"");
    at::symlink(b"caf\xE9", tree.below_dir(), b"link").unwrap();
    at::symlink(b"caf\xE9", tree.below_dir(), b"other").unwrap();
    let write = ["--from", "iso-8859-1", "--plan", "plan", "backing"];
    migrate(tree.parent(), &write).expect(0);
    let apply = |journal| {
        migrate(
            tree.parent(),
            &["--plan", "plan", "--apply", "--journal", journal],
        )
    };
    apply("one").expect(0);
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"one"]).expect(0);
    // By somebody else: this one is another.
    at::unlink(tree.below_dir(), b"other").unwrap();
    at::symlink(b"elsewhere", tree.below_dir(), b"other").unwrap();
    let run = apply("two").expect(1);
    assert_eq!(
        run.stdout
            .matches("stays: it is another one than it was")
            .count(),
        1,
        "{run:?}"
    );
    let target = |name| std::fs::read_link(tree.backing().join(name)).unwrap();
    assert_eq!(target("link"), Path::new("café"));
    assert_eq!(target("other"), Path::new("elsewhere"));
}

/// The later one makes the link anew, and once more when that is taken back.
#[test]
fn of_two_migrations_both_are_undone_also_where_a_link_is_made_anew_between() {
    let tree = files(&[]);
    drop(tree.directory(b"t\xE9"));
    let directory = tree.directory(b"d");
    at::symlink(b"../t\xE9", &directory, b"l\xE9").unwrap();
    let apply = ["--from", "iso-8859-1", "--apply", "backing"];
    let first = ["--only", "/d", "--journal", "one"];
    migrate(tree.parent(), &[&first[..], &apply].concat()).expect(0);
    migrate(tree.parent(), &[&["--journal", "two"], &apply[..]].concat()).expect(0);
    let link = |name: &str| std::fs::read_link(tree.backing().join("d").join(name)).unwrap();
    assert_eq!(link("lé"), Path::new("../té"));
    for journal in [&b"two"[..], b"one"] {
        utf8fs(tree.parent(), &[b"undo", b"--apply", journal]).expect(0);
    }
    let link = tree.backing().join("d").join(OsStr::from_bytes(b"l\xE9"));
    let target = std::fs::read_link(link).unwrap();
    assert_eq!(target.as_os_str().as_bytes(), b"../t\xE9");
}

#[test]
fn what_lies_on_a_mount_inside_is_refused() {
    if !needs::root("a mount inside the tree") {
        return;
    }
    let tree = Tree::new();
    drop(tree.directory(b"inner"));
    let inner = crate::mount::mounts_inside::Inner::memory(tree.backing().join("inner"));
    std::fs::write(tree.backing().join("inner/file"), "").unwrap();
    let stay = Edited::of(&tree, "inner").rename(b"file", "new").apply();
    drop(inner);
    assert_eq!(stay, [(show(b"file"), SkipReason::MountPoint)]);
}
