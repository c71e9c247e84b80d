//! The thread that reads what others change, and the workers that notify the kernel of it.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::queues::{ELSEWHERE, Job, Notice, Notices, Task, Tended};
use super::{HEARD, Kernel, UNRELIABLE, Watch};
use crate::backing::watch::{Change, Happened, Woken};
use crate::backing::{Dir, FileHandle, Stat};
use crate::fs::Utf8Fs;
use crate::fs::inode::{Inode, ROOT, lock};
use crate::names::{BackingName, Quoted, VisibleName};

/// Readings of events before the kernel is notified, at most: some ten thousand changes.
const READINGS: usize = 32;

/// So long changes are collected: one reading for each would cost more than what it is about.
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

impl Utf8Fs {
    /// Follows changes until `end` can be read or its other side is closed. Blocks, but never in a notification: these are
    /// sent by workers, on threads that this one starts and does not wait for.
    pub fn follow(self: &Arc<Self>, kernel: &Arc<dyn Kernel>, end: impl AsFd) {
        let Some(watch) = &self.watch else {
            return;
        };
        if let Err(error) = self.follow_on(watch, kernel, &end) {
            self.follow_no_more();
            log::error!(
                "changes made below the mount are not heard of any more, so that nothing is kept for longer than a second: {error}"
            );
            watch.queues.sweep();
            while matches!(watch.watcher.pause(&end, PAUSE), Ok(false)) {
                self.tend(watch, kernel);
            }
        }
        self.follow_no_more();
        watch.queues.end();
    }

