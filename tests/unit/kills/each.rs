//! Law T4: a migration of 500 mixed entries is killed before each write, sync and rename. Going on ends as if it had never been
//! killed, undoing as if it had never been begun.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::manifest::{Manifest, assert_same};
use super::stage::{Stage, mixed, mtime, path};
use super::{KILL_AT, MADE, OLD_FILESYSTEM};
use crate::tree::undo_journal::{Journal, JournalError, JournalPart, Status};

/// What the child is to do, in the stage of this path.
const CHILD: &str = "UTF8FS_TEST_CHILD";
const PLACE: &str = "UTF8FS_TEST_PLACE";

/// What dies: runs only when it is started by the tests below.
///
/// They leave all that needs the journal to it: a lock of theirs would live on in each process that another thread starts.
#[test]
fn child() {
    let Some(task) = std::env::var_os(CHILD) else {
        return;
    };
    let place = std::env::var_os(PLACE).unwrap();
    let stage = Stage::at(Path::new(&place));
    match task.as_bytes() {
        b"apply" => migrate(&stage),
        b"undo" => take_back(&stage),
        other => panic!("{other:?}"),
    }
    let steps = MADE.load(Ordering::Relaxed);
    std::fs::write(stage.place().join("steps"), steps.to_string()).unwrap();
}

/// As the command does it: goes on with a journal that is there, else drafts one and applies it.
fn migrate(stage: &Stage) {
    let mut journal = match Journal::open(&stage.journal(), JournalPart::BeforeDamage) {
        Ok(journal) => journal,
        Err(JournalError::Io { .. }) => stage.draft().unwrap().0,
        Err(error) => panic!("{error}"),
    };
    let (outcome, left) = stage.apply(&mut journal);
    assert_eq!(
        (outcome.is_stopped, outcome.left, left.len()),
        (false, 0, 0),
        "{left:?}"
    );
    assert_eq!(journal.state().status, Status::Finished);
}

/// Undoes what a killed process left; there may be nothing to undo.
fn take_back(stage: &Stage) {
    match Journal::open(&stage.journal(), JournalPart::BeforeDamage) {
        Ok(mut journal) => {
            let (outcome, left) = stage.undo(&mut journal, None);
            assert_eq!(
                (outcome.is_stopped, outcome.left, left.len()),
                (false, 0, 0),
                "{left:?}"
            );
            assert_eq!(journal.state().status, Status::Undone);
        }
        Err(JournalError::Io { error, .. }) if error.raw_os_error() == Some(libc::ENOENT) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Runs the child, to be killed before a step; false where it came to its end first.
fn dies(stage: &Stage, task: &str, at: u64, is_old: bool) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "tree::kills::each::child",
            "--test-threads=1",
            "--nocapture",
        ])
        .env(CHILD, task)
        .env(PLACE, stage.place())
        .env(KILL_AT, at.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if is_old {
        command.env(OLD_FILESYSTEM, "1");
    }
    let output = command.output().unwrap();
    if output.status.signal() == Some(libc::SIGKILL) {
        return true;
    }
    assert!(output.status.success(), "{task} {at}: {output:?}");
    false
}

/// How many steps the task has.
fn steps(stage: &Stage, task: &str, is_old: bool) -> u64 {
    assert!(!dies(stage, task, u64::MAX, is_old));
    let counted = std::fs::read_to_string(stage.place().join("steps")).unwrap();
    counted.parse().unwrap()
}

/// A tree, and what it is before and after.
struct Case {
    stage: Stage,
    before: Manifest,
    after: Manifest,
    steps: u64,
    undo_steps: u64,
    is_old: bool,
}

impl Case {
    fn new(stage: Stage, is_old: bool) -> Self {
        let before = stage.manifest();
        let steps = steps(&stage, "apply", is_old);
        let after = stage.manifest();
        assert_ne!(before, after);
        let undo_steps = self::steps(&stage, "undo", is_old);
        assert_same(&stage.manifest(), &before, "undone");
        std::fs::remove_file(stage.journal()).unwrap();
        Self {
            stage,
            before,
            after,
            steps,
            undo_steps,
            is_old,
        }
    }

    /// Undoes what there is, in a process that is not killed, and compares.
    fn undo(&self, when: &str) {
        assert!(!dies(&self.stage, "undo", u64::MAX, self.is_old), "{when}");
        drop(std::fs::remove_file(self.stage.journal()));
        assert_same(&self.stage.manifest(), &self.before, when);
    }

