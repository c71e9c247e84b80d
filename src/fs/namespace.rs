//! Operations on names: lookup, mknod, mkdir, symlink, link, create, unlink, rmdir, rename.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::handle::OpenFile;
use super::inode::{Inode, Place};
use super::io::KERNELS_OWN;
use super::resolve::{Making, NewName};
use super::unique::At;
use super::{Caller, Entry, FsError, Utf8Fs};
use crate::backing::{Dir, Stat, become_caller, file};
use crate::names::{BackingName, VisibleName};

/// How often a file is tried to be made that is there and gone again.
const CREATE_AGAIN: usize = 64;

impl Utf8Fs {
    /// An inode and its descriptor.
    pub(super) fn open_inode(&self, number: u64) -> Result<(Arc<Inode>, Arc<OwnedFd>), FsError> {
        let inode = self.inodes.get(number)?;
        let fd = self.inodes.fd(&inode)?;
        Ok((inode, fd))
    }

    /// Looks a name up and counts the lookup.
    ///
    /// # Errors
    /// `ENOENT` where nothing is visible under it.
    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Entry, FsError> {
        let (directory, fd) = self.open_inode(parent)?;
        let found = self.on_entry(&directory, &fd, name, &mut |backing| {
            self.inodes
                .with_descriptors(|| Dir::new(&*fd).child(backing))
        })?;
        let entry = self.enter(
            found.value,
            &directory,
            found.backing,
            found.visible,
            found.alias,
        )?;
        Ok(self.fitted(entry))
    }

    /// Enters a file just opened under `backing` into the table.
    pub(super) fn enter(
        &self,
        fd: OwnedFd,
        directory: &Inode,
        backing: BackingName,
        visible: VisibleName,
        alias: bool,
    ) -> Result<Entry, FsError> {
        if self.is_own(&fd)? {
            return Err(io::Error::from_raw_os_error(libc::ENOENT).into());
        }
        let stat = self.inodes.within(Stat::of(&fd)?);
        let lasting = !alias
            && !self.map.has_spellings()
            && self.exempt.is_empty()
            && visible.as_bytes() == backing.as_bytes();
        let place = Place::new(directory.number, backing, visible);
        let inode = self.inodes.enter(fd, &stat, place)?;
        Ok(Entry {
            number: inode.number,
            generation: inode.generation,
            stat,
            lasting,
            steady: true,
        })
    }

    /// Makes an entry: finds its place, acts as the caller, makes it, and reports it if it offends.
    fn make<T>(
        &self,
        making: Making,
        parent: u64,
        name: &[u8],
        umask: u32,
        make: impl FnOnce(&Dir<&OwnedFd>, &BackingName) -> io::Result<T>,
    ) -> Result<(T, Arc<Inode>, NewName), FsError> {
        let (inode, fd) = self.open_inode(parent)?;
        let place = self.place_new(making, &inode, &fd, name)?;
        self.become_caller(making.caller, umask)?;
        let mut directory = self.directory(&inode, &fd);
        let clash = self.check_unique(making, &mut directory, &inode, name, &place, None)?;
        directory.before_change()?;
        let kept = directory.kept();
        let made = make(&Dir::new(&*fd), &place.backing)?;
        let mut directory = kept.unwrap_or_else(|| self.directory(&inode, &fd));
        directory.changed(None, Some(&place.backing))?;
        drop(directory);
        self.report(making, &inode, &fd, name, &place)?;
        self.report_clash(making, &inode, name, &place, clash.as_ref());
        Ok((made, inode, place))
    }

    /// Makes an entry that nobody opens, and looks it up.
    fn make_node(
        &self,
        making: Making,
        parent: u64,
        name: &[u8],
        umask: u32,
        make: impl FnOnce(&Dir<&OwnedFd>, &BackingName) -> io::Result<()>,
    ) -> Result<Entry, FsError> {
        let (child, inode, place) = self.make(making, parent, name, umask, |dir, backing| {
            make(dir, backing)?;
            self.inodes.with_descriptors(|| dir.child(backing))
        })?;
        let entry = self.enter(child, &inode, place.backing, place.visible, place.alias)?;
        Ok(self.fitted(entry))
    }

