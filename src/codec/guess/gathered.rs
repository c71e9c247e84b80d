//! All that a guesser was given, laid open: to be sent elsewhere and merged there.

use super::Guesser;
use super::sample::Sample;
use super::weigh::Candidates;

/// What a [`Guesser`] holds. It means something to the same version of this program only, since the charsets of `unread` are
/// those that it knows, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gathered {
    /// How many names were ill-formed.
    pub ill_formed: u64,
    /// How many were well-formed.
    pub well_formed: u64,
    /// By charset: how many ill-formed names it does not decode; empty where there were none.
    pub unread: Vec<u64>,
    /// The bytes of ill-formed names, one bit each.
    pub seen: [u64; 4],
    /// Ill-formed names with their hashes.
    pub sample: Vec<(u64, Box<[u8]>)>,
    /// How many well-formed names were not ASCII.
    pub beyond_ascii: u64,
    /// How many of those may have been encoded twice.
    pub undone: u64,
    /// Some of them with their hashes.
    pub doubled: Vec<(u64, Box<[u8]>)>,
}

impl Guesser {
    /// All that was gathered.
    #[must_use]
    pub fn gathered(&self) -> Gathered {
        let names = |sample: &Sample| {
            let names = sample.hashed();
            names.map(|(hash, name)| (hash, name.into())).collect()
        };
        Gathered {
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

    /// A guesser that gathered that; `None` where no guesser can have.
    #[must_use]
    pub fn of_gathered(gathered: Gathered) -> Option<Self> {
        let counts = &gathered.unread;
        let is_sound = (counts.is_empty() || counts.len() == Candidates::get().len())
            && counts.iter().all(|count| *count <= gathered.ill_formed)
            && gathered.beyond_ascii <= gathered.well_formed
            && gathered.undone <= gathered.beyond_ascii;
        is_sound.then(|| Self {
            ill_formed: gathered.ill_formed,
            well_formed: gathered.well_formed,
            unread: gathered.unread,
            seen: gathered.seen,
            sample: Sample::of(gathered.sample),
            beyond_ascii: gathered.beyond_ascii,
            undone: gathered.undone,
            doubled: Sample::of(gathered.doubled),
        })
    }
}
