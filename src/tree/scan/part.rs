//! A tally as JSON, for the scans of parts of a tree on several hosts to be made one.
//!
//! What it looks like is between programs of the same version; [`tally_of_json`] takes nothing that could not have been
//! gathered, so that a report that somebody altered is refused or says what it says, and no more.

use serde_json::{Value, json};

use super::finding::{Finding, Found};
use super::tally::{Counts, Directory, Failure, Failures, Kept, Sampled, Tally};
use crate::codec::guess::{Gathered, Guesser};
use crate::names::{json_name, name_of_json};

/// No number is larger: sums of a few of them stay numbers.
const MOST: u64 = 1 << 48;

/// What is wrong with a tally: where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartError(&'static str);

impl std::fmt::Display for PartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "its {} make no sense", self.0)
    }
}

impl std::error::Error for PartError {}

/// All that is in a tally.
#[must_use]
pub fn tally_json(tally: &Tally) -> Value {
    let kinds = tally.kinds.iter();
    let kinds = kinds.map(|((finding, kind), count)| json!([finding.label(), kind, count]));
    let samples = tally.samples.iter().map(|((finding, kind), samples)| {
        let samples: Vec<Value> = samples.iter().map(sample_json).collect();
        json!([finding.label(), kind, samples])
    });
    json!({
        "directories": tally.directories,
        "troubled_directories": tally.troubled_directories,
        "counts": counts_json(&tally.counts),
        "kinds": kinds.collect::<Vec<_>>(),
        "guesser": guesser_json(&tally.guesser),
        "worst": tally.worst.iter().map(directory_json).collect::<Vec<_>>(),
        "on_map": tally.on_map.iter().map(directory_json).collect::<Vec<_>>(),
        "samples": samples.collect::<Vec<_>>(),
        "unread": failures_json(&tally.unread),
        "above": failures_json(&tally.above),
        "left_out": failures_json(&tally.left_out),
        "vanished": tally.vanished,
    })
}

/// The tally of such a value, of which so much is kept; its roots are counted from `first_root` on, and there are `roots` of
/// them.
///
/// # Errors
/// It is no such value.
pub fn tally_of_json(
    value: &Value,
    kept: Kept,
    first_root: usize,
    roots: usize,
) -> Result<Tally, PartError> {
    let read = Read { first_root, roots };
    let get = |key: &'static str| value.get(key).ok_or(PartError(key));
    let in_key = |key: &'static str| move || PartError(key);
    let mut tally = Tally::new(kept);
    tally.directories = number(get("directories")?).ok_or_else(in_key("directories"))?;
    let troubled = "troubled_directories";
    tally.troubled_directories = number(get(troubled)?).ok_or_else(in_key(troubled))?;
    tally.vanished = number(get("vanished")?).ok_or_else(in_key("vanished"))?;
    tally.counts = counts(get("counts")?).ok_or_else(in_key("counts"))?;
    tally.guesser = guesser(get("guesser")?).ok_or_else(in_key("guesser"))?;
    for row in rows(get("kinds")?).ok_or_else(in_key("kinds"))? {
        let (kind, count) = kind(row).ok_or_else(in_key("kinds"))?;
        let count = number(count).ok_or_else(in_key("kinds"))?;
        *tally.kinds.entry(kind).or_default() += count;
    }
    for row in rows(get("samples")?).ok_or_else(in_key("samples"))? {
        let (kind, samples) = kind(row).ok_or_else(in_key("samples"))?;
        for sample in rows(samples).ok_or_else(in_key("samples"))? {
            let sample = read.sample(sample).ok_or_else(in_key("samples"))?;
            tally.keep_sample(kind, sample);
        }
    }
    for row in rows(get("worst")?).ok_or_else(in_key("worst"))? {
        let directory = read.directory(row).ok_or_else(in_key("worst"))?;
        tally.keep_worst(directory);
    }
    for row in rows(get("on_map")?).ok_or_else(in_key("on_map"))? {
        let directory = read.directory(row).ok_or_else(in_key("on_map"))?;
        tally.keep_on_map(directory);
    }
    tally.unread = read.failures(get("unread")?).ok_or_else(in_key("unread"))?;
    tally.above = read.failures(get("above")?).ok_or_else(in_key("above"))?;
    let left_out = read.failures(get("left_out")?);
    tally.left_out = left_out.ok_or_else(in_key("left_out"))?;
    Ok(tally)
}

fn counts_json(counts: &Counts) -> Value {
    json!([
        counts.entries,
        counts.ascii,
        counts.beyond_ascii,
        counts.ill_formed,
        counts.offending,
        counts.remarked,
        counts.found,
    ])
}

fn guesser_json(guesser: &Guesser) -> Value {
    let gathered = guesser.gathered();
    let names = |names: &[(u64, Box<[u8]>)]| -> Vec<Value> {
        let names = names.iter();
        names
            .map(|(hash, name)| json!([hash, json_name(name)]))
            .collect()
    };
    json!({
        "ill_formed": gathered.ill_formed,
        "well_formed": gathered.well_formed,
        "unread": gathered.unread,
        "seen": gathered.seen,
        "sample": names(&gathered.sample),
        "beyond_ascii": gathered.beyond_ascii,
        "undone": gathered.undone,
        "doubled": names(&gathered.doubled),
    })
}

fn directory_json(directory: &Directory) -> Value {
    json!([
        directory.root,
        json_name(&directory.path),
        counts_json(&directory.counts),
        directory.guesser.as_deref().map(guesser_json),
    ])
}

