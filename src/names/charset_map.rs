//! The charset map: the charsets of ill-formed names, by the directory that they lie in (`--charset-map`).
//!
//! A pattern stands for directories. What it says holds for the names in them and in all directories below, down to a directory
//! that another pattern stands for. So the charset of a name is a function of the path of its directory (law N4).

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Quoted;
use super::patterns::{PatternError, Patterns};
use crate::codec::{Charset, UnknownCharset};

/// The source of the text of ill-formed names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CharsetSource {
    /// They are left on purpose.
    Leave,
    /// The first of these charsets that takes a name and gives it back byte for byte. What none takes is left, and reported.
    Charsets(Vec<Charset>),
    /// The likeliest text of each name, with the names of its directory and of the whole tree as evidence.
    Auto,
}

impl CharsetSource {
    /// Returns the source that labels stand for: charsets, or one of the words `auto` and `leave`.
    ///
    /// # Errors
    /// A label that is not on offer, or a word among others.
    pub fn of(labels: &[&str]) -> Result<Self, String> {
        match labels {
            ["auto"] => Ok(Self::Auto),
            ["leave"] => Ok(Self::Leave),
            labels if labels.contains(&"auto") || labels.contains(&"leave") => {
                Err("auto and leave stand alone".to_owned())
            }
            labels => {
                let charsets: Result<_, _> = labels.iter().map(|label| charset(label)).collect();
                charsets.map(Self::Charsets)
            }
        }
    }
}

/// Returns the charset of a label.
///
/// # Errors
/// The label is not on offer; and what to write instead.
pub fn charset(label: &str) -> Result<Charset, String> {
    let offer = "it takes IANA's names of stateless charsets, such as iso-8859-1, windows-1252, shift_jis, koi8-r";
    Charset::from_label(label).map_err(|unknown| not_on_offer(&unknown, offer))
}

/// Returns why a charset is not known, and what is alike or else `offer`.
pub fn not_on_offer(unknown: &UnknownCharset, offer: &str) -> String {
    let label = Quoted::of(&unknown.label);
    let fault = match unknown.reason {
        Some(reason) => format!("charset {label} is not supported: {reason}"),
        None => format!("unknown charset {label}"),
    };
    match unknown.near.split_last() {
        _ if unknown.label == "auto" => "charsets are guessed by migrate alone; 'utf8fs scan --propose-map charsets.toml DIR' writes a map of them, by directory, for migrate --charset-map".to_owned(),
        None => format!("{fault}; {offer}"),
        Some((only, [])) => format!("{fault}; did you mean {only}?"),
        Some((last, others)) => format!("{fault}; did you mean {} or {last}?", others.join(", ")),
    }
}

/// A pattern of directories: a path from the root, or the name of a directory anywhere.
///
/// Each component is a glob of bytes, and `**` stands for any number of components. The root is `/`. Names that are
/// not UTF-8 are written as a mount shows them: `%` and two hex digits for each stray byte, and `%25` for each `%`.
#[derive(Debug, Clone)]
pub struct DirectoryPattern {
    text: String,
    components: Vec<Component>,
}

#[derive(Debug, Clone)]
enum Component {
    AnyDirectories,
    Literal(Box<str>),
    Glob(Box<Patterns>),
}

impl DirectoryPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A component that is no glob.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        let component = |text: &str| {
            Ok(match text {
                "**" => Component::AnyDirectories,
                text if !text.contains(GLOB) => Component::Literal(text.into()),
                text => Component::Glob(Box::new(Patterns::new(&[text.to_owned()])?)),
            })
        };
        if pattern.is_empty() {
            return Err(PatternError {
                pattern: String::new(),
                reason: "it is empty; / stands for the root".to_owned(),
            });
        }
        let anywhere = (!pattern.contains('/')).then_some("**");
        let components = pattern.split('/').filter(|text| !text.is_empty());
        let components = anywhere.into_iter().chain(components).map(component);
        Ok(Self {
            text: pattern.to_owned(),
            components: components.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the pattern of the one directory that these names lead to from the root.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> String {
        let mut pattern = String::new();
        for name in names {
            pattern.push('/');
            // Whatever is not UTF-8 is escaped.
            for c in written(name).chars() {
                pattern.extend(GLOB.contains(&c).then_some('\\'));
                pattern.push(c);
            }
        }
        if pattern.is_empty() {
            "/".to_owned()
        } else {
            pattern
        }
    }
}

/// The characters that mean something in a glob.
const GLOB: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// Returns a name as patterns are compared with it.
fn written(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        written += &chunk.valid().replace('%', "%25");
        written.extend(chunk.invalid().iter().map(|octet| format!("%{octet:02X}")));
    }
    Cow::Owned(written)
}

/// The charsets of the directories of a tree.
#[derive(Debug, Default)]
pub struct CharsetMap {
    /// Of several rules for one directory the first one holds.
    pub rules: Vec<CharsetRule>,
}

/// The charsets of the directories that a pattern stands for.
#[derive(Debug)]
pub struct CharsetRule {
    pattern: DirectoryPattern,
    /// The source of the text of ill-formed names in them.
    pub source: CharsetSource,
    /// Was the zone of such a directory asked for?
    is_matched: AtomicBool,
}

impl CharsetRule {
    /// A rule that no directory has matched yet.
    pub fn new(pattern: DirectoryPattern, source: CharsetSource) -> Self {
        Self {
            pattern,
            source,
            is_matched: AtomicBool::new(false),
        }
    }
}

