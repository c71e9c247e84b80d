//! Normalization, and law C5 for it.

use super::Form::{self, Nfc, Nfd};

#[test]
fn texts_are_brought_to_the_form() {
    // (text, NFC, NFD)
    let rows = [
        // Neither form has a say in ASCII.
        ("plain.txt", "plain.txt", "plain.txt"),
        ("caf\u{E9}", "caf\u{E9}", "cafe\u{301}"),
        ("cafe\u{301}", "caf\u{E9}", "cafe\u{301}"),
        // Hangul is composed and decomposed by rule, of two and of three jamo.
        ("\u{AC00}", "\u{AC00}", "\u{1100}\u{1161}"),
        (
            "\u{1112}\u{1161}\u{11AB}",
            "\u{D55C}",
            "\u{1112}\u{1161}\u{11AB}",
        ),
        ("\u{AC00}\u{11A8}", "\u{AC01}", "\u{1100}\u{1161}\u{11A8}"),
        // Vietnamese: two marks, of which the one below comes first in canonical order
        ("\u{1EC7}", "\u{1EC7}", "e\u{323}\u{302}"),
        ("e\u{302}\u{323}", "\u{1EC7}", "e\u{323}\u{302}"),
        ("\u{EA}\u{323}", "\u{1EC7}", "e\u{323}\u{302}"),
        // Singletons never come back: the angstrom sign, the ohm sign
        ("\u{212B}", "\u{C5}", "A\u{30A}"),
        ("\u{2126}", "\u{3A9}", "\u{3A9}"),
        // and those that are ASCII in disguise: the kelvin sign, the Greek question mark, the Greek varia
        ("\u{212A}", "K", "K"),
        ("\u{37E}", ";", ";"),
        ("\u{1FEF}", "`", "`"),
        // U+0344 is decomposed in both forms: what it stands for is not composed to it.
        ("\u{344}", "\u{308}\u{301}", "\u{308}\u{301}"),
        // Composition exclusions: Devanagari qa, and Hebrew shin with shin dot
        ("\u{958}", "\u{915}\u{93C}", "\u{915}\u{93C}"),
        ("\u{FB2A}", "\u{5E9}\u{5C1}", "\u{5E9}\u{5C1}"),
        // A mark of class 0 in between blocks nothing here; one of the same class does.
        ("a\u{302}\u{301}", "\u{1EA5}", "a\u{302}\u{301}"),
        ("a\u{301}\u{302}", "\u{E1}\u{302}", "a\u{301}\u{302}"),
        // Compatibility characters stay: a fullwidth solidus, a ligature, a superscript
        ("\u{FF0F}", "\u{FF0F}", "\u{FF0F}"),
        ("\u{FB01}\u{B2}", "\u{FB01}\u{B2}", "\u{FB01}\u{B2}"),
        // Less-than with a stroke: the only way to ASCII that Windows refuses, in form D
        ("\u{226E}", "\u{226E}", "<\u{338}"),
        // Nothing to stand on
        ("\u{301}a", "\u{301}a", "\u{301}a"),
    ];
    for (text, nfc, nfd) in rows {
        for (form, expected) in [(Nfc, nfc), (Nfd, nfd)] {
            assert_eq!(form.apply(text), expected, "{text:?} in {form:?}");
            assert_eq!(form.holds(text), text == expected, "{text:?} in {form:?}");
            assert!(form.holds(expected), "{expected:?} in {form:?}");
        }
    }
}

#[test]
fn long_runs_of_marks_are_sorted() {
    // A name of 255 bytes: `e` and 127 marks above and below by turns
    let (above, below) = ("\u{302}", "\u{323}");
    let mixed = format!("e{}{above}", [above, below].concat().repeat(63));
    let sorted = format!("e{}{}", below.repeat(63), above.repeat(64));
    let composed = format!("\u{1EC7}{}{}", below.repeat(62), above.repeat(63));
    assert_eq!(Nfd.apply(&mixed), sorted);
    // Only the first of each joins the letter: what follows is blocked by its like.
    assert_eq!(Nfc.apply(&mixed), composed);
    assert!(!Nfc.holds(&mixed) && !Nfd.holds(&mixed));
}

#[test]
fn the_quick_check_agrees_with_normalizing_and_a_form_once_applied_holds() {
    let alone = ('\0'..=char::MAX).map(String::from);
    // Where marks could join; planes 3 to 13 have none, nor anything that decomposes.
    let joined = ('\0'..'\u{30000}').flat_map(|c| [format!("e{c}\u{323}"), format!("{c}\u{338}")]);
    for text in alone.chain(joined) {
        for form in [Nfc, Nfd] {
            let formed = form.apply(&text);
            assert_eq!(form.holds(&text), formed == text, "{text:?} in {form:?}");
            assert!(form.holds(&formed), "{text:?} in {form:?}");
        }
    }
}

/// Law C5.
#[test]
fn no_code_point_becomes_a_separator_or_nul_or_dots() {
    for c in '\0'..=char::MAX {
        let text = String::from(c);
        for form in [Nfc, Nfd] {
            let formed = form.apply(&text);
            let special = |text: &str| {
                text.is_empty() || text.contains(['/', '\0']) || text.chars().all(|c| c == '.')
            };
            assert_eq!(special(&formed), special(&text), "{text:?} in {form:?}");
        }
    }
}

/// `NameMap::may_be_mapped` rests on this list.
#[test]
fn three_code_points_become_ascii() {
    let becomes_ascii = |form: Form| {
        ('\u{80}'..=char::MAX)
            .filter(|&c| form.apply(&String::from(c)).is_ascii())
            .collect::<Vec<_>>()
    };
    for form in [Nfc, Nfd] {
        assert_eq!(becomes_ascii(form), ['\u{37E}', '\u{1FEF}', '\u{212A}']);
    }
}
