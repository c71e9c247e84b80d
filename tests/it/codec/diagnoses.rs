//! Law C3: every truncation, overlong, surrogate and out-of-range is told apart, with its offset and length.
//!
//! The sequences are spelled here by the rule alone (a mark of as many ones as there are octets, then the bits), whether or
//! not a form has them.

use super::in_parallel;
use utf8fs::codec::{Encoding, Malformed};

use Malformed::{InvalidByte, OutOfRange, Overlong, Surrogate, Truncated, UnexpectedContinuation};

/// The bits of `value` in a sequence of 2 to 6 octets, be it too long for them or not.
fn spell(value: u32, octets: u32) -> Vec<u8> {
    let octet = |index: u32| {
        let bits = value
            .checked_shr(6 * (octets - 1 - index))
            .unwrap_or_default();
        let mark = match (index, octets) {
            (1.., _) => 0x80,
            (0, 2) => 0xC0,
            (0, 3) => 0xE0,
            (0, 4) => 0xF0,
            (0, 5) => 0xF8,
            (0, _) => 0xFC,
        };
        let bits = if index == 0 { bits } else { bits & 0x3F };
        mark | u8::try_from(bits).unwrap()
    };
    (0..octets).map(octet).collect()
}

/// The least code point that needs so many octets.
fn least(octets: u32) -> u32 {
    match octets {
        2 => 0x80,
        3 => 0x800,
        4 => 0x1_0000,
        5 => 0x20_0000,
        6 => 0x400_0000,
        _ => unreachable!("2 to 6"),
    }
}

/// The forms that have the table of FSS-UTF, and the longest sequence that each knows.
const FORMS: [(Encoding, u32); 8] = [
    (Encoding::Utf8, 4),
    (Encoding::Utf8Rfc2279, 6),
    (Encoding::FssUtf, 6),
    (Encoding::FssUtfXutf, 6),
    (Encoding::Utf8Bmp, 6),
    (Encoding::Mutf8, 3),
    (Encoding::Cesu8, 3),
    (Encoding::Wtf8, 4),
];

/// The first that is wrong in `before` ASCII characters, `sequence` and one more, found by each way of asking.
#[track_caller]
fn is_diagnosed(encoding: Encoding, sequence: &[u8], length: usize, kind: Malformed) {
    for before in [0, 1, 17] {
        let bytes = [&[b'a'; 17][..before], sequence, b"z"].concat();
        let wanted = (before, length, kind);
        let found = encoding.validate(&bytes).unwrap_err();
        let found = (found.offset, found.length, found.kind);
        assert_eq!(found, wanted, "{encoding} {sequence:02X?}");
        let found = encoding.decode(&bytes).unwrap_err();
        let found = (found.offset, found.length, found.kind);
        assert_eq!(found, wanted, "{encoding} {sequence:02X?}");
    }
}

fn overlong_is_told(value: u32, octets: u32) {
    let sequence = spell(value, octets);
    for (encoding, longest) in FORMS {
        if encoding == Encoding::Mutf8 && sequence == b"\xC0\x80" {
            continue;
        }
        if octets <= longest {
            is_diagnosed(encoding, &sequence, sequence.len(), Overlong(value));
        } else {
            is_diagnosed(encoding, &sequence, 1, InvalidByte);
        }
    }
}

#[test]
fn every_overlong_sequence_of_two_and_three_octets_is_told_with_what_it_spells() {
    for octets in 2..=3 {
        for value in 0..least(octets) {
            overlong_is_told(value, octets);
        }
    }
}

#[test]
fn overlong_sequences_of_four_to_six_octets_are_told_with_what_they_spell() {
    for (octets, step) in [(4, 29), (5, 997), (6, 32_003)] {
        let edges = [1, 0x2E, 0x2F, 0x7F, 0x80, 0x7FF, 0x800, 0xD800, 0xFFFF];
        let edges = edges.into_iter().chain([least(octets) - 1]);
        for value in (0..least(octets)).step_by(step).chain(edges) {
            overlong_is_told(value, octets);
        }
    }
}

