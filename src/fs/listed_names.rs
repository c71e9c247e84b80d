//! The names that a directory stream has listed, so that it lists none for two entries.
//!
//! A name may go from one entry to another while a directory is read. Where `café` is renamed away, the legacy
//! sibling that was to be `caf%E9` becomes visible as `café`. A program that renames or removes each name as it reads
//! would then take the second entry for the first one come back, and lose a file.
//!
//! An entry may also go from one name to another, as all do while a migration gives them their UTF-8 names. The
//! stream may have passed its new place by then, or not go as far. So a directory that has changed by the end of the
//! stream is read once more, for visible names not yet given. An entry that is renamed once stays in one place during
//! one of the two readings (law T7).

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::{BuildHasher, RandomState};
use std::io;

use crate::backing::Time;

/// The names listed, by hash, with the backing names of their entries. Two names of one hash only cost the second its
/// best name.
#[derive(Debug, Default)]
pub(super) struct ListedNames {
    entries: HashMap<u64, ListedEntry>,
    hasher: RandomState,
    /// The ctime of the directory when the stream began, where a name that it shows can be that of two backing names.
    since: Option<Time>,
    /// Did each reading go on where the one before ended?
    is_in_order: bool,
    /// The last reply. The kernel may have had no room for the end of it: then it asks for that again.
    last: LastReply,
}

/// The entry that a name was given for: its backing name, by its hash, and its inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedEntry {
    backing: u64,
    inode: u64,
}

/// The entries that one request got.
#[derive(Debug, Default)]
struct LastReply {
    /// The cookie of its start.
    cookie: u64,
    /// And was that in the second reading of the directory?
    began_second: bool,
    entries: Vec<SentEntry>,
}

/// An entry that was given.
#[derive(Debug)]
struct SentEntry {
    /// The cookie at which the stream goes on after it.
    cookie: u64,
    /// The hash of its name, if that was noted with it for the first time.
    noted: Option<u64>,
    /// Was it given by the second reading of the directory?
    in_second: bool,
}

impl ListedNames {
    /// Begins a reading that goes on at `cookie`. Does it go on with the second reading of the directory?
    pub(super) fn goes_on(&mut self, cookie: u64) -> bool {
        let last = std::mem::take(&mut self.last);
        let place = last.entries.iter().rposition(|gave| gave.cookie == cookie);
        // What came after that never arrived, and may be elsewhere by now.
        let (arrived, is_second) = match place {
            Some(place) => (
                place + 1,
                last.entries.get(place).is_some_and(|gave| gave.in_second),
            ),
            None if last.cookie == cookie => (0, last.began_second),
            // It was sought elsewhere: what comes from there on may come again.
            None => {
                self.start(None);
                self.is_in_order = false;
                (last.entries.len(), false)
            }
        };
        for gave in last.entries.get(arrived..).unwrap_or_default() {
            if let Some(visible) = gave.noted {
                self.entries.remove(&visible);
            }
        }
        self.last = LastReply {
            cookie,
            began_second: is_second,
            entries: Vec::new(),
        };
        is_second
    }

    /// The stream is read from its start, of a directory of that ctime.
    pub(super) fn start(&mut self, ctime: Option<Time>) {
        self.entries.clear();
        self.since = ctime;
        self.is_in_order = true;
    }

    /// May `visible` be listed for the entry that lies below as `backing`?
    pub(super) fn is_free(&self, visible: &[u8], backing: &[u8]) -> bool {
        self.entries
            .get(&self.hasher.hash_one(visible))
            .is_none_or(|entry| entry.backing == self.hasher.hash_one(backing))
    }

    /// Was that name given for the entry of that inode, which may have had another backing name then?
    pub(super) fn is_of(&self, visible: &[u8], inode: u64) -> bool {
        self.entries
            .get(&self.hasher.hash_one(visible))
            .is_some_and(|entry| entry.inode == inode)
    }

    /// Was that name given, for whatever entry?
    pub(super) fn has(&self, visible: &[u8]) -> bool {
        self.entries.contains_key(&self.hasher.hash_one(visible))
    }

    /// Was nothing sought since the stream was at its start? Then what comes again has moved (tmpfs puts what is renamed in front,
    /// and goes on from there).
    pub(super) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// Returns the note of a name, and of the entry that it is to be given for.
    pub(super) fn pair(&self, visible: &[u8], backing: &[u8], inode: u64) -> (u64, ListedEntry) {
        let backing = self.hasher.hash_one(backing);
        (
            self.hasher.hash_one(visible),
            ListedEntry { backing, inode },
        )
    }

    /// Notes that an entry was given, after which the stream goes on at `cookie`, and its name if that matters.
    pub(super) fn gave(&mut self, cookie: u64, pair: Option<(u64, ListedEntry)>, in_second: bool) {
        let noted = pair.and_then(|(visible, whose)| match self.entries.entry(visible) {
            Slot::Occupied(_) => None,
            Slot::Vacant(slot) => {
                slot.insert(whose);
                Some(visible)
            }
        });
        self.last.entries.push(SentEntry {
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
