//! Where links lead: to the same as before, also where something on the way could not get its name.
//!
//! A link is given its target before the names on the way are changed. Where one of these was left, or got another name than
//! was planned for, the link would lead nowhere, or to what somebody else put there. So it is noted where each led, before any
//! link is changed, since one may lead over others, and looked at the end whether it leads there.
//!
//! Undoing gives back what was there. Only where something could not be given back, links lead on.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::site::{Done, Here, Mode, Site};
use crate::backing::Stat;
use crate::names::BackingName;
use crate::tree::journal::{Link, Why};

/// What a link led to: its device and inode; and how it was counted that the link got its target.
#[derive(Debug, Clone, Copy)]
struct End {
    inode: (u64, u64),
    counted: Option<Done>,
}

/// What links led to, by the frame of their directory and their number in it.
#[derive(Debug, Default)]
pub(super) struct Ends(Mutex<HashMap<(u64, usize), End>>);

impl Ends {
    fn with<R>(&self, act: impl FnOnce(&mut HashMap<(u64, usize), End>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The link has its target.
    pub(super) fn count(&self, frame: u64, index: usize, done: Done) {
        self.with(|ends| {
            if let Some(end) = ends.get_mut(&(frame, index)) {
                end.counted = Some(done);
            }
        });
    }
}

fn inode(stat: &Stat) -> (u64, u64) {
    (stat.dev, stat.ino)
}

impl Site<'_> {
    /// Notes where links lead.
    pub(super) fn note_ends(&self, here: &Here<'_>, only: Option<&BackingName>) -> usize {
        self.each_link(here, only, |index, link, names| {
            self.note_end(here, index, link, names);
        });
        0
    }

    /// Notes where a link leads, by whichever names on its way are there: on going on, some are changed already.
    fn note_end(&self, here: &Here<'_>, index: usize, link: &Link, names: &[&BackingName]) {
        let mut targets = link.targets();
        if self.mode != Mode::Forward {
            // What it has now comes first: others may have something under a name that it never got.
            let now = names
                .iter()
                .find_map(|name| here.target(&here.dir, name).ok());
            targets.reverse();
            targets.sort_by_key(|target| Some(target) != now.as_ref());
        }
        let found = targets
            .iter()
            .find_map(|target| here.dir.stat_path(target).ok());
        if let Some(found) = found {
            let end = End {
                inode: inode(&found),
                counted: None,
            };
            self.ends
                .with(|ends| ends.insert((here.job.number, index), end));
        }
    }

    /// Sees to it that links lead to where they led, if any of their targets does, and reports the others.
    pub(super) fn meet_ends(&self, here: &Here<'_>, only: Option<&BackingName>) -> usize {
        self.each_link(here, only, |index, link, names| {
            let end = self
                .ends
                .with(|ends| ends.get(&(here.job.number, index)).copied());
            let Some(End {
                inode: wanted,
                counted: Some(done),
            }) = end
            else {
                return;
            };
            let leads = |target: &[u8]| {
                here.dir
                    .stat_path(target)
                    .is_ok_and(|found| inode(&found) == wanted)
            };
            let planned = match self.mode {
                Mode::Forward => &link.new,
                Mode::Back | Mode::Look => &link.old,
            };
            if leads(planned) {
                return;
            }
            self.discount(done);
            let other = link.targets().into_iter().find(|target| leads(target));
            let mended = other.map(|target| self.retarget(here, link, names, &target));
            let why = match mended {
                Some(Err(why)) => why,
                Some(Ok(_)) | None => Why::Astray,
            };
            self.leave(here.job, &link.name, why);
        });
        0
    }
}
