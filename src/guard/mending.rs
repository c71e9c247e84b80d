//! Putting names right: offenders are renamed once they have been left alone for a while.
//!
//! The new name is the one that `utf8fs migrate` would give. The rename is in an undo journal before it is made, and
//! replaces nothing. It is made by the descriptor of the directory, if its entry is the one that was looked at (laws
//! T2, T4, T5).

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::directories::Away;
use super::guarded::Guarded;
use super::judge::{Judge, Offender};
use super::pending::{Batch, Waiting};
use crate::backing::ticks::age;
use crate::backing::{Dir, FileHandle, Stat, file};
use crate::fs::audit::Verdict;
use crate::names::{BackingName, Quoted};
use crate::records::{Kind, PlanLine, Reason, TreePath};
use crate::tree::apply::{Movement, Observer, apply_live};
use crate::tree::plan::{
    CharsetChoice, DirectoryPlan, EntryList, ListedEntry, PlanOptions, plan_directory,
};
use crate::tree::undo_journal::{Journal, JournalError, SkipReason, Skipped};

/// Most entries of one user that are renamed at a time.
const MOST: usize = 1 << 14;

/// Time between two rounds; less where the grace is less.
const ROUND: Duration = Duration::from_millis(200);
const SHORTEST_ROUND: Duration = Duration::from_millis(20);

/// Seconds after which a waiting entry is reported before it is renamed.
const LONG: i64 = 60;

/// Longest time in which those that wait are reported at the end.
const FAREWELL: Duration = Duration::from_millis(200);

/// Renames offenders until the end, and reports those that wait then. Where the journal cannot be written, they wait on.
pub(super) fn mend_all(guarded: &Guarded, journal: &Journal) {
    let mut has_failed = false;
    while !guarded.is_over() {
        let due = guarded.pending.take_due(MOST);
        let is_full = due.values().map(HashMap::len).sum::<usize>() >= MOST;
        if !due.is_empty() {
            let done = mend(guarded, journal, due);
            match &done {
                Err(error) if !has_failed => log::error!("nothing is renamed: {error}"),
                Ok(()) if has_failed => log::info!("names are put right again"),
                Ok(()) | Err(_) => {}
            }
            has_failed = done.is_err();
        }
        // After a full round more are due.
        if !is_full || has_failed {
            thread::sleep(guarded.pending.grace.clamp(SHORTEST_ROUND, ROUND));
        }
    }
    report_waiting(guarded, Instant::now() + FAREWELL);
}

/// Reports those that wait. From `deadline` on they are only counted; the scan at the next start finds them.
fn report_waiting(guarded: &Guarded, deadline: Instant) {
    let judge = guarded.judge();
    let waiting = guarded.pending.take_all();
    for Waiting { offender, .. } in waiting.filter(|waiting| !waiting.is_reported) {
        if Instant::now() >= deadline {
            let rule = offender.offence.rule;
            guarded.auditor.leave_out(rule, Verdict::Reported);
        } else if let Some(offender) = judge.again(&offender, &offender.directory)
            && offender.alike().is_none()
        {
            guarded.report(&offender, None, None);
        }
    }
}

fn report_left(guarded: &Guarded, waiting: &Waiting, sibling: Option<&BackingName>) {
    if !waiting.is_reported {
        guarded.report(&waiting.offender, None, sibling);
    }
}

/// Entries that are being renamed, by their directories, with the others that wait there.
type Moving = HashMap<TreePath, Batch>;

/// Renames what can be renamed of these. What is neither renamed nor reported waits on.
///
/// # Errors
/// Those of the journal.
fn mend(
    guarded: &Guarded,
    journal: &Journal,
    batches: HashMap<FileHandle, Batch>,
) -> Result<(), JournalError> {
    let judge = guarded.judge();
    let (mut moving, mut plans) = (Moving::new(), Vec::new());
    for (handle, mut batch) in batches {
        if !guarded.is_over()
            && let Some(plan) = plan(guarded, &judge, &handle, &mut batch)
        {
            let moving = moving.entry(plan.directory()).or_default();
            moving.extend(batch.drain());
            plans.push(plan);
        }
        guarded.pending.put_back(batch.into_values());
    }
    // The deepest first: what is renamed keeps no directory below from being found.
    plans.sort_by_key(|plan: &DirectoryPlan| Reverse(plan.directory().len()));
    let results = Results {
        guarded,
        moving: Mutex::new(moving),
    };
    let done = apply_live(&guarded.directories.root, journal, &plans, &results);
    let moving = results.moving.into_inner().into_values();
    guarded
        .pending
        .put_back(moving.flat_map(HashMap::into_values));
    done
}

