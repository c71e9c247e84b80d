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
use crate::backing::reason;

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

/// Starts the helper process, and gives up all that serving does not take; of the capabilities all but `kept`. Relative paths mean nothing any more.
/// Logs each piece, and warns of those that this system lacks.
///
/// An ordinary user's process has no capabilities to give up and cannot have a root of its own. Nor can one whose backing directory lies
/// `among_all` mounts, not in a view of its own: it could remove and rename what is a mount point elsewhere.
///
/// # Errors
/// There are threads, or the helper process cannot be had: nothing is given up then. A piece that is missing is none.
pub fn confine(
    errands: &Errands<'_>,
    privilege: Privilege,
    among_all: bool,
    kept: CapabilitySet,
) -> io::Result<()> {
    helper::start(errands, privilege)?;
    let mut lacks = Vec::new();
    let mut note = |piece: &str, done: io::Result<()>| match done {
        Ok(()) => log::debug!("sandbox: {piece}"),
        Err(error) => lacks.push(format!("{piece} ({})", reason(&error))),
    };
    if privilege == Privilege::Root {
        if among_all {
            log::warn!("the sandbox is weaker with --cross-mounts: there is no root of its own");
        } else {
            note("a root of its own", root::enter());
        }
        note("fewer capabilities", credentials::lock_capabilities(kept));
    }
    let unprivileged = rustix::thread::set_no_new_privs(true);
    note("no new privileges", unprivileged.map_err(io::Error::from));
    note("fewer system calls", filter(DAEMON, privilege));
    if !lacks.is_empty() {
        let lacks = lacks.join(", ");
        log::warn!("the sandbox is weaker than it should be; this system lacks: {lacks}");
    }
    Ok(())
}

/// Lets every thread of this process make only the system calls of `list`; others fail with `ENOSYS`.
///
/// # Errors
/// `ENOSYS` where this kernel, or this kind of processor, has no filter.
pub(super) fn filter(list: &[Call], privilege: Privilege) -> io::Result<()> {
    let program = seccomp::program(list, privilege)?;
    use seccompiler::Error::{Prctl, Seccomp};
    match seccompiler::apply_filter_all_threads(&program) {
        Err(Seccomp(error) | Prctl(error)) => Err(error),
        filtered => filtered.map_err(io::Error::other),
    }
}
