//! Open files: open, read, write, flush, release, fsync, fallocate, lseek, `copy_file_range`.

use std::sync::Arc;

use super::handle::OpenFile;
use super::{FsError, Utf8Fs};
use crate::backing::file;

/// Flags of open(2) that the backing file is opened without. The kernel bypasses its own cache for `O_DIRECT`, and the
/// alignment that the backing file would ask for is not that of the buffers here. `O_APPEND` is of each write: a
/// program can change it on an open file, and pages that were mapped are written to where they are.
pub(super) const KERNELS_OWN: i32 = libc::O_DIRECT | libc::O_APPEND;

impl Utf8Fs {
    /// Opens a file with the flags of open(2); gives a handle. Only for regular files: the kernel serves others itself.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn open(&self, number: u64, flags: i32) -> Result<u64, FsError> {
        let (inode, path_only) = self.open_inode(number)?;
        let reopen = |flags| {
            self.inodes
                .with_descriptors(|| file::reopen(&*path_only, flags))
        };
        let fd = match reopen(flags & !KERNELS_OWN) {
            // A file that may only be appended to (chattr +a) is opened so or not at all.
            Err(error)
                if error.raw_os_error() == Some(libc::EPERM) && flags & libc::O_APPEND != 0 =>
            {
                reopen(flags & !libc::O_DIRECT)?
            }
            opened => opened?,
        };
        Ok(self.files.add(OpenFile::new(fd, inode)))
    }

    /// Reads up to `size` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn read(&self, handle: u64, offset: u64, size: u32) -> Result<Vec<u8>, FsError> {
        let open = self.files.get(handle)?;
        let mut data = vec![0; usize::try_from(size).unwrap_or(0)];
        let length = file::read_at(&*open.fd, &mut data, offset)?;
        data.truncate(length);
        Ok(data)
    }

    /// Writes `data`; gives how many bytes were written.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn write(&self, handle: u64, place: file::Place, data: &[u8]) -> Result<usize, FsError> {
        let open = self.files.get(handle)?;
        Ok(file::write(&*open.fd, data, place)?)
    }

    /// Gives the errors that closing the backing file gives.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn flush(&self, handle: u64) -> Result<(), FsError> {
        let open = self.files.get(handle)?;
        match self.inodes.with_descriptors(|| file::flush(&*open.fd)) {
            // It takes one descriptor more to ask; a program must be able to close its files without.
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Closes a handle.
    pub fn release(&self, handle: u64) {
        self.release_locks(handle);
        // The file is closed when the last operation on it has ended.
        drop(self.files.remove(handle));
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn fsync(&self, handle: u64, what: file::Sync) -> Result<(), FsError> {
        let open = self.files.get(handle)?;
        Ok(file::fsync(&*open.fd, what)?)
    }

    /// fallocate(2).
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn fallocate(
        &self,
        handle: u64,
        mode: i32,
        offset: u64,
        length: u64,
    ) -> Result<(), FsError> {
        let open = self.files.get(handle)?;
        Ok(file::fallocate(&*open.fd, mode, offset, length)?)
    }

    /// lseek(2): the kernel asks for `SEEK_DATA` and `SEEK_HOLE` only.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn lseek(&self, handle: u64, offset: i64, whence: i32) -> Result<u64, FsError> {
        let open = self.files.get(handle)?;
        Ok(file::seek(&*open.fd, offset, whence)?)
    }

    /// `copy_file_range(2)` between two open files, each given with its offset.
    ///
    /// # Errors
    /// A handle is gone, or the system's error.
    pub fn copy_file_range(
        &self,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
    ) -> Result<usize, FsError> {
        let source: Arc<OpenFile> = self.files.get(from.0)?;
        let target = self.files.get(to.0)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Ok(file::copy_range(
            &*source.fd,
            from.1,
            &*target.fd,
            to.1,
            length,
        )?)
    }
}
