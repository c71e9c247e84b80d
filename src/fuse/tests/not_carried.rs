//! What fuser cannot carry, compared with something else.

use std::mem::offset_of;
use std::time::Duration;

use fuser::FopenFlags;

use super::requests::{Asked, Part, REQUESTS, Values};
use super::{Judge, Results, TYPES, differences, errno, int_at, long_at, our_answer, parse, put};
use crate::backing::{Kind, SetTime, Time};
use crate::fs::Listed;
use crate::fuse::fuse_call::FuseCall;
use crate::fuse::layout::{EntryOut, Statx, StatxOut, StatxTime};
use crate::fuse::operation::Operation;
use crate::fuse::reply::Reply;

/// Values that differ from each other.
fn values() -> Values {
    let words = (1..38).map(|number| number * 0x0101_0101).collect();
    Values::new(words, vec![b"name".to_vec()], b"value".to_vec())
}

/// The results of an operation that succeeds.
fn results() -> Results {
    Results {
        errno: None,
        ..Results::new(&mut values())
    }
}

/// `struct fuse_statx` is `struct statx` up to the number of the device.
#[test]
fn the_answer_to_statx_is_laid_out_as_struct_statx() {
    macro_rules! same_offsets {
        ($($ours:ident $theirs:ident),+ $(,)?) => {
            $(assert_eq!(offset_of!(Statx, $ours), offset_of!(libc::statx, $theirs));)+
        };
    }
    same_offsets!(
        mask stx_mask, blksize stx_blksize, attributes stx_attributes, nlink stx_nlink, uid stx_uid, gid stx_gid, mode stx_mode,
        ino stx_ino, size stx_size, blocks stx_blocks, attributes_mask stx_attributes_mask, atime stx_atime, btime stx_btime,
        ctime stx_ctime, mtime stx_mtime, rdev_major stx_rdev_major, rdev_minor stx_rdev_minor, dev_major stx_dev_major,
        dev_minor stx_dev_minor,
    );
    assert_eq!(
        offset_of!(StatxTime, seconds),
        offset_of!(libc::statx_timestamp, tv_sec)
    );
    assert_eq!(
        offset_of!(StatxTime, nanos),
        offset_of!(libc::statx_timestamp, tv_nsec)
    );
    assert_eq!((size_of::<Statx>(), size_of::<StatxOut>()), (256, 288));
    assert_eq!(offset_of!(StatxOut, stat), 32);

    let results = results();
    let answer = our_answer(9, |reply| put(&FuseCall::Statx, &results, reply));
    assert_eq!((answer.len(), errno(&answer)), (16 + 288, 0));
    let kept = results.kept.attributes;
    assert_eq!(long_at(&answer, 16), kept.as_secs());
    assert_eq!(int_at(&answer, 16 + 8), kept.subsec_nanos());
    let (stat, start) = (&results.stat, 16 + 32);
    let int = |offset| int_at(&answer, start + offset);
    let long = |offset| long_at(&answer, start + offset);
    let time = |offset| Time {
        secs: long(offset).cast_signed(),
        nanos: int(offset + offset_of!(libc::statx_timestamp, tv_nsec)),
    };
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    assert_eq!(int(offset_of!(libc::statx, stx_mask)), mask);
    assert_eq!(int(offset_of!(libc::statx, stx_blksize)), stat.blksize);
    assert_eq!(int(offset_of!(libc::statx, stx_nlink)), stat.nlink);
    assert_eq!(int(offset_of!(libc::statx, stx_uid)), stat.uid);
    assert_eq!(int(offset_of!(libc::statx, stx_gid)), stat.gid);
    assert_eq!(int(offset_of!(libc::statx, stx_mode)), stat.mode);
    assert_eq!(
        long(offset_of!(libc::statx, stx_ino)),
        results.numbers.shown
    );
    assert_eq!(long(offset_of!(libc::statx, stx_size)), stat.size);
    assert_eq!(long(offset_of!(libc::statx, stx_blocks)), stat.blocks);
    assert_eq!(time(offset_of!(libc::statx, stx_atime)), stat.atime);
    assert_eq!(Some(time(offset_of!(libc::statx, stx_btime))), stat.btime);
    assert_eq!(time(offset_of!(libc::statx, stx_ctime)), stat.ctime);
    assert_eq!(time(offset_of!(libc::statx, stx_mtime)), stat.mtime);
    let (major, minor) = (rustix::fs::major(stat.rdev), rustix::fs::minor(stat.rdev));
    assert_eq!(int(offset_of!(libc::statx, stx_rdev_major)), major);
    assert_eq!(int(offset_of!(libc::statx, stx_rdev_minor)), minor);
}

