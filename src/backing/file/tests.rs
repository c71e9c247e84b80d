use rustix::thread::CapabilitySet;

use super::*;
use crate::backing::scratch::{Scratch, can, errno, name, scratch};
use crate::backing::{Stat, Time, stat_filesystem};

const NEW: i32 = libc::O_RDWR | libc::O_EXCL;

#[test]
fn reopen_gives_the_inode_whatever_became_of_its_name() {
    let Scratch { dir, temp: _temp } = scratch();
    let (f, g) = (name(b"f\xE9"), name(b"g\n"));
    drop(dir.create(&f, NEW, 0o600).unwrap());
    let held = dir.child(&f).unwrap();
    dir.rename(&f, &dir, &g, 0).unwrap();
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_PATH;
    let fd = reopen(&held, flags).unwrap();
    assert_eq!(write(&fd, b"hello", Place::At(0)).unwrap(), 5);
    dir.unlink(&g).unwrap();
    let again = reopen(&held, libc::O_RDONLY).unwrap();
    assert_eq!(Stat::of(&again).unwrap(), Stat::of(&fd).unwrap());
    assert_eq!(errno(write(&again, b"x", Place::At(0))), libc::EBADF);
    let closed = rustix::io::fcntl_getfd(&again).unwrap();
    assert!(closed.contains(rustix::io::FdFlags::CLOEXEC));
    drop(reopen(&held, libc::O_WRONLY | libc::O_TRUNC).unwrap());
    assert_eq!(Stat::of(&held).unwrap().size, 0);
}

#[test]
fn reopen_refuses_what_could_lead_elsewhere_wait_or_act() {
    let Scratch { dir, temp: _temp } = scratch();
    let n = name(b"n");
    dir.symlink(&n, b"/etc").unwrap();
    assert_eq!(errno(reopen(dir.child(&n).unwrap(), 0)), libc::ELOOP);
    dir.unlink(&n).unwrap();
    for kind in [libc::S_IFIFO, libc::S_IFSOCK] {
        dir.mknod(&n, kind | 0o600, 0).unwrap();
        assert_eq!(
            errno(reopen(dir.child(&n).unwrap(), libc::O_RDONLY)),
            libc::ENXIO
        );
        dir.unlink(&n).unwrap();
    }
    dir.mkdir(&n, 0o700).unwrap();
    let held = dir.child(&n).unwrap();
    assert!(reopen(&held, libc::O_RDONLY).is_ok());
    assert_eq!(errno(reopen(&held, libc::O_RDWR)), libc::EISDIR);
}

#[test]
fn reads_end_with_the_file_and_appends_go_to_its_end() {
    let Scratch { dir, temp: _temp } = scratch();
    let fd = dir.create(&name(b"f"), NEW, 0o600).unwrap();
    assert_eq!(write(&fd, b"0123456789", Place::At(0)).unwrap(), 10);
    let mut buffer = [0; 16];
    assert_eq!(read_at(&fd, &mut buffer, 4).unwrap(), 6);
    assert_eq!(&buffer[..6], b"456789");
    assert_eq!(read_at(&fd, &mut buffer, 10).unwrap(), 0);
    assert_eq!(read_at(&fd, &mut [], 0).unwrap(), 0);
    assert_eq!(write(&fd, b"", Place::At(0)).unwrap(), 0);
    assert_eq!(errno(read_at(&fd, &mut buffer, u64::MAX)), libc::EINVAL);
    let append = reopen(&fd, libc::O_WRONLY | libc::O_APPEND).unwrap();
    assert_eq!(write(&append, b"ab", Place::At(0)).unwrap(), 2);
    assert_eq!(read_at(&fd, &mut buffer, 8).unwrap(), 4);
    assert_eq!(&buffer[..4], b"89ab");
    flush(&fd).unwrap();
    fsync(&fd, Sync::Data).unwrap();
    fsync(&fd, Sync::All).unwrap();
    assert_eq!(
        errno(fsync(dir.child(&name(b"f")).unwrap(), Sync::All)),
        libc::EBADF
    );
    let full = rustix::fs::open("/dev/full", OFlags::RDWR, Mode::empty()).unwrap();
    assert_eq!(errno(write(&full, b"x", Place::At(0))), libc::ENOSPC);
}

#[test]
fn a_write_that_runs_out_of_room_tells_how_far_it_came() {
    let Ok(limited) = limited_tmpfs() else {
        assert!(!can(CapabilitySet::SYS_ADMIN));
        return;
    };
    let dir = crate::backing::Dir::new(limited);
    let fd = dir.create(&name(b"f"), NEW, 0o600).unwrap();
    let done = write(&fd, &[7; 1 << 20], Place::At(0)).unwrap();
    assert!(done > 0 && done <= 65536, "{done}");
    let place = u64::try_from(done).unwrap();
    assert_eq!(
        errno(write(&fd, &[7; 4096], Place::At(place))),
        libc::ENOSPC
    );
}

/// A filesystem of 64 KiB that is mounted nowhere.
fn limited_tmpfs() -> rustix::io::Result<OwnedFd> {
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
    let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, "size", "64k")?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
}

