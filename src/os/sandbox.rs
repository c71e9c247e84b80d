//! Least privilege: what a daemon gives up once it has mounted, before the first request is served.
//!
//! docs/internals/security.md says why each piece is as it is, and lists what is kept; tests compare it with a running daemon.
//! All of it is of the process that calls, which must have one thread: those made later inherit it.

mod root;
mod seccomp;
#[cfg(test)]
mod tests;

use std::io;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use rustix::thread::CapabilitySet;
pub use seccomp::{Call, DAEMON, HELPER, OLDER};

use super::helper::{self, Errands};
use super::{Privilege, credentials};

/// The degree to which the daemon confines itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Sandbox {
    /// The daemon reaches the backing directory and its logs, with few capabilities and system calls (default)
    #[default]
    Full,
    /// No confinement, to look for the cause of a fault
    None,
}

/// The place of the backing directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// In a view of its own.
    Alone,
    /// Among all mounts. From a root of its own the process could remove and rename what is a mount point elsewhere.
    AmongAll,
}

/// A piece of the confinement in a few words, and why this system lacks it, if it does.
pub type Piece = (&'static str, io::Result<()>);

/// Starts the helper process, and gives up all that serving does not take; of the capabilities all but `kept`. Relative paths mean nothing any more.
///
/// An ordinary user's process has no capabilities to give up and cannot have a root of its own.
///
/// # Errors
/// There are threads, or the helper process cannot be had: nothing is given up then. A piece that is missing is none.
pub fn confine(
    errands: &Errands<'_>,
    privilege: Privilege,
    setting: Setting,
    kept: CapabilitySet,
) -> io::Result<Vec<Piece>> {
    helper::start(errands, privilege)?;
    let mut pieces = Vec::new();
    if privilege == Privilege::Root {
        if setting == Setting::Alone {
            pieces.push(("a root of its own", root::enter()));
        }
        pieces.push(("fewer capabilities", credentials::lock_capabilities(kept)));
    }
    let unprivileged = rustix::thread::set_no_new_privs(true);
    pieces.push(("no new privileges", unprivileged.map_err(io::Error::from)));
    pieces.push(("fewer system calls", filter(DAEMON, privilege)));
    Ok(pieces)
}

/// Lets every thread of this process make only the system calls of `list`; others fail with `ENOSYS`.
///
/// # Errors
/// `ENOSYS` where this kernel, or this kind of processor, has no filter.
pub(super) fn filter(list: &[Call], privilege: Privilege) -> io::Result<()> {
    let program = seccomp::program(list, privilege)?;
    use seccompiler::Error::{Backend, EmptyFilter, Prctl, Seccomp, ThreadSync};
    seccompiler::apply_filter_all_threads(&program).map_err(|error| match error {
        Seccomp(error) | Prctl(error) => error,
        Backend(_) | EmptyFilter | ThreadSync(_) => io::Error::other(error),
    })
}
