//! A charset map (docs/migrating.md has its keys).

use serde::{Deserialize, Deserializer, de};

use super::policy_file::List;
use crate::names::{CharsetMap, CharsetRule, CharsetSource, DirectoryPattern};

/// The keys of a charset map.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CharsetMapFile {
    /// Charsets of directories.
    pub directory: Vec<CharsetMapSection>,
}

/// The charsets of some directories.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharsetMapSection {
    /// Patterns of directories.
    pub path: List<DirectoryPattern>,
    /// The source of the text of ill-formed names in them.
    pub charset: CharsetSource,
}

impl CharsetMapFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first fault.
    pub fn parse(text: &str) -> Result<CharsetMap, toml::de::Error> {
        let file: Self = toml::from_str(text)?;
        let mut map = CharsetMap::default();
        for section in file.directory {
            for pattern in section.path.0 {
                map.rules
                    .push(CharsetRule::new(pattern, section.charset.clone()));
            }
        }
        Ok(map)
    }
}

impl<'de> Deserialize<'de> for DirectoryPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pattern = String::deserialize(deserializer)?;
        Self::parse(&pattern).map_err(de::Error::custom)
    }
}

/// A charset or several, or one of the words `auto` and `leave`.
impl<'de> Deserialize<'de> for CharsetSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let labels = List::<String>::deserialize(deserializer)?.0;
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        match labels.as_slice() {
            [] => Err(de::Error::custom("there is no charset in the list")),
            labels => CharsetSource::of(labels).map_err(de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CharsetMapFile;
    use crate::codec::Charset;
    use crate::names::CharsetSource;

    #[test]
    fn each_kind_of_charset_is_read() {
        let text = "[[directory]]\npath = '/a'\ncharset = 'koi8-r'\n\
            [[directory]]\npath = ['/b', 'c']\ncharset = ['Shift_JIS', 'cp1252']\n\
            [[directory]]\npath = '/'\ncharset = 'auto'\n[[directory]]\npath = '/d'\ncharset = 'leave'\n";
        let map = CharsetMapFile::parse(text).unwrap();
        let charsets = |labels: &[&str]| {
            let charsets = labels
                .iter()
                .map(|label| Charset::from_label(label).unwrap());
            CharsetSource::Charsets(charsets.collect())
        };
        let both = charsets(&["shift_jis", "windows-1252"]);
        let expected = [
            charsets(&["koi8-r"]),
            both.clone(),
            both,
            CharsetSource::Auto,
            CharsetSource::Leave,
        ];
        assert!(map.rules.iter().map(|rule| &rule.source).eq(&expected));
        assert!(
            CharsetMapFile::parse("# nothing\n")
                .unwrap()
                .rules
                .is_empty()
        );
    }

    #[test]
    fn a_fault_is_reported_where_it_stands() {
        let entry = |rest: &str| format!("[[directory]]\npath = '/a'\n{rest}");
        let rows = [
            (
                entry("charset = 'koi9'"),
                "'koi9'",
                "unknown charset \"koi9\"; did you mean koi",
            ),
            (
                entry("charset = ['koi8-r', 'utf-8']"),
                "['koi8-r'",
                "is not supported",
            ),
            (
                entry("charset = ['auto', 'koi8-r']"),
                "['auto'",
                "auto and leave stand alone",
            ),
            (entry("charset = []"), "[]", "no charset in the list"),
            (entry("charset = 1"), "1", "expected a string"),
            (entry("charsets = 'koi8-r'"), "charsets", "unknown field"),
            (entry(""), "[[directory]]", "missing field `charset`"),
            (
                "[[directory]]\ncharset = 'koi8-r'\npath = '/a/['".to_owned(),
                "'/a/['",
                "\"[\" is not a pattern",
            ),
            ("dir = 1".to_owned(), "dir", "unknown field"),
            (
                "[directory]\npath = '/a'".to_owned(),
                "[directory]",
                "invalid type: map, expected a sequence",
            ),
            ("[[directory".to_owned(), "", ""),
        ];
        for (text, at, message) in rows {
            let fault = CharsetMapFile::parse(&text).unwrap_err();
            let start = fault.span().map_or(text.len(), |span| span.start);
            let rest = text.get(start..).unwrap();
            assert!(rest.starts_with(at), "{text:?}: {rest:?}");
            assert!(fault.message().contains(message), "{text:?}: {fault}");
        }
    }
}
