//! The threads that serve requests by rings, and why there are none.

use std::io;

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::fs::LocksAt;
use crate::os::cpus::{cpus, cpus_allowed};

/// Says "Y" where rings may be used (`fs/fuse/dev_uring.c`); not there before Linux 6.14.
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";

/// The fraction of all descriptors that rings may take: one in this many.
const SHARE: usize = 8;

/// Most threads of all CPUs together, but for [`FEWEST`] for each.
const MOST: usize = 512;
/// Fewest threads for each CPU that is online, unless fewer are asked for.
const FEWEST: usize = 4;

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

/// The place of a thread: the CPU whose queue it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) queue: usize,
    /// An offline CPU has one thread, which is bound to no CPU.
    pub(super) is_online: bool,
}

/// The threads that a machine needs: some for each CPU that it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan(pub(super) Vec<Place>);

impl Plan {
    /// Returns the plan of a mount: some threads for each CPU. Rings take a share of the process's `descriptors`, so that fewer threads
    /// may serve each CPU where there are many.
    ///
    /// # Errors
    /// Why there are to be none.
    pub fn of_mount(
        uring: Uring,
        locks: LocksAt,
        threads: usize,
        descriptors: usize,
    ) -> Result<Self, NoRings> {
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
        let plan = Self::of_machine(threads, share)?;
        // One for each CPU may be more than that.
        match plan.threads() <= 2 * share {
            true => Ok(plan),
            false => Err(NoRings::Descriptors),
        }
    }

    /// Returns the plan of this machine. `threads` is the number of operations that may wait at a time on each CPU,
    /// at least 1. There are fewer where very many CPUs, or the limit of `descriptors`, ask for it; each CPU has at
    /// least one thread.
    ///
    /// # Errors
    /// The CPUs cannot be learned.
    pub(crate) fn of_machine(threads: usize, descriptors: usize) -> Result<Self, NoRings> {
        let (possible, online) = (cpus("possible")?, cpus("online")?);
        Ok(Self::new(&possible, &online, threads, descriptors))
    }

    fn new(possible: &[usize], online: &[usize], threads: usize, descriptors: usize) -> Self {
        let cpus = online.len().max(1);
        let most = (MOST / cpus).max(FEWEST).min(descriptors / cpus);
        let each = threads.min(most).max(1);
        let places = possible.iter().flat_map(|&queue| {
            let is_online = online.contains(&queue);
            let count = if is_online { each } else { 1 };
            std::iter::repeat_n(Place { queue, is_online }, count)
        });
        Self(places.collect())
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of threads for each CPU that is online.
    pub fn threads_per_cpu(&self) -> usize {
        let first = self.0.iter().find(|place| place.is_online);
        let same = |place: &&Place| Some(*place) == first;
        self.0.iter().filter(same).count()
    }
}

/// Why requests do not come by rings, with a stable name for each, as in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum NoRings {
    /// Nobody wants them.
    Off,
    /// Programs wait for locks in requests, which would keep the threads of their CPU.
    Locks,
    /// This process runs on one CPU alone: a request wakes nobody on another, and costs less by the device.
    OneCpu,
    /// The kernel has them (Linux 6.14), but its parameter `fuse.enable_uring` is off.
    Parameter,
    /// The kernel does not have them.
    Unsupported,
    /// This process may open too few files.
    Descriptors,
    /// `io_uring(7)` is forbidden here, or the kernel refused these rings.
    Refused,
}

impl From<io::Error> for NoRings {
    fn from(error: io::Error) -> Self {
        log::warn!("requests come by /dev/fuse, since rings cannot be made: {error}");
        Self::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_gets_as_many_threads_as_may_wait_and_few_where_there_are_many() {
        let counts = |possible: usize, online: usize, threads: usize, descriptors: usize| {
            let possible: Vec<usize> = (0..possible).collect();
            let plan = Plan::new(&possible, &possible[..online], threads, descriptors);
            (plan.threads_per_cpu(), plan.threads())
        };
        // possible and online CPUs, threads asked for, descriptors: threads of each that is online, and of all
        let rows = [
            ((2, 2, 32, 2500), (32, 64)),
            ((2, 2, 32, 128), (32, 64)),
            ((2, 2, 32, 12), (6, 12)),
            ((2, 2, 32, 0), (1, 2)),
            ((1, 1, 1, 2500), (1, 1)),
            ((16, 16, 32, 2500), (32, 512)),
            ((64, 64, 32, 2500), (8, 512)),
            ((240, 2, 32, 2500), (32, 302)),
            ((1024, 1024, 32, 65_536), (4, 4096)),
            ((1024, 1024, 2, 65_536), (2, 2048)),
        ];
        for ((possible, online, threads, descriptors), expected) in rows {
            assert_eq!(counts(possible, online, threads, descriptors), expected);
        }
    }
}