#[test]
#[ignore = "minutes: scripts/long exhaustive runs it"]
fn every_overlong_sequence_is_told_with_what_it_spells() {
    for octets in 2..=6 {
        in_parallel(0x40, |part| {
            let size = least(octets) / 0x40;
            for value in part * size..(part + 1) * size {
                let sequence = spell(value, octets);
                for (encoding, longest) in FORMS {
                    let found = encoding.first(&sequence).unwrap();
                    let wanted = match octets <= longest {
                        _ if encoding == Encoding::Mutf8 && octets == 2 && value == 0 => (2, Ok(0)),
                        true => (sequence.len(), Err(Overlong(value))),
                        false => (1, Err(InvalidByte)),
                    };
                    assert_eq!((found.length, found.spells), wanted, "{encoding}");
                }
            }
        });
    }
}

#[test]
fn every_surrogate_is_a_code_point_or_is_told_as_one() {
    for surrogate in 0xD800..=0xDFFF {
        let sequence = spell(surrogate, 3);
        for (encoding, _) in FORMS {
            match encoding {
                Encoding::Utf8 | Encoding::Cesu8 => {
                    is_diagnosed(encoding, &sequence, 3, Surrogate(surrogate));
                }
                _ => assert_eq!(
                    encoding.decode(&sequence),
                    Ok(vec![surrogate]),
                    "{encoding}"
                ),
            }
        }
        let escaped: Vec<u32> = sequence
            .iter()
            .map(|&octet| 0xDC00 + u32::from(octet))
            .collect();
        assert_eq!(Encoding::Utf8b.decode(&sequence), Ok(escaped));
        let biased = Encoding::FssUtfDraft.encode(&[surrogate]).unwrap();
        assert_eq!(Encoding::FssUtfDraft.decode(&biased), Ok(vec![surrogate]));
        let unit = u16::try_from(surrogate).unwrap();
        let is_high = surrogate < 0xDC00;
        for (encoding, unit) in [
            (Encoding::Utf16Be, unit.to_be_bytes()),
            (Encoding::Utf16Le, unit.to_le_bytes()),
        ] {
            let kind = if is_high {
                Truncated
            } else {
                Surrogate(surrogate)
            };
            assert_eq!(encoding.validate(&unit).unwrap_err().kind, kind);
            let error = encoding.validate(&[unit, unit].concat()).unwrap_err();
            assert_eq!(
                (error.offset, error.length, error.kind),
                (0, 2, Surrogate(surrogate))
            );
        }
        assert_eq!(
            Encoding::Ucs2Be.decode(&unit.to_be_bytes()),
            Ok(vec![surrogate])
        );
    }
}

#[test]
fn what_is_beyond_the_last_code_point_is_told_as_such() {
    // The rest of the four octets that F4 leads; F5..F7 lead nothing in these forms.
    for value in 0x11_0000..=0x13_FFFF {
        for encoding in [Encoding::Utf8, Encoding::Wtf8] {
            let piece = encoding.first(&spell(value, 4)).unwrap();
            assert_eq!((piece.length, piece.spells), (4, Err(OutOfRange(value))));
        }
    }
    for encoding in [Encoding::Utf8, Encoding::Wtf8] {
        is_diagnosed(encoding, &spell(0x11_0000, 4), 4, OutOfRange(0x11_0000));
        is_diagnosed(encoding, &spell(0x14_0000, 4), 1, InvalidByte);
    }
    // 16 bits: all of four octets, some of five and six.
    let longer = (0x20_0000..=0x7FFF_FFFFu32).step_by(65_521);
    for value in (0x1_0000..=0x1F_FFFF)
        .chain(longer)
        .chain([0x3FF_FFFF, 0x7FFF_FFFF])
    {
        let sequence = spell(
            value,
            (4..=6)
                .rev()
                .find(|&octets| value >= least(octets))
                .unwrap(),
        );
        let piece = Encoding::Utf8Bmp.first(&sequence).unwrap();
        let found = (piece.length, piece.spells);
        assert_eq!(found, (sequence.len(), Err(OutOfRange(value))));
    }
    // The draft's last row holds a little more than 31 bits; UCS-4 has 32.
    for value in (0x8000_0000..=0x8208_207Fu32)
        .step_by(997)
        .chain([0x8208_207F])
    {
        let bits = value - 0x208_2080;
        let octet = |shift: u32| 0x80 | u8::try_from((bits >> shift) & 0x7F).unwrap();
        let lead = 0xF0 | u8::try_from(bits >> 28).unwrap();
        let sequence = [lead, octet(21), octet(14), octet(7), octet(0)];
        is_diagnosed(Encoding::FssUtfDraft, &sequence, 5, OutOfRange(value));
        let found = [
            Encoding::Ucs4Be.validate(&value.to_be_bytes()),
            Encoding::Ucs4Le.validate(&value.to_le_bytes()),
        ];
        assert!(
            found
                .iter()
                .all(|found| found.unwrap_err().kind == OutOfRange(value))
        );
    }
}

