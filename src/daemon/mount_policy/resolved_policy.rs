//! A policy together with the options that override it, and what of that can change while it is mounted.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;

use serde_json::Value;

use super::loaded_policy::LoadedPolicy;
use super::policy_faults::{Fault, Table};
use crate::daemon::command_error::CommandError;
use crate::names::rules::{Decision, Exempt, Exemptions, Mode, People, Rules, Section, Terms};
use crate::names::{Legacy, NameMap, OnViolation, Patterns, VisibleName};
use crate::os::user_tables::members_of;
use crate::policy::{Alike, Normalization};
use crate::records::{AuditConfig, List, PolicyFile, PolicySection, SinkKind};

/// Records of one user in one directory that pass at once, by default, and those that pass each minute.
const BURST: u32 = 100;
const PER_MINUTE: u32 = 60;

/// Longest name of a section in the audit log, in bytes: a record of the systemd journal has a limit.
const LONGEST_NAME: usize = 255;

/// The rules in force on a mount.
#[derive(Debug, Clone)]
pub struct ResolvedPolicy {
    /// The mapping to visible names; its spellings are those that any rule may make.
    pub map: NameMap,
    /// The comparison of siblings in the whole mount.
    pub unique: Option<Alike>,
    /// Terms for new names.
    pub rules: Rules,
    /// The keys of the options and of the file together.
    pub keys: PolicyFile,
    /// By the number of a user, the groups of sections that the user is in, as the system lists them.
    pub members: BTreeMap<u32, BTreeSet<u32>>,
}

/// The terms for a new name, and their result as far as the entries of its directory do not change it.
#[derive(Debug)]
pub struct Outlook {
    /// The section that holds, if one does.
    pub section: Option<usize>,
    /// Why it is only reported, if that makes a difference.
    pub exempt: Option<Exempt>,
    /// The decision.
    pub decision: Decision,
}

/// The keys that can change while it is mounted, all of them or by what they come to.
const CHANGEABLE: [&str; 7] = [
    "include",
    "section",
    "unique",
    "mode",
    "errno",
    "exempt",
    "exempt_uid",
];

