//! The temporary directory and the mounts in it, which are gone whatever happens.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tempfile::TempDir;

use super::{OldName, failed};
use crate::cli::CliError;
use crate::cli::error::reason;
use crate::daemon::mount::{FS_TYPE, already_mounted};
use crate::names::Quoted;

/// Name of the audit log.
pub(super) const AUDIT_LOG: &str = "audit.log";
/// How long a mount may take to come or to go; on a busy machine that can be many seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// What helps most who cannot mount.
const HINT: &str = "mounting takes /dev/fuse, and root or fusermount3; a container needs --device /dev/fuse --cap-add SYS_ADMIN";

/// A temporary directory with what the demo needs in it. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Stage {
    directory: TempDir,
    /// Its path, without symlinks.
    root: PathBuf,
    mountpoint: PathBuf,
}

impl Stage {
    /// Makes the directory, with empty ones in it.
    pub(super) fn set() -> Result<Self, CliError> {
        let directory = tempfile::Builder::new()
            .prefix("utf8fs-demo-")
            .tempdir()
            .map_err(|error| not_made(&error))?;
        let root = directory
            .path()
            .canonicalize()
            .map_err(|error| not_made(&error))?;
        let mountpoint = root.join("mnt");
        let stage = Self {
            directory,
            root,
            mountpoint,
        };
        for path in [&stage.mountpoint, &stage.old(), &stage.new_files()] {
            fs::create_dir(path).map_err(|error| not_made(&error))?;
        }
        Ok(stage)
    }

    /// The directory of old names.
    pub(super) fn old(&self) -> PathBuf {
        self.root.join("old")
    }

    /// An empty directory.
    pub(super) fn new_files(&self) -> PathBuf {
        self.root.join("new")
    }

    /// Where it is mounted.
    pub(super) fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// What is in the audit log. Complete when the mount has ended.
    pub(super) fn audit_log(&self) -> Result<String, CliError> {
        fs::read_to_string(self.root.join(AUDIT_LOG))
            .map_err(|error| failed("read the audit log", &error))
    }

    /// Makes the files.
    pub(super) fn make(&self, names: &[OldName]) -> Result<(), CliError> {
        for name in names {
            let directory = self.old().join(name.directory);
            fs::create_dir_all(&directory).map_err(|error| not_made(&error))?;
            let path = directory.join(OsStr::from_bytes(&name.bytes));
            fs::write(path, name.content()).map_err(|error| {
                let what = format!("cannot make {}: {}", Quoted(&name.bytes), reason(&error));
                CliError::failure(what).hint(
                    "set TMPDIR to a directory that takes any name: on ext4, xfs, btrfs or tmpfs",
                )
            })?;
        }
        Ok(())
    }

    /// Are the files as they were made, and no others there?
    pub(super) fn is_unchanged(&self, names: &[OldName]) -> bool {
        names.iter().all(|name| {
            let directory = self.old().join(name.directory);
            let siblings = names
                .iter()
                .filter(|other| other.directory == name.directory);
            let count = fs::read_dir(&directory).map_or(0, Iterator::count);
            let content = fs::read(directory.join(OsStr::from_bytes(&name.bytes)));
            count == siblings.count()
                && content.is_ok_and(|content| content == name.content().as_bytes())
        })
    }

    /// Runs `utf8fs mount` with `args` in the directory, and waits until the mount is there.
    pub(super) fn mount(&self, args: &[&str]) -> Result<Mount<'_>, CliError> {
        let table =
            File::open("/proc/self/mountinfo").map_err(|error| failed("see mounts", &error))?;
        let mut child = Command::new("/proc/self/exe")
            .arg0("utf8fs")
            .arg("mount")
            .args(args)
            .current_dir(&self.root)
            // An interrupt at the terminal is for us; we end the mount.
            .process_group(0)
            .env_remove("UTF8FS_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed("run utf8fs mount", &error))?;
        let talk = child.stderr.take();
        let mut mount = Mount {
            child,
            talk,
            mountpoint: &self.mountpoint,
        };
        mount.wait(&table)?;
        Ok(mount)
    }

    /// Removes the directory.
    pub(super) fn clear(self) -> Result<(), CliError> {
        self.directory.close().map_err(|error| {
            let root = Quoted(self.root.as_os_str().as_bytes());
            failed(&format!("remove {root}"), &error)
                .hint("unmount what is mounted there, and remove it by hand")
        })
    }
}

fn not_made(error: &io::Error) -> CliError {
    failed("make a temporary directory", error)
        .hint("set TMPDIR to a directory that you may write to")
}