/// Plans the changes of a directory. Takes out of the batch what is reported, and what conforms by now.
fn plan(
    guarded: &Guarded,
    judge: &Judge,
    handle: &FileHandle,
    batch: &mut Batch,
) -> Option<DirectoryPlan> {
    // It may have been moved since.
    let (directory, dir) = match guarded.directories.open(handle) {
        Ok(opened) => opened,
        Err(Away::Moving) => return None,
        Err(Away::Elsewhere) => {
            let waiting = batch.drain();
            waiting.for_each(|(_, waiting)| report_left(guarded, &waiting, None));
            return None;
        }
    };
    let inode = Stat::of(&dir).ok()?.ino;
    // Those that can be renamed now, by the section that holds.
    let mut ready: BTreeMap<Option<usize>, EntryList> = BTreeMap::new();
    batch.retain(|name, waiting| {
        if guarded.is_over() {
            return true;
        }
        // By the policy that is in force now.
        let Some(offender) = judge.again(&waiting.offender, &directory) else {
            return false;
        };
        if !offender.is_to_be_renamed {
            if !waiting.is_reported {
                guarded.meet(offender);
            }
            return false;
        }
        let section = offender.section;
        waiting.offender = offender;
        let Ok(stat) = dir.stat_child(name) else {
            // It is gone.
            report_left(guarded, waiting, None);
            return false;
        };
        if let Err(rest) = check_quiet(&dir, name, &stat, guarded.pending.grace) {
            waiting.rest = rest;
            let since = Timestamp::now().duration_since(waiting.offender.time);
            if since.as_secs() > LONG {
                report_left(guarded, waiting, None);
                waiting.is_reported = true;
            }
        } else {
            let ready = ready.entry(section).or_default();
            ready.push(name.as_bytes(), stat.kind(), stat.ino);
        }
        true
    });
    let mut changes = Vec::new();
    for (section, entries) in ready {
        let mut names: HashSet<&[u8]> = entries.iter().map(|entry| entry.name).collect();
        let options = judge.plan(section);
        let options = options.for_directory(directory.path.iter().map(BackingName::as_bytes));
        let Ok(planned) = lines(&dir, &options, &entries) else {
            continue;
        };
        if guarded.is_over() {
            return None;
        }
        for mut line in planned {
            names.remove(line.old.as_bytes());
            if line.is_change() {
                line.directory.clone_from(&directory.path);
                line.directory_inode = inode;
                changes.push(line);
            } else if let Some(waiting) = batch.remove(&line.old) {
                let wanted = line.candidates.first().map(|candidate| &candidate.name);
                let sibling = wanted.filter(|_| line.reason == Reason::Taken);
                leave(guarded, &waiting, sibling, &format!("{:?}", line.reason));
            }
        }
        // What the planner keeps, or is gone.
        for (_, waiting) in batch.extract_if(|name, _| names.contains(name.as_bytes())) {
            report_left(guarded, &waiting, None);
        }
    }
    (!changes.is_empty()).then_some(DirectoryPlan {
        entries: changes.len(),
        lines: changes,
    })
}

/// Plans `entries`. Their directory, which may have a million names, is listed only where the charset is guessed by them. Else only
/// those are looked at that a new name would take.
///
/// # Errors
/// Those of listing it.
fn lines(dir: &Dir, options: &PlanOptions, entries: &EntryList) -> io::Result<Vec<PlanLine>> {
    let tree = CharsetChoice::default();
    let numbers = entries.iter().map(|entry| (entry.name, entry.inode));
    let numbers: HashMap<_, _> = numbers.collect();
    let is_included = |entry: &ListedEntry<'_>| numbers.contains_key(entry.name);
    let plan =
        |listing: &_| plan_directory::plan(options, &tree, listing, &is_included, &|_, _| false);
    if options.needs_guesses() {
        let mut lines = plan(&EntryList::read(dir)?);
        // A listing may have other numbers than statx(2), as that of overlayfs has for directories.
        for line in &mut lines {
            line.inode = numbers.get(line.old.as_bytes()).copied().unwrap_or(0);
        }
        return Ok(lines);
    }
    let lines = plan(entries);
    let mut listing = entries.clone();
    for new in lines.iter().filter_map(|line| line.new.as_ref()) {
        if let Ok(stat) = dir.stat_child(new) {
            listing.push(new.as_bytes(), stat.kind(), stat.ino);
        }
    }
    if listing.len() == entries.len() {
        return Ok(lines);
    }
    Ok(plan(&listing))
}

/// Leaves an entry that cannot be renamed, since a sibling has the name or for another reason.
fn leave(guarded: &Guarded, waiting: &Waiting, sibling: Option<&BackingName>, reason: &str) {
    guarded.status.lock().left += 1;
    report_left(guarded, waiting, sibling);
    log::debug!("{} is left: {reason}", Quoted(&waiting.offender.path()));
}

