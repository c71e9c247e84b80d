//! Symbolic links that get another target.
//!
//! A target cannot be changed: another link is made beside it, becomes like it in all else, and takes its name in exchange, so
//! that at each moment there is one under that name. Only then is the old one removed, if it is what it was to be.

use std::collections::HashMap;
use std::io;

use super::Going;
use super::site::{Done, Here, Mode, Site};
use crate::backing::{SetTime, Stat, Xattr, xattr};
use crate::names::BackingName;
use crate::tree::journal::{Job, Link, Spot, Why, is_unable, why};
use crate::tree::seam;

/// Most octets that the kernel gives at once.
const MOST: u32 = 65536;

impl Site<'_> {
    /// Gives the links of a directory their targets, or their old ones back; only a certain one, if it is given. Gives how many
    /// steps the directory has of this kind.
    pub(super) fn links(&self, here: &Here<'_>, only: Option<&BackingName>) -> usize {
        let wanted = |link: &Link| match self.mode {
            Mode::Forward => link.new.clone(),
            Mode::Back | Mode::Look => link.old.clone(),
        };
        self.each_link(here, only, |index, link, names| {
            match self.retarget(here, link, names, &wanted(link)) {
                Ok(done) => {
                    self.ends.count(here.job.number, index, done);
                    self.count(done);
                }
                Err(why) => self.leave(here.job, &link.name, why),
            }
        });
        here.job.links.len()
    }

    /// Acts on each link, or on a certain one, which is given with its number and the names that it has in turn.
    pub(super) fn each_link(
        &self,
        here: &Here<'_>,
        only: Option<&BackingName>,
        act: impl Fn(usize, &Link, &[&BackingName]),
    ) {
        let mut first = HashMap::new();
        for (index, step) in here.job.moves.iter().enumerate() {
            first.entry(&step.name).or_insert(index);
        }
        for (index, link) in here.job.links.iter().enumerate() {
            if self.is_over() {
                break;
            }
            let names = names_of(link, here.job, first.get(&link.name).copied());
            if only.is_none_or(|only| names.contains(&only)) {
                act(index, link, &names);
            }
        }
    }

    /// Sees to it that the link which has one of these names has this target, one of its own.
    pub(super) fn retarget(
        &self,
        here: &Here<'_>,
        link: &Link,
        names: &[&BackingName],
        wanted: &[u8],
    ) -> Result<Done, Why> {
        let beside = self.beside(link)?;
        let mut found = None;
        for &name in names {
            if let Some(stat) = here.stat(&here.dir, name)?
                && (link.id.is(&stat) || stat.is_symlink())
                && let Some(target) = here.target_of(name, link, &stat)?
            {
                found = Some((name, stat, target));
                break;
            }
        }
        let other = here.stat(&here.dir, &beside)?.filter(Stat::is_symlink);
        let Some((name, stat, target)) = found else {
            return Err(Why::Changed);
        };
        here.see(&stat);
        if let Some(other) = &other {
            here.see(other);
            here.found.set(true);
        }
        let is_done = target == wanted;
        if self.mode == Mode::Look {
            if !is_done {
                self.tell(here, name, Going::Target(wanted));
            }
            return Ok(if is_done { Done::Before } else { Done::Now });
        }
        if is_done {
            if let Some(_leftover) = other {
                here.clear(name, &stat, &beside)?;
            }
            here.found.set(true);
            return Ok(Done::Before);
        }
        if stat.nlink > 1 {
            return Err(Why::HardLinked);
        }
        let is_original = other.as_ref().is_some_and(|other| link.id.is(other));
        if !(wanted == link.old && is_original) {
            if other.is_some() {
                seam::unlink(&here.dir, &beside).map_err(|error| why(&error))?;
            }
            let made = here.copy(name, &stat, &beside, wanted);
            if let Err(error) = made {
                drop(seam::unlink(&here.dir, &beside));
                return Err(why(&error));
            }
        }
        here.exchange(name, &stat, &beside)?;
        self.tell(here, name, Going::Target(wanted));
        Ok(Done::Now)
    }

    /// What the other link is called while there are two.
    fn beside(&self, link: &Link) -> Result<BackingName, Why> {
        let name = format!(".utf8fs-{}-{:x}", self.journal.id(), link.id.ino);
        BackingName::parse(name.as_bytes()).map_err(|_none| Why::System(libc::EINVAL))
    }
}

