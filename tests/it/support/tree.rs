//! A backing directory, a place to mount it and one for logs, all gone at the end.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::mount::detach;
use super::wait::until;
use super::{Mount, at};

/// A scratch directory with `backing`, where the bytes lie, and `mnt`, where they are shown.
pub(crate) struct Tree {
    scratch: TempDir,
    logs: TempDir,
}

impl Tree {
    /// On the disk, with what the machine's filesystem for temporary files can do.
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In memory where there is any, for directories of very many names.
    pub(crate) fn in_memory() -> Self {
        Self::below(&memory())
    }

    fn below(parent: &Path) -> Self {
        let tree = Self {
            scratch: directory(parent),
            logs: directory(&memory()),
        };
        std::fs::create_dir(tree.backing()).unwrap();
        std::fs::create_dir(tree.point()).unwrap();
        tree
    }

    /// The scratch directory itself: the parent of the backing directory.
    pub(crate) fn parent(&self) -> &Path {
        self.scratch.path()
    }

    /// Where the mounts of the tree have their audit log, if nothing else is said. Not on the disk: one that others are busy with
    /// can keep a record for longer than a daemon waits at its end.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.logs.path().join("audit.jsonl")
    }

    /// The directory of [`Tree::audit_log`].
    pub(crate) fn logs(&self) -> &Path {
        self.logs.path()
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

    /// Waits until every directory below is idle: only in such directories changes are heard of (law F5).
    pub(crate) fn until_idle(&self) {
        let mut directories = vec![self.backing()];
        let mut changed = 0;
        while let Some(directory) = directories.pop() {
            changed = changed.max(directory.metadata().unwrap().ctime());
            let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
            let inside = entries.filter(|entry| entry.file_type().unwrap().is_dir());
            directories.extend(inside.map(|entry| entry.path()));
        }
        // By whole seconds.
        let idle = UNIX_EPOCH + Duration::from_secs(changed.cast_unsigned() + 3);
        until(|| SystemTime::now() >= idle);
    }

    /// Mounts the backing directory.
    pub(crate) fn mount(&self, options: &[&str]) -> Mount<'_> {
        Mount::start(self, options)
    }
}

/// A directory of its own that other users can get through.
fn directory(parent: &Path) -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix("utf8fs-test-")
        .tempdir_in(parent)
        .unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

/// A filesystem in memory, or what there is for temporary files.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    match memory.is_dir() {
        true => memory,
        false => std::env::temp_dir(),
    }
}

impl Drop for Tree {
    /// Mounts go before the directory does, also dead ones and those in the background.
    fn drop(&mut self) {
        detach(&self.point());
        detach(&self.backing());
    }
}
