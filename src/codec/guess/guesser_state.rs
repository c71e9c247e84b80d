//! The state of a guesser as plain data: another host can send it and merge it.

use super::Guesser;
use super::sample::Sample;
use super::weigh::Candidates;

/// The state of a [`Guesser`]. Only the same version of this program can read it: `unread` follows the order of its charsets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuesserState {
    /// Number of ill-formed names.
    pub ill_formed: u64,
    /// Number of well-formed names.
    pub well_formed: u64,
    /// Number of ill-formed names that each charset does not decode; empty where there were none.
    pub unread: Vec<u64>,
    /// The bytes of ill-formed names, one bit each.
    pub seen: [u64; 4],
    /// Ill-formed names with their hashes.
    pub sample: Vec<(u64, Box<[u8]>)>,
    /// Number of well-formed names that are not ASCII.
    pub beyond_ascii: u64,
    /// Number of those that may have been encoded twice.
    pub undone: u64,
    /// Some of them with their hashes.
    pub doubled: Vec<(u64, Box<[u8]>)>,
}

impl Guesser {
    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> GuesserState {
        let names = |sample: &Sample| {
            let names = sample.hashed();
            names.map(|(hash, name)| (hash, name.into())).collect()
        };
        GuesserState {
            ill_formed: self.ill_formed,
            well_formed: self.well_formed,
            unread: self.unread.clone(),
            seen: self.seen,
            sample: names(&self.sample),
            beyond_ascii: self.beyond_ascii,
            undone: self.undone,
            doubled: names(&self.doubled),
        }
    }

    /// Makes a guesser of a state; `None` if no guesser can have it.
    #[must_use]
    pub fn from_state(state: GuesserState) -> Option<Self> {
        let counts = &state.unread;
        let is_sound = (counts.is_empty() || counts.len() == Candidates::get().len())
            && counts.iter().all(|count| *count <= state.ill_formed)
            && state.beyond_ascii <= state.well_formed
            && state.undone <= state.beyond_ascii;
        is_sound.then(|| Self {
            ill_formed: state.ill_formed,
            well_formed: state.well_formed,
            unread: state.unread,
            seen: state.seen,
            sample: Sample::of(state.sample),
            beyond_ascii: state.beyond_ascii,
            undone: state.undone,
            doubled: Sample::of(state.doubled),
        })
    }
}
