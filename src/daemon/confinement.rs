//! Confining the process of a mount or a guard, with a helper process for what it cannot do any more.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::thread::CapabilitySet;

use super::auditor::SinkKind;
use super::mount_config::Checked;
use super::mount_policy::PolicySource;
use crate::fuse::mounting::{Attached, UnmountOutcome};
use crate::os::helper::{Answer, Errand, Errands};
use crate::os::sandbox;
use crate::os::{self, Privilege};

/// Gives up all that serving does not take, but for the capabilities `kept`, and leaves reading the policy to the helper process.
/// That also unmounts what is `attached`, if anything is. `among_all` is as for [`sandbox::confine`].
///
/// # Errors
/// Those of [`sandbox::confine`].
pub fn confine(
    checked: &mut Checked,
    attached: Option<&Attached>,
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
        match (errand, attached, &checked.policy) {
            (Errand::Command, ..) => Ok(text(os::command_of(pid))),
            (Errand::Status, ..) => os::status_of(pid).map(text),
            (Errand::Unmount, Some(mount), _) => mount.spot.unmount().map(outcome),
            (Errand::Detach, Some(mount), _) => mount.spot.detach().map(outcome),
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
        cutter: attached.and_then(Attached::cutter),
    };
    sandbox::confine(&errands, privilege, among_all, kept)?;
    if let Some(policy) = &mut checked.policy {
        policy.release();
    }
    Ok(())
}
