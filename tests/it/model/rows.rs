//! Rows: what a backing name is visible as when it is alone, and what a new name is normalized to.

use proptest::prelude::{Strategy, any};
use utf8fs::codec::{Charset, Form};
use utf8fs::names::{BackingName, Legacy, NameMap, OnViolation, Quoted, VisibleName};
use utf8fs::policy::{ErrnoChoice, Policy, Profile};
use utf8fs::records::{Name, json_line};

use crate::support::show;

pub(super) fn map(
    profile: Profile,
    form: Option<Form>,
    legacy: Legacy,
    on_violation: OnViolation,
    from: &[&str],
) -> NameMap {
    NameMap {
        policy: Policy {
            form,
            ..profile.policy()
        },
        legacy,
        from: from
            .iter()
            .map(|label| Charset::from_label(label).unwrap())
            .collect(),
        store_as: None,
        on_violation,
        errno: ErrnoChoice::default(),
    }
}

fn assert_shown(map: &NameMap, rows: &[(&[u8], &str)]) {
    for &(name, expected) in rows {
        let backing = BackingName::parse(name).unwrap();
        let visible = map.visible_alone(&backing).unwrap();
        assert_eq!(
            show(visible.as_bytes()),
            show(expected.as_bytes()),
            "{}",
            show(name)
        );
    }
}

/// N1: a conforming name is itself, byte for byte; N6 `escape`: offending octets and each `%` of such a name.
#[test]
fn offending_octets_are_escaped_and_with_them_each_percent_sign() {
    let map = map(
        Profile::Utf8,
        None,
        Legacy::Escape,
        OnViolation::Reject,
        &[],
    );
    assert_shown(
        &map,
        &[
            (b"plain", "plain"),
            (b"50%25 \xC3\xA9", "50%25 é"),
            (b"%E9", "%E9"),
            (b"e\xCC\x81\n", "e\u{301}\n"),
            (b"caf\xE9", "caf%E9"),
            (b"50%\xE9", "50%25%E9"),
            (b"%E9\xE9", "%25E9%E9"),
            (b"\xC0\xAE\xC0\xAE\xC0\xAFetc", "%C0%AE%C0%AE%C0%AFetc"),
            (b"\xED\xA0\x80", "%ED%A0%80"),
            (b"\xC3\xA9\xE9", "é%E9"),
        ],
    );
}

/// N6: the classes that a profile forbids are escaped too, as octets of their UTF-8.
#[test]
fn forbidden_characters_are_escaped_by_their_octets() {
    let safe = map(
        Profile::Safe,
        None,
        Legacy::Escape,
        OnViolation::Reject,
        &[],
    );
    assert_shown(
        &safe,
        &[
            (b"a\nb", "a%0Ab"),
            (b"a\xC2\x85b", "a%C2%85b"),
            (b"x\xE2\x80\xAEy", "x%E2%80%AEy"),
            (b"-rf", "%2Drf"),
            (b" a ", "%20a%20"),
            (b"100% \x1B", "100%25 %1B"),
        ],
    );
    let portable = map(
        Profile::Portable,
        None,
        Legacy::Escape,
        OnViolation::Reject,
        &[],
    );
    assert_shown(
        &portable,
        &[
            (b"a:b", "a%3Ab"),
            (b"con", "%63%6F%6E"),
            (b"nul.txt", "%6E%75%6C.txt"),
            (b"a. .", "a%2E%20%2E"),
        ],
    );
    let posix = map(
        Profile::Posix,
        None,
        Legacy::Escape,
        OnViolation::Reject,
        &[],
    );
    assert_shown(
        &posix,
        &[
            ("é".as_bytes(), "%C3%A9"),
            (b"\xE9", "%E9"),
            (b"a b", "a%20b"),
            (b"100%", "100%25"),
        ],
    );
}

