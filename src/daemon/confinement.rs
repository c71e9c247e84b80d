//! Confining the process of a mount or a guard, with a helper process for what it cannot do any more.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, MemfdFlags, memfd_create, unlinkat};
use rustix::thread::CapabilitySet;

use super::auditor::SinkKind;
use super::mount_config::Checked;
use super::mount_policy::PolicySource;
use crate::fuse::mounting::{Attached, UnmountOutcome};
use crate::os::helper::{Answer, Errand, Errands};
use crate::os::sandbox;
use crate::os::{self, Privilege};

/// What a daemon has put outside of its own root, for the helper process to take away.
#[derive(Debug, Clone, Copy)]
pub enum Outside<'o> {
    /// A mount.
    Mount(&'o Attached),
    /// The file of a guard's status, by its path.
    StatusFile(&'o Path),
}

/// Gives up all that serving does not take, but for the capabilities `kept`, and leaves reading the policy to the helper process.
/// That also takes away what is `outside`. `among_all` is as for [`sandbox::confine`].
///
/// # Errors
/// Those of [`sandbox::confine`].
pub fn confine(
    checked: &mut Checked,
    outside: Outside<'_>,
    privilege: Privilege,
    among_all: bool,
    kept: CapabilitySet,
) -> io::Result<()> {
    // In the helper process, which has one descriptor of the daemon's: no other may be used.
    let run = |errand, pid| {
        let text = |text: Vec<u8>| Answer { text, opened: None };
        let outcome = |outcome: UnmountOutcome| text(vec![outcome as u8]);
        let opened = |descriptor: OwnedFd| Answer {
            opened: Some(descriptor),
            ..Answer::default()
        };
        match (errand, outside, &checked.policy) {
            (Errand::Command, ..) => Ok(text(os::command_of(pid))),
            (Errand::Status, ..) => os::status_of(pid).map(text),
            (Errand::Unmount, Outside::Mount(mount), _) => mount.spot.unmount().map(outcome),
            (Errand::Detach, Outside::Mount(mount), _) => mount.spot.detach().map(outcome),
            (Errand::Detach, Outside::StatusFile(path), _) => {
                unlinkat(CWD, path, AtFlags::empty())?;
                Ok(Answer::default())
            }
            (Errand::OpenLog, ..) => checked.audit.audit_log.open().map(opened),
            (Errand::ConnectSyslog, ..) => SinkKind::Syslog.open().map(opened),
            (Errand::ReadPolicy, _, Some(policy)) => {
                // It may be longer than an answer.
                let file = File::from(memfd_create(c"policy", MemfdFlags::CLOEXEC)?);
                file.write_all_at(&serde_json::to_vec(&policy.text())?, 0)?;
                Ok(opened(file.into()))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    };
    let errands = Errands {
        run: &run,
        policy_directory: checked.policy.as_ref().and_then(PolicySource::descriptor),
        cutter: match outside {
            Outside::Mount(mount) => mount.cutter(),
            Outside::StatusFile(_) => None,
        },
    };
    sandbox::confine(&errands, privilege, among_all, kept)?;
    if let Some(policy) = &mut checked.policy {
        policy.release();
    }
    Ok(())
}