impl Here<'_> {
    /// Which target a link has; `None` if it is another link.
    fn target_of(
        &self,
        name: &BackingName,
        link: &Link,
        stat: &Stat,
    ) -> Result<Option<Vec<u8>>, Why> {
        if !stat.is_symlink() {
            return Ok(None);
        }
        let target = self.target(&self.dir, name).map_err(|error| why(&error))?;
        let is_ours = target == link.old || !link.id.is(stat) && link.targets().contains(&target);
        Ok(is_ours.then_some(target))
    }

    /// Makes a link beside one that is like it but for its target.
    fn copy(
        &self,
        name: &BackingName,
        stat: &Stat,
        beside: &BackingName,
        target: &[u8],
    ) -> io::Result<()> {
        let one = self.dir.child(name)?;
        seam::symlink(&self.dir, beside, target)?;
        self.change();
        let other = self.dir.child(beside)?;
        let made = Stat::of(&other)?;
        if (made.uid, made.gid) != (stat.uid, stat.gid) {
            seam::chown(&other, stat.uid, stat.gid)?;
        }
        let listed = match xattr::list(&one, MOST) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Xattr::Size(0),
            listed => listed?,
        };
        if let Xattr::Data(names) = listed {
            for name in names
                .split(|&octet| octet == 0)
                .filter(|name| !name.is_empty())
            {
                if let Xattr::Data(value) = xattr::get(&one, name, MOST)?
                    && xattr::get(&other, name, MOST).ok() != Some(Xattr::Data(value.clone()))
                {
                    seam::set_xattr(&other, name, &value)?;
                }
            }
        }
        seam::set_times(&other, SetTime::At(stat.atime), SetTime::At(stat.mtime))
    }

    /// Exchanges a link with the one beside it, and removes what was there, if it is what was to be there.
    fn exchange(&self, name: &BackingName, stat: &Stat, beside: &BackingName) -> Result<(), Why> {
        let unable = |error: io::Error| {
            if is_unable(&error) {
                Why::Unsafe
            } else {
                why(&error)
            }
        };
        if let Err(error) = seam::exchange(&self.dir, name, beside) {
            drop(seam::unlink(&self.dir, beside));
            return Err(unable(error));
        }
        self.change();
        let out = self.stat(&self.dir, beside)?;
        if out.is_none_or(|out| out.ino != stat.ino) {
            // Somebody put something else there just before.
            seam::exchange(&self.dir, name, beside).map_err(unable)?;
            drop(seam::unlink(&self.dir, beside));
            return Err(Why::Changed);
        }
        seam::unlink(&self.dir, beside).map_err(|error| why(&error))
    }

    /// Removes what a kill left beside a link. The time at which that was done is written to the link first, so that
    /// the time of the directory can be told from one of others' doing.
    fn clear(&self, name: &BackingName, stat: &Stat, beside: &BackingName) -> Result<(), Why> {
        self.change();
        let touched = self.dir.child(name).and_then(|link| {
            seam::set_times(link, SetTime::At(stat.atime), SetTime::At(stat.mtime))
        });
        let cleared = touched.and_then(|()| seam::unlink(&self.dir, beside));
        cleared.map_err(|error| why(&error))
    }
}

/// The names that a link has in turn.
fn names_of<'j>(link: &'j Link, job: &'j Job, first: Option<usize>) -> Vec<&'j BackingName> {
    let mut names = vec![&link.name];
    let mut now = &link.name;
    let moves = job
        .moves
        .get(first.unwrap_or(usize::MAX)..)
        .unwrap_or_default();
    for (index, step) in moves.iter().enumerate() {
        if index > 0 && !step.joins {
            break;
        }
        if step.name == *now
            && let Spot::Name(to) = &step.to
        {
            now = to;
            names.push(to);
        }
    }
    names
}