impl ResolvedPolicy {
    /// Resolves `options` alone.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn without_file(options: PolicyFile) -> Result<Self, CommandError> {
        Self::new(options, &LoadedPolicy::default())
    }

    /// Resolves a policy where `options` do not override it.
    ///
    /// # Errors
    /// They are wrong together, or the policy is.
    pub fn new(options: PolicyFile, policy: &LoadedPolicy) -> Result<Self, CommandError> {
        policy.check()?;
        let keys = options.or(policy.keys.clone());
        let mut map = name_map(&keys)?;
        let uids = policy.users(&keys.exempt_uid);
        let exempt = Exemptions::new(uids, List::values(&keys.exempt)).map_err(|error| {
            CommandError::usage(format!("--exempt {error}")).hint(
                "a pattern is a path as /backups/** or a name as *.tmp, with * ? [a-z] {one,other}",
            )
        })?;
        let whole = keys.unique.and_then(|how| how.0);
        let mut elsewhere = keys.section.iter();
        let unique = whole.or_else(|| elsewhere.find_map(|section| section.unique?.0));
        let mode = keys.mode.unwrap_or(Mode::Enforce);
        let all = Terms {
            mode,
            map: map.clone(),
            unique: whole.filter(|_| mode != Mode::Off),
            section: None,
        };
        let sections = keys.section.iter().zip(1..).map(|(section, number)| {
            let people = (section.users.is_some() || section.groups.is_some()).then(|| People {
                users: policy.users(&section.users).into_iter().collect(),
                groups: policy.groups(&section.groups).into_iter().collect(),
            });
            resolve_section(section, number, people, &all, whole, unique)
        });
        let rules = Rules::new(all.clone(), sections.collect(), exempt);
        if !policy.text.files.is_empty() {
            map.on_violation = match rules.normalizes() {
                true => OnViolation::Normalize,
                false => OnViolation::Reject,
            };
        }
        let groups = keys.section.iter();
        let groups = groups.flat_map(|section| policy.groups(&section.groups));
        let (passwd, group) = (policy.text.passwd.as_bytes(), policy.text.group.as_bytes());
        let members = members_of(&groups.collect(), passwd, group);
        Ok(Self {
            map,
            unique,
            rules,
            keys,
            members,
        })
    }

    /// Predicts the result of making the new name `name` at the visible path `path`, by a member of `groups`.
    pub fn outlook(
        &self,
        uid: u32,
        groups: &BTreeSet<u32>,
        path: &[u8],
        name: &VisibleName,
    ) -> Outlook {
        let (asked, name) = (name.clone(), name.as_bytes());
        let path = || path.to_vec();
        let is_member = |of: &BTreeSet<u32>| !of.is_disjoint(groups);
        let section = self.rules.section(uid, name, path, is_member);
        let terms = self.rules.terms_of(section);
        let exempt = self.rules.exempt.of(uid, name, path);
        let is_exempt = || exempt.is_some();
        let whole = self.map.policy.check(name);
        let mut decision = terms.decide(&self.map, asked, whole, is_exempt);
        if let Decision::Create(new) = &decision
            && new.conforms
            && let Err(lacking) = self.map.stored(&new.visible)
        {
            decision = terms.unstorable(new.clone(), lacking, is_exempt);
        }
        let offends = !matches!(&decision, Decision::Create(new) if new.offence.is_none());
        Outlook {
            section,
            exempt: exempt.filter(|_| offends),
            decision,
        }
    }
    /// Decides where offences are logged, and how many.
    ///
    /// # Errors
    /// The keys contradict each other.
    pub(in crate::daemon) fn audit(
        &self,
        is_background: bool,
    ) -> Result<AuditConfig, CommandError> {
        let audit_log = match self.keys.audit_log.clone() {
            Some(SinkKind::Stderr) if is_background => {
                let message =
                    "--audit-log - contradicts --background: nobody reads its standard error";
                let hint = "log to a file, to syslog or to journald, or stay in the foreground";
                return Err(CommandError::usage(message).hint(hint));
            }
            Some(sink) => sink,
            None if is_background => SinkKind::Syslog,
            None => SinkKind::Stderr,
        };
        Ok(AuditConfig {
            audit_log,
            audit_format: self.keys.audit_format.unwrap_or_default(),
            audit_burst: self.keys.audit_burst.unwrap_or(BURST),
            audit_per_minute: self.keys.audit_per_minute.unwrap_or(PER_MINUTE),
        })
    }

    /// Returns the fault of a policy that names another audit log than the keys of before, which only a start opens and checks.
    pub fn audit_log_fault(&self, before: &PolicyFile, policy: &LoadedPolicy) -> Option<String> {
        let message = "audit_log cannot change while it is in force: stop and start again";
        let is_changed = self.keys.audit_log != before.audit_log;
        let fault = is_changed.then(|| policy.whole.error("audit_log", message));
        fault.map(|fault| fault.line(&policy.text))
    }

    /// Returns a line for each key of `new` that cannot come into force while `self` is mounted, with the place where the file says
    /// it. Where all of them come to the same as before, none has changed.
    pub(in crate::daemon) fn remount_faults(
        &self,
        new: &Self,
        policy: &LoadedPolicy,
        is_background: bool,
    ) -> Vec<String> {
        let fault = |table: &Table, key: &str, what: &str, more: &str| {
            table.error(
                key,
                format!("{what} cannot change while it is mounted: unmount and mount again{more}"),
            )
        };
        let before = self.keys.by_key();
        let fixed = |of: &Self| {
            let map = of.map.clone();
            let audit = of.audit(is_background).ok();
            (map.policy, map.legacy, map.from, map.store_as, audit)
        };
        let is_same = fixed(new) == fixed(self);
        let is_changed = |(key, value): &(String, Value)| {
            !is_same && !CHANGEABLE.contains(&&**key) && before.get(key) != Some(value)
        };
        let keys = new.keys.by_key().into_iter().filter(is_changed);
        let keys = keys.map(|(key, _)| fault(&policy.whole, &key, &key, ""));
        let mut faults: Vec<Fault> = keys.collect();
        let whole = (&policy.whole, policy.keys.mode, policy.keys.unique);
        let sections = policy.sections.iter().zip(&policy.keys.section);
        let sections = sections.map(|(table, keys)| (table, keys.mode, keys.unique));
        let tables = || iter::once(whole).chain(sections.clone());
        if self.map.on_violation == OnViolation::Reject
            && new.map.on_violation == OnViolation::Normalize
        {
            let table = tables().find(|(_, mode, _)| *mode == Some(Mode::Normalize));
            let table = table.map_or(&policy.whole, |(table, ..)| table);
            let more = ", with a section that has it from the start, for users = [\"nobody\"]";
            faults.push(fault(table, "mode", "mode normalize", more));
        }
        if new.unique.is_some() && self.unique != new.unique {
            let table = tables().find(|(.., unique)| unique.is_some());
            let table = table.map_or(&policy.whole, |(table, ..)| table);
            faults.push(fault(table, "unique", "unique", ""));
        }
        let lines = faults.iter().map(|fault| fault.line(&policy.text));
        lines.collect()
    }
}

