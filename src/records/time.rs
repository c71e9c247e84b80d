//! Times in documents.

use std::fmt;

use jiff::Timestamp;

/// A time: RFC 3339, in UTC, with microseconds, as `2026-11-21T11:49:58.965881Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl Time {
    /// Returns the present.
    #[must_use]
    pub fn now() -> Self {
        Self(Timestamp::now())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}
