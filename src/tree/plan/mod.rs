//! What a migration is going to do: a plan, which people can read and edit before it is done (law T1).
//!
//! [`directory`] decides what becomes of each name of one directory, from its listing alone: it reads and writes nothing.
//! [`survey`] walks a tree and has each directory planned; `links` finds what becomes of the targets of symbolic links.
//! [`mod@write`] and [`mod@read`] put a plan into a file and take it back, and [`settle`] compares such a plan with what lies on disk.

mod choose;
mod collide;
pub mod directory;
mod fate;
pub mod filter;
pub mod header;
pub mod line;
mod links;
pub mod listing;
pub mod order;
pub mod read;
pub mod same;
pub mod settle;
pub mod survey;
pub mod wishes;
pub mod write;

pub use choose::TreeGuess;
pub use filter::Filter;
pub use header::Header;
pub use line::{Candidate, Line, Reason, Warning};
pub use listing::Listing;
pub use survey::{Planned, Taker};
pub use wishes::{From, OnCollision, Wishes};
