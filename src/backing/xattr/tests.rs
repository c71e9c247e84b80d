use rustix::thread::CapabilitySet;

use super::*;
use crate::backing::Dir;
use crate::backing::scratch::{Scratch, can, errno, name, scratch};

/// The length or the value of an attribute, asked for with room for `limit` bytes.
fn value(fd: impl AsFd, key: &[u8], limit: usize) -> io::Result<(usize, Vec<u8>)> {
    let mut room = vec![0; limit];
    let length = get(fd, key, &mut room)?;
    room.truncate(length);
    Ok((length, room))
}

/// A file, a directory and a symlink to the file, each held.
fn kinds(dir: &Dir) -> Vec<std::os::fd::OwnedFd> {
    let names = [name(b"file\xE9"), name(b"dir\n"), name(b"link")];
    drop(dir.create(&names[0], libc::O_RDWR, 0o600).unwrap());
    dir.mkdir(&names[1], 0o700).unwrap();
    dir.symlink(&names[2], b"file\xE9").unwrap();
    names.iter().map(|name| dir.child(name).unwrap()).collect()
}

#[test]
fn values_are_set_asked_listed_and_removed() {
    let Scratch { dir, temp: _temp } = scratch();
    let fds = kinds(&dir);
    for fd in &fds[..2] {
        let key = b"user.k\xE9";
        assert_eq!(errno(value(fd, key, 10)), libc::ENODATA);
        assert_eq!(list(fd, &mut []).unwrap(), 0);
        set(fd, key, b"a\0b", libc::XATTR_CREATE).unwrap();
        assert_eq!(errno(set(fd, key, b"", libc::XATTR_CREATE)), libc::EEXIST);
        assert_eq!(value(fd, key, 0).unwrap(), (3, Vec::new()));
        assert_eq!(value(fd, key, 3).unwrap(), (3, b"a\0b".to_vec()));
        assert_eq!(value(fd, key, 70_000).unwrap(), (3, b"a\0b".to_vec()));
        assert_eq!(errno(value(fd, key, 2)), libc::ERANGE);
        assert_eq!(list(fd, &mut []).unwrap(), 8);
        assert_eq!(whole(|names| list(fd, names)).unwrap(), b"user.k\xE9\0");
        assert_eq!(errno(list(fd, &mut [0; 7])), libc::ERANGE);
        set(fd, key, b"", libc::XATTR_REPLACE).unwrap();
        assert_eq!(value(fd, key, 3).unwrap(), (0, Vec::new()));
        remove(fd, key).unwrap();
        assert_eq!(errno(remove(fd, key)), libc::ENODATA);
        assert_eq!(errno(set(fd, key, b"", libc::XATTR_REPLACE)), libc::ENODATA);
    }
}

/// Law F2.
#[test]
fn a_symlink_has_attributes_of_its_own() {
    let Scratch { dir, temp: _temp } = scratch();
    let fds = kinds(&dir);
    set(&fds[0], b"user.of-target", b"1", 0).unwrap();
    assert_eq!(list(&fds[2], &mut [0; 100]).unwrap(), 0);
    assert_eq!(errno(set(&fds[2], b"user.x", b"1", 0)), libc::EPERM);
    for key in [&b"trusted.x"[..], b"security.x"] {
        let done = set(&fds[2], key, b"1", 0);
        if can(CapabilitySet::SYS_ADMIN) {
            done.unwrap();
            assert_eq!(value(&fds[2], key, 9).unwrap(), (1, b"1".to_vec()));
            assert_eq!(errno(value(&fds[0], key, 9)), libc::ENODATA);
            remove(&fds[2], key).unwrap();
        } else {
            assert_eq!(errno(done), libc::EPERM);
        }
    }
}

#[test]
fn trusted_and_security_are_for_the_privileged() {
    let Scratch { dir, temp: _temp } = scratch();
    for fd in &kinds(&dir)[..2] {
        for key in [&b"trusted.t\xE9"[..], b"security.t\xE9"] {
            let done = set(fd, key, b"value", 0);
            if can(CapabilitySet::SYS_ADMIN) {
                done.unwrap();
                assert_eq!(value(fd, key, 0).unwrap(), (5, Vec::new()));
                remove(fd, key).unwrap();
            } else {
                assert_eq!(errno(done), libc::EPERM);
            }
        }
    }
}

#[test]
fn a_descriptor_open_for_real_and_an_inode_without_a_name_will_do() {
    let Scratch { dir, temp: _temp } = scratch();
    let fd = dir.create(&name(b"f"), libc::O_RDWR, 0o600).unwrap();
    dir.unlink(&name(b"f")).unwrap();
    set(&fd, b"user.x", b"1", 0).unwrap();
    assert_eq!(value(&fd, b"user.x", 9).unwrap(), (1, b"1".to_vec()));
    assert_eq!(errno(set(&fd, b"user.\0", b"1", 0)), libc::EINVAL);
    assert_eq!(errno(set(&fd, b"nowhere.x", b"1", 0)), libc::EOPNOTSUPP);
}

#[test]
fn an_answer_is_as_long_as_its_room_at_most() {
    let mut room = [b'-'; 3];
    assert_eq!(answer(b"ab", &mut []), Ok(2));
    assert_eq!(answer(b"abcd", &mut room), Err(Errno::RANGE));
    assert_eq!(answer(b"ab", &mut room), Ok(2));
    assert_eq!(&room, b"ab-");
    assert_eq!(answer(b"abc", &mut room), Ok(3));
}
