//! The judgement of names by the rules of a mount, and those that offend.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::directories::Directory;
use super::maker::Maker;
use crate::backing::FileHandle;
use crate::daemon::mount_policy::ResolvedPolicy;
use crate::fs::audit::Operation;
use crate::names::rules::{Mode, Terms};
use crate::names::{BackingName, CharsetMap, CharsetSource};
use crate::policy::{Alike, Offence, Rule};
use crate::tree::plan::PlanOptions;

/// The policy in force.
#[derive(Debug)]
pub(super) struct Judge {
    resolved: ResolvedPolicy,
    charset_map: Arc<CharsetMap>,
}

/// The directory of a name, and the name.
pub(super) type Key = (FileHandle, BackingName);

/// New names of a directory, which may be alike to a sibling.
pub(super) type Newcomers = HashMap<BackingName, Offender>;

/// A name that offends.
#[derive(Debug, Clone)]
pub(super) struct Offender {
    pub(super) directory: Arc<Directory>,
    pub(super) name: BackingName,
    pub(super) maker: Arc<Maker>,
    pub(super) operation: Operation,
    pub(super) time: Timestamp,
    pub(super) offence: Offence,
    /// The terms that it offends against.
    pub(super) terms: Arc<Terms>,
    /// The section that holds; `None` if none does.
    pub(super) section: Option<usize>,
    /// Is it to be renamed? Else it is only reported.
    pub(super) is_to_be_renamed: bool,
}

impl Offender {
    pub(super) fn key(&self) -> Key {
        (self.directory.handle.clone(), self.name.clone())
    }

    /// Returns its path from the guarded directory.
    pub(super) fn path(&self) -> Vec<u8> {
        self.directory.path_of(self.name.as_bytes())
    }

    /// Returns how the name is to be compared with its siblings, if that decides whether it offends.
    pub(super) fn alike(&self) -> Option<Alike> {
        let Rule::NotUnique(alike) = self.offence.rule else {
            return None;
        };
        Some(alike)
    }
}

impl Judge {
    /// Takes a policy, and the charsets of names by directory.
    pub(super) fn new(resolved: ResolvedPolicy, charset_map: &Arc<CharsetMap>) -> Self {
        let charset_map = Arc::clone(charset_map);
        Self {
            resolved,
            charset_map,
        }
    }

    /// Conforms the name, whoever made it, wherever, and whatever siblings it has?
    pub(super) fn is_clean(&self, name: &[u8]) -> bool {
        self.unique().is_none() && self.conforms(name)
    }

    /// Conforms the name, whoever made it and wherever, if it is alike to no sibling?
    pub(super) fn conforms(&self, name: &[u8]) -> bool {
        let offends = !self.resolved.map.policy.conforms(name);
        self.resolved.rules.is_one_for_all(offends)
    }

    /// Returns how siblings are compared, if they are anywhere.
    pub(super) fn unique(&self) -> Option<Alike> {
        self.resolved.unique
    }

    /// Judges a name that was just made or found; `None` if it conforms or is exempt. One that may offend only by being alike to a
    /// sibling gets that offence, at no bytes.
    pub(super) fn judge(
        &self,
        directory: &Arc<Directory>,
        name: &BackingName,
        maker: &Arc<Maker>,
        operation: Operation,
    ) -> Option<Offender> {
        let octets = name.as_bytes();
        let path = || directory.path_of(octets);
        let rules = &self.resolved.rules;
        let is_member = |groups: &_| {
            let listed = self.resolved.members.get(&maker.uid);
            let listed = listed.filter(|_| maker.pid == 0);
            let mut known = std::iter::once(&maker.groups).chain(listed);
            known.any(|known| !known.is_disjoint(groups))
        };
        let section = rules.section(maker.uid, octets, path, is_member);
        let terms = rules.terms_of(section);
        let alike = terms.unique;
        let alike = alike.map(|alike| Offence::new(Rule::NotUnique(alike), 0, 0));
        let offence = terms.check(&self.resolved.map, octets).err().or(alike)?;
        if terms.mode == Mode::Off || rules.exempt.of(maker.uid, octets, path).is_some() {
            return None;
        }
        Some(Offender {
            directory: Arc::clone(directory),
            name: name.clone(),
            maker: Arc::clone(maker),
            operation,
            time: Timestamp::now(),
            offence,
            terms: Arc::clone(terms),
            section,
            // What offends here only has no name that it stands for, as on a mount.
            is_to_be_renamed: terms.mode == Mode::Normalize
                && !self.resolved.map.policy.conforms(octets),
        })
    }

    /// Judges an offender anew, in its directory as it is now; `None` if it conforms or is exempt by now.
    pub(super) fn again(&self, known: &Offender, directory: &Arc<Directory>) -> Option<Offender> {
        let judged = self.judge(directory, &known.name, &known.maker, known.operation)?;
        let time = known.time;
        Some(Offender { time, ..judged })
    }

    /// Returns the options by which names are put right where this section holds. Names that are not UTF-8 are read in the charsets
    /// that the map has for their directory, else in those of the policy, else in the likeliest one.
    pub(super) fn plan(&self, section: Option<usize>) -> PlanOptions {
        let from = match self.resolved.map.from.as_slice() {
            [] => CharsetSource::Auto,
            charsets => CharsetSource::Charsets(charsets.to_vec()),
        };
        let policy = self.resolved.rules.terms_of(section).map.policy.clone();
        let mut options = PlanOptions::new(policy, from);
        options.charset_map = Arc::clone(&self.charset_map);
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::PolicyFile;

    fn judge(policy: &str) -> Judge {
        let keys = PolicyFile::parse(policy).unwrap();
        Judge::new(ResolvedPolicy::without_file(keys).unwrap(), &Arc::default())
    }

    #[test]
    fn a_name_is_judged_by_section_maker_and_path() {
        let judge = judge(
            "mode = 'normalize'\nexempt = '/old/**'\nexempt_uid = 7\n\
             [[section]]\nname = 'win'\npath = '/win/**'\nforbid = 'windows'\nmode = 'report'\n\
             [[section]]\ngroups = 50\nmode = 'off'\n\
             [[section]]\npath = '/sub/**'\nforbid = 'windows'",
        );
        // The name, the user, the directory; whether it is renamed, the section.
        type Expected = Option<(bool, Option<usize>)>;
        let rows: [(&[u8], u32, &str, Expected); 9] = [
            (b"a\xE9", 1, "", Some((true, None))),
            (b"a", 1, "", None),
            (b"a\xE9", 7, "", None),
            (b"a\xE9", 1, "old", None),
            (b"a?", 1, "", None),
            (b"a?", 1, "win", Some((false, Some(0)))),
            (b"a\xE9", 5, "", None),
            (b"a?", 1, "sub", Some((false, Some(2)))),
            (b"a\xE9", 1, "sub", Some((true, Some(2)))),
        ];
        for (name, uid, directory, expected) in rows {
            let maker = Maker {
                uid,
                groups: [uid * 10].into(),
                ..Maker::default()
            };
            let place = Directory {
                handle: FileHandle::from_parts(1, b"1").unwrap(),
                path: BackingName::parse(directory.as_bytes())
                    .into_iter()
                    .collect(),
            };
            let parsed = BackingName::parse(name).unwrap();
            let operation = Operation::Create;
            let judged = judge.judge(&Arc::new(place), &parsed, &Arc::new(maker), operation);
            let judged = judged.map(|judged| (judged.is_to_be_renamed, judged.section));
            assert_eq!(
                judged,
                expected,
                "{} {uid} {directory}",
                name.escape_ascii()
            );
        }
    }
}
