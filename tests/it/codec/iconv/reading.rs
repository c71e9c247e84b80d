//! All that is known to be read otherwise than by the C library. `docs/encodings.md` tells it to people.

use std::ops::RangeInclusive;

use super::Side::{self, Ours, Theirs};
use super::reasons::{
    C1, ETEN, GB_2005, GB_ELSE, GB_PRIVATE, GB_SWAPPED, HKSCS, JIS_ROMAN, NEC_13, USER, WINDOWS_31J,
};

/// Neighbouring sequences that both sides read, as different characters.
pub(super) struct Differing {
    /// The charset of the C library.
    pub(super) theirs: &'static str,
    /// The first sequence. Each next one has the next trail byte of Big5: 40..7E, A1..FE, then the next lead byte.
    pub(super) first: &'static [u8],
    /// Our characters, one for each sequence.
    pub(super) ours: &'static str,
    pub(super) glibc: Chars,
    #[expect(dead_code, reason = "for those who read")]
    pub(super) reason: &'static str,
}

/// The characters of glibc.
pub(super) enum Chars {
    One(&'static str),
    /// This one, and then the next code points.
    From(char),
}

const fn one(
    theirs: &'static str,
    first: &'static [u8],
    ours: &'static str,
    glibc: &'static str,
    reason: &'static str,
) -> Differing {
    Differing {
        theirs,
        first,
        ours,
        glibc: Chars::One(glibc),
        reason,
    }
}

impl Differing {
    /// Every sequence with our character and glibc's.
    pub(super) fn each(&self) -> Vec<(Vec<u8>, (char, char))> {
        let glibc: Vec<char> = match self.glibc {
            Chars::One(text) => text.chars().collect(),
            Chars::From(first) => (first..).take(self.ours.chars().count()).collect(),
        };
        let sequences = std::iter::successors(Some(self.first.to_vec()), |bytes| next(bytes));
        let chars = self.ours.chars().zip(glibc);
        sequences.zip(chars).collect()
    }
}

fn next(bytes: &[u8]) -> Option<Vec<u8>> {
    match *bytes {
        [lead, 0x7E] => Some(vec![lead, 0xA1]),
        [lead, 0xFE] => Some(vec![lead + 1, 0x40]),
        [lead, trail] => Some(vec![lead, trail + 1]),
        _ => None,
    }
}

/// What both sides read, as different characters.
pub(super) const READ: [Differing; 21] = [
    one(
        "ibm864",
        b"\x25",
        "\u{25}",
        "\u{66A}",
        "ASCII is ASCII in every charset here; IBM has the Arabic percent sign in its place",
    ),
    one(
        "macintosh",
        b"\xC6",
        "\u{2206}",
        "\u{394}",
        "Apple's ROMAN.TXT: the increment, not the letter delta",
    ),
    one(
        "macintosh",
        b"\xF0",
        "\u{F8FF}",
        "\u{E01E}",
        "Apple's ROMAN.TXT: Apple's logo, of which there is no character, in Apple's private code point",
    ),
    one(
        "MAC-CYRILLIC",
        b"\xFF",
        "\u{20AC}",
        "\u{A4}",
        "Apple's CYRILLIC.TXT: the euro sign since Mac OS 9.0",
    ),
    one("SHIFT_JIS", b"\x5C", "\u{5C}", "\u{A5}", JIS_ROMAN),
    one("SHIFT_JIS", b"\x7E", "\u{7E}", "\u{203E}", JIS_ROMAN),
    one(
        "SHIFT_JIS",
        b"\x81\x60",
        "\u{FF5E}",
        "\u{301C}",
        WINDOWS_31J,
    ),
    one(
        "SHIFT_JIS",
        b"\x81\x61",
        "\u{2225}",
        "\u{2016}",
        WINDOWS_31J,
    ),
    one(
        "SHIFT_JIS",
        b"\x81\x7C",
        "\u{FF0D}",
        "\u{2212}",
        WINDOWS_31J,
    ),
    one("SHIFT_JIS", b"\x81\x91", "\u{FFE0}", "\u{A2}", WINDOWS_31J),
    one("SHIFT_JIS", b"\x81\x92", "\u{FFE1}", "\u{A3}", WINDOWS_31J),
    one("SHIFT_JIS", b"\x81\xCA", "\u{FFE2}", "\u{AC}", WINDOWS_31J),
    one(GB_2005, b"\xFE\x51", "\u{E816}", "\u{20087}", GB_PRIVATE),
    one(GB_2005, b"\xFE\x52", "\u{E817}", "\u{20089}", GB_PRIVATE),
    one(GB_2005, b"\xFE\x53", "\u{E818}", "\u{200CC}", GB_PRIVATE),
    one(GB_2005, b"\xFE\x6C", "\u{E831}", "\u{215D7}", GB_PRIVATE),
    one(GB_2005, b"\xFE\x76", "\u{E83B}", "\u{2298F}", GB_PRIVATE),
    one(GB_2005, b"\xFE\x91", "\u{E855}", "\u{241FE}", GB_PRIVATE),
    Differing {
        theirs: "BIG5",
        first: b"\xC6\xA1",
        ours: "①②③④⑤⑥⑦⑧⑨⑩⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹ丶丿亅亠冂冖冫勹匸卩厶夊宀巛\u{2F33}广廴彐彡攴无疒癶辵隶\u{A8}ˆヽヾゝ\
               ゞ〃仝々〆〇ー［］✽ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひ\
               びぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんァアィイゥウェエォオカガキギクグケゲコゴサザシジスズセ\
               ゼソゾタダチヂッツヅテデトドナニヌネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロヮワヰヱヲンヴヵヶА\
               БВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдеёжзийклмнопрстуфхцчшщъ\
               ыьэюя⇧↸↹㇏\u{200CC}乚\u{2008A}刂䒑\u{9FB0}冈\u{9FB1}\u{27607}",
        glibc: Chars::From('\u{F6B1}'),
        reason: ETEN,
    },
    Differing {
        theirs: "BIG5",
        first: b"\xC8\xCD",
        ours: "￢￤＇＂㈱№℡゛゜\u{2E80}\u{2E84}\u{2E86}\u{2E87}\u{2E88}\u{2E8A}\u{2E8C}\u{2E8D}\u{2E95}\u{2E9C}\u{2E9D}\u{2EA5}\u{2EA7}\u{2EAA}\u{2EAC}\u{2EAE}\u{2EB6}\u{2EBC}\u{2EBE}\u{2EC6}\u{2ECA}\u{2ECC}\u{2ECD}\u{2ECF}\u{2ED6}\u{2ED7}\u{2EDE}\u{2EE3}",
        glibc: Chars::From('\u{F817}'),
        reason: ETEN,
    },
    Differing {
        theirs: "BIG5",
        first: b"\xC8\xF5",
        ours: "ʃɐɛɔɵœøŋʊɪ",
        glibc: Chars::From('\u{F83F}'),
        reason: ETEN,
    },
];

/// Sequences that one side alone reads.
pub(super) struct Class {
    pub(super) theirs: &'static str,
    pub(super) side: Side,
    leads: RangeInclusive<u8>,
    /// Of the second byte; 0 stands for none.
    trails: RangeInclusive<u8>,
    pub(super) count: usize,
    pub(super) reason: &'static str,
}

impl Class {
    /// Would this sequence belong to the class?
    pub(super) fn takes(&self, bytes: &[u8]) -> bool {
        let trail = bytes.get(1).copied().unwrap_or_default();
        self.leads.contains(&bytes[0]) && self.trails.contains(&trail)
    }
}

const fn class(
    theirs: &'static str,
    side: Side,
    leads: RangeInclusive<u8>,
    trails: RangeInclusive<u8>,
    count: usize,
    reason: &'static str,
) -> Class {
    Class {
        theirs,
        side,
        leads,
        trails,
        count,
        reason,
    }
}

/// What one side alone reads.
pub(super) const ONE_SIDED: [Class; 20] = [
    class(
        "windows-1255",
        Ours,
        0xCA..=0xCA,
        0..=0,
        1,
        "the point holam haser for vav, in Microsoft's best fit table but not in CP1255.TXT",
    ),
    class("SHIFT_JIS", Ours, 0x87..=0x87, 0x40..=0xFC, 83, NEC_13),
    class(
        "SHIFT_JIS",
        Ours,
        0xED..=0xEE,
        0x40..=0xFC,
        374,
        "IBM's extensions in the places that NEC gave them",
    ),
    class(
        "SHIFT_JIS",
        Ours,
        0xF0..=0xF9,
        0x40..=0xFC,
        1880,
        "user-defined, as code points for private use: U+E000..U+E757",
    ),
    class(
        "SHIFT_JIS",
        Ours,
        0xFA..=0xFC,
        0x40..=0xFC,
        388,
        "IBM's extensions",
    ),
    class("euc-jp", Ours, 0xAD..=0xAD, 0xA1..=0xFE, 83, NEC_13),
    class(
        "euc-jp",
        Ours,
        0xF9..=0xFC,
        0xA1..=0xFE,
        374,
        "IBM's extensions in the places that NEC gave them",
    ),
    class("euc-jp", Theirs, 0x80..=0x9F, 0..=0, 30, C1),
    class(
        "EUC-KR",
        Ours,
        0x81..=0xC6,
        0x41..=0xFE,
        8822,
        "the syllables that Windows added (cp949, UHC)",
    ),
    class("EUC-KR", Theirs, 0x80..=0x9F, 0..=0, 32, C1),
    class(
        "EUC-KR",
        Theirs,
        0xA2..=0xA2,
        0xE8..=0xE8,
        1,
        "the postal code mark of KS X 1001:2002, later than Windows",
    ),
    class("gbk", Ours, 0xAA..=0xAF, 0xA1..=0xFE, 564, USER),
    class("gbk", Ours, 0xF8..=0xFE, 0xA1..=0xFE, 658, USER),
    class("gbk", Ours, 0xA1..=0xA7, 0x40..=0xA0, 672, USER),
    class("gbk", Ours, 0xA1..=0xFE, 0x40..=0xFE, 255, GB_ELSE),
    class(GB_2005, Ours, 0x82..=0x84, 0x30..=0x39, 18, GB_SWAPPED),
    class(
        "big5",
        Ours,
        0xA3..=0xA3,
        0xC0..=0xE0,
        33,
        "pictures of the control characters, of ETEN",
    ),
    class("big5", Ours, 0xFA..=0xFE, 0x40..=0xFE, 785, HKSCS),
    class("big5", Theirs, 0x80..=0x80, 0..=0, 1, "a C1 control"),
    class(
        "big5",
        Theirs,
        0xC8..=0xC8,
        0xA5..=0xF4,
        43,
        "user-defined, as code points for private use",
    ),
];
