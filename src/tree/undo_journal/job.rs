//! The changes of one directory, as they lie in a journal, and how many a journal has.

use super::byte_codec::{Reader, Writer, kind_octet};
use super::mark::Mark;
use crate::backing::{Kind, Time};
use crate::tree::change::{Change, Destination, InodeId, Retarget, TreePath};

/// All changes of one directory. First its links get other targets, under the names of before, as those of all directories
/// do; then names are changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// The number of its frame; 0 before it has one.
    pub(crate) number: u64,
    pub(crate) directory: TreePath,
    pub(crate) id: InodeId,
    pub(crate) mtime: Time,
    /// The changes. A chain stands together, in its order.
    pub(crate) changes: Vec<Change>,
}

const TARGET: u8 = 0x01;
const NAME: u8 = 0x02;
const ASIDE: u8 = 0x04;
const MEANTIME: u8 = 0x08;
const CHAINED: u8 = 0x80;

impl Job {
    /// Returns how many steps it has.
    pub(crate) fn steps(&self) -> usize {
        self.changes.iter().map(Change::steps).sum()
    }

    /// Returns the changes of links, each with its number in the job and the link's targets.
    pub(crate) fn links(&self) -> impl Iterator<Item = (usize, &Change, &Retarget)> {
        let changes = self.changes.iter().enumerate();
        changes.filter_map(|(number, change)| Some((number, change, change.target.as_ref()?)))
    }

    /// Returns the chains of changes of names, most of them of one, each with the number of its first change.
    pub(crate) fn chains(&self) -> impl Iterator<Item = (usize, &[Change])> {
        let mut start = 0;
        let chains = self.changes.chunk_by(|_, next| next.is_chained);
        let chains = chains.map(move |chain| {
            let first = start;
            start += chain.len();
            (first, chain)
        });
        chains.filter(|(_, chain)| chain.iter().all(|change| change.to.is_some()))
    }

    /// Returns its bytes; `None` if a length does not fit.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let mut out = Writer::default();
        out.u32(u32::try_from(self.directory.len()).ok()?);
        for name in &*self.directory {
            out.name(name)?;
        }
        out.id(&self.id);
        out.time(self.mtime);
        out.u32(u32::try_from(self.changes.len()).ok()?);
        for change in &self.changes {
            let bits = [
                (change.target.is_some(), TARGET),
                (change.new_name().is_some(), NAME),
                (change.to == Some(Destination::Aside), ASIDE),
                (change.meantime.is_some(), MEANTIME),
                (change.is_chained, CHAINED),
            ];
            let bits = bits.into_iter().filter(|(is_set, _)| *is_set);
            out.u8(bits.fold(0, |tag, (_, bit)| tag | bit));
            out.u8(kind_octet(change.kind));
            out.id(&change.id);
            out.name(&change.name)?;
            if let Some(target) = &change.target {
                out.octets(&target.old)?;
                out.octets(&target.new)?;
            }
            for name in change.new_name().into_iter().chain(&change.meantime) {
                out.name(name)?;
            }
        }
        Some(out.0)
    }

    /// Reads a job; `None` if the bytes are none.
    pub(super) fn read(number: u64, octets: &[u8]) -> Option<Self> {
        let mut octets = Reader(octets);
        let directory = (0..octets.u32()?)
            .map(|_| octets.name())
            .collect::<Option<_>>()?;
        let (id, mtime) = (octets.id()?, octets.time()?);
        let mut changes = Vec::new();
        for _ in 0..octets.u32()? {
            let tag = octets.u8()?;
            let has = |bit| tag & bit != 0;
            let is_sound = match tag & !CHAINED {
                TARGET => !has(CHAINED),
                tag => matches!(tag & !TARGET, NAME | ASIDE) || tag & !TARGET == NAME | MEANTIME,
            };
            if !is_sound || has(CHAINED) && changes.is_empty() {
                return None;
            }
            let kind = Kind::from_dirent(octets.u8()?);
            let (id, name) = (octets.id()?, octets.name()?);
            let mut target = None;
            if has(TARGET) {
                let (old, new) = (octets.octets()?.to_vec(), octets.octets()?.to_vec());
                target = Some(Retarget { old, new });
            }
            let mut to = has(ASIDE).then_some(Destination::Aside);
            if has(NAME) {
                to = Some(Destination::Name(octets.name()?));
            }
            let mut meantime = None;
            if has(MEANTIME) {
                meantime = Some(octets.name()?);
            }
            let is_chained = has(CHAINED);
            changes.push(Change {
                name,
                id,
                kind,
                to,
                meantime,
                is_chained,
                target,
                same_as: None,
            });
        }
        octets.end()?;
        Some(Self {
            number,
            directory,
            id,
            mtime,
            changes,
        })
    }
}

/// The numbers of all that a journal holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) jobs: u64,
    pub(crate) steps: u64,
    pub(crate) asides: u64,
}

/// Entries and directories for which planning made no steps (law T3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unplanned {
    /// Entries with which something is amiss, and which stay as they are.
    pub left: u64,
    /// Directories that could not be read.
    pub unread: u64,
}

impl Totals {
    pub(super) fn add(&mut self, job: &Job) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let asides = job.changes.iter();
        let asides = asides.filter(|change| change.to == Some(Destination::Aside));
        self.jobs += 1;
        self.steps += count(job.steps());
        self.asides += count(asides.count());
    }

    /// Returns the mark that completes a journal of these jobs.
    pub(super) fn complete(&self, unplanned: Unplanned) -> Mark {
        Mark::Complete {
            directories: self.jobs,
            steps: self.steps,
            planning_left: unplanned.left,
            planning_unread: unplanned.unread,
        }
    }
}
