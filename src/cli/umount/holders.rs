//! Which processes hold something on a mount, or serve it: what is told to fuser(1) and lsof(8), by `/proc`. The mount is not asked.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::fuse::mounting::Spot;
use crate::fuse::status_query::ASKER;
use crate::names::Quoted;

/// Most processes that are named; the rest is counted.
const NAMED: usize = 5;

/// Returns the processes that hold something at or below `point`, an absolute path without symlinks, each in a few
/// words. The last entry may be the number of others. Sees only what this user may look at; this process is no
/// holder, nor is one that waits for the status.
pub(super) fn of(point: &Path) -> Vec<String> {
    let ourselves = rustix::process::getpid().as_raw_pid();
    let others = processes().filter(|(pid, process)| *pid != ourselves && holds(process, point));
    let others = others.map(|(pid, process)| {
        let command = fs::read(process.join("comm")).unwrap_or_default();
        (pid, command.trim_ascii_end().to_vec())
    });
    let mut holders: Vec<_> = others
        .filter(|(_, command)| command != ASKER.to_bytes())
        .collect();
    holders.sort();
    shown(&holders)
}

/// Opens the daemon of a mount and its helper processes, which have the file open that aborts the connection.
pub(super) fn daemon(spot: &Spot) -> Vec<OwnedFd> {
    let abort = spot.abort_file();
    let serving = processes().filter_map(|(pid, process)| {
        // Before its files are looked at: a process that gets the number later is not meant.
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        let is_daemon = links(process.join("fd")).any(|link| link.ends_with(&abort));
        is_daemon.then_some(pidfd)
    });
    serving.collect()
}

/// The processes, with their directories.
fn processes() -> impl Iterator<Item = (i32, PathBuf)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

/// The targets of the links in a directory.
fn links(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    let links = fs::read_dir(folder).into_iter().flatten().flatten();
    links.filter_map(|link| fs::read_link(link.path()).ok())
}

fn shown(holders: &[(i32, Vec<u8>)]) -> Vec<String> {
    let named = holders.iter().take(NAMED);
    let mut shown: Vec<String> = named
        .map(|(pid, command)| format!("process {pid} ({})", Quoted(command)))
        .collect();
    if let Some(others @ 1..) = holders.len().checked_sub(NAMED) {
        shown.push(format!("{others} others"));
    }
    shown
}

/// Compares the texts of its links, which the kernel makes without asking the filesystem.
fn holds(process: &Path, point: &Path) -> bool {
    let folders = [".", "fd", "map_files"].iter();
    let mut links = folders.flat_map(|folder| links(process.join(folder)));
    links.any(|target| {
        // It says so of an open file whose name is gone.
        let target = target.as_os_str().as_bytes();
        let target = target.strip_suffix(b" (deleted)").unwrap_or(target);
        Path::new(std::ffi::OsStr::from_bytes(target)).starts_with(point)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_holders_are_counted() {
        let some = |count| -> Vec<_> { (0..count).map(|pid| (pid, b"a\n\xFF".to_vec())).collect() };
        assert_eq!(shown(&some(1)), [r#"process 0 ("a\n\xFF")"#]);
        assert_eq!(shown(&some(5)).len(), 5);
        assert_eq!(shown(&some(7))[5], "2 others");
    }

    #[test]
    fn who_works_in_a_directory_or_has_a_file_open_is_found() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("d");
        fs::create_dir(&inside).unwrap();
        let start = |program: &Path| {
            let mut command = std::process::Command::new(program);
            let command = command.current_dir(&inside);
            command.stdin(std::process::Stdio::piped()).spawn().unwrap()
        };
        let mut child = start(Path::new("cat"));
        // Nobody can end a process that waits for a status.
        let asker = place.path().join(ASKER.to_str().unwrap());
        std::os::unix::fs::symlink("/bin/cat", &asker).unwrap();
        let mut asker = start(&asker);
        let point = place.path().canonicalize().unwrap();
        let found = of(&point);
        let nobody = of(&point.join("d/none"));
        for process in [&mut child, &mut asker] {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
        assert_eq!(found, [format!("process {} (\"cat\")", child.id())]);
        assert!(nobody.is_empty());
    }
}
