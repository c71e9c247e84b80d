//! System calls that rustix lacks or leaves unsafe. The only unsafe code of the crate.
#![expect(
    unsafe_code,
    reason = "these calls have no safe wrapper; every other file is free of unsafe code"
)]

use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use io_uring::register::Restriction;
use io_uring::squeue;
use io_uring::types::Fixed;
use io_uring::{IoUring, cqueue, opcode};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

use super::calls;

/// A block of so many bytes is mapped by itself.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK: libc::c_int = 128 << 10;

/// Most bytes in a file handle, `MAX_HANDLE_SZ` of the kernel.
pub(crate) const MAX_HANDLE: usize = 128;

/// `struct file_handle` of `name_to_handle_at(2)`, with room for the longest handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawHandle {
    /// Number of valid bytes in `bytes`.
    pub(crate) length: u32,
    /// The filesystem's kind of handle.
    pub(crate) kind: i32,
    /// The handle.
    pub(crate) bytes: [u8; MAX_HANDLE],
}

/// The result of a raw system call that gives a number or -1 and errno.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The descriptor that a system call gave.
///
/// # Safety
/// `result` is that of a call which makes a descriptor where it succeeds, so that nobody else knows it.
unsafe fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    let raw = RawFd::try_from(checked(result)?).map_err(io::Error::other)?;
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Returns the file handle of the inode that `name` leads to in the directory `fd`: of the symlink itself if it is
/// one. An empty name stands for the inode that `fd` refers to.
pub(crate) fn name_to_handle(fd: BorrowedFd<'_>, name: &CStr) -> io::Result<RawHandle> {
    calls::count();
    let mut handle = RawHandle {
        length: 128,
        kind: 0,
        bytes: [0; MAX_HANDLE],
    };
    let mut mount_id: libc::c_int = 0;
    // SAFETY: `fd` is open for the length of the call. `name` is NUL-terminated and lives as long. `handle` has the
    // layout of struct file_handle with as many bytes behind the header as its length says, and the kernel writes no
    // more. `mount_id` is a live int. Both are exclusively ours.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            fd.as_raw_fd(),
            name.as_ptr(),
            &raw mut handle,
            &raw mut mount_id,
            libc::AT_EMPTY_PATH,
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
    // SAFETY: `mount` is open for the length of the call. `handle` has the layout of struct file_handle and is only
    // read. The kernel refuses a length over 128, which is what lies behind the header.
    let result = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            &raw const *handle,
            flags,
        )
    };
    // SAFETY: it is the result of a call that makes a descriptor.
    unsafe { descriptor(result) }
}

/// The size of a page of memory in bytes.
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

/// `struct fsuuid2` of `include/uapi/linux/fs.h`.
#[repr(C)]
struct FilesystemUuid {
    length: u8,
    bytes: [u8; 16],
}

/// Number of ioctl(2), `FS_IOC_GETFSUUID` of `include/uapi/linux/fs.h`.
pub(crate) const GET_FILESYSTEM_UUID: Opcode =
    rustix::ioctl::opcode::read::<FilesystemUuid>(0x15, 0);

/// Asks for the UUID of the filesystem of an open file or directory, `FS_IOC_GETFSUUID` (Linux 6.9).
///
/// # Errors
/// The kernel or the filesystem has no such call; `EBADF` for an `O_PATH` descriptor.
pub(crate) fn filesystem_uuid(fd: &OwnedFd) -> io::Result<[u8; 16]> {
    use rustix::ioctl::Getter;

    // SAFETY: for this number the kernel writes a `struct fsuuid2`, which is that record.
    let getter = unsafe { Getter::<GET_FILESYSTEM_UUID, FilesystemUuid>::new() };
    // SAFETY: as above; the call reads nothing.
    let uuid = unsafe { rustix::ioctl::ioctl(fd, getter) }?;
    if usize::from(uuid.length) != uuid.bytes.len() {
        return Err(io::Error::from_raw_os_error(libc::ENOTTY));
    }
    Ok(uuid.bytes)
}

/// A call by one of the numbers of [`mod@fuse_ioctl`], with the record that it takes.
struct FuseIoctl<T> {
    /// Not for `libc::ioctl`, which takes an unsigned long of glibc and an int of musl.
    number: Opcode,
    record: T,
}

