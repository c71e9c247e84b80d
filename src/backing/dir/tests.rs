use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::CapabilitySet;

use super::*;
use crate::backing::scratch::{Scratch, can, errno, name, odd_names, scratch};
use crate::backing::{Entries, FileHandle, Kind, xattr};

const NEW: i32 = libc::O_RDWR | libc::O_EXCL;

#[test]
fn every_operation_takes_names_that_are_not_utf8() {
    let Scratch { dir, temp: _temp } = scratch();
    for odd in odd_names() {
        let other = name(b"other\xFF");
        assert!(!dir.exists(&odd).unwrap());
        drop(dir.create(&odd, NEW, 0o640).unwrap());
        assert_eq!(errno(dir.create(&odd, NEW, 0o640)), libc::EEXIST);
        let held = dir.child(&odd).unwrap();
        let stat = dir.stat_child(&odd).unwrap();
        assert_eq!(stat, Stat::of(&held).unwrap());
        assert!(stat.is_file() && !stat.is_dir() && !stat.is_symlink());
        dir.link(&held, &other).unwrap();
        assert_eq!(dir.stat_child(&other).unwrap().nlink, 2);
        dir.unlink(&odd).unwrap();
        dir.rename(&other, &dir, &odd, 0).unwrap();
        assert!(dir.exists(&odd).unwrap() && !dir.exists(&other).unwrap());
        dir.unlink(&odd).unwrap();
        dir.mkdir(&odd, 0o700).unwrap();
        assert_eq!(errno(dir.unlink(&odd)), libc::EISDIR);
        dir.rmdir(&odd).unwrap();
        dir.mknod(&odd, libc::S_IFIFO | 0o600, 0).unwrap();
        assert_eq!(dir.stat_child(&odd).unwrap().kind(), Kind::Fifo);
        dir.unlink(&odd).unwrap();
        dir.symlink(&odd, b"to\xE9").unwrap();
        assert_eq!(file::readlink(dir.child(&odd).unwrap()).unwrap(), b"to\xE9");
        dir.unlink(&odd).unwrap();
        assert_eq!(errno(dir.stat_child(&odd)), libc::ENOENT);
    }
}

#[test]
fn a_name_too_long_for_the_filesystem_does_not_exist() {
    let Scratch { dir, temp: _temp } = scratch();
    let long = name(&[b'x'; 256]);
    assert!(!dir.exists(&long).unwrap());
    assert_eq!(errno(dir.child(&long)), libc::ENAMETOOLONG);
    assert_eq!(errno(dir.mkdir(&long, 0o700)), libc::ENAMETOOLONG);
}

/// Law F2.
#[test]
fn no_operation_follows_a_symlink() {
    let Scratch { dir, temp: _temp } = scratch();
    let (link, target) = (name(b"link"), name(b"target"));
    dir.mkdir(&target, 0o700).unwrap();
    dir.symlink(&link, b"target").unwrap();

    assert!(dir.stat_child(&link).unwrap().is_symlink());
    let held = dir.child(&link).unwrap();
    assert!(Stat::of(&held).unwrap().is_symlink());
    assert_eq!(
        errno(Dir::new(&held).mkdir(&name(b"in"), 0o700)),
        libc::ENOTDIR
    );
    assert_eq!(errno(dir.rmdir(&link)), libc::ENOTDIR);
    let dangling = name(b"dangling");
    dir.symlink(&dangling, b"made-by-following").unwrap();
    assert_eq!(
        errno(dir.create(&dangling, libc::O_RDWR, 0o600)),
        libc::ELOOP
    );
    assert_eq!(errno(dir.create(&dangling, NEW, 0o600)), libc::EEXIST);
    assert!(!dir.exists(&name(b"made-by-following")).unwrap());

    let second = name(b"second");
    dir.link(&held, &second).unwrap();
    assert_eq!(
        dir.stat_child(&second).unwrap().ino,
        Stat::of(&held).unwrap().ino
    );
    dir.unlink(&link).unwrap();
    assert!(dir.stat_child(&target).unwrap().is_dir());
}

#[test]
fn open_root_follows_the_administrators_symlink_and_refuses_files() {
    let Scratch { dir, temp } = scratch();
    dir.mkdir(&name(b"real"), 0o700).unwrap();
    dir.symlink(&name(b"alias"), b"real").unwrap();
    drop(dir.create(&name(b"file"), NEW, 0o600).unwrap());
    let root = Dir::open_root(&temp.path().join("alias")).unwrap();
    let real = dir.stat_child(&name(b"real")).unwrap();
    assert_eq!(Stat::of(&root).unwrap().ino, real.ino);
    assert_eq!(
        errno(Dir::open_root(&temp.path().join("file"))),
        libc::ENOTDIR
    );
    assert_eq!(Stat::of(root.into_fd()).unwrap().ino, real.ino);
}

