//! A name as text, by a definition of UTF-8 that may know more code points than Rust's `str`.

use std::borrow::Cow;

use super::Offence;
use crate::codec::{DecodeError, Encoding, utf8};

/// Stands for a surrogate, a code point beyond U+10FFFF or an ill-formed sequence: a code point that Unicode 17.0 leaves
/// unassigned, in the midst of Greek. It is of no class that has a meaning, and nothing combines with it.
const STAND_IN: char = '\u{378}';

/// A name as text.
#[derive(Debug)]
pub(super) struct NameText<'a> {
    name: &'a [u8],
    encoding: Encoding,
    text: Cow<'a, str>,
    /// Starts of the characters, in the text and in the name, and the ends of both; `None` where these are the same.
    starts: Option<Vec<(usize, usize)>>,
}

impl<'a> NameText<'a> {
    /// Reads a well-formed `name`; allocates nothing where it is well-formed by RFC 3629 as well.
    pub(super) fn of(name: &'a [u8], encoding: Encoding) -> Result<Self, DecodeError> {
        let same = |text| Self {
            name,
            encoding,
            text: Cow::Borrowed(text),
            starts: None,
        };
        if encoding == Encoding::Utf8 {
            return utf8::validate(name).map(same);
        }
        encoding.validate(name)?;
        if encoding.shares_table_of_utf8()
            && let Ok(text) = utf8::validate(name)
        {
            return Ok(same(text));
        }
        Ok(Self::with_stand_ins(name, encoding))
    }

    /// Reads `name`, with [`STAND_IN`] for each ill-formed sequence.
    pub(super) fn with_stand_ins(name: &'a [u8], encoding: Encoding) -> Self {
        let mut text = String::with_capacity(name.len());
        let mut starts = Vec::with_capacity(name.len());
        for piece in encoding.pieces(name) {
            starts.push((text.len(), piece.offset));
            let character = piece.spells.ok().and_then(char::from_u32);
            text.push(character.unwrap_or(STAND_IN));
        }
        starts.push((text.len(), name.len()));
        Self {
            name,
            encoding,
            text: Cow::Owned(text),
            starts: Some(starts),
        }
    }

    /// The text, one character for each of the name's.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the offset in the name of the character that starts at, or contains, `offset` of the text.
    pub(super) fn place(&self, offset: usize) -> usize {
        let Some(starts) = &self.starts else {
            return offset;
        };
        let after = starts.partition_point(|&(start, _)| start <= offset);
        let start = after.checked_sub(1).and_then(|last| starts.get(last));
        start.map_or(0, |&(_, place)| place)
    }

    /// Translates an offence found in the text into one of the name.
    pub(super) fn in_name(&self, found: Offence) -> Offence {
        let offset = self.place(found.offset);
        let spelled = || self.encoding.first(self.name.get(offset..)?)?.spells.ok();
        Offence {
            offset,
            length: self.place(found.offset + found.length) - offset,
            code_point: found.code_point.and_then(|_| spelled()),
            ..found
        }
    }
}
