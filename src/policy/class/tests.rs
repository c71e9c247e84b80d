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
    // DerivedCoreProperties.txt of Unicode 17.0: "Total code points: 4174"
    assert_eq!(count(Class::Invisible), 4174);
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
