//! Names: chains of entries that give up their names to each other. Most chains are of one entry.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use super::executor::{Executor, Mode};
use super::links::target_of;
use super::observer::Movement;
use super::open_dir::OpenDir;
use crate::backing::{Dir, Kind, Stat, if_there};
use crate::names::BackingName;
use crate::records::JournalEvent;
use crate::tree::change::{Change, Destination, EntryMatch};
use crate::tree::failpoints;
use crate::tree::undo_journal::{JournalError, SkipReason, aside_entry_name, is_unable};

impl Executor<'_> {
    /// Makes or unmakes the renames of a directory; of a chain all or none.
    pub(super) fn rename_all(&self, dir: &OpenDir<'_>) -> Result<(), JournalError> {
        for (first, changes) in dir.job.chains() {
            if self.is_over() {
                break;
            }
            if changes.iter().any(|change| dir.concerns(change)) {
                Chain::new(self, dir, first, changes).carry_out()?;
            }
        }
        Ok(())
    }
}

/// A place of an entry: a directory, and a name in it.
type Place<'c> = (Dir<BorrowedFd<'c>>, BackingName);

/// A rename of an entry. A place is `None` in the directory of what is set aside, where that is gone.
#[derive(Clone)]
struct Move<'c> {
    /// The index of the entry in the chain.
    entry: usize,
    change: &'c Change,
    from: Option<Place<'c>>,
    to: Option<Place<'c>>,
}

impl Move<'_> {
    /// Returns the rename that takes it back.
    fn back(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            ..self
        }
    }
}

/// A chain in a directory.
struct Chain<'c> {
    executor: &'c Executor<'c>,
    dir: &'c OpenDir<'c>,
    changes: &'c [Change],
    /// The renames that make or unmake it, in their order. In a ring the first entry moves twice: to its name for the meantime,
    /// and from there.
    moves: Vec<Move<'c>>,
}

impl<'c> Chain<'c> {
    fn new(
        executor: &'c Executor<'c>,
        dir: &'c OpenDir<'c>,
        first: usize,
        changes: &'c [Change],
    ) -> Self {
        let here = |name: &BackingName| Some((Dir::new(dir.dir.as_fd()), name.clone()));
        let (mut moves, mut last) = (Vec::with_capacity(changes.len()), None);
        for (entry, change) in changes.iter().enumerate() {
            let from = here(&change.name);
            let to = match &change.to {
                Some(Destination::Name(new)) => here(new),
                Some(Destination::Aside) => executor.aside.as_ref().map(|aside| {
                    let name = aside_entry_name(dir.job.number, first + entry);
                    (Dir::new(aside.as_fd()), name)
                }),
                None => continue,
            };
            let step = |from, to| Move {
                entry,
                change,
                from,
                to,
            };
            if let Some(meantime) = &change.meantime {
                moves.push(step(from, here(meantime)));
                last = Some(step(here(meantime), to));
            } else {
                moves.push(step(from, to));
            }
        }
        moves.extend(last);
        if !executor.mode.is_forward() {
            moves = moves.into_iter().rev().map(Move::back).collect();
        }
        Self {
            executor,
            dir,
            changes,
            moves,
        }
    }

    /// Makes the renames that are not made. If one of them cannot be made, nothing stays under a name that was not to last.
    fn carry_out(&self) -> Result<(), JournalError> {
        let skip = |change: &Change, reason| self.executor.skip(self.dir.job, &change.name, reason);
        let made = match self.made() {
            Ok(made) => made,
            Err(reason) => {
                self.changes.iter().for_each(|change| skip(change, reason));
                return Ok(());
            }
        };
        let way = self.moves.get(made..).unwrap_or_default();
        let concerned: BTreeSet<usize> = way.iter().map(|step| step.entry).collect();
        let mut left = BTreeMap::new();
        for (index, failed) in way.iter().enumerate() {
            let Err(reason) = self.make(failed)? else {
                continue;
            };
            let (made, rest) = way.split_at(index);
            left.extend(rest.iter().map(|step| (step.entry, step.change)));
            if made.iter().any(|step| left.contains_key(&step.entry)) {
                for step in made.iter().rev() {
                    if self.make(&step.clone().back())?.is_err() {
                        break;
                    }
                    left.insert(step.entry, step.change);
                }
            }
            for (entry, change) in &left {
                let reason = match *entry == failed.entry {
                    true => reason,
                    false => SkipReason::Chained,
                };
                skip(change, reason);
            }
            break;
        }
        let count = |entries: usize| u64::try_from(entries).unwrap_or(0);
        let mut outcome = self.executor.count.lock();
        outcome.before += count(self.changes.len() - concerned.len());
        outcome.done += count(concerned.len() - left.len());
        Ok(())
    }

