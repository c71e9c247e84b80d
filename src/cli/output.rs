//! The one place that writes to standard output and standard error. Output is data, errors are talk.

use std::borrow::Cow;
use std::io::{self, BufWriter, StdoutLock, Write};

use super::CliError;
use super::error::reason;
use crate::policy::class::{self, Class, Classes};

/// Standard output, line by line. When the reader is gone, the rest is dropped in silence.
#[derive(Debug)]
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    is_closed: bool,
}

impl Output {
    /// Standard output, locked as long as this lives.
    #[must_use]
    pub fn stdout() -> Self {
        Self {
            out: BufWriter::new(io::stdout().lock()),
            is_closed: false,
        }
    }

    /// Writes `line` and ends it. It must be harmless to a terminal already.
    ///
    /// # Errors
    /// The system refuses it, for another reason than that nobody reads.
    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        let written = writeln!(self.out, "{line}");
        self.check(written)
    }

    /// Writes `bytes` as they are: the data that a filter was asked for.
    ///
    /// # Errors
    /// As for [`Output::line`].
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        let written = self.out.write_all(bytes);
        self.check(written)
    }

    /// Writes out what is still buffered; without this it may be lost.
    ///
    /// # Errors
    /// As for [`Output::line`].
    pub fn flush(&mut self) -> Result<(), CliError> {
        let flushed = self.out.flush();
        self.check(flushed)
    }

    /// Is the reader gone?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn check(&mut self, result: io::Result<()>) -> Result<(), CliError> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            result => result.map_err(|error| {
                CliError::failure(format!(
                    "standard output cannot be written: {}",
                    reason(&error)
                ))
            }),
        }
    }
}

/// Writes `error` to standard error. One that cannot be written is lost: there is nobody left to tell.
pub fn print_error(error: &CliError) {
    let written = writeln!(io::stderr().lock(), "{error}");
    drop(written);
}

/// Writes a note to standard error, for people; one that cannot be written is lost.
pub fn print_note(text: &str) {
    let written = writeln!(io::stderr().lock(), "utf8fs: {}", harmless(text));
    drop(written);
}

/// `text` with all that could move a cursor, forge a line or hide as `\u{1B}`. Not for names: those are
/// [`crate::names::Quoted`], which can be read back.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    let dangerous = Classes::default()
        .with(Class::Control)
        .with(Class::Newline)
        .with(Class::Bidi)
        .with(Class::Invisible);
    let mut offences = class::forbidden(text, dangerous).peekable();
    if offences.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() * 2);
    let mut written = 0;
    for offence in offences {
        shown.push_str(text.get(written..offence.offset).unwrap_or_default());
        shown.push_str(&format!(
            "\\u{{{:X}}}",
            offence.code_point.unwrap_or_default()
        ));
        written = offence.offset + offence.length;
    }
    shown.push_str(text.get(written..).unwrap_or_default());
    Cow::Owned(shown)
}
