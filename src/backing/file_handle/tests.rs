use std::collections::HashSet;

use rustix::thread::CapabilitySet;

use super::*;
use crate::backing::scratch::{Scratch, can, errno, name, scratch};
use crate::backing::{Stat, file};

#[test]
fn a_handle_is_small_and_keeps_its_bytes() {
    assert_eq!(size_of::<FileHandle>(), 32);
    for length in 0..=MAX_HANDLE {
        let bytes: Vec<u8> = (1..=u8::try_from(length).unwrap()).collect();
        let handle = FileHandle::from_parts(-3, &bytes).unwrap();
        assert_eq!((handle.kind(), handle.as_bytes()), (-3, &bytes[..]));
        assert_eq!(FileHandle::from_raw(&handle.to_raw()), handle);
    }
    assert_eq!(FileHandle::from_parts(1, &[0; 129]), None);
    let zeros: HashSet<_> = (0..40)
        .map(|length| FileHandle::from_parts(1, &[0; 40][..length]).unwrap())
        .collect();
    assert_eq!(zeros.len(), 40);
}

#[test]
fn a_handle_finds_its_inode_by_any_name_and_none() {
    let Scratch { dir, temp: _temp } = scratch();
    let (a, b) = (name(b"a\xE9"), name(b"b\n"));
    drop(dir.create(&a, libc::O_RDWR, 0o600).unwrap());
    dir.symlink(&b, b"a").unwrap();
    let (held, link) = (dir.child(&a).unwrap(), dir.child(&b).unwrap());
    let handle = FileHandle::of(&held).unwrap().unwrap();
    let of_link = FileHandle::of(&link).unwrap().unwrap();
    let of_dir = FileHandle::of(&dir).unwrap().unwrap();
    assert_ne!(handle, of_link);
    assert_ne!(handle, of_dir);
    dir.rename(&a, &dir, &name(b"c"), 0).unwrap();
    assert_eq!(FileHandle::of(&held).unwrap().as_ref(), Some(&handle));

    let mount = file::reopen(&dir, libc::O_RDONLY).unwrap();
    let Some(opened) = handle.open(&mount, libc::O_PATH).unwrap() else {
        assert!(!can(CapabilitySet::DAC_READ_SEARCH));
        return;
    };
    let stat = Stat::of(opened).unwrap();
    assert_eq!(stat, Stat::of(&held).unwrap());
    let by_file = file::reopen(&held, libc::O_RDONLY).unwrap();
    assert_eq!(errno(handle.open(&dir, libc::O_PATH)), libc::EBADF);
    let opened = of_link.open(&by_file, libc::O_PATH).unwrap().unwrap();
    assert!(Stat::of(&opened).unwrap().is_symlink());
    assert_eq!(errno(of_link.open(&mount, libc::O_RDONLY)), libc::ELOOP);
    let opened = of_dir.open(&mount, libc::O_RDONLY | libc::O_DIRECTORY);
    assert_eq!(
        Stat::of(opened.unwrap().unwrap()).unwrap().ino,
        Stat::of(&dir).unwrap().ino
    );

    dir.unlink(&name(b"c")).unwrap();
    assert!(handle.open(&mount, libc::O_PATH).unwrap().is_some());
    drop((held, by_file));
    assert_eq!(errno(handle.open(&mount, libc::O_PATH)), libc::ESTALE);
}

#[test]
fn a_number_used_again_has_another_handle() {
    let Scratch { dir, temp: _temp } = scratch();
    let f = name(b"f");
    let mut handles = HashSet::new();
    for _ in 0..50 {
        drop(dir.create(&f, libc::O_RDWR, 0o600).unwrap());
        let handle = FileHandle::of(dir.child(&f).unwrap()).unwrap().unwrap();
        assert!(handles.insert(handle));
        dir.unlink(&f).unwrap();
    }
}

#[test]
fn a_filesystem_without_handles_has_none() {
    let proc = crate::backing::Dir::open_root("/proc/self/fd".as_ref()).unwrap();
    assert_eq!(FileHandle::of(&proc).unwrap(), None);
}

#[test]
fn a_handle_from_nowhere_is_stale_or_not_for_us() {
    let Scratch { dir, temp: _temp } = scratch();
    let mount = file::reopen(&dir, libc::O_RDONLY).unwrap();
    let handle = FileHandle::from_parts(1, &[0xFF; 8]).unwrap();
    match handle.open(&mount, libc::O_PATH) {
        Ok(opened) => assert!(opened.is_none() && !can(CapabilitySet::DAC_READ_SEARCH)),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ESTALE)),
    }
}

#[test]
fn an_inode_that_is_going_away_is_stale_and_not_out_of_memory() {
    let open_at = |success: usize| {
        let count = std::cell::Cell::new(0);
        open_living(|| {
            count.set(count.get() + 1);
            match count.get() == success {
                true => Ok(success),
                false => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
            }
        })
    };
    assert_eq!(open_at(3).unwrap(), 3);
    assert_eq!(errno(open_at(usize::MAX)), libc::ESTALE);
    let denied = || -> io::Result<()> { Err(io::Error::from_raw_os_error(libc::EACCES)) };
    assert_eq!(errno(open_living(denied)), libc::EACCES);
}
