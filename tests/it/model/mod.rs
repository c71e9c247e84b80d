//! The reference model ([`laws`], [`directory`]) and what is compared with it: names alone ([`rows`], [`single`]) and of large
//! directories ([`many`]), and directories on real mounts ([`operations`], [`run`], [`entries`], [`settings`]).
//!
//! `UTF8FS_MODEL_CASES` is the number of cases for each setting, `UTF8FS_MODEL_SEED` a number that changes them all.

pub(crate) mod directory;
mod entries;
pub(crate) mod laws;
mod many;
pub(crate) mod operations;
mod regressions;
mod rows;
mod run;
pub(crate) mod settings;
mod single;
