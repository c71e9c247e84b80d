//! Making a file and opening it at once: create.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::audit::Operation;
use super::descriptors::Use;
use super::inode::lock;
use super::io::{KERNELS_OWN, Opened};
use super::resolve::Making;
use super::{Caller, Entry, FsError, Lasts, Utf8Fs};
use crate::backing::Nature;

/// How long it is waited, in all, for a name that others make and remove to be free. On a disk that is busy, a name that is made and
/// removed at once can be there for a good part of that.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first pause in that time, and the longest; each is twice as long as the one before.
const PAUSES: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(8));

/// Most who are waited for to come back.
const MOST_SENT: usize = 64;

/// The kernel asks again at once. Who comes later than this has not come back, but comes anew.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Who asked for a file, in which directory, by which name, and when.
type Asked = (Caller, u64, Box<[u8]>, Instant);

/// Who was told that the name is taken. The kernel looks the name up anew then, and opens what is there. If there is
/// nothing any more it asks once more to make it, and the program fails if the name is taken again.
#[derive(Debug, Default)]
pub(super) struct SentBack(Mutex<VecDeque<Asked>>);

impl SentBack {
    fn note(&self, caller: Caller, parent: u64, name: &[u8]) {
        let mut sent = lock(&self.0);
        sent.truncate(MOST_SENT - 1);
        sent.push_front((caller, parent, name.into(), Instant::now()));
    }

    /// Was `caller` sent back? It is no more.
    fn is_back(&self, caller: Caller, parent: u64, name: &[u8]) -> bool {
        let mut sent = lock(&self.0);
        sent.retain(|(.., when)| when.elapsed() < AT_ONCE);
        let is_it = |(by, dir, what, _): &Asked| *by == caller && *dir == parent && **what == *name;
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
        let is_back = !is_exclusive && self.sent_back.is_back(caller, parent, name);
        let taken = self.inodes.take_descriptors(caller, Use::File)?;
        let made = self.make(making, parent, name, (mode, umask), |dir, backing| {
            let flags = flags & !KERNELS_OWN | self.waiting() | libc::O_EXCL;
            let create = || dir.create(backing, flags, mode);
            let opened = match is_back {
                true => until_free(|| self.inodes.with_descriptors(create)),
                false => self.inodes.with_descriptors(create),
            };
            let opened = opened?;
            let looked = self.look_at_made(&opened)?;
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
        let mut entry = self.enter(looked, here, place.backing, place.visible, place.alias)?;
        let inode = self.inodes.get(entry.number)?;
        let nature = Nature::made(entry.stat.mode, entry.stat.uid, entry.stat.gid);
        let opened = Arc::new(opened);
        let file = Arc::clone(&opened);
        let opened = self.opened(caller, (opened, taken), file, inode, &nature, flags)?;
        if opened.is_mappable {
            // Not at all would keep the kernel from keeping the name, too (`ReplyCreate` of fuser has one time for both).
            entry.attributes = Lasts::Open;
        }
        Ok((entry, opened))
    }
}

/// Has a file made until its name is free, but not for ever.
fn until_free<T>(create: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        match create() {
            Err(error)
                if error.raw_os_error() == Some(libc::EEXIST) && start.elapsed() < PATIENCE =>
            {
                std::thread::sleep(pause);
                pause = longest.min(pause * 2);
            }
            made => return made,
        }
    }
}
