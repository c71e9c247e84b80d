//! The paths of the journals of a tree, which stand beside each other: `FILE`, `FILE.2`, `FILE.3`, ...

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::journal_error::JournalError;
use super::journal_file::{Journal, Status};
use crate::backing::if_there;

/// The paths of the journals of a tree.
#[derive(Debug, Default)]
pub struct JournalPaths {
    /// The journals of earlier migrations, the last one last.
    pub earlier: Vec<PathBuf>,
    /// The path of the next one, if there can be one.
    pub free: Option<PathBuf>,
}

impl JournalPaths {
    /// Takes the only path that a journal may have.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn only(journal: &Path) -> io::Result<Self> {
        let earlier = is_there(journal)?.then(|| journal.to_owned());
        Ok(Self {
            earlier: Vec::from_iter(earlier),
            free: Some(journal.to_owned()),
        })
    }

    /// Finds the journals of the tree with that path in the usual directory, which need not be there. Without `HOME` there is no
    /// such directory, and no path for the next one.
    ///
    /// # Errors
    /// They cannot be reached.
    pub fn usual(root: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        let Some(directory) = usual_directory() else {
            return Ok(found);
        };
        let first = directory.join(name_of(root));
        let later = (2..).map(|number| numbered(&first, number));
        for path in std::iter::once(first.clone()).chain(later) {
            if !is_there(&path)? {
                found.free = Some(path);
                break;
            }
            found.earlier.push(path);
        }
        Ok(found)
    }

    /// Opens the last journal of a finished migration with these options.
    pub fn finished(&self, options: &str) -> Option<Journal> {
        let journals = self.earlier.iter().rev();
        let mut journals = journals.filter_map(|path| Journal::open(path).ok());
        journals.find(|journal| {
            journal.state().status == Status::Finished && journal.header.options == options
        })
    }
}

/// Returns the directory of the journals to which nobody gave a path.
fn usual_directory() -> Option<PathBuf> {
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

impl Journal {
    /// Returns the path of the journal of the last migration of the same tree after this one, of those beside it that are not
    /// undone. One that cannot be read may be of such a migration.
    pub fn later(&self) -> Option<PathBuf> {
        let path = &self.path;
        let number = path.extension().and_then(OsStr::to_str);
        let number = number.and_then(|number| number.parse::<u16>().ok());
        let first = number.map_or(path.to_owned(), |_| path.with_extension(""));
        let later = u32::from(number.unwrap_or(1)) + 1..;
        let later = later.map(|number| numbered(&first, number));
        let later = later.take_while(|path| is_there(path).unwrap_or(true));
        let is_in_the_way = |later: &PathBuf| match Self::view(later, &mut |_| ()) {
            Ok(later) => {
                later.header.root == self.header.root && later.state().status != Status::Undone
            }
            Err(error) => !matches!(error, JournalError::NotAJournal),
        };
        later.filter(is_in_the_way).last()
    }
}

/// Returns the path of a journal after the first one.
fn numbered(first: &Path, number: u32) -> PathBuf {
    first.with_added_extension(number.to_string())
}

/// Is there something at that path?
fn is_there(path: &Path) -> io::Result<bool> {
    Ok(if_there(path.symlink_metadata())?.is_some())
}

/// Returns the last name of the tree's path, as far as it is harmless, and a hash of all of it.
fn name_of(root: &Path) -> PathBuf {
    let digest = Sha256::digest(root.as_os_str().as_bytes());
    let hash = digest.iter().take(6).map(|octet| format!("{octet:02x}"));
    let hash: String = hash.collect();
    let name = root.file_name();
    let name = name.map_or(b"root".as_slice(), OsStr::as_bytes);
    let is_harmless = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let name: Vec<u8> = name.iter().copied().filter(is_harmless).take(40).collect();
    let name = String::from_utf8(name).unwrap_or_default();
    format!("{name}-{hash}.journal").into()
}
