//! System calls on a filesystem without a mount. As the kernel does, they look a name up before anything else is done with it; unlike the
//! kernel they keep nothing of what they found.

use rustix::io::Errno;

use super::{CALLER, new_entry};
use crate::at::{Make, Result};
use crate::backing::{Stat, file};
use crate::fs::{Entry, FsError, Opened, Plus, ROOT, Utf8Fs};

const FILE: u32 = libc::S_IFREG | 0o644;

pub(super) fn errno(error: FsError) -> Errno {
    Errno::from_raw_os_error(error.errno())
}

/// An entry that was looked up, and is forgotten in the end.
struct Looked<'a> {
    fs: &'a Utf8Fs,
    entry: Entry,
}

impl Looked<'_> {
    fn number(&self) -> u64 {
        self.entry.inode.number
    }
}

impl Drop for Looked<'_> {
    fn drop(&mut self) {
        drop(self.fs.inodes.forget(self.number(), 1));
    }
}

/// A directory as programs see it.
#[derive(Clone, Copy)]
pub(super) struct VisibleDirectory<'a> {
    fs: &'a Utf8Fs,
    pub(super) number: u64,
}

impl<'a> VisibleDirectory<'a> {
    pub(super) fn root(fs: &'a Utf8Fs) -> Self {
        Self { fs, number: ROOT }
    }

    /// The inode number of the entry at a path. Every entry of the path is known from now on.
    pub(super) fn number_of(self, path: &[u8]) -> Result<u64> {
        let mut names = path.split(|&octet| octet == b'/');
        names.try_fold(self.number, |parent, name| {
            let entry = self.fs.lookup(CALLER, parent, name).map_err(errno)?;
            Ok(entry.inode.number)
        })
    }

    /// The directory at a path, which is known from now on.
    pub(super) fn sub(self, path: &[u8]) -> Self {
        let number = self.number_of(path).unwrap();
        Self { number, ..self }
    }

