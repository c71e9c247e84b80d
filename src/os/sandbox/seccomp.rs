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
    /// What it is let through for; empty if that is everything.
    #[must_use]
    pub fn condition(&self) -> &'static str {
        match self.only {
            Only::Everything => "",
            Only::Root => "root's mounts only",
            Only::Threads => "threads of this process",
            Only::Umask => "a umask and directory of the thread's own",
            Only::Data => "no memory that can be run",
            Only::Connections => "FUSE connections, backing files, FIONBIO",
            Only::ThreadName => "names of threads",
            Only::Reading => "reading a limit",
            Only::Unix => "sockets of this machine",
            Only::Enabling => "enabling rings that are there",
            Only::OwnThread => "the calling thread",
        }
    }
}

/// What a system call is let through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    Everything,
    Root,
    Threads,
    Umask,
    Data,
    Connections,
    ThreadName,
    Reading,
    Unix,
    Enabling,
    OwnThread,
}

/// As in asm-generic/ioctls.h; C libraries disagree on its type.
const FIONBIO: u64 = 0x5421;

/// As in `linux/io_uring.h`.
const IORING_REGISTER_ENABLE_RINGS: u64 = 12;

macro_rules! calls {
    ($($name:ident = $number:ident $(: $only:ident)?),* $(,)?) => {
        &[$(Call {
            name: stringify!($name),
            number: libc::$number as i64,
            only: calls!(@ $($only)?),
        }),*]
    };
    (@) => { Only::Everything };
    (@ $only:ident) => { Only::$only };
}

/// What the daemon calls while it serves.
pub const DAEMON: &[Call] = calls! {
    // Content.
    read = SYS_read, write = SYS_write, readv = SYS_readv, writev = SYS_writev,
    pread64 = SYS_pread64, pwrite64 = SYS_pwrite64, preadv = SYS_preadv, pwritev = SYS_pwritev,
    preadv2 = SYS_preadv2, pwritev2 = SYS_pwritev2, lseek = SYS_lseek, fallocate = SYS_fallocate,
    ftruncate = SYS_ftruncate, truncate = SYS_truncate, copy_file_range = SYS_copy_file_range,
    fsync = SYS_fsync, fdatasync = SYS_fdatasync, sync_file_range = SYS_sync_file_range,
    syncfs = SYS_syncfs,
    // Descriptors.
    openat = SYS_openat, openat2 = SYS_openat2, open_by_handle_at = SYS_open_by_handle_at: Root,
    name_to_handle_at = SYS_name_to_handle_at, close = SYS_close, close_range = SYS_close_range,
    dup = SYS_dup, dup3 = SYS_dup3, fcntl = SYS_fcntl, flock = SYS_flock,
    ioctl = SYS_ioctl: Connections,
    // Names and attributes.
    fstat = SYS_fstat, newfstatat = SYS_newfstatat, statx = SYS_statx, fstatfs = SYS_fstatfs,
    statfs = SYS_statfs, faccessat = SYS_faccessat, faccessat2 = SYS_faccessat2,
    getdents64 = SYS_getdents64, readlinkat = SYS_readlinkat, mkdirat = SYS_mkdirat,
    mknodat = SYS_mknodat, symlinkat = SYS_symlinkat, linkat = SYS_linkat, unlinkat = SYS_unlinkat,
    renameat = SYS_renameat, renameat2 = SYS_renameat2, fchmod = SYS_fchmod,
    fchmodat = SYS_fchmodat, fchmodat2 = SYS_fchmodat2, fchown = SYS_fchown,
    fchownat = SYS_fchownat, utimensat = SYS_utimensat, getxattr = SYS_getxattr,
    fgetxattr = SYS_fgetxattr, lgetxattr = SYS_lgetxattr, setxattr = SYS_setxattr,
    fsetxattr = SYS_fsetxattr, lsetxattr = SYS_lsetxattr, listxattr = SYS_listxattr,
    flistxattr = SYS_flistxattr, llistxattr = SYS_llistxattr, removexattr = SYS_removexattr,
    fremovexattr = SYS_fremovexattr, lremovexattr = SYS_lremovexattr,
    // Changes of others.
    fanotify_init = SYS_fanotify_init: Root, fanotify_mark = SYS_fanotify_mark: Root,
    // Whom a thread acts for.
    setfsuid = SYS_setfsuid, setfsgid = SYS_setfsgid, umask = SYS_umask,
    unshare = SYS_unshare: Umask, capget = SYS_capget, capset = SYS_capset,
    prctl = SYS_prctl: ThreadName, getpid = SYS_getpid, gettid = SYS_gettid, getuid = SYS_getuid,
    geteuid = SYS_geteuid, getgid = SYS_getgid, getegid = SYS_getegid,
    prlimit64 = SYS_prlimit64: Reading, setsid = SYS_setsid, chdir = SYS_chdir,
    // Logs and the helper process.
    sendto = SYS_sendto, recvfrom = SYS_recvfrom, sendmsg = SYS_sendmsg, recvmsg = SYS_recvmsg,
    setsockopt = SYS_setsockopt, shutdown = SYS_shutdown,
    // Requests by rings.
    io_uring_enter = SYS_io_uring_enter, io_uring_register = SYS_io_uring_register: Enabling,
    sched_setaffinity = SYS_sched_setaffinity: OwnThread,
    // Memory, threads, signals and time.
    mmap = SYS_mmap: Data, mprotect = SYS_mprotect: Data, munmap = SYS_munmap, mremap = SYS_mremap,
    madvise = SYS_madvise, brk = SYS_brk, clone = SYS_clone: Threads,
    set_robust_list = SYS_set_robust_list, rseq = SYS_rseq, futex = SYS_futex,
    sched_yield = SYS_sched_yield, sched_getaffinity = SYS_sched_getaffinity, wait4 = SYS_wait4,
    exit = SYS_exit, exit_group = SYS_exit_group, restart_syscall = SYS_restart_syscall,
    rt_sigaction = SYS_rt_sigaction, rt_sigprocmask = SYS_rt_sigprocmask,
    rt_sigreturn = SYS_rt_sigreturn, sigaltstack = SYS_sigaltstack, tgkill = SYS_tgkill,
    clock_gettime = SYS_clock_gettime, clock_getres = SYS_clock_getres,
    clock_nanosleep = SYS_clock_nanosleep, nanosleep = SYS_nanosleep,
    gettimeofday = SYS_gettimeofday, getrandom = SYS_getrandom, ppoll = SYS_ppoll,
    eventfd2 = SYS_eventfd2,
};

