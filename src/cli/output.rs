//! Inputs, and the one place that writes to standard output. Output is data, errors are talk.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use indicatif::HumanCount;
use log::LevelFilter;
use parking_lot::Mutex;

use super::{CommandError, Doing, reason};
use crate::daemon::program_log;
use crate::names::Quoted;
pub(super) use crate::names::quoted::harmless;
use crate::tree::change::{TreePath, join_path};

/// Standard output or a file, for all threads. After the first error the rest is dropped.
#[derive(Debug)]
pub(super) struct Output {
    what: &'static str,
    state: Mutex<io::Result<BufWriter<File>>>,
}

const STDOUT: &str = "standard output";

impl Output {
    /// Returns standard output.
    pub(super) fn stdout() -> Self {
        Self::to(STDOUT, io::stdout().as_fd().try_clone_to_owned())
    }

    /// Returns a file, which errors call `what`.
    pub(super) fn to(what: &'static str, file: io::Result<OwnedFd>) -> Self {
        let file = file.map(|file| BufWriter::new(File::from(file)));
        let state = Mutex::new(file);
        Self { what, state }
    }

    /// Writes `line` and ends it. It must be harmless to a terminal already.
    pub(super) fn line(&self, line: &str) {
        self.write(|out| writeln!(out, "{line}"));
    }

    /// Writes lines, as [`Output::line`] does.
    pub(super) fn lines(&self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        lines.into_iter().for_each(|line| self.line(line.as_ref()));
    }

    /// Writes `bytes` as they are: the data that a filter was asked for.
    pub(super) fn bytes(&self, bytes: &[u8]) {
        self.write(|out| out.write_all(bytes));
    }

    /// Writes out what is still buffered.
    pub(super) fn flush(&self) {
        self.write(Write::flush);
    }

    fn write(&self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let mut state = self.state.lock();
        if let Ok(out) = &mut *state
            && let Err(error) = write(out)
        {
            *state = Err(error);
        }
    }

    /// Is the reader gone, or has writing failed?
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_err()
    }

    /// Writes out what is still buffered; without this it may be lost.
    ///
    /// # Errors
    /// Something could not be written, for another reason than that nobody reads standard output.
    pub(super) fn finish(self) -> Result<(), CommandError> {
        self.flush();
        match self.state.into_inner() {
            Err(error) if self.what == STDOUT && error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(())
            }
            written => written.map(drop).doing(&format!("write {}", self.what)),
        }
    }
}

/// Writes lines to standard output, and nothing else.
///
/// # Errors
/// As for [`Output::finish`].
pub(super) fn print_lines(
    lines: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<(), CommandError> {
    let out = Output::stdout();
    out.lines(lines);
    out.finish()
}

/// Writes `error` to standard error.
pub(super) fn print_error(error: &CommandError) {
    program_log::print(&error.to_string());
}

/// Was --verbose given?
pub(super) fn is_verbose() -> bool {
    log::max_level() >= LevelFilter::Debug
}

/// Writes a note to standard error, for people, unless `--quiet`.
pub(super) fn print_note(text: &str) {
    if log::max_level() >= LevelFilter::Info {
        print_warning(text);
    }
}

/// Writes a warning to standard error.
pub(super) fn print_warning(text: &str) {
    program_log::print(&format!("utf8fs: {}", harmless(text)));
}

/// Warns that a directory's time could not be put back (law T6).
pub(super) fn warn_of_lost_time(directory: &TreePath, errno: i32) {
    let why = io::Error::from_raw_os_error(errno);
    let path = quoted(path_or_dot(&join_path(&**directory)));
    let why = reason(&why);
    print_warning(&format!("the time of {path} could not be put back: {why}"));
}

/// Returns a path from the root of a tree; a dot for the root itself.
pub(super) fn path_or_dot(path: &[u8]) -> &[u8] {
    match path {
        b"" => b".",
        path => path,
    }
}

/// Number of bytes of a name that people are shown. Those of filesystems have 255 at most; in a list they may have
/// any number.
const SHOWN: usize = 1000;

/// A name or path in quotes, for people: of a very long one the beginning, and how long it is.
pub(super) fn quoted(name: &[u8]) -> String {
    if name.len() <= SHOWN {
        return Quoted(name).to_string();
    }
    // Not within a character.
    let is_start = |end: &usize| name.get(*end).is_none_or(|byte| byte & 0xC0 != 0x80);
    let end = (SHOWN - 3..=SHOWN).rev().find(is_start);
    let start = name.get(..end.unwrap_or(SHOWN)).unwrap_or_default();
    let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
    format!("{}... ({} bytes)", Quoted(start), grouped(length))
}

/// Opens an input; `-` is standard input.
///
/// # Errors
/// The file cannot be opened.
pub(super) fn open_input(path: &Path) -> io::Result<BufReader<Box<dyn Read>>> {
    let input: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
    };
    Ok(BufReader::with_capacity(1 << 18, input))
}

/// Quotes the path of an input; `-` is standard input.
pub(super) fn input_name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    Quoted::of(path).to_string()
}

/// A number with its noun, which is given in the singular.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let number = grouped(count);
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// Returns that a number of entries stay.
pub(super) fn left_as_is(count: u64) -> &'static str {
    match count {
        1 => "left as it is",
        _ => "left as they are",
    }
}

/// A line of a table of numbers.
pub(super) fn number_row(count: u64, what: &str) -> String {
    format!("  {:>13}  {what}", grouped(count))
}

/// A number with its thousands apart: `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Output, STDOUT, grouped, quoted};

    #[test]
    fn only_standard_output_may_lose_its_reader() {
        for what in [STDOUT, "the plan"] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let out = Output::to(what, Ok(writer.into()));
            out.line("a line");
            assert_eq!(out.finish().is_ok(), what == STDOUT);
        }
    }

    #[test]
    fn of_a_very_long_name_the_beginning_is_shown_and_its_length() {
        let shown = |name: &[u8]| quoted(name).len();
        assert_eq!(quoted(b"caf\xE9"), r#""caf\xE9""#);
        assert_eq!(shown(&[b'x'; 1000]), 1002);
        let cut = format!("\"{}\"... (1,001 bytes)", "x".repeat(1000));
        assert_eq!(quoted(&[b'x'; 1001]), cut);
        let long = ["x", &"\u{1F600}".repeat(1_000_000)].concat();
        let cut = format!("\"x{}\"... (4,000,001 bytes)", "\u{1F600}".repeat(249));
        assert_eq!(quoted(long.as_bytes()), cut);
        let cut = quoted(&[0x80; 5000]);
        assert!(
            cut.ends_with(r#"\x80"... (5,000 bytes)"#) && cut.len() < 5000,
            "{cut}"
        );
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
