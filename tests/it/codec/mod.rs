//! The laws of the codec against programs that others wrote.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is a failed test"
)]

mod iconv;
