//! Terms for new names, by caller and place: the sections of `--policy`, and one set of terms for all without it.
//!
//! Sections never change how names are shown: that is the same for the whole mount, so that nothing changes its name
//! by being moved, or by who looks.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{NameMap, OnViolation, PatternError, Patterns, VisibleName};
use crate::policy::{Alike, NAME_MAX, Offence};

/// The action on a new name that offends.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Mode {
    /// It is refused, and nothing is made
    Enforce,
    /// The conforming name that it stands for is made instead, or it is refused where there is none
    Normalize,
    /// It is created as asked, and the audit log says so
    Report,
    /// It is created as asked, and nothing is said
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

/// The terms for some new names.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Treatment of those that offend.
    pub mode: Mode,
    /// Decides what offends: all that offends on the whole mount and perhaps more. Has the errno of a refusal.
    pub map: NameMap,
    /// In what they must not differ alone from a sibling; `None`, or what is said for the whole mount.
    pub unique: Option<Alike>,
    /// Which section says so, by the name that it has or as the how many-th: `#2`; `None` for what holds where no section does.
    pub section: Option<Arc<str>>,
}

/// New names that have terms of their own.
#[derive(Debug, Clone)]
pub struct Section {
    /// Places; everywhere if there is no pattern.
    pub paths: Patterns,
    /// For whom; `None` for all.
    pub people: Option<People>,
    /// Its terms.
    pub terms: Arc<Terms>,
}

/// The people of a section: nobody where both sets are empty.
#[derive(Debug, Clone)]
pub struct People {
    /// Users to whom it applies.
    pub users: BTreeSet<u32>,
    /// The members of these groups.
    pub groups: BTreeSet<u32>,
}

/// All that holds for new names.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The terms where no section matches.
    pub all: Arc<Terms>,
    /// The first that holds decides, alone.
    pub sections: Vec<Section>,
    /// New names that are only reported, whatever else holds.
    pub exempt: Exemptions,
    /// Can a name that conforms on the whole mount offend by one of the sections, or be let through by one where it offends
    /// otherwise?
    concerns_conforming: bool,
}

impl Rules {
    /// Makes rules with these terms for all, except where one of `sections` matches.
    pub fn new(all: Terms, sections: Vec<Section>, exempt: Exemptions) -> Self {
        let concerns = |section: &Section| {
            section.terms.map.policy != all.map.policy || section.terms.unique.is_some()
        };
        let is_stored_otherwise = all.unique.is_some() || all.map.store_as.is_some();
        let concerns_conforming =
            sections.iter().any(concerns) || is_stored_otherwise && !sections.is_empty();
        Self {
            all: Arc::new(all),
            sections,
            exempt,
            concerns_conforming,
        }
    }

    /// Are names normalized anywhere? Then they have other spellings everywhere and for everybody (law N10).
    pub fn normalizes(&self) -> bool {
        let sections = self.sections.iter().map(|section| &section.terms);
        let mut all = sections.chain([&self.all]);
        all.any(|terms| terms.mode == Mode::Normalize)
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
        let has_caller = |people: &People| {
            people.users.contains(&uid) || !people.groups.is_empty() && is_member(&people.groups)
        };
        self.sections.iter().position(|section| {
            (section.paths.is_empty() || section.paths.has(name, &path))
                && section.people.as_ref().is_none_or(has_caller)
        })
    }

    /// Does the whole mount's set of terms decide for a new name, which `offends` on the whole mount or not, whoever asks and wherever?
    pub fn is_one_for_all(&self, offends: bool) -> bool {
        !offends && !self.concerns_conforming
    }

    /// The terms of a section, or what holds where none does.
    pub fn terms_of(&self, section: Option<usize>) -> &Arc<Terms> {
        let section = section.and_then(|index| self.sections.get(index));
        section.map_or(&self.all, |section| &section.terms)
    }
}

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
    /// These users.
    pub uids: BTreeSet<u32>,
    /// Visible names, and paths from the root of the mount.
    pub patterns: Patterns,
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

impl Terms {
    /// The offence of a name that conforms on the whole mount against what holds here besides.
    ///
    /// # Errors
    /// That offence.
    fn check_further(&self, whole: &NameMap, name: &[u8]) -> Result<(), Offence> {
        if self.mode == Mode::Off || self.map.policy == whole.policy {
            return Ok(());
        }
        self.map.policy.check(name)
    }

