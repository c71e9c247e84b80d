//! The ends of links: the inodes that they led to before anything was changed.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::step_count::Done;
use crate::backing::Stat;

/// The inode that a link led to, and how it was counted that the link got its target.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkEnd {
    inode: (u64, u64),
    pub(super) counted: Option<Done>,
}

impl LinkEnd {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            inode: (stat.dev, stat.ino),
            counted: None,
        }
    }

    pub(super) fn is(&self, stat: &Stat) -> bool {
        self.inode == (stat.dev, stat.ino)
    }
}

/// The ends of links, by the frame of their directory and their number in it.
#[derive(Debug, Default)]
pub(super) struct LinkEnds(Mutex<HashMap<(u64, usize), LinkEnd>>);

impl LinkEnds {
    /// Notes where a link leads.
    pub(super) fn note(&self, frame: u64, number: usize, end: LinkEnd) {
        self.0.lock().insert((frame, number), end);
    }

    /// Returns where a link led, if it led anywhere.
    pub(super) fn get(&self, frame: u64, number: usize) -> Option<LinkEnd> {
        self.0.lock().get(&(frame, number)).copied()
    }

    /// Notes that the link has its target.
    pub(super) fn count(&self, frame: u64, number: usize, done: Done) {
        if let Some(end) = self.0.lock().get_mut(&(frame, number)) {
            end.counted = Some(done);
        }
    }
}
