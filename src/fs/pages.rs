//! What the kernel's pages of files are from, where it keeps content of its own (law F5).
//!
//! The kernel drops the pages of a file when the attributes that it is given show another size or mtime than before. Content
//! can change without: somebody puts the mtime back, and only the ctime tells; or he writes by a mapping, which need not change
//! any time. And who reads by a mapping has the kernel ask for nothing. So it is noted of what state of the file its pages
//! are, and it is told to drop them where the file has another: before the answer to who asks for its attributes, at the next
//! open, and by a thread that looks at all files that are open.

mod table;

use std::time::Duration;

pub use table::Pages;
use table::{Look, Seen};

use super::watch::Kernel;
use super::{Opened, Utf8Fs};
use crate::backing::Stat;

/// How often open files are looked at, at most and at least. The first is for a cache of no time at all too: who reads there has
/// the attributes asked for each time, and only who maps a file relies on this.
const SELDOM: Duration = Duration::from_secs(1);
const OFTEN: Duration = Duration::from_millis(100);

/// The kernel's pages of a file are of another state of it than its attributes: they are to be dropped before these are told.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Outdated {
    number: u64,
    /// What was known of them.
    version: u64,
    seen: Seen,
    look: Look,
}

/// How often open files are to be looked at where a change may go unseen for so long.
fn pause(unseen: Duration) -> Duration {
    match unseen.is_zero() {
        true => SELDOM,
        false => unseen.clamp(OFTEN, SELDOM),
    }
}

impl Pages {
    /// No pages. A change may go unseen for so long.
    pub(super) fn new(unseen: Duration) -> Self {
        Self::looked_at(pause(unseen), !unseen.is_zero())
    }
}

impl Utf8Fs {
    /// Takes note of a file that was just opened, and that the kernel is to keep pages of; says whether it may go on with those
    /// that it has. To be called before that is answered.
    #[must_use]
    pub fn keeps_pages(&self, opened: &Opened) -> bool {
        let Some(pages) = &self.pages else {
            return true;
        };
        let look = Look::now();
        let seen = Stat::of(&*opened.backing_file).map(|stat| look.seen(&stat));
        pages.open(opened.open.inode.0, seen.ok(), look)
    }

    /// When a look at a file begins, if the kernel has pages of any.
    pub(super) fn look(&self) -> Option<Look> {
        self.pages.as_ref()?.is_any().then(Look::now)
    }

    /// Are the kernel's pages of a file of another state than `stat`, which was asked for after `look` began, without its
    /// noticing when it is told of that?
    pub(super) fn outdated(
        &self,
        number: u64,
        stat: &Stat,
        look: Option<Look>,
    ) -> Option<Outdated> {
        let pages = self.pages.as_ref().filter(|_| stat.is_file())?;
        let look = look?;
        let seen = look.seen(stat);
        let version = pages.outdated(number, seen)?;
        Some(Outdated {
            number,
            version,
            seen,
            look,
        })
    }

    /// Takes note that the kernel is told of these attributes of a file; says whether its pages are of that state, or are
    /// dropped by it therefore.
    pub(super) fn tell(&self, number: u64, stat: &Stat) -> bool {
        match (&self.pages, self.look()) {
            (Some(pages), Some(look)) if stat.is_file() => pages.tell(number, look.seen(stat)),
            _ => true,
        }
    }

    /// Takes note that the kernel has dropped its pages.
    pub fn dropped(&self, outdated: Outdated) {
        if let Some(pages) = &self.pages {
            let Outdated {
                number,
                version,
                seen,
                look,
            } = outdated;
            pages.renew(number, version, Some(seen), look);
        }
    }

    /// Looks at all files that are open and that the kernel has pages of, again and again, until
    /// [`end_pages`](Self::end_pages). Blocks; to be run on a thread of its own, since the kernel may wait for requests that
    /// others serve.
    pub fn look_after_pages(&self, kernel: &dyn Kernel) {
        let Some(pages) = &self.pages else {
            return;
        };
        while pages.wait() {
            for number in pages.opens() {
                self.look_after(pages, kernel, number);
                if pages.has_ended() {
                    return;
                }
            }
        }
    }

    /// What cannot be looked at may have changed.
    fn look_after(&self, pages: &Pages, kernel: &dyn Kernel, number: u64) {
        let look = Look::now();
        let stat = self.inodes.get(number).ok().and_then(|inode| {
            let fd = self.inodes.fd(&inode).ok()?;
            Stat::of(&*fd).ok()
        });
        let seen = stat.map(|stat| look.seen(&stat));
        if let Some(version) = pages.worn(number, seen, look) {
            kernel.invalidate_inode(number);
            pages.renew(number, version, seen, look);
        }
    }

    /// Does the kernel keep pages that are to be looked after?
    #[must_use]
    pub fn has_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// Has [`look_after_pages`](Self::look_after_pages) return.
    pub fn end_pages(&self) {
        if let Some(pages) = &self.pages {
            pages.end();
        }
    }
}
