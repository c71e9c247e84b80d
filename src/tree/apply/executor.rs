//! The execution of a journal in a tree, one directory at a time.

use std::cell::Cell;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

use parking_lot::Mutex;
use strum::VariantArray;

use super::directory_time::Changes;
use super::observer::{Done, Observer};
use super::open_dir::OpenDir;
use crate::backing::name_watch::NameWatch;
use crate::backing::{Dir, Stat};
use crate::names::BackingName;
use crate::records::Outcome;
use crate::tree::change::{Change, EntryMatch, Job};
use crate::tree::failpoints::is_listening;
use crate::tree::undo_journal::{Journal, JournalError, SkipReason, Skipped};

/// The direction, and whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tree) enum Mode {
    /// The changes are made.
    Forward,
    /// They are unmade.
    Back,
    /// Reports what would be unmade.
    Preview,
    /// The changes are made in a tree that others work in. The times of directories stay as they come to be, since
    /// others' are among them.
    Live,
}

impl Mode {
    /// Are changes made, and not taken back?
    pub(super) fn is_forward(self) -> bool {
        matches!(self, Self::Forward | Self::Live)
    }

    /// Are the times of directories put back?
    fn keeps_times(self) -> bool {
        matches!(self, Self::Forward | Self::Back)
    }
}

/// A pass through the tree. Changes are made by all of them, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub(in crate::tree) enum Pass {
    /// Notes where links lead.
    NoteLinks,
    /// Gives links their targets.
    Retarget,
    /// Gives entries their names.
    Rename,
    /// Makes links lead to where they led, as far as possible.
    VerifyLinks,
}

impl Pass {
    /// Does it make a step of that change?
    fn concerns(self, change: &Change) -> bool {
        match self {
            Self::Retarget => change.is_retargeted(),
            Self::Rename => change.to.is_some(),
            Self::NoteLinks | Self::VerifyLinks => false,
        }
    }
}

/// The tree that is worked on.
pub(in crate::tree) struct Executor<'e> {
    pub(super) root: &'e OwnedFd,
    pub(super) journal: &'e Journal,
    pub(in crate::tree) aside: Option<Dir>,
    pub(super) mode: Mode,
    /// What makes an entry the one that a change is about.
    pub(in crate::tree) matching: EntryMatch,
    /// The part that is undone, if not all.
    pub(in crate::tree) only: Option<&'e [BackingName]>,
    pub(super) observer: &'e dyn Observer,
    pub(in crate::tree) count: Mutex<Outcome>,
    /// The ends of links, by the frame of their directory and their number in it.
    pub(super) ends: Mutex<HashMap<(u64, usize), LinkEnd>>,
    /// Watches that no thread uses.
    watches: Mutex<Vec<NameWatch>>,
}

/// The end of a link: the inode that it led to before anything was changed, and how it was counted that it got its target.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkEnd {
    pub(super) inode: (u64, u64),
    pub(super) counted: Option<Done>,
}

impl<'e> Executor<'e> {
    /// # Errors
    /// [`JournalError::NotThisTree`], [`JournalError::ReadOnly`], [`JournalError::Io`].
    pub(in crate::tree) fn new(
        root: &'e OwnedFd,
        journal: &'e Journal,
        observer: &'e dyn Observer,
        mode: Mode,
        matching: EntryMatch,
    ) -> Result<Self, JournalError> {
        if matching == EntryMatch::Inode {
            journal.check_tree(root)?;
        }
        if mode != Mode::Preview {
            JournalError::refuse_read_only(root)?;
        }
        Ok(Self {
            root,
            journal,
            aside: None,
            mode,
            matching,
            only: None,
            observer,
            count: Mutex::default(),
            ends: Mutex::default(),
            watches: Mutex::default(),
        })
    }

    /// Returns the journal.
    pub(in crate::tree) fn journal(&self) -> &Journal {
        self.journal
    }

    /// Is it to stop? Once it is, it stops for good.
    pub(super) fn is_over(&self) -> bool {
        let is_over = self.observer.is_over();
        let mut outcome = self.count.lock();
        outcome.is_stopped |= is_over;
        outcome.is_stopped
    }

    /// Does a pass in one directory, but for what the system refuses.
    ///
    /// # Errors
    /// Those of the journal.
    pub(super) fn carry_out(&self, pass: Pass, job: &Job) -> Result<(), JournalError> {
        let jobs = &self.journal.jobs;
        let only = match self.only.map(|only| jobs.leads(only, &job.directory)) {
            // Below it, or it itself.
            None | Some(Some([])) => None,
            Some(Some([name])) => Some(name),
            Some(Some(_) | None) => return Ok(()),
        };
        let (dir, mut before) =
            match jobs.open(self.root, &job.directory, &job.inode, self.matching) {
                Ok(opened) => opened,
                Err(error) => {
                    let reason = SkipReason::of_directory(error);
                    for change in job.changes.iter().filter(|change| pass.concerns(change)) {
                        if only.is_none_or(|only| *only == change.name) {
                            self.skip(job, &change.name, reason);
                        }
                    }
                    return Ok(());
                }
            };
        let watch = self.watch(pass, &dir);
        if watch.is_some() {
            // Of what was changed before, the time tells.
            before = Stat::of(&dir).unwrap_or(before);
        }
        let changes = Changes::new(watch, self.journal);
        let dir = OpenDir {
            job,
            dir,
            only,
            changes,
            wanted_mtime: match self.matching {
                EntryMatch::Inode => job.mtime,
                // A copy has times of its own.
                EntryMatch::Name => before.mtime,
            },
            mtime: before.mtime,
            is_ours: Cell::new(false),
            changed: Cell::new(false),
            found: Cell::new(false),
        };
        match pass {
            Pass::NoteLinks => self.note_links(&dir),
            Pass::Retarget => self.retarget_all(&dir),
            Pass::Rename => self.rename_all(&dir)?,
            Pass::VerifyLinks => self.verify_links(&dir),
        }
        if self.mode.keeps_times() && pass != Pass::NoteLinks {
            let may_be_found = dir.found.get() || self.mode == Mode::Back;
            if let Err(error) = dir.put_time_back(may_be_found) {
                let errno = error.raw_os_error().unwrap_or(0);
                self.observer.time_lost(&dir.job.directory, errno);
            }
        }
        self.watches.lock().extend(dir.changes.watch);
        let outcome = *self.count.lock();
        self.observer.progress(outcome, &job.directory);
        Ok(())
    }

    /// Returns a watch of the directory; `None` where its time stays, or no watch is to be had.
    fn watch(&self, pass: Pass, dir: &Dir) -> Option<NameWatch> {
        if !self.mode.keeps_times() || pass == Pass::NoteLinks || !is_listening() {
            return None;
        }
        let idle = self.watches.lock().pop();
        let mut watch = idle.or_else(|| NameWatch::new().ok())?;
        watch.turn_to(dir).ok()?;
        Some(watch)
    }

    pub(super) fn skip(&self, job: &Job, name: &BackingName, reason: SkipReason) {
        self.count.lock().left += 1;
        self.observer.skipped(&Skipped {
            directory: job.directory.clone(),
            name: name.clone(),
            reason,
        });
    }
}