    /// Returns how many of the moves are made: after so many of them all entries would be where they are. A single entry is looked
    /// for first where it is to leave: another name of its inode may be where it is to go. Where names are changed by linking, an
    /// entry may have been killed under both: that move is made once more. Else the most moves count.
    ///
    /// # Errors
    /// Why the entries are left.
    fn made(&self) -> Result<usize, SkipReason> {
        let is_fewest = self.moves.len() == 1
            || self.executor.journal.state().is_linking
            || self.executor.matching == EntryMatch::Name;
        let mut reason = SkipReason::Gone;
        let mut is_at = |change: &Change, place: Option<&Place<'_>>| -> Result<bool, SkipReason> {
            let Some((dir, name)) = place else {
                return Ok(false);
            };
            let Some(stat) = if_there(dir.stat_child(name))? else {
                return Ok(false);
            };
            reason = SkipReason::Changed;
            let is_entry = self.is_entry(dir, name, change, &stat);
            if is_entry {
                self.dir.see(&stat);
            }
            Ok(is_entry)
        };
        let mut right = BTreeMap::new();
        for step in &self.moves {
            if let Entry::Vacant(is_right) = right.entry(step.entry) {
                is_right.insert(is_at(step.change, step.from.as_ref())?);
            }
        }
        let mut wrong = right.values().filter(|is_right| !**is_right).count();
        let mut made = (wrong == 0).then_some(0);
        for (index, step) in self.moves.iter().enumerate() {
            if is_fewest && made.is_some() {
                break;
            }
            let is_right = is_at(step.change, step.to.as_ref())?;
            let was_right = right.insert(step.entry, is_right).unwrap_or(false);
            wrong = wrong + usize::from(was_right) - usize::from(is_right);
            if wrong == 0 {
                made = Some(index + 1);
            }
        }
        let made = made.ok_or(reason)?;
        self.dir.found.set(self.dir.found.get() || made > 0);
        Ok(made)
    }

    /// Is an entry of this name the one that a change is about? A link that was made anew is known by its target.
    fn is_entry(
        &self,
        dir: &Dir<impl AsFd>,
        name: &BackingName,
        change: &Change,
        stat: &Stat,
    ) -> bool {
        let matching = self.executor.matching;
        let has_its_target = || matches!(target_of(dir, name, change, stat), Ok(Some(_)));
        match matching {
            EntryMatch::Inode => matching.is_entry(change, stat) || has_its_target(),
            EntryMatch::Name => {
                matching.is_entry(change, stat) && (change.target.is_none() || has_its_target())
            }
        }
    }

    /// Makes a move, or reports that it would be made.
    ///
    /// # Errors
    /// Those of the journal; why the entry is left.
    fn make(&self, step: &Move<'_>) -> Result<Result<(), SkipReason>, JournalError> {
        let (Some(from), Some(to)) = (&step.from, &step.to) else {
            return Ok(Err(SkipReason::Gone));
        };
        if self.executor.mode != Mode::Preview
            && let Err(reason) = self.rename(step.change, from, to)?
        {
            return Ok(Err(reason));
        }
        let movement = match (&step.change.to, self.executor.mode.is_forward()) {
            (Some(Destination::Aside), true) => Movement::Aside,
            (Some(Destination::Aside), false) => Movement::Back(&to.1),
            (Some(Destination::Name(_)) | None, _) => Movement::To(&to.1),
        };
        let directory = &self.dir.job.directory;
        self.executor.observer.step(directory, &from.1, movement);
        Ok(Ok(()))
    }

    fn rename(
        &self,
        change: &Change,
        (from_dir, from): &Place<'_>,
        (to_dir, to): &Place<'_>,
    ) -> Result<Result<(), SkipReason>, JournalError> {
        let journal = self.executor.journal;
        let is_dir = change.kind == Kind::Dir;
        let dir = self.dir;
        let mut moved = dir.change(|| failpoints::rename(from_dir, from, to_dir, to));
        if moved.as_ref().is_err_and(is_unable) && !is_dir {
            // The journal of a copy's original is not written to.
            if !journal.state().is_linking && self.executor.matching == EntryMatch::Inode {
                journal.append(&[JournalEvent::Linking])?;
            }
            let source = from_dir.child(from);
            moved = source
                .and_then(|source| dir.change(|| failpoints::change(|| to_dir.link(source, to))))
                .and_then(|()| dir.change(|| failpoints::change(|| from_dir.unlink(from))));
        }
        let Err(error) = moved else {
            return Ok(Ok(()));
        };
        let may_be_linked =
            journal.state().is_linking || self.executor.matching == EntryMatch::Name;
        if error.raw_os_error() == Some(libc::EEXIST) && may_be_linked && !is_dir {
            // Killed between the two: both names are there.
            let one = from_dir.stat_child(from);
            let both = one.and_then(|one| Ok((one, to_dir.stat_child(to)?)));
            let matching = self.executor.matching;
            if both.is_ok_and(|(one, other)| {
                matching.is_entry(change, &one) && one.identity() == other.identity()
            }) {
                dir.found.set(true);
                let unlinked = dir.change(|| failpoints::change(|| from_dir.unlink(from)));
                return Ok(unlinked.map_err(SkipReason::from));
            }
        }
        Ok(Err(SkipReason::of_rename(error)))
    }
}
