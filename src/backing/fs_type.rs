//! Properties of a filesystem by its type, the `f_type` of statfs(2).

use std::io;
use std::os::fd::AsFd;

/// Overlayfs, `OVERLAYFS_SUPER_MAGIC`.
const OVERLAYFS: u64 = 0x794c_7630;
/// Ecryptfs, `ECRYPTFS_SUPER_MAGIC`.
const ECRYPTFS: u64 = 0xf15f;
/// FUSE, `FUSE_SUPER_MAGIC`.
const FUSE: u64 = 0x6573_5546;

/// Local filesystems that have nothing to report when a file is closed. They do no `flush`, and take quota and room
/// when data is written. From `linux/magic.h` and the filesystems' own headers.
const LOCAL: &[u64] = &[
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // bcachefs
    0xe0f5_e1e2, // EROFS
    0x7371_7368, // squashfs
    0x4d44,      // FAT
    0x2011_bab0, // exFAT
    0x7366_746e, // NTFS
];

/// Filesystems whose servers check the rights of callers and may have other rules for it than this machine's kernel. From
/// `linux/magic.h` and the filesystems' own headers.
const SERVED: &[u64] = &[
    0x6969,      // NFS
    0x517b,      // SMB
    0xfe53_4d42, // SMB2
    0xff53_4d42, // CIFS
    0x00c3_6400, // Ceph
    0x6b41_4653, // AFS
    0x5346_414f, // AFS, the kernel's older one
    0x0102_1997, // 9p
    0x0bd0_0bd0, // Lustre
    0x7375_7245, // Coda
    0x1983_0326, // BeeGFS
    0x4750_4653, // GPFS
    0x2003_0528, // OrangeFS
    FUSE,        // GlusterFS, sshfs and others
];

/// Filesystems on a disk that other machines use too: the kernel of each checks rights for it.
const CLUSTERED: &[u64] = &[
    0x0116_1970, // GFS2
    0x7461_636f, // OCFS2
];

/// A filesystem, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsType(u64);

impl FsType {
    /// The type of the filesystem that `fd` is on; `O_PATH` will do.
    ///
    /// # Errors
    /// Those of fstatfs(2).
    pub fn of(fd: impl AsFd) -> io::Result<Self> {
        let magic = rustix::fs::fstatfs(fd)?.f_type;
        // 32 bits, which some machines hand out as a negative number.
        Ok(Self(u64::try_from(magic & 0xffff_ffff).unwrap_or(0)))
    }

    /// Is it one of this machine alone? fanotify(7) reports all changes of it then, and closing a file reports nothing. `false` where
    /// that is not known: NFS, SMB and FUSE write late.
    pub fn is_local(self) -> bool {
        LOCAL.contains(&self.0)
    }

    /// Do other machines change it, or is it likely that they do?
    pub fn is_shared(self) -> bool {
        SERVED.contains(&self.0) || CLUSTERED.contains(&self.0)
    }

    /// Does it check the rights of callers itself, by the ids that a request comes with?
    pub fn checks_rights(self) -> bool {
        SERVED.contains(&self.0)
    }

    /// Can it lie on another filesystem, which the kernel counts as a layer?
    pub fn is_stacked(self) -> bool {
        [OVERLAYFS, ECRYPTFS, FUSE].contains(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_may_report_on_close_are_not_taken_for_quiet() {
        // From linux/magic.h: NFS, SMB, SMB2, Ceph, AFS, 9p, and what lies on others.
        for magic in [
            0x6969,
            0x517b,
            0xfe53_4d42,
            0x00c3_6400,
            0x6b41_4653,
            0x0102_1997,
            FUSE,
            OVERLAYFS,
            ECRYPTFS,
        ] {
            assert!(!FsType(magic).is_local(), "{magic:#x}");
        }
    }

    #[test]
    fn the_type_is_that_of_the_filesystem_of_the_descriptor() {
        let proc = std::fs::File::open("/proc").unwrap();
        assert_eq!(FsType::of(&proc).unwrap(), FsType(0x9fa0));
        assert!(!FsType::of(&proc).unwrap().is_stacked());
    }
}
