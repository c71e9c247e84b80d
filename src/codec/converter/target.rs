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
                encode_window(charset, window, bytes).map_err(|index| number * WINDOW + index)?;
            }
            Ok(())
        }
    }
}

fn encode_window(charset: Charset, window: &[u32], bytes: &mut Vec<u8>) -> Result<(), usize> {
    let text: String = window.iter().map_while(|&c| char::from_u32(c)).collect();
    let characters = text.chars().count();
    match charset.encode(&text) {
        Ok(encoded) => bytes.extend(encoded),
        Err(lacking) => {
            let known = text.get(..lacking.offset).unwrap_or_default();
            // One by one where the charset contradicts itself, so that nothing is lost even then.
            let Ok(encoded) = charset.encode(known) else {
                return encode_each(charset, &text, bytes);
            };
            bytes.extend(encoded);
            return Err(known.chars().count());
        }
    }
    if characters < window.len() {
        return Err(characters);
    }
    Ok(())
}

/// Adds the characters one by one, up to the first that is lacking.
#[cold]
fn encode_each(charset: Charset, text: &str, bytes: &mut Vec<u8>) -> Result<(), usize> {
    for (index, c) in text.chars().enumerate() {
        let encoded = charset.encode(c.encode_utf8(&mut [0; 4]));
        bytes.extend(encoded.map_err(|_lacking| index)?);
    }
    Ok(())
}

/// The character of `octet` in windows-1252; as in ISO-8859-1 where that has none.
pub(super) fn windows_1252(octet: u8) -> u32 {
    /// 80..9F, by Microsoft's table cp1252.
    const C1: [u32; 32] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013,
        0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
    ];
    let of_c1 = octet
        .checked_sub(0x80)
        .and_then(|index| C1.get(usize::from(index)));
    of_c1.copied().unwrap_or(u32::from(octet))
}
