//! What each class forbids, and what it lets through that looks like it.

use super::{Class, forbidden};
use crate::policy::{Policy, Profile, Rule};
use strum::VariantArray;

/// The offset and length of what `class` alone finds in `name`, in order.
fn found(class: Class, name: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<_> = forbidden(name, &[class])
        .map(|offence| {
            assert_eq!(offence.rule, Rule::Forbidden(class));
            (offence.offset, offence.length)
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn each_class_finds_its_own_and_spares_its_neighbours() {
    type Row = (&'static str, &'static [(usize, usize)]);
    let tables: [(Class, &[Row]); 11] = [
        (
            Class::Control,
            &[
                ("a\u{1}b", &[(1, 1)]),
                ("a\u{1F}", &[(1, 1)]),
                ("\u{7F}", &[(0, 1)]),
                ("\u{80}\u{9F}", &[(0, 2), (2, 2)]),
                ("\u{20}\u{7E}\u{A0}", &[]),
                // A line separator is a format character, not a control.
                ("\u{2028}", &[]),
            ],
        ),
        (
            Class::Newline,
            &[
                ("\n\u{B}\u{C}\r", &[(0, 1), (1, 1), (2, 1), (3, 1)]),
                ("\u{85}\u{2028}\u{2029}", &[(0, 2), (2, 3), (5, 3)]),
                ("\t\u{E}\u{84}\u{86}\u{2027}\u{202A}", &[]),
            ],
        ),
        (
            Class::Bidi,
            &[
                ("\u{202A}\u{202E}", &[(0, 3), (3, 3)]),
                ("\u{2066}\u{2069}", &[(0, 3), (3, 3)]),
                // Marks and joiners are not explicit controls, nor is Hebrew text.
                (
                    "\u{200E}\u{200F}\u{61C}\u{202F}\u{2065}\u{206A}\u{5D0}",
                    &[],
                ),
            ],
        ),
        (
            Class::Invisible,
            &[
                ("a\u{AD}b", &[(1, 2)]),
                ("\u{200B}\u{200D}\u{FEFF}", &[(0, 3), (3, 3), (6, 3)]),
                ("\u{FE0F}\u{E0100}\u{3164}", &[(0, 3), (3, 4), (7, 3)]),
                // Blanks, and their neighbours that are seen.
                ("\u{2800}\u{1D159}", &[(0, 3), (3, 4)]),
                ("\u{2801}\u{28FF}\u{1D158}\u{1D15A}", &[]),
                // Spaces are seen, if not well; so are U+2065's neighbours outside the range.
                (" \u{A0}\u{3000}\u{2010}\u{2070}\u{FFF9}", &[]),
            ],
        ),
        (
            Class::Noncharacter,
            &[
                ("\u{FDD0}\u{FDEF}", &[(0, 3), (3, 3)]),
                ("\u{FFFE}\u{1FFFF}\u{10FFFE}", &[(0, 3), (3, 4), (7, 4)]),
                ("\u{FDCF}\u{FDF0}\u{FFFD}\u{10FFFD}", &[]),
            ],
        ),
        (
            Class::PrivateUse,
            &[
                ("\u{E000}\u{F8FF}", &[(0, 3), (3, 3)]),
                ("\u{F0000}\u{10FFFD}", &[(0, 4), (4, 4)]),
                ("\u{D7FF}\u{F900}\u{FFFFE}", &[]),
            ],
        ),
        (
            Class::Windows,
            &[
                ("a<b", &[(1, 1)]),
                (
                    "<>:\"\\|?*",
                    &[
                        (0, 1),
                        (1, 1),
                        (2, 1),
                        (3, 1),
                        (4, 1),
                        (5, 1),
                        (6, 1),
                        (7, 1),
                    ],
                ),
                ("a\u{1}\u{1F}", &[(1, 1), (2, 1)]),
                ("a\u{7F};`'~%&{}[]=", &[]),
                // A dot or space at the end, however many
                ("a.", &[(1, 1)]),
                ("a ", &[(1, 1)]),
                ("a. .", &[(1, 3)]),
                ("...", &[(0, 3)]),
                (".a", &[]),
                (" a.b c", &[]),
                ("a\u{A0}", &[]),
                // Device names
                ("CON", &[(0, 3)]),
                ("con", &[(0, 3)]),
                ("cOn.txt", &[(0, 3)]),
                ("nul.tar.gz", &[(0, 3)]),
                ("Aux", &[(0, 3)]),
                ("PRN.", &[(0, 3), (3, 1)]),
                ("CON ", &[(0, 3), (3, 1)]),
                ("CON .txt", &[(0, 3)]),
                ("COM1", &[(0, 4)]),
                ("com0.x", &[(0, 4)]),
                ("LPT9", &[(0, 4)]),
                ("LPT\u{B9}", &[(0, 5)]),
                ("COM\u{B2}.log", &[(0, 5)]),
                ("lpt\u{B3}", &[(0, 5)]),
                ("CONIN$", &[(0, 6)]),
                ("conout$.x", &[(0, 7)]),
                // Near misses
                ("CONSOLE", &[]),
                ("COM10", &[]),
                ("COM", &[]),
                ("LPT", &[]),
                ("COM\u{2074}", &[]),
                ("COM\u{664}", &[]),
                ("ICON", &[]),
                (" CON", &[]),
                (".CON", &[]),
                ("a.CON", &[]),
                ("CON_.txt", &[]),
                ("CON$", &[]),
                ("\u{421}ON", &[]),
                ("C\u{D6}N", &[]),
            ],
        ),
        (
            Class::LeadingDash,
            &[
                ("-rf", &[(0, 1)]),
                ("--", &[(0, 1)]),
                ("a-", &[]),
                (" -", &[]),
                ("\u{2010}a", &[]),
            ],
        ),
        (
            Class::EdgeSpace,
            &[
                (" a", &[(0, 1)]),
                ("a \t", &[(1, 2)]),
                ("\u{A0}a\u{3000}", &[(0, 2), (3, 3)]),
                // All of it is at both edges.
                ("  ", &[(0, 2), (0, 2)]),
                ("a b", &[]),
                // Zero width is not white space.
                ("\u{200B}a\u{FEFF}", &[]),
            ],
        ),
        (
            Class::NonAscii,
            &[
                ("caf\u{E9}", &[(3, 2)]),
                ("\u{80}\u{10FFFF}", &[(0, 2), (2, 4)]),
                ("\u{1}\u{7F}~", &[]),
            ],
        ),
        (
            Class::NotPosix,
            &[
                ("a b", &[(1, 1)]),
                ("%~+\u{E9}", &[(0, 1), (1, 1), (2, 1), (3, 2)]),
                ("AZaz09._-", &[]),
            ],
        ),
    ];
    for (class, rows) in tables {
        for &(name, expected) in rows {
            assert_eq!(found(class, name), expected, "{name:?} and {class:?}");
        }
    }
}

#[test]
fn no_class_and_no_name_offend_nothing() {
    assert_eq!(forbidden(" CON.\u{1}", &[]).count(), 0);
    for &class in Class::ALL {
        assert_eq!(found(class, ""), [], "{class:?}");
    }
}

#[test]
fn there_are_66_noncharacters_and_137468_private_characters() {
    let count = |class: Class| ('\0'..=char::MAX).filter(|&c| class.has(c)).count();
    assert_eq!(count(Class::Noncharacter), 66);
    assert_eq!(count(Class::PrivateUse), 6400 + 2 * 65534);
    assert_eq!(count(Class::Control), 65);
    // DerivedCoreProperties.txt of Unicode 17.0: "Total code points: 4174". And two blanks.
    assert_eq!(count(Class::Invisible), 4174 + 2);
}

#[test]
fn forbidden_classes_are_listed_once_and_in_order() {
    let mut policy = Policy::default();
    policy.forbid(&[Class::NotPosix, Class::Control, Class::Control]);
    assert_eq!(policy.forbid, [Class::Control, Class::NotPosix]);
    policy.forbid(Class::ALL);
    assert_eq!(policy.forbid, Class::ALL);
    for profile in Profile::VARIANTS {
        let mut policy = profile.policy();
        policy.forbid(&[]);
        assert_eq!(policy, profile.policy());
    }
}

#[test]
fn labels_are_all_different() {
    let mut labels: Vec<&str> = Class::ALL.iter().map(Into::into).collect();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), Class::ALL.len());
}

/// Names that people write, which have invisible characters in their places.
#[test]
fn joiners_and_selectors_are_spared_where_a_language_or_an_emoji_needs_them() {
    for (name, why) in [
        (
            "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}.txt",
            "Persian: I want",
        ),
        (
            "\u{646}\u{627}\u{645}\u{647}\u{200C}\u{647}\u{627}",
            "Persian: letters",
        ),
        (
            "\u{645}\u{64A}\u{64F}\u{200C}\u{64E}\u{62E}",
            "a mark before the joiner and one behind",
        ),
        ("\u{915}\u{94D}\u{200D}\u{937}", "Hindi: half ka before ssa"),
        (
            "\u{915}\u{94D}\u{200C}\u{937}",
            "Hindi: ka with a virama that is seen",
        ),
        (
            "\u{915}\u{93C}\u{94D}\u{200D}\u{937}",
            "Hindi: with a nukta",
        ),
        ("\u{930}\u{94D}\u{200D}\u{92F}", "Marathi: eyelash ra"),
        ("\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}", "Sinhala: Sri"),
        (
            "\u{D9A}\u{200D}\u{DCA}\u{D9A}",
            "Sinhala: letters that touch",
        ),
        (
            "\u{D05}\u{D35}\u{D28}\u{D4D}\u{200D}",
            "Malayalam: a chillu at the end",
        ),
        (
            "\u{9B0}\u{200D}\u{9CD}\u{9AF}\u{9BE}\u{9AC}",
            "Bengali: RAB",
        ),
        ("\u{CB0}\u{200D}\u{CCD}\u{CAF}\u{CBE}", "Kannada: rya"),
        (
            "\u{1828}\u{1820}\u{180B}\u{180E}\u{1820}",
            "Mongolian: a selector, and a vowel set apart",
        ),
        (
            "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}",
            "a family",
        ),
        (
            "\u{1F469}\u{1F3FD}\u{200D}\u{1F680}",
            "an astronaut with a skin tone",
        ),
        ("\u{1F575}\u{FE0F}\u{200D}\u{2640}\u{FE0F}", "a detective"),
        ("\u{2764}\u{FE0F}", "a heart"),
        ("\u{2764}\u{FE0F}\u{200D}\u{1F525}", "a heart on fire"),
        ("\u{2764}\u{FE0E}", "a heart as text"),
        ("\u{1F3F3}\u{FE0F}\u{200D}\u{1F308}", "a rainbow flag"),
        ("\u{1F1EB}\u{1F1F7}", "the flag of France"),
        (
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "England",
        ),
        (
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
            "Scotland",
        ),
        (
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
            "Wales",
        ),
        ("1\u{FE0F}\u{20E3}#\u{FE0F}\u{20E3}", "keycaps"),
        ("\u{A9}\u{FE0F}2026", "copyright as an emoji"),
        (
            "\u{845B}\u{E0100}\u{57CE}",
            "Katsuragi, with the variant of its town",
        ),
        (
            "\u{795E}\u{FE00}",
            "a variant that was a compatibility ideograph",
        ),
        ("\u{1000}\u{FE00}", "Khamti: a letter with a dot"),
        ("\u{2229}\u{FE00}", "an intersection with serifs"),
    ] {
        assert_eq!(found(Class::Invisible, name), [], "{why}: {name:?}");
    }
}

#[test]
fn joiners_and_selectors_are_found_where_nothing_needs_them() {
    type Row = (&'static str, &'static [(usize, usize)], &'static str);
    let rows: &[Row] = &[
        ("pay\u{200C}pal", &[(3, 3)], "between Latin letters"),
        ("pay\u{200D}pal", &[(3, 3)], "between Latin letters"),
        (
            "\u{43F}\u{200D}\u{43E}",
            &[(2, 3)],
            "between Cyrillic letters",
        ),
        ("\u{200C}\u{645}\u{6CC}", &[(0, 3)], "at the start"),
        ("\u{645}\u{6CC}\u{200C}", &[(4, 3)], "at the end"),
        ("\u{645}\u{6CC}\u{200C}.txt", &[(4, 3)], "before a dot"),
        (
            "\u{645}\u{200C}\u{200C}\u{62E}",
            &[(2, 3), (5, 3)],
            "doubled",
        ),
        ("\u{645}\u{200D}\u{62E}", &[(2, 3)], "joined already"),
        (
            "\u{627}\u{200C}\u{628}",
            &[(2, 3)],
            "behind a letter that joins nothing behind it",
        ),
        (
            "\u{628}\u{200C}a",
            &[(2, 3)],
            "before a letter that joins nothing",
        ),
        (
            "\u{628}\u{AD}\u{200C}\u{628}",
            &[(2, 2), (4, 3)],
            "another between",
        ),
        (
            "\u{628}\u{200C}\u{200B}\u{628}",
            &[(2, 3), (5, 3)],
            "another between",
        ),
        (
            "\u{645}\u{6CC}\u{200C}\u{62E}\u{200B}",
            &[(9, 3)],
            "beside one that is right",
        ),
        ("\u{915}\u{200D}\u{937}", &[(3, 3)], "no virama"),
        (
            "\u{94D}\u{200D}\u{937}",
            &[(3, 3)],
            "no letter before the virama",
        ),
        (
            "\u{915}\u{94D}\u{200D}\u{200D}\u{937}",
            &[(9, 3)],
            "doubled",
        ),
        (
            "\u{915}\u{94D}\u{200D}\u{93F}",
            &[(6, 3)],
            "before a vowel sign",
        ),
        ("\u{915}\u{94D}\u{200C}", &[(6, 3)], "no letter behind"),
        (
            "\u{995}\u{200D}\u{9CD}\u{9AF}",
            &[(3, 3)],
            "Bengali, not ra",
        ),
        ("\u{200D}\u{1F468}", &[(0, 3)], "at the start"),
        ("\u{1F468}\u{200D}", &[(4, 3)], "at the end"),
        (
            "\u{1F468}\u{200D}\u{200D}\u{1F469}",
            &[(4, 3), (7, 3)],
            "doubled",
        ),
        ("\u{1F468}\u{200D}a", &[(4, 3)], "an emoji and a letter"),
        ("a\u{200D}\u{1F468}", &[(1, 3)], "a letter and an emoji"),
        (
            "1\u{200D}2",
            &[(1, 3)],
            "digits are emoji, but none that join",
        ),
        ("a\u{FE0F}", &[(1, 3)], "a letter has no presentation"),
        ("1\u{FE0F}", &[(1, 3)], "a digit without a frame"),
        ("1\u{FE0E}\u{20E3}", &[(1, 3)], "a frame around text"),
        ("\u{FE0F}", &[(0, 3)], "nothing"),
        ("\u{2764}\u{FE0F}\u{FE0F}", &[(6, 3)], "doubled"),
        ("\u{2764}\u{FE0F}\u{FE0E}", &[(6, 3)], "both"),
        (
            "\u{1F970}\u{FE0F}",
            &[(4, 3)],
            "an emoji that has one presentation",
        ),
        ("\u{2764}\u{FE01}", &[(3, 3)], "another selector"),
        (
            "a\u{E0100}",
            &[(1, 4)],
            "an ideographic selector behind a letter",
        ),
        ("\u{3042}\u{E0100}", &[(3, 4)], "behind kana"),
        ("\u{845B}\u{E0100}\u{E0101}", &[(7, 4)], "doubled"),
        ("0\u{FE00}", &[(1, 3)], "most fonts show no stroke"),
        (
            "a\u{180B}",
            &[(1, 3)],
            "a Mongolian selector behind a letter",
        ),
        ("\u{1828}\u{180E}", &[(3, 3)], "no vowel behind"),
        ("a\u{E0067}", &[(1, 4)], "a tag behind a letter"),
        (
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}",
            &[(4, 4), (8, 4), (12, 4)],
            "no region",
        ),
        (
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}",
            &[(4, 4), (8, 4), (12, 4), (16, 4), (20, 4)],
            "no end",
        ),
        (
            "\u{1F3F3}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            &[(4, 4), (8, 4), (12, 4), (16, 4), (20, 4), (24, 4)],
            "another flag",
        ),
        ("\u{E007F}", &[(0, 4)], "an end alone"),
    ];
    for (name, expected, why) in rows {
        assert_eq!(found(Class::Invisible, name), *expected, "{why}: {name:?}");
    }
}

