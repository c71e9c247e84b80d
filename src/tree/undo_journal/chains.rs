//! The order of the changes of a directory, so that each name is free before it is taken.

use std::collections::{HashMap, HashSet};
use std::iter::repeat;

use crate::names::BackingName;
use crate::tree::change::{Change, own_name};

/// Returns the changes in an order in which they can be made; then those that cannot be, since a name is taken and not given up.
/// No two changes have one old name, and no two one new name. `exists` tells the names that entries have.
///
/// Changes that give up names to each other stand together as a chain. If a chain is a ring, its first change gets a name for
/// the meantime. That is neither a new name nor one that exists.
pub(super) fn arrange(
    changes: Vec<Change>,
    exists: impl Fn(&BackingName) -> bool,
) -> (Vec<Change>, Vec<Change>) {
    let by_new: HashMap<BackingName, usize> = changes
        .iter()
        .enumerate()
        .filter_map(|(index, change)| Some((change.new_name()?.clone(), index)))
        .collect();
    // By the name that somebody gives up.
    let successor = |change: &Change| {
        let successor = change.to.as_ref().and_then(|_| by_new.get(&change.name));
        successor.copied()
    };
    let successors: HashSet<usize> = changes.iter().filter_map(successor).collect();
    let all = 0..changes.len();
    let firsts = all.clone().filter(|index| !successors.contains(index));
    let (mut arranged, mut stuck) = (Vec::with_capacity(changes.len()), Vec::new());
    let mut waiting: Vec<Option<Change>> = changes.into_iter().map(Some).collect();
    let mut meantimes = (1_u32..)
        .map(|number| own_name(&format!(".utf8fs-meantime-{number}")))
        .filter(|name| !exists(name) && !by_new.contains_key(name));
    // What is left behind them are rings.
    for (start, is_ring) in firsts.zip(repeat(false)).chain(all.zip(repeat(true))) {
        let first = waiting.get(start).and_then(Option::as_ref);
        let is_taken = || first.and_then(Change::new_name).is_some_and(&exists);
        let chain = if !is_ring && is_taken() {
            &mut stuck
        } else {
            &mut arranged
        };
        let (mut next, mut is_chained) = (Some(start), false);
        while let Some(mut change) = next.and_then(|index| waiting.get_mut(index)?.take()) {
            next = successor(&change);
            change.is_chained = is_chained;
            if is_ring && !is_chained {
                change.meantime = meantimes.next();
            }
            is_chained = true;
            chain.push(change);
        }
    }
    (arranged, stuck)
}
