//! The progress of a migration, as the events of its journal tell it.

use strum::IntoStaticStr;

use crate::records::{JournalEvent, Outcome, Unplanned};

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

/// The state of a migration.
#[derive(Debug, Clone, Copy, Default)]
pub struct MigrationState {
    /// The progress.
    pub status: Status,
    /// What planning left.
    pub unplanned: Unplanned,
    /// Number of steps that were left when it was finished.
    pub left: u64,
    /// Number of jobs that are known to be done; 0 where any of them may have left a step.
    pub(crate) progress: u64,
    /// Were all jobs of the migration written?
    pub(crate) is_complete: bool,
    /// May names have been changed by linking and unlinking?
    pub(crate) is_linking: bool,
}

impl MigrationState {
    /// Takes in the next event.
    pub(super) fn take(&mut self, event: &JournalEvent<'_>) {
        match *event {
            JournalEvent::Journal(_) | JournalEvent::Job(_) | JournalEvent::Status { .. } => {}
            JournalEvent::Complete { unplanned, .. } => {
                (self.is_complete, self.unplanned) = (true, unplanned);
            }
            JournalEvent::Progress {
                directories,
                left: 0,
                ..
            } => self.progress = self.progress.max(directories),
            // What was left is tried and reported again.
            JournalEvent::Progress { .. } => self.progress = 0,
            JournalEvent::Finished(Outcome { left, .. }) => {
                (self.status, self.left) = (Status::Finished, left);
            }
            JournalEvent::Undoing => self.status = Status::Undoing,
            JournalEvent::Undone(_) => self.status = Status::Undone,
            JournalEvent::Linking => self.is_linking = true,
        }
    }
}
