//! Directories below the guarded one, found by their handles.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::backing::{Dir, FileHandle, file};
use crate::names::BackingName;
use crate::records::TreePath;
use crate::tree::change::join_path;

/// Most directories that are remembered. Names that offend in a thousand directories cost twice as much without, those elsewhere ten times.
const REMEMBERED: usize = 4096;

/// Number of look-ups of a directory that is being moved. One that others exchange without pause was not found by eight in one of
/// twenty cases, by sixteen in none of ninety.
const TRIES: usize = 16;

/// The reason why a directory is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Away {
    /// It is gone, or does not lie below the guarded one.
    Elsewhere,
    /// It was moved again and again meanwhile.
    Moving,
}

/// A directory that lies below the guarded one, or is it.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) handle: FileHandle,
    /// The names that led to it when it was found.
    pub(super) path: TreePath,
}

impl Directory {
    /// Returns the path of an entry from the guarded directory, which is `/`.
    pub(super) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut path = vec![b'/'];
        path.extend(join_path(&*self.path));
        if path.len() > 1 {
            path.push(b'/');
        }
        path.extend(name);
        path
    }
}

/// The guarded directory, and what is known of directories on its filesystem.
#[derive(Debug)]
pub(super) struct Directories {
    /// Open for reading: handles are opened through its mount.
    pub(super) root: OwnedFd,
    /// `None` for a directory that lies elsewhere.
    known: Mutex<HashMap<FileHandle, Option<Arc<Directory>>>>,
}

impl Directories {
    /// Opens the guarded directory.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let root = file::reopen(Dir::open_root(root)?, libc::O_RDONLY | libc::O_DIRECTORY)?;
        let known = Mutex::default();
        Ok(Self { root, known })
    }

    /// Forgets all directories: one was moved, so that others may lie elsewhere now.
    pub(super) fn forget(&self) {
        self.known.lock().clear();
    }

    /// Finds the directory of a handle; `None` if it is gone or does not lie below the guarded one.
    pub(super) fn find(&self, handle: &FileHandle) -> Option<Arc<Directory>> {
        self.open(handle).ok().map(|(directory, _)| directory)
    }

    /// Finds the directory of a handle, and opens it by its path, following no link and entering no mount. While it is being moved,
    /// that is tried again.
    pub(super) fn open(&self, handle: &FileHandle) -> Result<(Arc<Directory>, Dir), Away> {
        let (mut before, mut away) = (None, Away::Elsewhere);
        for _ in 0..TRIES {
            let directory = self.look_up(handle).ok_or(Away::Elsewhere)?;
            // Where the mount shows a part of the filesystem, a directory of another part may have the same path.
            let opened = Dir::new(&self.root).descend(&directory.path);
            let is_it = |fd: &OwnedFd| FileHandle::of(fd).ok().flatten().as_ref() == Some(handle);
            if let Some(fd) = opened.ok().filter(is_it) {
                return Ok((directory, Dir::new(fd)));
            }
            self.forget();
            let path = directory.path.clone();
            if before.is_some_and(|before| before != path) {
                away = Away::Moving;
            }
            before = Some(path);
        }
        Err(away)
    }

    fn look_up(&self, handle: &FileHandle) -> Option<Arc<Directory>> {
        let mut known = self.known.lock();
        if let Some(directory) = known.get(handle) {
            return directory.clone();
        }
        // What cannot be opened is gone.
        let fd = handle.open(&self.root, libc::O_PATH).ok().flatten()?;
        let directory = self.names_of(&fd).map(|path| {
            let handle = handle.clone();
            Arc::new(Directory { handle, path })
        });
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(handle.clone(), directory.clone());
        directory
    }

    /// Returns the names that lead to a directory, by the path that the kernel has for it; `None` if it lies elsewhere.
    fn names_of(&self, fd: &OwnedFd) -> Option<TreePath> {
        let (top, path) = (file::path_of(&self.root).ok()?, file::path_of(fd).ok()?);
        let path = Path::new(OsStr::from_bytes(&path));
        let below = path.strip_prefix(OsStr::from_bytes(&top)).ok()?;
        let names = below.iter().map(OsStr::as_bytes);
        names.map(|name| BackingName::parse(name).ok()).collect()
    }
}
