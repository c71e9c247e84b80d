//! The tree that is worked on, and one directory of it at a time.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::aside::Aside;
use super::ends::Ends;
use super::{Going, Outcome, Progress, Watch};
use crate::backing::{Dir, Kind, SetTime, Stat, StatFs, Time, file};
use crate::names::BackingName;
use crate::tree::journal::{
    Id, Job, Journal, JournalError, Left, Link, Mark, Spot, Why, is_unable, why,
};
use crate::tree::seam;

/// Times so near to each other are of one doing.
const NEAR: i128 = 5_000_000_000;

/// Which way, and whether in earnest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tree) enum Mode {
    /// What the journal says is done.
    Forward,
    /// It is undone.
    Back,
    /// It is told what would be undone.
    Look,
}

/// What is done in one go through the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tree) enum Part {
    /// It is noted where links lead.
    Starts,
    /// Links get their targets.
    Links,
    /// Entries get their names.
    Moves,
    /// Links are seen to lead to where they led, as far as possible.
    Ends,
}

/// The tree that is worked on.
pub(in crate::tree) struct Site<'s> {
    pub(super) root: &'s OwnedFd,
    pub(super) journal: &'s Journal,
    pub(in crate::tree) aside: Option<Aside>,
    pub(super) mode: Mode,
    /// What is undone, if not all.
    pub(in crate::tree) only: Option<&'s [BackingName]>,
    watch: &'s dyn Watch,
    is_stopped: AtomicBool,
    done: AtomicU64,
    before: AtomicU64,
    left: AtomicU64,
    gone_by: AtomicU64,
    pub(super) ends: Ends,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Now,
    /// It was found so.
    Before,
}

/// A directory that is worked on.
pub(super) struct Here<'h> {
    pub(super) job: &'h Job,
    /// Its links by the names of before.
    pub(super) links: HashMap<&'h BackingName, &'h Link>,
    pub(super) dir: Dir,
    /// When the directory was last changed as it was found.
    mtime: Time,
    /// An entry of the job was changed at that time.
    is_ours: Cell<bool>,
    changed: Cell<bool>,
    /// Something was found that was done before.
    pub(super) found: Cell<bool>,
}

impl<'s> Site<'s> {
    /// # Errors
    /// [`JournalError::NotThisTree`], [`JournalError::ReadOnly`], [`JournalError::Io`].
    pub(in crate::tree) fn new(
        root: &'s OwnedFd,
        journal: &'s Journal,
        watch: &'s dyn Watch,
        mode: Mode,
    ) -> Result<Self, JournalError> {
        let io = JournalError::io("look at the tree");
        if !journal.root().0.is(&Stat::of(root).map_err(&io)?) {
            return Err(JournalError::NotThisTree);
        }
        if mode != Mode::Look && StatFs::of(root).map_err(&io)?.flags & libc::ST_RDONLY != 0 {
            return Err(JournalError::ReadOnly);
        }
        Ok(Self {
            root,
            journal,
            aside: None,
            mode,
            only: None,
            watch,
            is_stopped: AtomicBool::new(false),
            done: AtomicU64::new(0),
            before: AtomicU64::new(0),
            left: AtomicU64::new(0),
            gone_by: AtomicU64::new(0),
            ends: Ends::default(),
        })
    }

