//! The files of a policy as one, and what is contradictory in it.

use std::path::Path;

use toml::de::DeTable;

use super::policy_checks::{
    check_ids, check_limits, check_not_empty, check_patterns, compares, covers,
};
use super::policy_directory::Ruled;
use super::policy_faults::{self, Fault, Faults, Place, Severity, Table, line};
use super::resolved_policy::{ResolvedPolicy, charset};
use crate::daemon::audit_config::log_sink;
use crate::daemon::auditor::SinkKind;
use crate::daemon::mount_paths::log_directory;
use crate::daemon::start_error::StartError;
use crate::names::rules::Mode;
use crate::names::{Legacy, Quoted};
use crate::records::{List, PolicyFile, PolicyText, nearest, table_fault};

/// A policy as its files say it.
#[derive(Debug, Clone, Default)]
pub struct LoadedPolicy {
    pub(super) text: PolicyText,
    /// For each key what was said first: by the file itself, then by those that it includes, in order.
    pub keys: PolicyFile,
    whole: Table,
    /// The tables of the sections, in the order of `keys.section`.
    sections: Vec<Table>,
    pub(super) faults: Faults,
}

impl LoadedPolicy {
    /// Merges the files, and checks what they say.
    pub(super) fn new(text: PolicyText) -> Self {
        let mut policy = Self::default();
        // The place of the key `include` of each file.
        let mut includes: Vec<Place> = Vec::new();
        for (file, source) in text.files.iter().enumerate() {
            let start = Place { file, offset: 0 };
            let from = source
                .included_by
                .and_then(|including| includes.get(including));
            let whole = match &source.text {
                Ok(content) => policy.add(file, content),
                Err(why) => {
                    let (place, message) = match from {
                        Some(from) => {
                            let shown = policy_faults::shown(&text, file);
                            (*from, format!("include: {shown} {why}"))
                        }
                        None => (start, why.clone()),
                    };
                    policy.faults.error(place, message);
                    Table::default()
                }
            };
            includes.push(whole.keys.get("include").copied().unwrap_or(start));
            for (key, place) in whole.keys {
                policy.whole.keys.entry(key).or_insert(place);
            }
        }
        policy.text = text;
        policy.check_whole();
        policy.check_sections();
        policy
    }

    /// Adds what a file says; returns the places of its keys.
    fn add(&mut self, file: usize, content: &str) -> Table {
        let keys = match PolicyFile::parse(content) {
            Ok(keys) => keys,
            Err(faults) => {
                for fault in faults {
                    let offset = fault.span().map_or(content.len(), |span| span.start);
                    let text = with_remedy(&table_fault(&fault, "section"));
                    self.faults.error(Place { file, offset }, text);
                }
                return Table::default();
            }
        };
        let (whole, sections) = tables(file, content);
        self.keys = std::mem::take(&mut self.keys).or(keys);
        self.sections.extend(sections);
        whole
    }

    /// Returns where the key is said of the whole mount.
    #[must_use]
    pub fn place(&self, key: &str) -> Option<Place> {
        self.whole.keys.get(key).copied()
    }

    /// Returns where a section begins.
    #[must_use]
    pub fn section_place(&self, section: usize) -> Option<Place> {
        self.sections.get(section).map(|table| table.start)
    }

    /// Returns where the key is said in a section.
    #[must_use]
    pub fn place_in(&self, section: usize, key: &str) -> Option<Place> {
        self.sections.get(section)?.keys.get(key).copied()
    }

    /// Returns `FILE:LINE`.
    #[must_use]
    pub fn line(&self, place: Place) -> String {
        line(&self.text, place)
    }

