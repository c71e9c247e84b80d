//! What takes a remount, and what only says what was so before.

use super::*;

/// Returns the keys that a file changes that is put in the place of another.
fn changed(old: &str, new: &str, is_background: bool) -> Vec<(String, String)> {
    let policy = loaded(new);
    let new = ResolvedPolicy::new(PolicyFile::default(), &policy).unwrap();
    let stuck = resolved(old).remount_faults(&new, &policy, is_background);
    let stuck = stuck.iter().map(|line| {
        let line = line.replace(&policy.text.shown(0), "");
        let (place, fault) = line.split_once(": error: ").unwrap();
        let (key, _) = fault
            .split_once(" cannot change while it is mounted")
            .unwrap();
        (key.to_owned(), place.to_owned())
    });
    stuck.collect()
}

/// Each key that is fixed, its default where there is one to say, and another value.
const FIXED: [(&str, &str, &str); 13] = [
    ("profile", "\"utf8\"", "\"portable\""),
    ("normalization", "\"preserve\"", "\"nfc\""),
    ("encoding", "\"utf-8\"", "\"fss-utf\""),
    ("from", "[]", "\"koi8-r\""),
    ("legacy", "\"escape\"", "\"raw\""),
    ("store_as", "", "\"koi8-r\""),
    ("forbid", "[]", "\"bidi\""),
    ("max_bytes", "255", "99"),
    ("max_chars", "", "99"),
    ("audit_log", "\"-\"", "\"/none\""),
    ("audit_format", "\"text\"", "\"json\""),
    ("audit_burst", "100", "99"),
    ("audit_per_minute", "60", "59"),
];

#[test]
fn every_key_is_fixed_or_can_change() {
    const CAN_CHANGE: [&str; 5] = ["mode", "errno", "unique", "exempt", "exempt_uid"];
    for key in top_keys() {
        let is_fixed = FIXED.iter().any(|(fixed, ..)| *fixed == key);
        assert_ne!(is_fixed, CAN_CHANGE.contains(&key.as_str()), "{key}");
    }
}

#[test]
fn a_fixed_key_is_compared_by_its_value_and_named_alone() {
    for (key, default, other) in FIXED {
        let [default, other] = [default, other].map(|value| format!("\n {key} = {value}\n"));
        if !default.ends_with("= \n") {
            assert_eq!(changed("", &default, false), [], "{default}");
            assert_eq!(changed(&default, "", false), [], "{default}");
            assert_eq!(changed(&default, &other, false).len(), 1, "{default}");
        }
        assert_eq!(changed(&other, &other, false), [], "{other}");
        let column = key.len() + 5;
        let place = format!(":2:{column}");
        assert_eq!(
            changed("", &other, false),
            [(key.to_owned(), place)],
            "{other}"
        );
        assert_eq!(
            changed(&other, "", false),
            [(key.to_owned(), ":1:1".to_owned())],
            "{other}"
        );
    }
    let log = |background| changed("", "audit_log = \"syslog\"", background).len();
    assert_eq!((log(true), log(false)), (0, 1));
    let stderr = |background| changed("", "audit_log = \"-\"", background).len();
    assert_eq!((stderr(true), stderr(false)), (1, 0));
}

#[test]
fn what_another_key_brings_with_it_is_not_named() {
    let rows: [(&str, &str, &[&str]); 8] = [
        ("profile = \"safe\"", "profile = \"posix\"", &["profile"]),
        (
            "",
            "profile = \"portable\"\nforbid = \"bidi\"\nmax_bytes = 77",
            &["profile", "forbid", "max_bytes"],
        ),
        (
            "",
            "from = \"koi8-r\"\nlegacy = \"decode\"",
            &["from", "legacy"],
        ),
        (
            "from = \"koi8-r\"",
            "from = \"koi8-r\"\nlegacy = \"decode\"",
            &[],
        ),
        (
            "store_as = \"koi8-r\"",
            "store_as = \"koi8-r\"\nfrom = \"koi8-r\"",
            &[],
        ),
        (
            "forbid = [\"bidi\", \"windows\"]",
            "forbid = [\"windows\", \"bidi\", \"bidi\"]",
            &[],
        ),
        ("from = \"KOI8-R\"", "from = \"koi8-r\"", &[]),
        ("", "mode = \"normalize\"", &["mode normalize"]),
    ];
    for (old, new, expected) in rows {
        let found = changed(old, new, false);
        let found: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(found, expected, "{old} to {new}");
    }
}
