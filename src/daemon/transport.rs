//! The transport of requests from the kernel: rings where possible, else the device.

use std::io;
use std::os::fd::OwnedFd;

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::fs::LocksAt;
use crate::fuse::{NoRings, Plan, Rings};
use crate::os::cpus::cpus_allowed;

/// Says "Y" where rings may be used (`fs/fuse/dev_uring.c`); not there before Linux 6.14.
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";

/// The fraction of all descriptors that rings may take: one in this many.
const SHARE: usize = 8;

/// May requests come by rings?
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Uring {
    /// Where possible
    #[default]
    Auto,
    /// Never: all requests come by /dev/fuse
    Off,
}

/// Returns the plan of the rings of a mount. `threads` is the number of operations that may wait at a time on each
/// CPU. Rings take a share of the process's `descriptors`, so that fewer may where there are many CPUs.
///
/// # Errors
/// Why there are to be none.
pub fn plan_rings(
    uring: Uring,
    locks: LocksAt,
    threads: usize,
    descriptors: usize,
) -> Result<Plan, NoRings> {
    if uring == Uring::Off {
        return Err(NoRings::Off);
    }
    if locks == LocksAt::Backing {
        return Err(NoRings::Locks);
    }
    if cpus_allowed() == 1 {
        return Err(NoRings::OneCpu);
    }
    match std::fs::read(PARAMETER) {
        Ok(parameter) if parameter.starts_with(b"Y") => {}
        Ok(_) => return Err(NoRings::Parameter),
        Err(_) => return Err(NoRings::Unsupported),
    }
    let share = descriptors / SHARE;
    let plan = Plan::of_machine(threads, share).map_err(|error| refused(&error))?;
    // One for each CPU may be more than that.
    match plan.threads() <= 2 * share {
        true => Ok(plan),
        false => Err(NoRings::Descriptors),
    }
}

/// Makes the rings that were planned. For a process that is not confined yet.
///
/// # Errors
/// Why there are none.
pub fn make_rings(plan: Result<Plan, NoRings>, connection: &OwnedFd) -> Result<Rings, NoRings> {
    Rings::new(connection, plan?).map_err(|error| refused(&error))
}

fn refused(error: &io::Error) -> NoRings {
    log::warn!("requests come by /dev/fuse, since rings cannot be made: {error}");
    NoRings::Refused
}
