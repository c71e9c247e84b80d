//! A scan as a page to look at: what `--json` reports of the whole, and tables of directories and names.
//!
//! Names come into the page as JSON in which nothing can end the element or the line, already quoted. Its script only
//! makes text nodes of them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::summary_text::{described, labels};
use crate::cli::output::path_or_dot;
use crate::cli::page::document;
use crate::cli::reason;
use crate::codec::guess::{Guesser, Mixture, doubly_encoded, likely};
use crate::records::{
    Directory, Finding, GuessRecord, Name, Sampled, ScanEntry, json_line, percent,
};
use crate::tree::scan::ScanDone;

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const BODY: &str = include_str!("page/page.html");

/// Most readings of a name.
const MOST: usize = 3;

/// Least likelihood of a reading.
const LEAST: f64 = 0.005;

/// The page of a scan.
pub(super) fn page(done: &ScanDone) -> String {
    let body = [
        BODY,
        "<script type=\"application/json\" id=\"data\">",
        &embedded(&data(done)),
        "</script>\n",
    ]
    .concat();
    document("utf8fs scan", STYLE, Some(SCRIPT), &body)
}

/// JSON that can stand in a page: nothing in it ends an element, a comment or a line.
fn embedded(value: &Value) -> String {
    let line = json_line(value);
    line.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// Replaces each name in a document by its text for people.
fn quote_names(document: &mut Value) {
    if let Ok(name) = Name::deserialize(&*document) {
        *document = json!(name.to_string());
    }
    match document {
        Value::Array(values) => values.iter_mut().for_each(quote_names),
        Value::Object(fields) => fields.values_mut().for_each(quote_names),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn data(done: &ScanDone) -> Value {
    let tally = &done.scan.tally;
    let evidence = |guesser: &Guesser| Mixture::default().with(guesser);
    let all = evidence(&tally.guesser);
    let worst = tally.worst.iter().filter_map(|directory| {
        let guesser = directory.guesser.as_deref()?;
        Some((&directory.path, evidence(guesser)))
    });
    let worst: BTreeMap<&Name, Mixture> = worst.collect();
    let mut names: Vec<&Sampled> = tally.samples.values().flatten().collect();
    names.sort_unstable();
    names.dedup();
    let names = names.into_iter().map(|sample| {
        let own = worst.get(&sample.directory);
        let own = own.map(|mixture| ("by its directory", mixture));
        name_row(sample, own.unwrap_or(("by all names", &all)))
    });
    let directories = tally.on_map.iter();
    let directories = directories.map(|directory| directory_row(done, directory));
    let kinds = tally.kinds.keys();
    let kinds = kinds.map(|(finding, kind)| described(*finding, *kind));
    let guesses = likely(&done.charsets.guesses).map(GuessRecord::from);
    let unread = tally.all_unread().first.into_iter().map(|failure| {
        let error = std::io::Error::from_raw_os_error(failure.errno);
        json!([failure.path, reason(&error)])
    });
    let mut data = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "total": done.total(),
        "guesses": guesses.collect::<Vec<_>>(),
        "kinds": kinds.collect::<Vec<_>>(),
        "worst": directories.collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
        "unread": unread.collect::<Vec<_>>(),
    });
    quote_names(&mut data);
    data
}

/// Path, names, offending ones, those with remarks, by finding, the likely charsets, and labels on the map.
fn directory_row(done: &ScanDone, directory: &Directory) -> Value {
    let counts = &directory.counts;
    let label = match done.charsets.of_directory(directory) {
        [] => {
            let own = done.scan.tally.worst.get(directory);
            let guesser = own.and_then(|own| own.guesser.as_deref());
            let best = guesser.and_then(|guesser| guesser.charsets().into_iter().next());
            best.map(|best| format!("{}, {}", best.charset.label(), percent(best.confidence)))
        }
        charsets => Some(labels(charsets)),
    };
    json!([
        Name::from(path_or_dot(directory.path.as_bytes())),
        counts.entries,
        counts.offending,
        counts.remarked,
        counts.found.rows().map(|(_, names)| names),
        label,
        labels_on_map(done, directory),
    ])
}

/// Returns the labels of the root, of each directory on the way, and of the directory.
fn labels_on_map<'n>(done: &'n ScanDone, directory: &'n Directory) -> Vec<Name> {
    let path = directory.path.as_bytes();
    let roots = done.scan.roots.iter().map(Name::as_bytes);
    let roots = roots.filter_map(|root| Some((root, path.strip_prefix(root)?)));
    let (root, below) = roots
        .max_by_key(|(root, _)| root.len())
        .unwrap_or((b"", path));
    let root: &[u8] = if root.is_empty() { b"list" } else { root };
    let components = below.split(|byte| *byte == b'/');
    let components = components.filter(|component| !component.is_empty());
    std::iter::once(root)
        .chain(components)
        .map(Name::from)
        .collect()
}

/// Returns how the name may be read: the charset, or the one that it was taken for when it was encoded again; the text, its
/// likelihood, and the evidence. `mixture` is the evidence of an ill-formed name, and `basis` says in words what it is of.
fn readings(entry: &ScanEntry, (basis, mixture): (&str, &Mixture)) -> Vec<Value> {
    let has = |finding| entry.found.iter().any(|found| found.finding == finding);
    let name = entry.name.as_bytes();
    let mut readings = Vec::new();
    if has(Finding::DoublyEncoded)
        && let Some(doubled) = doubly_encoded(name)
    {
        let (charset, text) = (doubled.labels(), Name::from(doubled.text));
        readings.push(json!([charset, text, doubled.confidence, "by itself"]));
    }
    if has(Finding::IllFormed) {
        let texts = mixture.read(name).into_iter();
        let likely = texts.filter(|text| text.confidence >= LEAST).take(MOST);
        readings.extend(likely.map(|guess| {
            let text = Name::from(guess.text);
            json!([guess.charset.label(), text, guess.confidence, basis])
        }));
    }
    readings
}

/// Name, directory, findings, each as its number and words, readings, and a sibling that it is like.
fn name_row(sample: &Sampled, evidence: (&str, &Mixture)) -> Value {
    let entry = &sample.entry;
    let findings = entry.found.iter().map(|found| {
        let place = match found.offset.zip(found.length) {
            Some((offset, length)) if length > 1 => {
                format!(", bytes {offset} to {}", offset + length - 1)
            }
            Some((offset, _)) => format!(", byte {offset}"),
            None => String::new(),
        };
        let what = described(found.finding, found.kind);
        json!([found.finding as usize, format!("{what}{place}")])
    });
    json!([
        entry.name,
        Name::from(path_or_dot(sample.directory.as_bytes())),
        findings.collect::<Vec<_>>(),
        readings(entry, evidence),
        entry.like,
    ])
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, embedded};
    use serde_json::{Value, json};

    #[test]
    fn nothing_in_the_data_ends_the_element_that_it_stands_in() {
        let hostile = "</script><!--<script>&lt;]]>\u{2028}\u{2029}\u{202E}\u{1B}[2J";
        let value = json!([hostile, {hostile: hostile}]);
        let text = embedded(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{202E}', '\u{1B}']));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    /// Also held by the page's policy, where browsers know trusted types.
    #[test]
    fn the_script_makes_no_html_of_text() {
        for way in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval",
            "Function(",
        ] {
            assert!(!SCRIPT.contains(way), "{way}");
        }
    }
}
