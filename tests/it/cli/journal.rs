//! `utf8fs journal` and `utf8fs undo` (laws T1, T3, T4, L1, L4).

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;
use utf8fs::backing::{Dir, Stat};
use utf8fs::names::BackingName;
use utf8fs::records::{Name, PlanLine, Reason};
use utf8fs::tree::apply::{Observer, apply};
use utf8fs::tree::plan::DirectoryPlan;
use utf8fs::tree::tree_lock::TreeLock;
use utf8fs::tree::undo_journal::{Draft, Journal, Skipped, Unplanned};

use super::{Run, run};
use crate::support::{Tree, needs};

/// `caf\xE9.txt`, and a link to it, both migrated.
struct Migrated(TempDir);

struct Nobody;

impl Observer for Nobody {
    fn skipped(&self, left: &Skipped) {
        panic!("{left:?}");
    }
}

fn name(octets: &[u8]) -> BackingName {
    BackingName::parse(octets).unwrap()
}

impl Migrated {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.tree()).unwrap();
        let old = place
            .tree()
            .join(std::ffi::OsStr::from_bytes(b"caf\xE9.txt"));
        fs::write(&old, "x").unwrap();
        let target = std::ffi::OsStr::from_bytes(b"caf\xE9.txt");
        std::os::unix::fs::symlink(target, place.tree().join("link")).unwrap();
        let root = place.root();
        let tree = place.tree();
        let tree = tree.as_os_str().as_bytes();
        let draft = Draft::create(&place.journal(), &root, tree, "--from iso-8859-1").unwrap();
        let line = |octets: &[u8]| {
            let stat = Dir::new(&root).stat_child(&name(octets)).unwrap();
            PlanLine {
                directory_inode: Stat::of(&root).unwrap().ino,
                ..PlanLine::new(name(octets), stat.kind(), stat.ino, Reason::Decoded)
            }
        };
        let mut file = line(b"caf\xE9.txt");
        file.new = Some(name("caf\u{E9}.txt".as_bytes()));
        let mut link = line(b"link");
        link.new_target = Some(Name::from("caf\u{E9}.txt"));
        let added = draft.add(&DirectoryPlan {
            entries: 2,
            lines: vec![file, link],
        });
        assert_eq!(added.unwrap(), []);
        let mut journal = draft.commit(Unplanned::default()).unwrap();
        assert_eq!(apply(&root, &mut journal, 1, &Nobody).unwrap().done, 2);
        place
    }

    fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn root(&self) -> OwnedFd {
        Dir::open_root(&self.tree()).unwrap().into_fd()
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("journal")
    }

    fn run(&self, before: &[&[u8]], after: &[&[u8]]) -> Run {
        let journal = self.journal();
        run(&[before, &[journal.as_os_str().as_bytes()], after].concat())
    }

    fn is_migrated(&self) -> bool {
        let new = self.tree().join("caf\u{E9}.txt");
        let target = fs::read_link(self.tree().join("link")).unwrap();
        let is_old = target.as_os_str().as_bytes() == b"caf\xE9.txt";
        assert_eq!(new.is_file(), !is_old);
        new.is_file()
    }
}

#[test]
fn a_journal_is_shown_as_text_and_as_json() {
    let place = Migrated::new();
    let shown = place.run(&[b"journal"], &[]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[0].starts_with("journal "), "{shown:?}");
    assert_eq!(
        lines[2..],
        [
            "options: --from iso-8859-1",
            r#""link": target "caf\xE9.txt" -> "café.txt""#,
            r#""caf\xE9.txt" -> "café.txt""#,
            "finished: 2 steps done, 0 done before, 0 left",
            "status: finished",
        ]
    );
    let objects = place.run(&[b"journal", b"--json"], &[]).objects();
    assert_eq!(objects.len(), 5);
    let header = objects[0].as_object().unwrap();
    let header: Vec<_> = header.keys().collect();
    let keys = ["event", "version", "id", "created", "root", "options"];
    assert_eq!(header[..6], keys);
    assert_eq!(
        (&objects[1]["event"], &objects[1]["directory"]),
        (&json!("job"), &json!({ "text": "" }))
    );
    let changes = objects[1]["changes"].as_array().unwrap();
    assert_eq!(changes[0]["name"], json!({ "bytes": "Y2Fm6S50eHQ=" }));
    assert_eq!(
        changes[0]["to"],
        json!({ "name": { "text": "caf\u{E9}.txt" } })
    );
    let target = json!({ "old": { "bytes": "Y2Fm6S50eHQ=" }, "new": { "text": "caf\u{E9}.txt" } });
    assert_eq!(changes[1]["target"], target);
    assert_eq!(
        objects[2],
        json!({ "event": "complete", "directories": 1, "steps": 2, "planning_left": 0, "planning_unread": 0 })
    );
    assert_eq!(
        objects[3],
        json!({ "event": "finished", "done": 2, "before": 0, "left": 0 })
    );
    assert_eq!(
        objects[4],
        json!({ "event": "status", "status": "finished" })
    );
}

