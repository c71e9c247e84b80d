//! The names of a tree: which offend, where they are, the charsets that they are likely written in.
//!
//! A [`Scan`] judges directories, each by itself, into a [`Tally`](crate::records::Tally). Tallies of parts merge to that of the whole in
//! any order and grouping, so that machines can share the work. Memory does not grow with the number of
//! files: a directory is judged when it was read to its end, and what is kept of all is bounded.

mod ascii_names;
mod evaluate;
mod merge;
mod name_rules;
mod path_list;
mod scan_done;
mod scan_result;
mod scanner;
mod shard;
#[cfg(test)]
mod tests;
mod tree_charsets;

pub use merge::merge;
pub use name_rules::Rules;
pub use scan_done::ScanDone;
pub use scanner::{Scan, Sink};
pub use shard::Shard;
pub use tree_charsets::TreeCharsets;