/// What is escaped is another character afterwards, so that nothing may lean on it.
#[test]
fn what_leans_on_a_forbidden_character_is_found_too() {
    for (name, forbid, expected) in [
        ("*\u{FE0F}\u{20E3}", &[Class::Invisible][..], &[][..]),
        (
            "*\u{FE0F}\u{20E3}",
            &[Class::Invisible, Class::Windows],
            &[0, 1],
        ),
        (
            "\u{628}\u{200C}\u{628}",
            &[Class::Invisible, Class::NonAscii],
            &[0, 2, 5],
        ),
    ] {
        let mut offsets: Vec<_> = forbidden(name, forbid).map(|found| found.offset).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, expected, "{name:?} {forbid:?}");
    }
}

#[test]
fn the_tables_of_joiners_ascend() {
    use super::joiner_table::{
        CONJUNCT_LETTERS, CONJUNCT_MARKS, DEPENDENT_VOWELS, HAS_PRESENTATIONS, HAS_VS1, HAS_VS2,
        HAS_VS3, IDEOGRAPHS, JOINS_NEXT, JOINS_PREVIOUS, MONGOLIAN_LETTERS, PICTOGRAPHS,
        REORDERED_MARKS, TRANSPARENT, VIRAMAS,
    };
    for table in [
        JOINS_NEXT,
        JOINS_PREVIOUS,
        TRANSPARENT,
        CONJUNCT_LETTERS,
        CONJUNCT_MARKS,
        REORDERED_MARKS,
        VIRAMAS,
        DEPENDENT_VOWELS,
        PICTOGRAPHS,
        HAS_PRESENTATIONS,
        IDEOGRAPHS,
        MONGOLIAN_LETTERS,
        HAS_VS1,
        HAS_VS2,
        HAS_VS3,
    ] {
        assert!(table.iter().all(|(first, last)| first <= last));
        assert!(table.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}
