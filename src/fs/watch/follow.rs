//! The thread that hears what others change, and tells the kernel.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::known::Name;
use super::{HEARD, Kernel, TOO_MANY, Watch};
use crate::backing::watch::{Change, Happened, Woken};
use crate::backing::{Dir, FileHandle, Stat};
use crate::fs::Utf8Fs;
use crate::fs::inode::{Inode, ROOT, lock};
use crate::names::BackingName;

/// So much is read before the kernel is told, at most: some ten thousand changes.
const READINGS: usize = 32;

/// So long changes are collected: one reading for each would cost more than what it is about.
const COLLECTED: Duration = Duration::from_millis(5);

/// How long after too many changes the next ones are not even looked at. What the kernel was given meanwhile is old then.
const DEAF: Duration = Duration::from_secs(1);

/// How long after too many changes they are followed as before.
const QUIET: Duration = Duration::from_secs(2);

/// How often it is looked whether there are still too many.
const PAUSE: Duration = Duration::from_millis(100);

/// What the kernel was told of.
#[derive(Debug, Default)]
struct Told {
    /// Names that it is to doubt.
    names: HashSet<Name>,
    /// Files and directories whose attributes it is to forget.
    files: HashSet<FileHandle>,
    directories: HashSet<u64>,
}

impl Told {
    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.files.is_empty() && self.directories.is_empty()
    }

    fn add(&mut self, others: Self) {
        self.names.extend(others.names);
        self.files.extend(others.files);
        self.directories.extend(others.directories);
    }
}

/// What the kernel is to be told once more, when nobody is being answered any more who asked before.
#[derive(Debug, Default)]
struct Doubted {
    /// What it was told last, since when, and what it was told before.
    recent: (Told, Option<Instant>),
    before: Told,
}

/// How long after it was told first the kernel is told once more, at least; at most twice as long.
const AGAIN: Duration = Duration::from_secs(1);

impl Doubted {
    fn add(&mut self, told: Told) {
        if !told.is_empty() {
            self.recent.0.add(told);
            self.recent.1.get_or_insert_with(Instant::now);
        }
    }

    /// When there is something to do next.
    fn next(&self) -> Option<Duration> {
        let since = self.recent.1?;
        Some(AGAIN.saturating_sub(since.elapsed()))
    }

    /// Takes what is to be told now.
    fn take(&mut self) -> Told {
        if self.next() != Some(Duration::ZERO) {
            return Told::default();
        }
        let (recent, _) = std::mem::take(&mut self.recent);
        if !recent.is_empty() {
            self.recent.1 = Some(Instant::now());
        }
        std::mem::replace(&mut self.before, recent)
    }
}

impl Watch {
    fn doubt(&self, kernel: &dyn Kernel, name: &Name) {
        self.gate
            .enter(name.0, || kernel.doubt_name(name.0, &name.1));
    }
}

/// What changed, each thing once.
#[derive(Debug, Default)]
struct Changed {
    names: HashSet<Name>,
    /// What lost a name, and the name.
    gone: HashSet<(Name, FileHandle)>,
    /// What changed; did it lose a name?
    files: HashMap<FileHandle, bool>,
    directories: HashSet<u64>,
    /// There was more.
    is_too_much: bool,
}

impl Utf8Fs {
    /// Follows changes until `end` can be read or its other side is closed. Blocks; to be run on a thread of its own, and not
    /// where a request is served, since the kernel may wait for that.
    pub fn follow(&self, kernel: &dyn Kernel, end: impl AsFd) {
        let Some(watch) = &self.watch else {
            return;
        };
        let ended = self.follow_on(watch, kernel, end.as_fd());
        self.follow_no_more();
        if let Err(error) = ended {
            log::error!(
                "changes made below the mount are not heard of any more, so that nothing is kept for longer than a second: {error}"
            );
            self.forget_everything(watch, kernel, end);
        }
    }

