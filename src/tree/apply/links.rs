//! Symbolic links that get another target, and the verification that links lead to the same as before.
//!
//! A target cannot be changed. So another link is made beside it, becomes like it in all else, and takes its name in
//! exchange: at each moment there is one under that name. Only then is the old one removed, if it is the expected
//! one.
//!
//! A link is given its target before the names on the way are changed. If one of these is left, or gets another
//! name than planned, the link would lead nowhere, or to what somebody else put there. So the end of each link is noted before
//! any link is changed, since one may lead over others. At the end each link is compared with its note.
//!
//! Undoing gives back what was there. Only where something could not be given back, links lead on.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::executor::{Executor, LinkEnd, Mode};
use super::observer::{Done, Movement};
use super::open_dir::OpenDir;
use crate::backing::{Dir, SetTime, Stat, file, if_there, xattr};
use crate::names::BackingName;
use crate::records::Name;
use crate::tree::change::{Change, Retarget, own_name, read_target};
use crate::tree::failpoints;
use crate::tree::undo_journal::SkipReason;

impl Executor<'_> {
    /// Notes where links lead, by whichever names on their way are there: on going on, some are changed already.
    pub(super) fn note_links(&self, dir: &OpenDir<'_>) {
        self.each_link(dir, |number, change, target| {
            let mut targets = target.possible();
            if self.mode != Mode::Forward {
                // The one that it has now comes first: others may have something under a name that it never got.
                let mut names = change.names();
                let now = names.find_map(|name| read_target(&dir.dir, name).ok());
                targets.reverse();
                targets.sort_by_key(|target| Some(target) != now.as_ref());
            }
            let mut found = targets.iter();
            let found = found.find_map(|target| dir.dir.stat_path(target.as_bytes()).ok());
            if let Some(found) = found {
                let end = LinkEnd {
                    inode: found.identity(),
                    counted: None,
                };
                self.ends.lock().insert((dir.job.number, number), end);
            }
        });
    }

    /// Gives the links of a directory their targets, or their old ones back.
    pub(super) fn retarget_all(&self, dir: &OpenDir<'_>) {
        self.each_link(dir, |number, change, target| {
            let mut done = Done::Before;
            // Else whether it leads on is verified at the end.
            if target.is_change() {
                match self.retarget(dir, change, target, self.wanted(target)) {
                    Ok(when) => done = when,
                    Err(reason) => return self.skip(dir.job, &change.name, reason),
                }
                *self.count.lock().steps(done) += 1;
            }
            if let Some(end) = self.ends.lock().get_mut(&(dir.job.number, number)) {
                end.counted = Some(done);
            }
        });
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

    /// Returns the target that a link is to have.
    fn wanted<'t>(&self, target: &'t Retarget) -> &'t Name {
        if self.mode.is_forward() {
            &target.new
        } else {
            &target.old
        }
    }

    /// Acts on each link that is in question, which is given with its number.
    fn each_link(&self, dir: &OpenDir<'_>, act: impl Fn(usize, &Change, &Retarget)) {
        for (number, change, target) in dir.job.links() {
            if self.is_over() {
                break;
            }
            if dir.concerns(change) {
                act(number, change, target);
            }
        }
    }

    /// Sees to it that the link of a change has a target, one of its own.
    fn retarget(
        &self,
        dir: &OpenDir<'_>,
        change: &Change,
        targets: &Retarget,
        wanted: &Name,
    ) -> Result<Done, SkipReason> {
        // The name of the other link while there are two.
        let beside = own_name(&format!(
            ".utf8fs-{}-{:x}",
            self.journal.header.id, change.id.ino
        ));
        let mut found = None;
        for name in change.names() {
            if let Some(stat) = if_there(dir.dir.stat_child(name))?
                && let Some(target) = target_of(&dir.dir, name, change, &stat)?
            {
                found = Some((name, stat, target));
                break;
            }
        }
        let other = if_there(dir.dir.stat_child(&beside))?.filter(Stat::is_symlink);
        let Some((name, stat, target)) = found else {
            return Err(SkipReason::Changed);
        };
        dir.see(&stat);
        if let Some(other) = &other {
            dir.see(other);
            dir.found.set(true);
        }
        let is_written = self.mode != Mode::Preview;
        if target == *wanted {
            if let Some(_leftover) = other.filter(|_| is_written) {
                // A kill left it. The time of its removal is written to the link first, so that the directory's time can be
                // told from one of others' doing.
                set_times(dir.dir.child(name)?, &stat)?;
                dir.unlink(&beside)?;
            }
            dir.found.set(true);
            return Ok(Done::Before);
        }
        if is_written {
            if stat.nlink > 1 {
                return Err(SkipReason::HardLinked);
            }
            let is_original = other.as_ref().is_some_and(|other| change.id.is(other));
            if !(*wanted == targets.old && is_original) {
                if other.is_some() {
                    dir.unlink(&beside)?;
                }
                dir.copy(name, &stat, &beside, wanted.as_bytes())
                    .inspect_err(|_| drop(dir.unlink(&beside)))?;
            }
            dir.exchange(name, &stat, &beside)?;
        }
        let movement = Movement::Target(wanted.as_bytes());
        self.observer.step(&dir.job.directory, name, movement);
        Ok(Done::Now)
    }
}

