//! Walking trees in parallel, by descriptor: nobody can lead a walk elsewhere by swapping a directory for a link (law T5).
//!
//! Memory grows with the largest directory, the depth of the tree and the width of its directories of directories. No attribute is
//! asked for where the directory tells what an entry is (`d_type`), but for directories, which may lie on another mount.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::entry_list::EntryList;
use crate::backing::{Dir, Entries, Kind, Stat, file};
use crate::names::BackingName;
use crate::records::join_path;

/// Most directories that are kept open for the sake of those in them. The others are found again from the root on.
const HELD: usize = 256;

/// Bytes that are asked of the kernel at once: a thousand names and more.
const BUFFER: usize = 128 * 1024;

/// A directory of the tree: the names that lead to it.
#[derive(Debug)]
pub struct Place {
    /// The directory above, and the name in it; `None` for a root.
    above: Option<(Arc<Place>, BackingName)>,
    /// The index of the root that it lies below, or is.
    pub root: usize,
    /// The number of names that lead to it from there.
    pub depth: usize,
}

impl Place {
    /// The names that lead to it from its root, without a `/` in front or behind; empty for the root itself.
    pub fn path(&self) -> Vec<u8> {
        join_path(&self.names())
    }

    /// The names that lead to it from its root.
    pub fn names(&self) -> Vec<BackingName> {
        let mut names = Vec::with_capacity(self.depth);
        let mut place = self;
        while let Some((above, name)) = &place.above {
            names.push(name.clone());
            place = above;
        }
        names.reverse();
        names
    }
}

/// A directory that was read.
#[derive(Debug)]
pub struct Listed<'l> {
    /// The names that lead to it.
    pub place: &'l Place,
    /// The directory.
    pub fd: &'l OwnedFd,
    /// Its entries, as far as they can be read.
    pub entries: &'l EntryList,
    /// Was it read to its end? Otherwise [`Visitor::failed`] was told why.
    pub is_whole: bool,
}

/// A visitor of all that a walk meets. Each thread has a state of its own.
pub trait Visitor: Sync {
    /// The data that a thread has gathered.
    type State: Send + Default;

    /// A directory was read.
    fn visit(&self, state: &mut Self::State, directory: &Listed<'_>);

    /// Is the directory of that name in the one that was visited last to be walked?
    fn descends(&self, _state: &Self::State, _place: &Place, _name: &BackingName) -> bool {
        true
    }

    /// A directory could not be read, or not to its end.
    fn failed(&self, _state: &mut Self::State, _place: &Place, _error: io::Error) {}

    /// A directory on another mount is left out.
    fn left_out(&self, _state: &mut Self::State, _place: &Place) {}

    /// Is it to end before its end?
    fn is_over(&self) -> bool {
        false
    }
}

/// Which directories are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mounts {
    /// Directories of the mount that a root lies on.
    Stay,
    /// Directories of mounts inside as well.
    Enter,
}

/// A directory that is kept open for those in it.
#[derive(Debug)]
struct Held {
    fd: OwnedFd,
    _count: Arc<()>,
}

/// A directory that is still to be read.
#[derive(Debug)]
struct Pending {
    place: Arc<Place>,
    /// The one above it, if that is held.
    above: Option<Arc<Held>>,
}

#[derive(Debug)]
struct Queue {
    /// The last is taken first: a tree is walked down before it is walked on, so that little is pending.
    pending: Vec<Pending>,
    /// Threads that may add to it.
    busy: usize,
}

struct Walk<'w, V: Visitor> {
    roots: &'w [OwnedFd],
    crossing: Mounts,
    visitor: &'w V,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Each directory that is held has a share in it.
    held: Arc<()>,
    most_held: usize,
}

/// Returns the number of threads that work on a tree, where nobody says otherwise.
pub fn threads() -> usize {
    /// Beyond that the filesystem sets the speed.
    const MOST: usize = 8;
    std::thread::available_parallelism().map_or(1, |count| count.get().min(MOST))
}

/// Walks the trees below `roots`, directories that are open (`O_PATH` will do), on so many threads. Gives their states.
///
/// What cannot be read is told to the visitor, and the rest is walked.
///
/// # Errors
/// A root can't be looked at.
pub fn walk<V: Visitor>(
    roots: &[OwnedFd],
    crossing: Mounts,
    threads: usize,
    visitor: &V,
) -> io::Result<Vec<V::State>> {
    walk_holding(roots, crossing, threads, HELD, visitor)
}

