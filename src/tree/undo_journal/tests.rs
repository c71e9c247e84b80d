//! Journals that were cut or altered, and what is on the medium when (law T4).
use std::fs;
use std::io;
use std::process::Command;

use super::frame::FrameBatch;
use super::*;
use crate::records::{Job, JournalEvent, Outcome, Unplanned};
use crate::tree::kills::manifest::assert_same;
use crate::tree::kills::stage::{Seen, Stage};
use crate::tree::tree_lock::TreeLock;

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

fn new_draft(stage: &Stage) -> Result<Draft, JournalError> {
    let request = JournalRequest::of_options(b"", "");
    Draft::create(&stage.journal(), &stage.root(), &request)
}

fn opened(stage: &Stage, octets: &[u8]) -> Result<Journal, JournalError> {
    fs::write(stage.journal(), octets).unwrap();
    Journal::open(&stage.journal(), JournalPart::BeforeDamage)
}

/// The lines of a journal, with their newlines, and the first line apart.
fn frames(octets: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let mut lines = octets.split_inclusive(|octet| *octet == b'\n');
    (lines.next().unwrap(), lines.collect())
}

/// Names that a cut takes back are those of whole frames; nothing is refused but a file without a header.
#[test]
fn t11_of_a_journal_that_is_cut_anywhere_the_whole_frames_count() {
    let (stage, octets) = drafted();
    let (preamble, lines) = frames(&octets);
    let mut ends = vec![preamble.len()];
    for line in &lines {
        ends.push(ends.last().unwrap() + line.len());
    }
    for length in 0..octets.len() {
        // The newline of a frame is no part of it.
        let is_whole = |(index, end): &(usize, &usize)| **end <= length + usize::from(*index > 0);
        let whole = ends.iter().enumerate().filter(is_whole).count();
        if whole == ends.len() {
            assert_eq!(opened(&stage, &octets[..length]).unwrap().damage, None);
            continue;
        }
        match opened(&stage, &octets[..length]) {
            Err(JournalError::NotAJournal) => assert_eq!(whole, 0, "{length}"),
            Err(JournalError::Headless) => assert_eq!(whole, 1, "{length}"),
            Err(error) => panic!("{length}: {error}"),
            Ok(journal) => {
                let damage = journal.damage.unwrap();
                let frames = u64::try_from(whole - 1).unwrap();
                assert_eq!((damage.frame, damage.later_frames), (frames, 0), "{length}");
                assert_eq!(journal.jobs.places.len(), whole - 2, "{length}");
            }
        }
    }
    assert_eq!(opened(&stage, &octets).unwrap().damage, None);
}

/// A cut journal can be undone as far as it goes, and not gone on with.
#[test]
fn t11_a_cut_journal_takes_back_what_it_has_and_is_not_gone_on_with() {
    let (stage, octets) = drafted();
    let before = stage.manifest();
    let mut journal = opened(&stage, &octets).unwrap();
    stage.apply(&mut journal);
    drop(journal);
    let (_, lines) = frames(&octets);
    // Without the last job, that of the root, and the mark that it is the last one.
    let missing = lines[lines.len() - 2].len() + lines[lines.len() - 1].len();
    let mut journal = opened(&stage, &octets[..octets.len() - missing]).unwrap();
    let error = crate::tree::apply::apply(&stage.root(), &mut journal, 1, &Seen::default());
    assert!(
        matches!(error, Err(JournalError::Incomplete { .. })),
        "{error:?}"
    );
    let (_, left) = stage.undo(&mut journal, None);
    // The directory still has its new name, which only the job that is missing tells.
    assert_eq!(left.len(), 3, "{left:?}");
    drop(journal);
    let mut journal = opened(&stage, &octets).unwrap();
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left.len(), 0, "{left:?}");
    assert_same(&stage.manifest(), &before, "undone");
}

/// Whatever bit is wrong, no other change is made of it, and at most one frame is missing.
#[test]
fn t11_of_a_journal_with_any_bit_altered_the_other_frames_count() {
    let (stage, mut octets) = drafted();
    let whole = opened(&stage, &octets).unwrap();
    let jobs = |journal: &Journal| -> Vec<Job> {
        let places = journal.jobs.places.iter();
        places.map(|place| journal.job(place).unwrap()).collect()
    };
    let all = jobs(&whole);
    drop(whole);
    let (preamble, lines) = frames(&octets);
    let header_end = preamble.len() + lines[0].len();
    let preamble = preamble.len();
    for index in 0..octets.len() {
        for bit in 0..8 {
            octets[index] ^= 1 << bit;
            fs::write(stage.journal(), &octets).unwrap();
            match Journal::open(&stage.journal(), JournalPart::AllSound) {
                Err(JournalError::NotAJournal | JournalError::Version(_)) => {
                    assert!(index < preamble, "{index}");
                }
                Err(JournalError::Headless) => assert!(index < header_end, "{index}"),
                Err(error) => panic!("{index}: {error}"),
                Ok(journal) => {
                    let found = jobs(&journal);
                    assert!(found.iter().all(|job| all.contains(job)), "{index}");
                    let has_all_jobs = found.len() == all.len();
                    assert!(has_all_jobs || found.len() + 1 == all.len(), "{index}");
                    let is_newline = octets[index] ^ 1 << bit == b'\n';
                    assert_eq!(journal.damage.is_none(), is_newline, "{index}");
                }
            }
            octets[index] ^= 1 << bit;
        }
    }
}

