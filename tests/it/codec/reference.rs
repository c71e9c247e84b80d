//! A slow and obvious reading of the documents' tables, written from them and not from the code under test.
//!
//! A row of a table is what the document prints: a range, and a pattern of bits for each octet. A sequence is compared
//! with every row, bit by bit; what it is follows from the row and the range.

use utf8fs::codec::{Encoding, Malformed};

/// A form of UTF-8, as its document defines it.
pub(super) enum Reference {
    /// Rows of octets.
    Table(Table),
    /// Rows of octets; each octet of what fits none is U+DC00 plus it.
    Escaping(Table),
    /// Units of so many octets; big-endian or not; pairs of surrogates or not.
    Units {
        octets: usize,
        is_big: bool,
        has_pairs: bool,
        last: u32,
    },
}

pub(super) struct Table {
    rows: Vec<Row>,
    /// Do the bits count from the first code point of the row?
    is_biased: bool,
    /// The last code point in use, which may come before the last of the table.
    last: u32,
    surrogates: Surrogates,
    /// Modified UTF-8 writes U+0000 as C0 80.
    has_long_nul: bool,
}

#[derive(PartialEq, Clone, Copy)]
enum Surrogates {
    Refused,
    Allowed,
    /// Not as a pair.
    Alone,
    /// Only as a pair, which is a character.
    Paired,
    /// Also as a pair, which is a character.
    Both,
}

struct Row {
    from: u64,
    to: u64,
    octets: Vec<Pattern>,
    /// The octets with which a code point of the row can start.
    leads: Vec<u8>,
}

struct Pattern {
    /// The bits that are given, and which of them are ones.
    given: u8,
    ones: u8,
    /// How many bits are free; they are the low ones.
    free: u32,
}

impl Pattern {
    /// Reads `110vvvvv`.
    fn parse(bits: &str) -> Self {
        let value = |is_one: fn(char) -> bool| {
            let bits = bits.chars().map(|bit| u8::from(is_one(bit)));
            bits.fold(0, |value, bit| (value << 1) | bit)
        };
        assert_eq!(bits.len(), 8);
        Self {
            given: value(|bit| bit == '0' || bit == '1'),
            ones: value(|bit| bit == '1'),
            free: bits.chars().map(|bit| u32::from(bit.is_alphabetic())).sum(),
        }
    }

    fn fits(&self, octet: u8) -> bool {
        octet & self.given == self.ones
    }
}

impl Row {
    fn new(from: u64, to: u64, pattern: &str, is_biased: bool) -> Self {
        let octets: Vec<Pattern> = pattern.split(' ').map(Pattern::parse).collect();
        let below: u32 = octets[1..].iter().map(|octet| octet.free).sum();
        let bias = if is_biased { from } else { 0 };
        let can_lead = |&lead: &u8| {
            let least = bias + (u64::from(lead & !octets[0].given) << below);
            let greatest = least + (1 << below) - 1;
            octets[0].fits(lead) && least <= to && greatest >= from
        };
        let leads = (0..=0xFF).filter(can_lead).collect();
        Self {
            from,
            to,
            octets,
            leads,
        }
    }

    /// How many of the first octets fit.
    fn fitting(&self, bytes: &[u8]) -> usize {
        let pairs = self.octets.iter().zip(bytes);
        pairs.take_while(|(octet, byte)| octet.fits(**byte)).count()
    }

    /// The free bits, one after the other.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let pairs = self.octets.iter().zip(bytes);
        pairs.fold(0, |bits, (octet, byte)| {
            (bits << octet.free) | u64::from(byte & !octet.given)
        })
    }

    fn fill(&self, mut bits: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.octets.iter().map(|octet| octet.ones).collect();
        for (byte, octet) in bytes.iter_mut().zip(&self.octets).rev() {
            *byte |= bits.to_le_bytes()[0] & !octet.given;
            bits >>= octet.free;
        }
        assert_eq!(bits, 0, "the bits of a code point fit into its row");
        bytes
    }
}

/// The table of 8 September 1992, and of RFC 2279, section 2.
const TABLE: [(u64, u64, &str); 6] = [
    (0x0, 0x7F, "0vvvvvvv"),
    (0x80, 0x7FF, "110vvvvv 10vvvvvv"),
    (0x800, 0xFFFF, "1110vvvv 10vvvvvv 10vvvvvv"),
    (0x10000, 0x1FFFFF, "11110vvv 10vvvvvv 10vvvvvv 10vvvvvv"),
    (
        0x200000,
        0x3FFFFFF,
        "111110vv 10vvvvvv 10vvvvvv 10vvvvvv 10vvvvvv",
    ),
    (
        0x4000000,
        0x7FFFFFFF,
        "1111110v 10vvvvvv 10vvvvvv 10vvvvvv 10vvvvvv 10vvvvvv",
    ),
];

/// The last row of "We define 7 byte types".
const T5: (u64, u64, &str) = (
    0x4000000,
    0xFFFFFFFF,
    "111111xx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx",
);

/// The last row of RFC 3629, section 3.
const LAST_OF_RFC_3629: (u64, u64, &str) =
    (0x10000, 0x10FFFF, "11110xxx 10xxxxxx 10xxxxxx 10xxxxxx");

