//! `utf8fs explain --json`: every refusal says which byte breaks which rule, and what would be accepted (law L2).

use serde_json::{Value, json};

use super::run;

/// Explains one name by its octets.
fn explained(octets: &str, options: &[&str]) -> Value {
    let mut arguments: Vec<&[u8]> = vec![b"explain", b"--json", b"--hex", octets.as_bytes()];
    arguments.extend(options.iter().map(|option| option.as_bytes()));
    let run = run(&arguments);
    let mut objects = run.objects();
    let object = objects.pop().unwrap_or_else(|| panic!("{run:?}"));
    assert!(objects.is_empty() && run.stderr.is_empty(), "{run:?}");
    let is_refused = object["verdict"] == "refused";
    assert_eq!(run.code, Some(i32::from(is_refused)), "{object}");
    object
}

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[test]
fn each_kind_of_ill_formed_name_is_told_apart() {
    // octets (with 61 = a around), kind, offset, length, code point
    let rows = [
        ("61 80 61", "unexpected-continuation", 1, 1, None),
        ("61 C3 A9 BF", "unexpected-continuation", 3, 1, None),
        ("61 C0 61", "invalid-byte", 1, 1, None),
        ("C1", "invalid-byte", 0, 1, None),
        ("61 61 F5 80 80 80", "invalid-byte", 2, 1, None),
        ("61 F8 88 80 80 80", "invalid-byte", 1, 1, None),
        ("FD BF BF BF BF BF", "invalid-byte", 0, 1, None),
        ("61 FF", "invalid-byte", 1, 1, None),
        ("63 61 66 E9 2E", "truncated", 3, 1, None),
        ("61 E2 82", "truncated", 1, 2, None),
        ("F0 9F 98 61", "truncated", 0, 3, None),
        ("61 C0 AF 61", "overlong", 1, 2, Some("U+002F")),
        ("C0 80", "overlong", 0, 2, Some("U+0000")),
        (
            "C0 AE C0 AE C0 AF 65 74 63",
            "overlong",
            0,
            2,
            Some("U+002E"),
        ),
        ("61 E0 80 AF", "overlong", 1, 3, Some("U+002F")),
        ("61 F0 80 80 AF", "overlong", 1, 4, Some("U+002F")),
        ("ED A0 80", "surrogate", 0, 3, Some("U+D800")),
        ("61 ED BF BF", "surrogate", 1, 3, Some("U+DFFF")),
        ("61 F4 90 80 80", "out-of-range", 1, 4, Some("U+110000")),
    ];
    for (octets, kind, offset, length, code_point) in rows {
        let object = explained(octets, &[]);
        let wanted = ["refused", "ill-formed", kind, "EILSEQ"];
        let got = ["verdict", "rule", "kind", "errno"].map(|key| object[key].as_str().unwrap());
        assert_eq!(got, wanted, "{octets}");
        assert_eq!(
            (&object["offset"], &object["length"]),
            (&json!(offset), &json!(length)),
            "{octets}"
        );
        assert_eq!(object["code_point"], json!(code_point), "{octets}");
        assert!(object["normalized"].is_null(), "{object}");
    }
}

/// Octets, options, rule and kind, offset and length, code point, errno.
type Row<'a> = (
    &'a str,
    &'a [&'a str],
    [&'a str; 2],
    [usize; 2],
    Option<&'a str>,
    &'a str,
);