impl CharsetMap {
    /// Returns the patterns that no directory matches whose source was asked for, and none above such a directory.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        let is_unmatched = |rule: &&CharsetRule| !rule.is_matched.load(Ordering::Relaxed);
        let unmatched = self.rules.iter().filter(is_unmatched);
        unmatched.map(|rule| &*rule.pattern.text)
    }

    /// Returns the source of the text of names in the directory that these names lead to from the root; `None` where the map says
    /// nothing of it.
    pub fn source<'n>(&self, names: impl IntoIterator<Item = &'n [u8]>) -> Option<&CharsetSource> {
        let names: Vec<Cow<'_, str>> = names.into_iter().map(written).collect();
        let mut source = None;
        for depth in 0..=names.len() {
            let directory = names.get(..depth).unwrap_or_default();
            let stands_for = |rule: &&CharsetRule| matches(&rule.pattern.components, directory);
            let mut own = None;
            for rule in self.rules.iter().filter(stands_for) {
                rule.is_matched.store(true, Ordering::Relaxed);
                own.get_or_insert(&rule.source);
            }
            source = own.or(source);
        }
        source
    }
}

/// Do these components stand for the directory that the names lead to?
fn matches(components: &[Component], names: &[Cow<'_, str>]) -> bool {
    match (components, names) {
        ([], names) => names.is_empty(),
        // `**` stands for no directory as well.
        ([Component::AnyDirectories, others @ ..], _) if matches(others, names) => true,
        ([Component::AnyDirectories, ..], [_, below @ ..]) => matches(components, below),
        ([Component::Literal(literal), others @ ..], [name, below @ ..]) => {
            **literal == **name && matches(others, below)
        }
        ([Component::Glob(glob), others @ ..], [name, below @ ..]) => {
            glob.has(name.as_bytes(), Vec::new) && matches(others, below)
        }
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{CharsetMap, CharsetRule, CharsetSource, DirectoryPattern};
    use crate::codec::Charset;

    fn names(path: &[u8]) -> Vec<&[u8]> {
        let names = path.split(|byte| *byte == b'/');
        names.filter(|name| !name.is_empty()).collect()
    }

    /// A map whose rules are numbered by charsets.
    fn map(patterns: &[&str]) -> CharsetMap {
        let mut map = CharsetMap::default();
        for (pattern, charset) in patterns.iter().zip(Charset::all()) {
            let pattern = DirectoryPattern::parse(pattern).unwrap();
            map.rules.push(CharsetRule::new(
                pattern,
                CharsetSource::Charsets(vec![charset]),
            ));
        }
        map
    }

    /// The number of the rule that holds for a directory.
    fn rule(map: &CharsetMap, names: Vec<&[u8]>) -> Option<usize> {
        let source = map.source(names)?;
        let charsets = Charset::all().map(|charset| CharsetSource::Charsets(vec![charset]));
        charsets
            .enumerate()
            .find(|(_, one)| one == source)
            .map(|(rule, _)| rule)
    }

    #[test]
    fn the_nearest_directory_with_a_rule_decides() {
        // patterns, path of a directory, the rule that holds
        let rows: [(&[&str], &[u8], Option<usize>); 19] = [
            (&["/"], b"a/b", Some(0)),
            (&["/a"], b"", None),
            (&["/a"], b"a", Some(0)),
            (&["/a"], b"a/b/c", Some(0)),
            (&["/a"], b"b/a", None),
            (&["/", "/a"], b"a", Some(1)),
            (&["/a", "/"], b"a", Some(0)),
            (&["/a/b", "/a/*"], b"a/b", Some(0)),
            (&["/a/*", "/a/b"], b"a/b", Some(0)),
            (&["/a/*", "/a/*/c"], b"a/b/c", Some(1)),
            (&["a"], b"x/y/a/z", Some(0)),
            (&["/a/**/d"], b"a/b/c/d", Some(0)),
            (&["/a/**/d"], b"a/d", Some(0)),
            (&["/a/**/d"], b"a/b", None),
            (&["/a/**"], b"a/b", Some(0)),
            (&["/caf%E9"], b"caf\xE9", Some(0)),
            (&["/100%"], b"100%", Some(0)),
            (&["/%25%E9"], b"%\xE9", Some(0)),
            (&["/caf?%E9"], b"caf\xE9", None),
        ];
        for (patterns, path, expected) in rows {
            let map = map(patterns);
            assert_eq!(rule(&map, names(path)), expected, "{patterns:?} {path:?}");
        }
    }

    #[test]
    fn the_pattern_of_a_directory_stands_for_it_alone() {
        for path in [
            b"".as_slice(),
            b"a/b",
            b"caf\xE9/%",
            b"[a]*?{}\\/x",
            b"%\xFF",
        ] {
            let map = map(&[&DirectoryPattern::of(names(path))]);
            assert_eq!(rule(&map, names(path)), Some(0), "{path:?}");
            let mut other = names(path);
            if other.pop().is_some() {
                assert_eq!(rule(&map, other.clone()), None, "{path:?}");
                other.push(b"a*");
                assert_eq!(rule(&map, other), None, "{path:?}");
            }
        }
    }

    #[test]
    fn patterns_that_no_directory_matched_are_known() {
        let map = map(&["/a", "/a/x", "typo", "/a/*"]);
        assert_eq!(rule(&map, names(b"")), None);
        assert_eq!(map.unmatched().count(), 4);
        assert_eq!(rule(&map, names(b"a/b")), Some(3));
        assert!(map.unmatched().eq(["/a/x", "typo"]));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        for pattern in ["", "/a/[", "/a/{b", "/[é]"] {
            assert!(DirectoryPattern::parse(pattern).is_err(), "{pattern:?}");
        }
    }
}
