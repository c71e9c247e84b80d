//! All that is known to be written otherwise than by the C library. `docs/encodings.md` tells it to people.

use std::ops::RangeInclusive;

use super::Side::{self, Ours, Theirs};
use super::reasons::{APPLE, C1, GB_2005, GB_PRIVATE, GB_SWAPPED, HKSCS, ONE_WAY, TAKEN_APART};

/// A character that both sides write: charset, character, our bytes, glibc's, reason.
pub(super) type Differing = (
    &'static str,
    char,
    &'static [u8],
    &'static [u8],
    &'static str,
);

/// What both sides write, in different bytes.
pub(super) const WRITTEN: [Differing; 6] = [
    (
        GB_2005,
        '\u{20087}',
        b"\x95\x32\x90\x31",
        b"\xFE\x51",
        GB_PRIVATE,
    ),
    (
        GB_2005,
        '\u{20089}',
        b"\x95\x32\x90\x33",
        b"\xFE\x52",
        GB_PRIVATE,
    ),
    (
        GB_2005,
        '\u{200CC}',
        b"\x95\x32\x97\x30",
        b"\xFE\x53",
        GB_PRIVATE,
    ),
    (
        GB_2005,
        '\u{215D7}',
        b"\x95\x36\xB9\x37",
        b"\xFE\x6C",
        GB_PRIVATE,
    ),
    (
        GB_2005,
        '\u{2298F}',
        b"\x96\x30\xBA\x35",
        b"\xFE\x76",
        GB_PRIVATE,
    ),
    (
        GB_2005,
        '\u{241FE}',
        b"\x96\x35\xB6\x30",
        b"\xFE\x91",
        GB_PRIVATE,
    ),
];

/// Characters that one side alone writes: charset, side, range, how many, reason.
pub(super) type Class = (
    &'static str,
    Side,
    RangeInclusive<char>,
    usize,
    &'static str,
);

/// What one side alone writes.
pub(super) const ONE_SIDED: [Class; 27] = [
    (
        "ibm864",
        Ours,
        '%'..='%',
        1,
        "ASCII is ASCII in every charset here",
    ),
    (
        "ibm864",
        Theirs,
        '\u{66A}'..='\u{66A}',
        1,
        "the Arabic percent sign, in the place of the ASCII one",
    ),
    ("macintosh", Ours, '\u{2206}'..='\u{F8FF}', 2, APPLE),
    ("macintosh", Theirs, '\u{394}'..='\u{E01E}', 2, APPLE),
    ("MAC-CYRILLIC", Ours, '\u{20AC}'..='\u{20AC}', 1, APPLE),
    ("MAC-CYRILLIC", Theirs, '\u{A4}'..='\u{A4}', 1, APPLE),
    (
        "windows-1255",
        Ours,
        '\u{5BA}'..='\u{5BA}',
        1,
        "the point holam haser for vav, as in reading",
    ),
    (
        "windows-1255",
        Theirs,
        '\u{FB1D}'..='\u{FB4E}',
        34,
        TAKEN_APART,
    ),
    (
        "windows-1258",
        Theirs,
        '\u{C0}'..='\u{1FFF}',
        183,
        TAKEN_APART,
    ),
    (
        "CP932",
        Theirs,
        '\u{E000}'..='\u{E757}',
        1880,
        "user-defined: read here too, but not written",
    ),
    ("CP932", Theirs, '\u{A2}'..='\u{301C}', 9, ONE_WAY),
    (
        "SHIFT_JIS",
        Ours,
        '\u{80}'..='\u{FFFF}',
        450,
        "the extensions of NEC and IBM, and signs as Windows has them",
    ),
    (
        "SHIFT_JIS",
        Theirs,
        '\u{A2}'..='\u{301C}',
        8,
        "signs as JIS has them, two of them for 5C and 7E",
    ),
    (
        "euc-jp",
        Ours,
        '\u{80}'..='\u{FFFF}',
        167,
        "the extensions of NEC and IBM that JIS X 0212 lacks",
    ),
    ("euc-jp", Theirs, '\u{80}'..='\u{9F}', 30, C1),
    ("euc-jp", Theirs, '\u{A5}'..='\u{203E}', 2, ONE_WAY),
    (
        "EUC-KR",
        Ours,
        '\u{AC00}'..='\u{D7A3}',
        8822,
        "the syllables that Windows added (cp949, UHC)",
    ),
    ("EUC-KR", Theirs, '\u{80}'..='\u{9F}', 32, C1),
    ("EUC-KR", Theirs, '\u{20A9}'..='\u{20A9}', 1, ONE_WAY),
    (
        "EUC-KR",
        Theirs,
        '\u{327E}'..='\u{327E}',
        1,
        "the postal code mark of KS X 1001:2002, later than Windows",
    ),
    (
        "gbk",
        Ours,
        '\u{E000}'..='\u{F8FF}',
        2049,
        "code points for private use, in user-defined and in empty places",
    ),
    (
        "gbk",
        Ours,
        '\u{80}'..='\u{FFFF}',
        99,
        "characters of GB18030 in places that GBK leaves empty",
    ),
    (GB_2005, Ours, '\u{E000}'..='\u{F8FF}', 24, GB_SWAPPED),
    (
        "big5",
        Ours,
        '\u{2400}'..='\u{2421}',
        33,
        "pictures of the control characters, of ETEN",
    ),
    ("big5", Ours, '\u{80}'..='\u{2FFFF}', 1127, HKSCS),
    ("big5", Theirs, '\u{80}'..='\u{80}', 1, "a C1 control"),
    (
        "big5",
        Theirs,
        '\u{F6B1}'..='\u{F848}',
        408,
        "user-defined, as code points for private use",
    ),
];
