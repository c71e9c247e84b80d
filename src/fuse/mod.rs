//! The FUSE protocol (`include/uapi/linux/fuse.h`). Each request is taken apart, handed to
//! [`Coherence`](crate::coherence::Coherence) or [`Utf8Fs`](crate::fs::Utf8Fs), and answered. Nothing is decided
//! here. fuser opens the session ([`Handshake`]). [`mounting`] makes and takes away the mount itself, and [`status_query`] asks one for its status.

mod adapter;
mod connection;
mod device;
mod fuse_call;
#[cfg(test)]
#[path = "tests/judge.rs"]
mod judge;
mod layout;
mod metrics;
pub mod mounting;
mod notify;
mod operation;
mod operations;
mod passthrough;
mod reply;
mod request;
mod ring;
mod ring_plan;
#[cfg(test)]
#[path = "tests/samples.rs"]
pub(crate) mod samples;
mod start;
pub mod status;
pub mod status_query;
mod worker_pool;

pub use adapter::{About, Service};
pub use connection::Connection;
pub use notify::Forgetting;
pub use operation::Operation;
pub use passthrough::Passthrough;
pub use ring::Rings;
pub use ring_plan::{NoRings, Plan, Uring};
pub use start::Handshake;
