//! What a policy and the options that override it come to, and what of that can change while it is mounted.

use std::path::PathBuf;
use std::sync::Arc;

use super::assemble::Text;
use super::document::SectionText;
use super::fault::{At, Place};
use crate::cli::CliError;
use crate::cli::args::{
    AuditArgs, ModeValue, MountArgs, MountEncodingValue, NewNameArgs, PolicyArgs,
};
use crate::cli::config::{AuditConfig, audit, exemptions, name_map};
use crate::codec::Encoding;
use crate::names::Patterns;
use crate::names::rules::{Mode, People, Rules, Section, Terms};
use crate::names::{NameMap, OnViolation};
use crate::policy::{Alike, Policy, Profile};

/// What a policy can say, as it was said on the command line, or there and in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) policy: PolicyArgs,
    pub(crate) new_names: NewNameArgs,
    pub(crate) encoding: Option<MountEncodingValue>,
    pub(crate) audit: AuditArgs,
    /// Only a file can say `off`.
    pub(crate) is_off: bool,
}

/// What holds, decided.
#[derive(Debug, Clone)]
pub(crate) struct Decided {
    /// What names are shown as; whether there are other spellings is by what any rule may make.
    pub(crate) map: NameMap,
    /// How siblings are compared, wherever they are.
    pub(crate) unique: Option<Alike>,
    /// What holds for new names.
    pub(crate) rules: Rules,
    /// What was said on both sides.
    pub(crate) said: Said,
}

impl Said {
    pub(crate) fn of(args: &MountArgs) -> Self {
        Self {
            policy: args.policy.clone(),
            new_names: args.new_names.clone(),
            encoding: args.encoding,
            audit: args.audit.clone(),
            is_off: false,
        }
    }

    /// Puts what the file says where the command line says nothing.
    fn or_file(mut self, text: &Text) -> Self {
        fn fill<T: Clone, U>(slot: &mut Option<U>, file: Option<&At<T>>, make: impl Fn(T) -> U) {
            if let (None, Some(file)) = (&slot, file) {
                *slot = Some(make(file.value.clone()));
            }
        }
        let top = &text.top;
        let (policy, audit) = (&mut self.policy, &mut self.audit);
        if policy.on_violation.is_none()
            && let Some(mode) = &top.mode
        {
            use crate::cli::args::OnViolationValue;
            self.is_off = mode.value.0 == Mode::Off;
            policy.on_violation = Some(OnViolationValue(match mode.value.0 {
                Mode::Enforce => OnViolation::Reject,
                Mode::Normalize => OnViolation::Normalize,
                Mode::Report | Mode::Off => OnViolation::Report,
            }));
        }
        fill(&mut policy.on_violation, top.on_violation.as_ref(), |v| v);
        fill(&mut policy.from, top.from.as_ref(), |v| v);
        fill(&mut policy.legacy, top.legacy.as_ref(), |v| v);
        fill(&mut policy.store_as, top.store_as.as_ref(), |v| v);
        fill(&mut policy.errno, top.errno.as_ref(), |v| v);
        fill(&mut policy.profile, top.profile.as_ref(), |v| v);
        fill(&mut policy.normalization, top.normalization.as_ref(), |v| v);
        fill(&mut policy.forbid, top.forbid.as_ref(), |v| v);
        fill(&mut policy.max_bytes, top.max_bytes.as_ref(), |v| v);
        fill(&mut policy.max_chars, top.max_chars.as_ref(), |v| v);
        fill(&mut self.encoding, top.encoding.as_ref(), |v| v);
        fill(&mut self.new_names.exempt, top.exempt.as_ref(), |v| v);
        fill(
            &mut self.new_names.exempt_uid,
            top.exempt_uid.as_ref(),
            |v| v,
        );
        if self.new_names.unique.is_none() {
            self.new_names.unique = top.unique.as_ref().and_then(|unique| unique.value);
        }
        fill(&mut audit.audit_log, top.audit_log.as_ref(), Into::into);
        fill(&mut audit.audit_format, top.audit_format.as_ref(), |v| v);
        fill(&mut audit.audit_burst, top.audit_burst.as_ref(), |v| v);
        fill(
            &mut audit.audit_per_minute,
            top.audit_per_minute.as_ref(),
            |v| v,
        );
        self
    }
}

impl Decided {
    /// What `said` alone comes to.
    ///
    /// # Errors
    /// It contradicts itself.
    pub(crate) fn without_file(said: Said) -> Result<Self, CliError> {
        Self::new(said, &Text::default())
    }

