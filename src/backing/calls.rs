//! Counts the system calls that this thread makes on the backing filesystem.
//!
//! Counted are the calls that ask or change the backing filesystem, wherever in this layer they are made. Not counted are close(2), which
//! asks nothing there, and those that change the thread itself (its ids, its umask, its capabilities).

use std::cell::Cell;

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// Counts one.
pub(super) fn count() {
    MADE.set(MADE.get().wrapping_add(1));
}

/// Counts the call that had this result.
pub(super) fn counted<T>(result: rustix::io::Result<T>) -> std::io::Result<T> {
    count();
    Ok(result?)
}

/// Returns the number that this thread has made so far. Take the difference of two answers.
pub fn made() -> u64 {
    MADE.get()
}
