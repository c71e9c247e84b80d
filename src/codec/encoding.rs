//! Every form of UTF-8 since 1992, and what it was made from: UTF-16, UCS-2 and UCS-4 (law C1).
//!
//! An [`Encoding`] turns bytes into code points and back. Code points are plain `u32`: a `char` can hold neither a
//! surrogate nor anything beyond U+10FFFF, and the older forms encode both. What does not decode is diagnosed with
//! its offset, length and kind ([`DecodeError`]); nothing is ever skipped or replaced here.
//!
//! ```
//! use utf8fs::codec::{Encoding, Malformed};
//!
//! // "hangugo" of RFC 2279, section 4: the same in every form that shares its table.
//! let bytes = b"\xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4";
//! assert_eq!(Encoding::Utf8.decode(bytes).unwrap(), [0xD55C, 0xAD6D, 0xC5B4]);
//! assert_eq!(Encoding::FssUtf.encode(&[0xD55C, 0xAD6D, 0xC5B4]).unwrap(), bytes);
//!
//! // The six octets of U+7FFFFFFF were well-formed until RFC 3629.
//! let last = b"\xFD\xBF\xBF\xBF\xBF\xBF";
//! assert_eq!(Encoding::Utf8Rfc2279.decode(last).unwrap(), [0x7FFF_FFFF]);
//! let error = Encoding::Utf8.validate(last).unwrap_err();
//! assert_eq!((error.offset, error.length, error.kind), (0, 1, Malformed::InvalidByte));
//! ```

mod draft;
mod octets;
mod read;
#[cfg(test)]
mod tests;
mod units;

use super::{DecodeError, Malformed, label_key};
use octets::Rules;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};
use units::{Order, Unit};

/// No character of any form, and no diagnosis, needs more octets than these to be seen.
pub const LOOKAHEAD: usize = 6;

