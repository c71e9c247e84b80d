//! Answers to requests.

use std::time::Duration;

use fuser::{
    Errno, Generation, INodeNo, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyStatfs, ReplyXattr,
};

use super::convert::{attr, number_only};
use crate::backing::{Kind, StatFs, Xattr};
use crate::coherence::Kept;
use crate::fs::{Entry, Shown};

/// Answers with `$value` made from the result, or with its error.
macro_rules! answer {
    ($reply:ident, $result:expr, $value:pat => $answer:expr) => {
        match $result {
            Ok($value) => $answer,
            Err(errno) => $reply.error(errno),
        }
    };
}

/// Answers with an entry.
pub(super) fn entry(reply: ReplyEntry, result: Result<(Entry, Kept), Errno>) {
    answer!(reply, result, (found, kept) => {
        let attr = attr(found.number, &found.stat);
        let generation = Generation(found.inode.generation());
        reply.entry_with_ttls(&kept.attributes, &kept.name, &attr, generation);
    });
}

/// Answers that there is no such entry, and that the kernel may keep that for so long: an entry of inode 0.
pub(super) fn absent(reply: ReplyEntry, kept: Duration) {
    let attr = number_only(0, Kind::Unknown);
    reply.entry_with_ttls(&Duration::ZERO, &kept, &attr, Generation(0));
}

/// Attributes of the inode that the kernel knows as `number`, and how long it may keep them. They show that number, as a lookup does,
/// so that a file has one whichever request tells it; only the root shows its own, since 1 is the protocol's.
pub(super) fn attributes(
    reply: ReplyAttr,
    number: INodeNo,
    result: Result<(Shown, Duration), Errno>,
) {
    answer!(reply, result, (Shown { stat, .. }, kept) => {
        let shown = if number == INodeNo::ROOT { stat.ino } else { number.0 };
        reply.attr(&kept, &attr(shown, &stat));
    });
}

/// Answers that it is done.
pub(super) fn empty(reply: ReplyEmpty, result: Result<(), Errno>) {
    answer!(reply, result, () => reply.ok());
}

/// Answers with the size and limits of the filesystem.
pub(super) fn statfs(reply: ReplyStatfs, result: Result<StatFs, Errno>) {
    answer!(reply, result, stat => {
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        reply.statfs(
            stat.blocks,
            stat.bfree,
            stat.bavail,
            stat.files,
            stat.ffree,
            narrow(stat.bsize),
            narrow(stat.namelen),
            narrow(stat.frsize),
        );
    });
}

/// Answers with an extended attribute, a list of their names, or the size of either.
pub(super) fn xattr(reply: ReplyXattr, result: Result<Xattr, Errno>) {
    answer!(reply, result, answer => match answer {
        Xattr::Size(size) => reply.size(u32::try_from(size).unwrap_or(u32::MAX)),
        Xattr::Data(data) => reply.data(&data),
    });
}