fn sample_json(sample: &Sampled) -> Value {
    let found = sample.found.iter().map(|found| {
        json!([
            found.finding.label(),
            found.kind,
            found.place.map(|(offset, length)| [offset, length]),
        ])
    });
    json!([
        sample.hash,
        sample.root,
        json_name(&sample.directory),
        json_name(&sample.name),
        found.collect::<Vec<_>>(),
        sample.like.as_deref().map(json_name),
    ])
}

fn failures_json(failures: &Failures) -> Value {
    let first = failures.first.iter();
    let first = first.map(|failure| json!([failure.root, json_name(&failure.path), failure.errno]));
    json!({"count": failures.count, "first": first.collect::<Vec<_>>()})
}

fn rows(value: &Value) -> Option<&[Value]> {
    value.as_array().map(Vec::as_slice)
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| *number <= MOST)
}

fn numbers<const N: usize>(value: &Value) -> Option<[u64; N]> {
    let numbers: Option<Vec<u64>> = rows(value)?.iter().map(number).collect();
    numbers?.try_into().ok()
}

/// What `read` makes of it; of null nothing.
fn optional<T>(value: &Value, read: impl FnOnce(&Value) -> Option<T>) -> Option<Option<T>> {
    match value.is_null() {
        true => Some(None),
        false => read(value).map(Some),
    }
}

/// A finding, its kind, and what is said of them.
fn kind(row: &Value) -> Option<((Finding, &'static str), &Value)> {
    let [finding, kind, rest] = rows(row)? else {
        return None;
    };
    let finding = Finding::from_label(finding.as_str()?)?;
    Some(((finding, finding.kind(kind.as_str()?)?), rest))
}

fn counts(value: &Value) -> Option<Counts> {
    let [
        entries,
        ascii,
        beyond_ascii,
        ill_formed,
        offending,
        remarked,
        found,
    ] = rows(value)?
    else {
        return None;
    };
    Some(Counts {
        entries: number(entries)?,
        ascii: number(ascii)?,
        beyond_ascii: number(beyond_ascii)?,
        ill_formed: number(ill_formed)?,
        offending: number(offending)?,
        remarked: number(remarked)?,
        found: numbers(found)?,
    })
}

fn guesser(value: &Value) -> Option<Guesser> {
    let names = |key: &str| -> Option<Vec<(u64, Box<[u8]>)>> {
        let rows = rows(value.get(key)?)?.iter();
        rows.map(|row| {
            let [hash, name] = row.as_array()?.as_slice() else {
                return None;
            };
            Some((hash.as_u64()?, name_of_json(name)?.into()))
        })
        .collect()
    };
    let count = |key: &str| number(value.get(key)?);
    let unread = rows(value.get("unread")?)?.iter().map(number);
    let seen = rows(value.get("seen")?)?.iter().map(Value::as_u64);
    let seen: Option<Vec<u64>> = seen.collect();
    Guesser::of_gathered(Gathered {
        ill_formed: count("ill_formed")?,
        well_formed: count("well_formed")?,
        unread: unread.collect::<Option<Vec<u64>>>()?,
        seen: seen?.try_into().ok()?,
        sample: names("sample")?,
        beyond_ascii: count("beyond_ascii")?,
        undone: count("undone")?,
        doubled: names("doubled")?,
    })
}

/// Which roots there may be.
#[derive(Clone, Copy)]
struct Read {
    first_root: usize,
    roots: usize,
}

impl Read {
    fn root(self, value: &Value) -> Option<usize> {
        let root = usize::try_from(value.as_u64()?).ok()?;
        (root < self.roots).then_some(self.first_root + root)
    }

    fn directory(self, row: &Value) -> Option<Directory> {
        let [root, path, counted, guessed] = rows(row)? else {
            return None;
        };
        let guesser = optional(guessed, |gathered| guesser(gathered).map(Box::new))?;
        Some(Directory {
            root: self.root(root)?,
            path: name_of_json(path)?,
            counts: counts(counted)?,
            guesser,
        })
    }

    fn sample(self, row: &Value) -> Option<Sampled> {
        let [hash, root, directory, name, found, like] = rows(row)? else {
            return None;
        };
        let found = rows(found)?.iter().map(|row| {
            let ((finding, kind), place) = kind(row)?;
            let place = optional(place, |place| {
                let [offset, length] = numbers(place)?;
                Some((usize::try_from(offset).ok()?, usize::try_from(length).ok()?))
            })?;
            Some(Found {
                finding,
                kind,
                place,
            })
        });
        let like = optional(like, name_of_json)?;
        Some(Sampled {
            hash: hash.as_u64()?,
            root: self.root(root)?,
            directory: name_of_json(directory)?,
            name: name_of_json(name)?,
            found: found.collect::<Option<Vec<_>>>()?,
            like,
        })
    }

    fn failures(self, value: &Value) -> Option<Failures> {
        let first = rows(value.get("first")?)?.iter().map(|row| {
            let [root, path, errno] = rows(row)? else {
                return None;
            };
            Some(Failure {
                root: self.root(root)?,
                path: name_of_json(path)?,
                errno: i32::try_from(errno.as_i64()?).ok()?,
            })
        });
        Some(Failures {
            count: number(value.get("count")?)?,
            first: first.collect::<Option<_>>()?,
        })
    }
}
