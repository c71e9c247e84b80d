//! Journals that were cut or altered, and what is on the medium when (law T4).
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a panic is how a test fails"
)]

use std::fs;
use std::io;
use std::process::Command;

use super::frames::Seal;
use super::*;
use crate::records::JournalEvent;
use crate::tree::kills::manifest::assert_same;
use crate::tree::kills::stage::Stage;
use crate::tree::tree_lock::TreeLock;

/// Length of the first line.
const PREAMBLE: usize = 17;

/// No frame of these journals is longer.
const FRAME: u64 = 3000;

/// A tree of which a journal has several frames, and that journal, not yet applied.
fn drafted() -> (Stage, Vec<u8>) {
    let stage = Stage::new();
    stage.dir(&[b"\xFCber"]);
    for index in 0..3 {
        stage.file(&[b"\xFCber", format!("caf{index}\u{E9}").as_bytes()]);
        stage.file(&[b"\xFCber", &[b'c', b'0' + index, 0xE9]]);
    }
    stage.link(b"\xFCber", &[b"link"]);
    stage.age();
    let (journal, _) = stage.draft().unwrap();
    let octets = fs::read(&journal.path).unwrap();
    drop(journal);
    (stage, octets)
}

fn opened(stage: &Stage, octets: &[u8]) -> Result<Journal, JournalError> {
    fs::write(stage.journal(), octets).unwrap();
    Journal::open(&stage.journal())
}

