//! The thread that reads what others change, and the workers that notify the kernel of it.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::queues::{ELSEWHERE, Job, Notice, Notices, Swept, Task, Tended};
use super::{HEARD, Kernel, UNRELIABLE, Watched};
use crate::backing::fanotify::pause;
use crate::backing::watch::{Change, Woken};
use crate::coherence::{ADRIFT, IDLE, MARKED};
use crate::fs::{Inode, ROOT};
use crate::names::Quoted;

/// Readings of events before the kernel is notified, at most: some ten thousand changes.
const READINGS: usize = 32;

/// Time for which changes are collected: one reading for each would cost more than the change.
const COLLECTED: Duration = Duration::from_millis(5);

/// The time after an overflow in which events are discarded. Whatever the kernel was given meanwhile is old when it ends.
const DEAF: Duration = Duration::from_secs(1);

/// The time without an overflow and without a stalled notification after which the kernel may keep names for long again.
const QUIET: Duration = Duration::from_secs(2);

/// Bytes of a worker's stack: there can be many.
const WORKER_STACK: usize = 256 << 10;

/// The pause between two readings whose events are discarded.
const PAUSE: Duration = Duration::from_millis(100);

/// Events that were read at once.
#[derive(Debug, Default)]
struct Changed {
    notices: Notices,
    /// The kernel had no room for all events.
    is_overflow: bool,
}

/// When events were last lost, and a notification last seen stalled: as long as that is not over, the kernel keeps nothing for
/// long.
#[derive(Debug, Default)]
struct Trouble {
    overflow: Option<Instant>,
    stall: Option<Instant>,
}

impl Trouble {
    /// The time since the last trouble; `None` where there is none.
    fn age(&self) -> Option<Duration> {
        Some(self.overflow.max(self.stall)?.elapsed())
    }

    /// Are events to be discarded?
    fn is_deaf(&self) -> bool {
        self.overflow.is_some_and(|since| since.elapsed() < DEAF)
    }
}

impl Watched {
    /// Follows changes until `end` can be read or its other side is closed. Blocks, but never in a notification: these are
    /// sent by workers, on threads that this one starts and does not wait for.
    pub fn follow(self: &Arc<Self>, kernel: &Arc<dyn Kernel>, end: impl AsFd) {
        if let Err(error) = self.follow_on(kernel, &end) {
            self.follow_no_more();
            log::error!(
                "changes in the backing directory are no longer followed, so nothing is cached for longer than a second: {error}"
            );
            self.queues.sweep();
            while matches!(pause(&end, PAUSE), Ok(false)) {
                self.tend(kernel);
            }
        }
        self.follow_no_more();
        self.queues.end();
    }