/// A form of UTF-8 by the document that defines it, or of what UTF-8 encodes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
pub enum Encoding {
    /// `utf-8`: RFC 3629, sections 3 and 4 (2003), which is Unicode's D92: 1 to 4 octets, U+0000..U+10FFFF without
    /// surrogates. It accepts exactly what [`core::str::from_utf8`] accepts.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// let fault = |bytes: &[u8]| Encoding::Utf8.validate(bytes).map_err(|e| (e.offset, e.length, e.kind));
    /// assert_eq!(fault(b"\xE2\x82\xAC"), Ok(()));
    /// assert_eq!(fault(b"a\x80"), Err((1, 1, Malformed::UnexpectedContinuation)));
    /// assert_eq!(fault(b"a\xFF"), Err((1, 1, Malformed::InvalidByte)));
    /// assert_eq!(fault(b"\xE2\x82"), Err((0, 2, Malformed::Truncated)));
    /// assert_eq!(fault(b"/\xC0\xAE./"), Err((1, 2, Malformed::Overlong(0x2E)))); // RFC 3629, section 10
    /// assert_eq!(fault(b"\xED\xA1\x8C\xED\xBE\xB4"), Err((0, 3, Malformed::Surrogate(0xD84C))));
    /// assert_eq!(fault(b"\xF4\x90\x80\x80"), Err((0, 4, Malformed::OutOfRange(0x11_0000))));
    /// ```
    #[strum(serialize = "utf-8")]
    #[strum(message = "RFC 3629 (2003): 1 to 4 octets, to U+10FFFF, no surrogates (default)")]
    Utf8,
    /// `utf-8-rfc2279`: RFC 2279, section 2 (1998): 1 to 6 octets, 31 bits, the shortest sequence only. Surrogates are
    /// code points like others.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Utf8Rfc2279.decode(b"\xED\xA0\x80").unwrap(), [0xD800]);
    /// assert_eq!(Encoding::Utf8Rfc2279.decode(b"\xF8\x88\x80\x80\x80").unwrap(), [0x20_0000]);
    /// let error = Encoding::Utf8Rfc2279.decode(b"\xFC\x83\xBF\xBF\xBF\xBF").unwrap_err();
    /// assert_eq!((error.length, error.kind), (6, Malformed::Overlong(0x3FF_FFFF)));
    /// ```
    #[strum(serialize = "utf-8-rfc2279")]
    #[strum(message = "RFC 2279 (1998): 1 to 6 octets, 31 bits, surrogates like others")]
    Utf8Rfc2279,
    /// `fss-utf`: "File System Safe UCS Transformation Format" as Ken Thompson mailed it to X/Open on 8 September
    /// 1992. Has 1 to 6 octets and 31 bits; "only the shortest encoding is legal".
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::FssUtf.encode(&[0x7FF, 0x800, 0x400_0000]).unwrap(), b"\xDF\xBF\xE0\xA0\x80\xFC\x84\x80\x80\x80\x80");
    /// let error = Encoding::FssUtf.decode(b"\xC0\x80").unwrap_err();
    /// assert_eq!(error.kind, Malformed::Overlong(0));
    /// ```
    #[strum(serialize = "fss-utf")]
    #[strum(message = "FSS-UTF of 8 September 1992: the same 31 bits")]
    FssUtf,
    /// `fss-utf-draft`: the X/Open proposal before it, as kept in Plan 9's `xutf` of 2 September 1992. Has 1 to 5
    /// octets and 31 bits, biased: each length starts where the shorter one ends (at 80, 2080, 82080 and 2082080), so
    /// that nothing is overlong. It was given up because the start of a character cannot be told from its middle: 80..BF
    /// both lead and continue characters.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::FssUtfDraft.decode(b"\x80\x80\xBF\xFF\xC0\x80\x80").unwrap(), [0x80, 0x207F, 0x2080]);
    /// let fault = |bytes: &[u8]| Encoding::FssUtfDraft.validate(bytes).map_err(|e| (e.length, e.kind));
    /// assert_eq!(fault(b"\x80a"), Err((1, Malformed::Truncated)));
    /// assert_eq!(fault(b"\xF8"), Err((1, Malformed::InvalidByte)));
    /// assert_eq!(fault(b"\xF7\xFF\xFF\xFF\xFF"), Err((5, Malformed::OutOfRange(0x8208_207F))));
    /// ```
    #[strum(serialize = "fss-utf-draft")]
    #[strum(message = "The X/Open draft before it: 1 to 5 octets, biased, 31 bits")]
    FssUtfDraft,
    /// `fss-utf-xutf`: the note at the end of that file, "We define 7 byte types": FSS-UTF, but the sixth form has a
    /// lead of 111111xx and holds 32 bits. FE and FF are leads.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::FssUtfXutf.decode(b"\xFF\xBF\xBF\xBF\xBF\xBF").unwrap(), [0xFFFF_FFFF]);
    /// ```
    #[strum(serialize = "fss-utf-xutf")]
    #[strum(message = "The note at its end: 1 to 6 octets, 32 bits")]
    FssUtfXutf,
    /// `utf-8-bmp`: utf-8(7) of the Linux that knew 16 bits. Has sequences of RFC 2279 of "only one, two or three
    /// bytes", so that U+FFFF is the last code point. Surrogates are code points like others.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Utf8Bmp.decode(b"\xE2\x89\xA0").unwrap(), [0x2260]);
    /// let error = Encoding::Utf8Bmp.decode(b"\xF0\x90\x8D\x88").unwrap_err();
    /// assert_eq!((error.length, error.kind), (4, Malformed::OutOfRange(0x1_0348)));
    /// ```
    #[strum(serialize = "utf-8-bmp")]
    #[strum(message = "utf-8(7) of a Linux of 16 bits: 1 to 3 octets, to U+FFFF")]
    Utf8Bmp,
    /// `mutf-8`: Modified UTF-8 of Java (`java.io.DataInput`): U+0000 is C0 80, and the octet 00 never occurs; beyond
    /// U+FFFF, a pair of surrogates of three octets each. A surrogate alone is legal.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Mutf8.decode(b"\xC0\x80\xED\xA0\x80\xED\xB0\x80\xED\xB0\x80").unwrap(), [0, 0x1_0000, 0xDC00]);
    /// assert_eq!(Encoding::Mutf8.decode(b"a\0").unwrap_err().kind, Malformed::InvalidByte);
    /// ```
    #[strum(serialize = "mutf-8")]
    #[strum(message = "Modified UTF-8 of Java: C0 80 for NUL, pairs of surrogates")]
    Mutf8,
    /// `cesu-8`: Unicode Technical Report 26: beyond U+FFFF, a pair of surrogates of three octets each. A surrogate alone
    /// is ill-formed, and so are sequences of four octets.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Cesu8.decode(b"\xED\xA1\x8C\xED\xBE\xB4").unwrap(), [0x2_33B4]);
    /// let error = Encoding::Cesu8.decode(b"\xED\xA1\x8C").unwrap_err();
    /// assert_eq!((error.length, error.kind), (3, Malformed::Surrogate(0xD84C)));
    /// ```
    #[strum(serialize = "cesu-8")]
    #[strum(message = "UTR #26: pairs of surrogates, of three octets each, beyond U+FFFF")]
    Cesu8,
    /// `wtf-8`: the WTF-8 encoding by Simon Sapin: RFC 3629 and surrogates that are alone; a pair of them, which has
    /// four octets of its own, is ill-formed.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Wtf8.decode(b"\xED\xA0\x80a").unwrap(), [0xD800, 0x61]);
    /// let error = Encoding::Wtf8.decode(b"\xED\xA0\x80\xED\xB0\x80").unwrap_err();
    /// assert_eq!((error.length, error.kind), (6, Malformed::Surrogate(0xD800)));
    /// ```
    #[strum(serialize = "wtf-8")]
    #[strum(message = "RFC 3629 and surrogates that are alone")]
    Wtf8,
    /// `utf-8b`: Markus Kuhn's UTF-8B (2000), Python's `surrogateescape`: RFC 3629, and every byte b of what is
    /// ill-formed by it is U+DC00+b. Any bytes decode, and come back as they were.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// let name = b"caf\xE9";
    /// let code_points = Encoding::Utf8b.decode(name).unwrap();
    /// assert_eq!(code_points, [0x63, 0x61, 0x66, 0xDCE9]);
    /// assert_eq!(Encoding::Utf8b.encode(&code_points).unwrap(), name);
    /// ```
    #[strum(serialize = "utf-8b")]
    #[strum(message = "RFC 3629, and each other byte b as U+DC00+b")]
    Utf8b,
    /// `utf-16be`: UTF-16 (Unicode's D91, RFC 2781), the high octet of each unit first; no byte-order mark is looked for.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Utf16Be.decode(b"\xD8\x4C\xDF\xB4").unwrap(), [0x2_33B4]);
    /// let fault = |bytes: &[u8]| Encoding::Utf16Be.validate(bytes).map_err(|e| (e.length, e.kind));
    /// assert_eq!(fault(b"\xD8\x4C\0a"), Err((2, Malformed::Surrogate(0xD84C))));
    /// assert_eq!(fault(b"\xD8\x4C\xDF"), Err((3, Malformed::Truncated)));
    /// ```
    #[strum(serialize = "utf-16be", message = "UTF-16, high octet first")]
    Utf16Be,
    /// `utf-16le`: UTF-16, the low octet of each unit first.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::Utf16Le.encode(&[0x2_33B4]).unwrap(), b"\x4C\xD8\xB4\xDF");
    /// ```
    #[strum(serialize = "utf-16le", message = "UTF-16, low octet first")]
    Utf16Le,
    /// `ucs-2be`: ISO/IEC 10646-1:1993's form of two octets, high one first: U+0000..U+FFFF, surrogates among them.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Ucs2Be.decode(b"\xD8\x00\x00a").unwrap(), [0xD800, 0x61]);
    /// assert_eq!(Encoding::Ucs2Be.decode(b"\x00").unwrap_err().kind, Malformed::Truncated);
    /// ```
    #[strum(serialize = "ucs-2be", message = "16 bits, high octet first")]
    Ucs2Be,
    /// `ucs-2le`: that form, low octet first.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::Ucs2Le.encode(&[0x2260]).unwrap(), b"\x60\x22");
    /// ```
    #[strum(serialize = "ucs-2le", message = "16 bits, low octet first")]
    Ucs2Le,
    /// `ucs-4be`: ISO/IEC 10646-1:1993's form of four octets, the highest first: 31 bits.
    ///
    /// ```
    /// use utf8fs::codec::{Encoding, Malformed};
    /// assert_eq!(Encoding::Ucs4Be.decode(b"\x7F\xFF\xFF\xFF").unwrap(), [0x7FFF_FFFF]);
    /// assert_eq!(Encoding::Ucs4Be.decode(b"\x80\0\0\0").unwrap_err().kind, Malformed::OutOfRange(0x8000_0000));
    /// ```
    #[strum(serialize = "ucs-4be")]
    #[strum(message = "31 bits in four octets, high octet first")]
    Ucs4Be,
    /// `ucs-4le`: that form, the lowest octet first.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::Ucs4Le.encode(&[0x1_0348]).unwrap(), b"\x48\x03\x01\x00");
    /// ```
    #[strum(serialize = "ucs-4le")]
    #[strum(message = "31 bits in four octets, low octet first")]
    Ucs4Le,
}