/// fuser takes nanoseconds away from the seconds before 1970, where the kernel adds them.
#[test]
fn times_before_1970_are_taken_as_the_kernel_means_them() {
    let setattr = REQUESTS.iter().find(|request| request.1 == 4).unwrap();
    for (secs, nanos) in [
        (-1_i64, 500_000_000_u32),
        (i64::MIN, 1),
        (-86_400, 999_999_999),
    ] {
        let mut asked = Asked::new(4, setattr.2, &mut values());
        // `valid` has FATTR_ATIME alone; atime is the fifth field of `struct fuse_setattr_in`.
        asked.octets[40..44].copy_from_slice(&16_u32.to_ne_bytes());
        asked.octets[72..80].copy_from_slice(&secs.to_ne_bytes());
        asked.octets[96..100].copy_from_slice(&nanos.to_ne_bytes());
        let call = FuseCall::of(Operation::Setattr, parse(&asked.octets)).unwrap();
        let FuseCall::Setattr { change, handle } = call else {
            panic!("{call:?}");
        };
        assert_eq!(change.atime, SetTime::At(Time { secs, nanos }));
        assert_eq!(
            (change.mtime, change.mode, handle),
            (SetTime::Omit, None, None)
        );
    }
}

/// fuser has no answer for a name that is not there but as an entry with attributes.
#[test]
fn an_absent_name_is_answered_with_a_timeout_and_nothing_else() {
    let kept = Duration::new(5, 7);
    let answer = our_answer(9, |reply| {
        reply.absence(kept).unwrap();
        Ok(())
    });
    assert_eq!((answer.len(), errno(&answer)), (16 + 128, 0));
    let mut expected = [0; 128];
    expected[16..24].copy_from_slice(&5_u64.to_ne_bytes());
    expected[32..36].copy_from_slice(&7_u32.to_ne_bytes());
    assert_eq!(answer[16..], expected);
}

/// fuser takes a `BackingId` of its own, which it makes and closes by ioctls of its own.
#[test]
fn a_file_that_the_kernel_serves_is_answered_with_its_backing_file() {
    let flags = FopenFlags::FOPEN_PASSTHROUGH | FopenFlags::FOPEN_DIRECT_IO;
    let answer = our_answer(9, |reply| {
        reply.opened(3, flags, 8).unwrap();
        Ok(())
    });
    assert_eq!(answer.len(), 16 + 16);
    assert_eq!(long_at(&answer, 16), 3);
    assert_eq!((int_at(&answer, 24), int_at(&answer, 28)), (0b1000_0001, 8));
}

/// fuser's list has a type for each entry, and with READDIRPLUS an inode: the kernel would look `.` and `..` up by it.
#[test]
fn an_entry_whose_type_is_not_told_has_none_and_one_without_attributes_no_inode() {
    let listed = Listed {
        number: 6,
        cookie: 7,
        kind: Kind::Unknown,
        name: b"..",
        entry: None,
    };
    let mut room = [0xEE; 400];
    let mut reply = Reply::new(&mut room);
    assert!(!reply.listed(&listed, None));
    assert!(!reply.listed(&listed, Some(EntryOut::default())));
    assert_eq!(reply.length, 32 + 128 + 32);
    assert_eq!(room[32..160], [0; 128]);
    for start in [0, 160] {
        assert_eq!((long_at(&room, start), long_at(&room, start + 8)), (6, 7));
        assert_eq!(
            (int_at(&room, start + 16), int_at(&room, start + 20)),
            (2, 0)
        );
        assert_eq!(room[start + 24..start + 32], *b"..\0\0\0\0\0\0");
    }
}

/// A request that has fewer arguments than its number says is refused by both. fuser says ENOSYS, after which the kernel never
/// sends that operation again (`fc->no_open` and others): ours is EIO.
#[test]
fn a_request_that_is_cut_short_is_refused_by_both() {
    let judge = Judge::new();
    let mut count = 0;
    for (operation, opcode, parts) in REQUESTS {
        // fuser panics where data is short, and we need no arguments of some.
        let is_taken = !matches!(
            operation,
            Operation::Getattr
                | Operation::Statx
                | Operation::Tmpfile
                | Operation::Interrupt
                | Operation::Ioctl
                | Operation::Bmap
                | Operation::Poll
        );
        if parts.is_empty() || parts.contains(&Part::Data) || !is_taken {
            continue;
        }
        // A FORGET of no inode is whole without padding.
        let asked = Asked::new(*opcode, parts, &mut values()).cut_short();
        let refused = FuseCall::of(*operation, parse(&asked.octets)).map(drop);
        assert_eq!(refused, Err(rustix::io::Errno::IO), "{operation:?}");
        judge.send(&asked.octets);
        assert_eq!(errno(&judge.answer()), libc::ENOSYS, "{operation:?}");
        count += 1;
    }
    assert!(count > 30, "{count}");
    judge.end();
}

/// A difference that is meant is one: the fields are not equal anyway.
#[test]
fn each_difference_from_fuser_is_one_of_bytes() {
    let results = results();
    let kept = results.kept;
    assert_ne!(results.numbers.node, results.numbers.shown);
    assert_ne!(kept.name.as_secs(), kept.attributes.as_secs());
    assert_ne!(kept.name.subsec_nanos(), kept.attributes.subsec_nanos());
    assert!(TYPES.contains(&(results.stat.mode & libc::S_IFMT)));
    let lookup = differences(&FuseCall::Lookup(b""), &results, 128);
    assert_eq!(lookup.len(), 1);
    assert!(differences(&FuseCall::Getattr, &results, 104).is_empty());
}