#[test]
fn nothing_is_undone_without_apply() {
    let place = Migrated::new();
    let octets = fs::read(place.journal()).unwrap();
    let told = place.run(&[b"undo"], &[]);
    assert_eq!(told.code, Some(0));
    let expected = "\"café.txt\" -> \"caf\\xE9.txt\"\n\"link\": target -> \"caf\\xE9.txt\"\n";
    assert_eq!(told.stdout, expected);
    assert!(told.stderr.contains("nothing was done"), "{told:?}");
    assert!(place.is_migrated());
    assert_eq!(fs::read(place.journal()).unwrap(), octets);
    let part = place.run(&[b"undo", b"--only", b"caf\xE9.txt"], &[]);
    assert_eq!(
        (part.code, part.stdout.lines().count()),
        (Some(0), 1),
        "{part:?}"
    );
}

#[test]
fn a_migration_is_undone_with_apply() {
    let place = Migrated::new();
    let undone = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(
        (undone.code, undone.stdout.as_str()),
        (Some(0), ""),
        "{undone:?}"
    );
    assert_eq!(
        undone.stderr,
        "utf8fs: 2 steps undone, 0 entries left as they are\n"
    );
    assert!(!place.is_migrated());
    let again = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(
        again.stderr,
        "utf8fs: 0 steps undone, 0 entries left as they are\n"
    );
    let shown = place.run(&[b"journal"], &[]);
    assert!(shown.stdout.ends_with("status: undone\n"), "{shown:?}");
}

#[test]
fn a_later_migration_is_undone_first() {
    let place = Migrated::new();
    let later = place.0.path().join("journal.2");
    let journal = fs::read(place.journal()).unwrap();
    // One that cannot be read may be of the same tree.
    for later_journal in [&[&journal, &b"\0"[..]].concat(), &journal] {
        fs::write(&later, later_journal).unwrap();
        for command in [&[b"undo".as_slice()][..], &[b"undo", b"--apply"]] {
            let refused = place.run(command, &[]);
            assert_eq!(refused.code, Some(1), "{refused:?}");
            assert!(refused.stderr.ends_with("/journal.2\n"), "{refused:?}");
            assert!(place.is_migrated());
        }
    }
    let command = [&b"undo"[..], b"--apply", later.as_os_str().as_bytes()];
    assert_eq!(run(&command).code, Some(0));
    let undone = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
}

#[test]
fn what_is_left_is_told_with_exit_code_1() {
    let place = Migrated::new();
    fs::write(
        place
            .tree()
            .join(std::ffi::OsStr::from_bytes(b"caf\xE9.txt")),
        "other",
    )
    .unwrap();
    let undone = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(undone.code, Some(1));
    // The link goes on leading to the file, whatever that is called.
    let expected = "utf8fs: \"caf\\xE9.txt\" was left: the name is taken\n\
        utf8fs: \"link\" was left: what it leads to was left, or got another name\n\
        utf8fs: 0 steps undone, 2 entries left as they are\n";
    assert_eq!(undone.stderr, expected);
}

#[test]
fn a_journal_that_was_cut_is_refused_with_the_frame_and_nothing_done() {
    let place = Migrated::new();
    let octets = fs::read(place.journal()).unwrap();
    fs::write(place.journal(), &octets[..octets.len() - 100]).unwrap();
    for command in [&[&b"undo"[..]][..], &[b"undo", b"--apply"], &[b"journal"]] {
        let refused = place.run(command, &[]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("frame 2, at byte "), "{refused:?}");
    }
    fs::write(place.journal(), "no journal").unwrap();
    assert!(
        place
            .run(&[b"journal"], &[])
            .stderr
            .contains("not a utf8fs journal")
    );
    assert!(place.is_migrated());
}

