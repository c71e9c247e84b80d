//! The journal of a migration: all that it is going to do, on the medium before the first name is changed (law T4).
//!
//! The format is described in docs/internals/formats.md. A [`Draft`] gathers changes in any order, and becomes a [`Journal`] once
//! all are there. Until then nothing was done to the tree, and a kill leaves nothing that counts. The [`JournalRegister`] knows all
//! journals, and of which trees they are.
//!
//! The journal of a guard has no end: changes are added as names are made ([`open_guard_journal`]).

mod chains;
mod changed_paths;
mod frame;
mod frame_reader;
mod guard_journal;
mod job_index;
mod journal_builder;
mod journal_content;
mod journal_error;
mod journal_file;
mod journal_register;
mod journal_state;
#[cfg(test)]
mod power_cut_tests;
mod skipped;
#[cfg(test)]
mod tests;
mod verify;

pub use changed_paths::ChangedPath;
pub(crate) use changed_paths::aside_entry_name;
pub use guard_journal::open_guard_journal;
pub(crate) use job_index::JobPlace;
pub use journal_builder::{Draft, JournalRequest, sha256_of};
pub use journal_content::{Damage, JournalPart};
pub use journal_error::JournalError;
pub(crate) use journal_error::OPENING;
pub use journal_file::Journal;
pub use journal_register::{JournalFile, JournalRegister, KnownJournal};
pub use journal_state::{MigrationState, Status};
pub(crate) use skipped::is_unable;
pub use skipped::{SkipReason, Skipped};
