use super::*;
use crate::backing::scratch::{Scratch, name, scratch};

#[test]
fn kinds_and_mode_bits_are_one_table() {
    let all = [
        Kind::File,
        Kind::Dir,
        Kind::Symlink,
        Kind::Fifo,
        Kind::Socket,
        Kind::CharDevice,
        Kind::BlockDevice,
    ];
    for kind in all {
        assert_eq!(Kind::from_mode(kind as u32 | 0o7777), kind);
        let d_type = u8::try_from(kind as u32 >> 12).unwrap();
        assert_eq!(Kind::from_dirent(d_type), kind);
    }
    assert_eq!(Kind::from_mode(Kind::Unknown as u32), Kind::Unknown);
    // d_type of a whiteout, as some filesystems of other systems have it, and one that means nothing
    assert_eq!(Kind::from_dirent(14), Kind::Unknown);
    assert_eq!(Kind::from_dirent(0xFF), Kind::Unknown);
    assert_eq!(Kind::from_dirent(libc::DT_UNKNOWN), Kind::Unknown);
}

#[test]
fn attributes_are_those_that_the_standard_library_sees() {
    use std::os::unix::fs::MetadataExt;
    let Scratch { dir, temp } = scratch();
    let fd = dir.create(&name(b"f"), libc::O_RDWR, 0o640).unwrap();
    rustix::io::pwrite(&fd, &[7; 5000], 0).unwrap();
    let seen = Stat::of(&fd).unwrap();
    let std = std::fs::metadata(temp.path().join("f")).unwrap();
    assert_eq!(
        (seen.dev, seen.ino, seen.mode, seen.nlink),
        (std.dev(), std.ino(), std.mode(), 1)
    );
    assert_eq!(
        (seen.uid, seen.gid, seen.size, seen.blocks),
        (std.uid(), std.gid(), 5000, std.blocks())
    );
    assert_eq!(u64::from(seen.blksize), std.blksize());
    let time = |secs, nanos: i64| Time {
        secs,
        nanos: u32::try_from(nanos).unwrap(),
    };
    assert_eq!(seen.mtime, time(std.mtime(), std.mtime_nsec()));
    assert_eq!(seen.ctime, time(std.ctime(), std.ctime_nsec()));
    assert_eq!(seen.atime, time(std.atime(), std.atime_nsec()));
    assert!(seen.btime.is_none_or(|birth| birth <= seen.mtime));
    assert_eq!(seen.mnt_id, Stat::of(&dir).unwrap().mnt_id);
}

#[test]
fn a_filesystem_tells_its_size() {
    let Scratch { dir, temp: _temp } = scratch();
    let seen = stat_filesystem(&dir).unwrap();
    assert!(seen.f_bsize >= 512 && seen.f_frsize >= 512);
    assert!(seen.f_bfree <= seen.f_blocks && seen.f_bavail <= seen.f_bfree);
    assert!(seen.f_ffree <= seen.f_files);
    assert!(seen.f_namemax >= 255);
}
