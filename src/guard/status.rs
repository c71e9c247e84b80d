//! The status of a guard: a file in memory that it writes each second, and `utf8fs status` reads.
//!
//! The guard holds a lock of the file while it lives, and removes it at its end. A guard that was killed leaves it. A second line of
//! it has the identity of the directory: another directory may get the same numbers.

use std::fs::{DirBuilder, File};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::guarded::Guarded;
use crate::backing::fanotify;
use crate::backing::{Dir, LockKind, Stat, if_there, lock};
use crate::fs::audit::AuditLog;
use crate::names::Quoted;
use crate::os::helper::{self, Errand};
use crate::records::{
    GuardStatus, InodeId, Name, NoAnswer, NoStatus, json_line, whole_milliseconds,
};

/// The directory of the status files.
const PLACE: &str = "/run/utf8fs";

/// Most times that a file is opened which another guard removes meanwhile.
const TRIES: usize = 100;

/// The file of a guard.
#[derive(Debug)]
pub(super) struct StatusFile {
    file: File,
    path: PathBuf,
    /// The directory.
    directory: InodeId,
}

/// A status as a guard wrote it last.
struct Written {
    status: GuardStatus,
    is_dead: bool,
}

fn path_of(directory: &Stat) -> PathBuf {
    let name = format!("guard-{}-{}.json", directory.dev, directory.ino);
    Path::new(PLACE).join(name)
}

impl StatusFile {
    /// Makes the file of the guard of `directory`.
    ///
    /// # Errors
    /// `EBUSY` if there is another guard of it; those of making it.
    pub(super) fn open(directory: impl AsFd) -> io::Result<Self> {
        let mut maker = DirBuilder::new();
        maker.recursive(true).mode(0o755).create(PLACE)?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let directory = Stat::of(directory)?;
        let path = path_of(&directory);
        let busy = || io::Error::from_raw_os_error(libc::EBUSY);
        for _ in 0..TRIES {
            let file = options.open(&path)?;
            if !lock::flock(&file, Some(LockKind::Write))? {
                return Err(busy());
            }
            // Else a guard has removed it at its end just now.
            if is_named(&file, &path)? {
                let directory = InodeId::of(&directory);
                return Ok(Self {
                    file,
                    path,
                    directory,
                });
            }
        }
        Err(busy())
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, by the helper process if there is one: from a root of our own no path leads there.
    ///
    /// # Errors
    /// Those of unlinkat(2), and of the helper process.
    pub(super) fn remove(&self) -> io::Result<()> {
        let removed = helper::text(Errand::Detach, 0).map(|removed| removed.map(drop));
        removed.unwrap_or_else(|| std::fs::remove_file(&self.path))
    }

    /// Writes the status each second until `end` can be read or its other side is closed.
    pub(super) fn write_all(&self, guarded: &Guarded, end: &PipeReader) {
        let start = Instant::now();
        loop {
            let counts = guarded.auditor.counts();
            let status = GuardStatus {
                uptime_seconds: whole_milliseconds(start.elapsed()),
                waiting: u64::try_from(guarded.pending.count()).unwrap_or(u64::MAX),
                offences: counts.rules(),
                verdicts: counts.by_verdict(),
                audit_records: counts.records,
                ..guarded.status.lock().clone()
            };
            let text = format!("{}\n{}\n", json_line(&status), json_line(&self.directory));
            let length = u64::try_from(text.len()).unwrap_or(0);
            let written = self.file.write_all_at(text.as_bytes(), 0);
            if let Err(error) = written.and_then(|()| self.file.set_len(length)) {
                log::warn!("the status cannot be written: {error}");
                return;
            }
            if fanotify::pause(end, Duration::from_secs(1)).unwrap_or(true) {
                return;
            }
        }
    }
}

/// Reads the status of the guard of a directory; `None` if there is no guard, or nothing to be known of one.
///
/// # Errors
/// The guard was killed, or only root may ask.
pub fn find(directory: &Path) -> Result<Option<GuardStatus>, NoStatus> {
    let shown = Quoted::of(directory);
    match read(directory) {
        Ok(Some(Written { is_dead: true, .. })) => Err(NoStatus::new(
            NoAnswer::Dead,
            format!("the guard of {shown} is gone"),
            "start it again: what was made meanwhile is found then",
        )),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => Err(NoStatus::new(
            NoAnswer::Denied,
            format!("the guard of {shown}: permission denied: only root may ask"),
            "ask as root",
        )),
        found => Ok(found.unwrap_or_default().map(|written| written.status)),
    }
}

/// Reads the status that a guard of this very directory wrote last.
fn read(directory: &Path) -> io::Result<Option<Written>> {
    let stat = Stat::of(Dir::open_root(directory)?)?;
    let path = path_of(&stat);
    // It may be being written just now.
    for _ in 0..10 {
        let mut file = File::open(&path)?;
        let is_dead = lock::flock(&file, Some(LockKind::Read))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let mut lines = text.split(|&byte| byte == b'\n');
        let status = lines.next().map(serde_json::from_slice::<GuardStatus>);
        let written_for = lines.next().map(serde_json::from_slice::<InodeId>);
        match (status, written_for) {
            // A guard that lives has its directory open: no other has its numbers.
            (Some(Ok(status)), Some(Ok(of))) => {
                let is_it = !is_dead || of.is(&stat) && is_same_path(&of, &status, directory);
                return Ok(is_it.then_some(Written { status, is_dead }));
            }
            _ if is_dead => break,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(None)
}

/// Was a guard killed in a directory of that path? Only that tells where the filesystem keeps no times of birth.
fn is_same_path(of: &InodeId, status: &GuardStatus, directory: &Path) -> bool {
    let is_path = || directory.canonicalize().map(|path| Name::of_path(&path));
    of.born.is_some() || is_path().is_ok_and(|path| path == status.directory)
}

/// Does the path lead to the file?
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let (open, named) = (file.metadata()?, if_there(path.symlink_metadata())?);
    Ok(named.is_some_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
}