    /// What the file `text` comes to where `said` does not override it.
    ///
    /// # Errors
    /// They are wrong together, or the file is.
    pub(crate) fn with_file(said: Said, text: &Text) -> Result<Self, CliError> {
        if text.faults.is_fatal() {
            return Err(super::refused(text));
        }
        Self::new(said.or_file(text), text)
    }

    fn new(said: Said, text: &Text) -> Result<Self, CliError> {
        let encoding = said.encoding.map_or(Encoding::Utf8, |encoding| encoding.0);
        let mut map = name_map(&said.policy, encoding)?;
        let exempt = exemptions(&said.new_names)?;
        let here = said.new_names.unique.map(|unique| unique.0);
        let sections = text.sections.iter();
        let elsewhere = || {
            sections
                .clone()
                .find_map(|section| section.value.unique.as_ref()?.value)
        };
        let unique = here.or_else(|| elsewhere().map(|unique| unique.0));
        let mode = match said.is_off {
            true => Mode::Off,
            false => map.on_violation.into(),
        };
        let all = Terms {
            mode,
            map: map.clone(),
            unique: here.filter(|_| mode != Mode::Off),
            section: None,
        };
        let sections: Vec<Section> = sections
            .clone()
            .zip(1..)
            .map(|(section, number)| section_of(&section.value, number, &all, here, unique))
            .collect();
        let rules = Rules::new(all, sections, exempt);
        if !text.files.files.is_empty() {
            map.on_violation = match rules.normalizes() {
                true => OnViolation::Normalize,
                false => OnViolation::Reject,
            };
        }
        Ok(Self {
            map,
            unique,
            rules,
            said,
        })
    }

    /// What of `new` cannot come into force while `self` is mounted: each key that was changed, and where the file says it. What is
    /// said anew and comes to the same is no change.
    pub(crate) fn needs_remount(
        &self,
        new: &Self,
        text: &Text,
        is_background: bool,
    ) -> Vec<(&'static str, Place)> {
        fn place<T>(at: Option<&At<T>>) -> Option<Place> {
            at.map(|at| at.place)
        }
        let whole = |policy: &Policy| {
            let lengths = (policy.max_bytes, policy.max_chars, policy.max_utf16);
            (policy.form, policy.forbid, lengths)
        };
        let profile = |said: &Said| {
            said.policy
                .profile
                .map_or(Profile::Utf8, |profile| profile.0)
        };
        let log = |said: &Said| audit(&said.audit, is_background).ok();
        let (old_map, new_map) = (&self.map, &new.map);
        let (was, is) = (&old_map.policy, &new_map.policy);
        let (before, now) = (&self.said.policy, &new.said.policy);
        let (old_log, new_log) = (log(&self.said), log(&new.said));
        let logs = |differ: fn(&AuditConfig, &AuditConfig) -> bool| match (&old_log, &new_log) {
            (Some(old), Some(new)) => differ(old, new),
            // Then the log itself differs.
            (Some(_), None) | (None, _) => false,
        };
        let normalizing = || {
            let is_it = |mode: &&At<ModeValue>| mode.value.0 == Mode::Normalize;
            let mut sections = text
                .sections
                .iter()
                .filter_map(|section| section.value.mode.as_ref());
            let top = text.top.mode.as_ref().filter(is_it);
            let said = text.top.on_violation.as_ref();
            place(top)
                .or(place(said))
                .or_else(|| place(sections.find(is_it)))
        };
        let comparing = || {
            let mut sections = text.sections.iter();
            let first = sections.find_map(|section| section.value.unique.as_ref());
            place(text.top.unique.as_ref()).or(place(first))
        };
        let top = &text.top;
        // Some come to something else because of another key, which is the one to name.
        let rows = [
            (
                "profile",
                whole(was) != whole(is) && profile(&self.said) != profile(&new.said),
                place(top.profile.as_ref()),
            ),
            (
                "forbid",
                was.forbid != is.forbid && before.forbid != now.forbid,
                place(top.forbid.as_ref()),
            ),
            (
                "encoding",
                was.encoding != is.encoding,
                place(top.encoding.as_ref()),
            ),
            (
                "normalization",
                was.form != is.form && before.normalization != now.normalization,
                place(top.normalization.as_ref()),
            ),
            (
                "max_bytes",
                was.max_bytes != is.max_bytes && before.max_bytes != now.max_bytes,
                place(top.max_bytes.as_ref()),
            ),
            (
                "max_chars",
                was.max_chars != is.max_chars && before.max_chars != now.max_chars,
                place(top.max_chars.as_ref()),
            ),
            (
                "from",
                old_map.from != new_map.from && before.from != now.from,
                place(top.from.as_ref()),
            ),
            (
                "legacy",
                old_map.legacy != new_map.legacy && before.legacy != now.legacy,
                place(top.legacy.as_ref()),
            ),
            (
                "store_as",
                old_map.store_as != new_map.store_as,
                place(top.store_as.as_ref()),
            ),
            (
                "mode normalize",
                old_map.on_violation == OnViolation::Reject
                    && new_map.on_violation == OnViolation::Normalize,
                normalizing(),
            ),
            (
                "unique",
                new.unique.is_some() && self.unique != new.unique,
                comparing(),
            ),
            (
                "audit_log",
                new_log.is_none() || logs(|old, new| old.sink != new.sink),
                place(top.audit_log.as_ref()),
            ),
            (
                "audit_format",
                logs(|old, new| old.format != new.format),
                place(top.audit_format.as_ref()),
            ),
            (
                "audit_burst",
                logs(|old, new| old.limit.burst != new.limit.burst),
                place(top.audit_burst.as_ref()),
            ),
            (
                "audit_per_minute",
                logs(|old, new| old.limit.per_minute != new.limit.per_minute),
                place(top.audit_per_minute.as_ref()),
            ),
        ];
        let changed = rows.into_iter().filter(|(_, is_changed, _)| *is_changed);
        changed
            .map(|(key, _, place)| (key, place.unwrap_or_default()))
            .collect()
    }
}

