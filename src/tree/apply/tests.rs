//! Trees that are not as they were planned for, and filesystems that will not (laws T2, T3, T5, T6).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

mod filesystems;
mod links;
mod times;

use super::*;
use crate::tree::kills::manifest::{Manifest, assert_same};
use crate::tree::kills::plan::{name, plan};
use crate::tree::kills::stage::{Impatient, Seen, Stage, mixed, mtime, path, set_mtime};
use crate::tree::rollback::{UndoScope, preview, undo};
use crate::tree::undo_journal::{SkipReason, Skipped};

const DIR: &[&[u8]] = &[b"\xFCber", b"alt\xE9"];
const FILES: [&[u8]; 3] = [b"1\xE9", b"2\xE9", b"3\xE9"];

/// Three files in a directory in a directory, one beside that, all of which get other names.
fn small() -> Stage {
    let stage = Stage::new();
    fill(&stage);
    stage
}

fn fill(stage: &Stage) {
    stage.dir(&DIR[..1]);
    stage.dir(DIR);
    for file in FILES {
        stage.file(&[DIR, &[file]].concat());
    }
    stage.file(&[b"caf\xE9"]);
    stage.age();
}

fn at(stage: &Stage, more: &[&[u8]]) -> PathBuf {
    path(&stage.tree(), &[DIR, more].concat())
}

/// The content of a file, whose access time stays.
fn read(path: impl AsRef<Path>) -> String {
    let mut options = fs::File::options();
    let opened = options.read(true).custom_flags(libc::O_NOATIME).open(path);
    std::io::read_to_string(opened.unwrap()).unwrap()
}