    fn follow_on(&self, watch: &Watch, kernel: &dyn Kernel, end: impl AsFd) -> io::Result<()> {
        let mut overflow: Option<Instant> = None;
        let mut doubted = Doubted::default();
        loop {
            self.tell_again(watch, kernel, doubted.take());
            let patience = match overflow {
                Some(since) if since.elapsed() < DEAF => {
                    // Nothing is lost by what is not heard now: the kernel keeps nothing for longer than this lasts.
                    if watch.watcher.pause(&end, PAUSE)? {
                        return Ok(());
                    }
                    Some(Duration::ZERO)
                }
                Some(since) => Some(QUIET.saturating_sub(since.elapsed())),
                None => doubted.next(),
            };
            if watch.watcher.wait(&end, patience)? == Woken::Ended
                || watch.watcher.pause(&end, COLLECTED)?
            {
                return Ok(());
            }
            let changed = take(watch)?;
            if changed.is_too_much {
                watch.state.store(TOO_MANY, Ordering::SeqCst);
                if watch.overflows.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::warn!(
                        "more changes below the mount than can be followed: all that was kept is forgotten, and while that lasts nothing is kept for longer than a second"
                    );
                }
                if overflow.is_none() {
                    self.forget_everything(watch, kernel, &end);
                }
                overflow = Some(Instant::now());
                continue;
            }
            match overflow {
                Some(since) if since.elapsed() < DEAF => continue,
                Some(since) if since.elapsed() >= QUIET => {
                    drop(self.forget_changed(watch, kernel, changed));
                    // Once more, for what was being looked up anew while it was put in doubt.
                    self.forget_everything(watch, kernel, &end);
                    watch.state.store(HEARD, Ordering::SeqCst);
                    overflow = None;
                }
                _ => doubted.add(self.forget_changed(watch, kernel, changed)),
            }
        }
    }

    /// Tells the kernel once more of what it may have learned from an answer that is older than the change.
    fn tell_again(&self, watch: &Watch, kernel: &dyn Kernel, told: Told) {
        for name in told.names {
            watch.doubt(kernel, &name);
        }
        let files = told.files.iter().filter_map(|file| self.known_by(file));
        let numbers = files.map(|(inode, _)| inode.number);
        for number in numbers.chain(told.directories) {
            kernel.forget_inode(number);
        }
    }

    /// Tells the kernel of changes, and gives what it is to be told of once more.
    ///
    /// What it forgets is gone with all that is mounted there, and for who works there, while what it only doubts stays where it
    /// is found to be right. So it forgets what can hold nobody, and doubts the rest: known directories that left their places,
    /// what is in its place again by now, and directories. If it was just looking such a name up, it may believe what it was told before the change.
    fn forget_changed(&self, watch: &Watch, kernel: &dyn Kernel, mut changed: Changed) -> Told {
        for &number in &changed.directories {
            self.outdate(number);
        }
        let mut told = Told {
            directories: changed.directories.clone(),
            ..Told::default()
        };
        let mut left = HashSet::new();
        for (name, handle) in changed.gone {
            if let Some((inode, stat)) = self.known_by(&handle)
                && stat.is_dir()
                && inode.is_at(name.0, &name.1)
            {
                left.insert(name);
            }
        }
        changed.names.extend(watch.known.take_late());
        let (free, others) = changed
            .names
            .into_iter()
            .partition::<Vec<Name>, _>(|name| watch.gate.is_free(name.0));
        for name in free.into_iter().chain(others) {
            watch.known.remove_absent(&name);
            if left.contains(&name) || !self.tell_of(watch, kernel, &name) {
                watch.doubt(kernel, &name);
                told.names.insert(name);
            }
        }
        for (handle, is_gone) in changed.files {
            if let Some((inode, _)) = self.known_by(&handle) {
                if is_gone && !inode.is_marked() {
                    // What happens to it elsewhere may go unheard.
                    inode.set_adrift(true);
                }
                changed.directories.insert(inode.number);
            }
            told.files.insert(handle);
        }
        for number in changed.directories {
            kernel.forget_inode(number);
        }
        told
    }

    /// Has the visible names of a directory read anew, which others changed; of anything else nothing.
    fn outdate(&self, number: u64) {
        if let Ok(inode) = self.inodes.get(number)
            && let Ok(directory) = inode.as_directory()
        {
            directory.is_outdated.store(true, Ordering::Release);
        }
    }

    /// The inode of what changed, or lost or got its name.
    fn known_by(&self, handle: &FileHandle) -> Option<(Arc<Inode>, Stat)> {
        let fd = self.inodes.open_handle(handle).ok()?;
        let stat = Stat::of(fd).ok()?;
        let inode = self.inodes.known(&stat)?;
        Some((inode, stat))
    }

    /// Has the kernel forget a name; `false` where it is only to doubt it.
    fn tell_of(&self, watch: &Watch, kernel: &dyn Kernel, name: &Name) -> bool {
        let mut is_told = false;
        // Looked at last of all: the kernel may have been told of it since the change.
        watch.gate.enter(name.0, || {
            if !self.is_to_stay(name) {
                kernel.forget_name(name.0, &name.1);
                is_told = true;
            }
        });
        is_told
    }

    /// Does the name lead to what was last seen under it, or to a directory? Somebody may work in that already, seen anew by a
    /// lookup that came before the news of it; forgotten, it would be removed for him.
    fn is_to_stay(&self, name: &Name) -> bool {
        let now = self.inodes.get(name.0).ok().and_then(|directory| {
            let fd = self.inodes.fd(&directory).ok()?;
            let backing = BackingName::parse(&name.1).ok()?;
            Dir::new(&*fd).stat_child(&backing).ok()
        });
        now.is_some_and(|stat| {
            let is_known = |inode: Arc<Inode>| inode.is_at(name.0, &name.1);
            stat.is_dir() || self.inodes.known(&stat).is_some_and(is_known)
        })
    }

    /// Has the kernel keep nothing that it was given without a time.
    fn forget_everything(&self, watch: &Watch, kernel: &dyn Kernel, end: impl AsFd) {
        self.outdate(ROOT);
        kernel.forget_inode(ROOT);
        let mut names = watch.known.take_all();
        for number in self.inodes.numbers() {
            self.outdate(number);
            let Ok(inode) = self.inodes.get(number) else {
                continue;
            };
            if let Some(place) = inode.place() {
                let name = (place.parent, place.shown().into());
                names.remove(&name);
                watch.doubt(kernel, &name);
            }
            kernel.forget_inode(number);
            if matches!(watch.watcher.pause(&end, Duration::ZERO), Ok(true)) {
                return;
            }
        }
        for name in names {
            if !self.tell_of(watch, kernel, &name) {
                watch.doubt(kernel, &name);
            }
        }
    }
}