/// The reproduction: `truncate -s +64 journal`.
#[test]
fn t11_a_tail_of_nuls_of_any_length_is_set_aside() {
    let (stage, octets) = drafted();
    let before = stage.manifest();
    let mut journal = opened(&stage, &octets).unwrap();
    stage.apply(&mut journal);
    drop(journal);
    let finished = fs::read(stage.journal()).unwrap();
    let end = u64::try_from(finished.len()).unwrap();
    for length in 1..=8192 {
        let journal = opened(&stage, &[&finished[..], &vec![0; length]].concat()).unwrap();
        assert_eq!(
            (journal.damage, journal.torn_at),
            (None, Some(end)),
            "{length}"
        );
        assert_eq!(journal.state().status, Status::Finished, "{length}");
    }
    let mut journal = opened(&stage, &[&finished[..], &[0; 64]].concat()).unwrap();
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left.len(), 0, "{left:?}");
    assert_same(&stage.manifest(), &before, "undone");
    drop(journal);
    let journal = Journal::open(&stage.journal(), JournalPart::BeforeDamage).unwrap();
    assert_eq!(journal.state().status, Status::Undone);
    assert_eq!((journal.damage, journal.torn_at), (None, None));
}

/// A last frame whose first page is missing, as ext4 and XFS may leave it.
#[test]
fn t11_a_lost_page_takes_nothing_that_was_on_the_medium_before() {
    let (stage, octets) = drafted();
    let mut journal = opened(&stage, &octets).unwrap();
    stage.apply(&mut journal);
    drop(journal);
    let mut finished = fs::read(stage.journal()).unwrap();
    let page = 4096;
    assert_eq!(&finished[..octets.len()], octets, "nothing is rewritten");
    let last = (finished.len() - 1) / page;
    assert!(
        last * page >= octets.len(),
        "what is added has pages of its own"
    );
    finished[last * page..].fill(0);
    let journal = opened(&stage, &finished).unwrap();
    assert_eq!(
        (journal.damage, journal.state().status),
        (None, Status::Pending)
    );
    assert_eq!(journal.jobs.places.len(), 2);
}

#[test]
fn t11_frames_that_are_left_out_repeated_or_exchanged_are_found_by_their_numbers() {
    let (stage, octets) = drafted();
    let (preamble, lines) = frames(&octets);
    assert_eq!(lines.len(), 4);
    let journal_of = |order: &[usize]| {
        let chosen: Vec<&[u8]> = order.iter().map(|&index| lines[index]).collect();
        opened(&stage, &[preamble, &chosen.concat()].concat())
    };
    /// The first frame that is missing, and the sound ones behind that.
    type Missing = Option<(u64, u64)>;
    // The order of the frames.
    let rows: [(&[usize], Missing); 7] = [
        (&[0, 1, 2, 3], None),
        (&[0, 1, 1, 2, 3], None),
        (&[0, 1, 2, 3, 1], None),
        (&[0, 1, 3], Some((2, 1))),
        (&[0, 2, 3], Some((1, 2))),
        (&[0, 3], Some((1, 1))),
        (&[0, 2, 1, 3], Some((2, 1))),
    ];
    for (order, expected) in rows {
        let journal = journal_of(order).unwrap();
        let damage = journal
            .damage
            .map(|damage| (damage.frame, damage.later_frames));
        assert_eq!(damage, expected, "{order:?}");
    }
    let headless = journal_of(&[1, 2, 3]);
    assert!(matches!(headless, Err(JournalError::Headless)));
}

