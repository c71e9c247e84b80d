//! What is said of the whole mount holds in each section that does not say otherwise, whatever the modes.

use super::*;
use crate::names::rules::{Mode, Terms};

/// A value for each key of the whole mount that is not its default, and keys that it needs beside it.
const VALUES: [(&str, &str); 18] = [
    ("profile", "profile = \"portable\""),
    ("normalization", "normalization = \"nfd\""),
    ("encoding", "encoding = \"fss-utf\""),
    ("from", "from = [\"koi8-r\", \"shift_jis\"]"),
    ("legacy", "legacy = \"raw\""),
    ("store_as", "store_as = \"iso-8859-1\""),
    ("forbid", "forbid = [\"bidi\", \"leading-dash\"]"),
    ("max_bytes", "max_bytes = 77"),
    ("max_chars", "max_chars = 33"),
    ("unique", "unique = \"casefold\""),
    ("errno", "errno = \"eperm\""),
    ("exempt", "exempt = [\"*.tmp\", \"/a/**\"]"),
    ("exempt_uid", "exempt_uid = [7, 9]"),
    ("audit_log", "audit_log = \"/none\""),
    ("audit_format", "audit_format = \"json\""),
    ("audit_burst", "audit_burst = 3"),
    ("audit_per_minute", "audit_per_minute = 4"),
    ("mode", ""),
];

const MODES: [&str; 4] = ["enforce", "normalize", "report", "off"];

/// All that holds for a new name by these terms; that of the whole mount alone says whether there are other spellings.
fn told(terms: &Terms) -> String {
    let Terms {
        mode,
        map,
        unique,
        section: _,
    } = terms;
    let (policy, from, errno) = (&map.policy, &map.from, map.errno);
    let stored = (map.legacy, map.store_as);
    // Where nothing is looked at, nothing is compared.
    let unique = unique.filter(|_| *mode != Mode::Off);
    format!("{mode:?} {policy:?} {from:?} {errno:?} {stored:?} {unique:?}")
}

#[test]
fn a_section_has_every_key_of_the_whole_mount_whatever_the_modes() {
    let known: Vec<&str> = VALUES.iter().map(|(key, _)| *key).collect();
    for key in top_keys() {
        assert!(known.contains(&key.as_str()), "{key} has no row");
    }
    for (_, value) in VALUES {
        for whole in MODES {
            let above = format!("mode = \"{whole}\"\n{value}");
            for mode in MODES {
                let found = resolved(&format!("{above}\n[[section]]\nmode = \"{mode}\"\n"));
                let alone = resolved(&format!("mode = \"{mode}\"\n{value}\n"));
                let what = format!("{above} {mode}");
                let here = told(found.rules.terms_of(Some(0)));
                assert_eq!(here, told(&alone.rules.all), "{what}");
                let exempt = |resolved: &ResolvedPolicy| format!("{:?}", resolved.rules.exempt);
                assert_eq!(exempt(&found), exempt(&alone), "{what}");
                assert_eq!(found.keys.audit_log, alone.keys.audit_log, "{what}");
            }
            // One that says nothing is as the whole mount.
            let found = resolved(&format!("{above}\n[[section]]\n"));
            let here = told(found.rules.terms_of(Some(0)));
            assert_eq!(here, told(&found.rules.all), "{above}");
        }
    }
}

/// A key that a section says holds in it, and the other keys as for the whole mount.
#[test]
fn what_a_section_says_holds_in_place_of_the_whole_mounts() {
    // the key, of the whole mount, of the section, as if that was said of the whole mount
    let rows = [
        (
            "errno = \"eperm\"",
            "errno = \"einval\"",
            "errno = \"einval\"",
        ),
        ("unique = \"nfc\"", "unique = \"none\"", "unique = \"none\""),
        ("unique = \"none\"", "unique = \"nfc\"", "unique = \"nfc\""),
        ("max_bytes = 99", "max_bytes = 55", "max_bytes = 55"),
        ("max_chars = 99", "max_chars = 55", "max_chars = 55"),
        (
            "forbid = \"bidi\"",
            "forbid = \"windows\"",
            "forbid = [\"bidi\", \"windows\"]",
        ),
    ];
    for (whole, section, alone) in rows {
        for top in MODES {
            for mode in MODES {
                let found = resolved(&format!(
                    "profile = \"safe\"\nmode = \"{top}\"\n{whole}\n[[section]]\nmode = \"{mode}\"\n{section}\n"
                ));
                let alone = resolved(&format!("profile = \"safe\"\nmode = \"{mode}\"\n{alone}\n"));
                let here = told(found.rules.terms_of(Some(0)));
                assert_eq!(
                    here,
                    told(&alone.rules.all),
                    "{whole} {top} {section} {mode}"
                );
            }
        }
    }
}
