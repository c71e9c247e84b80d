//! The report of a scan while it goes on: JSON lines, or paths. The fields are part of the interface (law L4;
//! docs/scanning.md).

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::scan_done::{ScanDone, policy_report};
use crate::cli::CliError;
use crate::cli::error::reason;
use crate::cli::guess_report::worth_showing;
use crate::cli::output::print_shared;
use crate::codec::guess::Guesser;
use crate::records::{
    CharsetGuess, Directory, DirectoryReport, GuessRecord, KindTotal, Name, ScanEntry, ScanLine,
    ScanTotal, TOTAL_FORMAT, push_json,
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

/// The numbers of lines of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LineCounts {
    /// Lines of names.
    pub(super) entries: u64,
    /// Lines of directories that could not be read.
    pub(super) unread: u64,
}

/// Standard output, shared by the threads of a scan.
#[derive(Debug)]
pub(super) struct Lines {
    report: Report,
    /// The first error of writing.
    failed: Mutex<Option<CliError>>,
    entries: AtomicU64,
    unread: AtomicU64,
}

impl Lines {
    pub(super) fn new(report: Report) -> Self {
        Self {
            report,
            failed: Mutex::default(),
            entries: AtomicU64::default(),
            unread: AtomicU64::default(),
        }
    }

    /// Returns how many lines there were until now.
    pub(super) fn counts(&self) -> LineCounts {
        LineCounts {
            entries: self.entries.load(Ordering::Relaxed),
            unread: self.unread.load(Ordering::Relaxed),
        }
    }

    /// Appends the line of a directory that could not be read.
    pub(super) fn unread_line(&self, out: &mut Vec<u8>, path: Name<'_>, reason: Cow<'_, str>) {
        if self.report == Report::Json {
            self.unread.fetch_add(1, Ordering::Relaxed);
            push_line(out, &ScanLine::Unread { path, reason });
        }
    }

    /// Returns the first error of writing; none if the reader is gone.
    pub(super) fn result(&self) -> Result<(), CliError> {
        self.failed.lock().take().map_or(Ok(()), Err)
    }

    /// Prints the whole, in JSON.
    pub(super) fn finish(&self, done: &ScanDone) -> Result<(), CliError> {
        let mut out = Vec::new();
        let tally = &done.tally;
        for failure in &tally.left_out.first {
            let path = done.path(failure.root, &failure.path).into();
            push_line(&mut out, &ScanLine::LeftOut { path });
        }
        for directory in &tally.worst {
            let report = directory_report(done, directory);
            push_line(&mut out, &ScanLine::Directory(report));
        }
        let guesses = done.charsets().guesses.iter().map(GuessRecord::from);
        let doubled = tally.guesser.doubled();
        for guess in guesses.chain(doubled.as_ref().map(GuessRecord::from)) {
            push_line(&mut out, &ScanLine::Guess(guess));
        }
        out.extend(done.part.iter().flatten());
        push_line(&mut out, &ScanLine::Total(Box::new(total(done))));
        print_shared(&out)?;
        Ok(())
    }
}

/// Appends a line of a report.
pub(super) fn push_line(out: &mut Vec<u8>, line: &ScanLine<'_>) {
    push_json(out, line);
    out.push(b'\n');
}

impl Sink for Lines {
    fn reports(&self) -> bool {
        self.report != Report::Nothing
    }

    fn entry(&self, out: &mut Vec<u8>, entry: ScanEntry<'_>) {
        match self.report {
            Report::Paths if entry.offends => {
                out.extend(entry.path.as_bytes());
                out.push(0);
            }
            Report::Json => {
                self.entries.fetch_add(1, Ordering::Relaxed);
                push_line(out, &ScanLine::Entry(entry));
            }
            Report::Nothing | Report::Paths => {}
        }
    }

    fn unread(&self, out: &mut Vec<u8>, path: &[u8], error: &io::Error) {
        self.unread_line(out, path.into(), reason(error).into());
    }

    fn take(&self, out: &[u8]) -> bool {
        print_shared(out).unwrap_or_else(|error| {
            self.failed.lock().get_or_insert(error);
            false
        })
    }
}

fn directory_report(done: &ScanDone, directory: &Directory) -> DirectoryReport<'static> {
    let guesses = directory.guesser.as_deref().map(Guesser::charsets);
    let guesses = guesses.unwrap_or_default();
    let guesses = worth_showing(&guesses).map(|guess| CharsetGuess {
        charset: guess.charset,
        confidence: guess.confidence,
    });
    DirectoryReport {
        path: done.path(directory.root, &directory.path).into(),
        counts: directory.counts,
        guesses: guesses.collect(),
        charsets: done.charsets().of_directory(directory).to_vec(),
    }
}

fn total(done: &ScanDone) -> ScanTotal<'_> {
    let tally = &done.tally;
    let kinds = tally.kinds.iter();
    let kinds = kinds.map(|(&(finding, kind), &names)| KindTotal {
        finding,
        kind,
        names,
        offence: done.rules.is_offence(finding),
    });
    ScanTotal {
        format: TOTAL_FORMAT,
        roots: done.roots.iter().map(Into::into).collect(),
        directories: tally.directories,
        troubled_directories: tally.troubled_directories,
        counts: tally.counts,
        kinds: kinds.collect(),
        charsets: done.charsets().totals.clone(),
        next: done.next(),
        policy: policy_report(&done.rules),
        unread: tally.unread.count,
        left_out: tally.left_out.count,
        vanished: tally.vanished,
    }
}
