//! A scan as a walk's visitor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::scanner::Scan;
use crate::names::BackingName;
use crate::records::{Failure, Tally};
use crate::tree::tree_walk::{Listed, Mounts, Place, Visitor, walk};

impl Scan<'_> {
    /// Walks the trees below `roots`, on so many threads.
    ///
    /// # Errors
    /// A root can't be looked at.
    pub fn walk(&self, roots: &[OwnedFd], crossing: Mounts, threads: usize) -> io::Result<Tally> {
        let mut all = Tally::new(self.kept);
        for tally in walk(roots, crossing, threads, self)? {
            all.merge(tally);
        }
        Ok(all)
    }
}

impl Visitor for Scan<'_> {
    type State = Tally;

    fn start(&self) -> Tally {
        Tally::new(self.kept)
    }

    fn visit(&self, tally: &mut Tally, directory: &Listed<'_>) {
        let place = directory.place;
        if has(self, place) {
            self.evaluate(tally, directory.entries, place.root, || place.path());
        }
    }

    fn descends(&self, _: &Tally, place: &Place, name: &BackingName) -> bool {
        // Those further down are where the directory at the depth is.
        let is_shared_out = self.shard.of > 1 && place.depth + 1 == self.shard.depth;
        !is_shared_out || {
            let names = [place.names().as_slice(), std::slice::from_ref(name)].concat();
            self.shard.has(place.root, &names)
        }
    }

    fn failed(&self, tally: &mut Tally, place: &Arc<Place>, error: io::Error) {
        let is_gone = matches!(
            error.raw_os_error(),
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)
        );
        if is_gone && place.depth > 0 {
            tally.vanished += u64::from(has(self, place));
        } else {
            let path = self.path(place.root, &place.path());
            self.add_unread(tally, path, place.depth, &error);
        }
    }

    fn left_out(&self, tally: &mut Tally, place: &Arc<Place>) {
        if has(self, place) {
            let path = self.path(place.root, &place.path()).into();
            let failure = Failure { path, errno: 0 };
            tally.left_out.add(failure, self.kept.failures);
        }
    }

    fn is_over(&self) -> bool {
        self.reached.is_over()
    }
}

fn has(scan: &Scan<'_>, place: &Place) -> bool {
    scan.shard.of == 1 || scan.shard.has(place.root, &place.names())
}