    pub(in crate::tree) fn outcome(&self) -> Outcome {
        Outcome {
            done: self.done.load(Ordering::Relaxed),
            before: self.before.load(Ordering::Relaxed),
            left: self.left.load(Ordering::Relaxed),
            is_stopped: self.is_stopped.load(Ordering::Relaxed),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        if self.watch.is_over() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Does a part of what is to be done in one directory, but for what the system refuses.
    ///
    /// # Errors
    /// Those of the journal.
    pub(super) fn carry_out(&self, part: Part, job: &Job) -> Result<(), JournalError> {
        let rest = match self.only {
            None => None,
            Some(only) => match self.journal.ways.leads(only, &job.directory) {
                // Below it, or it itself.
                Some([]) => None,
                Some([name]) => Some(name),
                Some(_) | None => return Ok(()),
            },
        };
        let opened = self.journal.ways.open(self.root, &job.directory, &job.id);
        let opened = opened.and_then(|dir| Stat::of(&dir).map(|stat| (dir, stat)));
        let Ok((dir, before)) = opened else {
            let links = job.links.iter().map(|link| &link.name);
            let moves = job.moves.iter().map(|step| &step.name);
            let [links, moves] = [links.collect(), moves.collect::<Vec<_>>()];
            for name in match part {
                Part::Links => links,
                Part::Moves => moves,
                Part::Starts | Part::Ends => Vec::new(),
            } {
                if rest.is_none_or(|only| only == name) {
                    self.leave(job, name, Why::Elsewhere);
                }
            }
            return Ok(());
        };
        let here = Here {
            job,
            links: job.links.iter().map(|link| (&link.name, link)).collect(),
            dir,
            mtime: before.mtime,
            is_ours: Cell::new(false),
            changed: Cell::new(false),
            found: Cell::new(false),
        };
        let steps = match part {
            Part::Starts => self.note_ends(&here, rest),
            Part::Links => self.links(&here, rest),
            Part::Moves => self.moves(&here, rest)?,
            Part::Ends => self.meet_ends(&here, rest),
        };
        self.put_time_back(&here, &before);
        let steps = u64::try_from(steps).unwrap_or(0);
        let steps = self.gone_by.fetch_add(steps, Ordering::Relaxed) + steps;
        let (all, directory) = (self.journal.steps(), &job.directory);
        self.watch.progress(&Progress {
            steps,
            all,
            directory,
        });
        Ok(())
    }

    /// Puts back when the directory was last changed (law T6), unless others have changed it since it was looked at for the
    /// journal: that stands.
    fn put_time_back(&self, here: &Here<'_>, before: &Stat) {
        let wanted = here.job.mtime;
        // A kill came between: then the last change is the one that this migration made.
        let was_killed = (here.found.get() || self.mode == Mode::Back) && here.is_ours.get();
        let is_ours = before.mtime == wanted || was_killed;
        let mtime = if is_ours { wanted } else { before.mtime };
        if self.mode == Mode::Look || !here.changed.get() && mtime == before.mtime {
            return;
        }
        if let Err(error) = seam::set_times(&here.dir, SetTime::Omit, SetTime::At(mtime)) {
            self.watch
                .time_lost(&here.job.directory, error.raw_os_error().unwrap_or(0));
        }
    }

    pub(super) fn leave(&self, job: &Job, name: &BackingName, why: Why) {
        self.left.fetch_add(1, Ordering::Relaxed);
        let (directory, name) = (job.directory.clone(), name.clone());
        self.watch.left(&Left {
            directory,
            name,
            why,
        });
    }

    pub(super) fn count(&self, done: Done) {
        self.counter(done).fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted as done turns out to be left.
    pub(super) fn discount(&self, done: Done) {
        self.counter(done).fetch_sub(1, Ordering::Relaxed);
    }

    fn counter(&self, done: Done) -> &AtomicU64 {
        match done {
            Done::Now => &self.done,
            Done::Before => &self.before,
        }
    }

    pub(super) fn tell(&self, here: &Here<'_>, name: &BackingName, going: Going<'_>) {
        self.watch.step(&here.job.directory, name, going);
    }

    /// The way from one spot to another, made or told.
    ///
    /// # Errors
    /// Those of the journal; why the entry is left.
    pub(super) fn shift(
        &self,
        here: &Here<'_>,
        step: &Shift<'_>,
    ) -> Result<Result<(), Why>, JournalError> {
        let from = self.spot(here, step.from, step.number);
        let to = self.spot(here, step.to, step.number);
        let (Some((from_dir, from)), Some((to_dir, to))) = (from, to) else {
            return Ok(Err(Why::Gone));
        };
        let going = match (step.from, step.to) {
            (Spot::Aside, Spot::Name(to)) => Going::Back(to),
            (_, Spot::Name(to)) => Going::To(to),
            (_, Spot::Aside) => Going::Aside,
        };
        if self.mode != Mode::Look {
            match self.rename(here, &from_dir, &from, &to_dir, &to, step)? {
                Ok(()) => here.change(),
                Err(why) => return Ok(Err(why)),
            }
        }
        self.tell(here, &from, going);
        Ok(Ok(()))
    }

    fn rename(
        &self,
        here: &Here<'_>,
        from_dir: &Dir<BorrowedFd<'_>>,
        from: &BackingName,
        to_dir: &Dir<BorrowedFd<'_>>,
        to: &BackingName,
        step: &Shift<'_>,
    ) -> Result<Result<(), Why>, JournalError> {
        let is_dir = step.kind == Kind::Dir;
        let mut moved = seam::rename(from_dir, from, to_dir, to);
        if moved.as_ref().is_err_and(is_unable) && !is_dir {
            if !self.journal.is_linking() {
                self.journal.mark(Mark::Linking)?;
            }
            let linked = from_dir
                .child(from)
                .and_then(|source| seam::link(source, to_dir, to));
            if linked.is_ok() {
                here.change();
            }
            moved = linked.and_then(|()| seam::unlink(from_dir, from));
        }
        let Err(error) = moved else {
            return Ok(Ok(()));
        };
        if error.raw_os_error() == Some(libc::EEXIST) && self.journal.is_linking() && !is_dir {
            // Killed between the two: both names are there.
            let one = from_dir.stat_child(from);
            let both = one.and_then(|one| Ok((one, to_dir.stat_child(to)?)));
            if both.is_ok_and(|(one, other)| step.id.is(&one) && step.id.is(&other)) {
                here.found.set(true);
                here.change();
                return Ok(seam::unlink(from_dir, from).map_err(|error| why(&error)));
            }
        }
        let is_unable = is_unable(&error);
        Ok(Err(if is_unable { Why::Unsafe } else { why(&error) }))
    }

    /// The directory and the name of a spot.
    pub(super) fn spot<'d>(
        &'d self,
        here: &'d Here<'_>,
        spot: &Spot,
        number: usize,
    ) -> Option<(Dir<BorrowedFd<'d>>, BackingName)> {
        match spot {
            Spot::Name(name) => Some((Dir::new(here.dir.as_fd()), name.clone())),
            Spot::Aside => {
                let aside = self.aside.as_ref()?;
                let name = Aside::name(here.job.number, number)?;
                Some((Dir::new(aside.dir.as_fd()), name))
            }
        }
    }
}

/// A move of an entry, one way or the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift<'m> {
    pub(super) from: &'m Spot,
    pub(super) to: &'m Spot,
    pub(super) number: usize,
    pub(super) kind: Kind,
    pub(super) id: &'m Id,
}

impl Here<'_> {
    /// What has that name, if anything has.
    ///
    /// # Errors
    /// Why the entry is left.
    pub(super) fn stat<F: AsFd>(
        &self,
        dir: &Dir<F>,
        name: &BackingName,
    ) -> Result<Option<Stat>, Why> {
        match dir.stat_child(name) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(why(&error)),
        }
    }

    /// The target of a link.
    pub(super) fn target<F: AsFd>(&self, dir: &Dir<F>, name: &BackingName) -> io::Result<Vec<u8>> {
        file::readlink(dir.child(name)?)
    }

    /// That entry is one of the migration's.
    pub(super) fn see(&self, stat: &Stat) {
        let made = stat.btime.filter(|_| stat.is_symlink());
        if std::iter::once(stat.ctime)
            .chain(made)
            .any(|time| is_near(time, self.mtime))
        {
            self.is_ours.set(true);
        }
    }

    /// Something was, or is being, changed in the directory.
    pub(super) fn change(&self) {
        self.changed.set(true);
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENAMETOOLONG)
    )
}

pub(super) fn is_near(one: Time, other: Time) -> bool {
    let nanos = |time: Time| i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
    (nanos(one) - nanos(other)).abs() <= NEAR
}
