//! Names that break a rule, and where.

/// A name that breaks a rule: the name, rule, kind, offset and length of the offence, the code point it spells.
pub(crate) type Row = (
    &'static [u8],
    &'static str,
    &'static str,
    u64,
    u64,
    Option<u64>,
);

/// One name, or more, of each class of ill-formed UTF-8.
pub(crate) const ILL_FORMED: &[Row] = &[
    (b"\x80", "ill-formed", "unexpected-continuation", 0, 1, None),
    (
        b"ab\xBFz",
        "ill-formed",
        "unexpected-continuation",
        2,
        1,
        None,
    ),
    // The third octet continues nothing.
    (
        b"\xC3\xA9\xA9",
        "ill-formed",
        "unexpected-continuation",
        2,
        1,
        None,
    ),
    (b"\xFE", "ill-formed", "invalid-byte", 0, 1, None),
    (b"a\xFF", "ill-formed", "invalid-byte", 1, 1, None),
    (b"\xC0z", "ill-formed", "invalid-byte", 0, 1, None),
    (
        b"abc\xF5\x80\x80\x80",
        "ill-formed",
        "invalid-byte",
        3,
        1,
        None,
    ),
    // Six octets, which were U+7FFFFFFF until 2003.
    (
        b"\xFD\xBF\xBF\xBF\xBF\xBF",
        "ill-formed",
        "invalid-byte",
        0,
        1,
        None,
    ),
    // Latin-1.
    (b"caf\xE9", "ill-formed", "truncated", 3, 1, None),
    (b"caf\xE9.txt", "ill-formed", "truncated", 3, 1, None),
    (b"\xE2\x82", "ill-formed", "truncated", 0, 2, None),
    (b"x\xF0\x9F\x98y", "ill-formed", "truncated", 1, 3, None),
    // `/`, NUL and `.` in disguise.
    (b"\xC0\xAF", "ill-formed", "overlong", 0, 2, Some(0x2F)),
    (b"etc\xC0\x80", "ill-formed", "overlong", 3, 2, Some(0)),
    (
        b"\xC0\xAE\xC0\xAE\xC0\xAFetc",
        "ill-formed",
        "overlong",
        0,
        2,
        Some(0x2E),
    ),
    (b"\xE0\x80\xAF", "ill-formed", "overlong", 0, 3, Some(0x2F)),
    (
        b"\xF0\x80\x80\xAF",
        "ill-formed",
        "overlong",
        0,
        4,
        Some(0x2F),
    ),
    (b"\xC1\xBF", "ill-formed", "overlong", 0, 2, Some(0x7F)),
    (b"\xE0\x9F\xBF", "ill-formed", "overlong", 0, 3, Some(0x7FF)),
    (
        b"\xF0\x8F\xBF\xBF",
        "ill-formed",
        "overlong",
        0,
        4,
        Some(0xFFFF),
    ),
    // CESU-8 of U+10000.
    (
        b"\xED\xA0\x80\xED\xB0\x80",
        "ill-formed",
        "surrogate",
        0,
        3,
        Some(0xD800),
    ),
    (
        b"--\xED\xBF\xBF",
        "ill-formed",
        "surrogate",
        2,
        3,
        Some(0xDFFF),
    ),
    (
        b"\xF4\x90\x80\x80",
        "ill-formed",
        "out-of-range",
        0,
        4,
        Some(0x11_0000),
    ),
];

/// What the profile `portable` with `--normalization nfc` forbids besides.
pub(crate) const FORBIDDEN: &[Row] = &[
    (b"a\x1Bb", "forbidden", "control", 1, 1, Some(0x1B)),
    (b"\x7F", "forbidden", "control", 0, 1, Some(0x7F)),
    (b"a\xC2\x9Bb", "forbidden", "control", 1, 2, Some(0x9B)),
    (
        b"a\xE2\x80\xA8b",
        "forbidden",
        "newline",
        1,
        3,
        Some(0x2028),
    ),
    (
        b"abc\xE2\x80\xAEtxt",
        "forbidden",
        "bidi",
        3,
        3,
        Some(0x202E),
    ),
    (b"\xE2\x81\xA6x", "forbidden", "bidi", 0, 3, Some(0x2066)),
    (b"-rf", "forbidden", "leading-dash", 0, 1, Some(0x2D)),
    (b" x", "forbidden", "edge-space", 0, 1, Some(0x20)),
    (
        b"x\xE3\x80\x80",
        "forbidden",
        "edge-space",
        1,
        3,
        Some(0x3000),
    ),
    (b"a:b", "forbidden", "windows", 1, 1, Some(0x3A)),
    (b"x?", "forbidden", "windows", 1, 1, Some(0x3F)),
    (b"a\\b", "forbidden", "windows", 1, 1, Some(0x5C)),
    (b"x.", "forbidden", "windows", 1, 1, Some(0x2E)),
];

/// Names out of normalization form C.
pub(crate) const OUT_OF_FORM: &[Row] = &[
    (b"e\xCC\x81", "not-normalized", "nfc", 0, 3, None),
    (b"ab\xE2\x84\xAB", "not-normalized", "nfc", 1, 4, None),
];
