//! What the sample code of the 1992 papers does, on the machines of its day, against what its text allows.
//!
//! Both samples are told here as behaviour, in our own words: which octets are looked at, what is kept of them in a variable
//! of so many bits, when it gives up. On legal input they agree with ours wherever a `wchar_t` can hold the character; each
//! test named `departure_...` shows a place where they go another way, and `docs/encodings.md` lists it.

use super::for_each_string;
use utf8fs::codec::Encoding;

/// What the C of a machine makes of numbers: how wide a `wchar_t` and a `long` are, and whether the former has a sign.
#[derive(Clone, Copy, Debug)]
struct Machine {
    wide_bits: u32,
    has_sign: bool,
    long_bits: u32,
}

const fn machine(wide_bits: u32, has_sign: bool, long_bits: u32) -> Machine {
    Machine {
        wide_bits,
        has_sign,
        long_bits,
    }
}

/// Plan 9 had 16 bits without a sign, most systems came to 32 with one.
const OF_32_BITS: [Machine; 4] = [
    machine(32, true, 32),
    machine(32, true, 64),
    machine(32, false, 32),
    machine(32, false, 64),
];
const OF_16_BITS: [Machine; 2] = [machine(16, false, 32), machine(16, true, 32)];

/// What is left of a number in so many bits.
fn cut(number: i64, bits: u32, has_sign: bool) -> i64 {
    let left = number << (64 - bits);
    if has_sign {
        left >> (64 - bits)
    } else {
        (left.cast_unsigned() >> (64 - bits)).cast_signed()
    }
}

fn low_octet(number: i64) -> u8 {
    number.to_le_bytes()[0]
}

/// The greatest value of so many octets in the table of 8 September.
fn greatest(octets: u32) -> i64 {
    let bits = if octets == 1 { 7 } else { 5 * octets + 1 };
    (1 << bits) - 1
}

impl Machine {
    fn wide(self, number: i64) -> i64 {
        cut(number, self.wide_bits, self.has_sign)
    }

    fn long(self, number: i64) -> i64 {
        cut(number, self.long_bits, true)
    }

    /// `mbtowc` of 8 September: how many octets it looks at; the character as its `wchar_t` has it and the length, or nothing
    /// for -1. It tries the rows from the first, with one octet more for each; a row is known by its mark in the lead alone.
    fn read(self, bytes: &[u8]) -> (usize, Option<(i64, usize)>) {
        let Some(&lead) = bytes.first() else {
            return (0, None);
        };
        let mut bits = i64::from(lead);
        for looked_at in 1..=7 {
            let octets = u32::try_from(looked_at).unwrap();
            let mark = if octets == 1 { 0 } else { octets };
            if lead.leading_ones() == mark && octets <= 6 {
                let value = bits & greatest(octets);
                let is_shortest = octets == 1 || value > greatest(octets - 1);
                return (
                    looked_at,
                    is_shortest.then(|| (self.wide(value), looked_at)),
                );
            }
            match bytes.get(looked_at) {
                _ if looked_at == 7 => return (looked_at, None),
                None => return (looked_at, None),
                Some(octet @ 0x80..=0xBF) => {
                    bits = self.long((bits << 6) | i64::from(octet & 0x3F));
                }
                Some(_) => return (looked_at + 1, None),
            }
        }
        unreachable!("there are six rows and one octet behind them")
    }

    /// `wctomb` of 8 September: the octets of the first row whose greatest value is not less, in signed arithmetic.
    fn write(self, character: i64) -> Option<Vec<u8>> {
        let value = self.long(self.wide(character));
        let octets = (1..=6).find(|&octets| value <= greatest(octets))?;
        let mark = if octets == 1 { 0 } else { !(0xFF_u8 >> octets) };
        let lead = mark | low_octet(value >> (6 * (octets - 1)));
        let more = (0..octets - 1)
            .rev()
            .map(|place| 0x80 | low_octet((value >> (6 * place)) & 0x3F));
        Some([lead].into_iter().chain(more).collect())
    }

    /// `mbtowc` of the draft: what it leaves in the caller's `wchar_t`, and what it returns, with nothing for -1.
    fn read_draft(self, bytes: &[u8]) -> (Option<i64>, Option<usize>) {
        let Some(&lead) = bytes.first() else {
            return (None, None);
        };
        let ones = usize::try_from(lead.leading_ones()).unwrap();
        let written_first = self.wide(i64::from(lead));
        if ones == 0 {
            return (Some(written_first), Some(usize::from(lead != 0)));
        }
        let more = match bytes.get(1..=ones) {
            Some(more) if ones <= 4 && more.iter().all(|octet| *octet >= 0x80) => more,
            _ => return (Some(written_first), None),
        };
        let mut value = written_first & (0x7F >> ones);
        value = self.wide(value << (7 * ones));
        for (place, octet) in (0..ones).rev().zip(more) {
            value = self.wide(value | (i64::from(octet & 0x7F) << (7 * place)));
        }
        value = self.wide(value + [0x80, 0x2080, 0x8_2080, 0x208_2080][ones - 1]);
        // The check of the range is cut to a `wchar_t` as well.
        let is_beyond = ones == 4 && value & !self.wide(0x7FFF_FFFF) != 0;
        (Some(value), (!is_beyond).then_some(ones + 1))
    }

