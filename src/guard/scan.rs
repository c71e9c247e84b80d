//! Finding what was not heard of: at the start, after an overflow, and in directories that are moved in.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::guarded::Guarded;
use super::judge::{Judge, Newcomers};
use super::maker::Maker;
use super::scan_requests::ALL;
use crate::backing::{Dir, FileHandle};
use crate::fs::audit::Operation;
use crate::names::{BackingName, Quoted};
use crate::tree::plan::EntryList;
use crate::tree::tree_walk::{self, Listed, Mounts, Visitor, walk};

/// Longest rest that a scan needs.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Rest that each needs.
const SHORTEST_REST: Duration = Duration::from_millis(50);

/// Rest that may be made up for later, so that a second scan need not wait for what the first missed.
const CREDIT: Duration = Duration::from_secs(10);

/// Carries out scans until the end. Each needs a rest: whoever causes scans costs a fifth of a processor at most, if a
/// scan takes no more than some seconds.
pub(super) fn scan_all(guarded: &Guarded) {
    let (mut rest, mut ended) = (Duration::ZERO, Instant::now());
    loop {
        let earliest = ended + rest.saturating_sub(CREDIT).max(SHORTEST_REST);
        let asked = guarded.requests.take(earliest, &|| guarded.is_over());
        let Some(asked) = asked else {
            return;
        };
        let start = Instant::now();
        if let Some(since) = asked.all {
            let root = guarded.directories.root.try_clone();
            scan(guarded, root.into_iter().collect(), since);
        } else if !asked.directories.is_empty() {
            let handles = asked.directories.iter();
            let opened = handles.filter_map(|handle| guarded.open(handle, ALL));
            let opened = opened.map(|(_, dir)| dir.into_fd()).collect();
            scan(guarded, opened, ALL);
        }
        for (handle, newcomers) in &asked.newcomers {
            if !guarded.is_over()
                && let Some((_, dir)) = guarded.open(handle, ALL)
                && let Ok(names) = EntryList::read(&dir)
            {
                guarded.compare(newcomers, &names, &dir);
            }
        }
        rest = rest.saturating_sub(start - ended) + start.elapsed() * 4;
        (rest, ended) = (rest.min(CREDIT + LONGEST_REST), Instant::now());
    }
}

/// Scans the directories below `roots` for names that were made at that second or later.
pub(super) fn scan(guarded: &Guarded, roots: Vec<OwnedFd>, since: i64) {
    let finder = Finder {
        guarded,
        judge: guarded.judge(),
        moves: guarded.moves.load(Ordering::Relaxed),
        since,
    };
    if let Err(error) = walk(&roots, Mounts::Stay, 1, &finder) {
        log::error!("the directory cannot be scanned: {error}");
    }
    guarded.status.lock().scans += 1;
}

struct Finder<'g> {
    guarded: &'g Guarded,
    judge: Arc<Judge>,
    /// The directories that had been moved when it began.
    moves: u64,
    since: i64,
}

impl Visitor for Finder<'_> {
    type State = ();

    fn visit(&self, (): &mut (), listed: &Listed<'_>) {
        let names = listed.entries.iter().map(|entry| entry.name);
        let names: Vec<&[u8]> = names.filter(|name| !self.judge.is_clean(name)).collect();
        if names.is_empty() {
            return;
        }
        let handle = FileHandle::of(listed.fd).ok().flatten();
        let Some(directory) = handle.and_then(|handle| self.guarded.directories.find(&handle))
        else {
            return;
        };
        let alike = self.judge.unique();
        let key = |name: &[u8]| alike.map(|alike| alike.key(name));
        let mut shared: HashMap<_, usize> = HashMap::new();
        for name in &names {
            *shared.entry(key(name)).or_default() += 1;
        }
        let mut newcomers = Newcomers::new();
        for name in names.into_iter().take_while(|_| !self.is_over()) {
            if self.judge.conforms(name) && shared.get(&key(name)) == Some(&1) {
                continue;
            }
            let Ok(name) = BackingName::parse(name) else {
                continue;
            };
            // Making, linking and renaming all set the ctime.
            let stat = Dir::new(listed.fd).stat_child(&name).ok();
            let Some(stat) = stat.filter(|stat| stat.ctime.secs >= self.since) else {
                continue;
            };
            let maker = Arc::new(Maker::owner(&stat));
            match self
                .judge
                .judge(&directory, &name, &maker, Operation::Found)
            {
                Some(offender) if offender.alike().is_some() => {
                    newcomers.insert(name, offender);
                }
                Some(offender) => self.guarded.meet(offender),
                None => {}
            }
        }
        self.guarded
            .compare(&newcomers, listed.entries, &Dir::new(listed.fd));
    }

    fn failed(&self, (): &mut (), place: &tree_walk::Place, error: io::Error) {
        match error.raw_os_error() {
            // It was removed meanwhile, or moved.
            Some(libc::ENOENT | libc::ESTALE | libc::ENOTDIR) => {
                if self.guarded.moves.load(Ordering::Relaxed) != self.moves {
                    self.guarded.requests.ask_for_all(self.since);
                }
            }
            _ => log::warn!("{} cannot be scanned: {error}", Quoted(&place.path())),
        }
    }

    fn is_over(&self) -> bool {
        self.guarded.is_over()
    }
}
