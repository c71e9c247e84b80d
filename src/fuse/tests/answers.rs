//! Answers by fuser, each of the same results.

use fuser::{
    Errno, FileHandle, Generation, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    ReplyXattr,
};

use super::Results;
use super::conversions::attributes;

/// Answers with an error, if the results are one.
macro_rules! or_fail {
    ($results:ident, $reply:ident) => {
        if let Some(errno) = $results.errno {
            return $reply.error(Errno::from_i32(errno));
        }
    };
}

pub(super) use or_fail;

pub(super) fn answer_empty(results: &Results, reply: ReplyEmpty) {
    or_fail!(results, reply);
    reply.ok();
}

pub(super) fn answer_entry(results: &Results, reply: ReplyEntry) {
    or_fail!(results, reply);
    reply.entry_with_ttls(
        &results.kept.attributes,
        &results.kept.name,
        &attributes(results, results.numbers.node),
        Generation(results.numbers.generation),
    );
}

pub(super) fn answer_attributes(results: &Results, reply: ReplyAttr) {
    or_fail!(results, reply);
    let attributes = attributes(results, results.numbers.shown);
    reply.attr(&results.kept.attributes, &attributes);
}

pub(super) fn answer_opened(results: &Results, reply: ReplyOpen) {
    or_fail!(results, reply);
    reply.opened(FileHandle(results.handle), results.open_flags);
}

pub(super) fn answer_written(results: &Results, reply: ReplyWrite) {
    or_fail!(results, reply);
    reply.written(results.written);
}

pub(super) fn answer_sized(results: &Results, size: u32, reply: ReplyXattr) {
    or_fail!(results, reply);
    let length = u32::try_from(results.data.len()).unwrap();
    match size {
        0 => reply.size(length),
        _ if length <= size => reply.data(&results.data),
        _ => reply.error(Errno::from_i32(libc::ERANGE)),
    }
}
