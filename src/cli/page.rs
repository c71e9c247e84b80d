//! A page to look at: one file, which asks no network, and on which no name can be more than text.
//!
//! Its policy (CSP) lets only its own style and script work, by their hashes, and forbids a script to make HTML of text.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use askama::Template;
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::CommandError;
use super::error::cannot_be;
use super::output::input_name;
use crate::daemon::command_error::Doing;
use crate::names::Quoted;

/// The style of all pages.
const STYLE: &str = include_str!("page/base.css");

/// The way in which a page gets to its target.
#[derive(Debug)]
enum Way {
    /// Appears there once it is whole.
    Whole { file: NamedTempFile, path: PathBuf },
    /// Is written as it comes.
    Through(File),
}

impl Way {
    /// Finds the way to a target. Devices and FIFOs are not to be replaced, nor what this program prints to. A file that is
    /// made has that mode, less the umask.
    fn to(path: &Path, mode: u32) -> io::Result<Self> {
        let is_new = fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        // Follows links as the kernel does, also where nothing is there yet.
        let file = File::options().append(true).create(true).open(path)?;
        let there = file.metadata()?;
        if let Some(output) = own_output(&there) {
            return Ok(Self::Through(output));
        }
        if !there.is_file() {
            return Ok(Self::Through(file));
        }
        let path = path.canonicalize()?;
        if is_new {
            fs::remove_file(&path)?;
        }
        let file = tempfile::Builder::new()
            .prefix(".utf8fs-page-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(path.parent().unwrap_or(Path::new("/")))?;
        Ok(Self::Whole { file, path })
    }
}

/// A page that is still to be written.
pub(super) struct Page {
    path: PathBuf,
    way: Way,
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
        let files = inputs.iter().filter_map(|path| input(path));
        // Who can read what comes through a pipe is not known.
        let mode = files.fold(0o666, |mode, file| match file.is_file() {
            true => mode & file.permissions().mode(),
            false => mode & 0o600,
        });
        if let Some(input) = inputs.iter().find(|input| is_same_file(path, input)) {
            let input = input_name(input);
            return Err(
                CommandError::usage(format!("{} is read, as {input}", Quoted::of(path)))
                    .hint("--html takes another file, which the report goes to"),
            );
        }
        let way = Way::to(path, mode).map_err(|error| {
            CommandError::usage(cannot_be("written", Quoted::of(path), &error))
                .hint("--html takes the file that the report goes to")
        })?;
        let path = path.to_owned();
        Ok(Some(Self { path, way }))
    }

    /// # Errors
    /// It cannot be written. That nobody reads on is no error.
    pub(super) fn write(self, text: &str) -> Result<(), CommandError> {
        let written = match self.way {
            Way::Through(mut file) => match file.write_all(text.as_bytes()) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => written,
            },
            Way::Whole { mut file, path } => file
                .write_all(text.as_bytes())
                .and_then(|()| file.persist(&path).map(drop).map_err(io::Error::from)),
        };
        written.doing(&format!("write {}", Quoted::of(&self.path)))
    }
}

/// Standard output or standard error, if that is it: they go on where this ends.
fn own_output(there: &Metadata) -> Option<File> {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let outputs = [stdout.as_fd(), stderr.as_fd()];
    let mut outputs = outputs.into_iter().filter_map(opened);
    outputs.find(|file| file.metadata().is_ok_and(|open| is_one(&open, there)))
}

fn opened(of: BorrowedFd<'_>) -> Option<File> {
    of.try_clone_to_owned().ok().map(File::from)
}

/// Returns the metadata of an input; `-` is standard input.
fn input(path: &Path) -> Option<Metadata> {
    if path.as_os_str() == "-" {
        return opened(io::stdin().as_fd())?.metadata().ok();
    }
    fs::metadata(path).ok()
}

/// Would writing to `path` write to the input? Not to a terminal or to /dev/null.
fn is_same_file(path: &Path, of_input: &Path) -> bool {
    let there = fs::metadata(path).ok().zip(input(of_input));
    there.is_some_and(|(path, input)| !path.file_type().is_char_device() && is_one(&path, &input))
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