#[test]
fn a_journal_that_is_cut_anywhere_is_refused_with_the_frame() {
    let (stage, octets) = drafted();
    let before = stage.manifest();
    let mut frames = std::collections::BTreeSet::new();
    for length in 0..octets.len() {
        match opened(&stage, &octets[..length]).unwrap_err() {
            JournalError::NotAJournal => assert!(length < PREAMBLE, "{length}"),
            JournalError::Broken { frame, offset, .. } => {
                let length = u64::try_from(length).unwrap();
                assert!(
                    offset <= length && length < offset + FRAME,
                    "{length} {frame} {offset}"
                );
                frames.insert(frame);
            }
            error => panic!("{length}: {error}"),
        }
    }
    // The header, two directories, and that this is all.
    assert_eq!(frames.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(opened(&stage, &octets).is_ok());
    assert_same(&stage.manifest(), &before, "refused");
}

#[test]
fn a_journal_with_any_bit_altered_is_refused_with_the_frame() {
    let (stage, mut octets) = drafted();
    let mut journal = opened(&stage, &octets).unwrap();
    stage.apply(&mut journal);
    stage.undo(&mut journal, None);
    drop(journal);
    // With the marks that were added since.
    let added = fs::read(stage.journal()).unwrap();
    assert_eq!(&added[..octets.len()], octets);
    assert_eq!(added.iter().filter(|octet| **octet == b'\n').count(), 8);
    octets = added;
    let before = stage.manifest();
    for index in 0..octets.len() {
        for bit in 0..8 {
            octets[index] ^= 1 << bit;
            match opened(&stage, &octets).unwrap_err() {
                JournalError::NotAJournal => assert!(index < PREAMBLE),
                JournalError::Version(_) => assert_eq!(index, PREAMBLE - 2),
                JournalError::Broken { offset, .. } => {
                    let index = u64::try_from(index).unwrap();
                    assert!(
                        offset <= index && index < offset + FRAME,
                        "{index} {offset}"
                    );
                }
                error => panic!("{index}: {error}"),
            }
            octets[index] ^= 1 << bit;
        }
    }
    assert_eq!(
        opened(&stage, &octets).unwrap().state().status,
        Status::Undone
    );
    assert_same(&stage.manifest(), &before, "refused");
}

#[test]
fn only_the_start_of_a_frame_was_being_written_when_the_machine_failed() {
    let (stage, octets) = drafted();
    let sum = [b'0'; 32];
    for start in [
        &sum[..7],
        &sum,
        &[&sum[..], b" "].concat(),
        &[&sum[..], b" {\"a"].concat(),
    ] {
        let torn = opened(&stage, &[&octets, start].concat());
        assert!(torn.is_ok(), "{}", start.escape_ascii());
    }
    for rubbish in [
        &[0; 5000][..],
        b"x",
        b"zz\n",
        b"0 ",
        &[&sum[..], b" ["].concat(),
        &[0x20; 40],
    ] {
        let error = opened(&stage, &[&octets, rubbish].concat()).unwrap_err();
        let is_last = matches!(error, JournalError::Broken { frame: 4, .. });
        assert!(is_last, "{}: {error}", rubbish.escape_ascii());
    }
}

#[test]
fn frames_that_are_left_out_repeated_or_exchanged_are_refused() {
    let (stage, octets) = drafted();
    let lines: Vec<&[u8]> = octets.split_inclusive(|octet| *octet == b'\n').collect();
    let (preamble, frames) = lines.split_first().unwrap();
    assert_eq!((preamble.len(), frames.len()), (PREAMBLE, 4));
    let whole = |order: &[usize]| {
        let chosen = order.iter().map(|&index| frames[index]);
        [&[*preamble][..], &chosen.collect::<Vec<_>>()]
            .concat()
            .concat()
    };
    assert!(opened(&stage, &whole(&[0, 1, 2, 3])).is_ok());
    for order in [
        &[0, 2, 1, 3][..],
        &[0, 1, 3],
        &[0, 2, 3],
        &[0, 1, 1, 2, 3],
        &[1, 2, 3],
        &[0, 1, 2, 3, 3],
        &[0, 1, 2, 3, 1],
        &[0, 3],
        &[0, 0, 1, 2, 3],
    ] {
        let error = opened(&stage, &whole(order)).unwrap_err();
        assert!(
            matches!(error, JournalError::Broken { .. }),
            "{order:?}: {error}"
        );
    }
}

#[test]
fn an_event_of_an_unknown_kind_is_told_as_such() {
    let (stage, mut octets) = drafted();
    let mut seal = Seal::default();
    let lines = octets.split(|octet| *octet == b'\n').skip(1);
    for line in lines.filter(|line| !line.is_empty()) {
        seal.push_json(&line[33..], &mut Vec::new());
    }
    seal.push_json(br#"{"event":"leap"}"#, &mut octets);
    let error = opened(&stage, &octets).unwrap_err().to_string();
    assert!(
        error.contains("frame 4,") && error.ends_with(": it is of an unknown kind"),
        "{error}"
    );
}

#[test]
fn jobs_are_passed_over_only_where_none_left_a_step() {
    let (stage, octets) = drafted();
    let journal = opened(&stage, &octets).unwrap();
    assert_eq!(journal.state().progress, 0);
    let mark = |jobs, left| {
        journal
            .append(&[JournalEvent::Progress {
                directories: jobs,
                steps: 0,
                left,
            }])
            .unwrap();
        let viewed = Journal::view(&stage.journal(), &mut |_| ()).unwrap();
        assert_eq!(viewed.state().progress, journal.state().progress);
        journal.state().progress
    };
    assert_eq!(mark(1, 0), 1);
    assert_eq!(mark(2, 1), 0);
}

#[test]
fn what_planning_left_is_in_the_journal() {
    let stage = Stage::new();
    stage.file(&[b"caf\xE9"]);
    let draft = Draft::create(&stage.journal(), &stage.root(), b"", "").unwrap();
    let both = Unplanned { left: 2, unread: 4 };
    assert_eq!(draft.commit(both).unwrap().state().unplanned, both);
    assert_eq!(
        Journal::open(&stage.journal()).unwrap().state().unplanned,
        both
    );
}

#[test]
fn a_mark_that_was_being_written_when_the_machine_failed_does_not_count() {
    let (stage, octets) = drafted();
    let before = stage.manifest();
    let mut journal = opened(&stage, &octets).unwrap();
    stage.apply(&mut journal);
    let after = stage.manifest();
    drop(journal);
    let finished = fs::read(stage.journal()).unwrap();
    for length in octets.len()..finished.len() {
        let mut journal = opened(&stage, &finished[..length]).unwrap();
        assert_eq!(journal.state().status, Status::Pending, "{length}");
        let (outcome, left) = stage.apply(&mut journal);
        assert_eq!(
            (outcome.done, outcome.before, left.len()),
            (0, journal.jobs.steps, 0)
        );
        drop(journal);
        assert_eq!(
            Journal::open(&stage.journal()).unwrap().state().status,
            Status::Finished
        );
        assert_same(&stage.manifest(), &after, "gone on with");
    }
    let mut journal = opened(&stage, &finished).unwrap();
    stage.undo(&mut journal, None);
    assert_same(&stage.manifest(), &before, "undone");
}

#[test]
fn nothing_is_overwritten_and_a_draft_leaves_nothing() {
    let (stage, octets) = drafted();
    let error = stage.draft().unwrap_err();
    assert!(matches!(error, JournalError::Exists(_)), "{error}");
    assert_eq!(fs::read(stage.journal()).unwrap(), octets);
    fs::remove_file(stage.journal()).unwrap();
    let draft = Draft::create(&stage.journal(), &stage.root(), b"", "").unwrap();
    let error = Draft::create(&stage.journal(), &stage.root(), b"", "").unwrap_err();
    assert!(matches!(error, JournalError::Busy), "{error}");
    assert!(stage.journal().symlink_metadata().is_err());
    // Somebody takes the name meanwhile.
    fs::write(stage.journal(), "mine").unwrap();
    let error = draft.commit(Unplanned::default()).unwrap_err();
    assert!(matches!(error, JournalError::Exists(_)), "{error}");
    assert_eq!(fs::read(stage.journal()).unwrap(), b"mine");
    assert_eq!(
        fs::read_dir(stage.place()).unwrap().count(),
        2,
        "the tree and the file"
    );
}

/// Where a filesystem cannot refuse to replace a name, a journal has two for a moment, and keeps both if the run is killed then.
#[test]
fn a_draft_does_not_empty_a_journal_that_has_its_name_too() {
    let (stage, octets) = drafted();
    let journal = stage.journal();
    let draft = journal.with_added_extension("draft");
    let kept = journal.with_extension("kept");
    fs::hard_link(&journal, draft).unwrap();
    fs::hard_link(&journal, &kept).unwrap();
    fs::remove_file(&journal).unwrap();
    drop(Draft::create(&journal, &stage.root(), b"", "").unwrap());
    assert_eq!(fs::read(&kept).unwrap(), octets);
}

#[test]
fn trees_that_lie_in_each_other_are_migrated_one_at_a_time() {
    let stage = Stage::new();
    stage.dir(&[b"a"]);
    stage.dir(&[b"a", b"b"]);
    stage.dir(&[b"c"]);
    let root = |path: &str| {
        crate::backing::Dir::open_root(&stage.tree().join(path))
            .unwrap()
            .into_fd()
    };
    let is_busy = |path: &str| match TreeLock::take(&root(path)) {
        Ok(_) => false,
        Err(JournalError::Busy) => true,
        Err(error) => panic!("{error}"),
    };
    let lock = TreeLock::take(&root("a")).unwrap();
    assert!(is_busy("a") && is_busy("a/b") && is_busy("."));
    let other = TreeLock::take(&root("c")).unwrap();
    assert!(is_busy("c") && is_busy("."));
    drop((lock, other));
}

#[test]
fn a_lock_goes_with_the_process_that_is_killed() {
    let stage = Stage::new();
    let root = stage.root();
    // A process that holds it, as a migration does, and waits.
    let mut holder = Command::new("flock")
        .args(["--exclusive", "--nonblock", "--no-fork"])
        .arg(stage.tree())
        .args(["sh", "-c", "echo held; exec cat"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 5];
    io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"held\n");
    assert!(matches!(TreeLock::take(&root), Err(JournalError::Busy)));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(TreeLock::take(&root).is_ok());
}
