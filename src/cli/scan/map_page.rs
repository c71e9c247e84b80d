//! A scan as a page to look at.
//!
//! Names come into the page as JSON in which nothing can end the element or the line, already quoted. Its script only
//! makes text nodes of them.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::scan_done::ScanDone;
use super::summary_text::{described, labels, path_or_dot, total_label};
use crate::cli::error::reason;
use crate::cli::page::document;
use crate::codec::guess::{Guesser, Mixture, doubly_encoded};
use crate::names::Quoted;
use crate::records::{Directory, Finding, Name, Sampled, json_line, percent};

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const BODY: &str = include_str!("page/page.html");

/// Most readings of a name.
const MOST: usize = 3;

/// Least likelihood of a reading.
const LEAST: f64 = 0.005;

/// The names that a name is read with as evidence: those of its directory, or all.
struct Siblings<'d> {
    guesser: &'d Guesser,
    mixture: OnceCell<Mixture>,
}

/// The names of the worst directories, by path.
type WorstNames<'d> = BTreeMap<&'d Name<'static>, Siblings<'d>>;

impl<'d> Siblings<'d> {
    fn new(guesser: &'d Guesser) -> Self {
        let mixture = OnceCell::new();
        Self { guesser, mixture }
    }
}

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

fn quoted(name: &[u8]) -> String {
    Quoted(name).to_string()
}

fn data(done: &ScanDone) -> Value {
    let tally = &done.scan.tally;
    let all = Siblings::new(&tally.guesser);
    let worst = tally.worst.iter().filter_map(|directory| {
        let names = Siblings::new(directory.guesser.as_deref()?);
        Some((&directory.path, names))
    });
    let worst: WorstNames<'_> = worst.collect();
    let mut names: Vec<&Sampled> = tally.samples.values().flatten().collect();
    names.sort_unstable();
    names.dedup();
    let kinds = tally.kinds.iter().map(|((finding, kind), count)| {
        json!({
            "finding": *finding as usize, "what": described(*finding, *kind), "names": count,
            "offence": done.is_offence(*finding),
        })
    });
    let charsets = done.charsets();
    let is_mixed = !charsets.totals.is_empty();
    let example = |name: &[u8], text: &[u8]| json!([quoted(name), quoted(text)]);
    let totals = charsets.totals.iter().map(|total| {
        let examples = total.examples.iter().filter_map(|read| {
            Some(example(
                read.name.as_bytes(),
                read.text.as_ref()?.as_bytes(),
            ))
        });
        json!({
            "charset": total_label(total), "names": total.names, "directories": total.directories,
            "examples": examples.collect::<Vec<_>>(),
        })
    });
    let guesses = charsets.guesses.iter().filter(|_| !is_mixed).take(5).map(|guess| {
        let alike = guess.alike.iter().map(|charset| charset.label());
        let examples = guess.examples.iter();
        let examples = examples
            .filter_map(|read| Some(example(&read.name, read.text.as_ref()?.as_bytes())));
        json!({
            "charset": guess.charset.label(), "alike": alike.collect::<Vec<_>>(), "confidence": guess.confidence,
            "read": guess.read, "of": guess.of, "examples": examples.collect::<Vec<_>>(),
        })
    });
    let all_unread = tally.all_unread();
    let unread = all_unread.first.iter().map(|failure| {
        let error = std::io::Error::from_raw_os_error(failure.errno);
        json!([quoted(failure.path.as_bytes()), reason(&error)])
    });
    let roots = done.scan.roots.iter().map(Name::as_bytes);
    let directories = tally.on_map.iter();
    let directories =
        directories.map(|directory| directory_row(done, directory, worst.get(&directory.path)));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "roots": roots.map(|root| if root.is_empty() { "a list of names".to_owned() } else { quoted(root) }).collect::<Vec<_>>(),
        "findings": tally.counts.found.rows().map(|(finding, names)| json!({
            "label": finding.label(), "offence": done.is_offence(finding), "names": names,
        })),
        "directories": tally.directories,
        "troubled": tally.troubled_directories,
        "counts": tally.counts,
        "kinds": kinds.collect::<Vec<_>>(),
        "guesses": guesses.collect::<Vec<_>>(),
        "totals": totals.collect::<Vec<_>>(),
        "next": done.next(),
        "worst": directories.collect::<Vec<_>>(),
        "names": names.iter().map(|&sample| {
            let own = worst.get(&sample.directory);
            name_row(sample, own.map_or(("by all names", &all), |own| ("by its directory", own)))
        }).collect::<Vec<_>>(),
        "unread": unread.collect::<Vec<_>>(),
        "unreadCount": all_unread.count,
        "leftOut": tally.left_out.count,
    })
}

/// Path, names, offending ones, those with remarks, by finding, the likely charsets, and labels on the map.
fn directory_row(done: &ScanDone, directory: &Directory, names: Option<&Siblings<'_>>) -> Value {
    let counts = &directory.counts;
    let label = match done.charsets().of_directory(directory) {
        [] => {
            let best = names.and_then(|names| names.guesser.charsets().into_iter().next());
            best.map(|best| format!("{}, {}", best.charset.label(), percent(best.confidence)))
        }
        charsets => Some(labels(charsets)),
    };
    json!([
        quoted(path_or_dot(&directory.path)),
        counts.entries,
        counts.offending,
        counts.remarked,
        counts.found.rows().map(|(_, names)| names),
        label,
        labels_on_map(done, directory),
    ])
}

/// Returns the labels of the root, of each directory on the way, and of the directory.
fn labels_on_map(done: &ScanDone, directory: &Directory) -> Vec<String> {
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
        .map(quoted)
        .collect()
}

/// Returns how the name may be read: the charset, or the one that it was taken for when it was encoded again; the text, its
/// likelihood, and the evidence. `siblings` are the evidence of an ill-formed name, with words for them.
fn readings(sample: &Sampled, (basis, siblings): (&str, &Siblings<'_>)) -> Vec<Value> {
    let has = |finding| sample.found.iter().any(|found| found.finding == finding);
    let name = sample.name.as_bytes();
    let mut readings = Vec::new();
    if has(Finding::DoublyEncoded)
        && let Some(doubled) = doubly_encoded(name)
    {
        let (charset, text) = (doubled.labels(), quoted(doubled.text.as_bytes()));
        readings.push(json!([charset, text, doubled.confidence, "by itself"]));
    }
    if has(Finding::IllFormed) {
        let mixture = || Mixture::default().with(siblings.guesser);
        let texts = siblings.mixture.get_or_init(mixture).read(name).into_iter();
        let likely = texts.filter(|text| text.confidence >= LEAST).take(MOST);
        readings.extend(likely.map(|guess| {
            let text = quoted(guess.text.as_bytes());
            json!([guess.charset.label(), text, guess.confidence, basis])
        }));
    }
    readings
}

/// Name, directory, findings, each as its number and words, readings, and a sibling that it is like.
fn name_row(sample: &Sampled, siblings: (&str, &Siblings<'_>)) -> Value {
    let findings = sample.found.iter().map(|found| {
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
        quoted(sample.name.as_bytes()),
        quoted(path_or_dot(&sample.directory)),
        findings.collect::<Vec<_>>(),
        readings(sample, siblings),
        sample.like.as_ref().map(|like| quoted(like.as_bytes())),
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
