//! The status of a guard: a file in memory that it writes each second, and `utf8fs status` reads.
//!
//! The guard holds a lock of the file while it lives, and leaves it empty at its end.

use std::fs::{DirBuilder, File};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::guarded::Guarded;
use crate::backing::fanotify;
use crate::backing::{Dir, LockKind, Stat, lock};
use crate::fs::audit::AuditLog;
use crate::names::Quoted;
use crate::records::{GuardStatus, NoAnswer, NoStatus, json_line, whole_milliseconds};

/// The directory of the status files.
const PLACE: &str = "/run/utf8fs";

/// The file of a guard.
#[derive(Debug)]
pub(super) struct StatusFile(File);

fn path_of(directory: impl AsFd) -> io::Result<PathBuf> {
    let stat = Stat::of(directory)?;
    Ok(Path::new(PLACE).join(format!("guard-{}-{}.json", stat.dev, stat.ino)))
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
        let file = options.open(path_of(directory)?)?;
        match lock::flock(&file, Some(LockKind::Write))? {
            true => Ok(Self(file)),
            false => Err(io::Error::from_raw_os_error(libc::EBUSY)),
        }
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
            let line = json_line(&status) + "\n";
            let length = u64::try_from(line.len()).unwrap_or(0);
            let written = self.0.write_all_at(line.as_bytes(), 0);
            if let Err(error) = written.and_then(|()| self.0.set_len(length)) {
                log::warn!("the status cannot be written: {error}");
                return;
            }
            if fanotify::pause(end, Duration::from_secs(1)).unwrap_or(true) {
                // A guard that was killed leaves what it wrote.
                self.0.set_len(0).ok();
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
        Ok(Some((_, true))) => Err(NoStatus::new(
            NoAnswer::Dead,
            format!("the guard of {shown} is gone"),
            "start it again: what was made meanwhile is found then",
        )),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => Err(NoStatus::new(
            NoAnswer::Denied,
            format!("the guard of {shown}: permission denied: only root may ask"),
            "ask as root",
        )),
        found => Ok(found.unwrap_or_default().map(|(status, _)| status)),
    }
}

/// Reads the status that a guard wrote last, and whether that guard is dead.
fn read(directory: &Path) -> io::Result<Option<(GuardStatus, bool)>> {
    let path = path_of(Dir::open_root(directory)?)?;
    // It may be being written just now.
    for _ in 0..10 {
        let mut file = File::open(&path)?;
        let is_dead = lock::flock(&file, Some(LockKind::Read))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        match serde_json::from_slice(&text) {
            Ok(status) => return Ok(Some((status, is_dead))),
            Err(_) if text.is_empty() && is_dead => break,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(None)
}
