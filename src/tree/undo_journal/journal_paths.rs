//! The paths of the journals of a tree, which stand beside each other: `FILE`, `FILE.2`, `FILE.3`, ...

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::journal_error::JournalError;
use super::journal_file::Journal;
use super::state::Status;
use crate::backing::if_there;

/// The paths of the journals of a tree.
#[derive(Debug, Default)]
pub struct JournalPaths {
    /// The journals of earlier migrations, the last one last.
    pub earlier: Vec<PathBuf>,
    /// The path of the next one; `None` where there is but one, and it is there.
    pub free: Option<PathBuf>,
}

impl JournalPaths {
    /// Takes the only path that a journal may have.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn only(journal: &Path) -> io::Result<Self> {
        Self::of([journal.to_owned()])
    }

    /// Finds the journals in a directory of the tree with that path.
    ///
    /// # Errors
    /// They cannot be reached.
    pub fn within(directory: &Path, root: &Path) -> io::Result<Self> {
        let first = directory.join(name_of(root));
        let later = (2..).map(|number| numbered(&first, number));
        Self::of(std::iter::once(first.clone()).chain(later))
    }

    /// Takes the paths that journals may have, in their order.
    fn of(paths: impl IntoIterator<Item = PathBuf>) -> io::Result<Self> {
        let mut found = Self::default();
        for path in paths {
            if !is_there(&path)? {
                found.free = Some(path);
                break;
            }
            found.earlier.push(path);
        }
        Ok(found)
    }
}

impl Journal {
    /// Returns the path of the journal of the last migration of the same tree after this one, of those beside it that are not
    /// undone. One that cannot be read may be of such a migration.
    #[must_use]
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
