//! The files of a policy as one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toml::de::DeTable;

use super::policy_checks;
use super::policy_faults::{Fault, Place, Table};
use super::policy_source::table_fault;
use crate::daemon::command_error::{CommandError, nearest};
use crate::daemon::mount_paths::Ruled;
use crate::os::user_tables::number_in;
use crate::records::{Id, List, PolicyFile, PolicySection, PolicyText};

/// A policy as its files say it.
#[derive(Debug, Clone, Default)]
pub struct LoadedPolicy {
    /// The files.
    pub text: PolicyText,
    /// For each key what was said first: by the file itself, then by those that it includes, in order.
    pub keys: PolicyFile,
    /// The places of those keys.
    pub whole: Table,
    /// The tables of the sections, in the order of `keys.section`.
    pub(super) sections: Vec<Table>,
    /// In the order of the files.
    pub(super) faults: BTreeSet<Fault>,
}

impl LoadedPolicy {
    /// Merges the files, and checks what they say. `ruled` are the directories of the mount, if there is one.
    pub(super) fn new(text: PolicyText, ruled: &[Ruled]) -> Self {
        let mut policy = Self::default();
        // The places of the keys of each file.
        let mut tables: Vec<Table> = Vec::new();
        for (file, source) in text.files.iter().enumerate() {
            let table = match &source.text {
                Ok(content) => policy.add(file, content),
                Err(why) => {
                    let includer = source.included_by.and_then(|index| tables.get(index));
                    let shown = text.shown(file);
                    policy.faults.insert(match includer {
                        Some(table) => table.error("include", format!("include: {shown} {why}")),
                        None => Fault::error(Place { file, offset: 0 }, why),
                    });
                    Table::default()
                }
            };
            for (key, place) in &table.keys {
                policy.whole.keys.entry(key.clone()).or_insert(*place);
            }
            tables.push(table);
        }
        policy.text = text;
        let faults = policy_checks::faults(&policy, ruled);
        policy.faults.extend(faults);
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
                    let fault = Fault::error(Place { file, offset }, text);
                    self.faults.insert(fault);
                }
                return Table::default();
            }
        };
        let (whole, sections) = tables(file, content);
        self.keys = std::mem::take(&mut self.keys).or(keys);
        self.sections.extend(sections);
        whole
    }

    /// Returns a section, with its places.
    pub fn section(&self, index: usize) -> Option<(&PolicySection, &Table)> {
        self.keys.section.get(index).zip(self.sections.get(index))
    }

    /// Returns the numbers of users. One that the system does not know has none.
    pub fn users(&self, list: &Option<List<Id>>) -> Vec<u32> {
        ids(list, self.text.passwd.as_bytes())
    }

    /// Returns the numbers of groups. One that the system does not know has none.
    pub fn groups(&self, list: &Option<List<Id>>) -> Vec<u32> {
        ids(list, self.text.group.as_bytes())
    }

    /// Returns the faults that keep the policy from being in force.
    pub(super) fn errors(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(|fault| !fault.is_warning)
    }

    /// Returns a line for each fault, in the order of the files.
    pub fn fault_lines(&self) -> Vec<String> {
        let lines = self.faults.iter().map(|fault| fault.line(&self.text));
        lines.collect()
    }

    /// Logs the warnings.
    pub(in crate::daemon) fn warn(&self) {
        for fault in self.faults.iter().filter(|fault| fault.is_warning) {
            log::warn!("policy: {}", fault.line(&self.text));
        }
    }

    /// Checks whether the policy can be put in force.
    ///
    /// # Errors
    /// Its first fault, and as a hint the number of the others.
    pub fn check(&self) -> Result<(), CommandError> {
        let mut errors = self.errors();
        let Some(Fault { place, message, .. }) = errors.next() else {
            return Ok(());
        };
        let place = self.text.place(*place);
        let error = CommandError::usage(format!("{place}: {message}"));
        Err(error.hint(match errors.count() {
            0 => "'utf8fs policy check FILE' checks a file".to_owned(),
            more => format!("there are {more} more; 'utf8fs policy check FILE' lists them"),
        }))
    }
}

/// Returns the numbers of users or groups, by their table.
fn ids(list: &Option<List<Id>>, table: &[u8]) -> Vec<u32> {
    let numbers = List::values(list).iter().filter_map(|id| match id {
        Id::Number(number) => Some(*number),
        Id::Name(name) => number_in(table, name),
    });
    numbers.collect()
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

impl PolicyFile {
    /// Adds what `other` says and this one does not. Sections of `other` come last, and its includes are left out.
    ///
    /// # Panics
    /// A key does not come through JSON unchanged, which a test rules out.
    pub(super) fn or(mut self, mut other: Self) -> Self {
        self.section.append(&mut other.section);
        let mut keys = other.by_key();
        let said = self.by_key().into_iter();
        keys.extend(said.filter(|(_, value)| !value.is_null()));
        serde_json::from_value(Value::Object(keys))
            .expect("invariant: a policy goes through JSON unchanged")
    }

    /// Returns the keys with their values; `null` for one that is not said.
    pub(super) fn by_key(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(keys)) => keys,
            Ok(_) | Err(_) => Map::new(),
        }
    }
}
