//! A journal in the making.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use jiff::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tempfile::TempPath;

use super::frame::{FrameBatch, VERSION};
use super::job_index::{JobIndex, JobPlace};
use super::journal_error::JournalError;
use super::journal_file::{Journal, JournalTail};
use super::skipped::Skipped;
use crate::backing::{LockKind, Stat, lock};
use crate::codec::Charset;
use crate::records::{
    JournalEvent, JournalHeader, JournalOrigin, Name, Time, Unplanned, json_line,
};
use crate::tree::change::Job;
use crate::tree::failpoints;
use crate::tree::plan::DirectoryPlan;
use crate::tree::tree_identity::identity_of;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

/// The request that a journal is made for.
#[derive(Debug, Clone)]
pub struct JournalRequest<'r> {
    /// The absolute path of the tree.
    pub tree: &'r [u8],
    /// The options in words for people, such as `--from koi8-r`.
    pub options: &'r str,
    /// The kind of request.
    pub origin: JournalOrigin,
    /// The SHA-256 of the plan's file, or of the options, in hex digits.
    pub digest: String,
    /// The charset that names are encoded in; `None` if they are made UTF-8.
    pub to: Option<Charset>,
    /// The time of the last journal of the tree that is known.
    pub after: Option<Time>,
}

impl<'r> JournalRequest<'r> {
    /// Returns the request of a migration to UTF-8 by options, of the tree at a path.
    pub fn of_options(tree: &'r [u8], options: &'r str) -> Self {
        Self {
            tree,
            options,
            origin: JournalOrigin::Options,
            digest: sha256_of(options.as_bytes()),
            to: None,
            after: None,
        }
    }
}

