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

use crate::backing::sys::{GET_FILESYSTEM_UUID, fuse_ioctl};
use crate::backing::watch;
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
    /// root's mounts only, what happens in a directory
    Marks,
    /// threads of this process
    Threads,
    /// a umask and directory of the thread's own
    Umask,
    /// no memory that can be run
    Data,
    /// FUSE connections, backing files, the UUID of a filesystem
    Ioctls,
    /// names of threads
    ThreadName,
    /// sockets of this machine
    Unix,
    /// enabling rings that are there
    Enabling,
    /// the calling thread
    OwnThread,
}

const IOCTLS: [u64; 4] = [
    fuse_ioctl::CLONE as u64,
    fuse_ioctl::BACKING_OPEN as u64,
    fuse_ioctl::BACKING_CLOSE as u64,
    // For the journal of a guard.
    GET_FILESYSTEM_UUID as u64,
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
    // Content, and the answer to FUSE_INIT (writev).
    SYS_read, SYS_write, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_pwritev2, SYS_lseek, SYS_fallocate, SYS_ftruncate, SYS_truncate,
    SYS_copy_file_range, SYS_fsync, SYS_fdatasync, SYS_syncfs,
    // Descriptors.
    SYS_openat, SYS_openat2, SYS_open_by_handle_at: Root, SYS_name_to_handle_at, SYS_close, SYS_dup3, SYS_fcntl, SYS_flock,
    SYS_ioctl: Ioctls,
    // Names and attributes.
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_faccessat2, SYS_getdents64, SYS_readlinkat, SYS_mkdirat, SYS_mknodat,
    SYS_symlinkat, SYS_linkat, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_fchmodat, SYS_fchownat, SYS_utimensat,
    SYS_getxattr, SYS_fgetxattr, SYS_setxattr, SYS_listxattr, SYS_removexattr,
    // Changes of others.
    SYS_fanotify_mark: Marks,
    // Whom a thread acts for.
    SYS_setfsuid, SYS_setfsgid, SYS_umask, SYS_unshare: Umask, SYS_capget, SYS_capset, SYS_prctl: ThreadName, SYS_getpid,
    SYS_gettid, SYS_getuid, SYS_geteuid, SYS_setsid, SYS_chdir,
    // Logs and the helper process.
    SYS_sendto, SYS_recvfrom, SYS_recvmsg, SYS_shutdown,
    // Requests by rings.
    SYS_io_uring_enter, SYS_io_uring_register: Enabling, SYS_sched_setaffinity: OwnThread,
    // Memory, threads, signals and time.
    SYS_mmap: Data, SYS_mprotect: Data, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_clone: Threads, SYS_set_robust_list,
    SYS_rseq, SYS_futex, SYS_sched_yield, SYS_sched_getaffinity, SYS_wait4, SYS_exit, SYS_exit_group, SYS_restart_syscall,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill, SYS_clock_gettime,
    SYS_clock_nanosleep, SYS_nanosleep, SYS_getrandom, SYS_ppoll,
};

/// Calls of both under older names, which newer kinds of processors do not have.
#[cfg(target_arch = "x86_64")]
pub const OLDER: &[Call] = calls! {
    SYS_open, SYS_dup2,
};
/// Calls of both under older names, of which this processor has none.
#[cfg(not(target_arch = "x86_64"))]
pub const OLDER: &[Call] = &[];

/// System calls of the helper process of root's daemon.
pub const HELPER: &[Call] = calls! {
    // Its errands.
    SYS_read, SYS_write, SYS_openat, SYS_openat2, SYS_close, SYS_fcntl, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_lseek,
    SYS_readlinkat, SYS_unlinkat, SYS_umount2, SYS_memfd_create, SYS_pwrite64,
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
        let is_for_root = matches!(call.only, Only::Root | Only::Marks);
        if !is_for_root || privilege == Privilege::Root {
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

/// A condition on an argument of a call.
struct Condition {
    /// The number of the argument, from 0.
    argument: u8,
    width: SeccompCmpArgLen,
    compare: SeccompCmpOp,
    value: u64,
}

impl Condition {
    /// The argument, of which the kernel takes 32 bits whatever is in the upper half, is `value`.
    fn is(argument: u8, value: u64) -> Self {
        Self::masked(argument, u64::from(u32::MAX), value)
    }

    /// Of those 32 bits the ones in `mask` are those of `value`.
    fn masked(argument: u8, mask: u64, value: u64) -> Self {
        Self {
            argument,
            width: SeccompCmpArgLen::Dword,
            compare: SeccompCmpOp::MaskedEq(mask),
            value,
        }
    }

    /// Of all 64 bits none in `mask` is set.
    fn none_of(argument: u8, mask: u64) -> Self {
        Self {
            argument,
            width: SeccompCmpArgLen::Qword,
            compare: SeccompCmpOp::MaskedEq(mask),
            value: 0,
        }
    }
}

/// The rules of which one must hold, none for every call.
fn conditions(only: Only) -> io::Result<Vec<SeccompRule>> {
    let bits = |flags: i32| u64::from(flags.cast_unsigned());
    let thread = bits(libc::CLONE_THREAD);
    // Each is a rule, whose conditions must all hold.
    let rules = match only {
        Only::Everything | Only::Root => Vec::new(),
        Only::Marks => {
            let of_flags = |flags: u32| {
                let events = Condition::none_of(2, !watch::EVENTS);
                vec![Condition::is(1, flags.into()), events]
            };
            watch::MARKS.map(of_flags).into()
        }
        Only::Threads => vec![vec![Condition::masked(
            0,
            thread | bits(NAMESPACES),
            thread,
        )]],
        Only::Umask => vec![vec![Condition::is(0, bits(libc::CLONE_FS))]],
        Only::Data => vec![vec![Condition::masked(2, bits(libc::PROT_EXEC), 0)]],
        Only::Ioctls => IOCTLS.map(|ioctl| vec![Condition::is(1, ioctl)]).into(),
        Only::ThreadName => vec![vec![Condition::is(0, bits(libc::PR_SET_NAME))]],
        Only::Unix => vec![vec![Condition::is(0, bits(libc::AF_UNIX))]],
        Only::Enabling => vec![vec![Condition::is(1, IORING_REGISTER_ENABLE_RINGS)]],
        Only::OwnThread => vec![vec![Condition::is(0, 0)]],
    };
    let condition =
        |it: Condition| SeccompCondition::new(it.argument, it.width, it.compare, it.value);
    let rule = |all: Vec<Condition>| {
        let all = all.into_iter().map(condition).collect::<Result<_, _>>()?;
        SeccompRule::new(all)
    };
    let rules: Result<_, _> = rules.into_iter().map(rule).collect();
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
