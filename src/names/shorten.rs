//! Cutting names that are too long (law N7).

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

use super::escape::Pieces;
use crate::codec::Encoding;
use crate::policy::{Class, Offence, Policy, Rule};

/// Tildes before the hash, at most; beyond, the hash itself takes the number of the way in.
pub(super) const MOST_TILDES: usize = 8;

/// An extension of more characters than this is text, not an extension.
const LONGEST_EXTENSION: usize = 12;

/// RFC 4648, section 6, in lower case.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Cuts `text` to the limits of `policy` if it is over one. Keeps as many whole pieces as fit, then `tildes` times
/// `~`, the hash of `hashed`, and the extension where it fits. The hash is 16 characters, the first 80 bits of
/// SHA-256.
///
/// `hashed` is the whole name that the text stands for, so that two names that are cut alike stay apart.
pub(super) fn shorten(text: Pieces, policy: &Policy, tildes: usize, hashed: &[u8]) -> Vec<u8> {
    let fits = |bytes: &[u8]| {
        let is_well_formed = policy.encoding.validate(bytes).is_ok();
        is_well_formed && policy.over_a_limit(bytes).is_none()
    };
    if fits(&text.bytes) {
        return text.bytes;
    }
    let mark = mark(hashed, tildes);
    let with_extension = [mark.as_slice(), extension(&text.bytes, policy.encoding)].concat();
    let (tail, stem) = if fits(&with_extension) {
        let stem = text.bytes.len() - (with_extension.len() - mark.len());
        (with_extension, stem)
    } else {
        (mark, text.bytes.len())
    };
    let cut_to = |end: usize| [text.bytes.get(..end).unwrap_or_default(), &tail].concat();
    // Lengths grow with the number of pieces, so that the longest prefix that fits is found by halving.
    let longest = stem.min(policy.max_bytes);
    let ends = text.ends.into_iter().filter(|&end| end <= longest);
    let ends: Vec<usize> = ends.collect();
    let kept = ends.partition_point(|&end| fits(&cut_to(end)));
    let mut kept = ends.get(..kept).unwrap_or_default();
    loop {
        let end = kept.last().copied().unwrap_or(0);
        let cut = cut_to(end);
        let Some(useless) = first_useless(&cut, policy).filter(|&offset| offset < end) else {
            return cut;
        };
        kept = kept
            .get(..kept.partition_point(|&end| end <= useless))
            .unwrap_or_default();
    }
}

/// Offset of the first joiner or selector that has no use in `text`, since what it joins was cut away.
fn first_useless(text: &[u8], policy: &Policy) -> Option<usize> {
    let is_invisible = |offence: &Offence| offence.rule == Rule::Forbidden(Class::Invisible);
    let offences = policy.offences(text);
    offences
        .into_iter()
        .find(is_invisible)
        .map(|offence| offence.offset)
}

/// `tildes` times `~`, eight times at most, and the hash of `name`: at most `SMALLEST_LIMIT` characters, all ASCII. It is
/// another for every number of tildes.
pub(super) fn mark(name: &[u8], tildes: usize) -> Vec<u8> {
    let mut mark = "~".repeat(tildes.clamp(1, MOST_TILDES)).into_bytes();
    mark.extend(hash(name, tildes));
    mark
}

/// Every stretch of `visible` that could be the hash of a mark: behind a `~`, 16 characters of base 32.
pub(super) fn hashes(visible: &[u8]) -> impl Iterator<Item = &[u8]> {
    visible
        .windows(17)
        .filter_map(|window| window.strip_prefix(b"~"))
        .filter(|hash| hash.iter().all(|octet| BASE32.contains(octet)))
}

/// From the last `.` on, if what follows is 1 to 12 characters and what comes before is not empty; else empty.
fn extension(text: &[u8], encoding: Encoding) -> &[u8] {
    let Some(dot) = text.iter().rposition(|&byte| byte == b'.') else {
        return b"";
    };
    let extension = text.get(dot..).unwrap_or_default();
    let characters = encoding.pieces(extension).count() - 1;
    if dot > 0 && (1..=LONGEST_EXTENSION).contains(&characters) {
        extension
    } else {
        b""
    }
}

/// The first 80 bits of the hash of `name`, and of the number of tildes where it cannot be seen, in base 32.
pub(super) fn hash(name: &[u8], tildes: usize) -> impl Iterator<Item = u8> {
    let mut digest = Sha256::new_with_prefix(name);
    if tildes > MOST_TILDES {
        // No name has a NUL, so that this is the hash of no other.
        digest.update(format!("\0{tildes}"));
    }
    let digest = digest.finalize();
    let bits = digest
        .iter()
        .take(10)
        .fold(0u128, |bits, &byte| (bits << 8) | u128::from(byte));
    (0..16).rev().map(move |group| {
        let value = usize::try_from((bits >> (group * 5)) & 31).unwrap_or(0);
        BASE32.get(value).copied().unwrap_or(b'a')
    })
}
