//! Whole trees, below and without a mount: walked, scanned, migrated.
//!
//! A [`plan`] says what becomes of the names of a tree. A [`change`] is what becomes of one entry. An [`undo_journal`] holds all
//! changes of a migration before the first name is changed. [`apply`] makes them, [`rollback`] takes them back. A
//! [`tree_lock`] keeps two migrations of one tree apart.

pub mod apply;
pub mod change;
pub mod charset_survey;
mod content_eq;
pub mod entry_list;
mod failpoints;
#[cfg(test)]
#[path = "../../tests/unit/kills/mod.rs"]
mod kills;
pub mod plan;
pub mod rollback;
pub mod scan;
pub mod tree_identity;
pub mod tree_lock;
pub mod tree_walk;
pub mod undo_journal;
