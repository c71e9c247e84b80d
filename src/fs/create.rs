//! Making a file and opening it at once: create.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::audit::Operation;
use super::descriptors::Use;
use super::inode::lock;
use super::io::{KERNELS_OWN, Opened};
use super::resolve::Making;
use super::{Caller, Entry, FsError, Utf8Fs};
use crate::backing::{Nature, file};

/// How long it is waited, in all, for a name that others make and remove to be free: so often, so long.
const PATIENCE: (usize, Duration) = (400, Duration::from_micros(250));

/// Most who are waited for to come back.
const MOST_SENT: usize = 64;

/// Who asked for a file, in which directory, and by which name.
type Asked = (Caller, u64, Box<[u8]>);

/// Who was told that the name is taken. The kernel looks the name up anew then, and opens what is there. If there is
/// nothing any more it asks once more to make it, and the program fails if the name is taken again.
#[derive(Debug, Default)]
pub(super) struct SentBack(Mutex<VecDeque<Asked>>);

impl SentBack {
    fn note(&self, caller: Caller, parent: u64, name: &[u8]) {
        let mut sent = lock(&self.0);
        sent.truncate(MOST_SENT - 1);
        sent.push_front((caller, parent, name.into()));
    }

    /// Was `caller` sent back? It is no more.
    fn is_back(&self, caller: Caller, parent: u64, name: &[u8]) -> bool {
        let mut sent = lock(&self.0);
        let is_it = |(by, dir, what): &Asked| *by == caller && *dir == parent && **what == *name;
        let found = sent.iter().position(is_it);
        found.and_then(|index| sent.remove(index)).is_some()
    }
}

impl Utf8Fs {
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
    ) -> Result<(Entry, Opened), FsError> {
        let rules = self.rules();
        let making = Making {
            operation: Operation::Create,
            caller,
            rules: &rules,
        };
        let is_exclusive = flags & libc::O_EXCL != 0;
        let patience = match !is_exclusive && self.sent_back.is_back(caller, parent, name) {
            true => PATIENCE.0,
            false => 0,
        };
        let taken = self.inodes.take_descriptors(Use::File)?;
        let made = self.make(making, parent, name, (mode, umask), |dir, backing| {
            let flags = flags & !KERNELS_OWN | self.waiting() | libc::O_EXCL;
            let create = || dir.create(backing, flags, mode);
            let mut opened = self.inodes.with_descriptors(create);
            for _ in 0..patience {
                match &opened {
                    Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                        std::thread::sleep(PATIENCE.1);
                        opened = self.inodes.with_descriptors(create);
                    }
                    _ => break,
                }
            }
            let opened = opened?;
            let looked = self.look_at_made(dir, backing, &opened)?;
            Ok((opened, looked))
        });
        let ((opened, looked), (directory, fd), place) = match made {
            Err(FsError::Io(error))
                if error.raw_os_error() == Some(libc::EEXIST) && !is_exclusive =>
            {
                self.sent_back.note(caller, parent, name);
                return Err(FsError::Stale);
            }
            made => made?,
        };
        let here = (&*directory, &*fd);
        let entry = self.enter(looked, here, place.backing, place.visible, place.alias)?;
        let inode = self.inodes.get(entry.number)?;
        let path_only = match inode.is_elsewhere() {
            // Not by its name: somebody may have removed it already.
            true => self
                .inodes
                .with_descriptors(|| file::path_only(&opened))
                .map(Arc::new)?,
            false => self.inodes.fd(&inode)?,
        };
        let nature = Nature::made(entry.stat.mode, entry.stat.uid, entry.stat.gid);
        let opened = self.opened(
            caller,
            (Arc::new(opened), taken),
            path_only,
            inode,
            &nature,
            flags,
        )?;
        Ok((entry, opened))
    }
}
