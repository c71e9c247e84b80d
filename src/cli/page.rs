//! A page to look at: one file, which asks no network, and on which no name can be more than text.
//!
//! Its policy (CSP) lets only its own style and script work, by their hashes, and forbids a script to make HTML of text.

mod output_target;

use std::fs::{File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustix::fs::Mode;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::CliError;
use super::error::reason;
use crate::names::Quoted;
use output_target::{Place, input, is_same_file, place};

/// The style of all pages.
const STYLE: &str = include_str!("page/base.css");

/// The way in which a page gets to its target.
#[derive(Debug)]
enum Way {
    /// Appears there once it is whole, with that mode.
    Whole {
        file: NamedTempFile,
        path: PathBuf,
        mode: u32,
    },
    /// Is written as it comes.
    Through(File),
}

/// A page that is still to be written.
pub(super) struct Page {
    path: PathBuf,
    way: Way,
}

impl Page {
    /// Makes room for it, so that long work is not in vain. A symlink is followed, a regular file is replaced, and what is none is
    /// written to. To be called before there are other threads: the umask is looked at.
    ///
    /// # Errors
    /// No file can be made there; it is one of the `inputs`, of which `-` is standard input.
    pub(super) fn create(path: &Path, inputs: &[PathBuf]) -> Result<Self, CliError> {
        Self::of_mode(path, inputs, 0o666)
    }

    /// The same for a page that tells what is in the inputs: nobody can read it who cannot read each of them.
    ///
    /// # Errors
    /// As for [`Page::create`].
    pub(super) fn create_as_narrow(path: &Path, inputs: &[PathBuf]) -> Result<Self, CliError> {
        let inputs_there = inputs.iter().filter_map(|path| input(path));
        let files = inputs_there.filter(std::fs::Metadata::is_file);
        let mode = files.fold(0o666, |mode, file| mode & file.permissions().mode());
        Self::of_mode(path, inputs, mode)
    }

    fn of_mode(path: &Path, inputs: &[PathBuf], mode: u32) -> Result<Self, CliError> {
        let name = |path: &Path| Quoted(path.as_os_str().as_bytes()).to_string();
        if let Some(input) = inputs.iter().find(|input| is_same_file(path, input)) {
            let message = match input.as_os_str() == "-" {
                true => format!("{} is read, as standard input", name(path)),
                false => format!("{} is read, as {}", name(path), name(input)),
            };
            return Err(CliError::usage(message)
                .hint("--html takes another file, which the report goes to"));
        }
        let way = match place(path) {
            Ok(Place::Through(file)) => Ok(Way::Through(file)),
            Ok(Place::At(path)) => {
                let parent = path
                    .parent()
                    .filter(|parent| !parent.as_os_str().is_empty());
                let file = tempfile::Builder::new()
                    .prefix(".utf8fs-page-")
                    .permissions(Permissions::from_mode(0o600))
                    .tempfile_in(parent.unwrap_or(Path::new(".")));
                let mode = mode & !umask();
                file.map(|file| Way::Whole { file, path, mode })
            }
            Err(error) => Err(error),
        };
        let refuse = |error: std::io::Error| {
            CliError::usage(format!(
                "{} cannot be written: {}",
                name(path),
                reason(&error)
            ))
            .hint("--html takes the file that the report goes to")
        };
        Ok(Self {
            path: path.to_owned(),
            way: way.map_err(refuse)?,
        })
    }

    /// # Errors
    /// It cannot be written. That nobody reads on is no error.
    pub(super) fn write(self, text: &str) -> Result<(), CliError> {
        let written = match self.way {
            Way::Through(mut file) => match file.write_all(text.as_bytes()) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => written,
            },
            Way::Whole {
                mut file,
                path,
                mode,
            } => file
                .write_all(text.as_bytes())
                .and_then(|()| file.as_file().set_permissions(Permissions::from_mode(mode)))
                .and_then(|()| file.persist(&path).map(drop).map_err(|error| error.error)),
        };
        written.map_err(|error| {
            let name = Quoted(self.path.as_os_str().as_bytes());
            CliError::failure(format!("{name} cannot be written: {}", reason(&error)))
        })
    }
}

/// Returns the umask. Asking for it sets it: for that moment to the narrowest.
fn umask() -> u32 {
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(umask);
    umask.as_raw_mode()
}

/// Returns the text of a page. `title`, `style` and `script` are the program's. Names in `body` are to be
/// [`escaped`], or data in which nothing ends the element.
pub(super) fn document(title: &str, style: &str, script: Option<&str>, body: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let style = [STYLE, style].concat();
    let mut policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(&style)
    );
    if let Some(script) = script {
        policy += &format!("; script-src 'sha256-{}'", hash(script));
    }
    policy += "; require-trusted-types-for 'script'; trusted-types 'none'";
    let script = script.map_or_else(String::new, |script| format!("<script>{script}</script>\n"));
    [
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"",
        &policy,
        "\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        title,
        "</title>\n<style>",
        &style,
        "</style>\n</head>\n<body>\n",
        body,
        &script,
        "</body>\n</html>\n",
    ]
    .concat()
}

/// `text` as HTML that is nothing else, in an element or an attribute. Not for names as they are: those are [`Quoted`] first.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