/// Returns the target of the link of a change, which may be made anew; `None` if that entry is another one.
pub(super) fn target_of(
    dir: &Dir<impl AsFd>,
    name: &BackingName,
    change: &Change,
    stat: &Stat,
) -> Result<Option<Name>, SkipReason> {
    let targets = change.target.as_ref();
    let Some(targets) = targets.filter(|_| stat.is_symlink()) else {
        return Ok(None);
    };
    let target = read_target(dir, name)?;
    let is_ours =
        target == targets.old || !change.id.is(stat) && targets.possible().contains(&target);
    Ok(is_ours.then_some(target))
}

impl OpenDir<'_> {
    /// Makes a link beside one that is like it but for its target.
    fn copy(
        &self,
        name: &BackingName,
        stat: &Stat,
        beside: &BackingName,
        target: &[u8],
    ) -> io::Result<()> {
        let one = self.dir.child(name)?;
        self.change(|| failpoints::change(|| self.dir.symlink(beside, target)))?;
        let other = self.dir.child(beside)?;
        let made = Stat::of(&other)?;
        if (made.uid, made.gid) != (stat.uid, stat.gid) {
            failpoints::change(|| file::chown(&other, Some(stat.uid), Some(stat.gid)))?;
        }
        let names = match xattr::whole(|names| xattr::list(&one, names)) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Vec::new(),
            listed => listed?,
        };
        let names = names.split(|&octet| octet == 0);
        for name in names.filter(|name| !name.is_empty()) {
            let value = xattr::whole(|value| xattr::get(&one, name, value))?;
            if !xattr::whole(|value| xattr::get(&other, name, value)).is_ok_and(|had| had == value)
            {
                failpoints::change(|| xattr::set(&other, name, &value, 0))?;
            }
        }
        set_times(other, stat)
    }

    /// Exchanges a link with the one beside it, and removes what was there, if it is what was to be there.
    fn exchange(
        &self,
        name: &BackingName,
        stat: &Stat,
        beside: &BackingName,
    ) -> Result<(), SkipReason> {
        let dir = &self.dir;
        let exchange = || {
            let rename = || dir.rename(name, dir, beside, libc::RENAME_EXCHANGE);
            self.change(|| failpoints::change(rename))
                .map_err(SkipReason::of_rename)
        };
        exchange().inspect_err(|_| drop(self.unlink(beside)))?;
        let out = if_there(self.dir.stat_child(beside))?;
        if out.is_none_or(|out| out.ino != stat.ino) {
            // Somebody put something else there just before.
            exchange()?;
            drop(self.unlink(beside));
            return Err(SkipReason::Changed);
        }
        Ok(self.unlink(beside)?)
    }

    /// Removes a link that was beside another.
    fn unlink(&self, beside: &BackingName) -> io::Result<()> {
        self.change(|| failpoints::change(|| self.dir.unlink(beside)))
    }
}

/// Gives a link the times of another.
fn set_times(link: OwnedFd, like: &Stat) -> io::Result<()> {
    let (atime, mtime) = (SetTime::At(like.atime), SetTime::At(like.mtime));
    failpoints::change(|| file::set_times(link, atime, mtime))
}
