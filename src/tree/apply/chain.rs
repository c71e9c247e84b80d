//! Names: single ones, and chains of those that are given up for each other.

use std::collections::{HashMap, HashSet};

use super::site::{Done, Here, Mode, Shift, Site};
use crate::backing::Stat;
use crate::names::BackingName;
use crate::tree::journal::{Id, JournalError, Move, Spot, Why};

impl Site<'_> {
    /// Makes or unmakes the moves of a directory; only those that concern a name, if one is given. Gives how many steps the
    /// directory has of this kind.
    pub(super) fn moves(
        &self,
        here: &Here<'_>,
        only: Option<&BackingName>,
    ) -> Result<usize, JournalError> {
        for (first, chain) in here.job.chains() {
            if self.is_over() {
                break;
            }
            let concerns = |only: &BackingName| {
                chain.iter().any(|step| {
                    step.name == *only || matches!(&step.to, Spot::Name(to) if to == only)
                })
            };
            if !only.is_none_or(concerns) {
                continue;
            }
            match chain {
                [step] => self.single(here, first, step)?,
                _ => Chain::new(here, first, chain).carry_out(self)?,
            }
        }
        Ok(here.job.moves.len())
    }

    fn single(&self, here: &Here<'_>, number: usize, step: &Move) -> Result<(), JournalError> {
        match self.try_single(here, number, step)? {
            Ok(done) => self.count(done),
            Err(why) => self.leave(here.job, &step.name, why),
        }
        Ok(())
    }

    fn try_single(
        &self,
        here: &Here<'_>,
        number: usize,
        step: &Move,
    ) -> Result<Result<Done, Why>, JournalError> {
        let old = Spot::Name(step.name.clone());
        let (from, to) = match self.mode {
            Mode::Forward => (&old, &step.to),
            Mode::Back | Mode::Look => (&step.to, &old),
        };
        let there = match self.stat_at(here, from, number) {
            Ok(there) => there,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(stat) = there
            && self.is_entry(here, &step.id, &step.name, &stat, from, number)
        {
            here.see(&stat);
            let shift = Shift {
                from,
                to,
                number,
                kind: step.kind,
                id: &step.id,
            };
            return Ok(self.shift(here, &shift)?.map(|()| Done::Now));
        }
        let stat = match self.stat_at(here, to, number) {
            Ok(stat) => stat,
            Err(why) => return Ok(Err(why)),
        };
        Ok(match stat {
            Some(stat) if self.is_entry(here, &step.id, &step.name, &stat, to, number) => {
                here.see(&stat);
                here.found.set(true);
                Ok(Done::Before)
            }
            None if there.is_none() => Err(Why::Gone),
            _ => Err(Why::Changed),
        })
    }

    /// What is at a spot.
    fn stat_at(&self, here: &Here<'_>, spot: &Spot, number: usize) -> Result<Option<Stat>, Why> {
        match self.spot(here, spot, number) {
            Some((dir, name)) => here.stat(&dir, &name),
            None => Ok(None),
        }
    }

    /// Is that the entry which was called `origin`? A link that got another target is another inode.
    fn is_entry(
        &self,
        here: &Here<'_>,
        id: &Id,
        origin: &BackingName,
        stat: &Stat,
        spot: &Spot,
        number: usize,
    ) -> bool {
        if id.is(stat) {
            return true;
        }
        let Some(link) = here.links.get(origin).filter(|_| stat.is_symlink()) else {
            return false;
        };
        let spot = self.spot(here, spot, number);
        let target = spot.and_then(|(dir, name)| here.target(&dir, &name).ok());
        target.is_some_and(|target| link.targets().contains(&target))
    }
}

/// Moves that depend on each other.
struct Chain<'c> {
    here: &'c Here<'c>,
    first: usize,
    moves: &'c [Move],
    /// What each entry was called and is known by.
    entries: Vec<(&'c BackingName, Id)>,
    /// Which entry each move moves.
    moved: Vec<usize>,
}

impl<'c> Chain<'c> {
    fn new(here: &'c Here<'c>, first: usize, moves: &'c [Move]) -> Self {
        let (mut entries, mut moved) = (Vec::new(), Vec::new());
        let mut now: HashMap<&BackingName, usize> = HashMap::new();
        for step in moves {
            let entry = now.remove(&step.name).unwrap_or_else(|| {
                entries.push((&step.name, step.id));
                entries.len() - 1
            });
            if let Spot::Name(to) = &step.to {
                now.insert(to, entry);
            }
            moved.push(entry);
        }
        Self {
            here,
            first,
            moves,
            entries,
            moved,
        }
    }