    fn become_caller(&self, caller: Caller, umask: u32) -> io::Result<()> {
        become_caller(self.privilege, caller.uid, caller.gid, umask)
    }

    /// Makes a file, device, FIFO or socket.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn mknod(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        umask: u32,
        rdev: u64,
    ) -> Result<Entry, FsError> {
        let making = Making {
            operation: "mknod",
            caller,
        };
        self.make_node(making, parent, name, umask, |dir, backing| {
            dir.mknod(backing, mode, rdev)
        })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn mkdir(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        umask: u32,
    ) -> Result<Entry, FsError> {
        let making = Making {
            operation: "mkdir",
            caller,
        };
        self.make_node(making, parent, name, umask, |dir, backing| {
            dir.mkdir(backing, mode)
        })
    }

    /// Makes a symlink that leads below to the file that `target` leads to through the mount.
    ///
    /// # Errors
    /// The name, or one in the target, is refused; or the system's error.
    pub fn symlink(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        target: &[u8],
    ) -> Result<Entry, FsError> {
        let making = Making {
            operation: "symlink",
            caller,
        };
        let directory = self.inodes.get(parent)?;
        let stored = self.stored_target(making, &directory, name, target)?;
        let entry = self.make_node(making, parent, name, 0, |dir, backing| {
            dir.symlink(backing, &stored.text)
        })?;
        self.report_target(making, &directory, name, &stored);
        Ok(entry)
    }

    /// Makes another name for a file.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn link(
        &self,
        caller: Caller,
        number: u64,
        parent: u64,
        name: &[u8],
    ) -> Result<Entry, FsError> {
        let making = Making {
            operation: "link",
            caller,
        };
        let (_, source) = self.open_inode(number)?;
        self.make_node(making, parent, name, 0, |dir, backing| {
            dir.link(&*source, backing)
        })
    }

    /// Makes a file and opens it with `flags` (open(2)). Where the entry is there already, the answer is `EEXIST` with
    /// `O_EXCL` and `ESTALE` without: then the kernel looks it up and checks the caller's rights to it, which this
    /// process must not skip.
    ///
    /// # Errors
    /// The name is refused, or the system's error.
    pub fn create(
        &self,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        umask: u32,
        flags: i32,
    ) -> Result<(Entry, u64), FsError> {
        let making = Making {
            operation: "create",
            caller,
        };
        let is_exclusive = flags & libc::O_EXCL != 0;
        let made = self.make(making, parent, name, umask, |dir, backing| {
            let flags = flags & !KERNELS_OWN | libc::O_EXCL;
            let create = || dir.create(backing, flags, mode);
            for _ in 0..CREATE_AGAIN {
                match self.inodes.with_descriptors(create) {
                    // It was there, and is not any more. The kernel looks it up once more only, not as often as others
                    // below make and remove it.
                    Err(error)
                        if error.raw_os_error() == Some(libc::EEXIST)
                            && !is_exclusive
                            && !dir.exists(backing)? => {}
                    done => return done,
                }
            }
            self.inodes.with_descriptors(create)
        });
        let (opened, inode, place) = match made {
            Err(FsError::Io(error))
                if error.raw_os_error() == Some(libc::EEXIST) && !is_exclusive =>
            {
                return Err(FsError::Stale);
            }
            made => made?,
        };
        let path_only = self.inodes.with_descriptors(|| file::path_only(&opened))?;
        let entry = self.enter(path_only, &inode, place.backing, place.visible, place.alias)?;
        let inode = self.inodes.get(entry.number)?;
        let handle = self.files.add(OpenFile::new(opened, inode));
        Ok((entry, handle))
    }

    /// Removes a name of a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn unlink(&self, parent: u64, name: &[u8]) -> Result<(), FsError> {
        self.remove(parent, name, |dir, backing| dir.unlink(backing))
    }

    /// Removes a directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn rmdir(&self, parent: u64, name: &[u8]) -> Result<(), FsError> {
        self.remove(parent, name, |dir, backing| dir.rmdir(backing))
    }

    fn remove(
        &self,
        parent: u64,
        name: &[u8],
        remove: impl Fn(&Dir<&OwnedFd>, &BackingName) -> io::Result<()>,
    ) -> Result<(), FsError> {
        let (inode, fd) = self.open_inode(parent)?;
        self.directory(&inode, &fd).before_change()?;
        let found = self.on_entry(&inode, &fd, name, &mut |backing| {
            remove(&Dir::new(&*fd), backing)
        })?;
        self.directory(&inode, &fd)
            .changed(Some(&found.backing), None)?;
        Ok(())
    }

    /// Renames, with the flags of renameat2(2).
    ///
    /// # Errors
    /// The new name is refused, or the system's error.
    pub fn rename(
        &self,
        caller: Caller,
        from: (u64, &[u8]),
        to: (u64, &[u8]),
        flags: u32,
    ) -> Result<(), FsError> {
        let (from_inode, from_fd) = self.open_inode(from.0)?;
        let (to_inode, to_fd) = self.open_inode(to.0)?;
        let rename = |old: &BackingName, new: &BackingName| {
            Dir::new(&*from_fd).rename(old, &Dir::new(&*to_fd), new, flags)
        };
        if flags & libc::RENAME_EXCHANGE != 0 {
            // Both names are there already: nothing new is made.
            let mut there = |new: &BackingName| Dir::new(&*to_fd).stat_child(new);
            let new = self.on_entry(&to_inode, &to_fd, to.1, &mut there)?;
            let old = self.on_entry(&from_inode, &from_fd, from.1, &mut |old| {
                rename(old, &new.backing)
            })?;
            self.moved(&to_inode, &to_fd, &new.backing, &new.visible);
            self.moved(&from_inode, &from_fd, &old.backing, &old.visible);
            return Ok(());
        }
        let making = Making {
            operation: "rename",
            caller,
        };
        let place = self.place_new(making, &to_inode, &to_fd, to.1)?;
        if flags & libc::RENAME_WHITEOUT != 0 {
            self.become_caller(caller, 0)?;
        }
        self.directory(&from_inode, &from_fd).before_change()?;
        let (old, mut directory, clash) = if self.indexed.unique.is_some() {
            let from = At {
                inode: &from_inode,
                fd: &from_fd,
                name: from.1,
            };
            let to = At {
                inode: &to_inode,
                fd: &to_fd,
                name: to.1,
            };
            self.rename_uniquely(making, from, to, &place, flags)?
        } else {
            self.directory(&to_inode, &to_fd).before_change()?;
            let old = self.on_entry(&from_inode, &from_fd, from.1, &mut |old| {
                rename(old, &place.backing)
            })?;
            (old, self.directory(&to_inode, &to_fd), None)
        };
        let is_same = from.0 == to.0;
        // A whiteout is left under the old name, so that only a new name comes.
        let leaves_whiteout = flags & libc::RENAME_WHITEOUT != 0;
        let gone = (!leaves_whiteout).then_some(&old.backing);
        if !is_same || old.backing != place.backing {
            directory.changed(gone.filter(|_| is_same), Some(&place.backing))?;
        }
        // No two directories are locked at once.
        drop(directory);
        if !is_same {
            self.directory(&from_inode, &from_fd).changed(gone, None)?;
        }
        self.moved(&to_inode, &to_fd, &place.backing, &place.visible);
        self.report(making, &to_inode, &to_fd, to.1, &place)?;
        self.report_clash(making, &to_inode, to.1, &place, clash.as_ref());
        Ok(())
    }

    /// Notes where an entry is now, if the kernel knows it. Only paths in the log and users without file handles need
    /// it, so that an entry that moved on meanwhile does no harm.
    fn moved(&self, directory: &Inode, fd: &OwnedFd, backing: &BackingName, visible: &VisibleName) {
        let inode = Dir::new(fd)
            .stat_child(backing)
            .ok()
            .map(|stat| self.inodes.within(stat))
            .and_then(|stat| self.inodes.get(self.inodes.number(stat.dev, stat.ino)).ok());
        if let Some(inode) = inode {
            inode.set_place(Place::new(
                directory.number,
                backing.clone(),
                visible.clone(),
            ));
        }
    }
}