fn lines(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[test]
fn a_tree_is_migrated_and_undone_and_its_directories_keep_their_times() {
    let stage = Stage::new();
    mixed(&stage);
    let before = stage.manifest();
    let (mut journal, left) = stage.draft().unwrap();
    assert!(left.is_empty(), "{left:?}");
    let (outcome, left) = stage.apply(&mut journal);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!((outcome.done, outcome.before), (journal.jobs.steps, 0));
    for directory in ["B\u{FC}cher", "B\u{FC}cher/\u{C4}lter", "plain"] {
        let times: Vec<_> = before
            .values()
            .map(crate::tree::kills::manifest::Entry::mtime)
            .collect();
        assert!(
            times.contains(&mtime(&stage.tree().join(directory))),
            "{directory}"
        );
    }
    assert_eq!(read(stage.tree().join("8-ring-2")), "ring 1");
    assert_eq!(read(stage.tree().join("8-ring-1")), "ring 3");
    assert_eq!(read(stage.tree().join("7-chain-4")), "chain 3");
    let (again, _) = stage.apply(&mut journal);
    assert_eq!(again, Outcome::default(), "it is finished");
    let (undone, left) = stage.undo(&mut journal, None);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(undone.done, outcome.done);
    assert_same(&stage.manifest(), &before, "undone");
    let error = apply(&stage.root(), &mut journal, 1, &Seen::default()).unwrap_err();
    assert!(matches!(error, JournalError::Undone), "{error}");
}

#[test]
fn it_stops_between_any_two_steps_and_is_gone_on_with() {
    let stage = small();
    let before = stage.manifest();
    for questions in 0..12 {
        let (mut journal, _) = stage.draft().unwrap();
        let watch = Impatient(Arc::new(AtomicU64::new(questions)));
        let first = apply(&stage.root(), &mut journal, 1, &watch).unwrap();
        if first.is_stopped {
            assert_eq!(journal.state().status, Status::Pending);
            let (second, left) = stage.apply(&mut journal);
            assert_eq!((first.done + second.done, left.len()), (6, 0));
        }
        assert_eq!(journal.state().status, Status::Finished);
        stage.undo(&mut journal, None);
        assert_same(&stage.manifest(), &before, "undone");
        fs::remove_file(stage.journal()).unwrap();
    }
}

#[test]
fn a_part_is_undone_by_names_of_before_or_after() {
    let new: &[&[u8]] = &["\u{FC}ber".as_bytes(), "alt\u{E9}".as_bytes()];
    let rows: [(&[&[u8]], u64); 7] = [
        (DIR, 4),
        (new, 4),
        (&[DIR[0], new[1], b"2\xE9"], 1),
        (&[new[0], DIR[1], "2\u{E9}".as_bytes()], 1),
        (&[b"caf\xE9"], 1),
        (&DIR[..1], 5),
        (&[b"none"], 0),
    ];
    for (only, steps) in rows {
        let stage = small();
        let before = stage.manifest();
        let (mut journal, _) = stage.draft().unwrap();
        stage.apply(&mut journal);
        let asked: Vec<_> = only.iter().map(|octets| name(octets)).collect();
        let told = preview(
            &stage.root(),
            &journal,
            UndoScope {
                only: Some(asked.as_slice()),
                ..UndoScope::default()
            },
            &Seen::default(),
        )
        .unwrap();
        assert_eq!((told.done, told.before), (steps, 0), "{only:?}");
        let (undone, left) = stage.undo(&mut journal, Some(only));
        assert_eq!((undone.done, left.len()), (steps, 0), "{only:?}");
        // Directories above go on having their new names, and their times.
        let (rest, left) = stage.undo(&mut journal, None);
        assert_eq!(
            (rest.done, rest.before, left.len()),
            (6 - steps, steps, 0),
            "{only:?}"
        );
        assert_same(&stage.manifest(), &before, "undone");
    }
}

#[test]
fn what_others_have_changed_is_left_and_the_rest_done() {
    let stage = small();
    let (mut journal, _) = stage.draft().unwrap();
    // Another file under that name, none any more, the new name taken.
    fs::remove_file(at(&stage, &[b"1\xE9"])).unwrap();
    fs::write(at(&stage, &[b"1\xE9"]), "another").unwrap();
    fs::remove_file(at(&stage, &[b"2\xE9"])).unwrap();
    fs::write(at(&stage, &["3\u{E9}".as_bytes()]), "taken").unwrap();
    let (outcome, left) = stage.apply(&mut journal);
    let expected = [
        r"\xfcber/alt\xe9/1\xe9: it is another one than it was",
        r"\xfcber/alt\xe9/2\xe9: it is not there any more",
        r"\xfcber/alt\xe9/3\xe9: the name is taken",
    ];
    assert_eq!(left, lines(&expected));
    assert_eq!((outcome.done, outcome.left), (3, 3));
    let new = stage.tree().join("\u{FC}ber/alt\u{E9}");
    assert_eq!(read(new.join("3\u{E9}")), "taken");
    assert_eq!(read(path(&new, &[b"1\xE9"])), "another");
    // Undoing leaves the same, and takes the rest back.
    let (outcome, left) = stage.undo(&mut journal, None);
    assert_eq!(left, lines(&expected[..2]));
    assert_eq!((outcome.done, outcome.before, outcome.left), (3, 1, 2));
    assert_eq!(read(at(&stage, &[b"1\xE9"])), "another");
}

#[test]
fn what_is_not_as_planned_is_told_when_it_is_drafted() {
    let stage = small();
    let mut plans = plan(&stage.root());
    for line in plans.iter_mut().flat_map(|plan| &mut plan.lines) {
        match line.old.as_bytes() {
            b"1\xE9" => line.inode += 1_000_000,
            b"2\xE9" => line.old = name(b"gone"),
            b"caf\xE9" => line.kind = crate::backing::Kind::Symlink,
            _ => {}
        }
    }
    let mut nowhere = plans[0].clone();
    for line in &mut nowhere.lines {
        line.directory = [name(b"none")].into();
    }
    plans.push(nowhere);
    let (journal, left) = stage.draft_of(&plans).unwrap();
    let told: Vec<SkipReason> = left.iter().map(|left| left.reason).collect();
    let count = |why| told.iter().filter(|&&told| told == why).count();
    assert_eq!(
        (count(SkipReason::Changed), count(SkipReason::Gone)),
        (2, 1),
        "{left:?}"
    );
    assert_eq!(
        count(SkipReason::Elsewhere),
        plans[0].lines.len(),
        "{left:?}"
    );
    assert_eq!(journal.jobs.steps, 3);
}

#[test]
fn a_link_with_several_names_and_a_chain_that_is_broken_are_left() {
    let stage = Stage::new();
    stage.link(b"caf\xE9", &[b"link"]);
    fs::hard_link(
        path(&stage.tree(), &[b"link"]),
        path(&stage.tree(), &[b"other"]),
    )
    .unwrap();
    for index in 1..4 {
        stage.file(&[format!("1-ring-{index}").as_bytes()]);
        stage.file(&[format!("1-chain-{index}").as_bytes()]);
    }
    stage.age();
    let plans = plan(&stage.root());
    let (mut journal, left) = stage.draft_of(&plans).unwrap();
    assert!(
        left.iter()
            .all(|left| left.reason == SkipReason::HardLinked),
        "{left:?}"
    );
    assert_eq!((left.len(), journal.jobs.steps), (2, 6));
    // The second of the ring has gone: the third, which was to leave its name for a moment, has it again.
    fs::remove_file(path(&stage.tree(), &[b"1-ring-1"])).unwrap();
    let before = stage.manifest();
    let (_, left) = stage.apply(&mut journal);
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(stage.tree().join("1-chain-4").is_file());
    assert_eq!(read(stage.tree().join("1-ring-3")), "1-ring-3");
    stage.undo(&mut journal, Some(&[b"1-chain-1"]));
    assert_same(
        &without_root_time(stage.manifest()),
        &without_root_time(before),
        "undone",
    );
}

/// The root itself was changed by the test.
fn without_root_time(mut manifest: Manifest) -> Manifest {
    manifest.remove(&b""[..]);
    manifest
}

#[test]
fn a_ring_that_is_interrupted_by_another_file_is_put_back() {
    let stage = Stage::new();
    for index in 1..4 {
        stage.file(&[format!("1-ring-{index}").as_bytes()]);
    }
    let (mut journal, _) = stage.draft().unwrap();
    // 3 goes between, 2 becomes 3, 1 becomes 2, and then somebody has taken 1: a directory, which stays.
    let plans = plan(&stage.root());
    assert_eq!(plans[0].lines.len(), 3);
    let between = stage.tree().join(".utf8fs-meantime-1");
    fs::create_dir(&between).unwrap();
    let (outcome, left) = stage.apply(&mut journal);
    assert_eq!(outcome.done, 0);
    assert_eq!(
        left.iter().filter(|line| line.contains("taken")).count(),
        1,
        "{left:?}"
    );
    assert_eq!(left.len(), 3);
    for index in 1..4 {
        let name = format!("1-ring-{index}");
        assert_eq!(read(stage.tree().join(&name)), name);
    }
}

#[test]
fn a_directory_swapped_for_a_link_leads_nowhere() {
    let stage = small();
    let (mut journal, _) = stage.draft().unwrap();
    let elsewhere = stage.place().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for file in FILES {
        fs::write(path(&elsewhere, &[file]), "").unwrap();
    }
    Command::new("mv")
        .arg(at(&stage, &[]))
        .arg(stage.place().join("away"))
        .status()
        .unwrap();
    symlink(&elsewhere, at(&stage, &[])).unwrap();
    let (outcome, left) = stage.apply(&mut journal);
    // The directory's own new name, too, was planned for what was there.
    assert_eq!((outcome.done, left.len()), (2, 4), "{left:?}");
    assert!(
        left.iter()
            .any(|line| line.ends_with("its directory is not the one that it was")),
        "{left:?}"
    );
    for file in FILES {
        assert!(path(&elsewhere, &[file]).is_file());
        assert!(path(&stage.place().join("away"), &[file]).is_file());
    }
}

/// Swaps the directory of the files for a link that leads elsewhere, when it is asked for the time of that number whether it is to stop.
struct Swap<'s> {
    stage: &'s Stage,
    at: usize,
    asked: AtomicUsize,
}

