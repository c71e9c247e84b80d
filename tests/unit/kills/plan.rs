//! What the tests have become of a tree.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use crate::backing::{Dir, Entries, Kind, Stat, file};
use crate::names::BackingName;
use crate::records::{PlanLine, Reason};
use crate::tree::plan::DirectoryPlan;

pub(in crate::tree) fn name(octets: &[u8]) -> BackingName {
    BackingName::parse(octets).unwrap()
}

/// What ISO-8859-1 says, as UTF-8.
pub(in crate::tree) fn latin(octets: &[u8]) -> Vec<u8> {
    octets
        .iter()
        .map(|&octet| char::from(octet))
        .collect::<String>()
        .into_bytes()
}

/// What becomes of each entry, by its name:
/// what is no UTF-8 is read as ISO-8859-1, in names and targets; `N-chain-K` becomes `N-chain-K+1`; `N-ring-K` becomes the next
/// one in a ring; `aside-*` is put aside.
pub(in crate::tree) fn plan(root: &OwnedFd) -> Vec<DirectoryPlan> {
    let mut plans = Vec::new();
    plans_of(&Dir::new(root.try_clone().unwrap()), &[], &mut plans);
    plans
}

fn plans_of(dir: &Dir, place: &[BackingName], plans: &mut Vec<DirectoryPlan>) {
    let mut entries = Entries::open(dir, libc::O_NOATIME).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = entries.next().unwrap() {
        if !entry.is_dot() {
            all.push((name(entry.name), entry.ino, entry.kind));
        }
    }
    let mut rings: BTreeMap<String, u32> = BTreeMap::new();
    let numbered = |octets: &[u8], kind: &str| {
        let text = std::str::from_utf8(octets).ok()?;
        let (first, number) = text.split_once(kind)?;
        Some((first.to_owned(), number.parse::<u32>().unwrap()))
    };
    for (first, _) in all
        .iter()
        .filter_map(|entry| numbered(entry.0.as_bytes(), "-ring-"))
    {
        *rings.entry(first).or_default() += 1;
    }
    let stat = Stat::of(dir).unwrap();
    let mut lines = Vec::new();
    for (entry, ino, kind) in &all {
        let octets = entry.as_bytes();
        let mut line = PlanLine {
            directory: place.into(),
            directory_inode: stat.ino,
            ..PlanLine::new(entry.clone(), *kind, *ino, Reason::Decoded)
        };
        if *kind == Kind::Symlink {
            let old = file::readlink(dir.child(entry).unwrap()).unwrap();
            if std::str::from_utf8(&old).is_err() {
                line.new_target = Some(latin(&old).into());
                line.target = Some(old.into());
            }
        }
        if std::str::from_utf8(octets).is_err() {
            line.new = Some(name(&latin(octets)));
        } else if octets.starts_with(b"aside-") {
            line.same_as = Some(name(b"another"));
        } else if let Some((first, number)) = numbered(octets, "-chain-") {
            let new = format!("{first}-chain-{}", number + 1);
            line.new = Some(name(new.as_bytes()));
        } else if let Some((first, number)) = numbered(octets, "-ring-") {
            let new = format!("{first}-ring-{}", number % rings[&first] + 1);
            line.new = Some(name(new.as_bytes()));
        }
        if line.is_change() {
            lines.push(line);
        }
        if *kind == Kind::Dir {
            let mut below = place.to_vec();
            below.push(entry.clone());
            plans_of(&Dir::new(dir.child(entry).unwrap()), &below, plans);
        }
    }
    if !lines.is_empty() {
        plans.push(DirectoryPlan {
            entries: all.len(),
            lines,
        });
    }
}
