//! System calls that rustix lacks or leaves unsafe. The only unsafe code of the crate.
#![expect(
    unsafe_code,
    reason = "these calls have no safe wrapper; every other file is free of unsafe code"
)]

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

use super::calls;

/// A block of so many bytes is mapped by itself.
const LARGE_BLOCK: libc::c_int = 128 << 10;

/// Most bytes in a file handle, `MAX_HANDLE_SZ` of the kernel.
pub(crate) const MAX_HANDLE: usize = 128;

/// `struct file_handle` of `name_to_handle_at(2)`, with room for the longest handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawHandle {
    /// How many of `bytes` count.
    pub(crate) length: u32,
    /// The filesystem's kind of handle.
    pub(crate) kind: i32,
    /// The handle.
    pub(crate) bytes: [u8; MAX_HANDLE],
}

/// `struct mount_attr` of `mount_setattr(2)`, its first version.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// The result of a raw system call that gives a number or -1 and errno.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The file handle of the inode that `name` leads to in the directory `fd`, of the symlink itself if it is one, and for the
/// empty name that of the inode that `fd` refers to.
pub(crate) fn name_to_handle(fd: BorrowedFd<'_>, name: &CStr) -> io::Result<RawHandle> {
    calls::count();
    let mut handle = RawHandle {
        length: 128,
        kind: 0,
        bytes: [0; MAX_HANDLE],
    };
    let mut mount_id: libc::c_int = 0;
    let flags = if name.is_empty() {
        libc::AT_EMPTY_PATH
    } else {
        0
    };
    // SAFETY: `fd` is open for the length of the call; `name` is NUL-terminated and lives as long; `handle` has the layout
    // of struct file_handle with as many bytes behind the header as its length says, and the kernel writes no more;
    // `mount_id` is a live int. Both are exclusively ours.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            fd.as_raw_fd(),
            name.as_ptr(),
            &raw mut handle,
            &raw mut mount_id,
            flags,
        )
    };
    checked(result)?;
    Ok(handle)
}

/// Opens the inode of `handle` on the filesystem of `mount`.
pub(crate) fn open_by_handle(
    mount: BorrowedFd<'_>,
    handle: &RawHandle,
    flags: libc::c_int,
) -> io::Result<OwnedFd> {
    calls::count();
    // SAFETY: `mount` is open for the length of the call; `handle` has the layout of struct file_handle, is only
    // read, and the kernel refuses a length over 128, which is what lies behind the header.
    let result = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            &raw const *handle,
            flags,
        )
    };
    let raw = RawFd::try_from(checked(result)?).map_err(io::Error::other)?;
    // SAFETY: the call succeeded, so that `raw` is a new descriptor that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// The size of a page of memory in octets.
