//! A scan as a walk's visitor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::scanner::{Scan, joined};
use crate::names::BackingName;
use crate::records::{Failure, Name};
use crate::tree::tree_walk::{Listed, Mounts, Place, Visitor, walk};

impl Scan<'_> {
    /// Walks the trees below `roots`, on so many threads.
    ///
    /// # Errors
    /// A root can't be looked at.
    pub fn walk(&self, roots: &[OwnedFd], crossing: Mounts, threads: usize) -> io::Result<()> {
        walk(roots, crossing, threads, self).map(drop)
    }

    /// Is the directory judged in this part?
    fn has(&self, place: &Place) -> bool {
        self.shard.of == 1 || self.shard.has(place.root, &place.names())
    }

    /// Returns the path of a directory, root and all.
    fn path(&self, place: &Place) -> Vec<u8> {
        let root = self.roots.get(place.root);
        joined(root.map_or(b"", Name::as_bytes), &place.path())
    }
}

impl Visitor for Scan<'_> {
    type State = ();

    fn start(&self) {}

    fn visit(&self, (): &mut (), directory: &Listed<'_>) {
        if self.has(directory.place) {
            self.evaluate(directory.entries, || self.path(directory.place));
        }
    }

    fn descends(&self, (): &(), place: &Place, name: &BackingName) -> bool {
        // Those further down are where the directory at the depth is.
        let is_shared_out = self.shard.of > 1 && place.depth + 1 == self.shard.depth;
        !is_shared_out || {
            let names = [place.names().as_slice(), std::slice::from_ref(name)].concat();
            self.shard.has(place.root, &names)
        }
    }

    fn failed(&self, (): &mut (), place: &Arc<Place>, error: io::Error) {
        let is_gone = matches!(
            error.raw_os_error(),
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)
        );
        if is_gone && place.depth > 0 {
            self.tally.lock().vanished += u64::from(self.has(place));
        } else {
            self.add_unread(self.path(place).into(), place.depth, &error);
        }
    }

    fn left_out(&self, (): &mut (), place: &Arc<Place>) {
        if self.has(place) {
            let path = self.path(place).into();
            let failure = Failure { path, errno: 0 };
            self.tally.lock().left_out.add(failure);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }
}
