//! The rules in force, and what they say to a caller.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use super::Caller;
use crate::names::rules::{Rules, Terms};
use crate::os::credentials;

/// What holds for the new name `name` at the visible path that `path` makes, asked for by `caller`. `offends` says whether it does on
/// the whole mount.
pub(super) fn terms(
    rules: &Rules,
    caller: Caller,
    name: &[u8],
    offends: bool,
    path: impl Fn() -> Vec<u8>,
) -> Arc<Terms> {
    let is_member = |groups: &BTreeSet<u32>| credentials::is_member(caller.pid, caller.gid, groups);
    let section = match rules.is_one_for_all(offends) {
        true => None,
        false => rules.section(caller.uid, name, path, is_member),
    };
    Arc::clone(rules.terms_of(section))
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
    use crate::names::rules::{Exemptions, Mode, People, Section};
    use crate::names::{Legacy, Patterns};
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
            let found = super::terms(&rules, caller, name, true, path).mode;
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
            super::terms(&rules, CALLER, b"x", false, no_path).mode,
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
        let found = super::terms(&rules, CALLER, b"x", false, || b"/a/x".to_vec());
        assert_eq!(found.mode, Mode::Report);
    }
}
