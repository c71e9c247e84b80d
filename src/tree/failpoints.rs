//! Failpoints: every change to the tree or the journal is made through here, one call each, so that a test can stop at any of
//! them.

use std::io;
use std::os::fd::AsFd;

use crate::backing::Dir;
use crate::names::BackingName;

/// Stands before each call. Tests count them, and die at one.
#[cfg(not(test))]
fn step() {}

#[cfg(test)]
use super::kills::step;

/// Are changes of others listened for?
#[cfg(not(test))]
pub(super) fn is_listening() -> bool {
    true
}

#[cfg(test)]
pub(super) use super::kills::is_listening;

/// Makes a change by one call.
pub(super) fn change<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    step();
    call()
}

/// Renames to a name that is free.
pub(super) fn rename<F: AsFd, G: AsFd>(
    from: &Dir<F>,
    name: &BackingName,
    to: &Dir<G>,
    new: &BackingName,
) -> io::Result<()> {
    change(|| {
        #[cfg(test)]
        super::kills::refuse_new(to, new)?;
        from.rename(name, to, new, libc::RENAME_NOREPLACE)
    })
}
