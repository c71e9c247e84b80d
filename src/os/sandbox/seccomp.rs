//! The system calls that a daemon and its helper make, each with what is let through of its arguments.
//!
//! A call that is not listed fails with `ENOSYS`, as on a kernel that does not have it: C libraries try new calls first
//! and know what to do then. docs/internals/security.md has the same lists, with reasons.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use strum::EnumMessage;

use crate::backing::sys::fuse_ioctl;
use crate::os::Privilege;

/// A system call that is let through.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    number: i64,
    only: Only,
}

impl Call {
    /// Returns the condition under which it is let through; empty if there is none.
    pub fn condition(&self) -> &'static str {
        self.only.get_documentation().unwrap_or_default()
    }
}

/// The condition under which a system call is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage)]
enum Only {
    Everything,
    /// root's mounts only
    Root,
    /// threads of this process
    Threads,
    /// a umask and directory of the thread's own
    Umask,
    /// no memory that can be run
    Data,
    /// FUSE connections, backing files
    Connections,
    /// names of threads
    ThreadName,
    /// reading a limit
    Reading,
    /// sockets of this machine
    Unix,
    /// enabling rings that are there
    Enabling,
    /// the calling thread
    OwnThread,
}

const CONNECTIONS: [u64; 3] = [
    fuse_ioctl::CLONE as u64,
    fuse_ioctl::BACKING_OPEN as u64,
    fuse_ioctl::BACKING_CLOSE as u64,
];

/// Value of `linux/io_uring.h`.
const IORING_REGISTER_ENABLE_RINGS: u64 = 12;

macro_rules! calls {
    ($($number:ident $(: $only:ident)?),* $(,)?) => {
        &[$(Call {
            name: stringify!($number).split_at(4).1,
            number: libc::$number as i64,
            only: calls!(@ $($only)?),
        }),*]
    };
    (@) => { Only::Everything };
    (@ $only:ident) => { Only::$only };
}

/// System calls of a daemon that serves.
pub const DAEMON: &[Call] = calls! {
    // Content.
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2,
    SYS_lseek, SYS_fallocate, SYS_ftruncate, SYS_truncate, SYS_copy_file_range, SYS_fsync, SYS_fdatasync, SYS_sync_file_range,
    SYS_syncfs,
    // Descriptors.
    SYS_openat, SYS_openat2, SYS_open_by_handle_at: Root, SYS_name_to_handle_at, SYS_close, SYS_close_range, SYS_dup, SYS_dup3,
    SYS_fcntl, SYS_flock, SYS_ioctl: Connections,
    // Names and attributes.
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_statfs, SYS_faccessat, SYS_faccessat2, SYS_getdents64, SYS_readlinkat,
    SYS_mkdirat, SYS_mknodat, SYS_symlinkat, SYS_linkat, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_fchmod, SYS_fchmodat,
    SYS_fchmodat2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_getxattr, SYS_fgetxattr, SYS_lgetxattr, SYS_setxattr,
    SYS_fsetxattr, SYS_lsetxattr, SYS_listxattr, SYS_flistxattr, SYS_llistxattr, SYS_removexattr, SYS_fremovexattr,
    SYS_lremovexattr,
    // Changes of others.
    SYS_fanotify_init: Root, SYS_fanotify_mark: Root,
    // Whom a thread acts for.
    SYS_setfsuid, SYS_setfsgid, SYS_umask, SYS_unshare: Umask, SYS_capget, SYS_capset, SYS_prctl: ThreadName, SYS_getpid,
    SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_prlimit64: Reading, SYS_setsid, SYS_chdir,
    // Logs and the helper process.
    SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_shutdown,
    // Requests by rings.
    SYS_io_uring_enter, SYS_io_uring_register: Enabling, SYS_sched_setaffinity: OwnThread,
    // Memory, threads, signals and time.
    SYS_mmap: Data, SYS_mprotect: Data, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_clone: Threads, SYS_set_robust_list,
    SYS_rseq, SYS_futex, SYS_sched_yield, SYS_sched_getaffinity, SYS_wait4, SYS_exit, SYS_exit_group, SYS_restart_syscall,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill, SYS_clock_gettime, SYS_clock_getres,
    SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getrandom, SYS_ppoll, SYS_eventfd2,
};

