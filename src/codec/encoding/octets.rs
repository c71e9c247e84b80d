//! The table of FSS-UTF, which all later forms share:
//!
//! | octets | from | to | sequence |
//! |---|---|---|---|
//! | 1 | 0 | 7F | 0vvvvvvv |
//! | 2 | 80 | 7FF | 110vvvvv 10vvvvvv |
//! | 3 | 800 | FFFF | 1110vvvv and two |
//! | 4 | 10000 | 1FFFFF | 11110vvv and three |
//! | 5 | 200000 | 3FFFFFF | 111110vv and four |
//! | 6 | 4000000 | 7FFFFFFF | 1111110v and five; in the 32-bit note 111111vv, to FFFFFFFF |
//!
//! The forms differ in how far it goes, and in what they make of surrogates and of NUL: [`Rules`].

use super::{DecodeError, Malformed, is_surrogate, malformed, pair_of, paired};

/// The rules by which a form reads the table.
#[derive(Debug)]
pub(super) struct Rules {
    /// The greatest code point.
    pub(super) limit: u32,
    /// The greatest lead octet; those above never occur.
    last_lead: u8,
    /// The meaning of three bytes that spell U+D800..U+DFFF.
    pub(super) surrogates: Surrogates,
    /// Is U+0000 two octets, C0 80, so that the octet 00 never occurs?
    pub(super) is_nul_two_octets: bool,
    /// Is each octet of what is ill-formed otherwise a code point, U+DC00 plus it?
    has_escapes: bool,
}

/// The meaning of three bytes that spell a surrogate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surrogates {
    /// Ill-formed.
    Refused,
    /// A code point like others.
    CodePoints,
    /// A code point where it is alone; a pair is ill-formed, as it has a sequence of its own.
    Alone,
    /// Half of a character beyond U+FFFF; ill-formed where it is alone.
    Paired,
    /// Half of a character beyond U+FFFF; a code point where it is alone.
    PairedOrAlone,
}

/// RFC 3629, sections 3 and 4.
pub(super) const RFC_3629: Rules = Rules {
    limit: 0x10_FFFF,
    last_lead: 0xF4,
    surrogates: Surrogates::Refused,
    is_nul_two_octets: false,
    has_escapes: false,
};

/// FSS-UTF of 8 September 1992, and RFC 2279, section 2.
pub(super) const FSS_UTF: Rules = Rules {
    limit: 0x7FFF_FFFF,
    last_lead: 0xFD,
    surrogates: Surrogates::CodePoints,
    ..RFC_3629
};

/// The note at the end of `xutf`.
pub(super) const XUTF: Rules = Rules {
    limit: 0xFFFF_FFFF,
    last_lead: 0xFF,
    ..FSS_UTF
};

/// utf-8(7) of a Linux of 16 bits: longer sequences are known, but beyond what is in use.
pub(super) const BMP: Rules = Rules {
    limit: 0xFFFF,
    ..FSS_UTF
};

/// CESU-8, Unicode Technical Report 26.
pub(super) const CESU: Rules = Rules {
    last_lead: 0xEF,
    surrogates: Surrogates::Paired,
    ..RFC_3629
};

/// Modified UTF-8 of Java.
pub(super) const MODIFIED: Rules = Rules {
    surrogates: Surrogates::PairedOrAlone,
    is_nul_two_octets: true,
    ..CESU
};

/// WTF-8.
pub(super) const WTF: Rules = Rules {
    surrogates: Surrogates::Alone,
    ..RFC_3629
};

/// UTF-8B.
pub(super) const UTF_8B: Rules = Rules {
    has_escapes: true,
    ..RFC_3629
};

impl Rules {
    /// Are two surrogates a character beyond U+FFFF?
    fn has_pairs(&self) -> bool {
        matches!(
            self.surrogates,
            Surrogates::Paired | Surrogates::PairedOrAlone
        )
    }

    /// The first octet of text that is well-formed by RFC 3629 which starts a sequence that is not so by these rules.
    fn first_beyond(&self, text: &[u8]) -> Option<usize> {
        if self.limit >= 0x10_FFFF && self.last_lead >= 0xF4 && !self.is_nul_two_octets {
            return None;
        }
        let has_long = has_octet_from_f0(text);
        let has_nul = self.is_nul_two_octets && text.contains(&0);
        let is_beyond = |&octet: &u8| octet >= 0xF0 || (octet == 0 && self.is_nul_two_octets);
        let position = || text.iter().position(is_beyond);
        (has_long || has_nul).then(position).flatten()
    }
}

