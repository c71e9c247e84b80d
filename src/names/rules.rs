//! What holds for new names, by who asks and where: the sections of `--policy`, and the one set of terms for all without it.
//!
//! What names are shown as is no matter of these: that is one for the whole mount, so that nothing is shown as another for being
//! moved, or for who looks.

mod exempt;
mod fate;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{NameMap, OnViolation, Patterns};
use crate::policy::{Alike, Offence};
pub use exempt::{Exempt, Exemptions};
pub use fate::{Fate, Settled, Verdict};

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
    /// In what they must not differ alone from a sibling; `None`, or what is said for the whole mount.
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

    /// Does the whole mount's set of terms decide for a new name, which `offends` on the whole mount or not, whoever asks and wherever?
    #[must_use]
    pub fn is_one_for_all(&self, offends: bool) -> bool {
        !offends && !self.concerns_conforming
    }

    /// The terms of a section, or what holds where none does.
    #[must_use]
    pub fn terms_of(&self, section: Option<usize>) -> &Arc<Terms> {
        let section = section.and_then(|index| self.sections.get(index));
        section.map_or(&self.all, |section| &section.terms)
    }
}

impl Terms {
    /// The offence of a name that conforms on the whole mount against what holds here besides.
    ///
    /// # Errors
    /// That offence.
    pub fn check_further(&self, whole: &NameMap, name: &[u8]) -> Result<(), Offence> {
        match self.mode {
            Mode::Off => Ok(()),
            _ if self.map.policy == whole.policy => Ok(()),
            Mode::Enforce | Mode::Normalize | Mode::Report => self.map.policy.check(name),
        }
    }

    /// Is what offends made as it was asked for?
    #[must_use]
    pub fn lets_through(&self) -> bool {
        matches!(self.mode, Mode::Report | Mode::Off)
    }
}
