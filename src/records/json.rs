//! JSON that is harmless to a terminal (law L1).

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

use crate::names::quoted::is_dangerous;

/// Returns `document` as one line of compact JSON, without the newline at its end; fields in the order of their definition.
///
/// Characters that could move a cursor, end a line, reorder or hide text are written as `\uXXXX`, beyond U+FFFF as
/// two of them. They are those that [`Quoted`](crate::names::Quoted) escapes; printable characters stay readable. A
/// reader of JSON gets the same value.
///
/// # Panics
/// The type has a map whose keys are no text, which no record has.
pub fn json_line(document: &(impl Serialize + ?Sized)) -> String {
    let mut line = Vec::with_capacity(128);
    document
        .serialize(&mut Serializer::with_formatter(&mut line, Harmless))
        .expect("invariant: the keys of a record are text, and a Vec takes all bytes");
    String::from_utf8(line).expect("invariant: JSON is UTF-8")
}

/// Adds the fields of an object to another.
pub fn add_fields(object: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (object, more) {
        fields.extend(more);
    }
}

/// Compact JSON with dangerous characters escaped.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        for part in text.split_inclusive(is_dangerous) {
            let plain = part.trim_end_matches(is_dangerous);
            out.write_all(plain.as_bytes())?;
            for unit in part.get(plain.len()..).unwrap_or_default().encode_utf16() {
                write!(out, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::json_line;
    use crate::names::quoted::is_dangerous;

    #[test]
    fn l1_lines_are_escaped_as_the_rows_say() {
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
        let value = json!({"z": 1, "a": 2, "m": 3});
        assert_eq!(json_line(&value), r#"{"z":1,"a":2,"m":3}"#);
    }

    #[test]
    fn l1_every_character_comes_back_and_none_is_dangerous() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for row in all.chunks(512) {
            let value = Value::String(row.iter().collect());
            let line = json_line(&value);
            assert!(!line.chars().any(is_dangerous), "{line:?}");
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        }
    }
}
