//! A name or path in a document (law L1).

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::names::Quoted;

/// A name or path: `{"text": "..."}` where it is well-formed UTF-8, else `{"bytes": "<base64>"}` (RFC 4648 section 4,
/// padded). A reader takes text as base64 as well. Displayed [`Quoted`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Vec<u8>);

impl Name {
    /// Returns a path as a name.
    pub fn of_path(path: &Path) -> Self {
        path.as_os_str().as_bytes().into()
    }

    /// Returns the bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the name as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Returns the bytes of the name.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl<T: Into<Vec<u8>>> From<T> for Name {
    fn from(bytes: T) -> Self {
        Self(bytes.into())
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quoted(&self.0).fmt(f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match core::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_newtype_variant("Name", 0, "text", text),
            Err(_) => {
                let bytes = STANDARD.encode(&self.0);
                serializer.serialize_newtype_variant("Name", 1, "bytes", &bytes)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Form {
            Text(String),
            Bytes(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(text.into()),
            Form::Bytes(base64) => STANDARD
                .decode(base64)
                .map(Self::from)
                .map_err(|error| de::Error::custom(format_args!("no base64: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Name;
    use crate::records::json_line;

    #[test]
    fn l1_names_are_text_or_base64_and_are_read_back() {
        let rows: [(&[u8], Value); 7] = [
            (b"", json!({"text": ""})),
            (b"a.txt", json!({"text": "a.txt"})),
            (
                "é\u{202E}\n\"\\\u{1}".as_bytes(),
                json!({"text": "é\u{202E}\n\"\\\u{1}"}),
            ),
            (
                "日本\u{10FFFF}".as_bytes(),
                json!({"text": "日本\u{10FFFF}"}),
            ),
            (b"caf\xE9", json!({"bytes": "Y2Fm6Q=="})),
            (b"\xC0\xAF", json!({"bytes": "wK8="})),
            (b"{\"bytes\":\"\"}", json!({"text": "{\"bytes\":\"\"}"})),
        ];
        for (bytes, expected) in rows {
            let name = Name::from(bytes);
            assert_eq!(json!(name), expected);
            assert_eq!(
                serde_json::from_str::<Name>(&json_line(&name)).unwrap(),
                name
            );
            assert_eq!(serde_json::from_value::<Name>(expected).unwrap(), name);
        }
        let text_as_base64 = serde_json::from_str::<Name>(r#"{"bytes": "YQ=="}"#);
        assert_eq!(text_as_base64.unwrap().as_bytes(), b"a");
    }

    #[test]
    fn no_other_value_is_a_name() {
        for no_name in [
            r#""text""#,
            r#"["text", "a"]"#,
            r"{}",
            r#"{"text": 1}"#,
            r#"{"text": null}"#,
            r#"{"bytes": "?"}"#,
            r#"{"text": "a", "bytes": ""}"#,
            r#"{"text": "a", "text": "a"}"#,
            r#"{"name": "a"}"#,
        ] {
            assert!(serde_json::from_str::<Name>(no_name).is_err(), "{no_name}");
        }
    }
}
