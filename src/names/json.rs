//! Names in JSON (law L1): lossless, and harmless to a terminal.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::quoted::is_dangerous;

/// A name or path as JSON: `{"text": "..."}` where it is well-formed UTF-8, else `{"bytes": "<base64>"}`
/// (RFC 4648 section 4, padded).
#[must_use]
pub fn json_name(bytes: &[u8]) -> Value {
    core::str::from_utf8(bytes).map_or_else(
        |_| json!({ "bytes": STANDARD.encode(bytes) }),
        |text| json!({ "text": text }),
    )
}

/// Appends what [`json_line`] makes of [`json_name`], without the value in between: for very many names.
pub fn push_json_name(line: &mut String, bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else {
        line.push_str(r#"{"bytes":""#);
        STANDARD.encode_string(bytes, line);
        line.push_str(r#""}"#);
        return;
    };
    let is_plain = |c: char| !matches!(c, '"' | '\\') && !is_dangerous(c);
    if text.chars().all(is_plain) {
        line.push_str(r#"{"text":""#);
        line.push_str(text);
        line.push_str(r#""}"#);
    } else {
        line.push_str(&json_line(&json_name(bytes)));
    }
}

/// The name or path that such a value stands for; `None` where it is no such value. Text as base64 is taken as well.
#[must_use]
pub fn name_of_json(value: &Value) -> Option<Vec<u8>> {
    let (key, value) = value
        .as_object()
        .filter(|all| all.len() == 1)?
        .iter()
        .next()?;
    let value = value.as_str()?;
    match key.as_str() {
        "text" => Some(value.as_bytes().to_vec()),
        "bytes" => STANDARD.decode(value).ok(),
        _ => None,
    }
}

/// `value` as one line of compact JSON, without the newline at its end; keys in the order of their making.
///
/// Characters that could move a cursor, end a line, reorder or hide text (those that [`Quoted`](super::Quoted)
/// escapes) are written as `\uXXXX`, beyond U+FFFF as two of them; printable characters stay readable. A reader of
/// JSON gets the same value.
#[must_use]
pub fn json_line(value: &Value) -> String {
    let raw = value.to_string();
    if !raw.contains(is_dangerous) {
        return raw;
    }
    // Outside of strings JSON has ASCII only, and inside them each backslash starts a whole escape, so that a
    // dangerous character is always one of a string, standing for itself.
    let mut line = String::with_capacity(raw.len() + 64);
    for c in raw.chars() {
        if is_dangerous(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(line, "\\u{unit:04x}").expect("invariant: writing to a String never fails");
            }
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_dangerous, json_line, json_name, name_of_json, push_json_name};

    #[test]
    fn names_are_text_or_base64() {
        let rows: [(&[u8], Value); 5] = [
            (b"", json!({"text": ""})),
            (b"a.txt", json!({"text": "a.txt"})),
            ("é\u{202E}\n".as_bytes(), json!({"text": "é\u{202E}\n"})),
            (b"caf\xE9", json!({"bytes": "Y2Fm6Q=="})),
            (b"\xC0\xAF", json!({"bytes": "wK8="})),
        ];
        for (bytes, expected) in rows {
            assert_eq!(json_name(bytes), expected);
        }
    }

    #[test]
    fn names_are_pushed_and_read_back_as_they_are_told() {
        let names: [&[u8]; 9] = [
            b"",
            b"plain.txt",
            b"caf\xE9",
            "é\"\\".as_bytes(),
            "é\u{202E}\n\u{1}".as_bytes(),
            "日本\u{10FFFF}".as_bytes(),
            b"\xC0\xAF",
            b"{\"bytes\":\"\"}",
            b"\x7F",
        ];
        for name in names {
            let mut line = String::from("x");
            push_json_name(&mut line, name);
            let pushed = line.strip_prefix('x').unwrap();
            assert_eq!(pushed, json_line(&json_name(name)));
            let value = serde_json::from_str(pushed).unwrap();
            assert_eq!(name_of_json(&value).as_deref(), Some(name));
        }
        for no_name in [
            json!("text"),
            json!({}),
            json!({"text": 1}),
            json!({"bytes": "?"}),
            json!({"text": "a", "bytes": ""}),
            json!({"name": "a"}),
        ] {
            assert_eq!(name_of_json(&no_name), None, "{no_name}");
        }
    }

    #[test]
    fn lines_are_escaped_as_the_rows_say() {
        let rows = [
            (json!("plain é 日本 😀 \"\\"), r#""plain é 日本 😀 \"\\""#),
            (json!("\n\t\u{1B}[2J"), r#""\n\t\u001b[2J""#),
            (json!("\u{7F}\u{85}\u{9B}"), r#""\u007f\u0085\u009b""#),
            (json!("\u{202E}\u{2066}"), r#""\u202e\u2066""#),
            (json!("\u{200B}\u{FEFF}"), r#""\u200b\ufeff""#),
            (json!("\u{2028}\u{2029}"), r#""\u2028\u2029""#),
            (json!("\u{FFFF}\u{E000}"), r#""\uffff\ue000""#),
            (
                json!("\u{E0041}\u{10FFFF}"),
                r#""\udb40\udc41\udbff\udfff""#,
            ),
            // a backslash before it does not swallow the escape
            (json!("\\\u{7F}"), r#""\\\u007f""#),
            (json!({"k\u{202E}": [1, null]}), r#"{"k\u202e":[1,null]}"#),
        ];
        for (value, expected) in rows {
            assert_eq!(json_line(&value), expected);
        }
    }

    #[test]
    fn keys_stay_in_order() {
        assert_eq!(
            json_line(&json!({"z": 1, "a": 2, "m": 3})),
            r#"{"z":1,"a":2,"m":3}"#
        );
    }

    #[test]
    fn every_character_comes_back_and_none_is_dangerous() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for row in all.chunks(512) {
            let value = Value::String(row.iter().collect());
            let line = json_line(&value);
            assert!(!line.chars().any(is_dangerous), "{line:?}");
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        }
    }
}