/// Says whether an octet is F0..FF. Avoids a branch for each: in long texts the compiler finds the greatest of many
/// at once; in names eight are tested at a time by their four highest bits.
pub(super) fn has_octet_from_f0(bytes: &[u8]) -> bool {
    const LONG: usize = 128;
    if bytes.len() >= LONG {
        let greatest = bytes
            .iter()
            .fold(0, |greatest: u8, &octet| greatest.max(octet));
        return greatest >= 0xF0;
    }
    let ones = |&octets: &[u8; 8]| {
        let octets = u64::from_ne_bytes(octets);
        octets & (octets << 1) & (octets << 2) & (octets << 3)
    };
    let (chunks, rest) = bytes.as_chunks::<8>();
    // The last eight again, of which some were asked: cheaper than the rest one by one.
    let at_end = match bytes.last_chunk() {
        Some(last) => ones(last),
        None => return rest.iter().any(|&octet| octet >= 0xF0),
    };
    let all = chunks.iter().fold(at_end, |all, chunk| all | ones(chunk));
    all & 0x8080_8080_8080_8080 != 0
}

/// Checks that `bytes` are well-formed. The standard library quickly passes all that RFC 3629 allows, which is nearly
/// everything; only sequences that it stops at are examined here.
pub(super) fn validate(bytes: &[u8], rules: &Rules) -> Result<(), DecodeError> {
    let mut start = 0;
    while let Some(rest) = bytes.get(start..) {
        let known = match core::str::from_utf8(rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let beyond = rules.first_beyond(rest.get(..known).unwrap_or_default());
        let offset = start + beyond.unwrap_or(known);
        let Some(sequence @ [_, ..]) = bytes.get(offset..) else {
            break;
        };
        match first(sequence, rules) {
            Ok((_, length)) => start = offset + length,
            Err(error) => return Err(DecodeError { offset, ..error }),
        }
    }
    Ok(())
}

/// The character that `bytes`, which are not empty, start with, and its length.
#[inline]
pub(super) fn first(bytes: &[u8], rules: &Rules) -> Result<(u32, usize), DecodeError> {
    match usual(bytes, rules) {
        Some(found) => Ok(found),
        None => unusual(bytes, rules),
    }
}

/// The character, where it is none of the usual ones, or what is wrong.
#[inline]
pub(super) fn unusual(bytes: &[u8], rules: &Rules) -> Result<(u32, usize), DecodeError> {
    match pair(bytes) {
        Some(found) if rules.has_pairs() => Ok((found, 6)),
        _ if rules.has_escapes => by_the_table(bytes, rules).or_else(|_| escaped(bytes)),
        _ => by_the_table(bytes, rules),
    }
}

/// UTF-8B's character for the first octet of what is ill-formed.
fn escaped(bytes: &[u8]) -> Result<(u32, usize), DecodeError> {
    let octet = bytes.first().copied().unwrap_or_default();
    Ok((0xDC00 | u32::from(octet), 1))
}

/// The character beyond U+FFFF that a pair of surrogates of three octets each spells in UTF-16.
#[inline]
fn pair(bytes: &[u8]) -> Option<u32> {
    match *bytes {
        [0xED, a @ 0xA0..=0xAF, b, 0xED, c @ 0xB0..=0xBF, d, ..]
            if is_continuation(b) && is_continuation(d) =>
        {
            paired(with(with(0xD, a), b), with(with(0xD, c), d))
        }
        _ => None,
    }
}

fn is_continuation(octet: u8) -> bool {
    octet & 0xC0 == 0x80
}

/// `value` and the six bits of a continuation octet.
fn with(value: u32, octet: u8) -> u32 {
    (value << 6) | u32::from(octet & 0x3F)
}

/// The character, where it has up to four octets and is no surrogate; `None`: ask [`unusual`].
#[inline(always)]
pub(super) fn usual(bytes: &[u8], rules: &Rules) -> Option<(u32, usize)> {
    match *bytes {
        [a @ 0..=0x7F, ..] => (a != 0 || !rules.is_nul_two_octets).then(|| (u32::from(a), 1)),
        [a @ 0xC2..=0xDF, b, ..] if is_continuation(b) => Some((with(u32::from(a & 0x1F), b), 2)),
        [a @ 0xE0..=0xEF, b, c, ..] if is_continuation(b) && is_continuation(c) => {
            let code_point = with(with(u32::from(a & 0xF), b), c);
            (code_point >= 0x800 && !is_surrogate(code_point)).then_some((code_point, 3))
        }
        [a @ 0xF0..=0xF7, b, c, d, ..]
            if is_continuation(b) && is_continuation(c) && is_continuation(d) =>
        {
            let code_point = with(with(with(u32::from(a & 7), b), c), d);
            let is_legal = a <= rules.last_lead && (0x1_0000..=rules.limit).contains(&code_point);
            is_legal.then_some((code_point, 4))
        }
        _ => None,
    }
}

/// The character, which is no pair of surrogates, or what is wrong.
///
/// A lead octet claims the continuation octets that follow it, up to the number it announces. With all of them the
/// sequence is a character, overlong, a surrogate or out of range; else it is truncated. C0 and C1 never occur, but
/// with a continuation octet they spell an overlong ASCII character, the classic way to smuggle `/` past a check.
#[cold]
fn by_the_table(bytes: &[u8], rules: &Rules) -> Result<(u32, usize), DecodeError> {
    let lead = bytes.first().copied().unwrap_or_default();
    let (announced, bits, least) = match lead {
        0x80..=0xBF => return malformed(1, Malformed::UnexpectedContinuation),
        _ if lead > rules.last_lead || lead.is_ascii() => {
            return malformed(1, Malformed::InvalidByte);
        }
        ..=0xDF => (2, lead & 0x1F, 0x80),
        0xE0..=0xEF => (3, lead & 0xF, 0x800),
        0xF0..=0xF7 => (4, lead & 7, 0x1_0000),
        0xF8..=0xFB => (5, lead & 3, 0x20_0000),
        0xFC..=0xFF => (6, lead & 3, 0x400_0000),
    };
    let more = bytes.iter().copied().skip(1).take(announced - 1);
    let more = more.take_while(|&octet| is_continuation(octet));
    let length = 1 + more.clone().count();
    let code_point = more.fold(u32::from(bits), with);
    let is_nul = lead == 0xC0 && rules.is_nul_two_octets;
    match lead {
        0xC0 | 0xC1 if length == 1 && !is_nul => return malformed(1, Malformed::InvalidByte),
        // No octets could complete it to a legal one.
        _ if length < announced && least > rules.limit => {
            return malformed(1, Malformed::InvalidByte);
        }
        _ if length < announced => return malformed(length, Malformed::Truncated),
        _ if is_nul && code_point == 0 => {}
        _ if code_point < least => return malformed(length, Malformed::Overlong(code_point)),
        _ if is_surrogate(code_point) => return surrogate(code_point, bytes, rules),
        _ if code_point > rules.limit => {
            return malformed(length, Malformed::OutOfRange(code_point));
        }
        _ => {}
    }
    Ok((code_point, length))
}

/// Reads the surrogate of three bytes with which `bytes` start, and which is no half of a character.
fn surrogate(code_point: u32, bytes: &[u8], rules: &Rules) -> Result<(u32, usize), DecodeError> {
    match rules.surrogates {
        Surrogates::Refused | Surrogates::Paired => malformed(3, Malformed::Surrogate(code_point)),
        Surrogates::Alone if pair(bytes).is_some() => {
            malformed(6, Malformed::Surrogate(code_point))
        }
        Surrogates::CodePoints | Surrogates::Alone | Surrogates::PairedOrAlone => {
            Ok((code_point, 3))
        }
    }
}

/// Adds the octets of `code_point`; `None` if there are none.
pub(super) fn push(code_point: u32, rules: &Rules, bytes: &mut Vec<u8>) -> Option<()> {
    if code_point > rules.limit {
        return None;
    }
    if rules.has_escapes
        && let Ok(octet @ 0x80..) = u8::try_from(code_point ^ 0xDC00)
    {
        bytes.push(octet);
        return Some(());
    }
    if is_surrogate(code_point) {
        match rules.surrogates {
            Surrogates::Refused | Surrogates::Paired => return None,
            Surrogates::Alone => {
                if let Some(pair) = high_before(bytes).and_then(|high| paired(high, code_point)) {
                    bytes.truncate(bytes.len() - 3);
                    return push_sequence(pair, bytes);
                }
            }
            Surrogates::CodePoints | Surrogates::PairedOrAlone => {}
        }
    }
    match code_point {
        0 if rules.is_nul_two_octets => bytes.extend(b"\xC0\x80"),
        0x1_0000.. if rules.has_pairs() => {
            let (high, low) = pair_of(code_point);
            push_sequence(high, bytes)?;
            push_sequence(low, bytes)?;
        }
        _ => push_sequence(code_point, bytes)?,
    }
    Some(())
}

/// The surrogate of the upper half that `bytes` end with, in three octets.
fn high_before(bytes: &[u8]) -> Option<u32> {
    match bytes.last_chunk()? {
        &[0xED, b @ 0xA0..=0xAF, c] => Some(with(with(0xD, b), c)),
        _ => None,
    }
}

/// Adds the shortest sequence of the table.
fn push_sequence(code_point: u32, bytes: &mut Vec<u8>) -> Option<()> {
    let (mark, mut shift) = match code_point {
        0..0x80 => (0, 0),
        0x80..0x800 => (0xC0, 6),
        0x800..0x1_0000 => (0xE0, 12),
        0x1_0000..0x20_0000 => (0xF0, 18),
        0x20_0000..0x400_0000 => (0xF8, 24),
        0x400_0000.. => (0xFC, 30),
    };
    bytes.push(mark | u8::try_from(code_point >> shift).ok()?);
    while shift > 0 {
        shift -= 6;
        bytes.push(0x80 | u8::try_from((code_point >> shift) & 0x3F).ok()?);
    }
    Some(())
}