    /// Returns the path of the file itself, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        policy_faults::shown(&self.text, 0)
    }

    /// Returns a line for each fault, in the order of the files.
    #[must_use]
    pub fn fault_lines(&self) -> Vec<String> {
        let faults = self.faults.in_order();
        faults.map(|fault| fault.line(&self.text)).collect()
    }

    /// Returns a line for each fault that keeps the policy from being in force.
    pub(in crate::daemon) fn error_lines(&self) -> Vec<String> {
        let errors = self.faults.of(Severity::Error);
        errors.map(|fault| fault.line(&self.text)).collect()
    }

    /// Formats an error as the faults of the policy are.
    pub(super) fn error_line(&self, place: Place, message: String) -> String {
        let severity = Severity::Error;
        let fault = Fault {
            place,
            severity,
            message,
        };
        fault.line(&self.text)
    }

    /// Can the policy be put in force?
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.faults.is_fatal()
    }

    /// Logs the warnings.
    pub(in crate::daemon) fn warn(&self) {
        for fault in self.faults.of(Severity::Warning) {
            log::warn!("policy: {}", fault.line(&self.text));
        }
    }

    /// Returns the error of a policy that cannot be put in force: its first fault, and as a hint the number of the others.
    pub(super) fn refusal(&self) -> StartError {
        let mut errors = self.faults.of(Severity::Error);
        let first = errors.next().map(|fault| {
            let place = policy_faults::place(&self.text, fault.place);
            format!("{place}: {}", fault.message)
        });
        let first = first.unwrap_or_else(|| "the policy is wrong".to_owned());
        StartError::usage(first).hint(match errors.count() {
            0 => "'utf8fs policy check FILE' checks a file".to_owned(),
            more => format!("there are {more} more; 'utf8fs policy check FILE' lists them"),
        })
    }

    fn check_whole(&mut self) {
        let Self {
            text,
            keys,
            whole,
            faults,
            ..
        } = self;
        if keys.store_as.is_some() && keys.legacy.is_some_and(|legacy| legacy != Legacy::Decode) {
            let message = "legacy contradicts store_as, which needs names to be decoded";
            faults.error(whole.at("legacy"), message);
        }
        if let Some(log) = &keys.audit_log
            && let Err(error) = log_sink(log)
        {
            faults.wrong_value(whole, "audit_log", &error);
        }
        let from = keys.from.iter().flat_map(|from| &from.0);
        let labels = from.map(|label| ("from", label));
        for (key, label) in labels.chain(keys.store_as.iter().map(|label| ("store_as", label))) {
            if let Err(error) = charset(key, label) {
                faults.wrong_value(whole, key, &error);
            }
        }
        check_limits(faults, whole, keys.max_bytes, keys.max_chars);
        check_patterns(faults, whole, "exempt", &keys.exempt);
        check_ids(faults, text, whole, "exempt_uid", &keys.exempt_uid);
    }

    /// Adds what keeps the policy from being in force where no option is given beside it, or some are.
    pub(super) fn check_alone(&mut self) {
        let mut options = PolicyFile::default();
        let Self {
            keys,
            whole,
            faults,
            ..
        } = self;
        let has_charsets = keys.from.as_ref().is_some_and(|from| !from.0.is_empty());
        if keys.legacy == Some(Legacy::Decode) && !has_charsets && keys.store_as.is_none() {
            let message = "legacy is decode without from: it can be in force only where --from is given as well";
            faults.warning(whole.at("legacy"), message);
            options.from = Some(List(vec!["iso-8859-1".to_owned()]));
        }
        match keys.audit_log.as_ref().map(log_sink) {
            Some(Ok(SinkKind::Stderr)) => {
                let message =
                    "audit_log is standard error: it can be in force only without --background";
                faults.warning(whole.at("audit_log"), message);
            }
            Some(Ok(SinkKind::File(path))) => {
                if let Err(error) = log_directory(&path) {
                    faults.wrong_value(whole, "audit_log", &error);
                }
            }
            Some(Ok(SinkKind::Syslog | SinkKind::Journal(_)) | Err(_)) | None => {}
        }
        if self.is_valid()
            && let Err(error) = ResolvedPolicy::new(options, self)
        {
            self.faults.error(Place::default(), error.message);
        }
    }

    /// Warns of patterns that begin with a directory that the policy rules: they match nothing.
    pub(super) fn check_paths(&mut self, ruled: &[Ruled]) {
        let sections = self.keys.section.iter().zip(&self.sections);
        let sections = sections.map(|(section, table)| ("path", &section.path, table));
        let whole = ("exempt", &self.keys.exempt, &self.whole);
        for (key, patterns, table) in sections.chain([whole]) {
            for pattern in patterns.iter().flat_map(|list| &list.0) {
                let is_in = |directory: &Path| {
                    directory.parent().is_some() && Path::new(pattern).starts_with(directory)
                };
                if let Some((_, what)) = ruled.iter().find(|(directory, _)| is_in(directory)) {
                    let pattern = Quoted(pattern.as_bytes());
                    let message = format!(
                        "{key}: {pattern} begins with the {what}; paths begin at the root of the mount"
                    );
                    self.faults.warning(table.at(key), message);
                }
            }
        }
    }

    fn check_sections(&mut self) {
        let Self {
            text,
            keys,
            whole,
            sections,
            faults,
        } = self;
        // Siblings are compared in one way on a mount.
        let mut compared = compares(keys.unique).zip(whole.keys.get("unique").copied());
        for ((index, section), table) in keys.section.iter().enumerate().zip(&*sections) {
            check_limits(faults, table, section.max_bytes, section.max_chars);
            let limits = [
                ("max_bytes", section.max_bytes.zip(keys.max_bytes)),
                ("max_chars", section.max_chars.zip(keys.max_chars)),
            ];
            for (key, limits) in limits {
                if let Some((_, limit)) = limits.filter(|(own, whole)| own > whole) {
                    let at = line(text, whole.at(key));
                    let message = format!(
                        "{key} is more than the {limit} of the whole mount ({at}); a section can only be stricter"
                    );
                    faults.error(table.at(key), message);
                }
            }
            check_patterns(faults, table, "path", &section.path);
            check_ids(faults, text, table, "users", &section.users);
            check_ids(faults, text, table, "groups", &section.groups);
            check_not_empty(faults, table, "path", &section.path);
            check_not_empty(faults, table, "users", &section.users);
            check_not_empty(faults, table, "groups", &section.groups);
            match (compares(section.unique), compared) {
                (Some(how), Some((other, first))) if other != how => {
                    let (other, at) = (<&str>::from(other), line(text, first));
                    let message = format!(
                        "unique contradicts {other} of {at}: names of a mount are compared in one way"
                    );
                    faults.error(table.at("unique"), message);
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
                faults.warning(table.at(key), message);
            }
            let mut earlier = keys.section.iter().take(index).zip(&*sections);
            if let Some((_, first)) = earlier.find(|(earlier, _)| covers(earlier, section)) {
                let at = line(text, first.start);
                let message = format!(
                    "this section is never reached: that of {at} holds for all that it holds for"
                );
                faults.warning(table.start, message);
            }
        }
    }
}