    fn migrate(&self) {
        assert!(!dies(&self.stage, "apply", u64::MAX, self.is_old));
    }

    fn kill_and_undo(&self, at: u64) {
        assert!(dies(&self.stage, "apply", at, self.is_old));
        self.undo(&format!("killed at {at} of {}, undone", self.steps));
    }

    fn kill_and_go_on(&self, at: u64) {
        let when = format!("killed at {at} of {}, gone on with", self.steps);
        assert!(dies(&self.stage, "apply", at, self.is_old));
        self.migrate();
        assert_same(&self.stage.manifest(), &self.after, &when);
        self.undo(&format!("{when}, undone"));
    }

    fn kill_the_undo(&self, at: u64) {
        self.migrate();
        assert!(dies(&self.stage, "undo", at, self.is_old));
        self.undo(&format!(
            "undo killed at {at} of {}, undone",
            self.undo_steps
        ));
    }
}

fn case() -> Case {
    let stage = Stage::new();
    mixed(&stage);
    let case = Case::new(stage, false);
    assert_eq!(case.before.len(), 501, "the root and what is in it");
    assert!(case.steps > 600, "{} steps", case.steps);
    case
}

#[test]
fn killed_at_any_step_it_is_undone_as_if_never_begun() {
    let case = case();
    (1..=case.steps).for_each(|at| case.kill_and_undo(at));
}

#[test]
fn killed_at_any_step_it_goes_on_as_if_never_killed() {
    let case = case();
    (1..=case.steps).for_each(|at| case.kill_and_go_on(at));
}

#[test]
fn an_undo_that_is_killed_is_completed_by_another() {
    let case = case();
    // One in seven, and each that is near an end.
    let near = |at: &u64| at % 7 == 3 || *at < 10 || *at + 25 > case.undo_steps;
    (1..=case.undo_steps)
        .filter(near)
        .for_each(|at| case.kill_the_undo(at));
}

/// Law T6: the root's last change may be that the directory of what was set aside was removed. What others change later is not set
/// back.
#[test]
fn t6_a_change_after_an_undo_was_killed_keeps_its_time() {
    let stage = Stage::new();
    for file in [&b"caf\xE9"[..], b"aside-1", b"foreign-1", b"foreign-2"] {
        stage.file(&[file]);
    }
    stage.age();
    let case = Case::new(stage, false);
    let root = case.stage.tree();
    let wanted = case.before[b"".as_slice()].mtime();
    case.migrate();
    // Behind the time of the root, before the mark that all is undone.
    assert!(dies(&case.stage, "undo", case.undo_steps - 2, false));
    assert_eq!(mtime(&root), wanted);
    // Of what is removed at once nothing tells that it was somebody else.
    let end = Instant::now() + Duration::from_millis(250);
    while Instant::now() < end {
        std::thread::yield_now();
    }
    std::fs::remove_file(root.join("foreign-1")).unwrap();
    let changed = mtime(&root);
    assert!(!dies(&case.stage, "undo", u64::MAX, false));
    assert_eq!(mtime(&root), changed);
    std::fs::remove_file(case.stage.journal()).unwrap();
    // Before that time is put back, the removal is what is recent.
    for at in case.undo_steps - 7..case.undo_steps {
        case.migrate();
        assert!(dies(&case.stage, "undo", at, false));
        assert!(!dies(&case.stage, "undo", u64::MAX, false));
        assert_eq!(mtime(&root), changed, "{at}");
        std::fs::remove_file(case.stage.journal()).unwrap();
    }
}

#[test]
fn a_filesystem_that_cannot_refuse_to_replace_is_migrated_by_linking() {
    let stage = Stage::new();
    stage.dir(&[b"plain"]);
    for place in [&[][..], &[&b"plain"[..]]] {
        for octets in [
            &b"caf\xE9"[..],
            b"\xFCber",
            b"aside-1",
            b"1-ring-1",
            b"1-ring-2",
            b"1-ring-3",
            b"2-chain-1",
            b"2-chain-2",
        ] {
            let mut names = place.to_vec();
            names.push(octets);
            stage.file(&names);
        }
    }
    std::fs::hard_link(
        path(&stage.tree(), &[b"\xFCber"]),
        path(&stage.tree(), &[b"\xFCbrig"]),
    )
    .unwrap();
    stage.age();
    let case = Case::new(stage, true);
    for at in 1..=case.steps {
        case.kill_and_undo(at);
        case.kill_and_go_on(at);
    }
}
