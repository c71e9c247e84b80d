//! What is told of a scan while it goes on: JSON lines, or paths. The keys are part of the interface (law L4;
//! docs/scanning.md).

use std::io;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::Done;
use super::readings::Readings;
use super::seal::Sealed;
use crate::cli::CliError;
use crate::cli::error::reason;
use crate::cli::explain::guess::{doubled_json, guess_json, worth_showing};
use crate::cli::output::print_shared;
use crate::names::{json_line, json_name};
use crate::tree::scan::{Counts, Directory, Finding, Listed, Rules, Sink, joined};

/// What is told of each name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing but the whole.
    Nothing,
    /// Its path, where it offends.
    Paths,
    /// A JSON object.
    Json,
}

/// Standard output, shared by the threads of a scan.
#[derive(Debug)]
pub(super) struct Lines {
    told: Told,
    /// The first time that it could not be written.
    failed: Mutex<Option<CliError>>,
    /// What was told, where that is to be sealed.
    sealed: Option<Mutex<Sealed>>,
}

impl Lines {
    pub(super) fn new(told: Told) -> Self {
        Self {
            told,
            failed: Mutex::new(None),
            sealed: None,
        }
    }

    /// Seals what is told, if so wished.
    pub(super) fn sealing(mut self, is_wished: bool) -> Self {
        self.sealed = is_wished.then(Mutex::default);
        self
    }

    /// What was told until now.
    pub(super) fn sealed(&self) -> Sealed {
        let sealed = self.sealed.as_ref();
        sealed.map_or_else(Sealed::default, |sealed| {
            *sealed.lock().unwrap_or_else(PoisonError::into_inner)
        })
    }

    /// Could all be written, or is the reader gone?
    pub(super) fn result(&self) -> Result<(), CliError> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }

    /// Tells of the whole, in JSON.
    pub(super) fn finish(&self, done: &Done<'_>) -> Result<(), CliError> {
        let mut out = String::new();
        let mut put = |value: &Value| {
            out.push_str(&json_line(value));
            out.push('\n');
        };
        for failure in &done.tally.left_out.first {
            let path = done.path(failure.root, &failure.path);
            put(&json!({"scan": "left-out", "path": json_name(&path)}));
        }
        for directory in &done.tally.worst {
            put(&directory_json(done, directory));
        }
        for guess in &done.tally.guesser.guesses() {
            put(&told_as("guess", guess_json(guess)));
        }
        if let Some(doubled) = &done.tally.guesser.doubled() {
            put(&told_as("guess", doubled_json(doubled)));
        }
        if let Some(part) = &done.part {
            out.push_str(part);
            out.push('\n');
        }
        out.push_str(&json_line(&total(done)));
        out.push('\n');
        print_shared(out.as_bytes())?;
        Ok(())
    }
}

impl Sink for Lines {
    fn is_told(&self) -> bool {
        self.told != Told::Nothing
    }

    fn entry(&self, out: &mut Vec<u8>, entry: &Listed<'_>) {
        match self.told {
            Told::Nothing => {}
            Told::Paths if !entry.is_offending => {}
            Told::Paths => {
                out.extend(joined(entry.directory, entry.name));
                out.push(0);
            }
            Told::Json => {
                out.extend(json_line(&entry_json(entry)).bytes());
                out.push(b'\n');
            }
        }
    }

    fn unread(&self, out: &mut Vec<u8>, path: &[u8], error: &io::Error) {
        if self.told == Told::Json {
            let line = json_line(&json!({
                "scan": "unread",
                "path": json_name(path),
                "reason": reason(error),
            }));
            out.extend(line.bytes());
            out.push(b'\n');
        }
    }

    fn take(&self, out: &[u8]) -> bool {
        if let Some(sealed) = &self.sealed {
            let mut these = Sealed::default();
            these.add_all(out);
            let mut all = sealed.lock().unwrap_or_else(PoisonError::into_inner);
            all.add_sealed(&these);
        }
        print_shared(out).unwrap_or_else(|error| {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
            false
        })
    }
}

