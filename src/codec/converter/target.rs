//! Writing code points in the encoding or charset that is asked for.

use super::super::charset::Charset;
use super::Coding;

/// Adds `code_points` to `bytes`, or those before the first that the target lacks, and gives its index.
pub(super) fn encode(to: Coding, code_points: &[u32], bytes: &mut Vec<u8>) -> Result<(), usize> {
    match to {
        Coding::Form(encoding) => encoding.encode_into(code_points, bytes),
        Coding::Legacy(charset) => {
            /// Bounds the cost of each unmappable character, however many characters follow it.
            const WINDOW: usize = 64;
            for (number, window) in code_points.chunks(WINDOW).enumerate() {
                let count = encode_window(charset, window, bytes);
                if count < window.len() {
                    return Err(number * WINDOW + count);
                }
            }
            Ok(())
        }
    }
}

/// Adds the characters before the first that the charset lacks, and returns their number.
fn encode_window(charset: Charset, window: &[u32], bytes: &mut Vec<u8>) -> usize {
    let text: String = window.iter().map_while(|&c| char::from_u32(c)).collect();
    let mut known = text.as_str();
    loop {
        match charset.encode(known) {
            Ok(encoded) => {
                bytes.extend(encoded);
                return known.chars().count();
            }
            Err(lacking) => known = known.get(..lacking.offset).unwrap_or_default(),
        }
    }
}
