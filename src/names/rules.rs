//! What holds for new names, by who asks and where: the sections of `--policy`, and the one set of terms for all without it.
//!
//! What names are shown as is no matter of these: that is one for the whole mount, so that nothing is shown as another for being
//! moved, or for who looks.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use super::Caller;
use super::exempt::{Exemptions, Patterns};
use crate::names::{NameMap, OnViolation};
use crate::os::credentials;
use crate::policy::{Alike, Offence};

/// What becomes of a new name that offends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is refused.
    Enforce,
    /// The conforming name that it stands for is made, or it is refused.
    Normalize,
    /// It is made as asked, and recorded.
    Report,
    /// It is made as asked, and nobody hears of it.
    Off,
}

impl From<OnViolation> for Mode {
    fn from(what: OnViolation) -> Self {
        match what {
            OnViolation::Reject => Self::Enforce,
            OnViolation::Normalize => Self::Normalize,
            OnViolation::Report => Self::Report,
        }
    }
}

/// What holds for some new names.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What becomes of those that offend.
    pub mode: Mode,
    /// What offends, which is all that offends on the whole mount and perhaps more; the errno of a refusal.
    pub map: NameMap,
    /// In what they must not differ alone from a sibling; `None`, or what [`super::Config::unique`] says.
    pub unique: Option<Alike>,
    /// Which section says so, by the name that it has or as the how many-th: `#2`; `None` for what holds where no section does.
    pub section: Option<Arc<str>>,
}

/// New names that have terms of their own.
#[derive(Debug, Clone)]
pub struct Section {
    /// Where; everywhere if there is no pattern.
    pub paths: Patterns,
    /// For whom; `None` for all.
    pub people: Option<People>,
    /// Its terms.
    pub terms: Arc<Terms>,
}

/// The people of a section: nobody where both sets are empty.
#[derive(Debug, Clone)]
pub struct People {
    /// These users.
    pub users: BTreeSet<u32>,
    /// The members of these groups.
    pub groups: BTreeSet<u32>,
}

impl Section {
    /// Does it hold for the name `name` at the visible path that `path` makes, where `uid` asks for it? Whether who asks is in
    /// one of its groups, `is_member` is asked last, and only if it matters.
    pub fn holds(
        &self,
        uid: u32,
        name: &[u8],
        path: impl FnOnce() -> Vec<u8>,
        is_member: impl FnOnce(&BTreeSet<u32>) -> bool,
    ) -> bool {
        (self.paths.is_empty() || self.paths.has(name, path))
            && self.people.as_ref().is_none_or(|people| {
                people.users.contains(&uid)
                    || !people.groups.is_empty() && is_member(&people.groups)
            })
    }
}

/// All that holds for new names.
#[derive(Debug, Clone)]
pub struct Rules {
    /// What holds where no section does.
    all: Arc<Terms>,
    /// The first that holds decides, alone.
    sections: Vec<Section>,
    /// Whose new names, and which, are only reported, whatever else holds.
    exempt: Exemptions,
    /// Can a name that conforms on the whole mount offend by one of the sections, or be let through by one where it offends
    /// otherwise?
    concerns_conforming: bool,
    /// Are names normalized anywhere? Then they have other spellings everywhere and for everybody (law N10).
    normalizes: bool,
}

impl Rules {
    /// These terms for all, but where one of `sections` holds.
    #[must_use]
    pub fn new(all: Terms, sections: Vec<Section>, exempt: Exemptions) -> Self {
        let concerns = |section: &Section| {
            section.terms.map.policy != all.map.policy || section.terms.unique.is_some()
        };
        let is_stored_otherwise = all.unique.is_some() || all.map.store_as.is_some();
        let concerns_conforming =
            sections.iter().any(concerns) || is_stored_otherwise && !sections.is_empty();
        let normalizes = |terms: &Terms| terms.mode == Mode::Normalize;
        let is_anywhere =
            normalizes(&all) || sections.iter().any(|section| normalizes(&section.terms));
        Self {
            all: Arc::new(all),
            sections,
            exempt,
            concerns_conforming,
            normalizes: is_anywhere,
        }
    }

    /// Are names normalized anywhere?
    #[must_use]
    pub fn normalizes(&self) -> bool {
        self.normalizes
    }

    /// Who and what is exempt.
    #[must_use]
    pub fn exempt(&self) -> &Exemptions {
        &self.exempt
    }

    /// The sections, in order.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// What holds where no section does.
    #[must_use]
    pub fn all(&self) -> &Terms {
        &self.all
    }

    /// The section that holds for the new name `name` at the visible path that `path` makes, where `uid` asks for it; `None`
    /// if none does. Whether who asks is in one of some groups, `is_member` is asked last, and only if it matters.
    pub fn section(
        &self,
        uid: u32,
        name: &[u8],
        path: impl Fn() -> Vec<u8>,
        is_member: impl Fn(&BTreeSet<u32>) -> bool,
    ) -> Option<usize> {
        let holds = |section: &Section| section.holds(uid, name, &path, &is_member);
        self.sections.iter().position(holds)
    }

