//! A scan as a page to look at.
//!
//! Names come into the page as JSON in which nothing can end the element or the line, already quoted. Its script only
//! makes text nodes of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::name_guesses::{NameGuesses, Reading, of_name};
use super::scan_done::ScanDone;
use super::summary_text::{described, labels, total_label};
use crate::cli::error::reason;
use crate::cli::guess_report::percent;
use crate::cli::page::document;
use crate::names::Quoted;
use crate::records::{Counts, Directory, Finding, Sampled, json_line};

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const BODY: &str = include_str!("page/page.html");

/// The page of a scan.
pub(super) fn page(done: &ScanDone<'_>) -> String {
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

fn data(done: &ScanDone<'_>) -> Value {
    let tally = &done.tally;
    let all = NameGuesses::of(Some(&tally.guesser));
    let own: BTreeMap<(usize, &[u8]), NameGuesses<'_>> = tally
        .worst
        .iter()
        .map(|directory| {
            let readings = NameGuesses::of(directory.guesser.as_deref());
            ((directory.root, directory.path.as_bytes()), readings)
        })
        .collect();
    let mut names: Vec<&Sampled> = tally.samples.values().flatten().collect();
    names.sort_unstable();
    names.dedup();
    let kinds = tally.kinds.iter().map(|((finding, kind), count)| {
        json!({
            "finding": finding_index(*finding), "what": described(*finding, *kind), "names": count,
            "offence": done.rules.is_offence(*finding),
        })
    });
    let charsets = done.charsets();
    let is_mixed = !charsets.totals.is_empty();
    let totals = charsets.totals.iter().map(|total| {
        let examples = total.examples.iter().filter_map(|example| {
            let text = example.text.as_ref()?;
            Some(json!([
                quoted(example.name.as_bytes()),
                quoted(text.as_bytes())
            ]))
        });
        json!({
            "charset": total_label(total), "names": total.names, "directories": total.directories,
            "examples": examples.collect::<Vec<_>>(),
        })
    });
    let guesses = charsets.guesses.iter().filter(|_| !is_mixed).take(5).map(|guess| {
        let alike = guess.alike.iter().map(|charset| charset.label());
        let examples = guess.examples.iter().filter_map(|example| {
            let text = example.text.as_ref()?;
            Some(json!([quoted(&example.name), quoted(text.as_bytes())]))
        });
        json!({
            "charset": guess.charset.label(), "alike": alike.collect::<Vec<_>>(), "confidence": guess.confidence,
            "read": guess.read, "of": guess.of, "examples": examples.collect::<Vec<_>>(),
        })
    });
    let unread = tally.unread.first.iter().map(|failure| {
        let error = std::io::Error::from_raw_os_error(failure.errno);
        json!([
            quoted(&done.path(failure.root, &failure.path)),
            reason(&error)
        ])
    });
    let directories = tally.on_map.iter();
    let directories = directories.map(|directory| {
        let own = own.get(&(directory.root, directory.path.as_bytes()));
        directory_row(done, directory, own)
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "roots": done.roots.iter().map(|root| if root.is_empty() { "a list of names".to_owned() } else { quoted(root) })
            .collect::<Vec<_>>(),
        "findings": tally.counts.found.rows().map(|(finding, names)| json!({
            "label": finding.label(), "offence": done.rules.is_offence(finding), "names": names,
        })),
        "directories": tally.directories,
        "troubled": tally.troubled_directories,
        "counts": {
            "names": tally.counts.entries, "ascii": tally.counts.ascii, "utf8": tally.counts.beyond_ascii,
            "illFormed": tally.counts.ill_formed, "offending": tally.counts.offending, "remarked": tally.counts.remarked,
        },
        "kinds": kinds.collect::<Vec<_>>(),
        "guesses": guesses.collect::<Vec<_>>(),
        "totals": totals.collect::<Vec<_>>(),
        "next": done.next(),
        "map": map(done),
        "worst": directories.collect::<Vec<_>>(),
        "names": names.iter().map(|&sample| {
            name_row(done, sample, of_name(sample, own.get(&(sample.root, sample.directory.as_bytes())), &all))
        }).collect::<Vec<_>>(),
        "unread": unread.collect::<Vec<_>>(),
        "unreadCount": tally.unread.count,
        "leftOut": tally.left_out.count,
    })
}

fn finding_index(finding: Finding) -> usize {
    finding as usize
}

fn found(counts: &Counts) -> Vec<u64> {
    counts.found.rows().map(|(_, names)| names).to_vec()
}

/// Path, names, offending ones, those with remarks, by finding, and the likely charsets.
fn directory_row(
    done: &ScanDone<'_>,
    directory: &Directory,
    readings: Option<&NameGuesses<'_>>,
) -> Value {
    let counts = &directory.counts;
    let path = done.path(directory.root, &directory.path);
    let best = readings.and_then(|readings| readings.charsets().first());
    let label = match done.charsets().of_directory(directory) {
        [] => best.map(|best| {
            format!(
                "{}, {}",
                best.charset.label(),
                percent(best.confidence).trim()
            )
        }),
        charsets => Some(labels(charsets)),
    };
    json!([
        quoted(if path.is_empty() { b"." } else { &path }),
        counts.entries,
        counts.offending,
        counts.remarked,
        found(counts),
        label,
    ])
}

/// Name, directory, findings, each as its number and words, readings, and a sibling that it is like.
fn name_row(done: &ScanDone<'_>, sample: &Sampled, readings: Vec<Reading>) -> Value {
    let directory = done.path(sample.root, &sample.directory);
    let findings = sample.found.iter().map(|found| {
        let place = match found.offset.zip(found.length) {
            Some((offset, length)) if length > 1 => {
                format!(", bytes {offset} to {}", offset + length - 1)
            }
            Some((offset, _)) => format!(", byte {offset}"),
            None => String::new(),
        };
        let what = described(found.finding, found.kind);
        json!([finding_index(found.finding), format!("{what}{place}")])
    });
    let read = readings.into_iter().map(|reading| {
        json!([
            reading.charset,
            quoted(reading.text.as_bytes()),
            reading.confidence,
            reading.basis
        ])
    });
    json!([
        quoted(sample.name.as_bytes()),
        quoted(if directory.is_empty() {
            b"."
        } else {
            &directory
        }),
        findings.collect::<Vec<_>>(),
        read.collect::<Vec<_>>(),
        sample.like.as_ref().map(|like| quoted(like.as_bytes())),
    ])
}

/// A directory on the map: with findings in it or below it.
#[derive(Default)]
struct Place {
    label: Vec<u8>,
    above: usize,
    below: BTreeMap<Vec<u8>, usize>,
    counts: Counts,
}

/// Returns each directory on the map, with its label, the number of the one above it, and the names right in it.
/// Names are counted in all, with findings, and by finding. The first directory is above all.
fn map(done: &ScanDone<'_>) -> Value {
    let mut places = vec![Place::default()];
    for directory in &done.tally.on_map {
        let root = done.roots.get(directory.root);
        let root = root.map(|root| {
            if root.is_empty() {
                b"list"
            } else {
                root.as_slice()
            }
        });
        let components = directory.path.as_bytes().split(|byte| *byte == b'/');
        let components = components.filter(|component| !component.is_empty());
        let mut at = 0;
        for label in root.into_iter().chain(components) {
            let next = places.len();
            let Some(place) = places.get_mut(at) else {
                break;
            };
            let below = *place.below.entry(label.to_vec()).or_insert(next);
            if below == next {
                places.push(Place {
                    label: label.to_vec(),
                    above: at,
                    ..Place::default()
                });
            }
            at = below;
        }
        if let Some(place) = places.get_mut(at) {
            place.counts = directory.counts;
        }
    }
    let rows = places.iter().map(|place| {
        let counts = &place.counts;
        json!([
            quoted(&place.label),
            place.above,
            counts.entries,
            counts.troubled(),
            found(counts)
        ])
    });
    rows.collect()
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