/// Calls of both under older names, which newer kinds of processors do not have.
#[cfg(target_arch = "x86_64")]
pub const OLDER: &[Call] = calls! {
    SYS_open, SYS_poll, SYS_dup2,
};
/// Calls of both under older names, of which this processor has none.
#[cfg(not(target_arch = "x86_64"))]
pub const OLDER: &[Call] = &[];

/// System calls of the helper process of root's daemon.
pub const HELPER: &[Call] = calls! {
    // Its errands.
    SYS_read, SYS_write, SYS_openat, SYS_openat2, SYS_close, SYS_fcntl, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_lseek,
    SYS_readlinkat, SYS_umount2, SYS_memfd_create, SYS_pwrite64,
    // Logs and the daemon.
    SYS_sendmsg, SYS_sendto, SYS_recvfrom, SYS_recvmsg, SYS_socket: Unix, SYS_connect,
    // Memory, threads and signals.
    SYS_mmap: Data, SYS_mprotect: Data, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_clone: Threads, SYS_set_robust_list,
    SYS_rseq, SYS_futex, SYS_sched_yield, SYS_sched_getaffinity, SYS_exit, SYS_exit_group, SYS_restart_syscall, SYS_prctl: ThreadName,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_rt_sigtimedwait, SYS_tgkill,
    SYS_gettid, SYS_getpid, SYS_getrandom,
};

/// The filter that lets `list` through.
///
/// # Errors
/// `ENOSYS`: filters for this kind of processor are not known.
pub(super) fn program(list: &[Call], privilege: Privilege) -> io::Result<BpfProgram> {
    let unknown = |_arch| io::Error::from_raw_os_error(libc::ENOSYS);
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(unknown)?;
    let mut rules = BTreeMap::new();
    for call in list.iter().chain(OLDER) {
        if call.only != Only::Root || privilege == Privilege::Root {
            rules.insert(call.number, conditions(call.only)?);
        }
    }
    let errno = libc::ENOSYS.unsigned_abs();
    SeccompFilter::new(
        rules,
        SeccompAction::Errno(errno),
        SeccompAction::Allow,
        arch,
    )
    .and_then(TryInto::try_into)
    .map_err(io::Error::other)
}

/// The rules of which one must hold, none for every call.
fn conditions(only: Only) -> io::Result<Vec<SeccompRule>> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, MaskedEq};
    let bits = |flags: i32| u64::from(flags.cast_unsigned());
    let thread = bits(libc::CLONE_THREAD);
    // The kernel takes arguments but pointers for 32 bits wide, whatever is in the upper half.
    let (argument, width, how, values) = match only {
        Only::Everything | Only::Root => return Ok(Vec::new()),
        Only::Threads => (0, Dword, MaskedEq(thread | bits(NAMESPACES)), vec![thread]),
        Only::Umask => (0, Dword, Eq, vec![bits(libc::CLONE_FS)]),
        Only::Data => (2, Dword, MaskedEq(bits(libc::PROT_EXEC)), vec![0]),
        Only::Connections => (1, Dword, Eq, CONNECTIONS.to_vec()),
        Only::ThreadName => (0, Dword, Eq, vec![bits(libc::PR_SET_NAME)]),
        // No new limit: a null pointer.
        Only::Reading => (2, Qword, Eq, vec![0]),
        Only::Unix => (0, Dword, Eq, vec![bits(libc::AF_UNIX)]),
        Only::Enabling => (1, Dword, Eq, vec![IORING_REGISTER_ENABLE_RINGS]),
        Only::OwnThread => (0, Dword, Eq, vec![0]),
    };
    let rule = |value| {
        let condition = SeccompCondition::new(argument, width.clone(), how.clone(), value)?;
        SeccompRule::new(vec![condition])
    };
    let rules: Result<_, _> = values.into_iter().map(rule).collect();
    rules.map_err(io::Error::other)
}

/// Every new namespace that clone(2) can make.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