    /// After how many moves all entries are where they are: the fewest, and the most.
    fn state(&self, site: &Site<'_>) -> Result<Option<(usize, usize)>, Why> {
        let is_at = |entry: usize, spot: &Spot, number: usize| -> Result<bool, Why> {
            let Some((origin, id)) = self.entries.get(entry) else {
                return Ok(false);
            };
            let stat = site.stat_at(self.here, spot, number)?;
            let stat = stat.filter(|stat| site.is_entry(self.here, id, origin, stat, spot, number));
            if let Some(stat) = &stat {
                self.here.see(stat);
            }
            Ok(stat.is_some())
        };
        let mut right = Vec::new();
        for (entry, (origin, _)) in self.entries.iter().enumerate() {
            right.push(is_at(entry, &Spot::Name((*origin).clone()), 0)?);
        }
        let mut wrong = right.iter().filter(|is_right| !**is_right).count();
        let mut fits = (wrong == 0).then_some((0, 0));
        for (index, (step, &entry)) in self.moves.iter().zip(&self.moved).enumerate() {
            let is_right = is_at(entry, &step.to, self.first + index)?;
            if let Some(was_right) = right.get_mut(entry) {
                wrong = wrong + usize::from(*was_right) - usize::from(is_right);
                *was_right = is_right;
            }
            if wrong == 0 {
                fits = Some((fits.map_or(index + 1, |(least, _)| least), index + 1));
            }
        }
        Ok(fits)
    }

    fn carry_out(&self, site: &Site<'_>) -> Result<(), JournalError> {
        let is_forward = site.mode == Mode::Forward;
        let (least, most) = match self.state(site) {
            Ok(Some(state)) => state,
            Ok(None) => return self.leave(site, &self.moved, Why::Changed),
            Err(why) => return self.leave(site, &self.moved, why),
        };
        // Where names are changed by linking, an entry may have been killed under both: that move is made once more.
        let is_linking = site.journal.is_linking();
        let way: Vec<usize> = if is_forward {
            self.here.found.set(self.here.found.get() || most > 0);
            let made = if is_linking { least } else { most };
            (made..self.moves.len()).collect()
        } else {
            let made = if is_linking { most } else { least };
            (0..made).rev().collect()
        };
        (way.len()..self.moves.len()).for_each(|_| site.count(Done::Before));
        for (index, &step) in way.iter().enumerate() {
            if let Err(why) = self.shift(site, step, is_forward)? {
                return self.give_up(site, way.split_at(index), why, is_forward);
            }
        }
        way.iter().for_each(|_| site.count(Done::Now));
        Ok(())
    }

    /// Of the moves of a way some were made, and the next one cannot be. Nothing stays under a name that was not to last.
    fn give_up(
        &self,
        site: &Site<'_>,
        (made, rest): (&[usize], &[usize]),
        why: Why,
        is_forward: bool,
    ) -> Result<(), JournalError> {
        let entry = |step: &usize| self.moved.get(*step).copied();
        let mut left: Vec<usize> = rest.iter().filter_map(entry).collect();
        let mut done = made.len();
        if made
            .iter()
            .filter_map(entry)
            .any(|entry| left.contains(&entry))
        {
            for step in made.iter().rev() {
                if self.shift(site, *step, !is_forward)?.is_err() {
                    break;
                }
                done -= 1;
                left.extend(entry(step));
            }
        }
        (0..done).for_each(|_| site.count(Done::Now));
        let failed = left.first().copied();
        left.retain(|entry| Some(*entry) != failed);
        self.leave(site, failed.as_slice(), why)?;
        self.leave(site, &left, Why::Chained)
    }

    fn shift(
        &self,
        site: &Site<'_>,
        step: usize,
        is_forward: bool,
    ) -> Result<Result<(), Why>, JournalError> {
        let Some(Move {
            name, id, kind, to, ..
        }) = self.moves.get(step)
        else {
            return Ok(Err(Why::Gone));
        };
        let old = Spot::Name(name.clone());
        let (from, to) = if is_forward { (&old, to) } else { (to, &old) };
        site.shift(
            self.here,
            &Shift {
                from,
                to,
                number: self.first + step,
                kind: *kind,
                id,
            },
        )
    }

    fn leave(&self, site: &Site<'_>, entries: &[usize], why: Why) -> Result<(), JournalError> {
        let mut told = HashSet::new();
        for entry in entries.iter().filter(|entry| told.insert(**entry)) {
            if let Some((name, _)) = self.entries.get(*entry) {
                site.leave(self.here.job, name, why);
            }
        }
        Ok(())
    }
}