/// A sequence of octets that spells a code point, or one that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its offset in the input, in octets.
    pub offset: usize,
    /// Its length in octets, 1 or more; it ends within the input.
    pub length: usize,
    /// The code point, or what is wrong.
    pub spells: Result<u32, Malformed>,
}

/// The scheme by which an encoding is read and written.
#[derive(Clone, Copy)]
enum Scheme {
    /// The table of FSS-UTF, in one of its variants.
    Octets(&'static Rules),
    /// The biased table of the draft.
    Draft,
    /// Units of two or four octets.
    Units(Unit, Order),
}

impl Encoding {
    /// The encodings that names on disk can be mounted in.
    pub const MOUNTABLE: [Self; 4] = [Self::Utf8, Self::Utf8Rfc2279, Self::FssUtf, Self::Utf8Bmp];

    /// Every encoding, in the order in which they are listed to people.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the label: `utf-8`, `fss-utf-draft`, `ucs-4le`, ...
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Finds the encoding with this label; neither case nor `-` and `_` matter.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::from_label("UTF8"), Some(Encoding::Utf8));
    /// assert_eq!(Encoding::from_label("utf-7"), None);
    /// ```
    pub fn from_label(label: &str) -> Option<Self> {
        let wanted = label_key(label.trim_ascii());
        let mut all = Self::ALL.iter().copied();
        all.find(|encoding| label_key(encoding.label()) == wanted)
    }

