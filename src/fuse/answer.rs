//! Answers to requests.

use std::time::Duration;

use fuser::{
    Errno, FopenFlags, Generation, INodeNo, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyStatfs,
    ReplyXattr,
};

use super::convert::{attr, number_only};
use crate::backing::{Kind, Stat, StatFs, Xattr};
use crate::fs::{Entry, Lasts, Shown};

/// How long the kernel may keep names and attributes that do not change by themselves: what `--cache` promises (law F5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// What does not change unheard.
    pub heard: Duration,
    /// What may change unheard.
    pub unheard: Duration,
}

/// For so long attributes are kept of a file that a program has open.
const OPEN: Duration = Duration::from_secs(1);

impl Kept {
    /// How long what `lasts` may be kept.
    fn time(self, lasts: Lasts) -> Duration {
        match lasts {
            Lasts::Not => Duration::ZERO,
            Lasts::Briefly => self.unheard,
            Lasts::Open => self.unheard.min(OPEN),
            Lasts::For(time) => time.max(self.unheard),
            Lasts::Long => self.heard,
        }
    }

    /// How long attributes may be kept. Not those of a file with set-id bits: a write takes these away below, without
    /// the kernel taking notice, and it must not run the file with them.
    fn attributes(self, lasts: Lasts, stat: &Stat) -> Duration {
        match stat.has_set_id() {
            true => Duration::ZERO,
            false => self.time(lasts),
        }
    }

    /// What the kernel may keep of a file's content from one open of it to the next, where that is right when it is opened. It
    /// asks for the attributes again when their time is over, and drops the content with them if they show a change.
    pub(super) fn pages(self) -> FopenFlags {
        if self.unheard > Duration::ZERO {
            FopenFlags::FOPEN_KEEP_CACHE
        } else {
            FopenFlags::empty()
        }
    }

    /// How long a listed entry may be kept, which has one time for its name and its attributes.
    pub(super) fn listed(self, entry: &Entry) -> Duration {
        self.time(entry.lasts)
            .min(self.attributes(entry.attributes, &entry.stat))
    }
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
pub(super) fn entry(kept: Kept, reply: ReplyEntry, result: Result<Entry, Errno>) {
    answer!(reply, result, found => {
        let attr = attr(found.number, &found.stat);
        let attributes = kept.attributes(found.attributes, &found.stat);
        reply.entry_with_ttls(&attributes, &kept.time(found.lasts), &attr, Generation(found.generation));
    });
}

/// Answers that there is no such entry, and that the kernel may keep that: an entry of inode 0.
pub(super) fn absent(kept: Kept, reply: ReplyEntry, lasts: Lasts) {
    let attr = number_only(0, Kind::Unknown);
    reply.entry_with_ttls(&Duration::ZERO, &kept.time(lasts), &attr, Generation(0));
}

/// Attributes of the inode that the kernel knows as `number`. They show that number, as a lookup does, so that a file
/// has one whichever request tells it; only the root shows its own, since 1 is the protocol's.
pub(super) fn attributes(
    kept: Kept,
    reply: ReplyAttr,
    number: INodeNo,
    result: Result<Shown, Errno>,
) {
    answer!(reply, result, Shown { stat, attributes, .. } => {
        let shown = if number == INodeNo::ROOT { stat.ino } else { number.0 };
        reply.attr(&kept.attributes(attributes, &stat), &attr(shown, &stat));
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
