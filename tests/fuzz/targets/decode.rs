//! Any octets in any form, and in any charset: laws C1 to C5, each way of asking against the others.

#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8fs::codec::{Charset, Encoding};

fuzz_target!(|input: &[u8]| {
    for &encoding in Encoding::ALL {
        read(encoding, input);
    }
    let std = core::str::from_utf8(input);
    let ours = Encoding::Utf8
        .pieces(input)
        .find(|piece| piece.spells.is_err());
    assert_eq!(
        ours.map(|piece| piece.offset),
        std.err().map(|error| error.valid_up_to())
    );
    for charset in Charset::all() {
        convert(charset, input);
    }
});

fn read(encoding: Encoding, input: &[u8]) {
    // The pieces have no gap, and say what the other ways of asking say.
    let pieces: Vec<_> = encoding.pieces(input).collect();
    let end = pieces.iter().fold(0, |end, piece| {
        assert_eq!(piece.offset, end);
        assert!(piece.length > 0);
        end + piece.length
    });
    assert_eq!(end, input.len());
    let faults: Vec<_> = pieces.iter().filter_map(|piece| piece.error()).collect();
    assert_eq!(encoding.ill_formed(input).collect::<Vec<_>>(), faults);
    assert_eq!(encoding.validate(input).err(), faults.first().copied());

    let decoded = encoding.decode(input);
    assert_eq!(decoded.as_ref().err(), faults.first());
    for fault in &faults {
        let subpart = encoding.maximal_subpart(&input[fault.offset..]);
        assert!((1..=fault.length).contains(&subpart));
    }
    let Ok(code_points) = decoded else {
        return;
    };
    assert_eq!(code_points.len(), pieces.len());
    assert_eq!(encoding.encode(&code_points).as_deref(), Ok(input));

    // The same in two parts.
    let mut parts = Vec::new();
    let (first, _) = input.split_at(input.len() / 2);
    if let Ok(done) = encoding.decode_into(first, false, &mut parts) {
        encoding
            .decode_into(&input[done..], true, &mut parts)
            .expect("it decodes whole");
        assert_eq!(parts, code_points);
    }
}

fn convert(charset: Charset, input: &[u8]) {
    let Ok(text) = charset.decode(input) else {
        assert_eq!(charset.decode_reversibly(input), None);
        return;
    };
    if let Ok(bytes) = charset.encode(&text) {
        assert_eq!(charset.decode(&bytes).as_ref(), Ok(&text), "{charset:?}");
    }
    if let Some(reversible) = charset.decode_reversibly(input) {
        assert_eq!(reversible, text);
        assert_eq!(charset.encode(&text).as_deref(), Ok(input), "{charset:?}");
        let count = |bytes: &[u8], octet: u8| bytes.iter().filter(|&&other| other == octet).count();
        assert_eq!(count(input, b'/'), count(text.as_bytes(), b'/'));
        assert_eq!(count(input, 0), count(text.as_bytes(), 0));
    }
}