    /// `wctomb` of the draft.
    fn write_draft(self, character: i64) -> Option<Vec<u8>> {
        let value = self.wide(character);
        let rows = [
            (0x80, 0x207F),
            (0x2080, 0x8_207F),
            (0x8_2080, 0x208_207F),
            (0x208_2080, 0x7FFF_FFFF),
        ];
        match value {
            ..0 => None,
            0..=0x7F => Some(vec![low_octet(value)]),
            _ => {
                let ones = 1 + rows.iter().position(|(_, last)| value <= *last)?;
                let bits = value - rows[ones - 1].0;
                let lead = !(0xFF_u8 >> ones) | low_octet(bits >> (7 * ones));
                let more = (0..ones)
                    .rev()
                    .map(|place| 0x80 | low_octet((bits >> (7 * place)) & 0x7F));
                Some([lead].into_iter().chain(more).collect())
            }
        }
    }
}

/// Code points at the edges of both tables, and some of all others.
fn code_points() -> impl Iterator<Item = u32> {
    let edges = [
        0x7F, 0x7FF, 0x207F, 0xD800, 0xFFFF, 0x8_207F, 0x1F_FFFF, 0x208_207F, 0x3FF_FFFF,
    ];
    let around = edges.into_iter().flat_map(|edge: u32| edge - 2..=edge + 2);
    let sample = (0..0x7FFF_FFFF).step_by(65_519);
    around.chain(0..0x1000).chain(sample).chain([0x7FFF_FFFF])
}

#[test]
fn the_samples_agree_with_ours_on_all_that_is_legal() {
    for machine in OF_32_BITS.into_iter().chain(OF_16_BITS) {
        let last = u32::try_from(machine.wide(-1).max((1 << (machine.wide_bits - 1)) - 1)).unwrap();
        for code_point in code_points().filter(|code_point| *code_point <= last) {
            let wide = i64::from(code_point);
            let bytes = Encoding::FssUtf.encode(&[code_point]).unwrap();
            assert_eq!(machine.write(wide).as_ref(), Some(&bytes), "{machine:?}");
            assert_eq!(
                machine.read(&bytes),
                (bytes.len(), Some((wide, bytes.len()))),
                "{machine:?}"
            );
            let bytes = Encoding::FssUtfDraft.encode(&[code_point]).unwrap();
            assert_eq!(
                machine.write_draft(wide).as_ref(),
                Some(&bytes),
                "{machine:?}"
            );
            let length = if code_point == 0 { 0 } else { bytes.len() };
            assert_eq!(
                machine.read_draft(&bytes),
                (Some(wide), Some(length)),
                "{machine:?}"
            );
        }
    }
}

/// With 32 bits, neither sample reads anything that its text forbids, in any combination of octets at the edges.
#[test]
fn with_32_bits_the_samples_read_what_ours_reads_and_nothing_else() {
    let leads: Vec<u8> = (0..=0xFF).collect();
    let more = [0x2F, 0x80, 0x83, 0x84, 0x87, 0x88, 0xBF, 0xFF];
    for length in 1..=6 {
        let more = if length < 5 { &more[..] } else { &more[1..7] };
        for_each_string(&leads, more, length, |bytes| {
            let ours = Encoding::FssUtf.first(bytes).unwrap();
            let ours = ours.spells.ok().map(|c| (i64::from(c), ours.length));
            let draft = Encoding::FssUtfDraft.first(bytes).unwrap();
            let draft = draft.spells.ok().map(|c| (i64::from(c), draft.length));
            for machine in OF_32_BITS {
                assert_eq!(machine.read(bytes).1, ours, "{bytes:02X?} {machine:?}");
                let (left, length) = machine.read_draft(bytes);
                let length = if bytes[0] == 0 { Some(1) } else { length };
                assert_eq!(
                    left.zip(length).filter(|(_, length)| *length > 0),
                    draft,
                    "{bytes:02X?} {machine:?}"
                );
            }
        });
    }
}

/// The text: values "in the range [0,0x7fffffff]", and octets of ASCII for ASCII alone. The sample compares with the end of
/// the first row only, so that a negative character is its low octet: `/`, NUL, or one that never occurs.
#[test]
fn departure_a_negative_character_is_written_as_one_octet() {
    for machine in [machine(32, true, 32), machine(32, true, 64)] {
        for (wide, octet) in [
            (-1, 0xFF),
            (-2, 0xFE),
            (-209, b'/'),
            (-256, 0),
            (-128, 0x80),
            (i64::from(i32::MIN), 0),
        ] {
            assert_eq!(machine.write(wide), Some(vec![octet]), "{machine:?}");
            assert_eq!(
                machine.write_draft(wide),
                None,
                "the draft's sample asks for the sign"
            );
        }
    }
    assert!(Encoding::FssUtf.encode(&[0xFFFF_FF2F]).is_err());
}