    /// The terms of a section, or what holds where none does.
    #[must_use]
    pub fn terms_of(&self, section: Option<usize>) -> &Arc<Terms> {
        let section = section.and_then(|index| self.sections.get(index));
        section.map_or(&self.all, |section| &section.terms)
    }

    /// What holds for the new name `name` at the visible path that `path` makes, asked for by `caller`. `offends` says whether
    /// it does on the whole mount.
    pub(super) fn terms(
        &self,
        caller: Caller,
        name: &[u8],
        offends: bool,
        path: impl Fn() -> Vec<u8>,
    ) -> Arc<Terms> {
        if !offends && !self.concerns_conforming {
            return Arc::clone(&self.all);
        }
        let is_member =
            |groups: &BTreeSet<u32>| credentials::is_member(caller.pid, caller.gid, groups);
        Arc::clone(self.terms_of(self.section(caller.uid, name, path, is_member)))
    }
}

impl Terms {
    /// The offence of a name that conforms on the whole mount against what holds here besides.
    ///
    /// # Errors
    /// That offence.
    pub(super) fn check_further(&self, whole: &NameMap, name: &[u8]) -> Result<(), Offence> {
        match self.mode {
            Mode::Off => Ok(()),
            _ if self.map.policy == whole.policy => Ok(()),
            Mode::Enforce | Mode::Normalize | Mode::Report => self.map.policy.check(name),
        }
    }

    /// Is what offends made as it was asked for?
    pub(super) fn lets_through(&self) -> bool {
        matches!(self.mode, Mode::Report | Mode::Off)
    }
}

/// The rules in force. An operation takes them once, so that others that come meanwhile are for the next one.
#[derive(Debug)]
pub(super) struct InForce(RwLock<Arc<Rules>>);

impl InForce {
    pub(super) fn new(rules: Rules) -> Self {
        Self(RwLock::new(Arc::new(rules)))
    }

    pub(super) fn get(&self) -> Arc<Rules> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace(&self, rules: Rules) {
        let rules = Arc::new(rules);
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *held, rules);
        drop(held);
        // Its patterns may be many, and nobody is to wait for their end.
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::samples::{CALLER, map};
    use crate::names::Legacy;
    use crate::policy::Class;

    fn section(paths: &[&str], users: &[u32], groups: &[u32], mode: Mode) -> Section {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        let people = People {
            users: users.iter().copied().collect(),
            groups: groups.iter().copied().collect(),
        };
        Section {
            paths: Patterns::new(&paths).unwrap(),
            people: Some(people).filter(|_| !users.is_empty() || !groups.is_empty()),
            terms: Arc::new(terms(mode)),
        }
    }

    fn terms(mode: Mode) -> Terms {
        Terms {
            mode,
            map: map(Legacy::Escape, &[]),
            unique: None,
            section: None,
        }
    }

    /// The first section that holds decides; all of its conditions have to hold, and users and groups are one.
    #[test]
    fn the_first_section_that_holds_decides() {
        let rules = Rules::new(
            terms(Mode::Enforce),
            vec![
                section(&["/a/**"], &[7], &[9], Mode::Off),
                section(&["/a/**", "*.tmp"], &[], &[], Mode::Report),
                section(&[], &[7], &[], Mode::Normalize),
            ],
            Exemptions::default(),
        );
        // uid, gid, path, expected
        let rows = [
            (7, 0, "/a/x", Mode::Off),
            (1, 9, "/a/x", Mode::Off),
            (1, 1, "/a/x", Mode::Report),
            (1, 9, "/b/x", Mode::Enforce),
            (7, 9, "/b/x.tmp", Mode::Report),
            (7, 0, "/b/x", Mode::Normalize),
        ];
        for (uid, gid, path, expected) in rows {
            let caller = Caller { uid, gid, ..CALLER };
            let name = path.rsplit('/').next().unwrap().as_bytes();
            let path = || path.as_bytes().to_vec();
            let found = rules.terms(caller, name, true, path).mode;
            assert_eq!(found, expected, "{uid} {gid} {}", path().escape_ascii());
        }
    }

    /// Where no section is stricter, a conforming name is judged without its path.
    #[test]
    fn conforming_names_need_no_path_unless_a_section_is_stricter() {
        let no_path = || -> Vec<u8> { panic!("no path is needed") };
        let mut rules = Rules::new(
            terms(Mode::Enforce),
            vec![section(&["/a/**"], &[], &[], Mode::Report)],
            Exemptions::default(),
        );
        assert_eq!(
            rules.terms(CALLER, b"x", false, no_path).mode,
            Mode::Enforce
        );
        let mut stricter = terms(Mode::Report);
        stricter.map.policy.forbid = stricter.map.policy.forbid.with(Class::NonAscii);
        rules = Rules::new(
            terms(Mode::Enforce),
            vec![Section {
                terms: Arc::new(stricter),
                ..section(&["/a/**"], &[], &[], Mode::Report)
            }],
            Exemptions::default(),
        );
        let found = rules.terms(CALLER, b"x", false, || b"/a/x".to_vec());
        assert_eq!(found.mode, Mode::Report);
    }
}
