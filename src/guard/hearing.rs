//! Hearing of new names.
//!
//! Most names conform, and of those no more is read than the name: their directories are not looked up.

use std::collections::HashMap;
use std::io::{self, PipeReader};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;

use super::directories::Directory;
use super::guarded::Guarded;
use super::judge::{Judge, Offender};
use super::maker::Maker;
use super::scan_requests::ALL;
use crate::backing::fanotify;
use crate::backing::ticks::age;
use crate::backing::{Dir, FileHandle, Kind, Stat};
use crate::fs::audit::Operation;
use crate::guard::name_events::{NameEvents, NewName};
use crate::names::BackingName;

/// Time between two readings, in which events gather: to be woken for each costs more than the event.
const REST: Duration = Duration::from_millis(3);

/// Longest wait for events. If some are lost later, only names that are newer than the last look are searched for.
const IDLE: Duration = Duration::from_millis(500);

/// Longest time of one reading, by which the end waits at the most.
const LONGEST: Duration = Duration::from_millis(300);

/// After so many events at a time there are more.
const MANY: u64 = 512;

/// Most directories that are open at a time.
const MOST_OPEN: usize = 64;

/// Hears of new names until `end` can be read or its other side is closed.
///
/// # Errors
/// Those of reading the events.
pub(super) fn hear(guarded: &Guarded, mut events: NameEvents, end: &PipeReader) -> io::Result<()> {
    // All names that were made before have been heard of.
    let mut complete = Timestamp::now();
    let mut is_over = false;
    while !is_over {
        // What was made before the end is heard of.
        is_over = events.wait(end, IDLE)?;
        if !guarded.requests.are_recent() {
            guarded.met.lock().clear();
        }
        let woken = Instant::now();
        loop {
            let start = Timestamp::now();
            let mut batch = Hearing {
                guarded,
                judge: guarded.judge(),
                complete,
                own: std::process::id(),
                makers: HashMap::new(),
                opened: HashMap::new(),
            };
            let taken = events.take(|new| batch.take(new))?;
            if taken.is_overflow {
                guarded.status.lock().overflows += 1;
                log::warn!(
                    "more names were made than the kernel could report: the directory is scanned"
                );
                guarded.requests.ask_for_all(batch.since());
            }
            guarded.status.lock().events += taken.count;
            if taken.count < MANY {
                complete = start;
            }
            if taken.count < MANY || woken.elapsed() > LONGEST {
                break;
            }
        }
        if !is_over {
            fanotify::pause(end, REST)?;
        }
    }
    Ok(())
}

/// The events that were read at once.
struct Hearing<'g> {
    guarded: &'g Guarded,
    judge: Arc<Judge>,
    /// All names that were made before have been heard of.
    complete: Timestamp,
    own: u32,
    /// The processes of these events, as far as they were looked at.
    makers: HashMap<u32, Option<Arc<Maker>>>,
    /// The directories of these events, as far as they were looked up; `None` for one that lies elsewhere.
    opened: HashMap<FileHandle, Option<(Arc<Directory>, Dir)>>,
}

impl Hearing<'_> {
    fn take(&mut self, new: &NewName<'_>) {
        // Our own renames.
        if new.pid == self.own {
            if new.is_dir {
                self.guarded.directories.forget();
            }
            return;
        }
        if new.is_dir && new.from.is_some() {
            self.directory_moved(new);
        }
        if !self.judge.is_clean(new.name)
            && let Some(offender) = self.offender(new)
        {
            self.guarded.meet(offender);
        }
    }

    /// Returns the second from which on names may not have been heard of.
    fn since(&self) -> i64 {
        // The clock of the filesystem is a little behind.
        self.complete.as_second() - 1
    }

    /// Another place of a directory: what is in it may be new here.
    #[cold]
    fn directory_moved(&mut self, new: &NewName<'_>) {
        let directories = &self.guarded.directories;
        directories.forget();
        self.guarded.moves.fetch_add(1, Ordering::Relaxed);
        self.opened.clear();
        let Some((_, dir)) = self.guarded.open(&new.directory, ALL) else {
            return;
        };
        let from = new.from.as_ref();
        if from.is_some_and(|from| directories.find(from).is_some()) {
            return;
        }
        let name = BackingName::parse(new.name).ok();
        let moved = name.and_then(|name| FileHandle::of_child(&dir, &name).ok().flatten());
        match moved {
            Some(moved) => self.guarded.requests.ask_for(moved),
            // It was moved on, or is gone.
            None => self.guarded.requests.ask_for_all(ALL),
        }
    }

    /// Judges a name that may offend; `None` if it lies elsewhere, conforms or is exempt, or if both its entry and its maker are gone.
    #[cold]
    fn offender(&mut self, new: &NewName<'_>) -> Option<Offender> {
        let name = BackingName::parse(new.name).ok()?;
        let (guarded, since) = (self.guarded, self.since());
        let handle = &new.directory;
        if self.opened.len() >= MOST_OPEN && !self.opened.contains_key(handle) {
            self.opened.clear();
        }
        let opened = self.opened.entry(handle.clone());
        let opened = opened.or_insert_with_key(|handle| guarded.open(handle, since));
        let (directory, dir) = opened.as_ref()?;
        // It may be gone already.
        let stat = dir.stat_child(&name).ok();
        let process = self.makers.entry(new.pid);
        let process = process.or_insert_with_key(|pid| Maker::of_process(*pid).map(Arc::new));
        let owner = || stat.as_ref().map(|stat| Arc::new(Maker::owner(stat)));
        let maker = process.clone().or_else(owner)?;
        let operation = operation(new, stat.as_ref());
        let offender = self.judge.judge(directory, &name, &maker, operation)?;
        if let Some(stat) = stat {
            let lag = age(stat.ctime, SystemTime::now()).as_millis();
            guarded.status.lock().lag_milliseconds = u64::try_from(lag).unwrap_or(u64::MAX);
        }
        Some(offender)
    }
}

/// Returns the operation that made a name.
fn operation(new: &NewName<'_>, stat: Option<&Stat>) -> Operation {
    if new.from.is_some() {
        return Operation::Rename;
    }
    match stat.map(Stat::kind) {
        _ if new.is_dir => Operation::Mkdir,
        Some(Kind::Symlink) => Operation::Symlink,
        Some(Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice) => Operation::Mknod,
        Some(Kind::File) if stat.is_some_and(|stat| stat.nlink > 1) => Operation::Link,
        Some(Kind::File | Kind::Dir | Kind::Unknown) | None => Operation::Create,
    }
}