#[must_use]
pub fn page_size() -> usize {
    // SAFETY: sysconf(3) touches no memory of ours; the C library has the answer from when the program started.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// Numbers of ioctl(2) on `/dev/fuse`, of `include/uapi/linux/fuse.h`.
pub(crate) mod fuse_ioctl {
    use rustix::ioctl::{Opcode, opcode};

    /// `FUSE_DEV_IOC_CLONE`.
    pub(crate) const CLONE: Opcode = opcode::read::<u32>(229, 0);
    /// `FUSE_DEV_IOC_BACKING_OPEN`.
    pub(crate) const BACKING_OPEN: Opcode = opcode::write::<super::BackingMap>(229, 1);
    /// `FUSE_DEV_IOC_BACKING_CLOSE`.
    pub(crate) const BACKING_CLOSE: Opcode = opcode::write::<u32>(229, 2);
}

/// `struct fuse_backing_map`.
#[repr(C)]
pub(crate) struct BackingMap {
    fd: RawFd,
    flags: u32,
    padding: u64,
}

/// Makes `device`, just opened, another descriptor of the FUSE `connection`.
///
/// # Errors
/// It is one of another connection, or not of FUSE.
pub fn clone_connection(device: &OwnedFd, connection: &OwnedFd) -> io::Result<()> {
    fuse_ioctl(device, fuse_ioctl::CLONE, connection.as_raw_fd()).map(drop)
}

/// Tells the kernel of a backing file; gives the number that it knows it by until [`close_backing`].
///
/// # Errors
/// The kernel takes no such file, or none from this process.
pub fn open_backing(connection: &OwnedFd, file: &OwnedFd) -> io::Result<u32> {
    let map = BackingMap {
        fd: file.as_raw_fd(),
        flags: 0,
        padding: 0,
    };
    let id = fuse_ioctl(connection, fuse_ioctl::BACKING_OPEN, map)?;
    u32::try_from(id).map_err(io::Error::other)
}

/// Takes a number of [`open_backing`] back.
///
/// # Errors
/// There is none.
pub fn close_backing(connection: &OwnedFd, id: u32) -> io::Result<()> {
    fuse_ioctl(connection, fuse_ioctl::BACKING_CLOSE, id).map(drop)
}

/// A call by one of the numbers of [`mod@fuse_ioctl`], with the record that it takes.
fn fuse_ioctl<T>(
    fd: &OwnedFd,
    number: rustix::ioctl::Opcode,
    record: T,
) -> io::Result<libc::c_long> {
    // SAFETY: `fd` is open for the length of the call; whatever it is, the kernel reads by these numbers at most a record of the size that
    // is part of the number, which is that of `record`, and writes none.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), number.into(), &raw const record) };
    checked(result.into())
}

/// Reads directory records from `fd` into `buffer`; returns how many bytes of it are filled, 0 at the end.
pub(crate) fn getdents(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    calls::count();
    // SAFETY: `fd` is open for the length of the call; `buffer` is exclusively ours and the kernel writes at most its
    // length. Any bytes are valid u8.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            fd.as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    usize::try_from(checked(result)?).map_err(io::Error::other)
}

/// Sets the filesystem uid of the calling thread; returns the one before, whether it was changed or not.
///
/// `u32::MAX` changes nothing, and so asks.
pub(crate) fn set_fsuid(uid: u32) -> u32 {
    // SAFETY: setfsuid(2) touches no memory. The C libraries pass it through for the calling thread only, other than
    // setuid and its kin, so that no other thread is signalled.
    unsafe { libc::setfsuid(uid) }.cast_unsigned()
}

/// Sets the filesystem gid of the calling thread; returns the one before, whether it was changed or not.
///
/// `u32::MAX` changes nothing, and so asks.
pub(crate) fn set_fsgid(gid: u32) -> u32 {
    // SAFETY: as for setfsuid(2).
    unsafe { libc::setfsgid(gid) }.cast_unsigned()
}

/// Gives the calling thread a umask, working directory and root of its own.
pub(crate) fn unshare_fs() -> io::Result<()> {
    // SAFETY: what is asked of the caller concerns CLONE_FILES, which is not among the flags: descriptors stay shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.map_err(io::Error::from)
}

/// Has the C library give freed pages back to the system; does nothing where that is not glibc.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) is safe to call from any thread, and gives up only pages with no live allocation in them.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has the C library map large blocks one by one, also after such a block was freed; does nothing where that is not glibc.
pub(crate) fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) changes nothing but how blocks are found from now on.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
    }
}

/// Keeps all descriptors from `first` on out of programs that are run from now on.
pub(crate) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: no descriptor is closed and no memory touched: a flag of the descriptor table is set.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    checked(result).map(drop)
}

/// Sets the size of the file at `path`, following symlinks.
pub(crate) fn truncate(path: &CStr, size: i64) -> io::Result<()> {
    calls::count();
    // SAFETY: `path` is NUL-terminated and only read.
    let result = unsafe { libc::truncate64(path.as_ptr(), size) };
    checked(libc::c_long::from(result)).map(drop)
}

/// Closes `fd` and reports what close(2) says; the descriptor is gone in any case.
pub(crate) fn close(fd: OwnedFd) -> io::Result<()> {
    calls::count();
    let raw = fd.into_raw_fd();
    // SAFETY: `raw` came out of an OwnedFd that is consumed, so that nobody closes or uses it after this.
    let result = unsafe { libc::close(raw) };
    checked(libc::c_long::from(result)).map(drop)
}

/// What to do about an OFD lock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OfdLock {
    /// Say what stands in its way.
    Get,
    /// Set it, without waiting.
    Set,
}

/// Asks about or sets the OFD lock `(l_type, l_start, l_len, l_pid)` of `fd`, counted from the start of the file, and
/// gives back what the kernel made of it.
pub(crate) fn ofd_lock(
    fd: BorrowedFd<'_>,
    what: OfdLock,
    (kind, start, length, pid): (i32, i64, i64, i32),
) -> io::Result<(i32, i64, i64, i32)> {
    calls::count();
    let narrow = |word: i32| i16::try_from(word).map_err(io::Error::other);
    let command = match what {
        OfdLock::Get => libc::F_OFD_GETLK,
        OfdLock::Set => libc::F_OFD_SETLK,
    };
    let mut lock = libc::flock {
        l_type: narrow(kind)?,
        l_whence: narrow(libc::SEEK_SET)?,
        l_start: start,
        l_len: length,
        l_pid: pid,
    };
    // SAFETY: `fd` is open for the length of the call; both commands take a struct flock, which `lock` is, exclusively
    // ours and written only while the call lasts.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw mut lock) };
    checked(libc::c_long::from(result))?;
    Ok((i32::from(lock.l_type), lock.l_start, lock.l_len, lock.l_pid))
}

