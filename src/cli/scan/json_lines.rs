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

/// Standard output, shared by the threads of a scan: JSON objects, or the paths of names that offend.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) is_json: bool,
    pub(super) out: Output,
}

impl Lines {
    /// Ends the output, in JSON with the whole; with `is_part` also what it takes to merge it with other parts.
    pub(super) fn finish(self, done: &ScanDone, is_part: bool) -> Result<(), CommandError> {
        if !self.is_json {
            return self.out.finish();
        }
        let print = |line: &ScanLine| self.out.line(&json_line(line));
        let tally = &done.scan.tally;
        for failure in &tally.left_out.first {
            let path = failure.path.clone();
            print(&ScanLine::LeftOut { path });
        }
        for directory in &tally.worst {
            print(&ScanLine::Directory(directory_report(done, directory)));
        }
        let guesses = done.charsets.guesses.iter().map(GuessRecord::from);
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
    fn take(&self, line: &ScanLine) -> bool {
        if self.is_json {
            self.out.line(&json_line(line));
        } else if let ScanLine::Entry(entry) = line
            && entry.offends
        {
            self.out.bytes(&[entry.path.as_bytes(), b"\0"].concat());
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
        charsets: done.charsets.of_directory(directory).to_vec(),
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
        charsets: done.charsets.totals.clone(),
        next: done.next(),
        policy: done.scan.policy.clone(),
        unread: tally.all_unread().count,
        left_out: tally.left_out.count,
        vanished: tally.vanished,
    }
}
