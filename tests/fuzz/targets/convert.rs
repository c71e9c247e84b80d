//! Any stream between any two codings, in pieces of any size: the same comes out, and nothing is lost without being told
//! (laws C2, C4).
//!
//! The first four octets choose the codings, the repair and the pieces, the rest is the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8fs::codec::{Charset, Coding, ConvertError, Converter, Encoding, Repair};

type Outcome = (Vec<u8>, Result<u64, ConvertError>);

fuzz_target!(|input: &[u8]| {
    let Some((&[from, to, lossy, size], stream)) = input.split_first_chunk() else {
        return;
    };
    let forms = Encoding::ALL.iter().copied().map(Coding::Form);
    let codings: Vec<Coding> = forms.chain(Charset::all().map(Coding::Legacy)).collect();
    let coding = |number: u8| codings[usize::from(number) % codings.len()];
    let repairs = [
        None,
        Some(Repair::Replace),
        Some(Repair::Utf8b),
        Some(Repair::Latin1),
        Some(Repair::Windows1252),
    ];
    let lossy = repairs[usize::from(lossy) % repairs.len()];
    let (from, to) = (coding(from), coding(to));
    let (output, result) = convert(from, to, lossy, stream, stream.len());
    let in_pieces = convert(from, to, lossy, stream, usize::from(size));
    assert_eq!(
        (&output, &result),
        (&in_pieces.0, &in_pieces.1),
        "in pieces of {size}"
    );
    match (result, lossy) {
        (Err(error), _) => {
            let end = error.offset + u64::try_from(error.length).expect("a length");
            assert!(error.length > 0 && end <= u64::try_from(stream.len()).expect("a length"));
        }
        (Ok(repaired), None) => assert_eq!(repaired, 0),
        // U+FFFD or `?` is always to be had.
        (Ok(_), Some(_)) => {}
    }
    assert!(lossy != Some(Repair::Replace) || result.is_ok());
    // To UTF-8 and back, where all of it is text.
    let utf8 = Coding::Form(Encoding::Utf8);
    if let (text, Ok(0)) = convert(from, utf8, None, stream, stream.len()) {
        assert!(core::str::from_utf8(&text).is_ok());
        let (back, there) = convert(utf8, from, None, &text, text.len());
        if there.is_ok() {
            assert_eq!(convert(from, utf8, None, &back, back.len()).0, text);
        }
    }
});

fn convert(from: Coding, to: Coding, lossy: Option<Repair>, stream: &[u8], size: usize) -> Outcome {
    let mut converter = Converter::new(from, to, lossy);
    let mut output = Vec::new();
    let result = stream
        .chunks(size.max(1))
        .try_for_each(|piece| converter.convert(piece, &mut output))
        .and_then(|()| converter.finish(&mut output));
    (output, result.map(|()| converter.repairs.count))
}