/// Returns a SHA-256 in hex digits.
pub fn sha256_of(octets: &[u8]) -> String {
    let digest = Sha256::digest(octets);
    digest.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A journal in the making. Groups may be added by several threads at a time.
#[derive(Debug)]
pub struct Draft {
    /// The path until the journal is whole. It is dropped before the journal, whose lock nobody else gets while it is there.
    path: TempPath,
    root: OwnedFd,
    spool: Mutex<Spool>,
}

/// The groups, in the order in which they came, in a file without a name.
#[derive(Debug)]
struct Spool {
    file: BufWriter<File>,
    size: u64,
    /// The journal to be. Its jobs have their places in the spool.
    journal: Journal,
}

impl Draft {
    /// Starts the journal of a migration of the tree below `root`, an open directory (`O_PATH` will do). It will lie
    /// at `path`, in an existing directory. Until [`Draft::commit`] there is a file `path.draft` only, which
    /// overwrites one that a killed run left.
    ///
    /// # Errors
    /// [`JournalError::Exists`], [`JournalError::Busy`] if another process drafts it, [`JournalError::ReadOnly`] of the tree,
    /// [`JournalError::Io`].
    pub fn create(
        path: &Path,
        root: &OwnedFd,
        request: &JournalRequest<'_>,
    ) -> Result<Self, JournalError> {
        let io = JournalError::io("write the journal");
        let looked = JournalError::io("look at the tree");
        let root = root.try_clone().map_err(&looked)?;
        JournalError::refuse_read_only(&root)?;
        if path.symlink_metadata().is_ok() {
            return Err(JournalError::Exists(path.into()));
        }
        let draft = path.with_added_extension("draft");
        // A run that was killed while it named its journal leaves two names of that, which must not be emptied by one of them.
        if draft.symlink_metadata().is_ok_and(|left| left.nlink() > 1) {
            failpoints::change(|| fs::remove_file(&draft)).map_err(&io)?;
        }
        let mut open = File::options();
        open.read(true).write(true).create(true).truncate(false);
        open.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = open.open(&draft).map_err(&io)?;
        let is_ours = lock::flock(&file, Some(LockKind::Write)).map_err(&io)?
            && is_named(&file, &draft).map_err(&io)?;
        if !is_ours {
            return Err(JournalError::Busy);
        }
        let draft = TempPath::try_from_path(draft).map_err(&io)?;
        failpoints::change(|| file.set_len(0)).map_err(&io)?;
        let header = header_of(request, &root)?;
        let spool = tempfile::tempfile_in(parent(path)).map_err(&io)?;
        let spool = Spool {
            file: BufWriter::with_capacity(BUFFER, spool),
            size: 0,
            journal: Journal {
                path: path.into(),
                file,
                header,
                jobs: JobIndex::default(),
                damage: None,
                torn_at: None,
                tail: Mutex::new(JournalTail::default()),
            },
        };
        Ok(Self {
            path: draft,
            root,
            spool: Mutex::new(spool),
        })
    }

    /// Adds what can be done of a plan, as [`Job::of`] finds. Returns what will be left.
    ///
    /// # Errors
    /// [`JournalError::Io`], disk full among them: then the draft is of no use any more, and nothing was done to the tree.
    pub fn add(&self, plan: &DirectoryPlan) -> Result<Vec<Skipped>, JournalError> {
        let (job, skipped) = Job::of(&self.root, plan);
        let Some(job) = job else {
            return Ok(skipped);
        };
        let json = json_line(&JournalEvent::Job(Cow::Borrowed(&job)));
        let mut spool = self.spool.lock();
        let written = spool.file.write_all(json.as_bytes());
        written.map_err(JournalError::io("write the journal"))?;
        let place = JobPlace::new(0, spool.size, json.len(), &job);
        spool.journal.jobs.add(&job, place);
        spool.size += u64::try_from(json.len()).unwrap_or(u64::MAX);
        Ok(skipped)
    }

    /// Returns how many steps were added so far.
    pub fn steps(&self) -> u64 {
        self.spool.lock().journal.jobs.steps
    }

    /// Returns the metadata of the file, which becomes the journal.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.spool.lock().journal.file.metadata()
    }

    /// Puts all groups in order, the deepest first, adds what planning left, and brings the journal to the medium.
    ///
    /// # Errors
    /// As for [`Draft::create`]; nothing was done to the tree then.
    pub fn commit(self, unplanned: Unplanned) -> Result<Journal, JournalError> {
        let io = JournalError::io("write the journal");
        let Spool {
            file, mut journal, ..
        } = self.spool.into_inner();
        let draft = self.path;
        let spool = file.into_inner();
        let spool = spool.map_err(|error| io(error.into_error()))?;
        let jobs = &mut journal.jobs;
        let mut batch = FrameBatch::of_new_file(&journal.header.id);
        batch.push(&JournalEvent::Journal(journal.header.clone()));
        jobs.places.sort_by_key(|place| Reverse(place.depth));
        for place in &mut jobs.places {
            let json = place.read(&spool)?;
            (place.frame, place.offset) = batch.push_json(&json);
            if batch.bytes.len() >= BUFFER {
                failpoints::change(|| (&journal.file).write_all(&batch.bytes)).map_err(&io)?;
                batch.clear();
            }
        }
        let complete = JournalEvent::Complete {
            directories: jobs.jobs(),
            steps: jobs.steps,
            unplanned,
        };
        batch.push(&complete);
        failpoints::change(|| (&journal.file).write_all(&batch.bytes)).map_err(&io)?;
        let tail = journal.tail.get_mut();
        (tail.size, tail.next_frame) = (batch.end(), batch.next);
        tail.state.take(&complete);
        failpoints::change(|| journal.file.sync_all()).map_err(&io)?;
        let named = failpoints::change(|| Ok(draft.persist_noclobber(&journal.path)?));
        named.map_err(|error| match error.raw_os_error() {
            Some(libc::EEXIST) => JournalError::Exists(journal.path.clone()),
            _ => io(error),
        })?;
        let directory = File::open(parent(&journal.path)).map_err(&io)?;
        failpoints::change(|| directory.sync_all()).map_err(&io)?;
        Ok(journal)
    }
}

/// Returns the header of a journal of the tree below `root`.
fn header_of(request: &JournalRequest<'_>, root: &OwnedFd) -> Result<JournalHeader, JournalError> {
    let looked = JournalError::io("look at the tree");
    Ok(JournalHeader {
        version: VERSION,
        id: random_id().map_err(JournalError::io("write the journal"))?,
        created: time_after(request.after),
        root: Name::from(request.tree),
        options: request.options.to_owned(),
        origin: request.origin,
        digest: request.digest.clone(),
        to: request.to,
        tree: identity_of(root).map_err(&looked)?,
        mtime: Stat::of(root).map_err(&looked)?.mtime,
    })
}

/// Returns the present, in microseconds as it is written; if the clock was set back, the first microsecond after that time.
fn time_after(earlier: Option<Time>) -> Time {
    let now = Timestamp::now();
    let now = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
    let next = earlier.and_then(|earlier| {
        let microsecond = earlier.0.as_microsecond().checked_add(1)?;
        Timestamp::from_microsecond(microsecond).ok()
    });
    Time(next.map_or(now, |next| next.max(now)))
}

/// Does the name still lead to the file?
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let (is, named) = (file.metadata()?, path.symlink_metadata());
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (is.dev(), is.ino())))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns an id that no other journal has, in hex digits.
fn random_id() -> io::Result<String> {
    let mut id = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}