#[test]
fn every_sequence_cut_short_anywhere_is_told_with_what_is_left_of_it() {
    let beyond = (0x1_0000..=0x7FFF_FFFFu32).step_by(1_048_573);
    for value in (0x80..0xD800)
        .chain(0xE000..=0xFFFF)
        .step_by(7)
        .chain(beyond)
    {
        let all = Encoding::ALL.iter().copied();
        for encoding in all.filter(|&encoding| encoding != Encoding::Utf8b) {
            let Ok(whole) = encoding.encode(&[value]) else {
                continue;
            };
            let has_halves =
                matches!(encoding, Encoding::Mutf8 | Encoding::Cesu8) && whole.len() == 6;
            for length in 1..whole.len() {
                let cut = &whole[..length];
                let error = match encoding.validate(cut) {
                    Err(error) => (error.offset, error.length, error.kind),
                    Ok(()) => {
                        assert!(encoding == Encoding::Mutf8 && length == 3, "half a pair");
                        continue;
                    }
                };
                let wanted = match encoding {
                    Encoding::Cesu8 if has_halves && length >= 3 => {
                        let high = 0xD800 + (value - 0x1_0000) / 0x400;
                        (0, 3, Surrogate(high))
                    }
                    Encoding::Mutf8 if has_halves && length >= 3 => (3, length - 3, Truncated),
                    _ => (0, length, Truncated),
                };
                assert_eq!(error, wanted, "{encoding} {cut:02X?}");
                // The same where ASCII cuts it short, if ASCII can.
                if encoding.is_file_system_safe() {
                    let error = encoding.validate(&[cut, b"a"].concat()).unwrap_err();
                    assert_eq!(
                        (error.offset, error.length, error.kind),
                        wanted,
                        "{encoding} {cut:02X?}"
                    );
                }
            }
        }
    }
}

#[test]
fn octets_that_never_start_a_sequence_are_told_one_by_one() {
    for octet in 0x80..=0xFF {
        for (encoding, longest) in FORMS {
            let last_lead = match (encoding, longest) {
                (Encoding::FssUtfXutf, _) => 0xFF,
                (_, 3) | (Encoding::Utf8Bmp, _) => 0xEF,
                (_, 4) => 0xF4,
                _ => 0xFD,
            };
            let kind = match octet {
                ..0xC0 => UnexpectedContinuation,
                0xC0 if encoding == Encoding::Mutf8 => Truncated,
                0xC0 | 0xC1 => InvalidByte,
                _ if octet > last_lead => InvalidByte,
                _ => Truncated,
            };
            is_diagnosed(encoding, &[octet], 1, kind);
        }
        let kind = if octet < 0xF8 { Truncated } else { InvalidByte };
        is_diagnosed(Encoding::FssUtfDraft, &[octet], 1, kind);
    }
}
