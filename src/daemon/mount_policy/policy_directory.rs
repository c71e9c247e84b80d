//! The directory that a policy lies in, held open from the start.
//!
//! The path is checked once, as the audit log's is: it must not lie in what the policy rules, where users of the
//! mount could change it. Later the file is opened beneath this directory (openat2(2)), so that neither a link nor a
//! mount diverts it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat2, readlinkat};
use rustix::io::Errno;

use crate::daemon::mount_paths::is_inside;
use crate::daemon::start_error::reason;
use crate::names::Quoted;

/// A directory that a policy rules: its path, absolute and without symlinks, and what it is.
pub(super) type Ruled = (PathBuf, &'static str);

/// The directory of a policy.
#[derive(Debug, Clone)]
pub(super) struct PolicyDirectory {
    /// `None` once only the helper process has it.
    directory: Option<Arc<OwnedFd>>,
    /// Its path, absolute and without symlinks.
    path: PathBuf,
    /// Directories that no file of the policy may lie in, and what each is.
    ruled: Vec<Ruled>,
}

impl PolicyDirectory {
    /// Opens the directory of the policy file at `path`. Returns it with the path of the file within it. A file that is a link to
    /// another directory lies in that one. No file of the policy may lie in `ruled`.
    ///
    /// # Errors
    /// Why the policy cannot be read.
    pub(super) fn open(path: &Path, ruled: Vec<Ruled>) -> Result<(Self, PathBuf), String> {
        let cannot = |error: io::Error| format!("cannot be read: {}", reason(&error));
        let at = |path: &Path| -> Result<(Self, PathBuf), String> {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err("is a directory".to_owned());
            };
            let parent = parent.canonicalize().map_err(cannot)?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory =
                open(&parent, flags, Mode::empty()).map_err(|errno| cannot(errno.into()))?;
            let directory = Self {
                directory: Some(Arc::new(directory)),
                path: parent,
                ruled: ruled.clone(),
            };
            directory.check(&directory.path.join(name))?;
            Ok((directory, name.into()))
        };
        let (directory, name) = at(path)?;
        match directory.open_beneath(&name) {
            Err(Errno::XDEV) => at(&path.canonicalize().map_err(cannot)?),
            Ok(_) | Err(_) => Ok((directory, name)),
        }
    }

    /// Leaves the directory to the helper process, which has been given the descriptor.
    pub(in crate::daemon) fn release(&mut self) {
        self.directory = None;
    }

    /// Returns the descriptor of the directory.
    pub(in crate::daemon) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.directory.as_ref().map(|directory| directory.as_fd())
    }

    /// Returns the directories that the policy rules.
    pub(super) fn ruled(&self) -> &[Ruled] {
        &self.ruled
    }

    /// Returns the path of the file that is `name` within the directory.
    pub(super) fn path_of(&self, name: &Path) -> PathBuf {
        self.path.join(name)
    }

    /// Opens the file that is `name`, an absolute path or one within the directory, for reading, without waiting for the writer of a
    /// FIFO.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read(&self, name: &Path) -> Result<File, String> {
        let within = name.strip_prefix(&self.path).unwrap_or(name);
        let file: File = match self.open_beneath(within) {
            Ok(file) => file.into(),
            Err(Errno::XDEV) => return Err(self.elsewhere()),
            Err(errno) => return Err(format!("cannot be read: {}", reason(&errno.into()))),
        };
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        if let Ok(path) = readlinkat(CWD, link, Vec::new()) {
            self.check(Path::new(OsStr::from_bytes(path.as_bytes())))?;
        }
        Ok(file)
    }

    fn open_beneath(&self, name: &Path) -> Result<OwnedFd, Errno> {
        let directory = self.descriptor().ok_or(Errno::BADF)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
        openat2(directory, name, flags, Mode::empty(), within)
    }

    fn elsewhere(&self) -> String {
        let directory = Quoted(self.path.as_os_str().as_bytes());
        format!(
            "leads out of {directory}: all files of a policy lie in one directory, or below it, on one filesystem"
        )
    }

    /// Refuses what lies in a directory that the policy rules.
    fn check(&self, file: &Path) -> Result<(), String> {
        let is_ruled =
            |(directory, _): &&Ruled| file.starts_with(directory) || is_inside(file, directory);
        match self.ruled.iter().find(is_ruled) {
            None => Ok(()),
            Some((_, what)) => Err(format!(
                "is inside the {what}: keep it outside of what it rules"
            )),
        }
    }
}
