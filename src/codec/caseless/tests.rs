use super::{UNICODE_VERSION, caseless};
use crate::codec::{Form, normalize};

/// Sets of texts that are alike among each other, and like no text of another set.
const ALIKE: &[&[&str]] = &[
    &["readme", "README", "ReadMe"],
    // eszett small and capital; full folding
    &["straße", "STRASSE", "STRAẞE", "strasse"],
    &["strase"],
    // sigma, final sigma, capital sigma
    &["ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς", "ὀδυσσεύσ"],
    &["ς", "σ", "Σ"],
    // İ folds to i and a dot above; ı and I are of no locale here
    &["İ", "i\u{307}", "I\u{307}", "\u{130}"],
    &["i", "I"],
    &["ı"],
    // KELVIN SIGN, and ANGSTROM SIGN in both forms
    &["k", "K", "\u{212A}"],
    &["å", "Å", "\u{212B}", "a\u{30A}", "A\u{30A}"],
    &["a"],
    // ohm sign, micro sign
    &["ω", "Ω", "\u{2126}"],
    &["μ", "µ", "Μ"],
    // ligatures: full folding, not compatibility
    &["ﬁle", "FILE", "file"],
    &["ﬃ", "FFI"],
    &["①"],
    &["1"],
    // fullwidth letters have case of their own
    &["Ａ", "ａ"],
    // Hangul: syllables and their jamo
    &["한글", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}"],
    // Vietnamese: two marks, in every order that is canonical
    &[
        "ệ",
        "Ệ",
        "e\u{323}\u{302}",
        "e\u{302}\u{323}",
        "Ẹ\u{302}",
        "ê\u{323}",
    ],
    &["e\u{323}"],
    // Cherokee folds to its capitals
    &["Ꭰ", "\u{AB70}"],
    &["Ᏸ", "\u{13F8}"],
    // Deseret, beyond the BMP
    &["\u{10400}", "\u{10428}"],
    // iota subscript becomes a letter when folded, also behind other marks
    &["ᾳ", "ᾼ", "αι", "ΑΙ", "α\u{345}", "Α\u{345}"],
    &["ᾴ", "α\u{345}\u{301}", "α\u{301}\u{345}", "άι"],
    &["ŉ", "ʼn", "ʼN"],
    // Georgian, and letters of the newest versions of Unicode
    &["\u{1C90}", "\u{10D0}"],
    &["\u{16EA0}", "\u{16EBB}"],
    &["\u{A7DD}", "\u{277}"],
    // no case at all
    &["日本"],
    &[""],
];

#[test]
fn texts_that_differ_in_case_and_form_alone_are_alike() {
    for (number, set) in ALIKE.iter().enumerate() {
        for text in *set {
            for (other_number, others) in ALIKE.iter().enumerate() {
                for other in *others {
                    assert_eq!(
                        caseless(text) == caseless(other),
                        number == other_number,
                        "{text:?} and {other:?}"
                    );
                }
            }
        }
    }
}

/// The other case of each character is alike, but for the dotless i, whose capital is that of i.
#[test]
fn every_character_is_like_its_other_case_and_its_forms() {
    for c in '\0'..=char::MAX {
        let text = c.to_string();
        let key = caseless(&text);
        let alike = [
            text.to_lowercase(),
            text.to_uppercase(),
            Form::Nfc.apply(&text),
            Form::Nfd.apply(&text),
        ];
        for other in alike {
            if c != 'ı' {
                assert_eq!(caseless(&other), key, "{other:?} and {text:?}");
            }
        }
        assert_eq!(caseless(&key), key, "twice is as once: {text:?}");
        assert!(!key.is_empty());
        assert!(!key.contains(['/', '\0']) || c == '/' || c == '\0');
    }
}

/// Counted over the tables of Unicode 18.0.0; another version has others, and then the number above is to be changed.
#[test]
fn the_tables_are_of_the_version_that_is_told() {
    let folded =
        |c: &char| unicase::UniCase::unicode(c.to_string()).to_folded_case() != c.to_string();
    assert_eq!(('\0'..=char::MAX).filter(folded).count(), 1606);
    assert_eq!(UNICODE_VERSION, normalize::UNICODE_VERSION);
}

#[test]
fn what_is_put_together_character_by_character_is_the_same() {
    let mut put_together = 0;
    for c in ('\0'..='\u{10FFF}').filter(|c| !c.is_ascii()) {
        for text in [
            format!("{c}"),
            format!("aÉ{c}ß日\u{327}"),
            format!("{c}\u{327}"),
            format!("{c}{c}É"),
        ] {
            if let Some(common) = super::by_character(&text) {
                assert_eq!(common, super::in_full(&text), "{text:?}");
                put_together += 1;
            }
        }
    }
    assert!(put_together > 20_000, "{put_together}");
}
