//! What tells a filesystem from all others, wherever it is mounted.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Stat, file, stat_filesystem, sys};

/// Links to block devices, named by the UUID of what is on them, which udev makes.
const BY_UUID: &str = "/dev/disk/by-uuid";

/// Returns the UUID of the filesystem that an open directory lies in, as the kernel knows it, else as udev knows that of its device.
/// `None` where neither does.
pub fn filesystem_uuid(directory: impl AsFd) -> Option<String> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let readable = file::reopen(&directory, flags).ok();
    let kernel_uuid = readable.and_then(|fd| sys::filesystem_uuid(&fd).ok());
    match kernel_uuid.filter(|uuid| uuid.iter().any(|octet| *octet != 0)) {
        Some(uuid) => Some(written_uuid(&uuid)),
        None => uuid_of_device(Path::new(BY_UUID), Stat::of(&directory).ok()?.dev),
    }
}

/// Returns the `f_fsid` of statfs(2) of the filesystem; `None` if it is zero.
///
/// # Errors
/// Those of fstatfs(2).
pub fn filesystem_number(directory: impl AsFd) -> io::Result<Option<u64>> {
    let number = stat_filesystem(directory)?.f_fsid;
    Ok((number != 0).then_some(number))
}

/// Writes a UUID as RFC 9562 does.
fn written_uuid(uuid: &[u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(*uuid));
    for dash in [20, 16, 12, 8] {
        text.insert(dash, '-');
    }
    text
}

/// Finds the link to a block device in the directory of links that udev makes.
fn uuid_of_device(links: &Path, device: u64) -> Option<String> {
    for entry in fs::read_dir(links).ok()?.flatten() {
        let is_device = fs::metadata(entry.path()).is_ok_and(|found| found.rdev() == device);
        if is_device {
            return entry.file_name().into_string().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_in_five_groups() {
        let uuid = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes();
        let expected = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(written_uuid(&uuid), expected);
    }

    #[test]
    fn the_device_of_a_uuid_is_found_by_its_number() {
        let links = tempfile::tempdir().unwrap();
        let link = links.path().join("1A2B-3C4D");
        std::os::unix::fs::symlink("/dev/null", link).unwrap();
        let device = fs::metadata("/dev/null").unwrap().rdev();
        let found = uuid_of_device(links.path(), device);
        assert_eq!(found.as_deref(), Some("1A2B-3C4D"));
        assert_eq!(uuid_of_device(links.path(), device + 1), None);
    }

    /// A directory that is reached in another way is in the same filesystem.
    #[test]
    fn directories_of_one_filesystem_have_one_uuid() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("below")).unwrap();
        let open = |path: &Path| super::super::Dir::open_root(path).unwrap().into_fd();
        let (above, below) = (
            open(directory.path()),
            open(&directory.path().join("below")),
        );
        assert_eq!(filesystem_uuid(&above), filesystem_uuid(&below));
        let numbers = (filesystem_number(&above), filesystem_number(&below));
        assert_eq!(numbers.0.unwrap(), numbers.1.unwrap());
    }
}