/// Reads what happened.
fn take(watch: &Watch) -> io::Result<Changed> {
    let own = std::process::id();
    let mut changed = Changed::default();
    for _ in 0..READINGS {
        let happened = watch.watcher.take()?;
        if happened.is_empty() {
            break;
        }
        let marked = lock(&watch.marked);
        for happened in happened {
            match happened {
                Happened::Change(change) if change.pid == own => {}
                Happened::Change(change) => {
                    let directory = change
                        .directory
                        .as_ref()
                        .and_then(|handle| marked.get(handle).copied());
                    changed.add(change, directory);
                }
                Happened::Overflow => changed.is_too_much = true,
            }
        }
    }
    Ok(changed)
}

impl Changed {
    fn add(&mut self, change: Change, directory: Option<u64>) {
        if let Some(directory) = directory {
            if change.is_of_name || change.name == b"." {
                self.directories.insert(directory);
            }
            if change.is_of_name {
                let name = (directory, change.name.clone().into());
                if let Some(handle) = change.inode.clone().filter(|_| change.is_gone) {
                    self.gone.insert((Name::clone(&name), handle));
                }
                self.names.insert(name);
            }
        }
        // What happens to a directory itself is reported in its own name, by the mark of the one above it too.
        let itself = change
            .directory
            .filter(|_| directory.is_none() && change.name == b".");
        if let Some(handle) = change.inode.or(itself) {
            *self.files.entry(handle).or_default() |= change.is_gone;
        }
    }
}
