//! A scan as a walk's visitor.

use std::io;
use std::sync::Arc;

use super::finding::Found;
use super::listing::Listing;
use super::tally::{Failure, Tally};
use super::{Scan, Shard, joined};
use crate::backing::Kind;
use crate::tree::walk::{Place, Visitor};

/// Who is told of each finding, while the scan goes on, by several threads.
pub trait Sink: Sync {
    /// Is anything told at all? Else only the tally is made.
    fn is_told(&self) -> bool;

    /// Appends to `out` what is to be told of an entry with findings.
    fn entry(&self, out: &mut Vec<u8>, entry: &Listed<'_>);

    /// Appends to `out` what is to be told of a directory that could not be read.
    fn unread(&self, out: &mut Vec<u8>, path: &[u8], error: &io::Error);

    /// Takes what was appended, and tells it. `false` if nobody listens any more.
    fn take(&self, out: &[u8]) -> bool;
}

/// An entry in which something was found.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// The path of its directory, root and all.
    pub directory: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// What was found, one of each kind. Never empty.
    pub found: &'a [Found],
    /// Is one of that an offence?
    pub is_offending: bool,
    /// A sibling that it collides with.
    pub like: Option<&'a [u8]>,
}

/// What a thread has gathered.
#[derive(Debug)]
pub struct State {
    pub(super) tally: Tally,
    pub(super) listing: Listing,
    /// What is still to be told.
    pub(super) out: Vec<u8>,
    /// The directory that is being read.
    here: Here,
}

/// What becomes of a directory where a tree is shared out.
#[derive(Debug, Default)]
struct Here {
    is_ours: bool,
    /// Where those in it are shared out: its path.
    shared_out: Option<Vec<u8>>,
    root: usize,
}

impl State {
    /// Gives what was gathered, once the last of it was told.
    #[must_use]
    pub fn done<S: Sink>(self, scan: &Scan<'_, S>) -> Tally {
        if !self.out.is_empty() && !scan.sink.take(&self.out) {
            scan.reached.end();
        }
        self.tally
    }
}

impl<S: Sink> Scan<'_, S> {
    /// Nothing gathered yet.
    #[must_use]
    pub fn state(&self) -> State {
        State {
            tally: Tally::new(self.kept),
            listing: Listing::default(),
            out: Vec::new(),
            here: Here::default(),
        }
    }

    /// The path of a directory, root and all.
    #[must_use]
    pub fn path(&self, root: usize, path: &[u8]) -> Vec<u8> {
        joined(self.roots.get(root).map_or(b"", Vec::as_slice), path)
    }

    /// Tells that a directory, or a list, could not be read. `depth` is how far below a root it lies; 0 for what is read for
    /// every part.
    pub fn add_unread(
        &self,
        state: &mut State,
        (root, path): (usize, Vec<u8>),
        depth: usize,
        error: &io::Error,
    ) {
        if self.sink.is_told() {
            let path = self.path(root, &path);
            self.sink.unread(&mut state.out, &path, error);
        }
        let failure = Failure {
            root,
            path,
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        };
        if self.shard.is_above(depth) {
            state.tally.add_above(failure);
        } else {
            let most = state.tally.kept_failures();
            state.tally.unread.add(failure, most);
        }
    }

    fn has(&self, place: &Place) -> bool {
        self.shard == Shard::WHOLE || self.shard.has(place.root(), &place.names())
    }
}

impl<S: Sink> Visitor for Scan<'_, S> {
    type State = State;

    fn start(&self) -> State {
        self.state()
    }

    fn enter(&self, state: &mut State, place: &Arc<Place>) {
        state.listing.clear();
        let depth = place.depth() + 1;
        state.here = Here {
            is_ours: self.has(place),
            shared_out: (self.shard.of() > 1 && depth == self.shard.depth()).then(|| place.path()),
            root: place.root(),
        };
    }

    fn name(&self, state: &mut State, name: &[u8], _kind: Kind) {
        if state.here.is_ours {
            state.listing.push(&self.rules, name);
        }
    }

    fn descends(&self, state: &mut State, name: &[u8]) -> bool {
        let Here {
            shared_out, root, ..
        } = &state.here;
        shared_out
            .as_ref()
            .is_none_or(|path| self.shard.has_path(*root, &joined(path, name)))
    }

    fn leave(&self, state: &mut State, place: &Arc<Place>) {
        let State {
            tally,
            listing,
            out,
            here,
        } = state;
        if !here.is_ours {
            return;
        }
        self.close(tally, listing, out, place.root(), || place.path());
    }

    fn failed(&self, state: &mut State, place: &Arc<Place>, error: io::Error) {
        let is_gone = matches!(
            error.raw_os_error(),
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)
        );
        if is_gone && place.depth() > 0 {
            state.tally.vanished += u64::from(self.has(place));
        } else {
            let place_of = (place.root(), place.path());
            self.add_unread(state, place_of, place.depth(), &error);
        }
    }

    fn left_out(&self, state: &mut State, place: &Arc<Place>) {
        if !self.has(place) {
            return;
        }
        let failure = Failure {
            root: place.root(),
            path: place.path(),
            errno: 0,
        };
        let most = state.tally.kept_failures();
        state.tally.left_out.add(failure, most);
    }

    fn is_over(&self) -> bool {
        self.reached.is_over()
    }
}
