//! What is agreed on with the kernel at the start.

use fuser::{InitFlags, KernelConfig};

use crate::fs::Utf8Fs;

/// Asks the kernel for what concerns names, rights and locks.
pub(super) fn configure(fs: &Utf8Fs, config: &mut KernelConfig) {
    let wanted = [
        InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO,
        InitFlags::FUSE_PARALLEL_DIROPS,
        InitFlags::FUSE_DONT_MASK,
        InitFlags::FUSE_AUTO_INVAL_DATA,
        InitFlags::FUSE_ASYNC_DIO,
        InitFlags::FUSE_NO_EXPORT_SUPPORT,
    ];
    let locks = InitFlags::FUSE_POSIX_LOCKS | InitFlags::FUSE_FLOCK_LOCKS;
    let locks = fs.carries_locks().then_some(locks);
    // It makes the kernel check all rights, by modes too (`process_init_reply` in `fs/fuse/inode.c`).
    let acls = fs.is_shared().then_some(InitFlags::FUSE_POSIX_ACL);
    for flags in wanted.into_iter().chain(locks).chain(acls) {
        if let Err(missing) = config.add_capabilities(flags) {
            log::warn!("this kernel lacks {missing:?}");
        }
    }
}
