//! The files of a policy as one, and what is contradictory in it.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::policy_checks::{
    check_charset, check_ids, check_limits, check_patterns, compares, covers,
};
use super::policy_faults::{self, Fault, Faults, Place, Severity, line};
use super::resolved_policy::ResolvedPolicy;
use crate::daemon::audit::SinkKind;
use crate::daemon::audit_config::{log_sink, log_target};
use crate::daemon::mount_paths::log_directory;
use crate::daemon::start_error::StartError;
use crate::names::Legacy;
use crate::names::rules::Mode;
use crate::records::{List, PolicyFile, PolicyText};

/// The places of the keys of a table.
type Places = BTreeMap<String, Place>;

/// A policy as its files say it.
#[derive(Debug, Clone, Default)]
pub struct LoadedPolicy {
    pub(super) text: PolicyText,
    /// For each key what was said first: by the file itself, then by those that it includes, in order.
    pub keys: PolicyFile,
    places: Places,
    /// The places of the sections and of their keys, in the order of `keys.section`.
    sections: Vec<(Place, Places)>,
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
            let places = match &source.text {
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
                    Places::new()
                }
            };
            includes.push(places.get("include").copied().unwrap_or(start));
            for (key, place) in places {
                policy.places.entry(key).or_insert(place);
            }
        }
        policy.text = text;
        policy.check_top();
        policy.check_sections();
        policy
    }

    /// Adds what a file says; returns the places of its keys.
    fn add(&mut self, file: usize, content: &str) -> Places {
        let keys = match PolicyFile::parse(content) {
            Ok(keys) => keys,
            Err(faults) => {
                for fault in faults {
                    let offset = fault.offset;
                    self.faults.error(Place { file, offset }, fault.message);
                }
                return Places::new();
            }
        };
        let (places, sections) = places(file, content);
        self.keys = std::mem::take(&mut self.keys).or(keys);
        self.sections.extend(sections);
        places
    }

    /// Returns where the key is said of the whole mount.
    #[must_use]
    pub fn place(&self, key: &str) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// Returns where a section begins.
    #[must_use]
    pub fn section_place(&self, section: usize) -> Option<Place> {
        self.sections.get(section).map(|(place, _)| *place)
    }

    /// Returns where the key is said in a section.
    #[must_use]
    pub fn place_in(&self, section: usize, key: &str) -> Option<Place> {
        self.sections.get(section)?.1.get(key).copied()
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

    fn check_top(&mut self) {
        let Self {
            text,
            keys,
            places,
            faults,
            ..
        } = self;
        let at = |key: &str| places.get(key).copied().unwrap_or_default();
        let is_decoded = keys.legacy.is_none_or(|legacy| legacy == Legacy::Decode);
        if !is_decoded && keys.store_as.is_some() {
            let message = "legacy contradicts store_as, which needs names to be decoded";
            faults.error(at("legacy"), message);
        }
        if let Some(log) = &keys.audit_log
            && let Err(error) = log_sink(&log_target(log))
        {
            faults.error(at("audit_log"), format!("audit_log: {}", error.message));
        }
        let from = keys.from.iter().flat_map(|from| &from.0);
        let labels = from.map(|label| ("from", label));
        let labels = labels.chain(keys.store_as.iter().map(|label| ("store_as", label)));
        for (key, label) in labels {
            check_charset(faults, at(key), key, label);
        }
        check_limits(faults, at, keys.max_bytes, keys.max_chars);
        check_patterns(faults, at("exempt"), "exempt", keys.exempt.as_ref());
        check_ids(
            faults,
            at("exempt_uid"),
            "exempt_uid",
            &text.users,
            keys.exempt_uid.as_ref(),
        );
    }

    /// Adds what keeps the policy from being in force where no option is given beside it, or some are.
    pub(super) fn check_alone(&mut self) {
        let mut options = PolicyFile::default();
        let has_charsets = self
            .keys
            .from
            .as_ref()
            .is_some_and(|from| !from.0.is_empty());
        if self.keys.legacy == Some(Legacy::Decode) && !has_charsets && self.keys.store_as.is_none()
        {
            let message = "legacy is decode without from: it can be in force only where --from is given as well";
            self.faults
                .warning(self.place("legacy").unwrap_or_default(), message);
            options.from = Some(List(vec!["iso-8859-1".to_owned()]));
        }
        if let Some(log) = &self.keys.audit_log {
            let place = self.place("audit_log").unwrap_or_default();
            match log_sink(&log_target(log)) {
                Ok(SinkKind::Stderr) => {
                    let message =
                        "audit_log is standard error: it can be in force only without --background";
                    self.faults.warning(place, message);
                }
                Ok(SinkKind::File(path)) => {
                    if let Err(error) = log_directory(&path) {
                        self.faults
                            .error(place, format!("audit_log: {}", error.message));
                    }
                }
                Ok(SinkKind::Syslog | SinkKind::Journal(_)) | Err(_) => {}
            }
        }
        if self.is_valid()
            && let Err(error) = ResolvedPolicy::new(options, self)
        {
            self.faults.error(Place::default(), error.message);
        }
    }

    fn check_sections(&mut self) {
        let Self {
            text,
            keys,
            places,
            sections,
            faults,
        } = self;
        // Siblings are compared in one way on a mount.
        let mut compared = compares(keys.unique).zip(places.get("unique").copied());
        for (index, section) in keys.section.iter().enumerate() {
            let Some((place, own)) = sections.get(index) else {
                continue;
            };
            let at = |key: &str| own.get(key).copied().unwrap_or(*place);
            check_limits(faults, at, section.max_bytes, section.max_chars);
            let limits = [
                ("max_bytes", section.max_bytes, keys.max_bytes),
                ("max_chars", section.max_chars, keys.max_chars),
            ];
            for (key, own, whole) in limits {
                if let (Some(own), Some(whole), Some(of_whole)) = (own, whole, places.get(key))
                    && own > whole
                {
                    let of_whole = line(text, *of_whole);
                    let message = format!(
                        "{key} is more than the {whole} of the whole mount ({of_whole}); a section can only be stricter"
                    );
                    faults.error(at(key), message);
                }
            }
            check_patterns(faults, at("path"), "path", section.path.as_ref());
            check_ids(
                faults,
                at("users"),
                "users",
                &text.users,
                section.users.as_ref(),
            );
            check_ids(
                faults,
                at("groups"),
                "groups",
                &text.groups,
                section.groups.as_ref(),
            );
            let lists = [
                ("path", section.path.as_ref().map(|list| list.0.len())),
                ("users", section.users.as_ref().map(|list| list.0.len())),
                ("groups", section.groups.as_ref().map(|list| list.0.len())),
            ];
            for (key, _) in lists.iter().filter(|(_, length)| *length == Some(0)) {
                let message = format!("{key} is empty: leave it out if the section is for all");
                faults.error(at(key), message);
            }
            if let Some(how) = compares(section.unique) {
                match compared {
                    Some((other, first)) if other != how => {
                        let message = format!(
                            "unique contradicts {} of {}: names of a mount are compared in one way",
                            <&str>::from(other),
                            line(text, first)
                        );
                        faults.error(at("unique"), message);
                    }
                    Some(_) => {}
                    None => compared = Some((how, at("unique"))),
                }
            }
            let idle: &[&str] = match section.mode {
                Some(Mode::Report) => &["errno"],
                Some(Mode::Off) => &["forbid", "max_bytes", "max_chars", "unique", "errno"],
                Some(Mode::Enforce | Mode::Normalize) | None => &[],
            };
            let mode = section.mode.map_or("", Into::into);
            for (key, place) in idle.iter().filter_map(|key| Some((key, own.get(*key)?))) {
                faults.warning(*place, format!("{key} has no effect: mode is {mode} here"));
            }
            let earlier = keys.section.iter().take(index);
            let first = earlier
                .zip(&*sections)
                .find(|(earlier, _)| covers(earlier, section));
            if let Some((_, (earlier, _))) = first {
                let message = format!(
                    "this section is never reached: that of {} holds for all that it holds for",
                    line(text, *earlier)
                );
                faults.warning(*place, message);
            }
        }
    }
}

/// Returns the places of the keys of a file, and those of each section and its keys.
fn places(file: usize, text: &str) -> (Places, Vec<(Place, Places)>) {
    let keys = |table: &DeTable<'_>| -> Places {
        let keys = table.iter().map(|(key, value)| {
            let offset = value.span().start;
            (key.get_ref().to_string(), Place { file, offset })
        });
        keys.collect()
    };
    let (document, _faults) = DeTable::parse_recoverable(text);
    let sections = document
        .get_ref()
        .get("section")
        .map(|sections| sections.get_ref());
    let sections = sections
        .and_then(DeValue::as_array)
        .into_iter()
        .flat_map(|all| all.iter());
    let sections = sections.map(|section| {
        let offset = section.span().start;
        let own = section.get_ref().as_table().map(keys);
        (Place { file, offset }, own.unwrap_or_default())
    });
    (keys(document.get_ref()), sections.collect())
}
