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

use rustix::io::Errno;
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

/// The confinement of the process in force, and the one that was wanted.
#[derive(Debug)]
pub struct Confined {
    /// Each piece that holds, in a few words.
    pub holds: Vec<&'static str>,
    /// Each piece that this system lacks, and what it said.
    pub lacks: Vec<(&'static str, io::Error)>,
}

impl Confined {
    fn note(&mut self, piece: &'static str, done: io::Result<()>) {
        match done {
            Ok(()) => self.holds.push(piece),
            Err(error) => self.lacks.push((piece, error)),
        }
    }
}

/// Starts the helper process, and gives up all that serving does not take; of the capabilities all but `kept`. Relative paths mean nothing any more.
///
/// An ordinary user's process has no capabilities to give up and cannot have a root of its own.
///
/// # Errors
/// There are threads, or the helper process cannot be had: nothing is given up then. A piece that is missing is none.
pub fn confine(
    errands: &impl Errands,
    privilege: Privilege,
    setting: Setting,
    kept: CapabilitySet,
) -> io::Result<Confined> {
    helper::start(errands, privilege)?;
    let mut confined = Confined {
        holds: Vec::new(),
        lacks: Vec::new(),
    };
    if privilege == Privilege::Root {
        if setting == Setting::Alone {
            confined.note("a root of its own", root::enter());
        }
        confined.note("fewer capabilities", give_up_capabilities(kept));
    }
    let unprivileged = rustix::thread::set_no_new_privs(true);
    confined.note("no new privileges", unprivileged.map_err(io::Error::from));
    confined.note("fewer system calls", filter(DAEMON, privilege));
    Ok(confined)
}

fn give_up_capabilities(kept: CapabilitySet) -> io::Result<()> {
    // In this order: what locks them takes a capability that is given up.
    credentials::lock_capabilities(kept)?;
    if kept == credentials::KEPT {
        credentials::limit_capabilities()?;
    }
    Ok(())
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

/// Takes a missing filter for none.
pub(super) fn unless_missing(error: io::Error) -> io::Result<()> {
    let missing = [Errno::NOSYS, Errno::INVAL].map(Errno::raw_os_error);
    match error.raw_os_error() {
        Some(errno) if missing.contains(&errno) => Ok(()),
        _ => Err(error),
    }
}
