//! Verification that links lead to the same as before, also where something on the way could not get its name.
//!
//! A link is given its target before the names on the way are changed. If one of these is left, or gets another
//! name than planned, the link would lead nowhere, or to what somebody else put there. So the end of each link is noted before
//! any link is changed, since one may lead over others. At the end each link is compared with its note.
//!
//! Undoing gives back what was there. Only where something could not be given back, links lead on.

use super::executor::{Executor, LinkEnd, Mode, OpenDir};
use crate::records::Name;
use crate::tree::change::{Change, Retarget, read_target};
use crate::tree::undo_journal::SkipReason;

impl Executor<'_> {
    /// Notes where links lead.
    pub(super) fn note_links(&self, dir: &OpenDir<'_>) {
        self.each_link(dir, |number, change, target| {
            if let Some(end) = self.link_end(dir, change, target) {
                self.ends.lock().insert((dir.job.number, number), end);
            }
        });
    }

    /// Returns where a link leads, by whichever names on its way are there: on going on, some are changed already.
    fn link_end(&self, dir: &OpenDir<'_>, change: &Change, target: &Retarget) -> Option<LinkEnd> {
        let mut targets = target.possible();
        if self.mode != Mode::Forward {
            // The one that it has now comes first: others may have something under a name that it never got.
            let now = change
                .names()
                .find_map(|name| read_target(&dir.dir, name).ok());
            targets.reverse();
            targets.sort_by_key(|target| Some(target) != now.as_ref());
        }
        let mut found = targets.iter();
        let found = found.find_map(|target| dir.dir.stat_path(target.as_bytes()).ok());
        found.map(|found| LinkEnd {
            inode: found.identity(),
            counted: None,
        })
    }

    /// Sees to it that links lead to where they led, if any of their targets does, and reports the others.
    pub(super) fn verify_links(&self, dir: &OpenDir<'_>) {
        self.each_link(dir, |number, change, target| {
            let end = self.ends.lock().get(&(dir.job.number, number)).copied();
            let Some((end, done)) = end.and_then(|end| Some((end.inode, end.counted?))) else {
                return;
            };
            let leads = |target: &Name| {
                let found = dir.dir.stat_path(target.as_bytes());
                found.is_ok_and(|found| found.identity() == end)
            };
            if leads(self.wanted(target)) {
                return;
            }
            if target.is_change() {
                *self.count.lock().steps(done) -= 1;
            }
            let other = target.possible().into_iter().find(|target| leads(target));
            let mended = other.map(|other| self.retarget(dir, change, target, &other));
            let reason = match mended {
                Some(Err(reason)) => reason,
                Some(Ok(_)) => SkipReason::TargetKept,
                None => SkipReason::Astray,
            };
            self.skip(dir.job, &change.name, reason);
        });
    }
}
