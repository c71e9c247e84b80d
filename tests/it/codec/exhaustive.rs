//! Laws C1 and C2, through all there is: byte strings against the standard library, code points there and back.

use super::reference::Reference;
use super::{for_each_string, in_parallel};
use utf8fs::codec::{Encoding, Malformed};

/// Our decoder and the standard library's agree: on the text, or on where it ends and on what U+FFFD would stand for.
/// [`Encoding::validate`] of RFC 3629 asks the standard library itself, so it is no witness here.
fn agrees_with_std(bytes: &[u8]) {
    let mut code_points = [0; 4];
    let mut count = 0;
    let mut ill_formed = None;
    for piece in Encoding::Utf8.pieces(bytes) {
        match piece.spells {
            Ok(code_point) => code_points[count] = code_point,
            Err(kind) => {
                ill_formed = Some((piece, kind));
                break;
            }
        }
        count += 1;
    }
    match (core::str::from_utf8(bytes), ill_formed) {
        (Ok(text), None) => {
            let wanted = text.chars().map(u32::from);
            assert!(
                wanted.eq(code_points[..count].iter().copied()),
                "{bytes:02X?}"
            );
        }
        (Err(error), Some((piece, kind))) => {
            assert_eq!(piece.offset, error.valid_up_to(), "{bytes:02X?}");
            let rest = &bytes[piece.offset..];
            let length = error.error_len().unwrap_or(rest.len());
            assert_eq!(Encoding::Utf8.maximal_subpart(rest), length, "{bytes:02X?}");
            if error.error_len().is_none() {
                let found = (piece.length, kind);
                assert_eq!(found, (rest.len(), Malformed::Truncated), "{bytes:02X?}");
            }
        }
        (std, ours) => panic!("{bytes:02X?}: {std:?} and {ours:?}"),
    }
}

#[test]
fn rfc_3629_agrees_with_std_on_all_bytes_of_length_1_to_3() {
    in_parallel(0x100, |lead| {
        let lead = u8::try_from(lead).unwrap();
        agrees_with_std(&[lead]);
        for second in 0..=0xFF {
            agrees_with_std(&[lead, second]);
            for third in 0..=0xFF {
                agrees_with_std(&[lead, second, third]);
            }
        }
    });
}

/// The lead and the second octet in full, the others at the edges; [`all_of_four_octets`] has them in full.
#[test]
fn rfc_3629_agrees_with_std_on_four_octets_of_the_edges() {
    let edges = [
        0x00, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F, 0xA0, 0xBE, 0xBF, 0xC0, 0xC2, 0xE0, 0xF0, 0xF4,
        0xFF,
    ];
    in_parallel(0x1000, |start| {
        let [second, low] = [start & 0xFF, start >> 8].map(|octet| u8::try_from(octet).unwrap());
        for_each_string(&edges, &edges, 2, |more| {
            agrees_with_std(&[0xF0 | low, second, more[0], more[1]]);
        });
    });
}

/// All byte strings of four octets with a lead of F0..FF.
#[test]
#[ignore = "minutes: scripts/long exhaustive runs it"]
fn rfc_3629_agrees_with_std_on_all_of_four_octets() {
    in_parallel(0x1000, |start| {
        let [second, low] = [start & 0xFF, start >> 8].map(|octet| u8::try_from(octet).unwrap());
        for third in 0..=0xFF {
            for fourth in 0..=0xFF {
                agrees_with_std(&[0xF0 | low, second, third, fourth]);
            }
        }
    });
}

/// Code points where something changes in some form, and some on either side of each.
fn edges() -> Vec<u32> {
    let biased = [
        0x2080, 0x8_2080, 0x208_2080, 0xD800, 0xDC00, 0xDC80, 0xDD00, 0xE000, 0x11_0000,
    ];
    let powers = (0..32).map(|bit| 1 << bit);
    let around = powers
        .chain(biased)
        .flat_map(|edge: u32| edge.saturating_sub(3)..=edge.saturating_add(3));
    let mut edges: Vec<u32> = around.chain([u32::MAX - 1, u32::MAX]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Encodes as the tables say, or not at all; and decodes to itself.
fn round_trips(encoding: Encoding, reference: &Reference, code_point: u32) {
    let wanted = reference.encode(code_point);
    let found = encoding.encode(&[code_point]).ok();
    assert_eq!(found, wanted, "{encoding} {code_point:X}");
    if let Some(bytes) = found {
        let back = encoding.decode(&bytes);
        assert_eq!(back.as_deref(), Ok(&[code_point][..]), "{encoding}");
        assert_eq!(encoding.validate(&bytes), Ok(()), "{encoding}");
    }
}

#[test]
fn code_points_at_the_edges_round_trip_in_every_form() {
    for &encoding in Encoding::ALL {
        let reference = Reference::of(encoding);
        let sample = (0..=u32::MAX).step_by(65_521);
        for code_point in edges().into_iter().chain(sample) {
            round_trips(encoding, &reference, code_point);
        }
    }
}

#[test]
fn every_code_point_of_unicode_round_trips_in_every_form() {
    in_parallel(0x11, |plane| {
        for &encoding in Encoding::ALL {
            let reference = Reference::of(encoding);
            for code_point in plane << 16..(plane + 1) << 16 {
                round_trips(encoding, &reference, code_point);
            }
        }
    });
}

/// Each form's code points to its last, in chunks: what is encoded decodes to the same, and every chunk has as many
/// octets as the table gives it.
#[test]
#[ignore = "minutes: scripts/long exhaustive runs it"]
fn every_code_point_of_every_form_round_trips() {
    const CHUNK: u32 = 0x1_0000;
    for &encoding in Encoding::ALL {
        let reference = Reference::of(encoding);
        let chunks = encoding.limit() / CHUNK + 1;
        in_parallel(chunks, |chunk| {
            let first = chunk * CHUNK;
            let last = first + (CHUNK - 1).min(encoding.limit() - first);
            let lacks_surrogates = reference.encode(0xD800).is_none();
            let is_encoded = |c: &u32| {
                !(lacks_surrogates && (0xD800..=0xDFFF).contains(c))
                    || reference.encode(*c).is_some()
            };
            // Escapes side by side may spell a character, and a pair of surrogates does.
            let is_apart = |c: &u32| {
                !matches!(encoding, Encoding::Utf8b | Encoding::Mutf8 | Encoding::Wtf8)
                    || !(0xD800..=0xDFFF).contains(c)
            };
            let code_points: Vec<u32> =
                (first..=last).filter(is_encoded).filter(is_apart).collect();
            let bytes = encoding.encode(&code_points).unwrap();
            let mut back = Vec::new();
            let decoded = encoding.decode_into(&bytes, true, &mut back);
            assert_eq!(decoded, Ok(bytes.len()), "{encoding} from {first:X}");
            assert!(back == code_points, "{encoding} from {first:X}");
            for code_point in [first, last] {
                round_trips(encoding, &reference, code_point);
            }
        });
        println!("{encoding}: every code point to {:X}", encoding.limit());
    }
}
