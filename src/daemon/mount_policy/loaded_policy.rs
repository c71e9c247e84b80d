//! The files of a policy as one.

use toml::de::DeTable;

use super::policy_checks;
use super::policy_faults::{self, Fault, Place, Table};
use crate::daemon::command_error::CommandError;
use crate::daemon::mount_paths::Ruled;
use crate::records::{PolicyFile, PolicyText, nearest, table_fault};

/// A policy as its files say it.
#[derive(Debug, Clone, Default)]
pub struct LoadedPolicy {
    pub(super) text: PolicyText,
    /// For each key what was said first: by the file itself, then by those that it includes, in order.
    pub keys: PolicyFile,
    pub(super) whole: Table,
    /// The tables of the sections, in the order of `keys.section`.
    pub(super) sections: Vec<Table>,
    faults: Vec<Fault>,
}

impl LoadedPolicy {
    /// Merges the files, and checks what they say. `ruled` are the directories of the mount, if there is one.
    pub(super) fn new(text: PolicyText, ruled: &[Ruled]) -> Self {
        let mut policy = Self::default();
        // The place of the key `include` of each file.
        let mut includes: Vec<Place> = Vec::new();
        for (file, source) in text.files.iter().enumerate() {
            let start = Place { file, offset: 0 };
            let from = source.included_by.and_then(|index| includes.get(index));
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
                    policy.faults.push(Fault::error(place, message));
                    Table::default()
                }
            };
            includes.push(whole.keys.get("include").copied().unwrap_or(start));
            for (key, place) in whole.keys {
                policy.whole.keys.entry(key).or_insert(place);
            }
        }
        policy.text = text;
        let faults = policy_checks::faults(&policy, ruled);
        policy.faults.extend(faults);
        policy
    }

    /// Adds what keeps the policy from being in force where no option is given beside it, or some are.
    pub fn check_alone(&mut self) {
        let faults = policy_checks::faults_alone(self);
        self.faults.extend(faults);
    }

    /// Adds what a file says; returns the places of its keys.
    fn add(&mut self, file: usize, content: &str) -> Table {
        let keys = match PolicyFile::parse(content) {
            Ok(keys) => keys,
            Err(faults) => {
                for fault in faults {
                    let offset = fault.span().map_or(content.len(), |span| span.start);
                    let text = with_remedy(&table_fault(&fault, "section"));
                    self.faults.push(Fault::error(Place { file, offset }, text));
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
        policy_faults::line(&self.text, place)
    }

    /// Returns the path of the file itself, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        policy_faults::shown(&self.text, 0)
    }

    /// Returns each fault once, in the order of the files.
    fn faults(&self) -> impl Iterator<Item = &Fault> {
        let mut all: Vec<&Fault> = self.faults.iter().collect();
        all.sort_by_key(|fault| fault.place);
        all.dedup();
        all.into_iter()
    }

    fn errors(&self) -> impl Iterator<Item = &Fault> {
        self.faults().filter(|fault| fault.is_error)
    }

    /// Returns a line for each fault, in the order of the files.
    #[must_use]
    pub fn fault_lines(&self) -> Vec<String> {
        self.faults().map(|fault| fault.line(&self.text)).collect()
    }

    /// Returns a line for each fault that keeps the policy from being in force.
    pub(in crate::daemon) fn error_lines(&self) -> Vec<String> {
        self.errors().map(|fault| fault.line(&self.text)).collect()
    }

    /// Can the policy be put in force?
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Logs the warnings.
    pub(in crate::daemon) fn warn(&self) {
        for fault in self.faults().filter(|fault| !fault.is_error) {
            log::warn!("policy: {}", fault.line(&self.text));
        }
    }

    /// Returns the error of a policy that cannot be put in force: its first fault, and as a hint the number of the others.
    pub(super) fn refusal(&self) -> CommandError {
        let mut errors = self.errors();
        let first = errors.next().map(|Fault { place, message, .. }| {
            let place = policy_faults::place(&self.text, *place);
            format!("{place}: {message}")
        });
        let first = first.unwrap_or_else(|| "the policy is wrong".to_owned());
        CommandError::usage(first).hint(match errors.count() {
            0 => "'utf8fs policy check FILE' checks a file".to_owned(),
            more => format!("there are {more} more; 'utf8fs policy check FILE' lists them"),
        })
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