/// Calls of both under older names, which newer kinds of processors do not have.
#[cfg(target_arch = "x86_64")]
pub const OLDER: &[Call] = calls! {
    open = SYS_open,
    poll = SYS_poll,
    dup2 = SYS_dup2,
};
/// Calls of both under older names, of which this processor has none.
#[cfg(not(target_arch = "x86_64"))]
pub const OLDER: &[Call] = &[];

/// What the helper process of root's daemon calls.
pub const HELPER: &[Call] = calls! {
    // Its errands.
    read = SYS_read, write = SYS_write, openat = SYS_openat, openat2 = SYS_openat2, close = SYS_close,
    fcntl = SYS_fcntl, fstat = SYS_fstat, newfstatat = SYS_newfstatat, statx = SYS_statx, lseek = SYS_lseek,
    readlinkat = SYS_readlinkat, umount2 = SYS_umount2,
    // Logs and the daemon.
    sendmsg = SYS_sendmsg, sendto = SYS_sendto, recvfrom = SYS_recvfrom, recvmsg = SYS_recvmsg,
    socket = SYS_socket: Unix, connect = SYS_connect, setsockopt = SYS_setsockopt,
    // Memory, threads and signals.
    mmap = SYS_mmap: Data, mprotect = SYS_mprotect: Data, munmap = SYS_munmap, mremap = SYS_mremap,
    madvise = SYS_madvise, brk = SYS_brk, clone = SYS_clone: Threads,
    set_robust_list = SYS_set_robust_list, rseq = SYS_rseq, futex = SYS_futex,
    sched_yield = SYS_sched_yield, sched_getaffinity = SYS_sched_getaffinity, exit = SYS_exit,
    exit_group = SYS_exit_group, restart_syscall = SYS_restart_syscall,
    prctl = SYS_prctl: ThreadName, rt_sigaction = SYS_rt_sigaction,
    rt_sigprocmask = SYS_rt_sigprocmask, rt_sigreturn = SYS_rt_sigreturn,
    sigaltstack = SYS_sigaltstack, rt_sigtimedwait = SYS_rt_sigtimedwait, tgkill = SYS_tgkill,
    gettid = SYS_gettid, getpid = SYS_getpid, getrandom = SYS_getrandom,
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
        if let Some(conditions) = conditions(call.only, privilege)? {
            rules.insert(call.number, conditions);
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

/// The rules of which one must hold, none for every call; `None` if there are no such calls.
fn conditions(only: Only, privilege: Privilege) -> io::Result<Option<Vec<SeccompRule>>> {
    let any_of = |argument: u8, how: SeccompCmpOp, values: &[u64]| {
        let rule = |&value: &u64| {
            // The kernel takes these for 32 bits wide, whatever is in the upper half.
            let width = SeccompCmpArgLen::Dword;
            let condition = SeccompCondition::new(argument, width, how.clone(), value)?;
            SeccompRule::new(vec![condition])
        };
        let rules: Result<Vec<SeccompRule>, _> = values.iter().map(rule).collect();
        rules.map(Some).map_err(io::Error::other)
    };
    let bits = |flags: i32| u64::from(flags.cast_unsigned());
    match only {
        Only::Everything => Ok(Some(Vec::new())),
        Only::Root => Ok((privilege == Privilege::Root).then(Vec::new)),
        Only::Threads => {
            let thread = bits(libc::CLONE_THREAD);
            any_of(
                0,
                SeccompCmpOp::MaskedEq(thread | bits(NAMESPACES)),
                &[thread],
            )
        }
        Only::Umask => any_of(0, SeccompCmpOp::Eq, &[bits(libc::CLONE_FS)]),
        Only::Data => any_of(2, SeccompCmpOp::MaskedEq(bits(libc::PROT_EXEC)), &[0]),
        Only::Connections => any_of(
            1,
            SeccompCmpOp::Eq,
            &[
                fuse_ioctl::CLONE.into(),
                fuse_ioctl::BACKING_OPEN.into(),
                fuse_ioctl::BACKING_CLOSE.into(),
                FIONBIO,
            ],
        ),
        Only::ThreadName => any_of(0, SeccompCmpOp::Eq, &[bits(libc::PR_SET_NAME)]),
        Only::Reading => null_pointer(2),
        Only::Unix => any_of(0, SeccompCmpOp::Eq, &[bits(libc::AF_UNIX)]),
        Only::Enabling => any_of(1, SeccompCmpOp::Eq, &[IORING_REGISTER_ENABLE_RINGS]),
        Only::OwnThread => any_of(0, SeccompCmpOp::Eq, &[0]),
    }
}

/// The rule that this argument is a null pointer.
fn null_pointer(argument: u8) -> io::Result<Option<Vec<SeccompRule>>> {
    let null = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0);
    null.and_then(|null| SeccompRule::new(vec![null]))
        .map(|rule| Some(vec![rule]))
        .map_err(io::Error::other)
}

/// Every new namespace that clone(2) can make.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
