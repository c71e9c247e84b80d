//! What the tests have become of a tree.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use super::stage::name;
use crate::backing::{Dir, Entries, Kind, Stat, file};
use crate::names::BackingName;
use crate::tree::step::{Action, Group, Step, TreePath};

/// What ISO-8859-1 says, as UTF-8.
pub(in crate::tree) fn latin(octets: &[u8]) -> Vec<u8> {
    octets
        .iter()
        .map(|&octet| char::from(octet))
        .collect::<String>()
        .into_bytes()
}

/// What becomes of each entry, by its name:
/// what is no UTF-8 is read as ISO-8859-1, in names and targets; `N-chain-K` becomes `N-chain-K+1`, down from the highest;
/// `N-ring-K` becomes the next one in a ring; `aside-*` is put aside.
pub(in crate::tree) fn plan(root: &OwnedFd) -> Vec<Group> {
    let mut groups = Vec::new();
    groups_of(
        &Dir::new(root.try_clone().unwrap()),
        &Vec::new(),
        &mut groups,
    );
    groups
}

fn groups_of(dir: &Dir, place: &TreePath, groups: &mut Vec<Group>) {
    let mut entries = Entries::open_with(dir, libc::O_NOATIME).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = entries.next().unwrap() {
        if !entry.is_dot() {
            all.push((entry.backing_name().unwrap(), entry.ino, entry.kind));
        }
    }
    let mut steps = Vec::new();
    let step = |entry: &(BackingName, u64, Kind), from: &[u8], action| Step {
        name: name(from),
        inode: entry.1,
        kind: entry.2,
        action,
    };
    for entry in &all {
        let octets = entry.0.as_bytes();
        if entry.2 == Kind::Symlink {
            let target = file::readlink(dir.child(&entry.0).unwrap()).unwrap();
            if std::str::from_utf8(&target).is_err() {
                steps.push(step(entry, octets, Action::Retarget(latin(&target))));
            }
        }
        if std::str::from_utf8(octets).is_err() {
            steps.push(step(entry, octets, Action::Rename(name(&latin(octets)))));
        }
        if octets.starts_with(b"aside-") {
            steps.push(step(entry, octets, Action::SetAside));
        }
        if entry.2 == Kind::Dir {
            let mut below = place.clone();
            below.push(entry.0.clone());
            groups_of(&Dir::new(dir.child(&entry.0).unwrap()), &below, groups);
        }
    }
    let numbered = |kind: &str| {
        let mut found: BTreeMap<(String, u32), &(BackingName, u64, Kind)> = BTreeMap::new();
        for entry in &all {
            if let Ok(text) = std::str::from_utf8(entry.0.as_bytes())
                && let Some((first, number)) = text.split_once(kind)
            {
                found.insert((first.to_owned(), number.parse().unwrap()), entry);
            }
        }
        found
    };
    for ((first, number), entry) in numbered("-chain-").into_iter().rev() {
        let next = format!("{first}-chain-{}", number + 1);
        steps.push(step(
            entry,
            entry.0.as_bytes(),
            Action::Rename(name(next.as_bytes())),
        ));
    }
    let rings = numbered("-ring-");
    let firsts: BTreeSet<String> = rings.keys().map(|(first, _)| first.clone()).collect();
    for first in firsts {
        let ring: Vec<_> = rings
            .iter()
            .filter(|((of, _), _)| *of == first)
            .map(|(_, entry)| *entry)
            .collect();
        let (last, others) = ring.split_last().unwrap();
        let aside = format!("{first}-between");
        steps.push(step(
            last,
            last.0.as_bytes(),
            Action::Rename(name(aside.as_bytes())),
        ));
        for (index, entry) in others.iter().enumerate().rev() {
            steps.push(step(
                entry,
                entry.0.as_bytes(),
                Action::Rename(ring[index + 1].0.clone()),
            ));
        }
        steps.push(step(
            last,
            aside.as_bytes(),
            Action::Rename(ring[0].0.clone()),
        ));
    }
    if !steps.is_empty() {
        let inode = Stat::of(dir).unwrap().ino;
        groups.push(Group {
            directory: place.clone(),
            inode,
            steps,
        });
    }
}