/// Changes attributes of the mount that `fd` is the root of: `set` and `clear` are `MOUNT_ATTR_*`, `propagation` is
/// `MS_PRIVATE` or 0, which leaves it.
pub(crate) fn set_mount_attributes(
    fd: BorrowedFd<'_>,
    (set, clear): (u64, u64),
    propagation: u64,
) -> io::Result<()> {
    let attr = MountAttr {
        set,
        clear,
        propagation,
        userns_fd: 0,
    };
    // SAFETY: `fd` is open for the length of the call; the path is a NUL-terminated literal; `attr` has the layout of
    // struct mount_attr, is only read, and its size is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    checked(result).map(drop)
}

/// Gives the calling thread a mount namespace of its own, which vanishes with its last user.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: as for `unshare_fs`: CLONE_FILES is not among the flags.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }
        .map_err(io::Error::from)
}

/// A group of fanotify(7) that reports.
pub(crate) fn fanotify_init(flags: libc::c_uint) -> io::Result<OwnedFd> {
    // SAFETY: it takes two numbers.
    let result = unsafe { libc::syscall(libc::SYS_fanotify_init, flags, 0) };
    let raw = RawFd::try_from(checked(result)?).map_err(io::Error::other)?;
    // SAFETY: the call succeeded, so that `raw` is a new descriptor that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Adds or removes the mark of a directory, which may be an `O_PATH` descriptor.
pub(crate) fn fanotify_mark(
    group: BorrowedFd<'_>,
    flags: libc::c_uint,
    mask: u64,
    directory: BorrowedFd<'_>,
) -> io::Result<()> {
    calls::count();
    // SAFETY: both descriptors are open for the length of the call; the path is a NUL-terminated literal.
    let result = unsafe {
        libc::fanotify_mark(
            group.as_raw_fd(),
            flags,
            mask,
            directory.as_raw_fd(),
            c".".as_ptr(),
        )
    };
    checked(result.into()).map(drop)
}

/// Which of two processes this is after [`fork`].
pub(crate) enum Forked {
    /// The one that called it, with the number of the other.
    Parent(Pid),
    /// A copy of it, in which no signal is delivered but those that cannot be blocked.
    Child,
}

/// Makes a copy of this process, which must have one thread only.
///
/// # Errors
/// `EBUSY` if it has more threads; else those of fork(2).
pub(crate) fn fork() -> io::Result<Forked> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `all` is exclusively ours and large enough; sigfillset(3) only writes it.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above and is only read; `before` is exclusively ours and only written.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: this process has one thread, seen above, and nothing runs between that could start another, so that no
    // lock is held by a thread that the child lacks: the child may do whatever the parent may.
    let result = unsafe { libc::fork() };
    let failed = io::Error::last_os_error();
    if result == 0 {
        return Ok(Forked::Child);
    }
    // SAFETY: `before` was written above, where the call cannot fail with these arguments, and is only read.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    Pid::from_raw(result)
        .filter(|_| result > 0)
        .map(Forked::Parent)
        .ok_or(failed)
}

/// Lets the calling thread have `signals` delivered.
pub(crate) fn unblock_signals(signals: &[libc::c_int]) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is exclusively ours and large enough; sigemptyset(3) only writes it.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for &signal in signals {
        // SAFETY: `set` was filled above and is exclusively ours; a number that is no signal is refused.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: `set` was filled above and is only read; the set of before is not asked for.
    let result =
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut()) };
    match result {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Waits until `signal` is sent by the process `sender`, by itself or by the kernel when it dies. The signal has to be blocked in
/// all threads.
///
/// # Errors
/// Those of sigwaitinfo(2).
pub(crate) fn wait_for_signal_of(signal: libc::c_int, sender: Pid) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is exclusively ours and large enough; sigemptyset(3) only writes it.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: `set` was filled above and is exclusively ours; a number that is no signal is refused.
    unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `set` was filled above and is only read; `info` is exclusively ours and only written.
        let result = unsafe { libc::sigwaitinfo(set.as_ptr(), info.as_mut_ptr()) };
        match checked(result.into()) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        // SAFETY: all zeroes is a `siginfo_t`, and the call has filled it.
        let info = unsafe { info.assume_init() };
        // SAFETY: zeroed before, so that whatever is in the place of the sender is a number.
        let from = unsafe { info.si_pid() };
        if Pid::from_raw(from) == Some(sender) {
            return Ok(());
        }
    }
}

/// Ends this process at once: nothing is dropped, flushed or run at exit.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit(2) does not return and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from 3 on but `kept`. For a child that never returns to what its parent did: whoever owns
/// one of those in memory must never use or drop it.
pub(crate) fn close_all_but(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<RawFd> = kept.to_vec();
    kept.sort_unstable();
    let mut first = 3;
    for last in kept.into_iter().map(|fd| fd - 1).chain([RawFd::MAX]) {
        if first <= last {
            // SAFETY: no memory is touched. That nobody uses what is closed is the caller's promise, in the contract
            // above: the one caller ends by `exit_now`.
            let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
            checked(result)?;
        }
        first = last.saturating_add(2);
    }
    Ok(())
}
