//! The names that a directory stream has listed, so that it lists none for two entries.
//!
//! A name may go from one entry to another while a directory is read. Where `café` is renamed away, the legacy
//! sibling that was to be `caf%E9` becomes visible as `café`. A program that renames or removes each name as it reads
//! would then take the second entry for the first one come back, and lose a file. Nor is one entry listed by two names.
//!
//! An entry may also go from one name to another, as all do while a migration gives them their UTF-8 names. The
//! stream may have passed its new place by then, or not go as far. So a directory that has changed by the end of the
//! stream is read once more, for entries and names not yet given. An entry that is renamed once stays in one place during
//! one of the two readings (law T7).

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::{BuildHasher, RandomState};
use std::io;

use crate::backing::Time;

/// The names listed, by hash. Among ten million names two have one hash once in some 300,000 times.
#[derive(Debug, Default)]
pub(super) struct ListedNames {
    /// The inodes of the entries by the names that these were listed by.
    names: HashMap<u64, u64>,
    /// The inodes of the entries by their backing names, which others may get.
    backings: HashMap<u64, u64>,
    hasher: RandomState,
    /// The ctime of the directory when the stream began, where a name that it shows can be that of two backing names.
    since: Option<Time>,
    /// Was nothing sought since the stream was at its start? Then what comes again has moved (tmpfs puts what is renamed in front, and
    /// goes on from there).
    pub(super) is_in_order: bool,
    /// The last reply: where it began, and the entries in it. The kernel may have had no room for the end of it: then it asks
    /// for that again.
    last: Vec<SentEntry>,
}

/// An entry that was listed: its names, by hash, and its inode number.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedEntry {
    visible: u64,
    backing: u64,
    inode: u64,
}

/// An entry that was given, or the start of a reply.
#[derive(Debug)]
struct SentEntry {
    /// The cookie at which the stream goes on after it.
    cookie: u64,
    /// The note of it, if its name was noted with it for the first time.
    noted: Option<ListedEntry>,
    /// Does the stream go on with the second reading of the directory?
    in_second: bool,
}

impl ListedNames {
    /// Begins a reading that goes on at `cookie`. Does it go on with the second reading of the directory?
    pub(super) fn goes_on(&mut self, cookie: u64) -> bool {
        let last = std::mem::take(&mut self.last);
        let mut in_second = false;
        if let Some(arrived) = last.iter().rposition(|sent| sent.cookie == cookie) {
            // What came after that never arrived, and may be elsewhere by now.
            let lost = last.iter().skip(arrived + 1);
            for entry in lost.filter_map(|sent| sent.noted) {
                self.names.remove(&entry.visible);
                self.backings.remove(&entry.backing);
            }
            in_second = last.get(arrived).is_some_and(|sent| sent.in_second);
        } else {
            // It was sought elsewhere: what comes from there on may come again.
            self.start(None);
            self.is_in_order = false;
        }
        self.gave(cookie, None, in_second);
        in_second
    }

    /// The stream is read from its start, of a directory of that ctime.
    pub(super) fn start(&mut self, ctime: Option<Time>) {
        self.names.clear();
        self.backings.clear();
        self.since = ctime;
        self.is_in_order = true;
    }

    /// Was that name given for the entry of that inode?
    pub(super) fn is_of(&self, visible: &[u8], inode: u64) -> bool {
        self.names.get(&self.hasher.hash_one(visible)) == Some(&inode)
    }

    /// Was that name given, for whatever entry?
    pub(super) fn has_name(&self, visible: &[u8]) -> bool {
        self.names.contains_key(&self.hasher.hash_one(visible))
    }

    /// Was the entry of that inode given that lies below as `backing`, by whatever name?
    pub(super) fn has_entry(&self, backing: &[u8], inode: u64) -> bool {
        self.backings.get(&self.hasher.hash_one(backing)) == Some(&inode)
    }

    /// Returns the note of an entry that is to be given.
    pub(super) fn note(&self, visible: &[u8], backing: &[u8], inode: u64) -> ListedEntry {
        ListedEntry {
            visible: self.hasher.hash_one(visible),
            backing: self.hasher.hash_one(backing),
            inode,
        }
    }

    /// Notes that an entry was given, after which the stream goes on at `cookie`, and its names if they matter.
    pub(super) fn gave(&mut self, cookie: u64, entry: Option<ListedEntry>, in_second: bool) {
        let noted = entry.filter(|entry| match self.names.entry(entry.visible) {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(entry.inode);
                let before = self.backings.insert(entry.backing, entry.inode);
                before.is_none()
            }
        });
        self.last.push(SentEntry {
            cookie,
            noted,
            in_second,
        });
    }

    /// Has the directory changed since the stream began, if that matters?
    pub(super) fn is_outdated(&self, ctime: impl FnOnce() -> io::Result<Time>) -> io::Result<bool> {
        self.since.map_or(Ok(false), |since| Ok(ctime()? != since))
    }
}