/// Returns the places of the keys of a file, and those of each section.
fn tables(file: usize, text: &str) -> (Table, Vec<Table>) {
    let table = |start: usize, keys: &DeTable<'_>| {
        let place = |offset| Place { file, offset };
        let keys = keys.iter();
        let keys = keys.map(|(key, value)| (key.get_ref().to_string(), place(value.span().start)));
        Table {
            start: place(start),
            keys: keys.collect(),
        }
    };
    let (document, _faults) = DeTable::parse_recoverable(text);
    let sections = document.get_ref().get("section");
    let sections = sections.and_then(|sections| sections.get_ref().as_array());
    let sections = sections.into_iter().flat_map(|all| all.iter());
    let sections = sections.filter_map(|section| {
        let keys = section.get_ref().as_table()?;
        Some(table(section.span().start, keys))
    });
    (table(0, document.get_ref()), sections.collect())
}

/// Says what to write instead: the key that was meant, if an unknown one is similar to it, or the place where it belongs.
fn with_remedy(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let key = quoted.next().unwrap_or_default();
    match nearest(key, quoted) {
        _ if message.starts_with("unknown field")
            && PolicyFile::default().by_key().contains_key(key) =>
        {
            let instead = match key {
                "profile" => "; a section has forbid, such as forbid = [\"not-posix\"]",
                _ => "",
            };
            format!("`{key}` belongs above the first [[section]]{instead}")
        }
        Some(near) if message.starts_with("unknown field") => {
            format!("unknown field `{key}`; did you mean `{near}`?")
        }
        _ => message.to_owned(),
    }
}
