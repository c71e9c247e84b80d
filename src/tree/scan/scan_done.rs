//! A scan that is over, and the lines at the end of its report.

use super::tree_charsets::TreeCharsets;
use crate::codec::guess::{Guesser, likely};
use crate::records::{
    CharsetGuess, DirectoryReport, Finding, GuessRecord, KindTotal, ScanLine, ScanPart, ScanTotal,
    TOTAL_FORMAT,
};

/// A scan that is over.
#[derive(Debug)]
pub struct ScanDone {
    /// All that was found, of the whole or of a part.
    pub scan: ScanPart,
    /// The charsets of the ill-formed names.
    pub charsets: TreeCharsets,
    /// The commands to run next.
    pub next: Vec<String>,
}

impl ScanDone {
    /// Reads the names that were kept. What to run next is for the caller to say.
    pub fn new(scan: ScanPart) -> Self {
        Self {
            charsets: TreeCharsets::of(&scan.tally),
            scan,
            next: Vec::new(),
        }
    }

    /// Is a finding an offence by the options of the scan?
    pub fn is_offence(&self, finding: Finding) -> bool {
        self.scan.policy.offences.contains(&finding)
    }

    /// Returns the lines that a report ends with; with `is_part` also what it takes to merge it with other parts.
    pub fn last_lines(&self, is_part: bool) -> impl Iterator<Item = ScanLine> {
        let tally = &self.scan.tally;
        let left_out = tally.left_out.first.iter().map(|failure| {
            let path = failure.path.clone();
            ScanLine::LeftOut { path }
        });
        let directories = tally.worst.iter().map(|directory| {
            let guesses = directory.guesser.as_deref().map(Guesser::charsets);
            let guesses = guesses.unwrap_or_default();
            let guesses = likely(&guesses).map(|guess| CharsetGuess {
                charset: guess.charset,
                confidence: guess.confidence,
            });
            ScanLine::Directory(DirectoryReport {
                path: directory.path.clone(),
                counts: directory.counts,
                guesses: guesses.collect(),
                charsets: self.charsets.of_directory(directory).to_vec(),
            })
        });
        let guesses = self.charsets.guesses.iter().map(GuessRecord::from);
        let doubled = tally.guesser.doubled();
        let guesses = guesses.chain(doubled.as_ref().map(GuessRecord::from));
        let part = is_part.then(|| ScanLine::Part(Box::new(self.scan.clone())));
        left_out
            .chain(directories)
            .chain(guesses.map(ScanLine::Guess))
            .chain(part)
            .chain([ScanLine::Total(Box::new(self.total()))])
    }

    /// Returns the last line: the whole scan.
    pub fn total(&self) -> ScanTotal {
        let tally = &self.scan.tally;
        let kinds = tally.kinds.iter();
        let kinds = kinds.map(|(&(finding, kind), &names)| KindTotal {
            finding,
            kind,
            names,
            offence: self.is_offence(finding),
        });
        ScanTotal {
            format: TOTAL_FORMAT,
            roots: self.scan.roots.clone(),
            directories: tally.directories,
            troubled_directories: tally.troubled_directories,
            counts: tally.counts,
            kinds: kinds.collect(),
            charsets: self.charsets.totals.clone(),
            next: self.next.clone(),
            policy: self.scan.policy.clone(),
            unread: tally.all_unread().count,
            left_out: tally.left_out.count,
            vanished: tally.vanished,
        }
    }
}
