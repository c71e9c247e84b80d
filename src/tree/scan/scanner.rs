//! A scan: its rules, the sink of its findings, and all that it found. It is the visitor of a walk.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::name_rules::Rules;
use super::shard::Shard;
use crate::backing::reason;
use crate::names::BackingName;
use crate::records::{Failure, Name, PART_FORMAT, PolicyReport, ScanLine, ScanPart, Tally};
use crate::tree::tree_walk::{Listed, Place, Visitor};

/// A sink of findings, while the scan goes on, by several threads: of the line of an entry with findings, or of a directory that
/// could not be read. It returns `false` if nobody listens any more.
pub type Sink<'s> = &'s (dyn Fn(&ScanLine) -> bool + Sync);

/// A scan.
#[expect(missing_debug_implementations, reason = "a function has no form")]
pub struct Scan<'s> {
    pub(super) rules: Rules,
    /// The part that is looked at.
    pub(super) shard: Shard,
    /// The paths of the roots.
    roots: Vec<Name>,
    /// The sink of findings; `None` if only the tally is made.
    pub(super) sink: Option<Sink<'s>>,
    /// All that was found so far.
    pub tally: Mutex<Tally>,
    /// The path of a directory that was read lately.
    pub place: Mutex<Vec<u8>>,
    /// Does nobody listen any more?
    is_over: AtomicBool,
}

impl<'s> Scan<'s> {
    /// Returns a scan of these roots that has found nothing yet. The root of a list has no name.
    pub fn new(rules: Rules, shard: Shard, roots: Vec<Name>, sink: Option<Sink<'s>>) -> Self {
        Self {
            rules,
            shard,
            roots,
            sink,
            tally: Mutex::default(),
            place: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Adds an unreadable directory or list. `depth` is its depth below a root; 0 for what every part reads.
    pub fn add_unread(&self, path: Name, depth: usize, error: &io::Error) {
        self.report(&ScanLine::Unread {
            path: path.clone(),
            reason: reason(error),
        });
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let mut tally = self.tally.lock();
        // Directories above that depth are read in every part.
        if self.shard.of > 1 && depth < self.shard.depth {
            tally.above.insert(path, errno);
        } else {
            tally.unread.add(Failure { path, errno });
        }
    }

    /// Returns what a scan that is over found, as a part of it or as a whole.
    pub fn part(self) -> ScanPart {
        let policy = self.rules.policy;
        ScanPart {
            format: PART_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shard: self.shard.number,
            of: self.shard.of,
            depth: self.shard.depth,
            policy: PolicyReport {
                encoding: policy.encoding,
                normalization: policy.form.into(),
                forbid: policy.forbid.clone(),
                max_bytes: policy.max_bytes,
                max_chars: policy.max_chars,
                max_utf16: policy.max_utf16,
                offences: self.rules.offences,
            },
            roots: self.roots,
            tally: self.tally.into_inner(),
        }
    }

    pub(super) fn report(&self, line: &ScanLine) {
        if self.sink.is_some_and(|sink| !sink(line)) {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Is the directory judged in this part?
    fn has(&self, place: &Place) -> bool {
        self.shard.of == 1 || self.shard.has(place.root, &place.names())
    }

    /// Returns the path of a directory, root and all.
    fn path(&self, place: &Place) -> Vec<u8> {
        let root = self.roots.get(place.root);
        joined(root.map_or(b"", Name::as_bytes), &place.path())
    }
}

impl Visitor for Scan<'_> {
    type State = ();

    fn visit(&self, (): &mut (), directory: &Listed<'_>) {
        if self.has(directory.place) {
            self.evaluate(directory.entries, || self.path(directory.place));
        }
    }

    fn descends(&self, (): &(), place: &Place, name: &BackingName) -> bool {
        // Those further down are where the directory at the depth is.
        let is_shared_out = self.shard.of > 1 && place.depth + 1 == self.shard.depth;
        !is_shared_out || {
            let names = [place.names().as_slice(), std::slice::from_ref(name)].concat();
            self.shard.has(place.root, &names)
        }
    }

    fn failed(&self, (): &mut (), place: &Place, error: io::Error) {
        let is_gone = matches!(
            error.raw_os_error(),
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)
        );
        if is_gone && place.depth > 0 {
            self.tally.lock().vanished += u64::from(self.has(place));
        } else {
            self.add_unread(self.path(place).into(), place.depth, &error);
        }
    }

    fn left_out(&self, (): &mut (), place: &Place) {
        if self.has(place) {
            let path = self.path(place).into();
            let failure = Failure { path, errno: 0 };
            self.tally.lock().left_out.add(failure);
        }
    }

    /// Is the scan to end before its end, with a report of what was read?
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Returns the path of `name` below `above`, either of which may be empty.
pub(super) fn joined(above: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = match (above, name) {
        ([], _) | (_, []) | ([.., b'/'], _) => b"",
        _ => b"/",
    };
    [above, slash, name].concat()
}