/// N6 `decode`: the text in the first charset that gives the name back byte for byte; what it leaves forbidden is
/// escaped; a name that none takes is escaped.
#[test]
fn legacy_names_are_decoded_in_the_first_charset_that_fits() {
    let one = ["windows-1252", "iso-8859-1"];
    let western = map(
        Profile::Safe,
        None,
        Legacy::Decode,
        OnViolation::Reject,
        &one,
    );
    assert_shown(
        &western,
        &[
            (b"caf\xE9", "café"),
            (b"\x93x\x94", "“x”"),
            // 81 is no character of windows-1252; in ISO-8859-1 it is a control character.
            (b"a\x81\xE9", "a%C2%81é"),
            (b"100%\n\xE9", "100%25%0Aé"),
            (b"100%\xE9", "100%é"),
            ("日本\n".as_bytes(), "日本%0A"),
        ],
    );
    let japanese = map(
        Profile::Utf8,
        None,
        Legacy::Decode,
        OnViolation::Reject,
        &["shift_jis"],
    );
    assert_shown(
        &japanese,
        &[
            (b"\x95\x5C.txt", "表.txt"),
            (b"\x82\xB1\x82\xF1", "こん"),
            // A lead byte with nothing after it.
            (b"a\x95", "a%95"),
        ],
    );
    let formed = map(
        Profile::Utf8,
        Some(Form::Nfd),
        Legacy::Decode,
        OnViolation::Reject,
        &["iso-8859-1"],
    );
    assert_shown(
        &formed,
        &[(b"caf\xE9", "cafe\u{301}"), ("é".as_bytes(), "e\u{301}")],
    );
}

/// N6: a name that offends by its form alone is shown in the wanted form, also under `escape`.
#[test]
fn names_out_of_form_alone_are_shown_in_the_wanted_form() {
    let map = map(
        Profile::Utf8,
        Some(Form::Nfc),
        Legacy::Escape,
        OnViolation::Reject,
        &[],
    );
    assert_shown(
        &map,
        &[
            (b"cafe\xCC\x81", "café"),
            (b"100%e\xCC\x81", "100%é"),
            ("\u{212B}".as_bytes(), "Å"),
            // An escape's last digit must not join with the mark behind it.
            (b"\xEA\xCC\x81", "%EA%CC%81"),
        ],
    );
}

/// N7: cut between characters and escapes, with `~`, the hash and the extension.
#[test]
fn names_that_outgrow_the_limit_are_cut() {
    let map = map(
        Profile::Utf8,
        None,
        Legacy::Escape,
        OnViolation::Reject,
        &[],
    );
    let name = [&[0xE9; 200][..], b".txt"].concat();
    let visible = map
        .visible_alone(&BackingName::parse(&name).unwrap())
        .unwrap();
    let text = std::str::from_utf8(visible.as_bytes()).unwrap();
    // 255 octets less 17 for the mark and 4 for the extension: 234, which is 78 escapes.
    assert!(text.starts_with(&"%E9".repeat(78)), "{text}");
    // SHA-256 of the backing name, its first 80 bits, in base32: computed with sha256sum, xxd and base32.
    assert_eq!(&text[234..], "~khydhp5qgwunpy4u.txt");
    let name = [0xE9; 86];
    let visible = map
        .visible_alone(&BackingName::parse(&name).unwrap())
        .unwrap();
    assert_eq!(visible.as_bytes().len(), 237 + 17);
    let text = std::str::from_utf8(visible.as_bytes()).unwrap();
    assert_eq!(&text[237..], "~j2z2rmk4o7wi2tk2");
}

/// N6 `hide` and `raw`.
#[test]
fn hidden_names_have_no_visible_name_and_raw_ones_are_themselves() {
    let hide = map(Profile::Safe, None, Legacy::Hide, OnViolation::Reject, &[]);
    let raw = map(Profile::Safe, None, Legacy::Raw, OnViolation::Reject, &[]);
    for name in [&b"\xE9"[..], b"a\n", b"-"] {
        let name = BackingName::parse(name).unwrap();
        assert_eq!(hide.visible_alone(&name), None);
        assert_eq!(
            raw.visible_alone(&name).unwrap().as_bytes(),
            name.as_bytes()
        );
    }
}

