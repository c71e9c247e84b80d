//! Canonical caseless matching (Unicode D145), over the tables of the crate `unicase`.

#[cfg(test)]
mod tests;

use unicase::UniCase;

use super::Form;

/// The Unicode version of the case folding tables: major, minor, update. The crate does not tell it; a test counts.
pub const UNICODE_VERSION: (u8, u8, u8) = (18, 0, 0);

/// What two texts have in common if and only if they differ in case and canonical form alone: NFD(toCasefold(NFD(text))),
/// with full case folding, the same in every locale.
///
/// It is for comparing, not for showing: `ß` folds to `ss`.
#[must_use]
pub fn caseless(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded = UniCase::unicode(Form::Nfd.apply(text)).to_folded_case();
    Form::Nfd.apply(&folded)
}
