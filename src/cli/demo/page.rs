//! The page that the demo writes: columns, colours, and the wish of its reader to end it.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Attempt;
use crate::cli::CliError;
use crate::cli::output::Output;
use crate::names::Quoted;

/// Widths of the columns; what is wider pushes the next one.
const ON_DISK: usize = 28;
const VISIBLE: usize = 25;
const ACT: usize = 9;
const NAME: usize = 32;
const COMMAND: usize = 48;
/// A name that is wider than this is shown by its ends.
const WIDEST: usize = 40;
/// The start of such a name is this wide at least, with its quotes.
const HEAD: usize = 8;

/// How a piece of text stands out on a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Style {
    /// Not at all.
    Plain,
    /// Headings, bold.
    Heading,
    /// What a user would type, and what is well.
    Good,
    /// What was refused.
    Bad,
    /// What may be skipped.
    Quiet,
}

impl Style {
    /// The parameter of SGR, ECMA-48.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Heading => "1",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Quiet => "2",
        }
    }
}

/// Standard output as a page.
#[derive(Debug)]
pub(super) struct Page {
    out: Output,
    is_coloured: bool,
    interrupted: Arc<AtomicBool>,
}

impl Page {
    /// Writes to standard output until `interrupted` is set.
    pub(super) fn stdout(interrupted: Arc<AtomicBool>) -> Self {
        let is_set = |variable| env::var_os(variable).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            out: Output::stdout(),
            is_coloured: io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
            interrupted,
        }
    }

    /// Has the reader gone?
    pub(super) fn is_closed(&self) -> bool {
        self.out.is_closed()
    }

    /// Writes out what is buffered.
    pub(super) fn flush(&mut self) -> Result<(), CliError> {
        self.out.flush()?;
        self.go_on()
    }

    /// A line of text.
    pub(super) fn text(&mut self, line: &str) -> Result<(), CliError> {
        self.styled(&[(line, Style::Plain)])
    }

    /// A line that is not for the first reading.
    pub(super) fn quiet(&mut self, line: &str) -> Result<(), CliError> {
        self.styled(&[(line, Style::Quiet)])
    }

    /// The heading of a scene.
    pub(super) fn heading(&mut self, line: &str) -> Result<(), CliError> {
        self.text("")?;
        self.styled(&[(line, Style::Heading)])?;
        self.text("")
    }

    /// A command as a user would type it.
    pub(super) fn command(&mut self, command: &str) -> Result<(), CliError> {
        self.styled(&[("$ ", Style::Quiet), (command, Style::Good)])
    }

    /// A command to try, and what for.
    pub(super) fn next_step(&mut self, command: &str, what: &str) -> Result<(), CliError> {
        let command = padded(command, COMMAND);
        self.styled(&[
            ("  ", Style::Plain),
            (&command, Style::Good),
            (what, Style::Plain),
        ])
    }

    /// What the columns of the rows are.
    pub(super) fn columns(
        &mut self,
        on_disk: &str,
        visible: &str,
        what: &str,
    ) -> Result<(), CliError> {
        let line = format!(
            "  {}{}{what}",
            padded(on_disk, ON_DISK),
            padded(visible, VISIBLE)
        );
        self.quiet(&line)
    }

    /// A backing name beside its visible name.
    pub(super) fn row(
        &mut self,
        on_disk: &[u8],
        visible: &[u8],
        what: &str,
    ) -> Result<(), CliError> {
        let pair = (
            padded(&shown(on_disk), ON_DISK),
            padded(&shown(visible), VISIBLE),
        );
        self.styled(&[
            ("  ", Style::Plain),
            (&pair.0, Style::Plain),
            (&pair.1, Style::Good),
            (what, Style::Quiet),
        ])
    }

    /// What was tried and what came of it, and why, on a second line.
    pub(super) fn attempt(
        &mut self,
        attempt: &Attempt,
        result: &str,
        why: Option<&str>,
    ) -> Result<(), CliError> {
        let tried = format!(
            "  {}{}",
            padded(attempt.act.label(), ACT),
            padded(&shown(&attempt.name), NAME)
        );
        let style = match attempt.outcome {
            Ok(()) => Style::Good,
            Err(_) => Style::Bad,
        };
        self.styled(&[(&tried, Style::Plain), (result, style)])?;
        match why {
            Some(why) => self.quiet(&format!("  {}{why}", padded("", ACT))),
            None => Ok(()),
        }
    }

    fn styled(&mut self, pieces: &[(&str, Style)]) -> Result<(), CliError> {
        let mut line = String::new();
        for &(text, style) in pieces {
            let is_plain = !self.is_coloured || matches!(style, Style::Plain);
            if is_plain || text.is_empty() {
                line.push_str(text);
            } else {
                line.push_str(&format!("\x1B[{}m{text}\x1B[0m", style.code()));
            }
        }
        self.out.line(line.trim_end())?;
        self.go_on()
    }

    /// Fails if nobody wants to read on; [`super::run`] knows why, so that the message is never seen.
    fn go_on(&self) -> Result<(), CliError> {
        if self.is_closed() || self.interrupted.load(Ordering::Relaxed) {
            return Err(CliError::failure("nobody reads on"));
        }
        Ok(())
    }
}

