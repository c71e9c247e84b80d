//! The laws of names, of any directory under any settings.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is a failed test"
)]

pub(crate) mod crowds;
mod directory;
mod one_name;
mod shell;
mod siblings;
mod strategies;

use proptest::prelude::ProptestConfig;

/// 256 cases, or as many as `PROPTEST_CASES` says. Failures are copied into named tests, not kept in files.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
