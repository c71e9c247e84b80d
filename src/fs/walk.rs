//! The way along a symlink's target: by descriptors, as the kernel goes it, and never out of the backing directory.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::inode::{Inode, OpenInode};
use super::inodes::Inodes;
use super::number::ROOT;
use super::{FsError, Utf8Fs};
use crate::backing::{Dir, Kind, Stat, file};
use crate::names::BackingName;

/// Most symlinks that are followed on one way, as by the kernel; one more leads nowhere.
const MOST_LINKS: usize = 40;

/// Most that one way may cost, links on it included: as many components as two targets can have.
const MOST_STEPS: usize = 4096;

/// Cost of a component whose name is sought in a directory's index.
pub(super) const SOUGHT: usize = 64;

/// Most directories below the one where a way starts. Each is held by a descriptor, and every thread may be on its way.
const MOST_DEPTH: usize = 256;

/// Directories whose names stay known that were met on a way and are not known to the kernel.
const MOST_ASIDE: usize = 64;

/// Why a way is not gone to its end.
#[derive(Debug)]
pub(super) enum Halt {
    /// Leads out of the mount.
    Out,
    /// Exceeds every path.
    TooFar,
    /// A system call failed.
    Failed(FsError),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Does an error say that there is no such entry, or none that one can go to?
pub(super) fn is_no_way(errno: i32) -> bool {
    matches!(
        errno,
        libc::ENOENT
            | libc::ENOTDIR
            | libc::EACCES
            | libc::ELOOP
            | libc::ENAMETOOLONG
            | libc::ESTALE
    )
}

/// The parts of a path between its slashes; joined by slashes again, they are the path.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
}

/// Returns the number of leading components that an absolute path shares with the path `directory`, counting the
/// empty one before the first slash. `None` unless it has all of the directory's.
fn below(path: &[u8], directory: &[u8]) -> Option<usize> {
    let wanted = components(directory).filter(|name| !name.is_empty());
    let mut wanted = wanted.peekable();
    let mut count = 0;
    for component in components(path) {
        let Some(name) = wanted.peek() else {
            break;
        };
        if component == *name {
            wanted.next();
        } else if !matches!(component, b"" | b".") {
            return None;
        }
        count += 1;
    }
    wanted.peek().is_none().then_some(count)
}

/// Directories that were not looked up, kept for their indexes: whoever lists many links into one reads it once.
#[derive(Debug, Default)]
pub(super) struct Aside(Mutex<VecDeque<Arc<Inode>>>);

impl Aside {
    fn inode(&self, inodes: &Inodes, stat: &Stat) -> Arc<Inode> {
        if let Some(known) = inodes.known(stat) {
            return known;
        }
        let inode = inodes.aside(stat);
        let mut aside = self.0.lock();
        let is_met = |met: &&Arc<Inode>| met.number == inode.number && met.device == inode.device;
        if let Some(met) = aside.iter().find(is_met) {
            return Arc::clone(met);
        }
        aside.push_back(Arc::clone(&inode));
        if aside.len() > MOST_ASIDE {
            aside.pop_front();
        }
        inode
    }
}

/// Somebody on the way along a target. Where there is no such directory the way goes on without one, so that a `..`
/// can lead back.
pub(super) struct Walk<'a> {
    fs: &'a Utf8Fs,
    /// The first directory of `stack`. Above it, the way leads to where the kernel last saw it.
    base: Arc<Inode>,
    stack: Vec<Option<Arc<OwnedFd>>>,
    steps: usize,
    links: usize,
    began: Instant,
}

impl<'a> Walk<'a> {
    /// Stands in `directory`.
    pub(super) fn from(fs: &'a Utf8Fs, directory: Arc<Inode>) -> Result<Self, Halt> {
        let fd = fs.inodes.fd(&directory)?;
        Ok(Self {
            fs,
            base: directory,
            stack: vec![Some(fd)],
            steps: 0,
            links: 0,
            began: Instant::now(),
        })
    }

