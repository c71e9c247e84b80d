//! The only place that names fuser: each request is converted, handed to [`Utf8Fs`](crate::fs::Utf8Fs), and answered.
//! Nothing is decided here.

mod adapter;
#[macro_use]
mod answer;
mod convert;
pub mod mount;
pub mod mountinfo;
mod operations;
pub mod session;

pub use adapter::Adapter;