fn walk_holding<V: Visitor>(
    roots: &[OwnedFd],
    crossing: Mounts,
    threads: usize,
    most_held: usize,
    visitor: &V,
) -> io::Result<Vec<V::State>> {
    for root in roots {
        Stat::of(root)?;
    }
    let pending = (0..roots.len()).rev().map(|root| Pending {
        place: Arc::new(Place {
            above: None,
            root,
            depth: 0,
        }),
        above: None,
    });
    let walk = Walk {
        roots,
        crossing,
        visitor,
        queue: Mutex::new(Queue {
            pending: pending.collect(),
            busy: 0,
        }),
        changed: Condvar::new(),
        held: Arc::default(),
        most_held,
    };
    let states = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1))
            .map(|_| scope.spawn(|| walk.work()))
            .collect();
        let states = threads.into_iter().map(|thread| thread.join());
        states.collect::<Result<Vec<_>, _>>()
    });
    states.map_err(|_panic| io::Error::other("a thread of the walk panicked"))
}

impl<V: Visitor> Walk<'_, V> {
    fn work(&self) -> V::State {
        let mut state = V::State::default();
        let (mut entries, mut children) = (EntryList::default(), Vec::new());
        let mut buffer: Box<[u8]> = vec![0; BUFFER].into();
        let mut queue = self.queue.lock();
        loop {
            if self.visitor.is_over() {
                queue.pending.clear();
            }
            if let Some(pending) = queue.pending.pop() {
                queue.busy += 1;
                drop(queue);
                let list = (&mut entries, &mut buffer);
                self.read(&mut state, pending, &mut children, list);
                queue = self.queue.lock();
                queue.busy -= 1;
                // In the order of the directory.
                queue.pending.extend(children.drain(..).rev());
                if queue.pending.len() > 1 || queue.busy == 0 {
                    self.changed.notify_all();
                }
            } else if queue.busy == 0 {
                return state;
            } else {
                self.changed.wait(&mut queue);
            }
        }
    }

    /// Reads a directory, and gives those in it to `children`.
    fn read(
        &self,
        state: &mut V::State,
        pending: Pending,
        children: &mut Vec<Pending>,
        (entries, buffer): (&mut EntryList, &mut Box<[u8]>),
    ) {
        let Pending { place, above } = pending;
        let opened = self.open(&place, above.as_deref());
        drop(above);
        let fd = match opened {
            Ok(fd) => fd,
            Err(error) if error.raw_os_error() == Some(libc::EXDEV) => {
                return self.visitor.left_out(state, &place);
            }
            Err(error) => return self.visitor.failed(state, &place, error),
        };
        let mut stream = Entries::new(fd, std::mem::take(buffer));
        let listed = entries.fill(&mut stream);
        let fd;
        (fd, *buffer) = stream.into_parts();
        let directory = Listed {
            place: &place,
            fd: &fd,
            entries,
            is_whole: listed.is_ok(),
        };
        if let Err(error) = listed {
            self.visitor.failed(state, &place, error);
        }
        self.visitor.visit(state, &directory);
        let below = entries.iter().filter(|entry| entry.kind == Kind::Dir);
        let below = below.filter_map(|entry| BackingName::parse(entry.name).ok());
        let below: Vec<BackingName> = below
            .filter(|name| self.visitor.descends(state, &place, name))
            .collect();
        let is_held = !below.is_empty() && Arc::strong_count(&self.held) <= self.most_held;
        let above = is_held.then(|| {
            let _count = Arc::clone(&self.held);
            Arc::new(Held { fd, _count })
        });
        children.extend(below.into_iter().map(|name| Pending {
            place: Arc::new(Place {
                above: Some((Arc::clone(&place), name)),
                root: place.root,
                depth: place.depth + 1,
            }),
            above: above.clone(),
        }));
    }

    /// Opens a directory, unless it is on a mount that is not entered (`EXDEV`).
    fn open(&self, place: &Place, above: Option<&Held>) -> io::Result<OwnedFd> {
        let child = |fd: &OwnedFd, name: &BackingName| {
            Dir::new(fd).list_child(name, self.crossing == Mounts::Enter)
        };
        match (above, &place.above) {
            (Some(above), Some((_, name))) => child(&above.fd, name),
            _ => {
                let root = self.roots.get(place.root);
                let root = root.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
                let root = file::reopen_quietly(root, libc::O_DIRECTORY);
                let mut names = place.names().into_iter();
                names.try_fold(root?, |fd, name| child(&fd, &name))
            }
        }
    }
}

#[cfg(test)]
mod tests;