/// The table of the X/Open draft.
const DRAFT: [(u64, u64, &str); 5] = [
    (0x0, 0x7F, "0zzzzzzz"),
    (0x80, 0x207F, "10zzzzzz 1yyyyyyy"),
    (0x2080, 0x8207F, "110zzzzz 1yyyyyyy 1xxxxxxx"),
    (0x82080, 0x208207F, "1110zzzz 1yyyyyyy 1xxxxxxx 1wwwwwww"),
    (
        0x2082080,
        0x7FFFFFFF,
        "11110zzz 1yyyyyyy 1xxxxxxx 1wwwwwww 1vvvvvvv",
    ),
];

impl Table {
    fn new(rows: &[(u64, u64, &str)], last: u32, surrogates: Surrogates) -> Self {
        let is_biased = rows == DRAFT;
        let row = |&(from, to, bits): &(u64, u64, &str)| Row::new(from, to, bits, is_biased);
        Self {
            rows: rows.iter().map(row).collect(),
            is_biased,
            last,
            surrogates,
            has_long_nul: false,
        }
    }

    /// What `bytes` start with: how many octets it takes, and the code point or what is wrong.
    fn first(&self, bytes: &[u8]) -> (usize, Result<u32, Malformed>) {
        if self.has_long_nul && bytes.starts_with(b"\xC0\x80") {
            return (2, Ok(0));
        }
        let lead = bytes[0];
        for row in &self.rows {
            let fitting = row.fitting(bytes);
            if fitting == 0 {
                continue;
            }
            let can_lead = row.leads.contains(&lead) || (self.has_long_nul && lead == 0xC0);
            if fitting < row.octets.len() {
                // A row of which nothing is in use is never led into.
                if row.from > u64::from(self.last) {
                    return (1, Err(Malformed::InvalidByte));
                }
                // C0 and C1 spell nothing by themselves, F5..F7 nothing of RFC 3629.
                return match can_lead {
                    true => (fitting, Err(Malformed::Truncated)),
                    false => (1, Err(Malformed::InvalidByte)),
                };
            }
            let bias = if self.is_biased { row.from } else { 0 };
            let value = row.bits(bytes) + bias;
            let code_point = u32::try_from(value).expect("no row has more than 32 bits");
            if value < row.from && fitting > 1 {
                return (fitting, Err(Malformed::Overlong(code_point)));
            }
            if !can_lead {
                return (1, Err(Malformed::InvalidByte));
            }
            if (0xD800..=0xDFFF).contains(&value) && !self.is_biased {
                return self.surrogate(code_point, &bytes[3..]);
            }
            if value > row.to.min(u64::from(self.last)) {
                return (fitting, Err(Malformed::OutOfRange(code_point)));
            }
            return (fitting, Ok(code_point));
        }
        match lead {
            0x80..=0xBF => (1, Err(Malformed::UnexpectedContinuation)),
            _ => (1, Err(Malformed::InvalidByte)),
        }
    }

    fn surrogate(&self, code_point: u32, behind: &[u8]) -> (usize, Result<u32, Malformed>) {
        let row = &self.rows[2];
        let other = (row.fitting(behind) == 3).then(|| u32::try_from(row.bits(behind)));
        let pair = match other {
            Some(Ok(low @ 0xDC00..=0xDFFF)) if code_point < 0xDC00 => {
                Some(0x10000 + (code_point - 0xD800) * 0x400 + (low - 0xDC00))
            }
            _ => None,
        };
        let refused = Err(Malformed::Surrogate(code_point));
        match (self.surrogates, pair) {
            (Surrogates::Paired | Surrogates::Both, Some(pair)) => (6, Ok(pair)),
            (Surrogates::Alone, Some(_)) => (6, refused),
            (Surrogates::Refused, _) | (Surrogates::Paired, None) => (3, refused),
            (Surrogates::Allowed, _) | (Surrogates::Alone | Surrogates::Both, None) => {
                (3, Ok(code_point))
            }
        }
    }

    fn encode(&self, code_point: u32) -> Option<Vec<u8>> {
        let is_surrogate = (0xD800..=0xDFFF).contains(&code_point);
        let refused = matches!(self.surrogates, Surrogates::Refused | Surrogates::Paired);
        if code_point > self.last || (is_surrogate && refused && !self.is_biased) {
            return None;
        }
        if code_point == 0 && self.has_long_nul {
            return Some(b"\xC0\x80".to_vec());
        }
        let value = u64::from(code_point);
        let row = self
            .rows
            .iter()
            .find(|row| (row.from..=row.to).contains(&value));
        let Some(row) = row else {
            let code_point = code_point - 0x10000;
            let [high, low] = [0xD800 + code_point / 0x400, 0xDC00 + code_point % 0x400];
            let half = |value: u32| self.rows[2].fill(u64::from(value));
            return Some([half(high), half(low)].concat());
        };
        let bias = if self.is_biased { row.from } else { 0 };
        Some(row.fill(value - bias))
    }
}