fn told_as(what: &str, object: Value) -> Value {
    let mut told = Map::from_iter([("scan".to_owned(), json!(what))]);
    if let Value::Object(object) = object {
        told.extend(object);
    }
    Value::Object(told)
}

fn entry_json(entry: &Listed<'_>) -> Value {
    let found = entry.found.iter().map(|found| {
        json!({
            "finding": found.finding.label(),
            "kind": found.kind,
            "offset": found.place.map(|(offset, _)| offset),
            "length": found.place.map(|(_, length)| length),
        })
    });
    json!({
        "scan": "entry",
        "path": json_name(&joined(entry.directory, entry.name)),
        "name": json_name(entry.name),
        "offends": entry.is_offending,
        "found": found.collect::<Vec<_>>(),
        "like": entry.like.map(json_name),
    })
}

fn counts(counts: &Counts) -> Map<String, Value> {
    let found = Finding::ALL.map(|finding| (finding.label().to_owned(), json!(counts.of(finding))));
    let Value::Object(mut object) = json!({
        "names": counts.entries,
        "ascii": counts.ascii,
        "utf8": counts.beyond_ascii,
        "ill_formed": counts.ill_formed,
        "offending": counts.offending,
        "remarked": counts.remarked,
    }) else {
        return Map::new();
    };
    object.insert("found".to_owned(), Value::Object(Map::from_iter(found)));
    object
}

fn directory_json(done: &Done<'_>, directory: &Directory) -> Value {
    let guesses = Readings::of(directory.guesser.as_deref());
    let guesses = worth_showing(guesses.guesses())
        .map(|guess| json!({"charset": guess.charset.label(), "confidence": guess.confidence}));
    let path = done.path(directory.root, &directory.path);
    let Value::Object(mut object) = json!({"scan": "directory", "path": json_name(&path)}) else {
        return Value::Null;
    };
    object.extend(counts(&directory.counts));
    object.insert("guesses".to_owned(), guesses.collect());
    Value::Object(object)
}

fn total(done: &Done<'_>) -> Value {
    let tally = &done.tally;
    let kinds = tally.kinds.iter().map(|((finding, kind), names)| {
        json!({
            "finding": finding.label(),
            "kind": kind,
            "names": names,
            "offence": done.rules.is_offence(*finding),
        })
    });
    let kinds: Vec<Value> = kinds.collect();
    let Value::Object(mut object) = json!({
        "scan": "total",
        "format": 1,
        "roots": done.roots.iter().map(|root| json_name(root)).collect::<Vec<_>>(),
        "directories": tally.directories,
        "troubled_directories": tally.troubled_directories,
    }) else {
        return Value::Null;
    };
    object.extend(counts(&tally.counts));
    let Value::Object(rest) = json!({
        "kinds": kinds,
        "policy": policy(done.rules),
        "unread": tally.unread.count,
        "left_out": tally.left_out.count,
        "vanished": tally.vanished,
    }) else {
        return Value::Null;
    };
    object.extend(rest);
    Value::Object(object)
}

/// By what names were judged.
pub(super) fn policy(rules: &Rules) -> Value {
    let policy = rules.policy();
    let forbid: Vec<&str> = policy.forbid.iter().map(|class| class.label()).collect();
    let offences = Finding::ALL.into_iter();
    let offences = offences.filter(|finding| rules.is_offence(*finding));
    json!({
        "encoding": policy.encoding.label(),
        "normalization": policy.form.map_or("preserve", |form| form.label()),
        "forbid": forbid,
        "max_bytes": policy.max_bytes,
        "max_chars": policy.max_chars,
        "max_utf16": policy.max_utf16,
        "offences": offences.map(Finding::label).collect::<Vec<_>>(),
    })
}
