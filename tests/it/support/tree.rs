//! A backing directory and a place to mount it, both gone at the end.

use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::mount::detach;
use super::{Mount, at};

/// A scratch directory with `backing`, where the bytes lie, and `mnt`, where they are shown.
pub(crate) struct Tree {
    scratch: TempDir,
}

impl Tree {
    /// On the disk, with what the machine's filesystem for temporary files can do.
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In memory where there is any, for directories of very many names.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::below(memory)
        } else {
            Self::new()
        }
    }

    fn below(parent: &Path) -> Self {
        let scratch = tempfile::Builder::new()
            .prefix("utf8fs-test-")
            .tempdir_in(parent)
            .unwrap();
        // Other users have to get through to the mountpoint.
        std::fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let tree = Self { scratch };
        std::fs::create_dir(tree.backing()).unwrap();
        std::fs::create_dir(tree.point()).unwrap();
        tree
    }

    /// The scratch directory itself: the parent of the backing directory.
    pub(crate) fn parent(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn backing(&self) -> PathBuf {
        self.scratch.path().join("backing")
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.scratch.path().join("mnt")
    }

    /// The backing directory, opened.
    pub(crate) fn below_dir(&self) -> OwnedFd {
        at::open_dir_path(&self.backing())
    }

    /// A file in the backing directory, by the bytes of its name.
    pub(crate) fn file(&self, name: &[u8], content: &[u8]) {
        at::write_new(self.below_dir(), name, content).unwrap();
    }

    /// A directory in the backing directory, opened.
    pub(crate) fn directory(&self, name: &[u8]) -> OwnedFd {
        let below = self.below_dir();
        at::mkdir(&below, name).unwrap();
        at::open_dir(&below, name).unwrap()
    }

    /// Mounts the backing directory.
    pub(crate) fn mount(&self, options: &[&str]) -> Mount<'_> {
        Mount::start(self, options)
    }
}

impl Drop for Tree {
    /// Mounts go before the directory does, also dead ones and those in the background.
    fn drop(&mut self) {
        detach(&self.point());
        detach(&self.backing());
    }
}