// SAFETY: for these numbers the kernel reads at most a record of the size in the number, which is that of `record`, and
// writes none. What is returned is the number that the call gives; nothing is read through the pointer.
unsafe impl<T> Ioctl for FuseIoctl<T> {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        self.number
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.record).cast()
    }

    unsafe fn output_from_ptr(
        output: IoctlOutput,
        _: *mut c_void,
    ) -> rustix::io::Result<IoctlOutput> {
        Ok(output)
    }
}

fn fuse_ioctl<T>(fd: &OwnedFd, number: Opcode, record: T) -> io::Result<IoctlOutput> {
    // SAFETY: as for the implementation of `Ioctl`: `number` and `record` belong together.
    let result = unsafe { rustix::ioctl::ioctl(fd, FuseIoctl { number, record }) };
    result.map_err(io::Error::from)
}

/// Size in bytes of `struct fuse_uring_req_header`.
pub const RING_HEADER: usize = 288;

/// `enum fuse_uring_cmd`.
const REGISTER: u32 = 1;
const COMMIT_AND_FETCH: u32 = 2;

/// Flags of `io_uring_enter(2)`; the second one from Linux 6.15.
const ENTER_GETEVENTS: u32 = 1;
const ENTER_NO_IOWAIT: u32 = 1 << 7;

/// A ring (`io_uring(7)`) by which one thread takes requests of a FUSE connection and answers them. It can do nothing else.
///
/// Its one slot holds one request at a time. The kernel writes a request there and reads its answer only while a call
/// borrows the ring exclusively. `IORING_SETUP_DEFER_TASKRUN` makes it work on a ring in no other system call.
pub struct FuseRing {
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
    /// Once there is a slot, it is never replaced or moved: the kernel has its addresses. Dropped after the ring.
    slot: Option<Slot>,
}

/// The memory of one request, and of its answer after that.
struct Slot {
    header: Box<[u8; RING_HEADER]>,
    payload: Box<[u8]>,
    /// Addresses and sizes of both, as two `struct iovec`.
    iovecs: Box<[usize; 4]>,
}

impl std::fmt::Debug for FuseRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FuseRing").finish_non_exhaustive()
    }
}

impl FuseRing {
    /// Makes a ring of `connection`, without a slot. It does nothing before [`enable`](Self::enable).
    ///
    /// # Errors
    /// Those of `io_uring_setup(2)` and `io_uring_register(2)`: the kernel is too old, or rings are forbidden.
    pub fn new(connection: &OwnedFd) -> io::Result<Self> {
        let mut builder = IoUring::<squeue::Entry128, cqueue::Entry>::builder();
        builder.dontfork().setup_r_disabled().setup_submit_all();
        builder.setup_single_issuer().setup_defer_taskrun();
        let ring = builder.build(2)?;
        let submitter = ring.submitter();
        submitter.register_files(&[connection.as_raw_fd()])?;
        submitter.register_restrictions(&mut [
            Restriction::sqe_op(opcode::UringCmd80::CODE),
            Restriction::sqe_flags_required(squeue::Flags::FIXED_FILE.bits()),
        ])?;
        Ok(Self { ring, slot: None })
    }

    /// Lets this thread use the ring, and no other.
    ///
    /// # Errors
    /// Those of `io_uring_register(2)`.
    pub fn enable(&self) -> io::Result<()> {
        self.ring.submitter().register_enable_rings()
    }

    /// Adds the slot to the queue of requests that are made on the CPU `queue`; the first time it is made, with room for
    /// `payload` bytes.
    ///
    /// # Errors
    /// Those of `io_uring_enter(2)`.
    pub fn register(&mut self, queue: u16, payload: usize) -> io::Result<()> {
        let slot = self.slot.get_or_insert_with(|| Slot {
            header: Box::new([0; RING_HEADER]),
            payload: vec![0; payload].into_boxed_slice(),
            iovecs: Box::default(),
        });
        let header = slot.header.as_mut_ptr() as usize;
        let body = slot.payload.as_mut_ptr() as usize;
        *slot.iovecs = [header, RING_HEADER, body, slot.payload.len()];
        let iovecs = Some(slot.iovecs.as_ptr() as u64);
        self.push(REGISTER, (queue, 0), iovecs)?;
        self.ring.submit().map(drop)
    }

    /// Answers the request in the slot of the queue `queue` with what the slot holds, at the next [`wait`](Self::wait).
    /// Then the slot takes another request. `id` is that of `struct fuse_uring_ent_in_out`.
    ///
    /// # Errors
    /// Those of `io_uring_enter(2)`.
    pub fn commit(&mut self, queue: u16, id: u64) -> io::Result<()> {
        self.push(COMMIT_AND_FETCH, (queue, id), None)
    }

