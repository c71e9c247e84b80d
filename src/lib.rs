//! utf8fs shows a directory through FUSE so that every name is well-formed UTF-8.
//!
//! The layers, each using only those before it:
//! `codec`, `policy`, `names`, `records`, `backing`, `os`, `fs`, `coherence`, `fuse`, `daemon`, `tree`, `guard`, `cli`.

pub mod backing;
pub mod cli;
pub mod codec;
pub mod coherence;
pub mod daemon;
pub mod fs;
pub mod fuse;
pub mod guard;
pub mod names;
pub mod os;
pub mod policy;
pub mod records;
pub mod tree;

#[cfg(test)]
#[path = "../tests/it/support/wait.rs"]
#[allow(dead_code, reason = "the integration tests use all of it")]
mod wait;

#[cfg(test)]
#[path = "../tests/it/support/at.rs"]
#[allow(dead_code, reason = "the integration tests use all of it")]
mod at;

#[cfg(test)]
#[path = "../tests/it/support/offending.rs"]
mod offending;