    fn looked(self, entry: std::result::Result<Entry, FsError>) -> Result<Looked<'a>> {
        let entry = entry.map_err(errno)?;
        Ok(Looked { fs: self.fs, entry })
    }

    fn lookup(self, name: &[u8]) -> Result<Looked<'a>> {
        self.looked(self.fs.lookup(CALLER, self.number, name))
    }

    fn check_absent(self, name: &[u8]) -> Result<()> {
        match self.lookup(name) {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn stat(self, name: &[u8]) -> Result<Stat> {
        Ok(self.lookup(name)?.entry.stat)
    }

    fn create(self, name: &[u8], flags: i32) -> Result<(Looked<'a>, Opened)> {
        let flags = flags | libc::O_CREAT | libc::O_RDWR;
        let created = self.fs.create(&new_entry(self.number, name, FILE), flags);
        let (entry, opened) = created.map_err(errno)?;
        Ok((Looked { fs: self.fs, entry }, opened))
    }

    pub(super) fn create_new(self, name: &[u8]) -> Result<()> {
        self.write_new(name, b"")
    }

    pub(super) fn write_new(self, name: &[u8], content: &[u8]) -> Result<()> {
        self.check_absent(name)?;
        let (_looked, opened) = self.create(name, libc::O_EXCL)?;
        self.write_and_close(opened.handle, content)
    }

    /// Opens a file, or makes it if it is not there, and writes to its start.
    pub(super) fn write(self, name: &[u8], content: &[u8]) -> Result<()> {
        match self.lookup(name) {
            Ok(looked) => {
                let opened = self.fs.open(CALLER, looked.number(), libc::O_WRONLY);
                self.write_and_close(opened.map_err(errno)?.handle, content)
            }
            Err(Errno::NOENT) => {
                let (_looked, opened) = self.create(name, 0)?;
                self.write_and_close(opened.handle, content)
            }
            Err(error) => Err(error),
        }
    }

    fn write_and_close(self, handle: u64, content: &[u8]) -> Result<()> {
        let place = file::Place::At(0);
        let written = self.fs.write(None, handle, place, content, false);
        self.fs.release(handle);
        assert_eq!(written.map_err(errno)?, content.len());
        Ok(())
    }

    pub(super) fn read(self, name: &[u8]) -> Result<Vec<u8>> {
        let looked = self.lookup(name)?;
        if looked.entry.stat.is_symlink() {
            return Err(Errno::LOOP);
        }
        let opened = self.fs.open(CALLER, looked.number(), libc::O_RDONLY);
        let handle = opened.map_err(errno)?.handle;
        let mut content = vec![0; 4096];
        let read = self.fs.read(handle, 0, &mut content);
        self.fs.release(handle);
        content.truncate(read.map_err(errno)?);
        Ok(content)
    }

    pub(super) fn mkdir(self, name: &[u8]) -> Result<()> {
        self.check_absent(name)?;
        let made = self.fs.mkdir(&new_entry(self.number, name, 0o755));
        self.looked(made).map(drop)
    }

    pub(super) fn mknod(self, name: &[u8]) -> Result<()> {
        self.check_absent(name)?;
        let new = new_entry(self.number, name, libc::S_IFIFO | 0o644);
        self.looked(self.fs.mknod(&new, 0)).map(drop)
    }

    pub(super) fn symlink(self, target: &[u8], name: &[u8]) -> Result<()> {
        self.check_absent(name)?;
        let made = self.fs.symlink(&new_entry(self.number, name, 0), target);
        self.looked(made).map(drop)
    }

    /// The target of a symlink. The size that the symlink is shown with is the length of it.
    pub(super) fn readlink(self, name: &[u8]) -> Result<Vec<u8>> {
        let looked = self.lookup(name)?;
        let target = self.fs.readlink(CALLER, looked.number()).map_err(errno)?;
        let (_, attributes) = self.fs.getattr(looked.number()).map_err(errno)?;
        assert_eq!(usize::try_from(attributes.size), Ok(target.len()));
        Ok(target)
    }

    pub(super) fn link(self, old: &[u8], new: &[u8]) -> Result<()> {
        let looked = self.lookup(old)?;
        self.check_absent(new)?;
        let new = new_entry(self.number, new, 0);
        self.looked(self.fs.link(&new, looked.number())).map(drop)
    }

    pub(super) fn rename(self, old: &[u8], new: &[u8]) -> Result<()> {
        self.rename_with(old, new, 0)
    }

    /// Renames with the flags of renameat2(2).
    pub(super) fn rename_with(self, old: &[u8], new: &[u8], flags: u32) -> Result<()> {
        self.rename_into(old, self, new, flags)
    }

    /// Renames into another directory.
    pub(super) fn rename_into(self, old: &[u8], to: Self, new: &[u8], flags: u32) -> Result<()> {
        drop(self.lookup(old)?);
        match to.check_absent(new) {
            Err(Errno::EXIST) if flags & libc::RENAME_NOREPLACE == 0 => {}
            absent => absent?,
        }
        let (from, to) = ((self.number, old), (to.number, new));
        let renamed = self.fs.rename_at_once(CALLER, from, to, flags);
        renamed.map(drop).map_err(errno)
    }

    pub(super) fn unlink(self, name: &[u8]) -> Result<()> {
        drop(self.lookup(name)?);
        self.fs.unlink(CALLER, self.number, name).map_err(errno)
    }

    pub(super) fn rmdir(self, name: &[u8]) -> Result<()> {
        drop(self.lookup(name)?);
        self.fs.rmdir(CALLER, self.number, name).map_err(errno)
    }

    /// Makes `name` where [`Make::SOURCE`] exists.
    pub(super) fn make(self, make: Make, name: &[u8]) -> Result<()> {
        match make {
            Make::Create => self.create_new(name),
            Make::Mkdir => self.mkdir(name),
            Make::Mknod => self.mknod(name),
            Make::Symlink => self.symlink(b"target", name),
            Make::Link => self.link(Make::SOURCE, name),
            Make::Rename => self.rename(Make::SOURCE, name),
        }
    }

    /// Names and inode numbers in the order in which they are listed, without `.` and `..`.
    pub(super) fn list_numbers(self) -> Result<Vec<(Vec<u8>, u64)>> {
        let opened = self.fs.opendir(CALLER, self.number, 0);
        let handle = opened.map_err(errno)?;
        let mut entries = Vec::new();
        let listed = self.fs.readdir(handle, 0, Plus::No, |listed| {
            entries.push((listed.name.to_vec(), listed.number));
            false
        });
        self.fs.releasedir(handle);
        listed.map_err(errno)?;
        entries.retain(|(name, _)| !matches!(name.as_slice(), b"." | b".."));
        Ok(entries)
    }

    /// The names, sorted; a repeated one comes twice.
    pub(super) fn sorted(self) -> Vec<Vec<u8>> {
        let entries = self.list_numbers().unwrap().into_iter();
        let mut names: Vec<Vec<u8>> = entries.map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }
}
