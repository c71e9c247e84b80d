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
use tempfile::TempPath;

use super::frames::{VERSION, preamble};
use super::job_index::JobIndex;
use super::journal_error::JournalError;
use super::journal_file::{Journal, Tail};
use super::skipped::Skipped;
use crate::backing::{LockKind, Stat, lock};
use crate::records::{JournalEvent, JournalHeader, Name, Unplanned, json_line};
use crate::tree::change::{InodeId, Job};
use crate::tree::failpoints;
use crate::tree::plan::DirectoryPlan;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

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
    /// Starts the journal of a migration of the tree below `root`, an open directory (`O_PATH` will do) whose absolute path is `tree`,
    /// with options in words for people, such as `--from koi8-r`. It will lie
    /// at `path`, in an existing directory. Until [`Draft::commit`] there is a file `path.draft` only, which
    /// overwrites one that a killed run left.
    ///
    /// # Errors
    /// [`JournalError::Exists`], [`JournalError::Busy`] if another process drafts it, [`JournalError::ReadOnly`] of the tree,
    /// [`JournalError::Io`].
    pub fn create(
        path: &Path,
        root: &OwnedFd,
        tree: &[u8],
        options: &str,
    ) -> Result<Self, JournalError> {
        let io = JournalError::io("write the journal");
        let looked = JournalError::io("look at the tree");
        let root = root.try_clone().map_err(&looked)?;
        JournalError::refuse_read_only(&root)?;
        let stat = Stat::of(&root).map_err(&looked)?;
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
        let header = JournalHeader {
            version: VERSION,
            id: random().map_err(&io)?,
            created: format!("{:.0}", Timestamp::now()),
            root: Name::from(tree),
            options: options.to_owned(),
            inode: InodeId::of(&stat),
            mtime: stat.mtime,
        };
        let spool = tempfile::tempfile_in(parent(path)).map_err(&io)?;
        let spool = Spool {
            file: BufWriter::with_capacity(BUFFER, spool),
            size: 0,
            journal: Journal {
                path: path.into(),
                file,
                header,
                jobs: JobIndex::default(),
                tail: Mutex::new(Tail::default()),
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
        let offset = spool.size;
        spool.journal.jobs.add(&job, offset, json.len());
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
        let (jobs, Tail { seal, state, .. }) = (&mut journal.jobs, journal.tail.get_mut());
        let mut out = preamble();
        seal.push(&JournalEvent::Journal(journal.header.clone()), &mut out);
        jobs.places.sort_by_key(|place| Reverse(place.depth));
        for place in &mut jobs.places {
            let json = place.read(&spool)?;
            place.offset = seal.push_json(&json, &mut out);
            if out.len() >= BUFFER {
                failpoints::change(|| (&journal.file).write_all(&out)).map_err(&io)?;
                out.clear();
            }
        }
        let complete = JournalEvent::Complete {
            directories: jobs.jobs(),
            steps: jobs.steps,
            unplanned,
        };
        seal.push(&complete, &mut out);
        state.take(&complete);
        failpoints::change(|| (&journal.file).write_all(&out)).map_err(&io)?;
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
fn random() -> io::Result<String> {
    let mut id = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}
