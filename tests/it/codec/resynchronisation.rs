//! Criterion 6 of FSS-UTF: the start of a character is found from anywhere in a stream, by looking at no more than the rest
//! of one character.

use crate::support::random::Random;
use utf8fs::codec::Encoding;

/// The forms that lose nothing: what is found is the very next start.
const EXACT: [Encoding; 13] = [
    Encoding::Utf8,
    Encoding::Utf8Rfc2279,
    Encoding::FssUtf,
    Encoding::FssUtfXutf,
    Encoding::Utf8Bmp,
    Encoding::Cesu8,
    Encoding::Wtf8,
    Encoding::Utf16Be,
    Encoding::Utf16Le,
    Encoding::Ucs2Be,
    Encoding::Ucs2Le,
    Encoding::Ucs4Be,
    Encoding::Ucs4Le,
];

/// A stream of some characters of every length, and where they start; the last is its end.
fn stream(encoding: Encoding, random: &mut Random) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    while bytes.len() < 60 {
        let bits = u32::try_from(random.below(33)).unwrap();
        let below = u64::from(u32::MAX)
            .checked_shr(32 - bits)
            .unwrap_or_default();
        let code_point = u32::try_from(random.below(below + 1)).unwrap();
        let code_point = match random.below(6) {
            0 => 0xD800 + code_point % 0x800,
            _ => code_point,
        };
        // What the form lacks is left out.
        encoding.encode_into(&[code_point], &mut bytes).ok();
    }
    let starts = encoding.pieces(&bytes).map(|piece| {
        assert!(piece.spells.is_ok(), "{encoding} {bytes:02X?}");
        piece.offset
    });
    let starts = starts.chain([bytes.len()]).collect();
    (bytes, starts)
}

fn next(starts: &[usize], offset: usize) -> usize {
    starts
        .iter()
        .copied()
        .find(|start| *start >= offset)
        .unwrap()
}

/// The bytes with others in the place of those before `offset`.
fn with_other_past(bytes: &[u8], offset: usize, past: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[..offset].fill(past);
    bytes
}

#[test]
fn the_next_character_is_found_from_anywhere_in_a_stream() {
    let mut random = Random::new(8);
    for encoding in EXACT {
        for _ in 0..300 {
            let (bytes, starts) = stream(encoding, &mut random);
            for offset in 0..=bytes.len() {
                let found = encoding.next_boundary(&bytes, offset);
                let wanted = next(&starts, offset);
                assert_eq!(found, Some(wanted), "{encoding} {bytes:02X?} from {offset}");
            }
        }
    }
}

#[test]
fn nothing_before_the_offset_is_looked_at() {
    let mut random = Random::new(1992);
    for encoding in Encoding::ALL {
        for _ in 0..100 {
            let (bytes, _) = stream(encoding, &mut random);
            for offset in 1..=bytes.len() {
                let found = encoding.next_boundary(&bytes, offset);
                for past in [0x00, 0x80, 0xC3, 0xDC, 0xE2, 0xED, 0xFF] {
                    let other = with_other_past(&bytes, offset, past);
                    assert_eq!(encoding.next_boundary(&other, offset), found, "{encoding}");
                }
            }
        }
    }
}

/// Where the next character starts hangs on the rest of this one alone: whatever comes behind it, or nothing.
#[test]
fn no_more_than_the_rest_of_one_character_is_looked_at() {
    let mut random = Random::new(6);
    for encoding in EXACT {
        for _ in 0..100 {
            let (bytes, starts) = stream(encoding, &mut random);
            let (behind, _) = stream(encoding, &mut random);
            for offset in 1..=bytes.len() {
                let wanted = next(&starts, offset);
                let rest_alone = &bytes[..wanted];
                assert_eq!(
                    encoding.next_boundary(rest_alone, offset),
                    Some(wanted),
                    "{encoding}"
                );
                let other = [rest_alone, &behind].concat();
                let found = encoding.next_boundary(&other, offset);
                assert_eq!(found, Some(wanted), "{encoding} {other:02X?} from {offset}");
            }
        }
    }
}

/// A character of `utf-8b` may be a continuation octet, and one of `mutf-8` the second half of a pair: one that starts at the
/// offset may be passed over. What is found is a start all the same, at most so many octets on.
#[test]
fn where_a_character_looks_like_the_rest_of_one_a_later_start_is_found() {
    let mut random = Random::new(2000);
    for (encoding, passed) in [(Encoding::Utf8b, 3), (Encoding::Mutf8, 5)] {
        for _ in 0..1_000 {
            let (bytes, starts) = stream(encoding, &mut random);
            for offset in 0..=bytes.len() {
                let found = encoding.next_boundary(&bytes, offset).unwrap();
                assert!(
                    starts.contains(&found),
                    "{encoding} {bytes:02X?} from {offset}"
                );
                assert!(
                    (offset..=offset + passed).contains(&found),
                    "{encoding} {bytes:02X?}"
                );
                let other = with_other_past(&bytes, offset.saturating_sub(1), 0xFF);
                assert_eq!(encoding.next_boundary(&other, offset), Some(found));
            }
        }
    }
}

/// Two streams of the draft that are the same from the second octet on, for as long as one likes, and have no start of a
/// character in common: the first octet, however far back, decides.
#[test]
fn the_draft_cannot_be_synchronised() {
    for length in [2, 10, 100_000] {
        let same = [&b"\x80".repeat(length)[..], b"\xC0\x80\x80"].concat();
        let [one, other] = [b"a", b"\x80"].map(|first| {
            let bytes = [first, &same[..]].concat();
            let pieces = Encoding::FssUtfDraft.pieces(&bytes);
            let starts: Vec<usize> = pieces
                .map(|piece| {
                    assert!(piece.spells.is_ok());
                    piece.offset
                })
                .collect();
            starts
        });
        let common = one
            .iter()
            .filter(|start| other.binary_search(start).is_ok());
        assert_eq!(common.collect::<Vec<_>>(), [&0], "{length}");
        assert_eq!(Encoding::FssUtfDraft.next_boundary(&same, 1), None);
    }
}
