//! Names that were listed by another program, instead of a walk.

use std::io::BufRead;

use super::scanner::Scan;
use crate::policy::is_component;
use crate::records::{Kind, Name};
use crate::tree::entry_list::EntryList;
use crate::tree::tree_walk::Visitor;

/// A directory that further names may come of.
#[derive(Debug)]
struct Open {
    path: Vec<u8>,
    entries: EntryList,
}

impl Scan<'_> {
    /// Reads a list of paths, each ended by a NUL, as `find -print0` writes them, to its end or as far as it can be read. A
    /// fault is reported of `name`. Nothing is looked at but the list.
    ///
    /// Each path is one entry, judged by its last component; those that have none (`.`, `..`, `/`) are left out. Names of
    /// a directory are compared with each other if its paths stand together, except for those below it, as in a walk or a
    /// sorted list. Memory grows with the names of the directories on the way to one.
    pub fn read_list(&self, list: impl BufRead, name: &[u8]) {
        // Each lies below the one before it.
        let mut open: Vec<Open> = Vec::new();
        for path in list.split(0).take_while(|_| !self.is_over()) {
            match path {
                Ok(path) => {
                    if let Some((directory, name)) = split(&path) {
                        self.add_name(&mut open, directory, name);
                    }
                }
                Err(error) => {
                    self.add_unread(Name::from(name), 0, &error);
                    break;
                }
            }
        }
        open.iter().rev().for_each(|open| self.close(open));
    }

    /// Adds a name to its directory, which is opened. Directories are closed that it is not below.
    fn add_name(&self, open: &mut Vec<Open>, directory: &[u8], name: &[u8]) {
        while let Some(done) = open.pop_if(|open| !is_below(directory, &open.path)) {
            self.close(&done);
        }
        if open.last().is_none_or(|open| open.path != directory) {
            open.push(Open {
                path: directory.to_vec(),
                entries: EntryList::default(),
            });
        }
        if let Some(open) = open.last_mut() {
            open.entries.push(name, Kind::Unknown, 0);
        }
    }

    /// Judges the names of a directory, if it is in the part that is looked at.
    fn close(&self, open: &Open) {
        if self.shard.has_path(0, &open.path) {
            self.evaluate(&open.entries, || open.path.clone());
        }
    }
}

/// Returns the directory of a path and the last component; `None` if it has none.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = path.iter().rposition(|byte| *byte != b'/')?;
    let path = path.get(..=end)?;
    let (directory, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (path.get(..slash.max(1))?, path.get(slash + 1..)?),
        None => (&b""[..], path),
    };
    is_component(name).then_some((directory, name))
}

/// Is `directory` the one that is open, or does it lie below it?
fn is_below(directory: &[u8], open: &[u8]) -> bool {
    directory.strip_prefix(open).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(b"/") || open.is_empty() || open.ends_with(b"/")
    })
}
