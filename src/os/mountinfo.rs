//! The table of mounts, as `/proc/self/mountinfo` tells it. Reading it asks no filesystem anything.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Statx, StatxAttributes, StatxFlags};

use crate::backing::Dir;

/// The filesystem type that `/proc/mounts` shows, and that `mount -t` and `findmnt -t` take.
pub const FS_TYPE: &str = "fuse.utf8fs";

/// A mount that this process can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountInfo {
    /// The mount's number. The kernel gives it to another mount once this one is gone.
    pub id: u64,
    /// The number of the mount that this one is mounted on.
    pub parent: u64,
    /// The mount point, from this process's root.
    pub mount_point: Vec<u8>,
    /// The mount's flags, with commas between them: `ro`, `nosuid` and so on.
    pub flags: Vec<u8>,
    /// The filesystem's type with its subtype, such as `fuse.utf8fs`.
    pub fs_type: Vec<u8>,
    /// The source; the kernel says `none` where nothing was given.
    pub source: Vec<u8>,
    /// The filesystem's own options, with commas between them.
    pub options: Vec<u8>,
}

impl MountInfo {
    /// The mount point as a path.
    pub fn path(&self) -> PathBuf {
        OsString::from_vec(self.mount_point.clone()).into()
    }

    /// Is it one of utf8fs?
    pub fn is_ours(&self) -> bool {
        self.fs_type == FS_TYPE.as_bytes()
    }

    /// Returns the user and the group whose FUSE mount it is.
    pub fn owner(&self) -> Option<(u32, u32)> {
        let id = |word| self.option(word)?.parse().ok();
        Some((id("user_id=")?, id("group_id=")?))
    }

    /// Has the mount the flag of this word?
    pub fn has_flag(&self, word: &str) -> bool {
        let mut flags = self.flags.split(|&octet| octet == b',');
        flags.any(|flag| flag == word.as_bytes())
    }

    /// Returns the rest of the first of the filesystem's own options that begins with `word`. `None` where none does,
    /// or it is not UTF-8.
    pub fn option(&self, word: &str) -> Option<&str> {
        let mut options = self.options.split(|&octet| octet == b',');
        let rest = options.find_map(|option| option.strip_prefix(word.as_bytes()))?;
        str::from_utf8(rest).ok()
    }
}