    /// Counts what a component costs.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Halt> {
        self.steps += steps;
        if self.steps > MOST_STEPS || self.stack.len() > MOST_DEPTH {
            return Err(Halt::TooFar);
        }
        Ok(())
    }

    /// Goes where a component leads: for a `..` to the directory above, for a name to its entry, and if that is a symlink, to where
    /// that leads.
    pub(super) fn step(&mut self, component: &[u8]) -> Result<(), Halt> {
        self.spend(1)?;
        if component == b".." {
            self.stack.pop();
            if self.stack.is_empty() {
                let place = self.base.place().filter(|_| self.base.number != ROOT);
                let parent = place.and_then(|place| self.fs.inodes.get(place.parent).ok());
                self.base = parent.ok_or(Halt::Out)?;
                self.stack.push(self.fs.inodes.fd(&self.base).ok());
            }
            return Ok(());
        }
        match BackingName::parse(component) {
            Ok(name) => self.enter(self.child(&name)?),
            Err(_empty_or_dot) => Ok(()),
        }
    }

    /// The entry `name`, held; `None` where there is none.
    pub(super) fn child(&self, name: &BackingName) -> Result<Option<OwnedFd>, Halt> {
        let Some(Some(directory)) = self.stack.last() else {
            return Ok(None);
        };
        let child = || Dir::new(directory).child(name);
        match self.fs.inodes.with_descriptors(child) {
            Ok(child) if self.fs.is_own(&child)? => Ok(None),
            Ok(child) => Ok(Some(child)),
            Err(error) if error.raw_os_error().is_some_and(is_no_way) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Goes to an entry of [`Walk::child`].
    pub(super) fn enter(&mut self, child: Option<OwnedFd>) -> Result<(), Halt> {
        let kind = match &child {
            Some(child) => Stat::of(child)?.kind(),
            None => Kind::Unknown,
        };
        if let Some(link) = &child
            && kind == Kind::Symlink
            && self.links < MOST_LINKS
        {
            self.links += 1;
            let target = file::readlink(link)?;
            let mut first = 0;
            if target.starts_with(b"/") {
                first = self.fs.inside_mount(&target).ok_or(Halt::Out)?;
                let root = self.fs.inodes.get(ROOT).map_err(Halt::Failed)?;
                self.stack = vec![Some(self.fs.inodes.fd(&root)?)];
                self.base = root;
            }
            let mut rest = components(&target).skip(first);
            return rest.try_for_each(|component| self.step(component));
        }
        let directory = child.filter(|_| kind == Kind::Dir).map(Arc::new);
        self.stack.push(directory);
        Ok(())
    }

    /// The directory where the walk stands; `None` where there is none.
    pub(super) fn here(&self) -> Result<Option<OpenInode>, Halt> {
        let Some(Some(fd)) = self.stack.last() else {
            return Ok(None);
        };
        let inode = match self.stack.len() {
            1 => Arc::clone(&self.base),
            _ => self.fs.aside.inode(&self.fs.inodes, &Stat::of(fd)?),
        };
        let fd = Arc::clone(fd);
        // Each directory is read once on a way, whoever changes it meanwhile: the kernel may let nobody change the link's own directory
        // for as long as that takes.
        let read_since = Some(self.began);
        Ok(Some(OpenInode {
            inode,
            fd,
            read_since,
        }))
    }
}

impl Utf8Fs {
    /// Returns the number of components of an absolute path that lead to the root of the mount. `None` if it does not
    /// lead there, or leads to other files below the mount than through it.
    pub(super) fn inside_mount(&self, path: &[u8]) -> Option<usize> {
        below(path, self.settings.covered.as_ref()?)
    }
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn a_path_is_below_another_by_its_components() {
        let rows: [(&[u8], &[u8], Option<usize>); 12] = [
            (b"/srv/old/x", b"/srv/old", Some(3)),
            (b"/srv/old", b"/srv/old", Some(3)),
            (b"/srv/old/", b"/srv/old", Some(3)),
            (b"//srv/./old//x/y", b"/srv/old", Some(5)),
            (b"/srv/older/x", b"/srv/old", None),
            (b"/srv", b"/srv/old", None),
            (b"/", b"/srv/old", None),
            (b"/srv/x/../old/y", b"/srv/old", None),
            (b"/srv/old/../old", b"/srv/old", Some(3)),
            (b"/x", b"/", Some(0)),
            (b"/", b"/", Some(0)),
            (b"/caf\xE9/x", b"/caf\xE9", Some(2)),
        ];
        for (path, directory, expected) in rows {
            assert_eq!(below(path, directory), expected, "{path:02X?}");
        }
    }
}
