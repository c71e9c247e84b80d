//! Canonical caseless matching (Unicode D145), over the tables of the crate `unicase`.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use unicase::UniCase;
use unicode_normalization::char::canonical_combining_class;

use super::Form;

/// The Unicode version of the case folding tables: major, minor, update. The crate does not tell it; a test counts.
pub const UNICODE_VERSION: (u8, u8, u8) = (18, 0, 0);

/// Characters below this are looked up one by one: the alphabets of Europe. Most names of other scripts are of ideographs.
const LOOKED_UP: u32 = 0x600;

/// Returns the key that texts share if and only if they differ in case and canonical form alone: NFD(toCasefold(NFD(text))),
/// with full case folding, the same in every locale.
///
/// It is for comparing, not for showing: `ß` folds to `ss`.
pub fn caseless(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    by_character(text).unwrap_or_else(|| in_full(text))
}

fn in_full(text: &str) -> String {
    let folded = UniCase::unicode(Form::Nfd.apply(text)).to_folded_case();
    Form::Nfd.apply(&folded)
}

/// Folds each character by itself and joins the results. That is right where each result starts with a starter:
/// folding knows no context, and nothing is reordered over a starter. `None` where another character is met.
fn by_character(text: &str) -> Option<String> {
    static FOLDED: OnceLock<Vec<Option<Box<str>>>> = OnceLock::new();
    let folded = FOLDED.get_or_init(|| {
        let fold = |code| {
            let folded = in_full(char::from_u32(code)?.encode_utf8(&mut [0; 4]));
            let first = folded.chars().next()?;
            (canonical_combining_class(first) == 0).then(|| folded.into())
        };
        (0..LOOKED_UP).map(fold).collect()
    });
    let mut common = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0'..='\x7F' => common.push(c.to_ascii_lowercase()),
            // Unified ideographs have neither case nor another form.
            '\u{4E00}'..='\u{9FFF}' => common.push(c),
            _ => {
                let folded = folded.get(usize::try_from(u32::from(c)).ok()?)?;
                common.push_str(folded.as_deref()?);
            }
        }
    }
    Some(common)
}