    /// The greatest code point that it encodes.
    pub fn limit(self) -> u32 {
        match self.scheme() {
            Scheme::Octets(rules) => rules.limit,
            Scheme::Draft => draft::LIMIT,
            Scheme::Units(unit, _) => unit.limit(),
        }
    }

    /// Can names on disk be in it? Then it contains ASCII, and has the octets `/` and NUL for these characters alone.
    pub fn is_file_system_safe(self) -> bool {
        !matches!(self.scheme(), Scheme::Units(..))
    }

    /// Is what RFC 3629 spells, where it is well-formed at all, spelled by the same octets?
    pub fn shares_table_of_utf8(self) -> bool {
        matches!(self.scheme(), Scheme::Octets(_))
    }

    /// The octets of `code_points`.
    ///
    /// A high surrogate before a low one encodes that pair's one character in `mutf-8`, where the octets are the
    /// same, and in `wtf-8`, which cannot write them otherwise.
    ///
    /// # Errors
    /// The index of the first code point that it lacks.
    pub fn encode(self, code_points: &[u32]) -> Result<Vec<u8>, usize> {
        let mut bytes = Vec::with_capacity(code_points.len());
        self.encode_into(code_points, &mut bytes)?;
        Ok(bytes)
    }

    /// Adds the octets of `code_points` to `bytes`.
    ///
    /// # Errors
    /// The index of the first code point that it lacks; what comes before it was added.
    pub fn encode_into(self, code_points: &[u32], bytes: &mut Vec<u8>) -> Result<(), usize> {
        let push: &dyn Fn(u32, &mut Vec<u8>) -> Option<()> = match self.scheme() {
            Scheme::Octets(rules) => &|c, bytes| octets::push(c, rules, bytes),
            Scheme::Draft => &draft::push,
            Scheme::Units(unit, order) => &move |c, bytes| units::push(c, unit, order, bytes),
        };
        for (index, &code_point) in code_points.iter().enumerate() {
            push(code_point, bytes).ok_or(index)?;
        }
        Ok(())
    }