#[test]
fn what_is_no_file_is_no_journal() {
    let place = Migrated::new();
    fs::remove_file(place.journal()).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, place.journal(), mode).unwrap();
    for command in [&[&b"undo"[..]][..], &[b"undo", b"--apply"], &[b"journal"]] {
        let refused = place.run(command, &[]);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains("journal"), "{refused:?}");
    }
}

#[test]
fn paths_that_lead_nowhere_and_trees_in_use_are_refused() {
    let place = Migrated::new();
    for only in [&b"../x"[..], b"/..", b"a/./b"] {
        let refused = place.run(&[b"undo", b"--only", only], &[]);
        assert!(
            refused.refusal().0.contains("not a path within the tree"),
            "{refused:?}"
        );
    }
    // Nothing of that is a part: it must never be taken for all.
    let root = place.tree();
    for only in [
        &b""[..],
        b".",
        b"/",
        b"./",
        b"//",
        root.as_os_str().as_bytes(),
    ] {
        for apply in [&[][..], &[&b"--apply"[..]]] {
            let command = [&[&b"undo"[..], b"--only", only][..], apply].concat();
            let refused = place.run(&command, &[]);
            assert!(!refused.refusal().1.is_empty(), "{refused:?}");
            assert!(place.is_migrated());
        }
    }
    for only in [&b"none"[..], b"/etc"] {
        let none = place.run(&[b"undo", b"--only", only], &[]);
        assert_eq!(none.code, Some(1), "{none:?}");
    }
    let other = tempfile::tempdir().unwrap();
    let root = other.path().as_os_str().as_bytes();
    let refused = place.run(&[b"undo", b"--apply", b"--root", root], &[]);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("another tree"),
        "{refused:?}"
    );
    let lock = TreeLock::take(&place.root()).unwrap();
    let busy = place.run(&[b"undo", b"--apply"], &[]);
    assert!(
        busy.code == Some(1) && busy.stderr.contains("at work"),
        "{busy:?}"
    );
    drop(lock);
    let journal = Journal::open(&place.journal()).unwrap();
    let busy = place.run(&[b"undo", b"--apply"], &[]);
    assert!(
        busy.code == Some(1) && busy.stderr.contains("at work"),
        "{busy:?}"
    );
    drop(journal);
    assert!(place.is_migrated());
}

#[test]
fn a_journal_that_is_not_there_has_no_status() {
    for arguments in [
        &[&b"journal"[..], b"/nosuch"][..],
        &[b"journal", b"--json", b"/nosuch"],
        &[b"undo", b"/nosuch"],
        &[b"undo", b"--apply", b"/nosuch"],
    ] {
        let run = run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains("No such file or directory"), "{run:?}");
    }
    for arguments in [
        &[&b"undo"[..], b"/"][..],
        &[b"undo", b"--apply", b"/"],
        &[b"journal", b"/"],
    ] {
        let run = run(arguments);
        assert!(
            run.stderr.contains("Is a directory\nhint: give the file"),
            "{run:?}"
        );
    }
}

#[test]
fn plans_and_journals_name_kinds_alike() {
    if !needs::root("mknod") {
        return;
    }
    let tree = Tree::new();
    let device = tree.backing().join(std::ffi::OsStr::from_bytes(b"\xE9"));
    let mut mknod = std::process::Command::new("mknod");
    let made = mknod.arg(&device).args(["c", "1", "3"]).status().unwrap();
    assert!(made.success());
    let (backing, journal) = (tree.backing(), tree.parent().join("journal"));
    let (backing, journal) = (
        backing.as_os_str().as_bytes(),
        journal.as_os_str().as_bytes(),
    );
    let plan = run(&[
        b"migrate",
        b"--from",
        b"iso-8859-1",
        b"--plan",
        b"-",
        backing,
    ]);
    let arguments: [&[u8]; 7] = [
        b"migrate",
        b"--from",
        b"iso-8859-1",
        b"--apply",
        b"--journal",
        journal,
        backing,
    ];
    assert_eq!(run(&arguments).code, Some(0));
    let shown = run(&[b"journal", b"--json", journal]);
    for (run, kind) in [(plan, "/kind"), (shown, "/changes/0/kind")] {
        let objects = run.objects();
        let kinds = objects.iter().filter_map(|object| object.pointer(kind));
        let kinds: Vec<_> = kinds.collect();
        assert_eq!(kinds, [&json!("character-device")], "{run:?}");
    }
}
