//! The names of one directory, as it was read.

use std::io;
use std::os::fd::AsFd;

use crate::backing::{Entries, Kind};

/// An entry as the directory tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedEntry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its inode number (`d_ino`).
    pub inode: u64,
    /// The kind of the entry (`d_type`).
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    end: usize,
    inode: u64,
    kind: Kind,
}

/// The entries of one directory, but for `.` and `..`, in any order.
#[derive(Debug, Clone, Default)]
pub struct EntryList {
    /// All names, one behind the other.
    names: Vec<u8>,
    rows: Vec<Row>,
}

impl EntryList {
    /// Reads a directory, and leaves its access time where that is for us to say.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn read(directory: impl AsFd) -> io::Result<Self> {
        let mut list = Self::default();
        let mut entries = Entries::open_quietly(directory)?;
        while let Some(entry) = entries.next()? {
            if !entry.is_dot() {
                list.push(entry.name, entry.kind, entry.ino);
            }
        }
        Ok(list)
    }

    /// Forgets all entries, and keeps the memory for the next ones.
    pub fn clear(&mut self) {
        self.names.clear();
        self.rows.clear();
    }

    /// Takes an entry in.
    pub fn push(&mut self, name: &[u8], kind: Kind, inode: u64) {
        self.names.extend_from_slice(name);
        self.rows.push(Row {
            end: self.names.len(),
            inode,
            kind,
        });
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Is it empty?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The entries, in the order in which they were taken in.
    pub fn iter(&self) -> impl Iterator<Item = ListedEntry<'_>> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let name = self.names.get(start..row.end).unwrap_or_default();
            start = row.end;
            ListedEntry {
                name,
                inode: row.inode,
                kind: row.kind,
            }
        })
    }
}
