//! The integration tests: one binary, so that it is linked once.
//!
//! Mounts are real. Where a test needs what a machine may lack (`/dev/fuse`, root), [`support::needs`] decides:
//! in CI and as root its absence is a failure, never a silent skip.

#![allow(
    clippy::string_slice,
    clippy::wildcard_enum_match_arm,
    reason = "a panic is how a test fails"
)]

/// Temporary trees, mounts and their end, operations by raw bytes, the audit log, other users.
#[cfg(test)]
mod support;

/// The program from outside: its arguments, its words, its exit codes (laws L1, L2, L4).
#[cfg(test)]
mod cli;

/// The documents, with what they show run.
#[cfg(test)]
mod docs;

/// What systemd does at boot with the lines and services of the documents.
#[cfg(test)]
mod boot;

/// The Debian package.
#[cfg(test)]
mod package;

/// Every form of UTF-8 against its documents, their sample code and the standard library, and legacy charsets against
/// the C library's iconv (laws C1 to C4).
#[cfg(test)]
mod codec;

/// The laws of names as properties of the layer itself (laws N1 to N10, C5).
#[cfg(test)]
mod names;

/// A reference directory, written from the laws alone: names alone, then real mounts under every setting with random
/// operations, compared after each (laws N1 to N11, C5, L1).
#[cfg(test)]
mod model;

/// A directory that is watched without a mount: what is heard, found, reported, renamed and taken back (laws L2, L3, T2 to T5).
#[cfg(test)]
mod guard;

/// Plans: as a function of listings, as files that somebody altered, and of real trees (laws T1 to T7).
#[cfg(test)]
mod migrate;

/// What programs do on a mount, operation by operation and program by program (laws N, F, L, C5).
#[cfg(test)]
mod mount;

/// Samba, SFTP, rsync and containers over a mount, as docs/serving.md says (laws N, F1, F7, L2).
#[cfg(test)]
mod served;

/// Whole trees, scanned without a mount (laws T).
#[cfg(test)]
mod tree;

/// Names that were found in the wild.
#[cfg(test)]
mod real;
