//! Plans that somebody altered, and trees that somebody changed since: refused with the line, or done right.

use std::io::Cursor;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::RenameFlags;
use utf8fs::backing::Dir;
use utf8fs::names::json_name;
use utf8fs::tree::journal::Why;
use utf8fs::tree::plan::read::{Part, PlanError, Reader, Rows};
use utf8fs::tree::plan::settle::{Settled, settle};
use utf8fs::tree::step::{Action, Group};

use crate::support::{Tree, at, needs, show};

const HEADER: &str =
    r#"{"utf8fs_plan":1,"root":{"text":"/srv/old"},"options":"--from iso-8859-1"}"#;
const END: &str = r#"{"utf8fs_plan_end":1}"#;
const ROW: &str = r#"{"directory":{"text":"a"},"directory_inode":1,"old":{"bytes":"6Q=="},"new":{"text":"é"},"kind":"file","inode":2,"reason":"decoded","charset":"iso-8859-1","confidence":null,"candidates":[]}"#;

fn read(text: &str) -> Result<Vec<Part>, PlanError> {
    let mut reader = Reader::new(Cursor::new(text.as_bytes()));
    let mut parts = Vec::new();
    while let Some(part) = reader.part()? {
        parts.push(part);
    }
    Ok(parts)
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
    for end in [
        r#"{"utf8fs_plan_end": 2}"#,
        r#"{"utf8fs_plan_end":1,"x":1}"#,
    ] {
        let (line, what) = refused(&format!("{HEADER}\n{ROW}\n{end}\n"));
        assert_eq!(
            (line, what.contains("the last line has to be")),
            (3, true),
            "{what}"
        );
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
    let parts = read(&plan(&[ROW, &other, "", &below])).unwrap();
    let [
        Part::Tree(header),
        Part::Directory(a),
        Part::Directory(root),
    ] = parts.as_slice()
    else {
        panic!("{parts:?}");
    };
    assert_eq!(header.root, b"/srv/old");
    assert_eq!(a.directory[0].as_bytes(), b"a");
    assert_eq!(
        a.rows.iter().map(|row| row.line).collect::<Vec<_>>(),
        [2, 3]
    );
    let new = a.rows[1].new.as_ref().unwrap();
    assert_eq!(new.as_bytes(), "è\":\\".as_bytes());
    assert_eq!((root.directory.len(), root.rows[0].line), (0, 5));
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
        (directory("null"), 4, "\"directory\" is missing"),
        // names
        (new(r#"{"text":"../x"}"#), 4, "\"new\" is no name"),
        (new(r#"{"text":".."}"#), 4, "\"new\" is no name"),
        (new(r#"{"text":""}"#), 4, "\"new\" is no name"),
        (new("{\"text\":\"x\\u0000y\"}"), 4, "\"new\" is no name"),
        (new(r#"{"bytes":"6Q=="}"#), 4, "not well-formed"),
        (new(r#""x""#), 4, "\"new\" is not"),
        (
            new(&format!(r#"{{"text":"{}"}}"#, "é".repeat(128))),
            4,
            "too long: 256 bytes",
        ),
        (
            replaced(r#"{"bytes":"6Q=="}"#, r#"{"text":"a/b"}"#),
            4,
            "\"old\" is no name",
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
            "a key stands in it twice",
        ),
        (
            new(r#"{"text":"\":","text":"y"}"#),
            4,
            "a key stands in it twice",
        ),
        (
            replaced(r#""inode":2"#, r#""inode":2,"n\u0065w":null"#),
            4,
            "a key stands in it twice",
        ),
        (
            plan(&[]).replace("\"options\"", "\"root\":{\"text\":\"/etc\"},\"options\""),
            1,
            "a key stands in it twice",
        ),
        // keys and values
        (replaced(r#""kind":"file","#, ""), 4, "\"kind\" is none"),
        (
            replaced(r#""kind":"file""#, r#""kind":"file","mode":7"#),
            4,
            "unknown key \"mode\"",
        ),
        (
            replaced(r#""inode":2"#, r#""inode":-2"#),
            4,
            "\"inode\" is no number",
        ),
        (
            replaced(r#""new":{"text":"é"},"#, ""),
            4,
            "\"new\" is missing",
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
        (plan(&["{"]), 2, "no JSON"),
        (plan(&["[]"]), 2, "no object"),
        // the file
        (
            plan(&[ROW]).replace("\"utf8fs_plan\":1", "\"utf8fs_plan\":2"),
            1,
            "of version 2",
        ),
        (
            plan(&[ROW]).replace("\"/srv/old\"", "\"srv/old\""),
            1,
            "no absolute path",
        ),
        (
            plan(&[ROW]).replace("\"options\"", "\"option\""),
            1,
            "unknown key",
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
            json_name(self.directory.as_bytes()),
            inode_of(&path),
            json_name(old),
            json_name(new.as_bytes()),
        ));
        self
    }

    fn rows(&self) -> Rows {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let mut parts = read(&plan(&lines)).unwrap();
        match parts.pop() {
            Some(Part::Directory(rows)) => rows,
            other => panic!("{other:?}"),
        }
    }

    fn settled(&self) -> Settled {
        settled(self.tree, &self.rows())
    }
}

fn inode_of(path: &Path) -> u64 {
    rustix::fs::fstat(at::open_dir_path(path)).unwrap().st_ino
}

fn settled(tree: &Tree, rows: &Rows) -> Settled {
    let root = Dir::open_root(&tree.backing()).unwrap().into_fd();
    settle(&root, rows).unwrap()
}

/// Does the steps, by renames that overwrite nothing.
fn carry_out(tree: &Tree, group: &Group) {
    let dir = tree.below_dir();
    for step in &group.steps {
        let Action::Rename(new) = &step.action else {
            panic!("{step:?}");
        };
        let (old, new) = (step.name.as_bytes(), new.as_bytes());
        at::rename_with(&dir, old, new, RenameFlags::NOREPLACE)
            .unwrap_or_else(|error| panic!("{} to {}: {error}", show(old), show(new)));
    }
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
    let settled = plan.settled();
    assert_eq!(settled.refused, []);
    carry_out(&tree, &settled.group);
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
    let settled = Edited::of(&tree, "")
        .rename(b"x", "y")
        .rename(b"y", "x")
        .settled();
    carry_out(&tree, &settled.group);
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
    let settled = plan.settled();
    let refused: Vec<(usize, Why)> = settled
        .refused
        .iter()
        .map(|one| (one.line, one.why))
        .collect();
    assert_eq!(refused, [(2, Why::Taken), (3, Why::Taken), (4, Why::Taken)]);
    carry_out(&tree, &settled.group);
    assert_eq!(
        contents(&tree),
        of(&[("a", "a"), ("b", "b"), ("c", "c"), ("d", "d"), ("f", "e")])
    );
}

/// Law T3: files that others have changed since are told with their lines, and the rest is done.
#[test]
fn what_changed_since_is_refused_line_by_line() {
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
    let settled = plan.settled();
    let refused: Vec<(usize, Why)> = settled
        .refused
        .iter()
        .map(|one| (one.line, one.why))
        .collect();
    assert_eq!(
        refused,
        [(2, Why::Gone), (3, Why::Changed), (4, Why::Changed)]
    );
    assert_eq!(settled.group.steps.len(), 1);
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
    let why = |settled: Settled| {
        assert_eq!(settled.group.steps, []);
        settled.refused[0].why
    };
    assert_eq!(why(plan.settled()), Why::Elsewhere);
    at::unlink(&below, b"dir").unwrap();
    assert_eq!(why(plan.settled()), Why::Elsewhere);
    at::mkdir(&below, b"dir").unwrap();
    assert_eq!(why(plan.settled()), Why::Elsewhere);
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
    let settled = Edited::of(&tree, "inner").rename(b"file", "new").settled();
    drop(inner);
    assert_eq!(settled.refused[0].why, Why::MountPoint);
    assert_eq!(settled.group.steps, []);
}