    fn push(
        &mut self,
        command: u32,
        (queue, id): (u16, u64),
        iovecs: Option<u64>,
    ) -> io::Result<()> {
        // `struct fuse_uring_cmd_req`: flags, commit_id, qid.
        let mut request = [0; 80];
        request[8..16].copy_from_slice(&id.to_ne_bytes());
        request[16..18].copy_from_slice(&queue.to_ne_bytes());
        let command = opcode::UringCmd80::new(Fixed(0), command);
        let mut entry = command.cmd(request).addr(iovecs).build();
        if iovecs.is_some() {
            // SAFETY: an entry has the layout of `struct io_uring_sqe`, in which `len` is the u32 at byte 24. The
            // crate has no other way to set it. `entry` is exclusively ours.
            let len = unsafe { (&raw mut entry).cast::<u32>().add(6) };
            // SAFETY: as above; what lies there is aligned as an entry is.
            unsafe { len.write(2) };
        }
        // SAFETY: the entry points to two iovecs only, and these to boxes of the slot, which live as long as the ring
        // and are dropped after it. Nobody uses them while the kernel does: it does so only in calls that borrow all
        // of this exclusively.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)
    }

    /// Waits until the slot holds a request, which 0 says, or is not the kernel's any more, which a negative errno says.
    ///
    /// # Errors
    /// Those of `io_uring_enter(2)`.
    pub fn wait(&mut self) -> io::Result<i32> {
        loop {
            if let Some(entry) = self.ring.completion().next() {
                return Ok(entry.result());
            }
            match self.submit_and_wait() {
                Err(error) if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY)) => {
                    return Err(error);
                }
                _ => {}
            }
        }
    }

    /// Submits what was pushed, and waits for a completion. The wait is none for a disk: CPUs that are idle meanwhile count as that.
    fn submit_and_wait(&mut self) -> io::Result<usize> {
        let pushed = u32::try_from(self.ring.submission().len()).map_err(io::Error::other)?;
        let flags = match self.ring.params().is_feature_no_iowait() {
            true => ENTER_GETEVENTS | ENTER_NO_IOWAIT,
            false => ENTER_GETEVENTS,
        };
        let submitter = self.ring.submitter();
        // SAFETY: what was pushed is valid, as `push` sees to; there is no set of signals.
        unsafe { submitter.enter::<libc::sigset_t>(pushed, 1, flags, None) }
    }

    /// The header and the payload in the slot, if it was made.
    pub fn memory(&mut self) -> Option<(&mut [u8; RING_HEADER], &mut [u8])> {
        let slot = self.slot.as_mut()?;
        Some((&mut slot.header, &mut slot.payload))
    }
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

/// Gives freed memory back to the system, which the C library keeps otherwise where it lies between what is in use. Takes some
/// milliseconds for each 100 MB. Does nothing where the library is not glibc.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) is safe to call from any thread, and gives up only pages with no live allocation in them.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has blocks of 128 KiB and more mapped one by one, also after such a block was freed. Otherwise zeroed blocks are
/// written to, and each thread that serves a mount has one of 16 MiB. Does nothing where the C library is not glibc.
pub fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) changes nothing but how blocks are found from now on.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
    }
}

/// Keeps all descriptors from `first` on out of programs that are run from now on, those too that this one was itself given without
/// `O_CLOEXEC`.
///
/// # Errors
/// `ENOSYS` before Linux 5.11.
pub fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: no descriptor is closed: a flag of each is set.
    unsafe { close_range(first, RawFd::MAX, libc::CLOSE_RANGE_CLOEXEC) }
}

