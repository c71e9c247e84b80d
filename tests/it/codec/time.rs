//! Time is linear in the input: a mebibyte of the worst kinds goes through everything.
//!
//! No clock is asked. What looks at the whole rest for each fault, a quarter of a million times, does not end in this life
//! of the test; what is linear takes a moment.

use super::in_parallel;
use utf8fs::codec::Encoding;

const WORST: [&[u8]; 12] = [
    b"\x80",
    b"\xC0",
    b"\xFF",
    b"\0",
    b"\xE2\x82",
    b"\xF0\x90\x80",
    b"\xF0\x90\x80\x80",
    b"\xED\xA0\x80",
    b"\xED\xA0\x80\xED\xB0\x80",
    b"\xFC\x84\x80\x80\x80",
    b"\xC3\xA9\x80",
    b"aaaaaaaaaaaaaaa\x80",
];

#[test]
fn a_mebibyte_of_the_worst_kind_is_gone_through_once() {
    let count = u32::try_from(WORST.len()).unwrap();
    in_parallel(count, |number| {
        let unit = WORST[usize::try_from(number).unwrap()];
        let bytes = unit.repeat((1 << 20) / unit.len());
        for &encoding in Encoding::ALL {
            let mut pieces = 0;
            let mut octets = 0;
            let mut faults = 0;
            for piece in encoding.pieces(&bytes) {
                pieces += 1;
                octets += piece.length;
                faults += usize::from(piece.spells.is_err());
            }
            assert_eq!(octets, bytes.len(), "{encoding} {unit:02X?}");
            assert!(pieces <= bytes.len());
            assert_eq!(
                encoding.ill_formed(&bytes).count(),
                faults,
                "{encoding} {unit:02X?}"
            );
            assert_eq!(
                encoding.validate(&bytes).is_ok(),
                faults == 0,
                "{encoding} {unit:02X?}"
            );
            assert_eq!(
                encoding.decode(&bytes).is_ok(),
                faults == 0,
                "{encoding} {unit:02X?}"
            );
        }
    });
}
