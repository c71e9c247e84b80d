//! Answers to requests.

use std::time::Duration;

use fuser::{Errno, Generation, INodeNo, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyXattr};

use super::convert::attr;
use crate::backing::Xattr;
use crate::fs::{Entry, Shown};

/// How long the kernel may keep names and attributes.
const KEPT: Duration = Duration::from_secs(1);

/// How long a name may be kept.
pub(super) fn entry_kept(entry: &Entry) -> Duration {
    if entry.lasting { KEPT } else { Duration::ZERO }
}

/// How long attributes may be kept.
fn attributes_kept(steady: bool) -> Duration {
    if steady { KEPT } else { Duration::ZERO }
}

/// How long a listed entry may be kept, which has one time for its name and its attributes.
pub(super) fn listed_kept(entry: &Entry) -> Duration {
    entry_kept(entry).min(attributes_kept(entry.steady))
}

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
pub(super) fn entry(reply: ReplyEntry, result: Result<Entry, Errno>) {
    answer!(reply, result, found => {
        let kept = entry_kept(&found);
        let attr = attr(found.number, &found.stat);
        reply.entry_with_ttls(&attributes_kept(found.steady), &kept, &attr, Generation(found.generation));
    });
}

/// Attributes of the inode that the kernel knows as `number`. They show that number, as a lookup does, so that a file
/// has one whichever request tells it; only the root shows its own, since 1 is the protocol's.
pub(super) fn attributes(reply: ReplyAttr, number: INodeNo, result: Result<Shown, Errno>) {
    answer!(reply, result, Shown { stat, steady } => {
        let shown = if number == INodeNo::ROOT { stat.ino } else { number.0 };
        reply.attr(&attributes_kept(steady), &attr(shown, &stat));
    });
}

/// Answers that it is done.
pub(super) fn empty(reply: ReplyEmpty, result: Result<(), Errno>) {
    answer!(reply, result, () => reply.ok());
}

/// Answers with an extended attribute, a list of their names, or the size of either.
pub(super) fn xattr(reply: ReplyXattr, result: Result<Xattr, Errno>) {
    answer!(reply, result, answer => match answer {
        Xattr::Size(size) => reply.size(u32::try_from(size).unwrap_or(u32::MAX)),
        Xattr::Data(data) => reply.data(&data),
    });
}