/// Closes the descriptors `first..=last`, or what `flags` say instead.
///
/// # Safety
/// Nobody uses or drops what is closed.
unsafe fn close_range(first: RawFd, last: RawFd, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: no memory is touched; of the descriptors, as the caller promises.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
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

/// Sets the OFD lock `lock` of `fd` without waiting (`F_OFD_SETLK`), or puts what stands in its way in its place, of the type `F_UNLCK`
/// where nothing does (`F_OFD_GETLK`).
pub(crate) fn ofd_lock(
    fd: BorrowedFd<'_>,
    command: libc::c_int,
    lock: &mut libc::flock,
) -> io::Result<()> {
    calls::count();
    // SAFETY: `fd` is open for the length of the call, which reads or writes a struct flock that is exclusively ours.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw mut *lock) };
    checked(result.into()).map(drop)
}

/// Changes attributes of the mount that `fd` is the root of: `set` and `clear` are `MOUNT_ATTR_*`, `propagation` is
/// `MS_PRIVATE` or 0, which leaves it.
pub(crate) fn set_mount_attributes(
    fd: BorrowedFd<'_>,
    (set, clear): (u64, u64),
    propagation: u64,
) -> io::Result<()> {
    let attr = libc::mount_attr {
        attr_set: set,
        attr_clr: clear,
        propagation,
        userns_fd: 0,
    };
    // SAFETY: `fd` is open for the length of the call. The path is a NUL-terminated literal. `attr` has the layout
    // of struct mount_attr, is only read, and its size is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attr,
            size_of_val(&attr),
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
    let result = unsafe { libc::fanotify_init(flags, 0) }.into();
    // SAFETY: it is the result of a call that makes a descriptor.
    unsafe { descriptor(result) }
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

/// Takes a lease of this kind on a file, or gives it back with `F_UNLCK` (fcntl(2)).
pub(crate) fn set_lease(file: BorrowedFd<'_>, kind: libc::c_int) -> io::Result<()> {
    calls::count();
    // SAFETY: the descriptor is open for the length of the call, which takes numbers alone.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    checked(result.into()).map(drop)
}

/// Sets the nice value of the calling thread. The threads and processes that it makes have none below 0.
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(0),
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: u64::from(libc::SCHED_FLAG_RESET_ON_FORK.cast_unsigned()),
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: `attributes` is only read, and has its size in it.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    checked(result).map(drop)
}

/// Starts a copy of this process, which must have one thread only. The copy does `work` and ends with it; no signal is delivered to it
/// but those that cannot be blocked. Returns its number.
///
/// # Errors
/// `EBUSY` if it has more threads; else those of fork(2).
pub(crate) fn fork(work: impl FnOnce() -> io::Result<()>) -> io::Result<Pid> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `all` is exclusively ours and large enough; sigfillset(3) only writes it.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above and is only read; `before` is exclusively ours and only written.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: this process has one thread, seen above, and nothing between starts another. So no lock is held by a
    // thread that the child lacks: the child may do whatever the parent may.
    let result = unsafe { libc::fork() };
    let failed = io::Error::last_os_error();
    if result == 0 {
        // It must not unwind into what the parent was doing, nor drop what the parent owns.
        let done = catch_unwind(AssertUnwindSafe(work));
        signal_hook::low_level::exit(i32::from(!matches!(done, Ok(Ok(())))));
    }
    // SAFETY: `before` was written above, where the call cannot fail with these arguments, and is only read.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    let child = Pid::from_raw(result).filter(|_| result > 0);
    child.ok_or(failed)
}

fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `set` is exclusively ours and large enough; sigemptyset(3) only writes it.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for &signal in signals {
        // SAFETY: `set` was filled above and is exclusively ours; a number that is no signal is refused.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: it was filled above.
    unsafe { set.assume_init() }
}

/// Lets this thread, and those that it starts, have `signals` delivered, which the program that started this one may have blocked.
///
/// # Errors
/// Those of `pthread_sigmask(3)`.
pub(crate) fn unblock_signals(signals: &[libc::c_int]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: `set` is only read; the set of before is not asked for.
    let result =
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) };
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
    let set = signal_set(&[signal]);
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `set` is only read; `info` is exclusively ours and only written.
        let result = unsafe { libc::sigwaitinfo(&raw const set, info.as_mut_ptr()) };
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

/// Closes every descriptor from 3 on but `kept`. For a child that never returns to what its parent did: whoever owns
/// one of those in memory must never use or drop it.
pub(crate) fn close_all_but(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<RawFd> = kept.to_vec();
    kept.sort_unstable();
    let mut first = 3;
    for last in kept.into_iter().map(|fd| fd - 1).chain([RawFd::MAX]) {
        if first <= last {
            // SAFETY: that nobody uses what is closed is the caller's promise, in the contract above: its one
            // caller, `let_go`, is for processes that end by `_exit`.
            unsafe { close_range(first, last, 0) }?;
        }
        first = last.saturating_add(2);
    }
    Ok(())
}
