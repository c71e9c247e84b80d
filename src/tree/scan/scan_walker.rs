//! A scan as a walk's visitor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::scanner::{Scan, State};
use crate::backing::Kind;
use crate::names::BackingName;
use crate::records::{Failure, Tally};
use crate::tree::tree_walk::{Mounts, Place, Visitor, walk};

impl Scan<'_> {
    /// Walks the trees below `roots`, on so many threads.
    ///
    /// # Errors
    /// A root can't be looked at.
    pub fn walk(&self, roots: &[OwnedFd], crossing: Mounts, threads: usize) -> io::Result<Tally> {
        let mut all = Tally::new(self.kept);
        for state in walk(roots, crossing, threads, self)? {
            all.merge(state.tally);
        }
        Ok(all)
    }
}

impl Visitor for Scan<'_> {
    type State = State;

    fn start(&self) -> State {
        self.state()
    }

    fn enter(&self, state: &mut State, place: &Arc<Place>) {
        state.names.clear();
        state.is_ours = has(self, place);
    }

    fn entry(&self, state: &mut State, name: &[u8], _: Kind, _: u64) {
        if state.is_ours {
            state.names.push(&self.rules, name);
        }
    }

    fn descends(&self, _: &mut State, place: &Place, name: &BackingName) -> bool {
        // Those further down are where the directory at the depth is.
        let is_shared_out = self.shard.of > 1 && place.depth() + 1 == self.shard.depth;
        !is_shared_out || {
            let names = [place.names().as_slice(), std::slice::from_ref(name)].concat();
            self.shard.has(place.root(), &names)
        }
    }

    fn leave(&self, state: &mut State, place: &Arc<Place>, _: &OwnedFd) {
        if state.is_ours {
            let State { tally, names, .. } = state;
            self.evaluate(tally, names, place.root(), || place.path());
        }
    }

    fn failed(&self, state: &mut State, place: &Arc<Place>, error: io::Error) {
        let is_gone = matches!(
            error.raw_os_error(),
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)
        );
        if is_gone && place.depth() > 0 {
            state.tally.vanished += u64::from(has(self, place));
        } else {
            let path = self.path(place.root(), &place.path());
            self.add_unread(&mut state.tally, path, place.depth(), &error);
        }
    }

    fn left_out(&self, state: &mut State, place: &Arc<Place>) {
        if has(self, place) {
            let path = self.path(place.root(), &place.path()).into();
            state.tally.add_left_out(Failure { path, errno: 0 });
        }
    }

    fn is_over(&self) -> bool {
        self.reached.is_over()
    }
}

fn has(scan: &Scan<'_>, place: &Place) -> bool {
    scan.shard.of == 1 || scan.shard.has(place.root(), &place.names())
}