    fn follow_on(self: &Arc<Self>, kernel: &Arc<dyn Kernel>, end: impl AsFd) -> io::Result<()> {
        let mut trouble = Trouble::default();
        loop {
            let tended = self.tend(kernel);
            if let Some(number) = tended.stalled {
                if trouble.stall.is_none() {
                    self.report_stall(number);
                }
                self.distrust(&trouble);
                trouble.stall = Some(Instant::now());
            }
            let quiet_in = trouble.age().map(|age| QUIET.saturating_sub(age));
            let patience = quiet_in.into_iter().chain(tended.next).min();
            let woken = match trouble.is_deaf() {
                // Nothing is lost by what is not heard now: the kernel keeps nothing for longer than this lasts.
                true if pause(&end, PAUSE)? => Woken::Ended,
                true => Woken::Late,
                false => self.watcher.wait(&end, patience)?,
            };
            let has_ended = match woken {
                Woken::Ended => true,
                Woken::Called => pause(&end, COLLECTED)?,
                Woken::Late => false,
            };
            if has_ended {
                return Ok(());
            }
            let changed = self.take()?;
            if changed.is_overflow || tended.is_full {
                if self.overflows.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::warn!(
                        "more changes in the backing directory than can be followed: all that was cached expires, and for now nothing is cached for longer than a second"
                    );
                }
                self.distrust(&trouble);
                trouble.overflow = Some(Instant::now());
            }
            if trouble.is_deaf() {
                continue;
            }
            for (&number, notice) in &changed.notices {
                self.fs.outdate(number);
                if !notice.names.is_empty()
                    && let Ok(inode) = self.fs.inodes().get(number)
                {
                    inode.notes.set(IDLE, false);
                }
            }
            if !changed.notices.is_empty() {
                self.queues.add(changed.notices);
            }
            if trouble.age().is_some_and(|age| age >= QUIET) {
                // Once more, for what was being looked up anew while it was expired.
                self.queues.sweep();
                self.is_stalled.store(false, Ordering::Relaxed);
                self.state.store(HEARD, Ordering::SeqCst);
                trouble = Trouble::default();
            }
        }
    }

    /// Tends the queues, and starts the workers that they need.
    fn tend(self: &Arc<Self>, kernel: &Arc<dyn Kernel>) -> Tended {
        let tended = self.queues.tend();
        for _worker in 0..tended.lacks_workers {
            let (watched, kernel) = (Arc::clone(self), Arc::clone(kernel));
            let started = thread::Builder::new()
                .name("notify".to_owned())
                .stack_size(WORKER_STACK)
                .spawn(move || watched.work(&*kernel));
            if let Err(error) = started {
                log::debug!("no worker for notifications: {error}");
                self.queues.lack_worker();
            }
        }
        tended
    }

    /// Has the kernel keep nothing for long from now on, nor what it was given before the trouble began.
    fn distrust(&self, trouble: &Trouble) {
        self.state.store(UNRELIABLE, Ordering::SeqCst);
        if trouble.age().is_none() {
            self.queues.sweep();
        }
    }

    fn report_stall(&self, number: u64) {
        self.is_stalled.store(true, Ordering::Relaxed);
        if self.stalls.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        let inodes = self.fs.inodes();
        let path = inodes.get(number).map(|inode| inodes.path(&inode));
        let path = path.unwrap_or_default();
        log::info!(
            "the kernel has held back a notification about {} for over a second, since a program works there: until it is sent, nothing is cached for longer than a second",
            Quoted(&path)
        );
    }

    /// Sends notifications until there are no more to be sent.
    fn work(&self, kernel: &dyn Kernel) {
        while let Some((job, notice)) = self.queues.take() {
            match &job.1 {
                Task::Sweep => self.expire_everything(kernel, &job),
                Task::Unmark(number, handle) => self.take_mark(*number, handle),
                Task::Notify(number, _) => self.notify(kernel, *number, notice, &job),
            }
        }
    }

    /// Notifies the kernel of changes of an inode.
    ///
    /// An invalidated name is gone with all that is mounted there, and for whoever works there; an expired one stays
    /// where it proves right. So names that can hold nobody are invalidated. The rest is expired: known directories
    /// that left their places, whatever has their place by now, and directories. But a lookup answered before the
    /// change may be noted after it and keep an expired name again (`fuse_dentry_revalidate` in `fs/fuse/dir.c`). So
    /// the second time names that directories left for good are invalidated as well.
    pub(super) fn notify(&self, kernel: &dyn Kernel, number: u64, notice: Notice, job: &Job<'_>) {
        for (handle, is_gone) in notice.files {
            if let Some((inode, _)) = self.fs.known_by(&handle) {
                if is_gone && !inode.notes.has(MARKED) {
                    // What happens to it elsewhere may go unheard.
                    inode.notes.set(ADRIFT, true);
                }
                self.queues.add_once(inode.number, Notice::of_itself());
            }
        }
        if notice.itself && !kernel.invalidate_inode(number) {
            self.await_inode(number);
        }
        // From here on each notification may wait for whoever works in the directory.
        for (name, changed) in notice.names {
            let is_leaving = changed.is_first
                && changed.lost_by.iter().any(|handle| {
                    self.fs
                        .known_by(handle)
                        .is_some_and(|(inode, stat)| stat.is_dir() && inode.is_at(number, &name))
                });
            let is_replaced = !changed.is_first && !changed.lost_by.is_empty();
            let mut lost_by = changed.lost_by.iter();
            if is_replaced && lost_by.any(|lost| self.fs.was_moved_out(lost)) {
                // Names below it that programs use stay in the cache when its own is invalidated.
                self.queues.sweep();
            }
            // Looked at last of all: the kernel may have looked it up since the change.
            let is_to_stay = || is_leaving || self.is_to_stay(number, &name, is_replaced);
            self.dentries
                .expire((number, &name), || match is_to_stay() {
                    true => kernel.expire_name(number, &name),
                    false => kernel.invalidate_name(number, &name),
                });
            if let Some(visible) = self.fs.visible_name(&name)
                && visible.as_bytes() != &*name
            {
                let visible = visible.as_bytes();
                // Another entry may be visible so by now, as where the name was migrated.
                let is_gone = || is_replaced && self.fs.is_absent(number, visible);
                self.dentries.expire((number, visible), || match is_gone() {
                    true => kernel.invalidate_name(number, visible),
                    false => kernel.expire_name(number, visible),
                });
            }
        }
        for name in notice.expired {
            let tell = || kernel.expire_name(number, &name);
            self.dentries.expire((number, &name), tell);
        }
        self.expire_swept(kernel, number, notice.swept, job);
    }

    /// Has an inode that the kernel does not have yet invalidated once it has it, unless it was forgotten meanwhile.
    /// The kernel may note a listed file's attributes arbitrarily late. It gives the list to the caller first, who
    /// can hold that up (`fuse_readdir_uncached` in `fs/fuse/readdir.c`).
    fn await_inode(&self, number: u64) {
        if self.fs.inodes().get(number).is_ok() {
            self.queues.await_inode(number);
        }
    }

    /// Expires names that may have changed, until one is known to have.
    fn expire_swept(&self, kernel: &dyn Kernel, number: u64, mut swept: Swept, job: &Job<'_>) {
        while job.step() {
            if let Some(name) = swept.absent.pop() {
                let tell = || kernel.expire_name(number, &name);
                self.dentries.expire((number, &name), tell);
            } else if let Some(inode) = swept.inodes.pop() {
                if let Ok(inode) = self.fs.inodes().get(inode) {
                    self.expire_inode(kernel, number, &inode);
                }
            } else {
                return;
            }
        }
        self.queues.add_swept([(number, swept)]);
    }

    /// Expires the name of an inode in a directory. What was removed for good is invalidated instead: nobody looks it up again, so
    /// that the kernel would keep an expired dentry, and the inode, until it needs the memory.
    fn expire_inode(&self, kernel: &dyn Kernel, directory: u64, inode: &Inode) {
        let Some(place) = inode.place().filter(|place| place.parent == directory) else {
            return;
        };
        let name = place.visible.as_bytes();
        if self.fs.inodes().is_removed(inode) && self.fs.is_absent(directory, name) {
            kernel.invalidate_name(directory, name);
        } else {
            kernel.expire_name(directory, name);
        }
    }

    /// Does the name lead to what was last seen under it, or to a directory? Somebody may work in that already, seen anew by a
    /// lookup that came before the event; invalidated, it would be removed for them. Where it `is_replaced` that was seen before,
    /// if it was.
    fn is_to_stay(&self, directory: u64, name: &[u8], is_replaced: bool) -> bool {
        let now = self.fs.look_below(directory, name);
        now.is_some_and(|(stat, inode)| {
            stat.is_dir() && !is_replaced || inode.is_some_and(|inode| inode.is_at(directory, name))
        })
    }

    /// Expires all that the kernel was given for long: attributes at once, which waits for nobody, and names by a
    /// worker for each directory.
    fn expire_everything(&self, kernel: &dyn Kernel, job: &Job<'_>) {
        let mut swept: HashMap<u64, Swept> = HashMap::new();
        for (directory, name) in self.dentries.absent_names() {
            swept.entry(directory).or_default().absent.push(name);
        }
        for number in self.fs.inodes().numbers().into_iter().chain([ROOT]) {
            if !job.step() {
                return;
            }
            self.fs.outdate(number);
            if !kernel.expire_attributes(number) {
                self.await_inode(number);
            }
            if let Ok(inode) = self.fs.inodes().get(number)
                && let Some(parent) = inode.parent()
            {
                swept.entry(parent).or_default().inodes.push(number);
            }
        }
        self.queues.add_swept(swept);
    }

    /// Reads what happened.
    fn take(&self) -> io::Result<Changed> {
        let own = std::process::id();
        let mut changed = Changed::default();
        for _ in 0..READINGS {
            let taken = self.watcher.take(own, |change| {
                let directory = change.directory.as_ref();
                let number = directory.and_then(|handle| self.marked.lock().get(handle).copied());
                changed.add(change, number);
            })?;
            changed.is_overflow |= taken.is_overflow;
            if taken.count == 0 {
                break;
            }
        }
        Ok(changed)
    }
}

impl Changed {
    fn add(&mut self, change: Change, directory: Option<u64>) {
        let number = directory.unwrap_or(ELSEWHERE);
        let notice = self.notices.entry(number).or_default();
        let is_itself = change.name == b".";
        if directory.is_some() {
            notice.itself |= change.is_of_name || is_itself;
            if change.is_of_name {
                let lost = change.inode.clone().filter(|_| change.is_gone);
                let name = change.name.into_boxed_slice();
                let changed = notice.names.entry(name).or_default();
                changed.lost_by.extend(lost);
                changed.is_first = true;
            }
        }
        // What happens to a directory itself is reported in its own name, by the mark of the one above it too.
        let is_told_once = directory.is_none() && is_itself;
        let itself = change.directory.filter(|_| is_told_once);
        if let Some(handle) = change.inode.or(itself) {
            *notice.files.entry(handle).or_default() |= change.is_gone;
        }
    }
}