/// A mount and the process that serves it. Dropped, both are ended.
#[derive(Debug)]
pub(super) struct Mount<'a> {
    child: Child,
    /// Kept open, so that it can talk to the end.
    talk: Option<ChildStderr>,
    mountpoint: &'a Path,
}

impl Mount<'_> {
    /// Waits until the mount is in the `table` of mounts. The process has ended when nobody holds its stderr.
    fn wait(&mut self, table: &File) -> Result<(), CliError> {
        let deadline = Instant::now() + PATIENCE;
        let mut said = Vec::new();
        while !self.is_mounted() {
            let Some(talk) = &mut self.talk else {
                return Err(refusal(&said));
            };
            let ready = {
                let mut events = [
                    PollFd::new(&*talk, PollFlags::IN),
                    PollFd::new(table, PollFlags::PRI),
                ];
                match poll(&mut events, Some(&left(deadline))) {
                    Ok(0) => {
                        return Err(CliError::failure("the mount does not come").hint(HINT));
                    }
                    // The page notices the signal, once the mount is there.
                    Err(Errno::INTR) => continue,
                    result => {
                        result.map_err(|errno| failed("wait for the mount", &errno.into()))?
                    }
                };
                !events[0].revents().is_empty()
            };
            if ready {
                let mut chunk = [0; 4096];
                let count = talk
                    .read(&mut chunk)
                    .map_err(|error| failed("hear utf8fs mount", &error))?;
                said.extend(chunk.iter().take(count));
                if count == 0 {
                    self.talk = None;
                }
            }
        }
        Ok(())
    }

    /// Ends it as Ctrl-C would, and waits until it has ended.
    pub(super) fn end(mut self) -> Result<(), CliError> {
        let ended = self
            .stop()
            .map_err(|error| failed("end the mount", &error))?;
        if ended.success() {
            return Ok(());
        }
        Err(CliError::failure(format!(
            "utf8fs mount ended with {ended}"
        )))
    }

    /// Has the process unmount and exit; twice, then by force. Does nothing where it has exited.
    fn stop(&mut self) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&self.child);
        for _ in 0..2 {
            if let Some(ended) = self.child.try_wait()? {
                return Ok(ended);
            }
            let process = pidfd_open(pid, PidfdFlags::empty())?;
            kill_process(pid, Signal::TERM)?;
            let deadline = Instant::now() + PATIENCE;
            loop {
                let mut events = [PollFd::new(&process, PollFlags::IN)];
                match poll(&mut events, Some(&left(deadline))) {
                    Ok(0) => break,
                    Ok(_) => return self.child.wait(),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        self.child.kill()?;
        self.child.wait()
    }

    fn is_mounted(&self) -> bool {
        already_mounted(self.mountpoint)
            .is_ok_and(|mount| mount.is_some_and(|mount| mount.fs_type == FS_TYPE.as_bytes()))
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            log::warn!("the mount cannot be ended: {error}");
        }
        if self.is_mounted()
            && let Err(error) = detach(self.mountpoint)
        {
            let path = Quoted(self.mountpoint.as_os_str().as_bytes());
            log::warn!("{path} stays mounted: {error}");
        }
    }
}

/// Takes a dead mount away, which its process left behind.
fn detach(mountpoint: &Path) -> io::Result<()> {
    let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    match rustix::mount::unmount(mountpoint, flags) {
        Err(Errno::PERM) => {}
        done => return Ok(done?),
    }
    let status = Command::new("fusermount3")
        .args(["-uz", "--"])
        .arg(mountpoint)
        .stderr(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(ErrorKind::PermissionDenied.into()),
    }
}

fn left(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec::try_from(left).unwrap_or_default()
}

/// The error of a mount that did not come, from what it said.
fn refusal(said: &[u8]) -> CliError {
    let said = std::str::from_utf8(said).unwrap_or_default();
    let line = |start| said.lines().find_map(|line| line.strip_prefix(start));
    let error = line("error: ").unwrap_or("utf8fs mount ended and did not say why");
    CliError::failure(error).hint(line("hint: ").unwrap_or(HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mount_is_handed_on_with_a_hint() {
        let rows = [
            ("", "utf8fs mount ended and did not say why", HINT),
            ("utf8fs: warn: x\nerror: no FUSE\n", "no FUSE", HINT),
            (
                "error: no FUSE\nhint: modprobe fuse\n",
                "no FUSE",
                "modprobe fuse",
            ),
        ];
        for (said, message, hint) in rows {
            let error = refusal(said.as_bytes());
            assert_eq!(
                (error.message.as_str(), error.hint.as_deref()),
                (message, Some(hint))
            );
        }
    }
}
