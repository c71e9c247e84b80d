//! `utf8fs journal` and `utf8fs undo` (laws T1, T3, T4, L1, L4).

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;
use utf8fs::backing::{Dir, Stat};
use utf8fs::names::BackingName;
use utf8fs::records::{Name, PlanLine, Reason, Unplanned};
use utf8fs::tree::apply::{Observer, apply};
use utf8fs::tree::plan::DirectoryPlan;
use utf8fs::tree::tree_lock::TreeLock;
use utf8fs::tree::undo_journal::{Draft, Journal, JournalPart, JournalRequest, Skipped};

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
        let request = JournalRequest::of_options(tree, "--from iso-8859-1");
        let draft = Draft::create(&place.journal(), &root, &request).unwrap();
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

/// Law T11: the order is that of times, and a journal beside it counts, whatever that is called.
#[test]
fn t11_a_later_migration_is_undone_first() {
    let place = Migrated::new();
    let tree = place.tree();
    let later = place.0.path().join("another name");
    fs::write(tree.join("b\u{FC}ro"), "").unwrap();
    let arguments: [&[u8]; 6] = [
        b"migrate",
        b"--normalize",
        b"nfd",
        b"--apply",
        b"--journal",
        later.as_os_str().as_bytes(),
    ];
    let migrated = run(&[&arguments[..], &[tree.as_os_str().as_bytes()]].concat());
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    for command in [&[b"undo".as_slice()][..], &[b"undo", b"--apply"]] {
        let refused = place.run(command, &[]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.ends_with("/another name'\n"), "{refused:?}");
    }
    // Gone, it is asked for.
    let elsewhere = place.0.path().join("kept");
    fs::hard_link(&later, &elsewhere).unwrap();
    fs::remove_file(&later).unwrap();
    fs::create_dir(place.0.path().join("sub")).unwrap();
    fs::hard_link(&elsewhere, place.0.path().join("sub/kept")).unwrap();
    fs::remove_file(&elsewhere).unwrap();
    let refused = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let missing = "/another name\" of a later migration, made ";
    assert!(refused.stderr.contains(missing), "{refused:?}");
    let kept = place.0.path().join("sub/kept");
    let command = [&b"undo"[..], b"--apply", kept.as_os_str().as_bytes()];
    assert_eq!(run(&command).code, Some(0));
    let undone = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert!(!place.is_migrated());
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

/// Law T11: what was cut off is missing, and the rest counts.
#[test]
fn t11_a_journal_that_was_cut_is_undone_as_far_as_it_goes() {
    let place = Migrated::new();
    let octets = fs::read(place.journal()).unwrap();
    let complete = b"\"event\":\"complete\"";
    let mut windows = octets.windows(complete.len());
    let cut = windows.position(|window| window == complete).unwrap();
    fs::write(place.journal(), &octets[..cut]).unwrap();
    let shown = place.run(&[b"journal"], &[]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stdout.contains("\"caf\\xE9.txt\" -> "), "{shown:?}");
    assert!(
        shown.stderr.contains("frame 2 is missing, at byte "),
        "{shown:?}"
    );
    let undone = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(undone.code, Some(1), "{undone:?}");
    assert!(
        undone.stderr.contains("frame 2 is missing, at byte "),
        "{undone:?}"
    );
    assert!(
        undone
            .stderr
            .ends_with("2 steps undone, 0 entries left as they are\n"),
        "{undone:?}"
    );
    assert!(!place.is_migrated());
    fs::write(place.journal(), "no journal").unwrap();
    let none = place.run(&[b"journal"], &[]);
    assert!(none.stderr.contains("not a utf8fs journal"), "{none:?}");
}

/// Law T11: `truncate -s +64 journal`, as a power cut may leave it.
#[test]
fn t11_a_tail_of_nuls_is_said_and_nothing_more() {
    let place = Migrated::new();
    let journal = fs::File::options()
        .write(true)
        .open(place.journal())
        .unwrap();
    let length = journal.metadata().unwrap().len();
    journal.set_len(length + 64).unwrap();
    let shown = place.run(&[b"journal"], &[]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let undone = place.run(&[b"undo", b"--apply"], &[]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert!(
        undone.stderr.contains(&format!("from byte {length} on")),
        "{undone:?}"
    );
    assert!(!place.is_migrated());
}

/// A copy has other inodes; its journal is not written to.
#[test]
fn t11_a_copy_is_taken_back_by_name() {
    let place = Migrated::new();
    let copy = place.0.path().join("copy");
    let mut cp = std::process::Command::new("cp");
    cp.arg("-a").arg(place.tree()).arg(&copy);
    assert!(cp.status().unwrap().success());
    let octets = fs::read(place.journal()).unwrap();
    let in_copy: [&[u8]; 2] = [b"--root", copy.as_os_str().as_bytes()];
    let refused = place.run(&[b"undo", b"--apply"], &in_copy);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--by-name"), "{refused:?}");
    let old_name = std::ffi::OsStr::from_bytes(b"caf\xE9.txt");
    // Nothing is overwritten.
    fs::write(copy.join(old_name), "mine").unwrap();
    let taken = place.run(&[b"undo", b"--apply", b"--by-name"], &in_copy);
    assert_eq!(taken.code, Some(1), "{taken:?}");
    assert_eq!(fs::read(copy.join(old_name)).unwrap(), b"mine");
    fs::remove_file(copy.join(old_name)).unwrap();
    let undone = place.run(&[b"undo", b"--apply", b"--by-name"], &in_copy);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(fs::read(copy.join(old_name)).unwrap(), b"x");
    assert_eq!(fs::read_link(copy.join("link")).unwrap(), old_name);
    let again = place.run(&[b"undo", b"--apply", b"--by-name"], &in_copy);
    assert!(
        again.stderr.contains("0 steps undone, 0 entries"),
        "{again:?}"
    );
    assert!(place.is_migrated());
    assert_eq!(fs::read(place.journal()).unwrap(), octets);
}

/// Paths for programs that have them elsewhere.
#[test]
fn the_paths_of_before_and_after_are_printed() {
    let place = Migrated::new();
    let root = place.tree();
    let root = root.as_os_str().as_bytes();
    let shown_root = std::str::from_utf8(root).unwrap();
    let mut shown = super::utf8fs(&[b"journal", b"--paths"]);
    let shown = shown.arg(place.journal()).output().unwrap();
    let expected = format!("\"{shown_root}/caf\\xE9.txt\"\t\"{shown_root}/caf\u{E9}.txt\"\n");
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), expected);
    let mut raw = super::utf8fs(&[b"journal", b"--paths", b"-0"]);
    let raw = raw.arg(place.journal()).output().unwrap();
    let expected = [root, b"/caf\xE9.txt\0", root, "/caf\u{E9}.txt\0".as_bytes()].concat();
    assert_eq!(raw.stdout, expected);
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
    let journal = Journal::open(&place.journal(), JournalPart::BeforeDamage).unwrap();
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
    let directory = run(&[b"journal", b"/"]);
    let message = "Is a directory\nhint: 'utf8fs journal' lists";
    assert!(directory.stderr.contains(message), "{directory:?}");
    for arguments in [&[&b"undo"[..], b"/"][..], &[b"undo", b"--apply", b"/"]] {
        let run = run(arguments);
        let message = "there is no journal of a migration that is not undone";
        assert!(
            run.code == Some(1) && run.stderr.contains(message),
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

/// Law T11: without a path, all journals are listed, the newest first; the last one is found by the tree, or by being the last.
#[test]
fn t11_journals_are_listed_and_found_by_their_tree() {
    let tree = Tree::new();
    let backing = tree.backing();
    let backing = backing.as_os_str().as_bytes();
    let none = run(&[b"undo"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("there are no journals"), "{none:?}");
    tree.file(b"a\xE9", b"");
    let migrate: [&[u8]; 5] = [b"migrate", b"--from", b"iso-8859-1", b"--apply", backing];
    assert_eq!(run(&migrate).code, Some(0));
    tree.file(b"b\xE9", b"");
    let elsewhere = tree.parent().join("elsewhere");
    let elsewhere = elsewhere.as_os_str().as_bytes();
    let with_journal = [&migrate[..], &[b"--journal", elsewhere]].concat();
    assert_eq!(run(&with_journal).code, Some(0));
    for command in [&b"undo"[..], b"journal"] {
        let listed = run(&[command]);
        let lines: Vec<&str> = listed.stdout.lines().collect();
        assert_eq!((listed.code, lines.len()), (Some(0), 3), "{listed:?}");
        assert!(
            lines[1].contains("1 step") && lines[1].contains("done"),
            "{listed:?}"
        );
        assert!(lines[1].ends_with("/elsewhere\""), "{listed:?}");
        assert!(lines[2].ends_with(".journal\""), "{listed:?}");
        let objects = run(&[command, b"--json"]).objects();
        assert_eq!(objects.len(), 2);
        let text = std::str::from_utf8(backing).unwrap();
        assert_eq!(objects[0]["tree_now"], json!({ "text": text }));
        assert_eq!(
            (&objects[0]["state"], &objects[0]["steps"]),
            (&json!("done"), &json!(1))
        );
    }
    let names = || crate::support::at::sorted(tree.below_dir());
    assert_eq!(names(), ["a\u{E9}".as_bytes(), "b\u{E9}".as_bytes()]);
    assert_eq!(run(&[b"undo", b"--apply"]).code, Some(2));
    assert_eq!(run(&[b"undo", b"--apply", b"--last"]).code, Some(0));
    assert_eq!(names(), ["a\u{E9}".as_bytes(), b"b\xE9"]);
    assert_eq!(run(&[b"undo", b"--apply", backing]).code, Some(0));
    assert_eq!(names(), [b"a\xE9", b"b\xE9"]);
    let listed = run(&[b"undo"]);
    assert_eq!(listed.stdout.matches("undone").count(), 2, "{listed:?}");
    for nothing in [&[&b"undo"[..], b"--last"][..], &[b"undo", backing]] {
        assert_eq!(run(nothing).code, Some(1));
    }
}