#[test]
fn holes_are_punched_found_and_copied() {
    let Scratch { dir, temp: _temp } = scratch();
    let fd = dir.create(&name(b"f"), NEW, 0o600).unwrap();
    let big = vec![b'x'; 1 << 20];
    assert_eq!(write(&fd, &big, Place::At(0)).unwrap(), big.len());
    let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    fallocate(&fd, punch, 1 << 18, 1 << 18).unwrap();
    assert_eq!(seek(&fd, 0, libc::SEEK_HOLE).unwrap(), 1 << 18);
    assert_eq!(seek(&fd, 1 << 18, libc::SEEK_DATA).unwrap(), 1 << 19);
    assert_eq!(errno(seek(&fd, 1 << 20, libc::SEEK_DATA)), libc::ENXIO);
    assert_eq!(errno(seek(&fd, 0, 99)), libc::EINVAL);
    fallocate(&fd, 0, 1 << 20, 4096).unwrap();
    assert_eq!(Stat::of(&fd).unwrap().size, (1 << 20) + 4096);
    assert_eq!(errno(fallocate(&fd, 0, 0, 0)), libc::EINVAL);

    let to = dir.create(&name(b"to"), NEW, 0o600).unwrap();
    assert_eq!(copy_range(&fd, 10, &to, 3, 100).unwrap(), 100);
    assert_eq!(Stat::of(&to).unwrap().size, 103);
    assert_eq!(copy_range(&fd, 1 << 30, &to, 0, 100).unwrap(), 0);
}

#[test]
fn size_is_set_by_an_open_file_and_by_a_held_inode() {
    let Scratch { dir, temp: _temp } = scratch();
    let n = name(b"f\xE9");
    let fd = dir.create(&n, NEW, 0o600).unwrap();
    let held = dir.child(&n).unwrap();
    truncate_open(&fd, 100).unwrap();
    truncate(&held, 42).unwrap();
    assert_eq!(Stat::of(&held).unwrap().size, 42);
    assert_eq!(errno(truncate_open(&held, 1)), libc::EBADF);
    assert_eq!(errno(truncate(&held, u64::MAX)), libc::EINVAL);
    assert_eq!(errno(truncate(&dir, 0)), libc::EISDIR);
    let link = name(b"link");
    dir.symlink(&link, b"f\xE9").unwrap();
    assert_eq!(errno(truncate(dir.child(&link).unwrap(), 0)), libc::EINVAL);
    assert_eq!(Stat::of(&held).unwrap().size, 42);
}

/// Law F2.
#[test]
fn attributes_of_a_symlink_are_its_own() {
    let Scratch { dir, temp: _temp } = scratch();
    let (f, link) = (name(b"f"), name(b"link"));
    drop(dir.create(&f, NEW, 0o600).unwrap());
    dir.symlink(&link, b"f").unwrap();
    let (file, held) = (dir.child(&f).unwrap(), dir.child(&link).unwrap());
    let before = Stat::of(&file).unwrap();
    assert_eq!(errno(chmod(&held, 0o777)), libc::EOPNOTSUPP);
    let time = Time {
        secs: -5,
        nanos: 999_999_999,
    };
    set_times(&held, SetTime::At(time), SetTime::At(time)).unwrap();
    assert_eq!(Stat::of(&held).unwrap().mtime, time);
    assert_eq!(readlink(&held).unwrap(), b"f");
    assert_eq!(errno(readlink(&file)), libc::ENOENT);
    let (uid, gid) = (before.uid, before.gid);
    if can(CapabilitySet::CHOWN) {
        chown(&held, Some(1234), Some(5678)).unwrap();
        let stat = Stat::of(&held).unwrap();
        assert_eq!((stat.uid, stat.gid), (1234, 5678));
    } else {
        chown(&held, Some(uid), Some(gid)).unwrap();
        // EINVAL: not mapped in this user namespace
        let refused = errno(chown(&held, Some(uid + 1), None));
        assert!(matches!(refused, libc::EPERM | libc::EINVAL), "{refused}");
    }
    assert_eq!(Stat::of(&file).unwrap(), before);
}

#[test]
fn modes_owners_and_times_are_set_through_a_held_inode() {
    let Scratch { dir, temp: _temp } = scratch();
    let n = name(b"f\xE9");
    let fd = dir.create(&n, NEW, 0o600).unwrap();
    let held = dir.child(&n).unwrap();
    chmod(&held, 0o4751).unwrap();
    assert_eq!(Stat::of(&held).unwrap().mode, libc::S_IFREG | 0o4751);
    chmod(&fd, 0o640).unwrap();
    chmod(&dir, 0o711).unwrap();
    assert_eq!(Stat::of(&dir).unwrap().mode & 0o7777, 0o711);
    chown(&held, None, None).unwrap();
    assert_eq!(errno(chown(&held, Some(u32::MAX), None)), libc::EINVAL);
    assert_eq!(errno(chown(&held, None, Some(u32::MAX))), libc::EINVAL);

    let old = Time {
        secs: 1_000_000_000,
        nanos: 123_456_789,
    };
    set_times(&held, SetTime::At(old), SetTime::At(old)).unwrap();
    set_times(&held, SetTime::Omit, SetTime::Now).unwrap();
    let stat = Stat::of(&held).unwrap();
    assert_eq!(stat.atime, old);
    assert!(stat.mtime.secs > old.secs + 500_000_000);
    for nanos in [1_000_000_000, (1 << 30) - 1, (1 << 30) - 2] {
        let bad = SetTime::At(Time { secs: 0, nanos });
        assert_eq!(errno(set_times(&held, bad, SetTime::Omit)), libc::EINVAL);
    }
    // What is free changes while others write.
    let which = |fd: &OwnedFd| {
        let stat = stat_filesystem(fd).unwrap();
        (stat.f_fsid, stat.f_blocks, stat.f_frsize, stat.f_namemax)
    };
    assert_eq!(which(&held), which(&fd));
}
