//! A page to look at: one file, which asks no network, and on which no name can be more than text.
//!
//! Its policy (CSP) lets only its own style and script work, by their hashes, and forbids a script to make HTML of text.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use askama::Template;
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use tempfile::TempPath;

use super::output::input_name;
use super::{CommandError, Doing, cannot_be};
use crate::names::Quoted;

/// The style of all pages.
const STYLE: &str = include_str!("page/base.css");

/// A page that is still to be written.
pub(super) struct Page {
    path: PathBuf,
    file: File,
    /// Where the file is put once the page is whole. `None` for what is not to be replaced.
    aside: Option<(TempPath, PathBuf)>,
}

impl Page {
    /// Makes room for a page that is asked for, so that long work is not in vain. A symlink is followed, a regular file is
    /// replaced, and what is none is written to. Nobody can read it who cannot read each of the inputs, since it tells what is
    /// in them.
    ///
    /// # Errors
    /// No file can be made there; it is one of the `inputs`, of which `-` is standard input.
    pub(super) fn create(
        path: Option<&Path>,
        inputs: &[PathBuf],
    ) -> Result<Option<Self>, CommandError> {
        let Some(path) = path else {
            return Ok(None);
        };
        let there = fs::metadata(path);
        let mut mode = 0o666;
        for input in inputs {
            let Some(file) = metadata_of_input(input) else {
                continue;
            };
            // Who can read what comes through a pipe, or what lies in a directory, is not known.
            mode &= match file.is_file() {
                true => file.permissions().mode(),
                false => 0o600,
            };
            // A terminal and /dev/null can be both. What is a directory is no page.
            let is_both = |there: &Metadata| {
                is_one(there, &file) && !there.file_type().is_char_device() && !there.is_dir()
            };
            if there.as_ref().is_ok_and(is_both) {
                let (path, input) = (Quoted::of(path), input_name(input));
                return Err(CommandError::usage(format!("{path} is read, as {input}"))
                    .hint("--html takes another file, which the report goes to"));
            }
        }
        let is_new = there.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let page = Self::open(path, is_new, mode).map_err(|error| {
            CommandError::usage(cannot_be("written", Quoted::of(path), &error))
                .hint("--html takes the file that the report goes to")
        });
        page.map(Some)
    }

    /// Opens what is to be written to: a device, a FIFO, what this program prints to, or else a new file of that mode, less the umask.
    fn open(path: &Path, is_new: bool, mode: u32) -> io::Result<Self> {
        // Follows links as the kernel does, also where nothing is there yet.
        let mut file = File::options().append(true).create(true).open(path)?;
        let there = file.metadata()?;
        let mut aside = None;
        if let Some(output) = own_output(&there) {
            file = output;
        } else if there.is_file() {
            let target = path.canonicalize()?;
            if is_new {
                fs::remove_file(&target)?;
            }
            let made = tempfile::Builder::new()
                .prefix(".utf8fs-page-")
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(target.parent().unwrap_or(Path::new("/")))?;
            let (made, temporary) = made.into_parts();
            file = made;
            aside = Some((temporary, target));
        }
        let path = path.to_owned();
        Ok(Self { path, file, aside })
    }

    /// # Errors
    /// It cannot be written. That nobody reads on is no error.
    pub(super) fn write(mut self, text: &str) -> Result<(), CommandError> {
        let mut written = self.file.write_all(text.as_bytes());
        if let (Ok(()), Some((temporary, target))) = (&written, self.aside) {
            written = temporary.persist(target).map_err(io::Error::from);
        }
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.doing(&format!("write {}", Quoted::of(&self.path))),
        }
    }
}

/// Standard output or standard error, if that is it: they go on where this ends.
fn own_output(there: &Metadata) -> Option<File> {
    let outputs = [opened(io::stdout()), opened(io::stderr())];
    let mut outputs = outputs.into_iter().flatten();
    outputs.find(|file| file.metadata().is_ok_and(|open| is_one(&open, there)))
}

fn opened(of: impl AsFd) -> Option<File> {
    of.as_fd().try_clone_to_owned().ok().map(File::from)
}

/// Returns the metadata of an input; `-` is standard input.
fn metadata_of_input(path: &Path) -> Option<Metadata> {
    match path.as_os_str() == "-" {
        true => opened(io::stdin())?.metadata().ok(),
        false => fs::metadata(path).ok(),
    }
}

fn is_one(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// A page. All but the body is the program's own. Names in `body` are to be escaped, or data in which nothing ends the element.
#[derive(Template)]
#[template(path = "page/document.html", config = "src/cli/pages.toml")]
struct Document<'a> {
    title: &'a str,
    style: &'a str,
    script: Option<&'a str>,
    body: &'a str,
}

/// Returns the text of a page, whose style follows that of all pages.
pub(super) fn document(title: &str, style: &str, script: Option<&str>, body: &str) -> String {
    let style = &[STYLE, style].concat();
    let page = Document {
        title,
        style,
        script,
        body,
    };
    page.to_string() + "\n"
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}
