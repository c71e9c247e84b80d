//! The paths of journals.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{io, mem};

use sha2::{Digest, Sha256};

use super::roots::Root;
use crate::cli::CommandError;
use crate::cli::error::cannot_be;
use crate::names::Quoted;

/// The paths of the journals of a tree.
#[derive(Debug)]
pub(super) struct Journals {
    /// The journals of earlier migrations, the last one last.
    pub(super) earlier: Vec<PathBuf>,
    /// The path of the next one; `None` where there is but one, and it is there.
    pub(super) free: Option<PathBuf>,
}

impl Journals {
    /// Finds the journals of a tree; `journal` is the only one if it is given.
    ///
    /// # Errors
    /// There is no directory for them, and none can be made.
    pub(super) fn of(root: &Root, journal: Option<&Path>) -> Result<Self, CommandError> {
        if let Some(journal) = journal {
            let (earlier, free) = match is_there(journal)? {
                true => (vec![journal.to_owned()], None),
                false => (Vec::new(), Some(journal.to_owned())),
            };
            return Ok(Self { earlier, free });
        }
        let directory = state_directory().ok_or_else(|| {
            CommandError::failure("there is no place for the journal: HOME is not set")
                .hint("give one by --journal FILE")
        })?;
        std::fs::create_dir_all(&directory).map_err(|error| {
            let place = format!("{}, where journals are kept,", Quoted::of(&directory));
            CommandError::failure(cannot_be("made", place, &error))
                .hint("give another place by --journal FILE")
        })?;
        Self::within(&directory, root)
    }

    /// Finds the journals of a tree in the usual place, and makes nothing.
    ///
    /// # Errors
    /// They cannot be reached.
    pub(super) fn usual(root: &Root) -> Result<Self, CommandError> {
        Self::within(&state_directory().unwrap_or_default(), root)
    }

    fn within(directory: &Path, root: &Root) -> Result<Self, CommandError> {
        let first = directory.join(name_of(root));
        let (mut earlier, mut free) = (Vec::new(), first.clone());
        for number in 2.. {
            if !is_there(&free)? {
                break;
            }
            let next = first.with_added_extension(number.to_string());
            earlier.push(mem::replace(&mut free, next));
        }
        let free = Some(free);
        Ok(Self { earlier, free })
    }
}

/// Is there something at that path?
fn is_there(path: &Path) -> Result<bool, CommandError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            let journal = format!("the journal {}", Quoted::of(path));
            Err(CommandError::failure(cannot_be("reached", journal, &error)))
        }
    }
}

fn state_directory() -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Some("/var/lib/utf8fs".into());
    }
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state = absolute("XDG_STATE_HOME");
    let state = state.or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("utf8fs"))
}

/// Returns the last name of the tree's path, as far as it is harmless, and a hash of all of it.
fn name_of(root: &Root) -> PathBuf {
    let digest = Sha256::digest(root.bytes());
    let hash = digest.iter().take(6).map(|octet| format!("{octet:02x}"));
    let hash: String = hash.collect();
    let name = root.path.file_name();
    let name = name.map_or(b"root".as_slice(), OsStr::as_bytes);
    let is_harmless = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let name: Vec<u8> = name.iter().copied().filter(is_harmless).take(40).collect();
    let name = String::from_utf8(name).unwrap_or_default();
    format!("{name}-{hash}.journal").into()
}
