//! Times in documents.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// A time: RFC 3339, in UTC, with microseconds, as `2026-11-21T11:49:58.965881Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl Time {
    /// Returns the present.
    pub fn now() -> Self {
        Self(Timestamp::now())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

/// Returns seconds with three places at most.
pub fn whole_milliseconds(time: Duration) -> f64 {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(milliseconds).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_three_places() {
        let rows = [(0, "0.0"), (1_999_999, "0.001"), (1_500_000_000, "1.5")];
        for (nanoseconds, shown) in rows {
            let time = Duration::from_nanos(nanoseconds);
            assert_eq!(
                serde_json::to_string(&whole_milliseconds(time)).unwrap(),
                shown
            );
        }
    }
}