    fn scheme(self) -> Scheme {
        match self {
            Self::Utf8 => Scheme::Octets(&octets::RFC_3629),
            Self::Utf8Rfc2279 | Self::FssUtf => Scheme::Octets(&octets::FSS_UTF),
            Self::FssUtfDraft => Scheme::Draft,
            Self::FssUtfXutf => Scheme::Octets(&octets::XUTF),
            Self::Utf8Bmp => Scheme::Octets(&octets::BMP),
            Self::Mutf8 => Scheme::Octets(&octets::MODIFIED),
            Self::Cesu8 => Scheme::Octets(&octets::CESU),
            Self::Wtf8 => Scheme::Octets(&octets::WTF),
            Self::Utf8b => Scheme::Octets(&octets::UTF_8B),
            Self::Utf16Be => Scheme::Units(Unit::Utf16, Order::Big),
            Self::Utf16Le => Scheme::Units(Unit::Utf16, Order::Little),
            Self::Ucs2Be => Scheme::Units(Unit::Ucs2, Order::Big),
            Self::Ucs2Le => Scheme::Units(Unit::Ucs2, Order::Little),
            Self::Ucs4Be => Scheme::Units(Unit::Ucs4, Order::Big),
            Self::Ucs4Le => Scheme::Units(Unit::Ucs4, Order::Little),
        }
    }
}

impl Piece {
    /// Returns the error of the item, if it is one.
    pub fn error(self) -> Option<DecodeError> {
        let (offset, length) = (self.offset, self.length);
        self.spells.err().map(|kind| DecodeError {
            offset,
            length,
            kind,
        })
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Rfc2279 => "UTF-8 of RFC 2279",
            Self::FssUtf => "FSS-UTF",
            Self::FssUtfDraft => "FSS-UTF of the X/Open draft",
            Self::FssUtfXutf => "FSS-UTF of the 32-bit note",
            Self::Utf8Bmp => "UTF-8 of 16 bits",
            Self::Mutf8 => "Modified UTF-8",
            Self::Cesu8 => "CESU-8",
            Self::Wtf8 => "WTF-8",
            Self::Utf8b => "UTF-8B",
            Self::Utf16Be => "UTF-16BE",
            Self::Utf16Le => "UTF-16LE",
            Self::Ucs2Be => "UCS-2BE",
            Self::Ucs2Le => "UCS-2LE",
            Self::Ucs4Be => "UCS-4BE",
            Self::Ucs4Le => "UCS-4LE",
        })
    }
}

/// The error of an ill-formed sequence of `length` octets at the start of some bytes.
fn malformed<T>(length: usize, kind: Malformed) -> Result<T, DecodeError> {
    Err(DecodeError {
        offset: 0,
        length,
        kind,
    })
}

/// U+D800..U+DFFF.
fn is_surrogate(code_point: u32) -> bool {
    matches!(code_point, 0xD800..=0xDFFF)
}

/// The code point that a pair of surrogates spells in UTF-16, if they are one of the upper and one of the lower half.
fn paired(high: u32, low: u32) -> Option<u32> {
    let is_pair = matches!(high, 0xD800..=0xDBFF) && matches!(low, 0xDC00..=0xDFFF);
    is_pair.then(|| 0x1_0000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
}

/// The pair of surrogates that spells a code point of U+10000..U+10FFFF in UTF-16.
fn pair_of(code_point: u32) -> (u32, u32) {
    let bits = code_point.wrapping_sub(0x1_0000);
    (0xD800 | ((bits >> 10) & 0x3FF), 0xDC00 | (bits & 0x3FF))
}