/// Checks that an entry was left alone for `grace`, and is not open for writing.
///
/// # Errors
/// The time for which it still has to be left alone, if that is known.
fn check_quiet(
    dir: &Dir,
    name: &BackingName,
    stat: &Stat,
    grace: Duration,
) -> Result<(), Option<Duration>> {
    let since = age(stat.ctime, SystemTime::now());
    if since < grace {
        return Err(Some(grace - since));
    }
    if stat.kind() != Kind::File {
        return Ok(());
    }
    // Without waiting for who holds a lease.
    let child = dir.child(name);
    let opened = child.and_then(|file| file::reopen_quietly(file, libc::O_NONBLOCK));
    match opened.and_then(file::is_open_for_writing) {
        Ok(true) => Err(None),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Err(None),
        // There are no leases here, or the file cannot be read: the time of the last change says enough.
        Ok(false) | Err(_) => Ok(()),
    }
}

/// Takes what comes of the renames.
struct Results<'g> {
    guarded: &'g Guarded,
    moving: Mutex<Moving>,
}

impl Results<'_> {
    fn take(&self, directory: &TreePath, name: &BackingName) -> Option<Waiting> {
        self.moving.lock().get_mut(directory)?.remove(name)
    }
}

impl Observer for Results<'_> {
    fn step(&self, directory: &TreePath, name: &BackingName, movement: Movement<'_>) {
        let (Some(waiting), Movement::To(new)) = (self.take(directory, name), movement) else {
            return;
        };
        let (guarded, offender) = (self.guarded, &waiting.offender);
        guarded.status.lock().renamed += 1;
        guarded.report(offender, Some(new), None);
        // It may be alike to a sibling.
        let renamed = Offender {
            name: new.clone(),
            ..offender.clone()
        };
        let renamed = guarded.judge().again(&renamed, &offender.directory);
        renamed.into_iter().for_each(|new| guarded.meet(new));
    }

    fn skipped(&self, skipped: &Skipped) {
        let Some(waiting) = self.take(&skipped.directory, &skipped.name) else {
            return;
        };
        match skipped.reason {
            // It was replaced, or moved with its directory, just now.
            SkipReason::Changed | SkipReason::Elsewhere => {
                self.guarded.pending.put_back([waiting]);
            }
            SkipReason::Gone => report_left(self.guarded, &waiting, None),
            reason @ (SkipReason::Taken
            | SkipReason::MountPoint
            | SkipReason::HardLinked
            | SkipReason::TargetKept
            | SkipReason::Astray
            | SkipReason::Chained
            | SkipReason::Unsafe
            | SkipReason::System(_)) => leave(self.guarded, &waiting, None, &reason.to_string()),
        }
    }

    fn is_over(&self) -> bool {
        self.guarded.is_over()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::daemon::auditor::{Auditor, Format, Sink, SinkKind};
    use crate::daemon::mount_policy::ResolvedPolicy;
    use crate::fs::audit::{AuditLog, Operation};
    use crate::guard::directories::Directories;
    use crate::guard::maker::Maker;
    use crate::guard::scan::scan;
    use crate::guard::scan_requests::ALL;
    use crate::records::{AuditConfig, PolicyFile};
    use crate::tree::undo_journal::open_guard_journal;

    fn renaming() -> PolicyFile {
        PolicyFile::parse("mode = 'normalize'\nfrom = 'iso-8859-1'").unwrap()
    }

    /// A guard of a directory by this policy, which has found what offends in it.
    fn guarded(root: &Path, keys: PolicyFile) -> Guarded {
        let resolved = ResolvedPolicy::without_file(keys).unwrap();
        let config = AuditConfig {
            audit_log: SinkKind::Stderr,
            audit_format: Format::Text,
            audit_burst: 100,
            audit_per_minute: 60,
        };
        let sink = Sink::open(SinkKind::Stderr).unwrap();
        let guarded = Guarded::new(
            Vec::new(),
            Directories::new(root).unwrap(),
            None,
            Judge::new(resolved, &Arc::default()),
            Auditor::new(&config, sink, Vec::new()),
            Duration::ZERO,
        );
        let opened = guarded.directories.root.try_clone().unwrap();
        scan(&guarded, vec![opened], ALL);
        guarded
    }

    fn file(directory: &Path, name: &[u8]) {
        std::fs::write(directory.join(OsStr::from_bytes(name)), b"").unwrap();
    }

    /// A sibling that is not heard of yet, and was made since, is not what a name is alike to.
    #[test]
    fn the_older_of_two_names_that_are_alike_does_not_offend() {
        if !is_root() {
            return;
        }
        let root = tempfile::tempdir_in("/dev/shm").unwrap();
        let keys = PolicyFile::parse("unique = 'casefold'").unwrap();
        let guarded = guarded(root.path(), keys);
        let handle = FileHandle::of(&guarded.directories.root).unwrap().unwrap();
        let (directory, dir) = guarded.open(&handle, ALL).unwrap();
        let name = BackingName::parse(b"readme").unwrap();
        let maker = Arc::new(Maker::default());
        let judge = guarded.judge();
        let judged = judge.judge(&directory, &name, &maker, Operation::Create);
        let judged = judged.unwrap();
        file(root.path(), b"readme");
        let before = Timestamp::now() - Duration::from_secs(9);
        file(root.path(), b"README");
        for (time, offences) in [(before, 0), (before + Duration::from_secs(99), 1)] {
            let offender = Offender {
                time,
                ..judged.clone()
            };
            let newcomers = [(name.clone(), offender)].into();
            guarded.compare(&newcomers, &EntryList::read(&dir).unwrap(), &dir);
            assert_eq!(guarded.auditor.counts().offences(), offences);
        }
    }

    /// Opening directories by their handles takes root.
    fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    #[test]
    fn what_waits_when_the_time_is_up_is_counted() {
        if !is_root() {
            return;
        }
        let root = tempfile::tempdir_in("/dev/shm").unwrap();
        for number in b'0'..=b'9' {
            file(root.path(), &[number, 0xE9]);
        }
        let guarded = guarded(root.path(), renaming());
        assert_eq!(guarded.pending.count(), 10);
        report_waiting(&guarded, Instant::now());
        let counts = guarded.auditor.counts();
        assert_eq!((counts.offences(), counts.records.left_out), (10, 10));
        assert_eq!(guarded.pending.count(), 0);
    }

    #[test]
    fn a_tree_of_offenders_is_put_right_in_one_round() {
        if !is_root() {
            return;
        }
        let (root, logs) = (
            tempfile::tempdir_in("/dev/shm").unwrap(),
            tempfile::tempdir_in("/dev/shm").unwrap(),
        );
        let mut directory = root.path().to_owned();
        for _ in 0..6 {
            file(&directory, b"f\xE9");
            directory.push(OsStr::from_bytes(b"d\xE9"));
            std::fs::create_dir(&directory).unwrap();
        }
        let guarded = guarded(root.path(), renaming());
        let opened = &guarded.directories.root;
        let journal = open_guard_journal(&logs.path().join("journal"), opened, b"");
        let due = guarded.pending.take_due(MOST);
        mend(&guarded, &journal.unwrap(), due).unwrap();
        assert_eq!(guarded.pending.count(), 0);
        assert!(root.path().join("d\u{E9}/".repeat(6)).is_dir());
    }

    /// The directory is listed where a guess needs it only; the outcome is the same.
    #[test]
    fn a_name_that_is_taken_is_seen_without_a_listing() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a\u{E9}", "other"] {
            file(root.path(), name.as_bytes());
        }
        let mut entries = EntryList::default();
        for name in [b"a\xE9", b"b\xE9"] {
            file(root.path(), name);
            entries.push(name, Kind::File, 1);
        }
        let judge = Judge::new(
            ResolvedPolicy::without_file(renaming()).unwrap(),
            &Arc::default(),
        );
        let dir = Dir::open_root(root.path()).unwrap();
        let lines = lines(&dir, &judge.plan(None), &entries).unwrap();
        let planned: Vec<_> = lines
            .iter()
            .map(|line| (line.reason, line.new.is_some()))
            .collect();
        assert_eq!(planned[0], (Reason::Taken, false));
        assert!(planned[1].1, "{planned:?}");
    }

    /// A listing may have other inode numbers than statx(2), by which an entry is known.
    #[test]
    fn an_entry_whose_charset_is_guessed_is_the_one_that_was_looked_at() {
        let root = tempfile::tempdir().unwrap();
        let mut entries = EntryList::default();
        for name in [&b"caf\xE9"[..], b"fran\xE7ais", b"\xE9t\xE9 \xE0 la plage"] {
            file(root.path(), name);
            entries.push(name, Kind::File, 1);
        }
        let keys = PolicyFile::parse("mode = 'normalize'").unwrap();
        let judge = Judge::new(ResolvedPolicy::without_file(keys).unwrap(), &Arc::default());
        let dir = Dir::open_root(root.path()).unwrap();
        let lines = lines(&dir, &judge.plan(None), &entries).unwrap();
        let inodes: Vec<u64> = lines.iter().map(|line| line.inode).collect();
        assert_eq!(inodes, [1, 1, 1]);
    }
}
