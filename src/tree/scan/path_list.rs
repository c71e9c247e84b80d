//! Names that were listed by another program, instead of a walk.

use std::io::{self, BufRead};

use super::name_list::NameList;
use super::scanner::{Scan, Sink, State};
use crate::policy::is_component;
use crate::records::Tally;

/// A directory that further names may come of.
#[derive(Debug, Default)]
struct Open {
    path: Vec<u8>,
    /// Is it in the part that is looked at?
    is_ours: bool,
    listing: NameList,
}

/// A list of paths, each ended by a NUL, as `find -print0` writes them. Nothing is looked at but the list.
///
/// Each path is one entry, judged by its last component; those that have none (`.`, `..`, `/`) are left out. Names of
/// a directory are compared with each other if its paths stand together, except for those below it, as in a walk or a
/// sorted list. Memory grows with the names of the directories on the way to one.
#[derive(Debug)]
pub struct PathList<'s, 'o, S: Sink> {
    scan: &'s Scan<'o, S>,
    state: State,
    /// Each lies below the one before it.
    open: Vec<Open>,
    /// Directories that were closed, for their memory.
    spare: Vec<Open>,
}

/// A list that could not be read to its end.
#[derive(Debug)]
pub struct PathListError {
    /// The error of the system.
    pub error: io::Error,
    /// All that was gathered before that.
    pub tally: Box<Tally>,
}

impl<'s, 'o, S: Sink> PathList<'s, 'o, S> {
    /// Returns a list of which nothing was read yet.
    #[must_use]
    pub fn new(scan: &'s Scan<'o, S>) -> Self {
        Self {
            scan,
            state: scan.state(),
            open: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Reads a list to its end.
    ///
    /// # Errors
    /// The list can't be read; what stands before that is judged.
    pub fn read(mut self, list: &mut impl BufRead) -> Result<Tally, PathListError> {
        let mut path = Vec::new();
        while !self.scan.reached.is_over() {
            path.clear();
            match list.read_until(0, &mut path) {
                Ok(0) => break,
                Ok(_) => {
                    path.pop_if(|last| *last == 0);
                    self.add(&path);
                }
                Err(error) => {
                    let tally = Box::new(self.done());
                    return Err(PathListError { error, tally });
                }
            }
        }
        Ok(self.done())
    }

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
            open.listing.push(&self.scan.rules, name);
        }
    }

    /// Closes directories that `directory` is not below, and opens it where it is not open.
    fn enter(&mut self, directory: &[u8]) {
        while let Some(open) = self.open.pop_if(|open| !is_below(directory, &open.path)) {
            self.close(open);
        }
        if self.open.last().is_none_or(|open| open.path != directory) {
            let mut open = self.spare.pop().unwrap_or_default();
            open.path.clear();
            open.path.extend_from_slice(directory);
            open.is_ours = self.scan.shard.has_path(0, directory);
            open.listing.clear();
            self.open.push(open);
        }
    }

    fn close(&mut self, open: Open) {
        let State { tally, out, .. } = &mut self.state;
        if open.is_ours {
            self.scan
                .evaluate(tally, &open.listing, out, 0, || open.path.clone());
        }
        self.spare.push(open);
    }

    fn done(mut self) -> Tally {
        while let Some(open) = self.open.pop() {
            self.close(open);
        }
        self.state.done(self.scan)
    }
}

/// Is `directory` the one that is open, or does it lie below it?
fn is_below(directory: &[u8], open: &[u8]) -> bool {
    directory.strip_prefix(open).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(b"/") || open.is_empty() || open.ends_with(b"/")
    })
}
