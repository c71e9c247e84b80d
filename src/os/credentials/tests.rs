use super::*;
use crate::backing::scratch::{Scratch, can, errno, name, scratch};
use crate::backing::{Dir, Stat, file, xattr};

const NEW: i32 = libc::O_RDWR | libc::O_EXCL;

/// Runs `test` on a thread of its own, which takes what it has taken on with it.
fn on_a_thread<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(test).join().unwrap())
}

/// What these tests can do about callers: in a user namespace of our own there are no others.
fn acting() -> Privilege {
    if can(NEEDED | CapabilitySet::SETPCAP) {
        Privilege::Root
    } else {
        Privilege::User
    }
}

/// Owner, group and permission bits of a new file.
fn made(dir: &Dir, bytes: &[u8], mode: u32) -> (u32, u32, u32) {
    let stat = Stat::of(dir.create(&name(bytes), NEW, mode).unwrap()).unwrap();
    (stat.uid, stat.gid, stat.mode & 0o7777)
}

#[test]
fn new_inodes_are_the_callers_on_this_thread_only() {
    let Scratch { dir, temp: _temp } = scratch();
    let privilege = acting();
    let own = Stat::of(&dir).unwrap();
    let before = made(&dir, b"before", 0o666);
    on_a_thread(|| {
        if privilege == Privilege::Root {
            keep_capabilities().unwrap();
        }
        for (caller, umask) in [(1000, 0o027), (1000, 0o027), (2000, 0o077), (0, 0)] {
            become_caller(privilege, caller, caller + 1, umask).unwrap();
            let owner = match privilege {
                Privilege::Root => (caller, caller + 1),
                Privilege::User => (own.uid, own.gid),
            };
            let expected = (owner.0, owner.1, 0o666 & !umask);
            let n = format!("{caller}-{umask}");
            assert_eq!(made(&dir, n.as_bytes(), 0o666), expected);
            dir.unlink(&name(n.as_bytes())).unwrap();
        }
        on_a_thread(|| assert_eq!(UMASK.get(), None));
    });
    assert_eq!(made(&dir, b"after", 0o666), before);
}

#[test]
fn capabilities_stay_only_if_they_are_kept() {
    let Scratch { dir, temp: _temp } = scratch();
    file::chmod(&dir, 0o700).unwrap();
    if acting() == Privilege::User {
        if let Err(error) = on_a_thread(keep_capabilities) {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        }
        return;
    }
    on_a_thread(|| {
        become_caller(Privilege::Root, 1000, 1000, 0).unwrap();
        assert_eq!(errno(dir.create(&name(b"f"), NEW, 0o600)), libc::EACCES);
        assert_eq!(Privilege::of_thread(), Privilege::User);
    });
    on_a_thread(|| {
        keep_capabilities().unwrap();
        become_caller(Privilege::Root, 1000, 1000, 0).unwrap();
        assert_eq!(Privilege::of_thread(), Privilege::Root);
        assert_eq!(made(&dir, b"f", 0o600), (1000, 1000, 0o600));
        // A thread made by this one is alike.
        on_a_thread(|| {
            become_caller(Privilege::Root, 3000, 3000, 0).unwrap();
            assert_eq!(made(&dir, b"g", 0o600), (3000, 3000, 0o600));
        });
    });
    assert_eq!(Privilege::of_thread(), Privilege::Root);
}

#[test]
fn an_id_that_cannot_be_taken_on_is_an_error() {
    on_a_thread(|| {
        let nobody = become_caller(Privilege::Root, u32::MAX, 0, 0o022);
        assert_eq!(errno(nobody), libc::EPERM);
        if !can(CapabilitySet::SETUID) {
            let other = become_caller(Privilege::Root, 4321, 4321, 0o022);
            assert_eq!(errno(other), libc::EPERM);
        }
    });
}

/// Law F1: the group of a setgid directory, and a default ACL in place of the umask, as the kernel has it.
#[test]
fn the_directory_shapes_new_inodes_as_natively() {
    let Scratch { dir, temp: _temp } = scratch();
    let privilege = acting();
    let own = Stat::of(&dir).unwrap();
    // Without CAP_FSETID the bit would not stay for a group that we are not in.
    let group = if can(CapabilitySet::CHOWN | CapabilitySet::FSETID) {
        7777
    } else {
        own.gid
    };
    file::chown(&dir, None, Some(group)).unwrap();
    file::chmod(&dir, 0o2777).unwrap();
    // default:user::rwx, default:group::rw-, default:other::---
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, perm) in [(1_u16, 7_u16), (4, 6), (0x20, 0)] {
        acl.extend(tag.to_le_bytes());
        acl.extend(perm.to_le_bytes());
        acl.extend(u32::MAX.to_le_bytes());
    }
    on_a_thread(|| {
        if privilege == Privilege::Root {
            keep_capabilities().unwrap();
        }
        become_caller(privilege, 1000, 1000, 0o077).unwrap();
        assert_eq!(made(&dir, b"by-umask", 0o666).1, group);
        assert_eq!(made(&dir, b"by-umask-2", 0o666).2, 0o600);
        dir.mkdir(&name(b"sub"), 0o777).unwrap();
        let sub = dir.stat_child(&name(b"sub")).unwrap();
        assert_eq!((sub.gid, sub.mode & 0o7777), (group, 0o2700));
        let masked = match xattr::set(&dir, b"system.posix_acl_default", &acl, 0) {
            Ok(()) => 0o660,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
                0o600
            }
        };
        assert_eq!(made(&dir, b"by-acl", 0o666).2, masked);
    });
}

