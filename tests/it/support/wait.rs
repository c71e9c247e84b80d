//! Waiting for state of which nothing tells: a file that the kernel closes later, a count, a thread of another process.

use std::time::{Duration, Instant};

/// No test waits longer than this for anything; reaching it is a failure, never a result.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Between two looks. Not a bound on anything: what is waited for may take as long as it likes, up to [`PATIENCE`].
const PAUSE: Duration = Duration::from_millis(1);

/// Looks until `holds`.
#[track_caller]
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    until_some(|| holds().then_some(()));
}

/// Looks until `find` returns something, and returns that.
#[track_caller]
pub(crate) fn until_some<T>(find: impl FnMut() -> Option<T>) -> T {
    some_within(PATIENCE, find)
}

/// Looks until `holds`, which a law promises within a tenth of `time`.
#[track_caller]
pub(crate) fn within(time: Duration, mut holds: impl FnMut() -> bool) {
    some_within(time, || holds().then_some(()));
}

#[track_caller]
fn some_within<T>(time: Duration, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < time, "not in {time:?}");
        std::thread::sleep(PAUSE);
    }
}