#[test]
fn rename_passes_its_flags_through() {
    let Scratch { dir, temp: _temp } = scratch();
    let (a, b) = (name(b"a\xE9"), name(b"b\xE9"));
    drop(dir.create(&a, NEW, 0o600).unwrap());
    dir.mkdir(&b, 0o700).unwrap();
    let noreplace = dir.rename(&a, &dir, &b, libc::RENAME_NOREPLACE);
    assert_eq!(errno(noreplace), libc::EEXIST);
    dir.rename(&a, &dir, &b, libc::RENAME_EXCHANGE).unwrap();
    assert!(dir.stat_child(&a).unwrap().is_dir() && dir.stat_child(&b).unwrap().is_file());
    assert_eq!(errno(dir.rename(&a, &dir, &b, 1 << 20)), libc::EINVAL);

    let inside = Dir::new(dir.child(&a).unwrap());
    match dir.rename(&b, &inside, &b, libc::RENAME_WHITEOUT) {
        Ok(()) => {
            let left = dir.stat_child(&b).unwrap();
            assert_eq!((left.kind(), left.rdev), (Kind::CharDevice, 0));
        }
        Err(error) => {
            let errno = error.raw_os_error().unwrap();
            assert!(matches!(errno, libc::EINVAL | libc::EPERM), "{errno}");
            dir.rename(&b, &inside, &b, 0).unwrap();
        }
    }
    assert!(inside.stat_child(&b).unwrap().is_file());
}

#[test]
fn an_inode_without_a_name_gets_no_new_one() {
    let Scratch { dir, temp: _temp } = scratch();
    let fd = dir.create(&name(b"f"), NEW, 0o600).unwrap();
    dir.unlink(&name(b"f")).unwrap();
    assert_eq!(errno(dir.link(&fd, &name(b"g"))), libc::ENOENT);
    assert_eq!(Stat::of(&fd).unwrap().nlink, 0);
}

#[test]
fn mknod_makes_regular_files_sockets_and_for_root_devices() {
    let Scratch { dir, temp: _temp } = scratch();
    dir.mknod(&name(b"plain"), 0o600, 0).unwrap();
    assert!(dir.stat_child(&name(b"plain")).unwrap().is_file());
    dir.mknod(&name(b"sock"), libc::S_IFSOCK | 0o600, 0)
        .unwrap();
    assert_eq!(dir.stat_child(&name(b"sock")).unwrap().kind(), Kind::Socket);
    // Major 259, minor 70000: both over eight bits.
    let device = rustix::fs::makedev(259, 70000);
    let made = dir.mknod(&name(b"dev"), libc::S_IFBLK | 0o600, device);
    if can(CapabilitySet::MKNOD) {
        made.unwrap();
        let stat = dir.stat_child(&name(b"dev")).unwrap();
        assert_eq!((stat.kind(), stat.rdev), (Kind::BlockDevice, device));
    } else {
        assert_eq!(errno(made), libc::EPERM);
    }
}

/// Runs `test` in a mount namespace of its own, which ends with it; not at all if it may have none.
fn in_own_mounts(test: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if sys::unshare_mounts().is_err() {
                return false;
            }
            let recursively = MountPropagationFlags::REC;
            rustix::mount::mount_change("/", recursively | MountPropagationFlags::PRIVATE).unwrap();
            test();
            true
        });
        thread.join().unwrap()
    })
}

/// A new tmpfs over `path`, with a file `mark` in it.
fn mount_tmpfs(path: &Path) {
    rustix::mount::mount("none", path, "tmpfs", MountFlags::empty(), None).unwrap();
    std::fs::write(path.join("mark"), b"").unwrap();
}

