//! Locks of what the threads of a guard share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also where a thread panicked with it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