/// A name, quoted; of a long one its start, and its end from the mark of a cut name or the extension on.
pub(super) fn shown(name: &[u8]) -> String {
    let quoted = Quoted(name).to_string();
    if width(&quoted) <= WIDEST {
        return quoted;
    }
    let end = [b'~', b'.']
        .iter()
        .find_map(|mark| name.iter().rposition(|octet| octet == mark))
        .unwrap_or(name.len());
    let pieces = name.utf8_chunks().flat_map(|chunk| {
        let characters = chunk.valid().chars().map(char::len_utf8);
        characters.chain(chunk.invalid().iter().map(|_octet| 1))
    });
    let head = pieces
        .scan(0, |end, length| {
            *end += length;
            name.get(..*end).map(Quoted)
        })
        .find(|head| width(&head.to_string()) >= HEAD)
        .unwrap_or(Quoted(b""));
    let tail = Quoted(name.get(end..).unwrap_or_default());
    format!("{head} ... {tail}")
}

/// `text` and spaces up to `columns`, two at least where there is a next column.
fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    let least = if text.is_empty() { 0 } else { 2 };
    format!("{text}{}", " ".repeat(missing.max(least)))
}

/// Columns that `text` takes on a terminal. Good for what the demo shows: scripts of one column, and CJK of two.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '\u{300}'..='\u{36F}' => 0,
            '\u{1100}'..='\u{115F}'
            | '\u{2E80}'..='\u{303E}'
            | '\u{3041}'..='\u{A4CF}'
            | '\u{AC00}'..='\u{D7A3}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{FE30}'..='\u{FE6F}'
            | '\u{FF00}'..='\u{FF60}'
            | '\u{FFE0}'..='\u{FFE6}'
            | '\u{20000}'..='\u{3FFFD}' => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_filled_by_what_is_seen() {
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(padded("cafe\u{301}", 6), "cafe\u{301}  ");
        assert_eq!(padded("long", 3), "long  ");
        assert_eq!(padded("", 3), "   ");
    }

    #[test]
    fn a_long_name_is_shown_by_its_ends() {
        let octets = [&[0xE9; 200][..], b".txt"].concat();
        assert_eq!(shown(&octets), r#""\xE9\xE9" ... ".txt""#);
        let text = format!("{}~abc.txt", "é".repeat(100));
        assert_eq!(shown(text.as_bytes()), r#""éééééé" ... "~abc.txt""#);
        assert_eq!(shown(b"a\nb"), r#""a\nb""#);
    }
}