#[test]
fn set_id_bits_fall_on_write_unless_fsetid_is_raised() {
    let Scratch { dir, temp: _temp } = scratch();
    let bits = |fd: &std::os::fd::OwnedFd| Stat::of(fd).unwrap().mode & 0o7000;
    if acting() == Privilege::User || !can(CapabilitySet::FSETID) {
        on_a_thread(|| {
            limit_capabilities(KEPT).unwrap();
            drop(raise_fsetid().unwrap());
            let sets = rustix::thread::capabilities(None).unwrap();
            assert!(!sets.effective.contains(CapabilitySet::FSETID));
        });
        return;
    }
    on_a_thread(|| {
        keep_capabilities().unwrap();
        limit_capabilities(KEPT).unwrap();
        assert_eq!(Privilege::of_thread(), Privilege::Root);
        let sets = rustix::thread::capabilities(None).unwrap();
        assert_eq!(sets.effective, WORKING);
        assert_eq!(sets.permitted, WORKING | CapabilitySet::FSETID);

        become_caller(Privilege::Root, 1000, 1000, 0).unwrap();
        let fd = dir.create(&name(b"f"), NEW, 0o755).unwrap();
        file::chmod(&fd, 0o6755).unwrap();
        assert_eq!(bits(&fd), 0o6000);
        file::write(&fd, b"x", file::Place::At(0)).unwrap();
        assert_eq!(bits(&fd), 0);

        // A group that the thread is not in, as a caller's supplementary group is.
        file::chown(&fd, None, Some(2000)).unwrap();
        assert!(clears_set_ids());
        file::chmod(&fd, 0o2755).unwrap();
        assert_eq!(bits(&fd), 0);
        let raised = raise_fsetid_for(0o2755).unwrap();
        file::chmod(&fd, 0o2755).unwrap();
        drop(raised);
        assert_eq!(bits(&fd), 0o2000);
        assert!(raise_fsetid_for(0o755).unwrap().is_none());
        assert!(clears_set_ids());
        let raised = raise_fsetid().unwrap();
        assert!(!clears_set_ids());
        file::write(&fd, b"x", file::Place::At(0)).unwrap();
        assert_eq!(bits(&fd), 0o2000);
        drop(raised);
        assert!(clears_set_ids());
        file::write(&fd, b"x", file::Place::At(0)).unwrap();
        assert_eq!(bits(&fd), 0);
    });
}

#[test]
fn the_limit_on_descriptors_is_raised_to_the_hard_one() {
    let raised = raise_nofile().unwrap();
    let now = rustix::process::getrlimit(Resource::Nofile);
    assert_eq!(now.current, now.maximum);
    let limit = now.maximum.map(|limit| usize::try_from(limit).unwrap());
    assert_eq!(raised, limit.unwrap_or(SOME_DESCRIPTORS));
    assert_eq!(raise_nofile().unwrap(), raised);
}

#[test]
fn set_group_id_is_kept_by_members_of_the_group_and_those_with_the_capability() {
    let status = |groups: &str, effective: &str| {
        format!("Name:\tx\nGid:\t5\t5\t5\t5\nGroups:\t{groups} \nCapEff:\t{effective}\n")
    };
    let none = "0000000000000000";
    // groups, capabilities, kept for group 7?
    let rows = [
        ("5 7 9", none, true),
        ("5 77 9", none, false),
        ("", none, false),
        ("", "000001ffffffffff", true),
        ("", "0000000000000010", true),
        ("", "000001ffffffffef", false),
    ];
    for (groups, effective, kept) in rows {
        let status = status(groups, effective);
        assert_eq!(status_keeps_sgid(status.as_bytes(), 7), kept, "{status}");
    }
    assert!(!status_keeps_sgid(b"", 7));
    // No process has this number.
    assert!(may_keep_sgid(u32::MAX, 7, 7));
    assert!(!may_keep_sgid(u32::MAX, 5, 7));
}
