//! Files that are written to through the mount: the kernel knows what it writes, also where it does that by itself, in the name
//! of the process that writes.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::backing::FileHandle;
use crate::fs::inode::lock;

/// A file that was closed is reported to be within this time, or twice.
const TOLD: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Files {
    open: HashMap<FileHandle, u32>,
    closed: HashSet<FileHandle>,
    /// Those closed earlier.
    before: HashSet<FileHandle>,
    since: Option<Instant>,
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
        let since = *files.since.get_or_insert_with(Instant::now);
        if since.elapsed() > TOLD {
            files.before = std::mem::take(&mut files.closed);
            files.since = Some(Instant::now());
        }
        files.closed.insert(file.clone());
    }

    /// Is it one of these that is reported to be closed?
    pub(super) fn is_told(&self, file: &FileHandle) -> bool {
        let mut files = lock(&self.0);
        files.open.contains_key(file) || files.closed.remove(file) || files.before.remove(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_that_was_closed_is_told_once() {
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
        assert!(!own.is_told(&file));
    }
}
