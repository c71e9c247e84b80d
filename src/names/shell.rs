//! Paths in command lines that people paste into a shell.

use std::fmt::{Display, Formatter, Result, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::quoted::is_dangerous;

/// Bytes of a path as one word of a POSIX shell, which gives them back as they are and takes them for no option.
///
/// Letters, digits and all else that no shell interprets stand for themselves; the rest is in single quotes. Bytes
/// that are not UTF-8 or not fit for a terminal put the word in `$'...'` (POSIX.1-2024, XCU 2.2.4). They are octal:
/// unlike `\xHH` that has the same length in all shells. A `-` in front gets `./`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellWord<'a>(pub &'a [u8]);

impl Display for ShellWord<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.0.starts_with(b"-") {
            f.write_str("./")?;
        }
        match std::str::from_utf8(self.0) {
            Ok(text) if !text.is_empty() && text.bytes().all(is_plain) => f.write_str(text),
            Ok(text) if !text.chars().any(is_dangerous) => {
                write!(f, "'{}'", text.replace('\'', r"'\''"))
            }
            _ => self.escaped(f),
        }
    }
}

impl<'a> ShellWord<'a> {
    /// Spells a path.
    pub fn of(path: &'a Path) -> Self {
        Self(path.as_os_str().as_bytes())
    }

    fn escaped(self, f: &mut Formatter<'_>) -> Result {
        f.write_str("$'")?;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\'' | '\\' => write!(f, "\\{c}")?,
                    c if is_dangerous(c) => {
                        for octet in c.encode_utf8(&mut [0; 4]).bytes() {
                            octal(f, octet)?;
                        }
                    }
                    c => f.write_char(c)?,
                }
            }
            for octet in chunk.invalid() {
                octal(f, *octet)?;
            }
        }
        f.write_char('\'')
    }
}

fn octal(f: &mut Formatter<'_>, octet: u8) -> Result {
    write!(f, "\\{octet:03o}")
}

fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"/._-+,:@".contains(&octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_the_rows_say() {
        let rows: [(&[u8], &str); 12] = [
            (
                b"/var/lib/utf8fs/x-1.journal",
                "/var/lib/utf8fs/x-1.journal",
            ),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"$(reboot)`x`", "'$(reboot)`x`'"),
            (b"it's", r"'it'\''s'"),
            (b"a\\b", r"'a\b'"),
            ("né".as_bytes(), "'né'"),
            (b"n\xE9", r"$'n\351'"),
            (b"a\n1'\\", r"$'a\0121\'\\'"),
            ("\u{202E}x".as_bytes(), r"$'\342\200\256x'"),
            (b"-rf", "./-rf"),
            (b"~", "'~'"),
        ];
        for (octets, expected) in rows {
            assert_eq!(ShellWord(octets).to_string(), expected);
        }
    }
}