    /// Checks a name against what holds on the whole mount, whose names are `map`, and against what holds here besides.
    ///
    /// # Errors
    /// Its first offence.
    pub fn check(&self, map: &NameMap, name: &[u8]) -> Result<(), Offence> {
        map.policy
            .check(name)
            .and_then(|()| self.check_further(map, name))
    }

    /// Is what offends made as it was asked for?
    pub fn lets_through(&self) -> bool {
        matches!(self.mode, Mode::Report | Mode::Off)
    }
}

/// The result of an operation on a name that does not conform.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// The operation failed and made nothing
    Refused,
    /// The operation went on under the conforming name that the asked one stands for
    Normalized,
    /// The operation went on under the name as asked
    Reported,
}

/// The decision about a new name that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Create it; where it conforms, only if it can be stored, else [`Terms::unstorable`] decides.
    Create(Creation),
    /// Refuse it, and record that.
    Refuse(Offence),
    /// Let it through, though the system takes no name of its length; record nothing.
    TooLong,
}

/// A new name to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The name: if it does not conform, the bytes that were asked for.
    pub visible: VisibleName,
    /// Is it another than was asked for, or will it be listed as another?
    pub alias: bool,
    /// Does it conform on the whole mount?
    pub conforms: bool,
    /// The record to write when it is created.
    pub offence: Option<(Offence, Verdict)>,
}

impl Terms {
    /// Decides about the new name `asked`, which by `whole` offends or not on the whole mount, whose names are `map`.
    pub fn decide(
        &self,
        map: &NameMap,
        asked: VisibleName,
        whole: Result<(), Offence>,
        is_exempt: impl Fn() -> bool,
    ) -> Decision {
        let name = asked.as_bytes();
        let offends_here_only = whole.is_ok();
        let create = |visible, alias, conforms, offence| {
            Decision::Create(Creation {
                visible,
                alias,
                conforms,
                offence,
            })
        };
        let Err(offence) = whole.and_then(|()| self.check_further(map, name)) else {
            return create(asked, false, true, None);
        };
        let mode = match self.mode {
            Mode::Enforce | Mode::Normalize if is_exempt() => Mode::Report,
            mode @ (Mode::Enforce | Mode::Normalize | Mode::Report | Mode::Off) => mode,
        };
        match mode {
            Mode::Enforce => Decision::Refuse(offence),
            // Of what conforms on the whole mount there are no other spellings.
            Mode::Normalize if offends_here_only => Decision::Refuse(offence),
            Mode::Normalize => match map.normalized(name) {
                Ok(visible) if self.check_further(map, visible.as_bytes()).is_ok() => {
                    create(visible, true, true, Some((offence, Verdict::Normalized)))
                }
                Ok(_) => Decision::Refuse(offence),
                Err(offence) => Decision::Refuse(offence),
            },
            // Nothing can be made under such a name, so that there is nothing to let through: its length is why.
            Mode::Report if name.len() > NAME_MAX => {
                let (length, over) = (name.len(), name.len() - NAME_MAX);
                Decision::Refuse(Offence::over_name_max(length, NAME_MAX, over))
            }
            Mode::Off if name.len() > NAME_MAX => Decision::TooLong,
            Mode::Report | Mode::Off => {
                let offence = self.noted(offence);
                create(asked, !offends_here_only, offends_here_only, offence)
            }
        }
    }

    /// Decides about a name that cannot be stored for `offence`. One that is to be created with another offence recorded is not let
    /// through for this one.
    pub fn unstorable(
        &self,
        creation: Creation,
        offence: Offence,
        is_exempt: impl Fn() -> bool,
    ) -> Decision {
        if creation.offence.is_some() || !self.lets_through() && !is_exempt() {
            return Decision::Refuse(offence);
        }
        Decision::Create(Creation {
            offence: self.noted(offence),
            ..creation
        })
    }

    fn noted(&self, offence: Offence) -> Option<(Offence, Verdict)> {
        (self.mode != Mode::Off).then_some((offence, Verdict::Reported))
    }
}