/// A section with what holds in it: what it says itself, and else what is said for all. Of `unique` that is `here`, which does
/// not hold for all where nothing is looked at; in what names are compared wherever they are is `unique`.
fn section_of(
    text: &SectionText,
    number: u32,
    all: &Terms,
    here: Option<Alike>,
    unique: Option<Alike>,
) -> Section {
    let mut map = all.map.clone();
    let classes = text.forbid.iter().flat_map(|forbid| &forbid.value);
    map.policy.forbid = classes.fold(map.policy.forbid, |all, class| all.with(class.0));
    if let Some(limit) = &text.max_bytes {
        map.policy.max_bytes = limit.value.min(map.policy.max_bytes);
    }
    if let Some(limit) = &text.max_chars {
        let whole = map.policy.max_chars.unwrap_or(usize::MAX);
        map.policy.max_chars = Some(limit.value.min(whole));
    }
    map.errno = text.errno.as_ref().map_or(map.errno, |errno| errno.value.0);
    let mode = text.mode.as_ref().map_or(all.mode, |mode| mode.value.0);
    let compared = match &text.unique {
        Some(said) => said.value.and(unique),
        None => here,
    };
    let ids = |list: &Option<At<Vec<u32>>>| list.iter().flat_map(|at| at.value.clone()).collect();
    let paths = text.path.as_ref().map(|path| path.value.clone());
    Section {
        // Each was looked at on its own; all together they are too many at most, and then match nothing.
        paths: Patterns::new(&paths.unwrap_or_default()).unwrap_or_default(),
        people: (text.users.is_some() || text.groups.is_some()).then(|| People {
            users: ids(&text.users),
            groups: ids(&text.groups),
        }),
        terms: Arc::new(Terms {
            mode,
            map,
            unique: compared.filter(|_| mode != Mode::Off),
            section: Some(name_of(text, number)),
        }),
    }
}

/// No name of a section is longer in the audit log: a record of the journal has a limit.
const LONGEST_NAME: usize = 255;

/// The name that the audit log has of a section, the how many-th it is.
fn name_of(text: &SectionText, number: u32) -> Arc<str> {
    let name = text.name.as_ref().map(|name| name.value.as_str());
    match name {
        Some(name) if !name.is_empty() => {
            let end = name.floor_char_boundary(LONGEST_NAME);
            name.get(..end).unwrap_or_default().into()
        }
        _ => format!("#{number}").into(),
    }
}

/// Makes a path absolute, which the daemon looks up from elsewhere.
pub(crate) fn absolute(path: PathBuf) -> Result<PathBuf, CliError> {
    std::path::absolute(path).map_err(|error| crate::cli::mount::failed("find the policy", &error))
}
