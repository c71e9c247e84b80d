//! Exemptions: users and places whose names need not conform (`--exempt-uid`, `--exempt`).

use std::collections::BTreeSet;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::names::{PatternError, Patterns};

/// Why an offence is let through, though others are refused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Exempt {
    /// Exempts by the caller's uid.
    Uid,
    /// Exempts by the path of the name.
    Path,
}

/// Users and patterns that are exempt.
#[derive(Debug, Clone, Default)]
pub struct Exemptions {
    uids: BTreeSet<u32>,
    /// Visible names, and paths from the root of the mount.
    patterns: Patterns,
}

impl Exemptions {
    /// Exempts these users and what matches one of these patterns.
    ///
    /// A pattern with a `/` matches paths from the root of the mount, with or without a `/` in front; one without
    /// matches names. `?` stands for one byte and `*` for any number of them, except `/`. `**` as a component stands
    /// for any number of components.
    ///
    /// # Errors
    /// A pattern that is none, or can match nothing.
    pub fn new(
        uids: impl IntoIterator<Item = u32>,
        patterns: &[String],
    ) -> Result<Self, PatternError> {
        Ok(Self {
            uids: uids.into_iter().collect(),
            patterns: Patterns::new(patterns)?,
        })
    }

    /// The users that are exempt, in order.
    pub fn uids(&self) -> impl Iterator<Item = u32> {
        self.uids.iter().copied()
    }

    /// The patterns as they were given.
    pub fn patterns(&self) -> &[String] {
        self.patterns.given()
    }

    /// Is nobody and nothing exempt?
    pub fn is_empty(&self) -> bool {
        self.uids.is_empty() && self.patterns.is_empty()
    }

    /// Is the name `name` exempt, at the visible path that `path` makes, where `uid` asks for it?
    pub fn of(&self, uid: u32, name: &[u8], path: impl FnOnce() -> Vec<u8>) -> Option<Exempt> {
        if self.uids.contains(&uid) {
            return Some(Exempt::Uid);
        }
        self.patterns.has(name, path).then_some(Exempt::Path)
    }

    /// May somebody have made the name as it is?
    pub fn may_have_passed(&self, name: &[u8], path: impl FnOnce() -> Vec<u8>) -> bool {
        !self.uids.is_empty() || self.patterns.has(name, path)
    }
}

#[cfg(test)]
mod tests {
    use super::{Exempt, Exemptions};

    fn exempt(pattern: &str, path: &[u8]) -> bool {
        let exemptions = Exemptions::new([], &[pattern.to_owned()]).unwrap();
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap();
        let exempt = exemptions.of(0, name, || path.to_vec());
        assert_ne!(exempt, Some(Exempt::Uid));
        exempt.is_some()
    }

    #[test]
    fn patterns_match_visible_paths_as_the_rows_say() {
        let rows: [(&str, &[u8], bool); 25] = [
            // without a slash: names, wherever
            ("*.tmp", b"/caf\xE9.tmp", true),
            ("*.tmp", b"/a/b/\xFF.tmp", true),
            ("*.tmp", b"/x.tmp/caf\xE9", false),
            ("?", b"/\xE9", true),
            // one byte, not one character
            ("?", "/é".as_bytes(), false),
            ("é*", "/é\n".as_bytes(), true),
            ("{a,é}*", "/é\n".as_bytes(), true),
            ("[ab]\n", b"/b\n", true),
            ("*", b"/a/b/\n", true),
            // with one: paths, from the root
            ("/backups/**", b"/backups/\xE9", true),
            ("/backups/**", b"/backups/a/b\n/\xE9", true),
            ("/backups/**", b"/backups", false),
            ("/backups/**", b"/x/backups/\xE9", false),
            ("/backups/**", b"/backups2/\xE9", false),
            ("backups/**", b"/backups/\xE9", true),
            ("/backups/*", b"/backups/\xE9", true),
            ("/backups/*", b"/backups/a/\xE9", false),
            ("**/test/*", b"/a/b/test/\xE9", true),
            ("**/test/*", b"/test/\xE9", true),
            ("/a/**/z*", b"/a/z\xE9", true),
            ("/a/**/z*", b"/a/b/c/z\xE9", true),
            ("/*", b"/\xE9", true),
            ("/*", b"/a/\xE9", false),
            ("/**", b"/a/\xE9", true),
            ("/a\\*", b"/a\xE9", false),
        ];
        for (pattern, path, expected) in rows {
            let what = path.escape_ascii();
            assert_eq!(exempt(pattern, path), expected, "{pattern} and {what}");
        }
    }

    #[test]
    fn users_are_exempt_by_number() {
        let exemptions = Exemptions::new([0, 1000], &[]).unwrap();
        let path = || -> Vec<u8> { panic!("no path is needed") };
        assert_eq!(exemptions.of(1000, b"\xE9", path), Some(Exempt::Uid));
        assert_eq!(exemptions.of(1001, b"\xE9", path), None);
        assert!(exemptions.may_have_passed(b"\xE9", path));
        assert!(!Exemptions::default().may_have_passed(b"\xE9", path));
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        let rows = [
            ("", "it is empty"),
            (
                "/a/",
                "names do not end in /; /a/** is what lies in a directory",
            ),
            ("[a", "unclosed character class; missing ']'"),
            (
                "x[é]",
                "brackets take ASCII characters only; {ä,ö} takes any",
            ),
        ];
        for (pattern, reason) in rows {
            let error = Exemptions::new([], &[pattern.to_owned()]).unwrap_err();
            assert_eq!(
                (error.pattern.as_str(), error.reason.as_str()),
                (pattern, reason)
            );
        }
    }
}
