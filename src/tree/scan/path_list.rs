//! Names that were listed by another program, instead of a walk.

use std::io::BufRead;

use super::scanner::Scan;
use crate::policy::is_component;
use crate::records::{Kind, Tally};
use crate::tree::entry_list::EntryList;

/// A directory that further names may come of.
#[derive(Debug)]
struct Open {
    path: Vec<u8>,
    /// Is it in the part that is looked at?
    is_ours: bool,
    entries: EntryList,
}

/// A list of paths that is being read.
#[derive(Debug)]
struct PathList<'s, 'o> {
    scan: &'s Scan<'o>,
    tally: Tally,
    /// Each lies below the one before it.
    open: Vec<Open>,
}

impl Scan<'_> {
    /// Reads a list of paths, each ended by a NUL, as `find -print0` writes them, to its end or as far as it can be read. A
    /// fault is reported of `name`. Nothing is looked at but the list.
    ///
    /// Each path is one entry, judged by its last component; those that have none (`.`, `..`, `/`) are left out. Names of
    /// a directory are compared with each other if its paths stand together, except for those below it, as in a walk or a
    /// sorted list. Memory grows with the names of the directories on the way to one.
    #[must_use]
    pub fn read_list(&self, list: impl BufRead, name: &[u8]) -> Tally {
        let mut paths = PathList {
            scan: self,
            tally: Tally::new(self.kept),
            open: Vec::new(),
        };
        for path in list.split(0).take_while(|_| !self.reached.is_over()) {
            match path {
                Ok(path) => paths.add(&path),
                Err(error) => {
                    self.add_unread(&mut paths.tally, name.to_vec(), 0, &error);
                    break;
                }
            }
        }
        while let Some(open) = paths.open.pop() {
            paths.close(&open);
        }
        paths.tally
    }
}

impl PathList<'_, '_> {
    fn add(&mut self, path: &[u8]) {
        let end = path.iter().rposition(|byte| *byte != b'/');
        let path = path.get(..end.map_or(0, |end| end + 1)).unwrap_or_default();
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (directory, name) = match slash {
            Some(slash) => (path.get(..slash.max(1)), path.get(slash + 1..)),
            None => (Some(&b""[..]), Some(path)),
        };
        let (Some(directory), Some(name)) = (directory, name) else {
            return;
        };
        if !is_component(name) {
            return;
        }
        self.enter(directory);
        if let Some(open) = self.open.last_mut().filter(|open| open.is_ours) {
            open.entries.push(name, Kind::Unknown, 0);
        }
    }

    /// Closes directories that `directory` is not below, and opens it where it is not open.
    fn enter(&mut self, directory: &[u8]) {
        while let Some(open) = self.open.pop_if(|open| !is_below(directory, &open.path)) {
            self.close(&open);
        }
        if self.open.last().is_none_or(|open| open.path != directory) {
            self.open.push(Open {
                path: directory.to_vec(),
                is_ours: self.scan.shard.has_path(0, directory),
                entries: EntryList::default(),
            });
        }
    }

    fn close(&mut self, open: &Open) {
        if open.is_ours {
            let tally = &mut self.tally;
            self.scan
                .evaluate(tally, &open.entries, 0, || open.path.clone());
        }
    }
}

/// Is `directory` the one that is open, or does it lie below it?
fn is_below(directory: &[u8], open: &[u8]) -> bool {
    directory.strip_prefix(open).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(b"/") || open.is_empty() || open.ends_with(b"/")
    })
}