/// The same where `wchar_t` has no sign but the `long` into which it is put is no wider.
#[test]
fn departure_a_character_beyond_31_bits_is_written_as_one_octet() {
    let narrow = machine(32, false, 32);
    assert_eq!(narrow.write(0x8000_002F), Some(vec![b'/']));
    assert_eq!(narrow.write(0xFFFF_FFFF), Some(vec![0xFF]));
    assert_eq!(narrow.write_draft(0x8000_002F), None);
    let wide = machine(32, false, 64);
    assert_eq!(wide.write(0x8000_002F), None);
}

/// With 16 bits and a sign, the upper half of the plane is negative: U+FF2F, a letter, is written as `/`. The draft's sample
/// refuses these, which are legal.
#[test]
fn departure_with_16_bits_and_a_sign_half_of_the_plane_is_lost() {
    let machine = machine(16, true, 32);
    assert_eq!(machine.write(0xFF2F), Some(vec![b'/']));
    assert_eq!(machine.write(0xFF00), Some(vec![0]));
    for code_point in 0x8000..=0xFFFF {
        assert_eq!(machine.write(code_point).unwrap().len(), 1);
        assert_eq!(machine.write_draft(code_point), None);
    }
}

/// With 16 bits, longer sequences are taken, and the character is cut: four octets are read as `/` or as NUL.
#[test]
fn departure_with_16_bits_a_long_sequence_is_read_as_ascii() {
    for machine in OF_16_BITS {
        for (bytes, character) in [
            (&b"\xF0\x90\x80\xAF"[..], b'/'),
            (b"\xF0\x90\x80\x80", 0),
            (b"\xF8\x88\x80\x80\xAF", b'/'),
            (b"\xFC\x84\x80\x80\x80\xAE", b'.'),
        ] {
            let wanted = Some((i64::from(character), bytes.len()));
            assert_eq!(machine.read(bytes).1, wanted, "{machine:?}");
            let ours = Encoding::FssUtf.decode(bytes).unwrap();
            assert!(ours[0] > 0xFFFF);
            assert!(Encoding::Utf8Bmp.decode(bytes).is_err());
        }
        // The draft's likewise, from three octets on: U+1002F.
        let bytes = Encoding::FssUtfDraft.encode(&[0x1_002F]).unwrap();
        assert_eq!(bytes, b"\xC3\xBF\xAF");
        assert_eq!(
            machine.read_draft(&bytes),
            (Some(0x2F), Some(3)),
            "{machine:?}"
        );
    }
}

/// With 16 bits, the draft's check for 7FFFFFFF is cut to all ones and passes everything.
#[test]
fn departure_with_16_bits_the_draft_reads_beyond_31_bits() {
    let beyond = b"\xF7\xFF\xFF\xFF\xFF"; // 8208207F
    for machine in OF_16_BITS {
        let (left, length) = machine.read_draft(beyond);
        assert_eq!((left, length), (Some(0x207F), Some(5)), "{machine:?}");
    }
    for machine in OF_32_BITS {
        assert_eq!(machine.read_draft(beyond).1, None, "{machine:?}");
    }
    assert!(Encoding::FssUtfDraft.decode(beyond).is_err());
}

/// The draft's `mbtowc` writes before it checks: after -1 the caller's character is the lead octet, or the sum that was refused.
#[test]
fn departure_the_draft_leaves_a_character_behind_when_it_fails() {
    let machine = OF_32_BITS[0];
    assert_eq!(machine.read_draft(b"\xC3"), (Some(0xC3), None));
    assert_eq!(machine.read_draft(b"\x80a"), (Some(0x80), None));
    assert_eq!(machine.read_draft(b"\xFF"), (Some(0xFF), None));
    assert_eq!(machine.read_draft(b""), (None, None));
    let (left, length) = OF_32_BITS[2].read_draft(b"\xF7\xFF\xFF\xFF\xFF");
    assert_eq!((left, length), (Some(0x8208_207F), None));
}

/// The C standard's `mbtowc` returns 0 for NUL: the draft's does, that of 8 September returns 1. No text forbids either.
#[test]
fn departure_the_length_of_nul_differs() {
    assert_eq!(OF_32_BITS[0].read(b"\0"), (1, Some((0, 1))));
    assert_eq!(OF_32_BITS[0].read_draft(b"\0"), (Some(0), Some(0)));
}

/// 80..BF, FE and FF lead nothing; that is found after six more octets, of which the seventh belongs to no sequence at all.
#[test]
fn departure_what_leads_nothing_is_refused_after_seven_octets() {
    for lead in (0x80..=0xBF).chain([0xFE, 0xFF]) {
        let bytes = [&[lead][..], &[0x80; 9]].concat();
        for machine in OF_32_BITS {
            assert_eq!(machine.read(&bytes), (7, None), "{lead:02X}");
            assert_eq!(machine.read(&[lead, b'a']), (2, None), "{lead:02X}");
            assert_eq!(machine.read(&[lead]), (1, None), "{lead:02X}");
        }
    }
}
