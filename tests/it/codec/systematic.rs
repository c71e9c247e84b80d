//! Laws C1 to C3: octets at all the edges, put together in every way, are read as the documents' tables say.

use super::reference::Reference;
use super::{for_each_string, in_parallel};
use utf8fs::codec::{DecodeError, Encoding};

/// Octets where something changes: ASCII, continuation, the rows of all tables, surrogates, what never occurs.
const EDGES: [u8; 40] = [
    0x00, 0x2F, 0x41, 0x7F, 0x80, 0x81, 0x83, 0x84, 0x87, 0x88, 0x8F, 0x90, 0x9F, 0xA0, 0xAF, 0xB0,
    0xBF, 0xC0, 0xC1, 0xC2, 0xD7, 0xD8, 0xDB, 0xDC, 0xDF, 0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF4,
    0xF5, 0xF7, 0xF8, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF,
];

/// Compares all that the codec says of `bytes` with the reference.
pub(super) fn check(encoding: Encoding, reference: &Reference, bytes: &[u8]) {
    let mut pieces = encoding.pieces(bytes);
    let mut ill_formed = encoding.ill_formed(bytes);
    let mut first_error = None;
    let mut offset = 0;
    while offset < bytes.len() {
        let (length, spells) = reference.first(&bytes[offset..]);
        let piece = pieces.next().expect("no byte is left out");
        let found = (piece.offset, piece.length, piece.spells);
        assert_eq!(found, (offset, length, spells), "{encoding} {bytes:02X?}");
        if let Err(kind) = spells {
            let error = DecodeError {
                offset,
                length,
                kind,
            };
            assert_eq!(ill_formed.next(), Some(error), "{encoding} {bytes:02X?}");
            first_error.get_or_insert(error);
        }
        offset += length;
    }
    assert_eq!(offset, bytes.len(), "nothing is read past the end");
    assert_eq!(pieces.next(), None);
    assert_eq!(ill_formed.next(), None);
    assert_eq!(
        encoding.validate(bytes).err(),
        first_error,
        "{encoding} {bytes:02X?}"
    );
}

/// Compares what `decode` says, too; and that a name that decodes is written back as it was.
fn check_decoding(encoding: Encoding, reference: &Reference, bytes: &[u8]) {
    let mut offset = 0;
    let mut code_points = Vec::new();
    let mut wanted = Ok(());
    while offset < bytes.len() && wanted.is_ok() {
        let (length, spells) = reference.first(&bytes[offset..]);
        match spells {
            Ok(code_point) => code_points.push(code_point),
            Err(kind) => wanted = Err((offset, length, kind)),
        }
        offset += length;
    }
    let mut found = Vec::new();
    let decoded = encoding.decode_into(bytes, true, &mut found);
    let decoded = decoded.map_err(|error| (error.offset, error.length, error.kind));
    assert_eq!(
        decoded,
        wanted.map(|()| bytes.len()),
        "{encoding} {bytes:02X?}"
    );
    assert_eq!(found, code_points, "{encoding} {bytes:02X?}");
    if wanted.is_ok() {
        let encoded = encoding.encode(&found);
        assert_eq!(encoded.as_deref(), Ok(bytes), "{encoding}");
    }
}

fn check_all(encoding: Encoding, first: &[u8], more: &[u8], length: usize) {
    let reference = Reference::of(encoding);
    for_each_string(first, more, length, |bytes| {
        check(encoding, &reference, bytes);
        check_decoding(encoding, &reference, bytes);
    });
}

fn of_every_encoding(work: impl Fn(Encoding) + Sync) {
    let count = u32::try_from(Encoding::ALL.len()).unwrap();
    in_parallel(count, |number| {
        work(Encoding::ALL[usize::try_from(number).unwrap()]);
    });
}

#[test]
fn every_two_octets_are_read_as_the_tables_say() {
    let all: Vec<u8> = (0..=0xFF).collect();
    of_every_encoding(|encoding| {
        check_all(encoding, &all, &all, 1);
        check_all(encoding, &all, &all, 2);
    });
}

#[test]
fn three_octets_of_the_edges_are_read_as_the_tables_say() {
    of_every_encoding(|encoding| check_all(encoding, &EDGES, &EDGES, 3));
}

#[test]
fn every_lead_is_read_with_continuation_octets_of_the_edges() {
    let leads: Vec<u8> = (0xC0..=0xFF).collect();
    of_every_encoding(|encoding| {
        let more = [
            0x41, 0x7F, 0x80, 0x87, 0x88, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF,
        ];
        check_all(encoding, &leads, &more, 4);
        check_all(encoding, &leads, &[0x7F, 0x80, 0x87, 0x88, 0xBF, 0xC0], 5);
        check_all(encoding, &leads, &[0x7F, 0x80, 0x83, 0x84, 0xBF], 6);
    });
}

#[test]
fn surrogates_are_paired_or_not_as_the_tables_say() {
    of_every_encoding(|encoding| {
        let octets = [0xED, 0x80, 0xA0, 0xAF, 0xB0, 0xBF];
        check_all(encoding, &[0xED, 0xA0], &octets, 6);
        let units = [0x00, 0xD7, 0xD8, 0xDB, 0xDC, 0xDF, 0xE0];
        check_all(encoding, &units, &units, 5);
    });
}

/// The decoder takes ASCII in blocks: what comes after a run of it, and before one, is the same at every place.
#[test]
fn nothing_hangs_on_where_in_a_block_a_sequence_lies() {
    let sequences: [&[u8]; 13] = [
        b"",
        b"\0",
        b"\x80",
        b"\xC3\xA9",
        b"\xC0\x80",
        b"\xE2\x82",
        b"\xE2\x82\xAC",
        b"\xED\xA0\x80",
        b"\xED\xA0\x80\xED\xB0\x80",
        b"\xF0\x9F\x98\x80",
        b"\xF8\x88\x80\x80\x80",
        b"\xFD\xBF\xBF\xBF\xBF\xBF",
        b"\xFF",
    ];
    of_every_encoding(|encoding| {
        let reference = Reference::of(encoding);
        for before in 0..40 {
            for after in [0, 1, 15, 16, 17, 40] {
                for sequence in sequences {
                    let bytes = [&[b'a'; 40][..before], sequence, &[b'z'; 40][..after]].concat();
                    check(encoding, &reference, &bytes);
                    check_decoding(encoding, &reference, &bytes);
                }
            }
        }
    });
}

/// A script runs it: it takes minutes.
#[test]
#[ignore = "minutes: scripts/long exhaustive runs it"]
fn every_three_octets_are_read_as_the_tables_say() {
    let all: Vec<u8> = (0..=0xFF).collect();
    for &encoding in Encoding::ALL {
        let reference = Reference::of(encoding);
        in_parallel(0x100, |lead| {
            let lead = u8::try_from(lead).unwrap();
            for_each_string(&[lead], &all, 3, |bytes| check(encoding, &reference, bytes));
        });
    }
}