#[test]
fn each_rule_has_its_name_offset_and_errno() {
    let long = "61".repeat(256);
    let limit = "C3A9".repeat(30);
    let rows: &[Row] = &[
        (
            &long,
            &[],
            ["too-long", "bytes"],
            [255, 1],
            None,
            "ENAMETOOLONG",
        ),
        (
            &limit,
            &["--max-bytes", "25"],
            ["too-long", "bytes"],
            [24, 36],
            None,
            "ENAMETOOLONG",
        ),
        (
            &limit,
            &["--max-chars", "24"],
            ["too-long", "chars"],
            [48, 12],
            None,
            "ENAMETOOLONG",
        ),
        (
            &long,
            &["--errno", "eperm"],
            ["too-long", "bytes"],
            [255, 1],
            None,
            "ENAMETOOLONG",
        ),
        (
            "61 0A",
            &["--profile", "safe"],
            ["forbidden", "control"],
            [1, 1],
            Some("U+000A"),
            "EILSEQ",
        ),
        (
            "61 E2 80 A8",
            &["--forbid", "newline"],
            ["forbidden", "newline"],
            [1, 3],
            Some("U+2028"),
            "EILSEQ",
        ),
        (
            "61 E2 80 AE",
            &["--forbid", "bidi"],
            ["forbidden", "bidi"],
            [1, 3],
            Some("U+202E"),
            "EILSEQ",
        ),
        (
            "E2 80 8B",
            &["--forbid", "invisible"],
            ["forbidden", "invisible"],
            [0, 3],
            Some("U+200B"),
            "EILSEQ",
        ),
        (
            "EF BF BF",
            &["--forbid", "noncharacter"],
            ["forbidden", "noncharacter"],
            [0, 3],
            Some("U+FFFF"),
            "EILSEQ",
        ),
        (
            "EE 80 80",
            &["--forbid", "private-use"],
            ["forbidden", "private-use"],
            [0, 3],
            Some("U+E000"),
            "EILSEQ",
        ),
        (
            "61 3F",
            &["--profile", "portable"],
            ["forbidden", "windows"],
            [1, 1],
            Some("U+003F"),
            "EILSEQ",
        ),
        (
            "4E 55 4C",
            &["--forbid", "windows"],
            ["forbidden", "windows"],
            [0, 3],
            None,
            "EILSEQ",
        ),
        (
            "2D 72",
            &["--profile", "safe"],
            ["forbidden", "leading-dash"],
            [0, 1],
            Some("U+002D"),
            "EILSEQ",
        ),
        (
            "61 20 20",
            &["--profile", "safe"],
            ["forbidden", "edge-space"],
            [1, 2],
            Some("U+0020"),
            "EILSEQ",
        ),
        (
            "61 C3 A9",
            &["--forbid", "control,non-ascii"],
            ["forbidden", "non-ascii"],
            [1, 2],
            Some("U+00E9"),
            "EILSEQ",
        ),
        (
            "61 20 62",
            &["--profile", "posix"],
            ["forbidden", "not-posix"],
            [1, 1],
            Some("U+0020"),
            "EILSEQ",
        ),
        (
            "65 CC 81",
            &["--normalization", "nfc"],
            ["not-normalized", "nfc"],
            [0, 3],
            None,
            "EILSEQ",
        ),
        (
            "C3 A9",
            &["--normalization", "nfd", "--errno", "einval"],
            ["not-normalized", "nfd"],
            [0, 2],
            None,
            "EINVAL",
        ),
    ];
    for &(octets, options, rule, [offset, length], code_point, errno) in rows {
        let object = explained(octets, options);
        let got = ["rule", "kind"].map(|key| object[key].as_str().unwrap());
        assert_eq!(got, rule, "{octets} {options:?}");
        assert_eq!(
            (&object["offset"], &object["length"]),
            (&json!(offset), &json!(length)),
            "{octets} {options:?}"
        );
        assert_eq!(
            object["code_point"],
            json!(code_point),
            "{octets} {options:?}"
        );
        assert_eq!(object["errno"], errno, "{octets} {options:?}");
    }
}

#[test]
fn what_is_no_component_is_refused_as_such() {
    for octets in ["", "2E", "2E 2E", "61 2F 62", "61 00"] {
        let object = explained(octets, &["--from", "iso-8859-1"]);
        assert_eq!(
            (&object["rule"], &object["errno"]),
            (&json!("not-a-component"), &json!("EINVAL")),
            "{octets}"
        );
        for key in ["kind", "code_point", "visible", "normalized"] {
            assert!(object[key].is_null(), "{key} of {object}");
        }
    }
}

#[test]
fn the_json_has_just_these_keys() {
    let refused = [
        "code_point",
        "encoding",
        "errno",
        "kind",
        "length",
        "name",
        "normalized",
        "offset",
        "rule",
        "verdict",
        "visible",
    ];
    assert_eq!(keys(&explained("E9", &[])), refused);
    assert_eq!(keys(&explained("", &[])), refused);
    let conforming = explained("63 61 66 C3 A9", &[]);
    let wanted = json!({
        "name": {"text": "caf\u{E9}"}, "encoding": "utf-8", "verdict": "conforming",
        "visible": {"text": "caf\u{E9}"}, "normalized": {"text": "caf\u{E9}"},
    });
    assert_eq!(conforming, wanted);
}

