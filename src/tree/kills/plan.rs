//! What the tests have become of a tree.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use crate::backing::{Dir, Entries, Kind, Stat, file};
use crate::names::BackingName;
use crate::tree::change::{Change, Destination, InodeId, Job, Retarget};

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
pub(in crate::tree) fn plan(root: &OwnedFd) -> Vec<Job> {
    let mut jobs = Vec::new();
    jobs_of(&Dir::new(root.try_clone().unwrap()), &[], &mut jobs);
    jobs
}

fn jobs_of(dir: &Dir, place: &[BackingName], jobs: &mut Vec<Job>) {
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
    let mut changes = Vec::new();
    for (entry, ino, kind) in &all {
        let octets = entry.as_bytes();
        let mut target = None;
        if *kind == Kind::Symlink {
            let old = file::readlink(dir.child(entry).unwrap()).unwrap();
            if std::str::from_utf8(&old).is_err() {
                let new = latin(&old);
                let (old, new) = (old.into(), new.into());
                target = Some(Retarget { old, new });
            }
        }
        let mut to = None;
        if std::str::from_utf8(octets).is_err() {
            to = Some(Destination::Name(name(&latin(octets))));
        } else if octets.starts_with(b"aside-") {
            to = Some(Destination::Aside);
        } else if let Some((first, number)) = numbered(octets, "-chain-") {
            let new = format!("{first}-chain-{}", number + 1);
            to = Some(Destination::Name(name(new.as_bytes())));
        } else if let Some((first, number)) = numbered(octets, "-ring-") {
            let new = format!("{first}-ring-{}", number % rings[&first] + 1);
            to = Some(Destination::Name(name(new.as_bytes())));
        }
        if to.is_some() || target.is_some() {
            changes.push(Change {
                name: entry.clone(),
                id: InodeId {
                    ino: *ino,
                    born: None,
                },
                kind: *kind,
                to,
                meantime: None,
                is_chained: false,
                target,
                same_as: None,
            });
        }
        if *kind == Kind::Dir {
            let mut below = place.to_vec();
            below.push(entry.clone());
            jobs_of(&Dir::new(dir.child(entry).unwrap()), &below, jobs);
        }
    }
    if !changes.is_empty() {
        let stat = Stat::of(dir).unwrap();
        jobs.push(Job {
            number: 0,
            directory: place.into(),
            inode: InodeId::of(&stat),
            mtime: stat.mtime,
            changes,
        });
    }
}
