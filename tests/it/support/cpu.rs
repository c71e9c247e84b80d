//! On which CPU a test runs.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The first CPU that this thread may run on.
pub(crate) fn first() -> usize {
    let allowed = sched_getaffinity(None).unwrap();
    let mut cpus = 0..CpuSet::MAX_CPU;
    cpus.find(|cpu| allowed.is_set(*cpu)).unwrap()
}

/// Has a process run on `cpu` alone; `None` is this thread.
pub(crate) fn bind(process: Option<Pid>, cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(process, &set).unwrap();
}

/// Has this thread, and those that it starts, run on one CPU: requests of several have no order among each other where they come by rings.
pub(crate) fn stay() {
    bind(None, first());
}
