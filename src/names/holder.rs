//! Who has one visible name in a directory, told without its [`Index`](super::Index): by whether single names are there.

use super::{BackingName, Legacy, NameMap, VisibleName};
use crate::names::escape::unescape;

/// Who has a visible name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The conforming entry of that name.
    Itself,
    /// This one, which does not conform.
    Legacy(BackingName),
    /// Nobody.
    Nobody,
    /// Only the index tells: too many names could be mapped to it, or names have to give way to one another.
    Unclear,
}

impl NameMap {
    /// Says who has the name `visible` in a directory, as an [`Index`](super::Index) of all its names would. `is_there` looks for one
    /// name.
    ///
    /// Clear are names without the marks of a cut, where no form is wanted: the text of a name in one of the charsets, or else
    /// an escape with one sign. Not where two names have that text: one may come back while the other is looked for.
    ///
    /// # Errors
    /// The first of `is_there`.
    pub fn holder<E>(
        &self,
        visible: &VisibleName,
        mut is_there: impl FnMut(&BackingName) -> Result<bool, E>,
    ) -> Result<Holder, E> {
        let bytes = visible.as_bytes();
        if self.policy.form.is_some() || bytes.contains(&b'~') {
            return Ok(Holder::Unclear);
        }
        let mut names: Vec<BackingName> = match (self.legacy, bytes.contains(&b'%')) {
            // An escape has more signs only where another entry has the one with fewer.
            (Legacy::Escape, true) if unescape(bytes).is_some_and(|(_, signs)| signs > 1) => {
                return Ok(Holder::Unclear);
            }
            (Legacy::Escape, true) => self.escaped_spelling(bytes).into_iter().collect(),
            (Legacy::Decode, false) => self.legacy_spellings(visible).collect(),
            (Legacy::Decode, true) => return Ok(Holder::Unclear),
            (Legacy::Escape, false) | (Legacy::Raw | Legacy::Hide, _) => Vec::new(),
        };
        names.sort_unstable();
        names.dedup();
        let Some(name) = names.pop() else {
            return Ok(Holder::Nobody);
        };
        if !names.is_empty() {
            return Ok(Holder::Unclear);
        }
        if !is_there(&name)? {
            return Ok(Holder::Nobody);
        }
        let is_taken = self.policy.conforms(bytes) && is_there(&visible.as_backing())?;
        Ok(match is_taken {
            true => Holder::Itself,
            false => Holder::Legacy(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::super::Index;
    use super::super::map::tests::map;
    use super::*;
    use crate::codec::Form;
    use crate::policy::{Policy, Profile};

    fn maps() -> Vec<NameMap> {
        let wanting = Policy {
            form: Some(Form::Nfc),
            ..Policy::default()
        };
        let short = Policy {
            max_bytes: 5,
            ..Policy::default()
        };
        let charsets: [&[&str]; 4] = [
            &[],
            &["iso-8859-1"],
            &["shift_jis", "iso-8859-2", "iso-8859-1"],
            &["ibm850", "windows-1252"],
        ];
        let policies = [
            Policy::default(),
            Profile::Safe.policy(),
            Profile::Portable.policy(),
            Profile::Posix.policy(),
            wanting,
            short,
        ];
        let all = policies.iter().flat_map(|policy| {
            let maps = charsets.iter().map(|from| map(policy.clone(), from));
            maps.collect::<Vec<_>>()
        });
        all.collect()
    }

    /// Names that want each other's, and whatever they could be visible as.
    fn names() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let parts: [&[u8]; 14] = [
            b"a",
            b"%",
            b"%E9",
            b"%%E9",
            b"~",
            b":",
            b"\xE9",
            b"\x82",
            b"\xC3\xA9",
            b"\xE8",
            b"\xC4\x8D",
            b"\xEF\xBD\xB1",
            b"\xB1",
            b"e\xCC\x81",
        ];
        let name = prop::collection::vec(prop::sample::select(parts.to_vec()), 1..4);
        prop::collection::vec(name.prop_map(|parts| parts.concat()), 1..10)
    }

    proptest! {
        /// Law N4: it is the same function of the directory's content, however that is looked at.
        #[test]
        fn n4_the_holder_of_a_name_is_the_one_in_the_index(names in names(), asked in names()) {
            for map in maps() {
                let names: HashSet<BackingName> =
                    names.iter().map(|name| BackingName::parse(name).unwrap()).collect();
                let legacy = names.iter().filter(|name| !map.policy.conforms(name.as_bytes()));
                let legacy: Vec<BackingName> = legacy.cloned().collect();
                let is_taken = |wanted: &[u8]| {
                    map.policy.conforms(wanted) && names.contains(wanted)
                };
                let index = Index::build(&map, legacy.clone(), is_taken);
                let alone = legacy.iter().filter_map(|name| map.visible_alone(name));
                let asked = asked.iter().map(|name| VisibleName::parse(name).unwrap());
                let listed = index.visible_names().cloned();
                for visible in alone.chain(asked).chain(listed) {
                    let look = |name: &BackingName| Ok::<_, Infallible>(names.contains(name));
                    let Ok(holder) = map.holder(&visible, look);
                    match &holder {
                        Holder::Unclear => {}
                        Holder::Legacy(name) => {
                            prop_assert_eq!(index.backing(visible.as_bytes()), Some(name));
                        }
                        Holder::Itself => {
                            prop_assert!(is_taken(visible.as_bytes()));
                            prop_assert_eq!(index.backing(visible.as_bytes()), None);
                        }
                        Holder::Nobody => {
                            prop_assert_eq!(index.backing(visible.as_bytes()), None, "{:?}", visible);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn most_names_are_clear() {
        let rows: [(&[&str], &[u8], bool); 8] = [
            (&["iso-8859-1"], "café".as_bytes(), true),
            // The second charset's bytes are other text in the first.
            (&["windows-1252", "ibm850"], "café".as_bytes(), true),
            // 81 E9 is nothing in the first.
            (&["windows-1252", "ibm850"], "üÚ".as_bytes(), false),
            (&["iso-8859-1"], b"caf%E9", false),
            (&[], b"caf%E9", true),
            (&[], b"caf%%E9", false),
            (&[], "café".as_bytes(), true),
            (&[], "café~0123456789ab".as_bytes(), false),
        ];
        for (from, visible, is_clear) in rows {
            let visible = VisibleName::parse(visible).unwrap();
            let map = map(Policy::default(), from);
            let Ok(holder) = map.holder(&visible, |_| Ok::<_, Infallible>(true));
            assert_eq!(holder != Holder::Unclear, is_clear, "{visible:?}");
        }
    }
}
