//! Checks of what a policy says, beyond its syntax: what is wrong, contradictory, or without effect.

use std::collections::BTreeSet;
use std::path::Path;

use super::LoadedPolicy;
use super::policy_faults::{Fault, Place, Table};
use super::resolved_policy::ResolvedPolicy;
use crate::codec::Charset;
use crate::daemon::command_error::CommandError;
use crate::daemon::mount_paths::{Ruled, directory_of};
use crate::names::rules::Mode;
use crate::names::{Legacy, Patterns, Quoted};
use crate::os::user_tables::number_in;
use crate::policy::{NAME_MAX, SMALLEST_LIMIT};
use crate::records::{Comparison, Id, List, PolicyFile, PolicySection, SinkKind};

/// Returns the faults of a policy. `ruled` are the directories of the mount, if there is one.
pub(super) fn faults(policy: &LoadedPolicy, ruled: &[Ruled]) -> Vec<Fault> {
    let mut checks = Checks {
        policy,
        ruled,
        faults: Vec::new(),
    };
    let LoadedPolicy { keys, whole, .. } = policy;
    if keys.store_as.is_some() && keys.legacy.is_some_and(|legacy| legacy != Legacy::Decode) {
        let message = "legacy contradicts store_as, which needs names to be decoded";
        checks.faults.push(whole.error("legacy", message));
    }
    checks.check_limits(whole, keys.max_bytes, keys.max_chars);
    checks.check_patterns(whole, "exempt", &keys.exempt);
    checks.check_ids(whole, "exempt_uid", &keys.exempt_uid);
    checks.check_sections();
    checks.faults
}

impl LoadedPolicy {
    /// Adds what keeps the policy from being in force where no option is given beside it, or some are.
    pub fn check_alone(&mut self) {
        let mut options = PolicyFile::default();
        let (keys, whole, faults) = (&self.keys, &self.whole, &mut self.faults);
        let has_charsets = !List::values(&keys.from).is_empty() || keys.store_as.is_some();
        if keys.legacy == Some(Legacy::Decode) && !has_charsets {
            let message = "legacy is decode without from: it can be in force only where --from is given as well";
            faults.insert(whole.warning("legacy", message));
            options.from = Some(List(Charset::all().take(1).collect()));
        }
        match &keys.audit_log {
            Some(SinkKind::Stderr) => {
                let message =
                    "audit_log is standard error: it can be in force only without --background";
                faults.insert(whole.warning("audit_log", message));
            }
            Some(SinkKind::File(path)) => {
                if let Err(CommandError { message, hint, .. }) = directory_of("audit log", path) {
                    let message = format!("audit_log: {message}; {}", hint.unwrap_or_default());
                    faults.insert(whole.error("audit_log", message));
                }
            }
            Some(SinkKind::Syslog | SinkKind::Journal(_)) | None => {}
        }
        if self.check().is_ok()
            && let Err(error) = ResolvedPolicy::new(options, self)
        {
            self.faults
                .insert(Fault::error(Place::default(), error.message));
        }
    }
}

/// A policy, and its faults so far.
struct Checks<'p> {
    policy: &'p LoadedPolicy,
    ruled: &'p [Ruled],
    faults: Vec<Fault>,
}