impl Swap<'_> {
    /// The directory, by its names of before or after.
    fn directory(&self) -> PathBuf {
        let names: [[&[u8]; 2]; 2] = [
            [DIR[0], "\u{FC}ber".as_bytes()],
            [DIR[1], "alt\u{E9}".as_bytes()],
        ];
        let [above, own] = names;
        let all = above.map(|above| own.map(|own| path(&self.stage.tree(), &[above, own])));
        let mut all = all.into_iter().flatten();
        all.find(|path| path.is_dir()).unwrap()
    }
}

impl Observer for Swap<'_> {
    fn skipped(&self, _left: &Skipped) {}

    fn is_over(&self) -> bool {
        if self.asked.fetch_add(1, Ordering::Relaxed) == self.at {
            let directory = self.directory();
            rustix::fs::rename(&directory, self.stage.place().join("away")).unwrap();
            symlink(self.stage.place().join("elsewhere"), directory).unwrap();
        }
        false
    }
}

/// Law T5, while the work is under way.
#[test]
fn t5_a_directory_swapped_for_a_link_between_any_two_renames_leads_nowhere() {
    for at in 0.. {
        let stage = small();
        let (mut journal, _) = stage.draft().unwrap();
        let elsewhere = stage.place().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        for file in FILES {
            fs::write(path(&elsewhere, &[file]), "").unwrap();
        }
        let asked = AtomicUsize::new(0);
        let stage = &stage;
        let swap = Swap { stage, at, asked };
        apply(&stage.root(), &mut journal, 1, &swap).unwrap();
        for file in FILES {
            assert!(path(&elsewhere, &[file]).is_file(), "{at}");
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), FILES.len());
        if swap.asked.into_inner() <= at {
            assert!(at > FILES.len() + DIR.len(), "asked {at} times only");
            return;
        }
        let away = fs::read_dir(stage.place().join("away")).unwrap();
        assert_eq!(away.count(), FILES.len(), "{at}");
    }
}

#[test]
fn times_that_others_set_meanwhile_stay() {
    let stage = small();
    let (mut journal, _) = stage.draft().unwrap();
    set_mtime(&at(&stage, &[]), 2_000_000_000);
    stage.apply(&mut journal);
    let new = stage.tree().join("\u{FC}ber/alt\u{E9}");
    assert_eq!(mtime(&new).secs, 2_000_000_000);
    set_mtime(&new, 1_999_999_999);
    stage.undo(&mut journal, None);
    assert_eq!(mtime(&at(&stage, &[])).secs, 1_999_999_999);
}

#[test]
fn a_journal_of_another_tree_is_refused() {
    let (one, other) = (small(), small());
    let (mut journal, _) = one.draft().unwrap();
    let before = other.manifest();
    let error = apply(&other.root(), &mut journal, 1, &Seen::default()).unwrap_err();
    assert!(matches!(error, JournalError::NotThisTree), "{error}");
    let error = undo(
        &other.root(),
        &mut journal,
        UndoScope::default(),
        &Seen::default(),
    )
    .unwrap_err();
    assert!(matches!(error, JournalError::NotThisTree), "{error}");
    assert_same(&other.manifest(), &before, "refused");
}
