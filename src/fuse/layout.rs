//! The records of the protocol, as `include/uapi/linux/fuse.h` of the kernel lays them out. Numbers are in the byte order of the machine.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Declares records, each with its size in bytes, to which it is held when it is compiled.
macro_rules! records {
    ($($(#[$about:meta])* $name:ident($size:literal) { $($field:ident: $type:ty),+ $(,)? })+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(super) struct $name { $(pub(super) $field: $type),+ }
        const _: () = assert!(size_of::<$name>() == $size);
    )+};
}

records! {
    /// The start of each request.
    InHeader(40) { length: u32, opcode: u32, unique: u64, node: u64, uid: u32, gid: u32, pid: u32, extensions: u16, padding: u16 }
    /// The start of each answer and notification.
    OutHeader(16) { length: u32, error: i32, unique: u64 }

    Attr(88) {
        ino: u64, size: u64, blocks: u64, atime: i64, mtime: i64, ctime: i64, atime_nanos: u32, mtime_nanos: u32, ctime_nanos: u32,
        mode: u32, nlink: u32, uid: u32, gid: u32, rdev: u32, blksize: u32, flags: u32,
    }
    EntryOut(128) {
        node: u64, generation: u64, entry_valid: u64, attr_valid: u64, entry_valid_nanos: u32, attr_valid_nanos: u32, attr: Attr,
    }
    AttrOut(104) { attr_valid: u64, attr_valid_nanos: u32, padding: u32, attr: Attr }
    StatxTime(16) { seconds: i64, nanos: u32, padding: i32 }
    Statx(256) {
        mask: u32, blksize: u32, attributes: u64, nlink: u32, uid: u32, gid: u32, mode: u16, padding: u16, ino: u64, size: u64, blocks: u64,
        attributes_mask: u64, atime: StatxTime, btime: StatxTime, ctime: StatxTime, mtime: StatxTime, rdev_major: u32, rdev_minor: u32,
        dev_major: u32, dev_minor: u32, spare: [u64; 14],
    }
    StatxOut(288) { attr_valid: u64, attr_valid_nanos: u32, flags: u32, spare: [u64; 2], stat: Statx }
    SetattrIn(88) {
        valid: u32, padding: u32, handle: u64, size: u64, lock_owner: u64, atime: i64, mtime: i64, ctime: i64, atime_nanos: u32,
        mtime_nanos: u32, ctime_nanos: u32, mode: u32, unused4: u32, uid: u32, gid: u32, unused5: u32,
    }

    MknodIn(16) { mode: u32, rdev: u32, umask: u32, padding: u32 }
    MkdirIn(8) { mode: u32, umask: u32 }
    RenameIn(8) { new_directory: u64 }
    Rename2In(16) { new_directory: u64, flags: u32, padding: u32 }
    LinkIn(8) { node: u64 }
    CreateIn(16) { flags: i32, mode: u32, umask: u32, open_flags: u32 }

    OpenIn(8) { flags: i32, open_flags: u32 }
    OpenOut(16) { handle: u64, open_flags: u32, backing_id: u32 }
    ReleaseIn(24) { handle: u64, flags: u32, release_flags: u32, lock_owner: u64 }
    FlushIn(24) { handle: u64, unused: u32, padding: u32, lock_owner: u64 }
    FsyncIn(16) { handle: u64, flags: u32, padding: u32 }
    ReadIn(40) { handle: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32, padding: u32 }
    WriteIn(40) { handle: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: i32, padding: u32 }
    WriteOut(8) { size: u32, padding: u32 }
    LseekIn(24) { handle: u64, offset: i64, whence: i32, padding: u32 }
    LseekOut(8) { offset: u64 }
    FallocateIn(32) { handle: u64, offset: u64, length: u64, mode: i32, padding: u32 }
    CopyFileRangeIn(56) { handle: u64, offset: u64, node_out: u64, handle_out: u64, offset_out: u64, length: u64, flags: u64 }

    SetxattrIn(8) { size: u32, flags: i32 }
    GetxattrIn(8) { size: u32, padding: u32 }
    GetxattrOut(8) { size: u32, padding: u32 }
    AccessIn(8) { mask: u32, padding: u32 }
    FileLock(24) { start: u64, end: u64, kind: i32, pid: u32 }
    LockIn(48) { handle: u64, owner: u64, lock: FileLock, flags: u32, padding: u32 }
    StatfsOut(80) {
        blocks: u64, bfree: u64, bavail: u64, files: u64, ffree: u64, bsize: u32, namelen: u32, frsize: u32, padding: u32, spare: [u32; 6],
    }

    /// Before the name of an entry of a directory, which is filled up to 8 bytes.
    Dirent(24) { ino: u64, cookie: u64, name_length: u32, kind: u32 }

    ForgetIn(8) { lookups: u64 }
    BatchForgetIn(8) { count: u32, padding: u32 }
    ForgetOne(16) { node: u64, lookups: u64 }
    InterruptIn(8) { unique: u64 }

    /// The end of the header of a ring's slot: the id of the request, and the number of payload bytes that count.
    RingEntry(32) { flags: u64, commit_id: u64, payload_size: u32, padding: u32, reserved: u64 }

    InvalInode(24) { node: u64, offset: i64, length: i64 }
    InvalEntry(16) { directory: u64, name_length: u32, flags: u32 }
}

impl OutHeader {
    /// The header of an answer or notification with so many bytes behind it.
    pub(super) fn new(unique: u64, error: i32, body: usize) -> Self {
        Self {
            length: u32::try_from(size_of::<Self>() + body).unwrap_or(0),
            error,
            unique,
        }
    }
}

/// Numbers of requests (`enum fuse_opcode`) that [`Operation`](super::Operation) does not tell apart or does not have.
pub(super) const SETLKW: u32 = 33;
pub(super) const DESTROY: u32 = 38;
pub(super) const BATCH_FORGET: u32 = 42;
pub(super) const RENAME2: u32 = 45;

/// The notifications that a name, and what is kept of an inode, is out of date.
pub(super) const NOTIFY_INVAL_INODE: i32 = 2;
pub(super) const NOTIFY_INVAL_ENTRY: i32 = 3;
/// A name is taken to be old, not gone (Linux 6.2).
pub(super) const EXPIRE_ONLY: u32 = 1;

/// Bits of [`SetattrIn::valid`].
pub(super) mod valid {
    pub(in super::super) const MODE: u32 = 1;
    pub(in super::super) const UID: u32 = 1 << 1;
    pub(in super::super) const GID: u32 = 1 << 2;
    pub(in super::super) const SIZE: u32 = 1 << 3;
    pub(in super::super) const ATIME: u32 = 1 << 4;
    pub(in super::super) const MTIME: u32 = 1 << 5;
    pub(in super::super) const HANDLE: u32 = 1 << 6;
    pub(in super::super) const ATIME_NOW: u32 = 1 << 7;
    pub(in super::super) const MTIME_NOW: u32 = 1 << 8;
}

/// A sync of the content alone ([`FsyncIn::flags`]).
pub(super) const FSYNC_FDATASYNC: u32 = 1;
