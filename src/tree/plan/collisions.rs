//! New names that other entries have, or get.

use std::cell::LazyCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::plan_options::{OnCollision, PlanOptions};
use crate::backing::Kind;
use crate::names::BackingName;
use crate::records::{Candidate, PlanLine, Reason, Warning};
use crate::tree::entry_list::EntryList;

/// Tells whether two regular files of a directory, by their names, have the same content.
pub type Same<'s> = dyn Fn(&BackingName, &BackingName) -> bool + 's;

/// Resolves collisions: then no new name of `lines` is taken, and no two are one. The lines are in the order of the old names.
///
/// Of several entries that want one name, the winner is the entry that a mount shows under it. That is the entry that
/// has it already. Else it is the first, in the order of bytes, of those that do not conform (law T7); else the first
/// of the others.
pub(super) fn resolve(
    options: &PlanOptions,
    listing: &EntryList,
    lines: &mut [PlanLine],
    same: &Same<'_>,
) {
    let wanted = lines.iter().filter_map(|line| line.new.as_ref());
    let wanted: HashSet<&[u8]> = wanted.map(BackingName::as_bytes).collect();
    if wanted.is_empty() {
        return;
    }
    // The entry that has or gets a name, by the one of before.
    let taken = listing.iter().filter(|entry| wanted.contains(entry.name));
    let taken = taken.filter_map(|entry| Some((BackingName::parse(entry.name).ok()?, entry.kind)));
    let mut holders: HashMap<BackingName, (BackingName, Kind)> = taken
        .map(|(name, kind)| (name.clone(), (name, kind)))
        .collect();
    let listed = LazyCell::new(|| {
        let names = listing.iter().map(|entry| entry.name);
        names.collect::<HashSet<_>>()
    });
    // Those that do not conform come first.
    let mut renamed: Vec<&mut PlanLine> = lines.iter_mut().collect();
    renamed.sort_by_cached_key(|line| options.policy().conforms(line.old.as_bytes()));
    let mut losers = Vec::new();
    for line in renamed {
        let Some(new) = &line.new else {
            continue;
        };
        match holders.entry(new.clone()) {
            Entry::Occupied(holder) => losers.push((holder.get().clone(), line)),
            Entry::Vacant(free) => {
                free.insert((line.old.clone(), line.kind));
            }
        }
    }
    let mut numbers: HashMap<BackingName, u32> = HashMap::new();
    for ((holder, kind), line) in losers {
        let Some(wanted) = line.new.take() else {
            continue;
        };
        let are_files = kind == Kind::File && line.kind == Kind::File;
        match options.on_collision {
            OnCollision::Suffix => {
                let number = numbers.entry(wanted.clone()).or_insert(2);
                let is_free = |name: &BackingName| {
                    !listed.contains(name.as_bytes()) && !holders.contains_key(name)
                };
                line.new = numbered(options, &wanted, line.kind, number, is_free);
            }
            OnCollision::Same if are_files && same(&line.old, &holder) => {
                line.same_as = Some(holder);
                line.reason = Reason::Same;
            }
            OnCollision::Same | OnCollision::Skip => {}
        }
        if let Some(new) = &line.new {
            line.warning.get_or_insert(Warning::Numbered);
            holders.insert(new.clone(), (line.old.clone(), line.kind));
        } else if line.same_as.is_none() {
            line.reason = Reason::Taken;
            let wanted = Candidate {
                name: wanted,
                charset: line.charset.take(),
                confidence: line.confidence.take(),
            };
            line.candidates.insert(0, wanted);
        }
    }
}

/// The first of `name-2.ext`, `name-3.ext`, ... that is free and conforms, from `number` on, which is then beyond it.
fn numbered(
    options: &PlanOptions,
    name: &BackingName,
    kind: Kind,
    number: &mut u32,
    is_free: impl Fn(&BackingName) -> bool,
) -> Option<BackingName> {
    let text = std::str::from_utf8(name.as_bytes()).ok()?;
    let dot = text.rfind('.').filter(|&dot| dot > 0 && kind != Kind::Dir);
    let (stem, extension) = text.split_at_checked(dot.unwrap_or(text.len()))?;
    loop {
        let candidate = format!("{stem}-{number}{extension}");
        *number = number.checked_add(1)?;
        let candidate = BackingName::parse(candidate.as_bytes()).ok()?;
        // One that is too long has only longer ones behind it.
        if !options.policy().conforms(candidate.as_bytes()) {
            return None;
        }
        if is_free(&candidate) {
            return Some(candidate);
        }
    }
}
