//! The names of one directory, as it was read.

use std::io;
use std::os::fd::AsFd;

use crate::backing::{Dir, Entries, Kind};
use crate::names::BackingName;

/// An entry as the directory tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedEntry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its inode number (`d_ino`).
    pub inode: u64,
    /// The kind of the entry (`d_type`, or of its inode where the directory does not tell it).
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
        list.fill(&mut Entries::open_quietly(directory)?)?;
        Ok(list)
    }

    /// Forgets all entries, and reads those of a directory to its end, or as far as it can be read.
    ///
    /// # Errors
    /// Those of getdents(2).
    pub(super) fn fill(&mut self, entries: &mut Entries) -> io::Result<()> {
        self.names.clear();
        self.rows.clear();
        while let Some(entry) = entries.next()? {
            if !entry.is_dot() {
                self.push(entry.name, entry.kind, entry.ino);
            }
        }
        // Each has to be looked at on a filesystem that does not tell what its entries are.
        let mut start = 0;
        for row in &mut self.rows {
            if row.kind == Kind::Unknown {
                let name = self.names.get(start..row.end).unwrap_or_default();
                let name = BackingName::parse(name).ok();
                let stat = name.and_then(|name| Dir::new(&*entries).stat_child(&name).ok());
                row.kind = stat.map_or(Kind::Unknown, |stat| stat.kind());
            }
            start = row.end;
        }
        Ok(())
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
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the name of the entry of that index; empty where there is none.
    pub(super) fn name(&self, index: usize) -> &[u8] {
        let end = |index: usize| self.rows.get(index).map(|row| row.end);
        let start = index.checked_sub(1).and_then(end).unwrap_or_default();
        let end = end(index).unwrap_or_default();
        self.names.get(start..end).unwrap_or_default()
    }

    /// The entries, in the order in which they were taken in.
    pub fn iter(&self) -> impl Iterator<Item = ListedEntry<'_>> {
        let rows = self.rows.iter().enumerate();
        rows.map(|(index, row)| ListedEntry {
            name: self.name(index),
            inode: row.inode,
            kind: row.kind,
        })
    }
}
