//! Making a file and opening it at once: create.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::audit::Operation;
use super::descriptors::Use;
use super::inode::lock;
use super::io::{KERNELS_OWN, Opened};
use super::look::Sight;
use super::resolve::Making;
use super::{Caller, Entry, FsError, Utf8Fs};
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

/// Who was told that a name is taken, or that a file is gone. The kernel looks the name up anew then, and asks once more
/// (`do_filp_open` in `fs/namei.c`); if that fails too, the program does.
#[derive(Debug, Default)]
pub(super) struct SentBack {
    callers: Mutex<VecDeque<(Caller, Instant)>>,
    is_any: AtomicBool,
}

impl SentBack {
    pub(super) fn note(&self, caller: Caller) {
        let mut callers = lock(&self.callers);
        callers.truncate(MOST_SENT - 1);
        callers.push_front((caller, Instant::now()));
        self.is_any.store(true, Ordering::Release);
    }

    /// Was `caller` sent back?
    pub(super) fn has(&self, caller: Caller) -> bool {
        self.is_any.load(Ordering::Acquire)
            && lock(&self.callers)
                .iter()
                .any(|(sent, when)| *sent == caller && when.elapsed() < AT_ONCE)
    }

    /// What `caller` asked for is done.
    pub(super) fn end(&self, caller: Caller) {
        if self.is_any.load(Ordering::Acquire) {
            let mut callers = lock(&self.callers);
            callers.retain(|(sent, when)| *sent != caller && when.elapsed() < AT_ONCE);
            self.is_any.store(!callers.is_empty(), Ordering::Release);
        }
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
        let is_back = !is_exclusive && self.sent_back.has(caller);
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
                self.sent_back.note(caller);
                return Err(FsError::Stale);
            }
            made => made?,
        };
        let here = (&*directory, &*fd);
        let entry = self.enter(
            Sight::Whole(looked),
            here,
            place.backing,
            place.visible,
            place.alias,
        )?;
        let inode = Arc::clone(&entry.inode);
        let nature = Nature::made(entry.stat.mode, entry.stat.uid, entry.stat.gid);
        let opened = Arc::new(opened);
        let file = Arc::clone(&opened);
        let opened = self.opened(caller, (opened, taken), file, inode, &nature, flags)?;
        self.sent_back.end(caller);
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