impl Reference {
    pub(super) fn of(encoding: Encoding) -> Self {
        let rfc_3629 = |surrogates| {
            let rows = [&TABLE[..3], &[LAST_OF_RFC_3629]].concat();
            Table::new(&rows, 0x10_FFFF, surrogates)
        };
        let units = |octets, is_big, has_pairs, last| Self::Units {
            octets,
            is_big,
            has_pairs,
            last,
        };
        let table = match encoding {
            Encoding::Utf8 => rfc_3629(Surrogates::Refused),
            Encoding::Utf8b => return Self::Escaping(rfc_3629(Surrogates::Refused)),
            Encoding::Wtf8 => rfc_3629(Surrogates::Alone),
            Encoding::Utf8Rfc2279 | Encoding::FssUtf => {
                Table::new(&TABLE, 0x7FFF_FFFF, Surrogates::Allowed)
            }
            Encoding::Utf8Bmp => Table::new(&TABLE, 0xFFFF, Surrogates::Allowed),
            Encoding::FssUtfXutf => {
                let rows = [&TABLE[..5], &[T5]].concat();
                Table::new(&rows, 0xFFFF_FFFF, Surrogates::Allowed)
            }
            Encoding::FssUtfDraft => Table::new(&DRAFT, 0x7FFF_FFFF, Surrogates::Allowed),
            Encoding::Cesu8 => Table::new(&TABLE[..3], 0x10_FFFF, Surrogates::Paired),
            Encoding::Mutf8 => {
                let rows = [&[(1, 0x7F, TABLE[0].2)], &TABLE[1..3]].concat();
                let table = Table::new(&rows, 0x10_FFFF, Surrogates::Both);
                Table {
                    has_long_nul: true,
                    ..table
                }
            }
            Encoding::Utf16Be => return units(2, true, true, 0x10_FFFF),
            Encoding::Utf16Le => return units(2, false, true, 0x10_FFFF),
            Encoding::Ucs2Be => return units(2, true, false, 0xFFFF),
            Encoding::Ucs2Le => return units(2, false, false, 0xFFFF),
            Encoding::Ucs4Be => return units(4, true, false, 0x7FFF_FFFF),
            Encoding::Ucs4Le => return units(4, false, false, 0x7FFF_FFFF),
        };
        Self::Table(table)
    }

    /// What `bytes`, which are not empty, start with.
    pub(super) fn first(&self, bytes: &[u8]) -> (usize, Result<u32, Malformed>) {
        match self {
            Self::Table(table) => table.first(bytes),
            Self::Escaping(table) => match table.first(bytes) {
                (_, Err(_)) => (1, Ok(0xDC00 + u32::from(bytes[0]))),
                found => found,
            },
            &Self::Units {
                octets,
                is_big,
                has_pairs,
                last,
            } => {
                let unit = |at: usize| {
                    let mut unit = bytes.get(at..at + octets)?.to_vec();
                    if !is_big {
                        unit.reverse();
                    }
                    let value = unit
                        .iter()
                        .fold(0, |v, &octet| v * 0x100 + u32::from(octet));
                    Some(value)
                };
                match (unit(0), unit(octets)) {
                    (None, _) => (bytes.len(), Err(Malformed::Truncated)),
                    (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) if has_pairs => {
                        let code_point = 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00);
                        (2 * octets, Ok(code_point))
                    }
                    // The high octet, where it is there, tells whether a second half may follow.
                    (Some(0xD800..=0xDBFF), None)
                        if has_pairs
                            && !(is_big && bytes.get(octets).is_some_and(|o| o & 0xFC != 0xDC)) =>
                    {
                        (bytes.len(), Err(Malformed::Truncated))
                    }
                    (Some(alone @ 0xD800..=0xDFFF), _) if has_pairs => {
                        (octets, Err(Malformed::Surrogate(alone)))
                    }
                    (Some(value), _) if value > last => (octets, Err(Malformed::OutOfRange(value))),
                    (Some(value), _) => (octets, Ok(value)),
                }
            }
        }
    }

    /// The octets of a code point; `None` where it has none.
    pub(super) fn encode(&self, code_point: u32) -> Option<Vec<u8>> {
        match self {
            Self::Table(table) => table.encode(code_point),
            Self::Escaping(table) => match code_point {
                0xDC80..=0xDCFF => Some(vec![code_point.to_le_bytes()[0]]),
                _ => table.encode(code_point),
            },
            &Self::Units {
                octets,
                is_big,
                has_pairs,
                last,
            } => {
                let unit = |value: u32| {
                    let mut unit = value.to_be_bytes()[4 - octets..].to_vec();
                    if !is_big {
                        unit.reverse();
                    }
                    unit
                };
                match code_point {
                    0xD800..=0xDFFF if has_pairs => None,
                    _ if code_point > last => None,
                    0x10000.. if has_pairs => {
                        let [high, low] = [
                            (code_point - 0x10000) / 0x400,
                            (code_point - 0x10000) % 0x400,
                        ];
                        Some([unit(0xD800 + high), unit(0xDC00 + low)].concat())
                    }
                    _ => Some(unit(code_point)),
                }
            }
        }
    }
}
