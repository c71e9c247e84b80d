//! A scan as a walk's visitor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::paths::joined;
use super::scanner::{Scan, SharedDirectory, State};
use super::shard::Shard;
use crate::backing::Kind;
use crate::records::Failure;
use crate::tree::tree_walk::{Place, Visitor};

impl Visitor for Scan<'_> {
    type State = State;

    fn start(&self) -> State {
        self.state()
    }

    fn enter(&self, state: &mut State, place: &Arc<Place>) {
        state.names.clear();
        let depth = place.depth() + 1;
        state.directory = SharedDirectory {
            is_ours: has(self, place),
            shared_out: (self.shard.of > 1 && depth == self.shard.depth).then(|| place.path()),
            root: place.root(),
        };
    }

    fn entry(&self, state: &mut State, name: &[u8], _: Kind, _: u64) {
        if state.directory.is_ours {
            state.names.push(&self.rules, name);
        }
    }

    fn descends(&self, state: &mut State, name: &[u8]) -> bool {
        let SharedDirectory {
            shared_out, root, ..
        } = &state.directory;
        shared_out
            .as_ref()
            .is_none_or(|path| self.shard.has_path(*root, &joined(path, name)))
    }

    fn leave(&self, state: &mut State, place: &Arc<Place>, _: &OwnedFd) {
        if state.directory.is_ours {
            let State {
                tally, names, out, ..
            } = state;
            self.evaluate(tally, names, out, place.root(), || place.path());
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
            self.add_unread(state, path, place.depth(), &error);
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
    scan.shard == Shard::WHOLE || scan.shard.has(place.root(), &place.names())
}