/// N9 `normalize`: what a new name stands for; the offence where it stands for none.
#[test]
fn new_names_are_normalized_to_what_they_stand_for() {
    let from = ["iso-8859-1"];
    let lenient = map(
        Profile::Safe,
        Some(Form::Nfc),
        Legacy::Escape,
        OnViolation::Normalize,
        &from,
    );
    for (name, expected) in [
        (&b"caf\xE9"[..], "café"),
        (b"cafe\xCC\x81", "café"),
        (b"-\n%", "%2D%0A%25"),
        (b"plain%", "plain%"),
    ] {
        let got = lenient.normalized(name).unwrap();
        assert_eq!(show(got.as_bytes()), show(expected.as_bytes()));
    }
    let strict = map(
        Profile::Posix,
        None,
        Legacy::Escape,
        OnViolation::Normalize,
        &[],
    );
    let offence = strict.normalized(b"a\xE9").unwrap_err();
    assert_eq!((offence.rule.label(), offence.offset), ("ill-formed", 1));
    let offence = strict.normalized(b"a b").unwrap_err();
    assert_eq!((offence.rule.label(), offence.offset), ("forbidden", 1));
}

/// C5: what is no component of a path is no name.
#[test]
fn what_is_no_component_is_no_name() {
    for name in [&b""[..], b".", b"..", b"/", b"a/b", b"\0", b"a\0"] {
        assert!(BackingName::parse(name).is_err());
        assert!(VisibleName::parse(name).is_err());
    }
    for name in [&b"..."[..], b".a", b"\\", b"\xFF", b" "] {
        assert_eq!(BackingName::parse(name).unwrap().as_bytes(), name);
    }
}

/// L1: quoted for people.
#[test]
fn names_are_quoted_for_people() {
    for (name, expected) in [
        (&b"caf\xE9.txt"[..], r#""caf\xE9.txt""#),
        ("café".as_bytes(), "\"café\""),
        (b"a\"b\\c", r#""a\"b\\c""#),
        (b"\n\t\r\x1B\x7F", r#""\n\t\r\x1B\x7F""#),
        ("\u{9B}\u{202E}x".as_bytes(), r#""\u{9B}\u{202E}x""#),
        (b"\xC0\xAF", r#""\xC0\xAF""#),
    ] {
        assert_eq!(Quoted(name).to_string(), expected);
    }
}

/// L1: in JSON as text where it is UTF-8, else as base64, in ASCII that moves no cursor.
#[test]
fn names_in_json_lose_nothing() {
    proptest::proptest!(|(name in names())| {
        let value = serde_json::json!(Name::from(name.as_slice()));
        let line = json_line(&value);
        proptest::prop_assert!(!line.contains(moves_the_cursor), "{}", line);
        let back: serde_json::Value = serde_json::from_str(&line).unwrap();
        proptest::prop_assert_eq!(&back, &value);
        match std::str::from_utf8(&name) {
            Ok(text) => proptest::prop_assert_eq!(back["text"].as_str(), Some(text)),
            Err(_) => {
                use base64::Engine;
                let bytes = back["bytes"].as_str().unwrap();
                let bytes = base64::engine::general_purpose::STANDARD.decode(bytes).unwrap();
                proptest::prop_assert_eq!(bytes, name);
            }
        }
    });
}

/// L1: quoting is unambiguous and keeps the cursor where it is.
#[test]
fn quoted_names_are_read_back() {
    proptest::proptest!(|(name in names())| {
        let quoted = Quoted(&name).to_string();
        proptest::prop_assert!(!quoted.contains(moves_the_cursor), "{}", quoted);
        proptest::prop_assert_eq!(unquote(&quoted), name);
    });
}

fn moves_the_cursor(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    proptest::prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        any::<String>().prop_map(String::into_bytes),
        crate::model::operations::name(255),
    ]
}

fn unquote(quoted: &str) -> Vec<u8> {
    let mut rest = quoted.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
    let mut name = Vec::new();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            assert_ne!(c, '"');
            name.extend_from_slice(c.to_string().as_bytes());
            continue;
        }
        let (kind, after) = rest.split_at(1);
        rest = after;
        match kind {
            "n" => name.push(b'\n'),
            "t" => name.push(b'\t'),
            "r" => name.push(b'\r'),
            "\"" | "\\" => name.extend_from_slice(kind.as_bytes()),
            "x" => {
                name.push(u8::from_str_radix(&rest[..2], 16).unwrap());
                rest = &rest[2..];
            }
            "u" => {
                let (digits, after) = rest.strip_prefix('{').unwrap().split_once('}').unwrap();
                let code = u32::from_str_radix(digits, 16).unwrap();
                name.extend_from_slice(char::from_u32(code).unwrap().to_string().as_bytes());
                rest = after;
            }
            other => panic!("\\{other} in {quoted}"),
        }
    }
    name
}