/// Of a journal that is damaged in its middle, `--past-damage` takes what is behind that as well.
#[test]
fn t11_behind_damage_only_what_is_asked_for_counts() {
    let (stage, mut octets) = drafted();
    let before = stage.manifest();
    let mut journal = opened(&stage, &octets).unwrap();
    stage.apply(&mut journal);
    drop(journal);
    let (preamble, lines) = frames(&octets);
    // The job of the directory comes first, that of the root second.
    let in_first_job = preamble.len() + lines[0].len() + 100;
    octets[in_first_job] ^= 1;
    let mut journal = opened(&stage, &octets).unwrap();
    assert_eq!(journal.damage.unwrap().later_frames, 2);
    assert_eq!(stage.undo(&mut journal, None).0.done, 0);
    drop(journal);
    fs::write(stage.journal(), &octets).unwrap();
    let mut journal = Journal::open(&stage.journal(), JournalPart::AllSound).unwrap();
    let (outcome, left) = stage.undo(&mut journal, None);
    assert_eq!((outcome.done, left.len()), (2, 0), "{left:?}");
    let after = stage.manifest();
    let has_old_name = |name: &[u8]| after.keys().any(|path| path.as_slice() == name);
    assert!(has_old_name(b"\xFCber") && !has_old_name(b"\xFCber/c0\xE9"));
    assert!(
        before
            .keys()
            .any(|path| path.as_slice() == b"\xFCber/c0\xE9")
    );
}

/// What is added to a damaged journal is behind the damage, and is found there.
#[test]
fn t11_what_is_added_overwrites_nothing_and_has_numbers_of_its_own() {
    let (stage, octets) = drafted();
    let (preamble, lines) = frames(&octets);
    let without_job = [&[preamble, lines[0]], &lines[2..]].concat().concat();
    fs::write(stage.journal(), &without_job).unwrap();
    let open = || Journal::open(&stage.journal(), JournalPart::AllSound).unwrap();
    open().append(&[JournalEvent::Undoing]).unwrap();
    assert_eq!(
        &fs::read(stage.journal()).unwrap()[..without_job.len()],
        without_job
    );
    let journal = open();
    assert_eq!(journal.state().status, Status::Undoing);
    assert_eq!(journal.damage.unwrap().later_frames, 3);
}

/// Frames that an append had written in part are never taken for those of a later one.
#[test]
fn t11_a_torn_append_is_followed_by_frames_with_its_numbers() {
    let (stage, octets) = drafted();
    let mark = |left| {
        JournalEvent::Finished(Outcome {
            left,
            ..Outcome::default()
        })
    };
    let journal = opened(&stage, &octets).unwrap();
    let events: Vec<JournalEvent<'_>> = (1..200).map(mark).collect();
    journal.append(&events).unwrap();
    drop(journal);
    let mut torn = fs::read(stage.journal()).unwrap();
    let page = octets.len().next_multiple_of(4096);
    assert!(torn.len() > page + 2 * 4096);
    // The first page of the append is lost, the others are not.
    torn[octets.len()..page + 4096].fill(0);
    let journal = opened(&stage, &torn).unwrap();
    assert_eq!(
        (journal.damage, journal.state().status),
        (None, Status::Pending)
    );
    assert_eq!(journal.torn_at, u64::try_from(octets.len()).ok());
    journal.append(&[mark(7)]).unwrap();
    drop(journal);
    let journal = Journal::open(&stage.journal(), JournalPart::AllSound).unwrap();
    let state = journal.state();
    assert_eq!(
        (journal.damage, state.status, state.left),
        (None, Status::Finished, 7)
    );
}

#[test]
fn an_event_of_an_unknown_kind_is_none() {
    let (stage, octets) = drafted();
    let journal = opened(&stage, &octets).unwrap();
    let mut batch = FrameBatch::added_to(&journal.header.id, 0, 4);
    batch.push_json(br#"{"event":"leap"}"#);
    let added = batch.bytes.clone();
    drop(journal);
    let journal = opened(&stage, &[&octets, &added[..]].concat()).unwrap();
    assert!(journal.torn_at.is_some());
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
        let viewed =
            Journal::view(&stage.journal(), JournalPart::BeforeDamage, &mut |_| ()).unwrap();
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
    let draft = new_draft(&stage).unwrap();
    let both = Unplanned { left: 2, unread: 4 };
    assert_eq!(draft.commit(both).unwrap().state().unplanned, both);
    assert_eq!(
        Journal::open(&stage.journal(), JournalPart::BeforeDamage)
            .unwrap()
            .state()
            .unplanned,
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
    let page = octets.len().next_multiple_of(4096);
    // What comes before it is padding.
    for length in (octets.len()..octets.len() + 3).chain(page - 3..finished.len() - 1) {
        let mut journal = opened(&stage, &finished[..length]).unwrap();
        assert_eq!(journal.state().status, Status::Pending, "{length}");
        let (outcome, left) = stage.apply(&mut journal);
        assert_eq!(
            (outcome.done, outcome.before, left.len()),
            (0, journal.jobs.steps, 0)
        );
        drop(journal);
        assert_eq!(
            Journal::open(&stage.journal(), JournalPart::BeforeDamage)
                .unwrap()
                .state()
                .status,
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
    let draft = new_draft(&stage).unwrap();
    let error = new_draft(&stage).unwrap_err();
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
    drop(new_draft(&stage).unwrap());
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
