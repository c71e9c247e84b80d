//! The journal of a migration: all that it is going to do, on the medium before the first name is changed (law T4).
//!
//! The format is described in docs/internals/formats.md. A [`Draft`] gathers changes in any order, and becomes a [`Journal`] once
//! all are there. Until then nothing was done to the tree, and a kill leaves nothing that counts.
//!
//! The journal of a guard has no end: changes are added as names are made ([`Journal::open_growing`]).

mod chains;
mod frames;
mod job_index;
mod journal_builder;
mod journal_error;
mod journal_file;
mod journal_paths;
mod skipped;
#[cfg(test)]
mod tests;
mod verify;

pub use crate::records::Unplanned;
pub(crate) use job_index::Place;
pub use journal_builder::Draft;
pub use journal_error::JournalError;
pub(crate) use journal_error::OPENING;
pub use journal_file::{Journal, State, Status};
pub use journal_paths::JournalPaths;
pub(crate) use skipped::is_unable;
pub use skipped::{SkipReason, Skipped};