/// Law F2: mounting over the backing directory itself works.
#[test]
fn a_private_clone_sees_neither_mounts_inside_nor_later_mounts_over_it() {
    let Scratch { dir, temp } = scratch();
    let (inner, later, mark) = (name(b"inner"), name(b"later"), name(b"mark"));
    dir.mkdir(&inner, 0o700).unwrap();
    dir.mkdir(&later, 0o700).unwrap();
    let path = temp.path();
    let tried = in_own_mounts(|| {
        rustix::mount::mount_bind(path, path).unwrap();
        rustix::mount::mount_change(path, MountPropagationFlags::SHARED).unwrap();
        mount_tmpfs(&path.join("inner"));

        let plain = Dir::open_root(path).unwrap();
        let clone = Dir::new(private_clone(&plain).unwrap());
        let root = Stat::of(&clone).unwrap();
        assert_eq!(root.ino, Stat::of(&plain).unwrap().ino);
        assert_ne!(root.mnt_id, Stat::of(&plain).unwrap().mnt_id);

        let through = |dir: &Dir| Dir::new(dir.child(&inner).unwrap());
        assert!(through(&plain).exists(&mark).unwrap());
        assert!(!through(&clone).exists(&mark).unwrap());
        assert_eq!(Stat::of(through(&clone)).unwrap().mnt_id, root.mnt_id);

        mount_tmpfs(&path.join("later"));
        mount_tmpfs(path);
        assert!(Dir::open_root(path).unwrap().exists(&mark).unwrap());
        assert!(!clone.exists(&mark).unwrap());
        let held = Dir::new(clone.child(&later).unwrap());
        assert!(!held.exists(&mark).unwrap());
        assert_eq!(Stat::of(&held).unwrap().mnt_id, root.mnt_id);
        assert!(
            Dir::new(plain.child(&later).unwrap())
                .exists(&mark)
                .unwrap()
        );
    });
    if !tried {
        assert_eq!(errno(private_clone(&dir)), libc::EPERM);
    }
}

#[test]
fn a_private_clone_takes_every_operation() {
    let Scratch { dir, temp: _temp } = scratch();
    let clone = match private_clone(&dir) {
        Ok(fd) => Dir::new(fd),
        Err(error) => {
            assert!(!can(CapabilitySet::SYS_ADMIN));
            let errno = error.raw_os_error().unwrap();
            assert!(matches!(errno, libc::EPERM | libc::EINVAL), "{errno}");
            return;
        }
    };
    let (a, b, sub) = (name(b"a\xE9"), name(b"b\n"), name(b"sub"));
    clone.mkdir(&sub, 0o755).unwrap();
    let below = Dir::new(clone.child(&sub).unwrap());
    let file = below.create(&a, NEW, 0o600).unwrap();
    assert_eq!(file::write(&file, b"text", file::Place::At(0)).unwrap(), 4);
    below
        .rename(&a, &clone, &b, libc::RENAME_NOREPLACE)
        .unwrap();
    let held = clone.child(&b).unwrap();
    clone.link(&held, &a).unwrap();
    below.link(&file, &a).unwrap();
    let again = file::reopen(&held, libc::O_RDONLY).unwrap();
    let mut text = [0; 8];
    assert_eq!(file::read_at(&again, &mut text, 0).unwrap(), 4);
    xattr::set(&held, b"user.x", b"1", 0).unwrap();
    file::chmod(&held, 0o640).unwrap();
    file::truncate(&held, 2).unwrap();
    let handle = FileHandle::of(&held).unwrap().unwrap();
    let mount = file::reopen(&clone, libc::O_RDONLY).unwrap();
    let Some(opened) = handle.open(&mount, libc::O_PATH).unwrap() else {
        assert!(!can(CapabilitySet::DAC_READ_SEARCH));
        return;
    };
    assert_eq!(Stat::of(&opened).unwrap(), Stat::of(&held).unwrap());
    clone.link(&opened, &name(b"by-handle")).unwrap();
    assert_eq!(
        Stat::of(&mount).unwrap().mnt_id,
        Stat::of(&clone).unwrap().mnt_id
    );
    let mut entries = Entries::open(&clone, 0).unwrap();
    let mut count = 0;
    while entries.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 2 + 4);

    // The way round through the other mount is another device to the kernel.
    let plain = dir.child(&b).unwrap();
    assert_eq!(errno(clone.link(&plain, &name(b"x"))), libc::EXDEV);
    assert_eq!(errno(dir.rename(&b, &clone, &name(b"x"), 0)), libc::EXDEV);

    // What was opened below outlives the clone.
    let fd = clone.as_fd().try_clone_to_owned().unwrap();
    drop(clone);
    Dir::new(&fd).mkdir(&name(b"dup"), 0o700).unwrap();
    drop(fd);
    below.mkdir(&name(b"after"), 0o700).unwrap();
    assert!(below.exists(&name(b"after")).unwrap());
    assert_eq!(file::read_at(&again, &mut text, 0).unwrap(), 2);
    handle.open(&mount, libc::O_PATH).unwrap().unwrap();
    file::reopen(&opened, libc::O_RDWR).unwrap();
}
