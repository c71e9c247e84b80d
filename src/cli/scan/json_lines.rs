//! The report of a scan while it goes on: JSON lines, or paths. The fields are part of the interface (law L4;
//! docs/scanning.md).

use super::scan_done::ScanDone;
use crate::cli::CommandError;
use crate::cli::guess_report::worth_showing;
use crate::cli::output::Output;
use crate::codec::guess::Guesser;
use crate::records::{
    CharsetGuess, Directory, DirectoryReport, GuessRecord, KindTotal, ScanLine, ScanTotal,
    TOTAL_FORMAT, json_line,
};
use crate::tree::scan::Sink;

/// The report of each name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// Nothing but the whole.
    Nothing,
    /// Its path, where it offends.
    Paths,
    /// A JSON object.
    Json,
}

/// Standard output, shared by the threads of a scan.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) report: Report,
    pub(super) out: Output,
}

impl Lines {
    pub(super) fn new(report: Report) -> Self {
        let out = Output::stdout();
        Self { report, out }
    }

    /// Is anything reported of single names?
    pub(super) fn reports(&self) -> bool {
        self.report != Report::Nothing
    }

    /// Prints the whole, in JSON; with `is_part` also what it takes to merge it with other parts.
    pub(super) fn finish(self, done: &ScanDone, is_part: bool) -> Result<(), CommandError> {
        let print = |line: &ScanLine<'_>| self.out.line(&json_line(line));
        let tally = &done.scan.tally;
        for failure in &tally.left_out.first {
            let path = failure.path.as_bytes().into();
            print(&ScanLine::LeftOut { path });
        }
        for directory in &tally.worst {
            print(&ScanLine::Directory(directory_report(done, directory)));
        }
        let guesses = done.charsets().guesses.iter().map(GuessRecord::from);
        let doubled = tally.guesser.doubled();
        for guess in guesses.chain(doubled.as_ref().map(GuessRecord::from)) {
            print(&ScanLine::Guess(guess));
        }
        if is_part {
            print(&ScanLine::Part(Box::new(done.scan.clone())));
        }
        print(&ScanLine::Total(Box::new(total(done))));
        self.out.finish()
    }
}

impl Sink for Lines {
    fn take(&self, line: &ScanLine<'_>) -> bool {
        match (self.report, line) {
            (Report::Json, _) => self.out.line(&json_line(line)),
            (Report::Paths, ScanLine::Entry(entry)) if entry.offends => {
                self.out.bytes(&[entry.path.as_bytes(), b"\0"].concat());
            }
            (Report::Nothing | Report::Paths, _) => {}
        }
        !self.out.is_over()
    }
}

fn directory_report(done: &ScanDone, directory: &Directory) -> DirectoryReport {
    let guesses = directory.guesser.as_deref().map(Guesser::charsets);
    let guesses = guesses.unwrap_or_default();
    let guesses = worth_showing(&guesses).map(|guess| CharsetGuess {
        charset: guess.charset,
        confidence: guess.confidence,
    });
    DirectoryReport {
        path: directory.path.clone(),
        counts: directory.counts,
        guesses: guesses.collect(),
        charsets: done.charsets().of_directory(directory).to_vec(),
    }
}

/// Returns what is reported of the whole.
pub(super) fn total(done: &ScanDone) -> ScanTotal {
    let tally = &done.scan.tally;
    let kinds = tally.kinds.iter();
    let kinds = kinds.map(|(&(finding, kind), &names)| KindTotal {
        finding,
        kind,
        names,
        offence: done.is_offence(finding),
    });
    ScanTotal {
        format: TOTAL_FORMAT,
        roots: done.scan.roots.clone(),
        directories: tally.directories,
        troubled_directories: tally.troubled_directories,
        counts: tally.counts,
        kinds: kinds.collect(),
        charsets: done.charsets().totals.clone(),
        next: done.next(),
        policy: done.scan.policy.clone(),
        unread: tally.all_unread().count,
        left_out: tally.left_out.count,
        vanished: tally.vanished,
    }
}
