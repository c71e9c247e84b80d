//! Files that are written to through the mount: the kernel knows what it writes, also where it does that by itself, in the name
//! of the process that writes.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::backing::FileHandle;
use crate::fs::inode::lock;

/// What was closed is known for so long, at most twice: it may be reported before or after the daemon is asked to close it.
const TOLD: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Files {
    open: HashMap<FileHandle, u32>,
    closed: HashSet<FileHandle>,
    /// Those closed earlier.
    before: HashSet<FileHandle>,
    since: Option<Instant>,
}

impl Files {
    fn grow_old(&mut self) {
        let age = self.since.get_or_insert_with(Instant::now).elapsed();
        if age > TOLD {
            self.before = std::mem::take(&mut self.closed);
            self.since = Some(Instant::now());
        }
        if age > TOLD * 2 {
            self.before = HashSet::new();
        }
    }
}

/// The files.
#[derive(Debug, Default)]
pub(super) struct Own(Mutex<Files>);

impl Own {
    /// A file was opened for writing.
    pub(super) fn open(&self, file: &FileHandle) {
        *lock(&self.0).open.entry(file.clone()).or_default() += 1;
    }

    /// It is closed.
    pub(super) fn close(&self, file: &FileHandle) {
        let mut files = lock(&self.0);
        if let Some(count) = files.open.get_mut(file) {
            *count -= 1;
            if *count == 0 {
                files.open.remove(file);
            }
        }
        files.grow_old();
        files.closed.insert(file.clone());
    }

    /// Is it one of these that is reported to be closed?
    pub(super) fn is_told(&self, file: &FileHandle) -> bool {
        let mut files = lock(&self.0);
        files.grow_old();
        files.open.contains_key(file) || files.closed.contains(file) || files.before.contains(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_is_known_until_some_time_after_it_was_closed() {
        let own = Own::default();
        let file = FileHandle::from_parts(1, b"abcdefgh").unwrap();
        assert!(!own.is_told(&file));
        own.open(&file);
        own.open(&file);
        own.close(&file);
        // One that writes is left.
        assert!(own.is_told(&file));
        assert!(own.is_told(&file));
        own.close(&file);
        assert!(own.is_told(&file));
        assert!(own.is_told(&file));
        let past = Instant::now().checked_sub(TOLD * 3);
        lock(&own.0).since = past;
        assert!(!own.is_told(&file));
    }
}