#[test]
fn what_would_be_visible_and_what_would_be_made_are_told() {
    let text = |text: &str| json!({ "text": text });
    let bytes = json!({"bytes": "Y2Fm6Q=="});
    // options, visible, normalized
    let rows: &[(&[&str], Value, Value)] = &[
        (&[], text("caf%E9"), Value::Null),
        (
            &["--from", "iso-8859-1"],
            text("caf\u{E9}"),
            text("caf\u{E9}"),
        ),
        (
            &["--from", "iso-8859-1", "--normalization", "nfd"],
            text("cafe\u{301}"),
            text("cafe\u{301}"),
        ),
        (&["--legacy", "raw"], bytes, Value::Null),
        (&["--legacy", "hide"], Value::Null, Value::Null),
        (
            &[
                "--legacy",
                "escape",
                "--from",
                "iso-8859-1",
                "--on-violation",
                "normalize",
            ],
            text("caf%E9"),
            text("caf\u{E9}"),
        ),
    ];
    for (options, visible, normalized) in rows {
        let object = explained("63 61 66 E9", options);
        assert_eq!(object["name"], json!({"bytes": "Y2Fm6Q=="}));
        assert_eq!(
            (&object["visible"], &object["normalized"]),
            (visible, normalized),
            "{options:?}"
        );
    }
}

#[test]
fn a_name_that_is_too_long_is_shown_cut() {
    for length in [256, 1023, 4095] {
        let object = explained(&"61".repeat(length), &[]);
        assert_eq!(object["rule"], "too-long");
        assert!(object["visible"]["text"].as_str().unwrap().len() <= 255);
    }
    for length in [1, 255] {
        assert_eq!(
            explained(&"61".repeat(length), &[])["verdict"],
            "conforming"
        );
    }
}

#[test]
fn every_single_octet_is_explained() {
    for octet in 0..=255u8 {
        let is_conforming = octet < 0x80 && !matches!(octet, 0 | b'.' | b'/');
        let object = explained(&format!("{octet:02x}"), &[]);
        assert_eq!(object["verdict"] == "conforming", is_conforming, "{object}");
    }
}

/// What each encoding makes of the same octets, and what is told of those that cannot be mounted.
#[test]
fn c1_an_encoding_is_the_definition_of_well_formed() {
    let rows: &[(&str, &str, &str, Value, Value)] = &[
        // encoding, octets, verdict, text, visible
        (
            "utf-8-rfc2279",
            "FD BF BF BF BF BF",
            "conforming",
            Value::Null,
            json!({"bytes": "/b+/v7+/"}),
        ),
        (
            "fss-utf",
            "ED A0 80",
            "conforming",
            Value::Null,
            json!({"bytes": "7aCA"}),
        ),
        (
            "utf-8-bmp",
            "F0 9F 98 80",
            "refused",
            Value::Null,
            json!({"text": "%F0%9F%98%80"}),
        ),
        (
            "utf-8-bmp",
            "E2 82 AC",
            "conforming",
            json!("\u{20AC}"),
            json!({"text": "\u{20AC}"}),
        ),
        (
            "cesu-8",
            "ED A1 8C ED BE B4",
            "conforming",
            json!("\u{233B4}"),
            Value::Null,
        ),
        ("mutf-8", "C0 80", "conforming", json!("\0"), Value::Null),
        ("utf-8b", "FF", "conforming", Value::Null, Value::Null),
        (
            "fss-utf-draft",
            "80 80",
            "conforming",
            json!("\u{80}"),
            Value::Null,
        ),
        (
            "fss-utf-xutf",
            "FF BF BF BF BF BF",
            "conforming",
            Value::Null,
            Value::Null,
        ),
        (
            "wtf-8",
            "ED A0 80 ED B0 80",
            "refused",
            Value::Null,
            Value::Null,
        ),
        (
            "utf-16le",
            "E9 00",
            "conforming",
            json!("\u{E9}"),
            Value::Null,
        ),
        ("ucs-4be", "00 00 00 2F", "refused", json!("/"), Value::Null),
        (
            "ucs-2le",
            "2E 00 2E 00",
            "refused",
            json!(".."),
            Value::Null,
        ),
    ];
    for (encoding, octets, verdict, text, visible) in rows {
        let told = explained(octets, &["--encoding", encoding]);
        assert_eq!(told["encoding"], *encoding);
        assert_eq!(told["verdict"], *verdict, "{encoding} {octets}");
        assert_eq!(told["text"], *text, "{encoding} {octets}");
        assert_eq!(told["visible"], *visible, "{encoding} {octets}");
    }
    let told = explained("F0 9F 98 80", &["--encoding", "utf-8-bmp"]);
    assert_eq!(told["kind"], "out-of-range");
}
