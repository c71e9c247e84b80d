//! Marks: points that a migration got to, behind its steps, and the state that they tell.

use strum::IntoStaticStr;

use super::job::Unplanned;
pub(crate) use crate::records::JournalMark as Mark;

/// The kind of the frame of [`Mark::Complete`].
pub(super) const COMPLETE: u8 = 3;

/// Length of the payload of a mark's frame.
pub(super) const LENGTH: u32 = 40;

/// Returns the frame of a mark: its kind and its payload, five numbers.
pub(super) fn write(mark: Mark) -> (u8, Vec<u8>) {
    let (kind, numbers) = match mark {
        Mark::Complete {
            directories,
            steps,
            planning_left,
            planning_unread,
        } => (
            COMPLETE,
            [directories, steps, planning_left, planning_unread, 0],
        ),
        Mark::Progress {
            directories,
            steps,
            left,
        } => (4, [directories, steps, left, 0, 0]),
        Mark::Finished {
            done,
            before,
            left,
            planning_left,
            planning_unread,
        } => (5, [done, before, left, planning_left, planning_unread]),
        Mark::Undoing => (6, [0; 5]),
        Mark::Undone { done, before, left } => (7, [done, before, left, 0, 0]),
        Mark::Linking => (8, [0; 5]),
        Mark::Growing => (9, [0; 5]),
    };
    (kind, numbers.map(u64::to_le_bytes).concat())
}

/// Reads a mark; `None` if the frame is none.
pub(super) fn read(kind: u8, payload: &[u8]) -> Option<Mark> {
    let (numbers, _rest) = payload.as_chunks();
    let numbers: [[u8; 8]; 5] = numbers.try_into().ok()?;
    let [first, second, third, fourth, fifth] = numbers.map(u64::from_le_bytes);
    Some(match kind {
        COMPLETE => Mark::Complete {
            directories: first,
            steps: second,
            planning_left: third,
            planning_unread: fourth,
        },
        4 => Mark::Progress {
            directories: first,
            steps: second,
            left: third,
        },
        5 => Mark::Finished {
            done: first,
            before: second,
            left: third,
            planning_left: fourth,
            planning_unread: fifth,
        },
        6 => Mark::Undoing,
        7 => Mark::Undone {
            done: first,
            before: second,
            left: third,
        },
        8 => Mark::Linking,
        9 => Mark::Growing,
        _ => return None,
    })
}

/// The progress of a migration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Status {
    /// The migration may have been begun, and is to be applied to its end, or undone.
    #[default]
    Pending,
    /// All is done, but for what was left.
    Finished,
    /// Undoing all of it was begun.
    Undoing,
    /// All is undone, but for what was left.
    Undone,
}

/// The state of a migration, by the marks in its journal.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    /// The progress.
    pub status: Status,
    /// What planning left.
    pub unplanned: Unplanned,
    /// Number of steps that were left when it was finished.
    pub left: u64,
    /// Number of jobs that are known to be done; 0 where any of them may have left a step.
    pub(crate) progress: u64,
    /// Are all jobs of the migration there?
    pub(super) is_complete: bool,
    /// May names have been changed by linking and unlinking?
    pub(crate) is_linking: bool,
    /// Is it the journal of a guard, to which jobs are added?
    pub(crate) is_growing: bool,
}

impl State {
    /// Takes in the next mark.
    pub(super) fn take(&mut self, mark: Mark) {
        match mark {
            Mark::Complete {
                planning_left: left,
                planning_unread: unread,
                ..
            } => (self.is_complete, self.unplanned) = (true, Unplanned { left, unread }),
            Mark::Progress {
                directories,
                left: 0,
                ..
            } => self.progress = self.progress.max(directories),
            // What was left is tried and reported again.
            Mark::Progress { .. } => self.progress = 0,
            Mark::Finished { left, .. } => (self.status, self.left) = (Status::Finished, left),
            Mark::Undoing => self.status = Status::Undoing,
            Mark::Undone { .. } => self.status = Status::Undone,
            Mark::Linking => self.is_linking = true,
            Mark::Growing => self.is_growing = true,
        }
    }
}
