//! Whole trees, below and without a mount: walked, scanned, migrated.
//!
//! A [`plan`] is what becomes of its names. A [`step`] is what is done to one entry, a group of steps what is done in one directory. A [`journal`] holds all groups of a
//! migration before the first name is changed; [`apply`] does what it says, [`undo`] takes it back, and a [`lock`] keeps two
//! migrations of one tree apart.

pub mod apply;
pub mod journal;
#[cfg(test)]
mod kills;
pub mod lock;
pub mod plan;
pub mod scan;
mod seam;
pub mod step;
pub mod undo;
pub mod walk;