/// Resolves which names conform, and what the others are shown as.
///
/// # Errors
/// Keys that contradict each other.
pub fn name_map(keys: &PolicyFile) -> Result<NameMap, CommandError> {
    let mut from = List::values(&keys.from).to_vec();
    if let Some(charset) = keys.store_as {
        // What is stored must be read back, and by the charset that it was stored in.
        from.retain(|other| *other != charset);
        from.insert(0, charset);
    }
    let legacy = keys.legacy.unwrap_or(match from.is_empty() {
        true => Legacy::Escape,
        false => Legacy::Decode,
    });
    if legacy == Legacy::Decode && from.is_empty() {
        let message = "--legacy decode without --from: there is no charset to decode from";
        let hint = "name it, as in --from iso-8859-1, or use --legacy escape";
        return Err(CommandError::usage(message).hint(hint));
    }
    if let Some(charset) = keys.store_as.filter(|_| legacy != Legacy::Decode) {
        let message = format!("--store-as {} needs --legacy decode", charset.label());
        return Err(CommandError::usage(message).hint("leave --legacy out"));
    }
    let mut policy = keys.profile.unwrap_or_default().policy();
    policy.encoding = keys.encoding.unwrap_or(policy.encoding);
    policy.max_bytes = keys.max_bytes.unwrap_or(policy.max_bytes);
    policy.max_chars = keys.max_chars.or(policy.max_chars);
    policy.form = keys.normalization.map_or(policy.form, Normalization::form);
    policy.forbid(List::values(&keys.forbid));
    Ok(NameMap {
        policy,
        legacy,
        from,
        store_as: keys.store_as,
        on_violation: match keys.mode {
            Some(Mode::Normalize) => OnViolation::Normalize,
            Some(Mode::Report | Mode::Off) => OnViolation::Report,
            Some(Mode::Enforce) | None => OnViolation::Reject,
        },
        errno: keys.errno.unwrap_or_default(),
    })
}

/// Resolves a section: its own keys, else those of the mount. `whole` is the mount's comparison of siblings; `unique`
/// is the one comparison that all sections share. In the audit log the section goes by its `name`, or as `#N`.
fn resolve_section(
    section: &PolicySection,
    number: u32,
    people: Option<People>,
    all: &Terms,
    whole: Option<Alike>,
    unique: Option<Alike>,
) -> Section {
    let mut map = all.map.clone();
    map.policy.forbid(List::values(&section.forbid));
    if let Some(limit) = section.max_bytes {
        map.policy.max_bytes = limit.min(map.policy.max_bytes);
    }
    if let Some(limit) = section.max_chars {
        map.policy.max_chars = Some(limit.min(map.policy.max_chars.unwrap_or(usize::MAX)));
    }
    map.errno = section.errno.unwrap_or(map.errno);
    let mode = section.mode.unwrap_or(all.mode);
    let name = section.name.as_deref().unwrap_or_default();
    let name = match name.get(..name.floor_char_boundary(LONGEST_NAME)) {
        Some(name) if !name.is_empty() => Arc::from(name),
        _ => format!("#{number}").into(),
    };
    let compared = match section.unique {
        Some(how) => how.0.and(unique),
        None => whole,
    };
    Section {
        // Each was checked on its own; all together they are too many at most, and then match nothing.
        paths: Patterns::new(List::values(&section.path)).unwrap_or_default(),
        people,
        terms: Arc::new(Terms {
            mode,
            map,
            unique: compared.filter(|_| mode != Mode::Off),
            section: Some(name),
        }),
    }
}