impl Checks<'_> {
    /// Checks the limits of names.
    fn check_limits(&mut self, table: &Table, max_bytes: Option<usize>, max_chars: Option<usize>) {
        if max_bytes.is_some_and(|limit| !(SMALLEST_LIMIT..=NAME_MAX).contains(&limit)) {
            let message = format!("max_bytes must be {SMALLEST_LIMIT} to {NAME_MAX}");
            self.faults.push(table.error("max_bytes", message));
        }
        if max_chars.is_some_and(|limit| limit < SMALLEST_LIMIT) {
            let message = format!("max_chars must be {SMALLEST_LIMIT} or more");
            self.faults.push(table.error("max_chars", message));
        }
    }

    /// Checks patterns. Those that begin with a directory that the policy rules match nothing.
    fn check_patterns(&mut self, table: &Table, key: &str, list: &Option<List<String>>) {
        for pattern in List::values(list) {
            let shown = Quoted::of(pattern);
            if let Err(error) = Patterns::new(std::slice::from_ref(pattern)) {
                let message = format!("{key}: {shown} is not a pattern: {}", error.reason);
                self.faults.push(table.error(key, message));
            }
            let is_in = |(directory, _): &&Ruled| {
                directory.parent().is_some() && Path::new(pattern).starts_with(directory)
            };
            if let Some((_, what)) = self.ruled.iter().find(is_in) {
                let message = format!(
                    "{key}: {shown} begins with the {what}; paths begin at the root of the mount"
                );
                self.faults.push(table.warning(key, message));
            }
        }
    }

    /// Checks users or groups. A name that the system does not know matches nobody.
    fn check_ids(&mut self, table: &Table, key: &str, list: &Option<List<Id>>) {
        let text = &self.policy.text;
        let (what, file, known) = match key {
            "groups" => ("group", "group", text.group.as_bytes()),
            _ => ("user", "passwd", text.passwd.as_bytes()),
        };
        for id in List::values(list) {
            match id {
                // The last one is that of nobody at all: chown(2).
                Id::Number(u32::MAX) => self
                    .faults
                    .push(table.error(key, format!("{key} is out of range"))),
                Id::Name(name) if number_in(known, name).is_none() => {
                    let remedy = match name.parse::<u32>() {
                        Ok(number) => format!("write {number} without quotes"),
                        Err(_) => format!("names are those of /etc/{file}, others go by number"),
                    };
                    let name = Quoted::of(name);
                    let message = format!("{key}: unknown {what} {name} matches nobody; {remedy}");
                    self.faults.push(table.warning(key, message));
                }
                Id::Number(_) | Id::Name(_) => {}
            }
        }
    }

    fn check_sections(&mut self) {
        let (text, keys) = (&self.policy.text, &self.policy.keys);
        let (whole, sections) = (&self.policy.whole, &self.policy.sections);
        // Siblings are compared in one way on a mount.
        let compares = |unique: Option<Comparison>| unique.and_then(|how| how.0);
        let mut compared = compares(keys.unique).zip(whole.place("unique"));
        for ((index, section), table) in keys.section.iter().enumerate().zip(sections) {
            self.check_limits(table, section.max_bytes, section.max_chars);
            let limits = [
                ("max_bytes", section.max_bytes.zip(keys.max_bytes)),
                ("max_chars", section.max_chars.zip(keys.max_chars)),
            ];
            for (key, limits) in limits {
                if let Some((_, limit)) = limits.filter(|(own, whole)| own > whole) {
                    let at = text.line(whole.at(key));
                    let message = format!(
                        "{key} is more than the {limit} of the whole mount ({at}); a section can only be stricter"
                    );
                    self.faults.push(table.error(key, message));
                }
            }
            self.check_patterns(table, "path", &section.path);
            self.check_ids(table, "users", &section.users);
            self.check_ids(table, "groups", &section.groups);
            let lengths = [
                ("path", section.path.as_ref().map(|list| list.0.len())),
                ("users", section.users.as_ref().map(|list| list.0.len())),
                ("groups", section.groups.as_ref().map(|list| list.0.len())),
            ];
            for (key, _) in lengths.into_iter().filter(|(_, length)| *length == Some(0)) {
                let message = format!("{key} is empty: leave it out if the section is for all");
                self.faults.push(table.error(key, message));
            }
            match (compares(section.unique), compared) {
                (Some(how), Some((other, first))) if other != how => {
                    let (other, at) = (<&str>::from(other), text.line(first));
                    let message = format!(
                        "unique contradicts {other} of {at}: names of a mount are compared in one way"
                    );
                    self.faults.push(table.error("unique", message));
                }
                (Some(how), None) => compared = Some((how, table.at("unique"))),
                (_, Some(_)) | (None, None) => {}
            }
            let idle: &[&str] = match section.mode {
                Some(Mode::Report) => &["errno"],
                Some(Mode::Off) => &["forbid", "max_bytes", "max_chars", "unique", "errno"],
                Some(Mode::Enforce | Mode::Normalize) | None => &[],
            };
            let mode = section.mode.map_or("", Into::into);
            for key in idle.iter().filter(|key| table.keys.contains_key(**key)) {
                let message = format!("{key} has no effect: mode is {mode} here");
                self.faults.push(table.warning(key, message));
            }
            let mut earlier = keys.section.iter().take(index).zip(sections);
            if let Some((_, first)) = earlier.find(|(earlier, _)| covers(earlier, section)) {
                let at = text.line(first.start);
                let message = format!(
                    "this section is never reached: that of {at} holds for all that it holds for"
                );
                self.faults.push(table.warning("", message));
            }
        }
    }
}

/// Does `earlier` hold wherever `later` does, as far as their words tell?
fn covers(earlier: &PolicySection, later: &PolicySection) -> bool {
    fn within<T: Ord>(few: &Option<List<T>>, many: &Option<List<T>>) -> bool {
        let many: BTreeSet<&T> = List::values(many).iter().collect();
        List::values(few).iter().all(|item| many.contains(item))
    }
    let is_for_all = |section: &PolicySection| section.users.is_none() && section.groups.is_none();
    let paths = List::values(&earlier.path);
    let is_everywhere =
        earlier.path.is_none() || paths.iter().any(|path| path == "*" || path == "/**");
    // `/a/**` holds for all patterns that begin with `/a/`, if it is no pattern itself before that.
    let is_below = |path: &String| {
        let mut tops = paths.iter().filter_map(|path| path.strip_suffix("**"));
        tops.any(|top| !top.contains(['*', '?', '[', '{', '\\']) && path.starts_with(top))
    };
    let holds_there = is_everywhere
        || later.path.is_some()
            && (within(&later.path, &earlier.path)
                || List::values(&later.path).iter().all(is_below));
    let holds_for_those = is_for_all(earlier)
        || !is_for_all(later)
            && within(&later.users, &earlier.users)
            && within(&later.groups, &earlier.groups);
    holds_there && holds_for_those
}
