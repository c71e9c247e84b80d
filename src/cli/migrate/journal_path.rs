//! The paths of journals.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::roots::Root;
use crate::cli::CliError;
use crate::cli::error::reason;
use crate::names::Quoted;

/// The journals of a tree: the first, and those of later migrations.
#[derive(Debug, Clone)]
pub(super) struct Journals {
    first: PathBuf,
    /// Is it the one that was asked for, and no other?
    is_only: bool,
}

impl Journals {
    /// Returns the journals of a tree; `journal` is the one that was asked for.
    ///
    /// # Errors
    /// There is no directory for them, and none can be made.
    pub(super) fn of(root: &Root, journal: Option<&Path>) -> Result<Self, CliError> {
        if let Some(journal) = journal {
            return Ok(Self {
                first: journal.into(),
                is_only: true,
            });
        }
        let directory = state_directory().ok_or_else(|| {
            CliError::failure("there is no place for the journal: HOME is not set")
                .hint("give one by --journal FILE")
        })?;
        std::fs::create_dir_all(&directory).map_err(|error| {
            let path = Quoted(directory.as_os_str().as_bytes());
            CliError::failure(format!(
                "{path}, where journals are kept, cannot be made: {}",
                reason(&error)
            ))
            .hint("give another place by --journal FILE")
        })?;
        Ok(Self {
            first: directory.join(name_of(root)),
            is_only: false,
        })
    }

    /// Returns the path of the journal of that number, from 1 on; `None` where there is but one.
    pub(super) fn get(&self, number: u32) -> Option<PathBuf> {
        if number == 1 {
            return Some(self.first.clone());
        }
        let mut path = self.first.clone();
        path.add_extension(number.to_string());
        (!self.is_only).then_some(path)
    }
}

/// Is there something at that path?
pub(super) fn is_there(path: &Path) -> Result<bool, CliError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            let path = Quoted(path.as_os_str().as_bytes());
            Err(CliError::failure(format!(
                "the journal {path} cannot be reached: {}",
                reason(&error)
            )))
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
    let hash: String = digest
        .iter()
        .take(6)
        .map(|octet| format!("{octet:02x}"))
        .collect();
    let name = root
        .path
        .file_name()
        .map_or(b"root".as_slice(), OsStr::as_bytes);
    let is_harmless = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let name: Vec<u8> = name.iter().copied().filter(is_harmless).take(40).collect();
    let name = String::from_utf8(name).unwrap_or_default();
    format!("{name}-{hash}.journal").into()
}
