//! Costs of a sign that is neither a letter nor ASCII: where names have such signs, and where a wrong charset puts
//! them.

use super::script::{self, Script};

/// The cost, in nats, of a sign that people do put into names.
const USUAL: f64 = 7.0;
/// ... of one that they rarely do.
const RARE: f64 = 9.0;
/// ... of one that only a wrong charset shows: lines and blocks, private characters.
const ABSURD: f64 = 14.0;
/// ... of a C1 control: another charset reads the byte as a letter nearly always.
const CONTROL: f64 = 24.0;
/// Extra cost where it is out of place.
const MISPLACED: f64 = 4.0;

/// Signs that come in pairs.
pub(super) fn is_paired(c: char) -> bool {
    matches!(
        c,
        '“' | '”' | '„' | '«' | '»' | '‹' | '›' | '‘' | '‚' | '\u{3008}'
            ..='\u{3011}' | '（' | '）' | '｢' | '｣'
    )
}

/// Cost of such a sign without its other half.
pub(super) const UNPAIRED: f64 = MISPLACED;

/// Does nobody put this sign right beside a Latin letter?
fn is_apart(c: char) -> bool {
    matches!(c, '½' | '¼' | '¾' | '¹' | '±' | '€' | '£' | '¥' | '§' | '×' | '\u{660}'..='\u{66D}' | '\u{6F0}'..='\u{6F9}' | '\u{FF01}'..='\u{FF65}')
}

/// The cost of a character that is no letter and not ASCII, in nats, between two characters. `letters` stand before it, up to the
/// start of their word.
pub(super) fn cost(c: char, before: Option<char>, after: Option<char>, letters: usize) -> f64 {
    let is_letter = |c: Option<char>| c.is_some_and(|c| script::of(c, None).is_some());
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let is_wide = |c: Option<char>| c.is_none_or(|c| c >= '\u{2E80}' || !c.is_alphanumeric());
    let (left, right) = (is_letter(before), is_letter(after));
    let is_latin = |c: Option<char>| c.is_some_and(|c| script::of(c, None) == Some(Script::Latin));
    let is_beside_latin = is_latin(before) || is_latin(after);
    let (base, is_in_place) = match c {
        // The apostrophe: d’Azur, Bob’s.
        '’' => (
            USUAL,
            left && right && (letters == 1 || matches!(after, Some('s' | 't'))),
        ),
        // Catalan l·l, and Japanese names.
        '·' => (USUAL, before == after && matches!(after, Some('l' | 'L'))),
        '–' | '—' | '•' => (USUAL, !left && !right),
        '…' => (USUAL, !right),
        '™' | '®' => (RARE, !right && letters > 2),
        '“' | '”' | '„' | '«' | '»' | '‘' => (USUAL, left != right),
        '‹' | '›' | '‚' => (RARE, left != right),
        '¿' | '¡' => (RARE, !left && right),
        '©' | '№' => (USUAL, !left && !right),
        '°' | 'º' | 'ª' => (USUAL, !right && (is_digit(before) || letters == 1)),
        '²' | '³' => (
            USUAL,
            !right && (is_digit(before) || matches!(before, Some('m' | 'M'))),
        ),
        '½' | '¼' | '¾' | '¹' => (USUAL, !left && !right),
        '€' | '£' | '¥' | '§' | '×' | '±' | '÷' => (USUAL, !left && !right),
        '\u{A0}' => (RARE, !left || !right),
        // Punctuation and signs as wide as ideographs.
        '\u{3000}'..='\u{3020}' | '・' | '\u{FF01}'..='\u{FF65}' => {
            (6.0, is_wide(before) && is_wide(after))
        }
        '\u{660}'..='\u{66D}' | '\u{6F0}'..='\u{6F9}' | '،' => (6.0, !is_beside_latin),
        '\u{80}'..='\u{9F}' => (CONTROL, true),
        '\u{2500}'..='\u{259F}' | '\u{E000}'..='\u{F8FF}' | '\u{AD}' => (ABSURD, true),
        _ => (RARE, !left && !right),
    };
    if is_in_place {
        base
    } else if left && right || is_beside_latin && is_apart(c) {
        base + 2.0 * MISPLACED
    } else {
        base + MISPLACED
    }
}