/// Reads the mounts of this process's mount namespace, oldest first.
///
/// # Errors
/// `/proc` is not mounted, or cannot be read.
pub fn read() -> io::Result<Vec<MountInfo>> {
    Ok(parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// Reads the mounts below `directory`, an absolute path without symlinks.
///
/// # Errors
/// As [`read`].
pub fn read_inside(directory: &Path) -> io::Result<Vec<MountInfo>> {
    let mut mounts = read()?;
    mounts.retain(|mount| {
        let point = mount.path();
        point != directory && point.starts_with(directory)
    });
    Ok(mounts)
}

/// Reads the mounts of utf8fs that this process can reach, oldest first; of several on one path the topmost.
///
/// # Errors
/// As [`read`].
pub fn ours() -> io::Result<Vec<MountInfo>> {
    let mut ours: Vec<MountInfo> = Vec::new();
    for mount in read()?.into_iter().filter(MountInfo::is_ours) {
        ours.retain(|other| other.mount_point != mount.mount_point);
        ours.push(mount);
    }
    Ok(ours)
}

/// Returns the mount that `fd` lies in, and whether it is the root of it. Asks no filesystem anything. `None` if the mount is
/// out of reach of this process.
///
/// # Errors
/// As [`read`], and those of statx(2).
pub fn mount_of(fd: &OwnedFd) -> io::Result<Option<(MountInfo, bool)>> {
    // What is asked for comes unasked. Who may not look at the mount, as anybody at another user's, must ask for nothing.
    let status = statx_cached(fd, StatxFlags::empty())?;
    let mut mounts = read()?.into_iter();
    let mount = mounts.find(|mount| mount.id == status.stx_mnt_id);
    let is_root = status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    Ok(mount.map(|mount| (mount, is_root)))
}

/// The mount whose root `path` is, if it is one, with that root. Symlinks are followed; no filesystem is asked, so that a
/// dead or hanging mount does no harm.
///
/// # Errors
/// `path` cannot be opened as a directory; those of [`mount_of`].
pub fn already_mounted(path: &Path) -> io::Result<Option<(OwnedFd, MountInfo)>> {
    let root = Dir::open_root(path)?.into_fd();
    let found = mount_of(&root)?.filter(|(_, is_root)| *is_root);
    Ok(found.map(|(mount, _)| (root, mount)))
}

/// Looks at a descriptor without asking its filesystem.
pub(crate) fn statx_cached(fd: &OwnedFd, mask: StatxFlags) -> rustix::io::Result<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(fd, c"", flags, mask)
}

/// Takes the table apart; a line of another shape than proc(5) describes is left out.
fn parse(table: &[u8]) -> Vec<MountInfo> {
    table.split(|&b| b == b'\n').filter_map(line).collect()
}

/// `id parent major:minor root mount-point options [optional...] - type source options`.
fn line(line: &[u8]) -> Option<MountInfo> {
    let mut fields = line.split(|&b| b == b' ');
    Some(MountInfo {
        id: number(fields.next()?)?,
        parent: number(fields.next()?)?,
        // Behind the device and what of its filesystem is mounted.
        mount_point: unescape(fields.nth(2)?),
        flags: unescape(fields.next()?),
        // Any number of optional fields stands before the lone hyphen.
        fs_type: unescape(fields.by_ref().skip_while(|field| *field != b"-").nth(1)?),
        source: unescape(fields.next()?),
        options: unescape(fields.next().unwrap_or_default()),
    })
}

fn number(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Undoes the kernel's `\ooo` (three octal digits); any other backslash stays as it is.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut parts = field.split(|&octet| octet == b'\\');
    let mut out = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let octet = part.get(..3).and_then(|digits| {
            let digits = str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        out.push(octet.unwrap_or(b'\\'));
        out.extend(part.iter().skip(if octet.is_some() { 3 } else { 0 }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_taken_as_bytes_with_its_octal_escapes_undone() {
        let table = b"36 35 98:0 /mnt1 /a\\040b\\011\\134\xff rw,noatime master:1 shared:2 - fuse.utf8fs /s\\043\\012 rw,user_id=65534,group_id=0\n\
            not a line\n\
            27 1 0:25 / / rw - ext4 /dev/vda rw,discard\n";
        assert_eq!(
            parse(table),
            [
                MountInfo {
                    id: 36,
                    parent: 35,
                    mount_point: b"/a b\t\\\xff".to_vec(),
                    flags: b"rw,noatime".to_vec(),
                    fs_type: b"fuse.utf8fs".to_vec(),
                    source: b"/s#\n".to_vec(),
                    options: b"rw,user_id=65534,group_id=0".to_vec(),
                },
                MountInfo {
                    id: 27,
                    parent: 1,
                    mount_point: b"/".to_vec(),
                    flags: b"rw".to_vec(),
                    fs_type: b"ext4".to_vec(),
                    source: b"/dev/vda".to_vec(),
                    options: b"rw,discard".to_vec(),
                },
            ]
        );
    }

    #[test]
    fn an_option_is_found_by_its_word() {
        let [mount] = parse(b"1 2 0:3 / /m rw - fuse s rw,user_id=7,allow_other,x=\xff")
            .try_into()
            .unwrap();
        let rows = [
            ("user_id=", Some("7")),
            ("allow_other", Some("")),
            ("group_id=", None),
            ("x=", None),
        ];
        for (word, value) in rows {
            assert_eq!(mount.option(word), value, "{word}");
        }
    }

    #[test]
    fn an_empty_source_is_an_empty_field() {
        let [mount] = parse(b"1 2 0:3 / /m rw - tmpfs  rw").try_into().unwrap();
        assert_eq!(mount.source, b"");
    }

    #[test]
    fn a_backslash_without_three_octal_digits_stays() {
        for field in [b"\\" as &[u8], b"\\0", b"\\08x", b"\\400", b"a\\"] {
            assert_eq!(unescape(field), field);
        }
    }

    #[test]
    fn the_root_is_in_this_process_table() {
        assert!(read().unwrap().iter().any(|m| m.mount_point == b"/"));
    }
}
