//! The dentries and inodes that the kernel has in memory: one memory for the tests of all processes.

use std::os::fd::OwnedFd;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

fn lock(operation: FlockOperation) -> OwnedFd {
    // No file is needed for it.
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = open(std::env::temp_dir(), flags, Mode::empty()).unwrap();
    flock(&directory, operation).unwrap();
    directory
}

/// For a test that counts on what the kernel keeps: no test has it drop anything while this lives.
pub(crate) fn kept() -> OwnedFd {
    lock(FlockOperation::LockShared)
}

/// Has the kernel drop what nobody uses, in all filesystems.
pub(crate) fn drop_unused() {
    let alone = lock(FlockOperation::LockExclusive);
    std::fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
    drop(alone);
}
