//! Corrections of the library's tables, which follow Windows or the web where the charset's own standard differs.

/// The bytes of a character that the library reads as another one, or to which it writes other bytes; and the character by the standard.
pub(super) type Correction = (&'static [u8], char);

/// JIS X 0208 in EUC-JP, as in the Unicode Consortium's JIS0208.TXT, glibc and Python; the library has what
/// Microsoft made of it in windows-31j.
pub(super) const JIS_X_0208: [Correction; 6] = [
    (b"\xA1\xC1", '\u{301C}'), // wave dash
    (b"\xA1\xC2", '\u{2016}'), // double vertical line
    (b"\xA1\xDD", '\u{2212}'), // minus sign
    (b"\xA1\xF1", '\u{A2}'),   // cent sign
    (b"\xA1\xF2", '\u{A3}'),   // pound sign
    (b"\xA2\xCC", '\u{AC}'),   // not sign
];

/// The first of the places of row A3 that GBK leaves to the user; the WHATWG takes it for a space that got lost.
pub(super) const GBK_USER_DEFINED: [Correction; 1] = [(b"\xA3\xA0", '\u{E5E5}')];

/// GB 18030-2005, and what GB 18030-2022 exchanged: ten vertical forms and eight ideographs got the two bytes that
/// had been of code points for private use. Those got the four bytes in return. The WHATWG reads the four bytes as
/// before, so that the eighteen have two spellings and the private code points none.
pub(super) const GB_18030_2022: [Correction; 19] = [
    (b"\xA3\xA0", '\u{E5E5}'),
    (b"\x82\x35\x90\x37", '\u{E81E}'),
    (b"\x82\x35\x90\x38", '\u{E826}'),
    (b"\x82\x35\x90\x39", '\u{E82B}'),
    (b"\x82\x35\x91\x30", '\u{E82C}'),
    (b"\x82\x35\x91\x31", '\u{E832}'),
    (b"\x82\x35\x91\x32", '\u{E843}'),
    (b"\x82\x35\x91\x33", '\u{E854}'),
    (b"\x82\x35\x91\x34", '\u{E864}'),
    (b"\x84\x31\x82\x36", '\u{E78D}'),
    (b"\x84\x31\x82\x37", '\u{E78F}'),
    (b"\x84\x31\x82\x38", '\u{E78E}'),
    (b"\x84\x31\x82\x39", '\u{E790}'),
    (b"\x84\x31\x83\x30", '\u{E791}'),
    (b"\x84\x31\x83\x31", '\u{E792}'),
    (b"\x84\x31\x83\x32", '\u{E793}'),
    (b"\x84\x31\x83\x33", '\u{E794}'),
    (b"\x84\x31\x83\x34", '\u{E795}'),
    (b"\x84\x31\x83\x35", '\u{E796}'),
];

/// Big5 as in the Unicode Consortium's BIG5.TXT, glibc and Python. Five characters have a second place among the
/// extensions of ETEN. The library writes that one, and we only read it. The sixth is the last of ETEN's, as
/// Microsoft has it in CP950.TXT; the library has Hong Kong's.
pub(super) const BIG5: [Correction; 6] = [
    (b"\xA2\xA4", '\u{2550}'),
    (b"\xA2\xA5", '\u{255E}'),
    (b"\xA2\xA6", '\u{256A}'),
    (b"\xA2\xA7", '\u{2561}'),
    (b"\xC9\x69", '\u{4EDD}'),
    (b"\xF9\xFE", '\u{2593}'),
];
