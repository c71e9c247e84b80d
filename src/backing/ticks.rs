//! Times of files, and the ticks of the clocks of their filesystems.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Time;

/// Upper bound of the tick of a filesystem's clock. Kernels before 6.13 stamp changes with the last clock tick, and
/// ticks are 10 ms apart at most.
const TICK: Duration = Duration::from_millis(20);

/// The same for filesystems that keep whole seconds, or two (vfat).
const LONG_TICK: Duration = Duration::from_secs(3);

/// Returns the upper bound of the tick of the clock that gave this time.
pub(crate) fn tick(time: Time) -> Duration {
    if time.nanos == 0 { LONG_TICK } else { TICK }
}

/// Returns the time from `then` to `now`; none where `then` is later, or before 1970.
pub(crate) fn age(then: Time, now: SystemTime) -> Duration {
    let since = |secs| {
        let fraction = Duration::from_nanos(then.nanos.into());
        let then = UNIX_EPOCH.checked_add(Duration::from_secs(secs) + fraction)?;
        now.duration_since(then).ok()
    };
    let age = u64::try_from(then.secs).ok().and_then(since);
    age.unwrap_or_default()
}

/// Does whatever a filesystem changes from now on get another time than this?
pub(crate) fn is_before_this_tick(time: Time) -> bool {
    age(time, SystemTime::now()) >= tick(time)
}
