//! The protocol by which the kernel asks (`include/uapi/linux/fuse.h`): each request is taken apart, handed to
//! [`Coherence`](crate::coherence::Coherence) or [`Utf8Fs`](crate::fs::Utf8Fs), and answered. Nothing is decided here.

mod adapter;
mod connection;
mod data;
mod device;
mod layout;
mod notify;
mod operation;
mod operations;
mod reply;
mod request;
mod ring;
#[cfg(test)]
#[path = "tests/samples.rs"]
pub(crate) mod samples;
mod start;
pub mod status;
mod tally;
mod turns;

pub use connection::{Connection, Service};
pub use data::Passthrough;
pub use notify::Forgetting;
pub use operation::Operation;
pub use ring::{NoRings, Plan, Rings};
