//! A journal in the making.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::mem;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::frames::{Seal, VERSION, preamble};
use super::job::{Totals, Unplanned};
use super::journal_error::JournalError;
use super::journal_file::{Journal, Place, Tail, unlock};
use super::renamed_dirs::RenamedDirs;
use super::skipped::{Skipped, is_unable};
use super::state::State;
use super::verify::verify;
use crate::backing::{Dir, LockKind, Stat, lock};
use crate::names::BackingName;
use crate::records::{JournalEvent, JournalHeader, Name, push_json};
use crate::tree::change::{Change, InodeId, TreePath};
use crate::tree::failpoints;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

/// A journal in the making. Groups may be added by several threads at a time.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    /// The path until it is whole; `None` afterwards.
    draft: Option<PathBuf>,
    file: File,
    root: OwnedFd,
    header: JournalHeader,
    spool: Mutex<Spool>,
}

/// The groups, in the order in which they came, in a file without a name.
#[derive(Debug)]
struct Spool {
    file: BufWriter<File>,
    size: u64,
    groups: Vec<Place>,
    totals: Totals,
    renamed_dirs: RenamedDirs,
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
        let mut draft = path.as_os_str().to_owned();
        draft.push(".draft");
        let draft = PathBuf::from(draft);
        let mut open = File::options();
        open.read(true).write(true).create(true).truncate(false);
        open.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = open.open(&draft).map_err(&io)?;
        let is_ours = lock::flock(&file, Some(LockKind::Write)).map_err(&io)?
            && is_named(&file, &draft).map_err(&io)?;
        if !is_ours {
            return Err(JournalError::Busy);
        }
        let file_size = file.metadata().map_err(&io)?.len();
        if file_size > 0 {
            failpoints::change(|| file.set_len(0)).map_err(&io)?;
        }
        let spool = Spool {
            file: BufWriter::with_capacity(
                BUFFER,
                tempfile::tempfile_in(parent(path)).map_err(&io)?,
            ),
            size: 0,
            groups: Vec::new(),
            totals: Totals::default(),
            renamed_dirs: RenamedDirs::default(),
        };
        let header = JournalHeader {
            version: VERSION,
            id: random().map_err(&io)?,
            created: format!("{:.0}", Timestamp::now()),
            root: Name::copy(tree),
            options: options.to_owned(),
            inode: InodeId::of(&stat),
            mtime: stat.mtime,
        };
        Ok(Self {
            path: path.into(),
            draft: Some(draft),
            file,
            root,
            header,
            spool: Mutex::new(spool),
        })
    }

    /// Looks at the directory of that inode number and each entry, and adds the changes that are still as planned, in their
    /// order. Returns the others, which will be left.
    ///
    /// # Errors
    /// [`JournalError::Io`], disk full among them: then the draft is of no use any more, and nothing was done to the tree.
    pub fn add(
        &self,
        directory: &TreePath,
        inode: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Skipped>, JournalError> {
        let (job, skipped) = verify(&self.root, directory, inode, changes);
        let Some(job) = job else {
            return Ok(skipped);
        };
        let mut json = Vec::new();
        push_json(&mut json, &JournalEvent::Job(Cow::Borrowed(&job)));
        let mut spool = self.spool.lock();
        let written = spool.file.write_all(&json);
        written.map_err(JournalError::io("write the journal"))?;
        let group = Place::new(&job, spool.size, json.len());
        spool.groups.push(group);
        spool.size += u64::try_from(json.len()).unwrap_or(u64::MAX);
        spool.totals.add(&job);
        spool.renamed_dirs.add(&job);
        Ok(skipped)
    }

    /// Returns how many steps were added so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.spool.lock().totals.steps
    }

    /// Returns the metadata of the file, which becomes the journal.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Puts all groups in order, the deepest first, adds what planning left, and brings the journal to the medium.
    ///
    /// # Errors
    /// As for [`Draft::create`]; nothing was done to the tree then.
    pub fn commit(mut self, unplanned: Unplanned) -> Result<Journal, JournalError> {
        let io = JournalError::io("write the journal");
        let spool = self.spool.get_mut();
        spool.file.flush().map_err(&io)?;
        let mut jobs = mem::take(&mut spool.groups);
        jobs.sort_by_key(|job| Reverse(job.depth));
        let mut out = preamble();
        let (mut seal, mut state) = (Seal::new(), State::default());
        seal.push(&JournalEvent::Journal(self.header.clone()), &mut out);
        for job in &mut jobs {
            let json = job.read(spool.file.get_ref())?;
            job.offset = seal.push_json(&json, &mut out);
            if out.len() >= BUFFER {
                failpoints::change(|| (&self.file).write_all(&out)).map_err(&io)?;
                out.clear();
            }
        }
        let (totals, renamed_dirs) = (spool.totals, mem::take(&mut spool.renamed_dirs));
        let complete = totals.complete(unplanned);
        seal.push(&complete, &mut out);
        state.take(&complete);
        failpoints::change(|| (&self.file).write_all(&out)).map_err(&io)?;
        failpoints::change(|| self.file.sync_all()).map_err(&io)?;
        self.name().map_err(|error| match error.raw_os_error() {
            Some(libc::EEXIST) => JournalError::Exists(self.path.clone()),
            _ => io(error),
        })?;
        self.draft = None;
        let tail = Tail {
            seal,
            is_torn: false,
            state,
        };
        Ok(Journal {
            path: self.path.clone(),
            file: self.file.try_clone().map_err(&io)?,
            header: self.header.clone(),
            jobs,
            totals,
            renamed_dirs,
            tail: Mutex::new(tail),
        })
    }

    /// Gives it its name, and brings that to the medium.
    fn name(&self) -> io::Result<()> {
        let Some(draft) = &self.draft else {
            return Ok(());
        };
        let dir = Dir::open_root(parent(&self.path))?;
        let (from, to) = (file_name(draft)?, file_name(&self.path)?);
        match failpoints::rename(&dir, &from, &dir, &to) {
            Err(error) if is_unable(&error) => {
                failpoints::change(|| dir.link(&self.file, &to))?;
                failpoints::change(|| dir.unlink(&from))?;
            }
            result => result?,
        }
        let directory = File::open(parent(&self.path))?;
        failpoints::change(|| directory.sync_all())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            // Should it stay, the next one overwrites it.
            drop(std::fs::remove_file(draft));
            unlock(&self.file);
        }
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

fn file_name(path: &Path) -> io::Result<BackingName> {
    let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    BackingName::parse(name).map_err(|_none| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Returns an id that no other journal has, in hex digits.
fn random() -> io::Result<String> {
    let mut id = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}
