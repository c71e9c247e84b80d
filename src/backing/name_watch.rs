//! Watches one directory at a time for changes to its names, by inotify(7), which every user may.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::file::proc_path;

/// Bytes of events that are read at once.
const BUFFER: usize = 1 << 14;

/// A watch of directories, of one at a time.
#[derive(Debug)]
pub struct NameWatch {
    inotify: OwnedFd,
    /// The number of the watch of the directory.
    watched: Option<i32>,
}

/// A change of a name in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameEvent<'e> {
    /// An entry was renamed from it or to it.
    Renamed(&'e [u8]),
    /// An entry was made or removed.
    MadeOrRemoved(&'e [u8]),
    /// Events were lost.
    Lost,
}

impl NameWatch {
    /// Makes a watch of no directory.
    ///
    /// # Errors
    /// Those of `inotify_init1(2)`.
    pub fn new() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self {
            inotify,
            watched: None,
        })
    }

    /// Watches another directory from now on.
    ///
    /// # Errors
    /// Those of `inotify_add_watch(2)`.
    pub fn turn_to(&mut self, directory: impl AsFd) -> io::Result<()> {
        if let Some(before) = self.watched.take() {
            // It may be gone with its directory.
            inotify::remove_watch(&self.inotify, before).ok();
        }
        let events = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        let path = proc_path(directory.as_fd());
        let watched = inotify::add_watch(&self.inotify, path, events | WatchFlags::ONLYDIR)?;
        self.watched = Some(watched);
        Ok(())
    }

    /// Takes the events so far, those of the directory before left out.
    pub fn take(&self, mut act: impl FnMut(NameEvent<'_>)) {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => return act(NameEvent::Lost),
            };
            let (what, name) = (event.events(), event.file_name());
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                act(NameEvent::Lost);
            } else if Some(event.wd()) == self.watched
                && let Some(name) = name
            {
                let moves = ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
                act(match what.intersects(moves) {
                    true => NameEvent::Renamed(name.to_bytes()),
                    false => NameEvent::MadeOrRemoved(name.to_bytes()),
                });
            }
        }
    }
}