    fn follow_on(
        self: &Arc<Self>,
        watch: &Watch,
        kernel: &Arc<dyn Kernel>,
        end: impl AsFd,
    ) -> io::Result<()> {
        let mut trouble = Trouble::default();
        loop {
            let tended = self.tend(watch, kernel);
            if let Some(number) = tended.stalled {
                if trouble.stall.is_none() {
                    self.report_stall(watch, number);
                }
                self.distrust(watch, &trouble);
                trouble.stall = Some(Instant::now());
            }
            let quiet_in = trouble.age().map(|age| QUIET.saturating_sub(age));
            let patience = quiet_in.into_iter().chain(tended.next).min();
            let woken = match trouble.is_deaf() {
                // Nothing is lost by what is not heard now: the kernel keeps nothing for longer than this lasts.
                true if watch.watcher.pause(&end, PAUSE)? => Woken::Ended,
                true => Woken::Late,
                false => watch.watcher.wait(&end, patience)?,
            };
            let has_ended = match woken {
                Woken::Ended => true,
                Woken::Called => watch.watcher.pause(&end, COLLECTED)?,
                Woken::Late => false,
            };
            if has_ended {
                return Ok(());
            }
            let changed = take(watch)?;
            if changed.is_overflow || tended.is_full {
                if watch.overflows.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::warn!(
                        "more changes below the mount than can be followed: all that was kept is expired, and while that lasts nothing is kept for longer than a second"
                    );
                }
                self.distrust(watch, &trouble);
                trouble.overflow = Some(Instant::now());
            }
            if trouble.is_deaf() {
                continue;
            }
            for &number in changed.notices.keys() {
                self.outdate(number);
            }
            if !changed.notices.is_empty() {
                watch.queues.add(changed.notices);
            }
            if trouble.age().is_some_and(|age| age >= QUIET) {
                // Once more, for what was being looked up anew while it was expired.
                watch.queues.sweep();
                watch.is_stalled.store(false, Ordering::Relaxed);
                watch.state.store(HEARD, Ordering::SeqCst);
                trouble = Trouble::default();
            }
        }
    }

    /// Tends the queues, and starts the workers that they need.
    fn tend(self: &Arc<Self>, watch: &Watch, kernel: &Arc<dyn Kernel>) -> Tended {
        let tended = watch.queues.tend();
        for _worker in 0..tended.lacks_workers {
            let (fs, kernel) = (Arc::clone(self), Arc::clone(kernel));
            let started = thread::Builder::new()
                .name("notify".to_owned())
                .stack_size(WORKER_STACK)
                .spawn(move || fs.work(&*kernel));
            if let Err(error) = started {
                log::debug!("no worker for notifications: {error}");
                watch.queues.lack_worker();
            }
        }
        tended
    }

    /// Has the kernel keep nothing for long from now on, nor what it was given before the trouble began.
    fn distrust(&self, watch: &Watch, trouble: &Trouble) {
        watch.state.store(UNRELIABLE, Ordering::SeqCst);
        if trouble.age().is_none() {
            watch.queues.sweep();
        }
    }

    fn report_stall(&self, watch: &Watch, number: u64) {
        watch.is_stalled.store(true, Ordering::Relaxed);
        if watch.stalls.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        let path = self
            .inodes
            .get(number)
            .map(|inode| self.inodes.path(&inode));
        let path = path.unwrap_or_default();
        log::info!(
            "the kernel has held a notification about {} back for over a second, as somebody works there: until it is sent, nothing is kept for longer than a second",
            Quoted(&path)
        );
    }

    /// Sends notifications until there are no more to be sent.
    fn work(&self, kernel: &dyn Kernel) {
        let Some(watch) = &self.watch else {
            return;
        };
        while let Some((task, job)) = watch.queues.take() {
            match task {
                Task::Sweep => self.expire_everything(watch, &job),
                Task::Notify(number, notice) => self.notify(watch, kernel, number, notice, &job),
            }
        }
    }

    /// Notifies the kernel of changes of an inode.
    ///
    /// A name that is invalidated is gone with all that is mounted there, and for whoever works there, while one that is expired
    /// stays where it is found to be right. So names are invalidated that can hold nobody, and the rest is expired: known
    /// directories that left their places, what is in its place again by now, and directories.
    fn notify(
        &self,
        watch: &Watch,
        kernel: &dyn Kernel,
        number: u64,
        notice: Notice,
        job: &Job<'_>,
    ) {
        for (name, lost_by) in notice.names {
            watch.absent.remove(number, &name);
            let is_left = lost_by.iter().any(|handle| {
                self.known_by(handle)
                    .is_some_and(|(inode, stat)| stat.is_dir() && inode.is_at(number, &name))
            });
            job.step();
            // Looked at last of all: the kernel may have looked it up since the change.
            if is_left || self.is_to_stay(number, &name) {
                kernel.expire_name(number, &name);
            } else {
                kernel.invalidate_name(number, &name);
            }
            if let Some(visible) = self.mapped_name(&name) {
                kernel.expire_name(number, visible.as_bytes());
            }
        }
        for name in notice.expired {
            watch.absent.remove(number, &name);
            job.step();
            kernel.expire_name(number, &name);
        }
        for (handle, is_gone) in notice.files {
            if let Some((inode, _)) = self.known_by(&handle) {
                if is_gone && !inode.is_marked() {
                    // What happens to it elsewhere may go unheard.
                    inode.set_adrift(true);
                }
                watch.queues.add_once(inode.number, Notice::of_itself());
            }
        }
        if notice.itself {
            job.step();
            kernel.invalidate_inode(number);
        }
    }

    /// Has the visible names of a directory read anew, which others changed; does nothing for anything else.
    fn outdate(&self, number: u64) {
        if let Ok(inode) = self.inodes.get(number)
            && let Ok(directory) = inode.as_directory()
        {
            directory.is_outdated.store(true, Ordering::Release);
        }
    }

    /// The name that a backing name is visible as, where it is another one. The kernel may have a negative dentry of that.
    fn mapped_name(&self, name: &[u8]) -> Option<VisibleName> {
        if self.map.policy.conforms(name) {
            return None;
        }
        self.map.visible_alone(&BackingName::parse(name).ok()?)
    }

    /// The inode of what changed, or lost or got its name.
    fn known_by(&self, handle: &FileHandle) -> Option<(Arc<Inode>, Stat)> {
        let fd = self.inodes.open_handle(handle).ok()?;
        let stat = Stat::of(fd).ok()?;
        let inode = self.inodes.known(&stat)?;
        Some((inode, stat))
    }

    /// Does the name lead to what was last seen under it, or to a directory? Somebody may work in that already, seen anew by a
    /// lookup that came before the event; invalidated, it would be removed for them.
    fn is_to_stay(&self, directory: u64, name: &[u8]) -> bool {
        let now = self.inodes.get(directory).ok().and_then(|inode| {
            let fd = self.inodes.fd(&inode).ok()?;
            let backing = BackingName::parse(name).ok()?;
            Dir::new(&*fd).stat_child(&backing).ok()
        });
        now.is_some_and(|stat| {
            let is_known = |inode: Arc<Inode>| inode.is_at(directory, name);
            stat.is_dir() || self.inodes.known(&stat).is_some_and(is_known)
        })
    }

    /// Has the kernel keep nothing that it was given for long.
    fn expire_everything(&self, watch: &Watch, job: &Job<'_>) {
        self.outdate(ROOT);
        watch.queues.add_slowly(ROOT, Notice::of_itself());
        for (directory, name) in watch.absent.all() {
            let notice = Notice::of_expired(&name);
            watch.queues.add_slowly(directory, notice);
        }
        for number in self.inodes.numbers() {
            if job.is_over() {
                return;
            }
            self.outdate(number);
            let Ok(inode) = self.inodes.get(number) else {
                continue;
            };
            if let Some(place) = inode.place() {
                let notice = Notice::of_expired(place.shown());
                watch.queues.add_slowly(place.parent, notice);
            }
            watch.queues.add_slowly(number, Notice::of_itself());
        }
    }
}

/// Reads what happened.
fn take(watch: &Watch) -> io::Result<Changed> {
    let own = std::process::id();
    let mut changed = Changed::default();
    for _ in 0..READINGS {
        let Some(happened) = watch.watcher.take(own)? else {
            break;
        };
        let marked = lock(&watch.marked);
        for happened in happened {
            match happened {
                Happened::Change(change) => {
                    let directory = change
                        .directory
                        .as_ref()
                        .and_then(|handle| marked.get(handle).copied());
                    changed.add(change, directory);
                }
                Happened::Overflow => changed.is_overflow = true,
            }
        }
    }
    Ok(changed)
}

impl Changed {
    fn add(&mut self, change: Change, directory: Option<u64>) {
        let notice = self
            .notices
            .entry(directory.unwrap_or(ELSEWHERE))
            .or_default();
        let is_itself = change.name == b".";
        if directory.is_some() {
            notice.itself |= change.is_of_name || is_itself;
            if change.is_of_name {
                let lost = change.inode.clone().filter(|_| change.is_gone);
                let name = change.name.into_boxed_slice();
                notice.names.entry(name).or_default().extend(lost);
            }
        }
        // What happens to a directory itself is reported in its own name, by the mark of the one above it too.
        let itself = change
            .directory
            .filter(|_| directory.is_none() && is_itself);
        if let Some(handle) = change.inode.or(itself) {
            *notice.files.entry(handle).or_default() |= change.is_gone;
        }
    }
}
