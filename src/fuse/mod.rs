//! The only place that names fuser: each request is converted, handed to [`Utf8Fs`](crate::fs::Utf8Fs), and answered.
//! Nothing is decided here.

mod adapter;
#[macro_use]
mod answer;
mod connection;
mod convert;
mod data;
mod forget;
mod listing;
mod operation;
mod operations;
#[cfg(test)]
#[path = "tests/samples.rs"]
pub(crate) mod samples;
mod start;
pub mod status;
mod tally;
mod turns;

pub use adapter::Adapter;
pub use connection::Connection;
pub use data::Passthrough;
pub use forget::Forgetting;
pub use operation::Operation;

/// Is this a message of fuser's about an answer that nobody waits for any more? That is so whenever a program is
/// interrupted, or the mount goes while it closes its files, and is no error.
#[must_use]
pub fn is_late_reply(target: &str, message: &str) -> bool {
    target.starts_with("fuser")
        && message.starts_with("Failed to send")
        && message.ends_with("(os error 2)")
}

#[cfg(test)]
mod tests {
    use super::is_late_reply;

    #[test]
    fn an_answer_that_comes_too_late_is_no_error() {
        let late = "Failed to send FUSE reply: No such file or directory (os error 2)";
        let wrong = "Failed to send FUSE reply: Invalid argument (os error 22)";
        assert!(is_late_reply("fuser::reply", late));
        assert!(!is_late_reply("utf8fs::fs", late));
        assert!(!is_late_reply("fuser::reply", wrong));
    }
}
