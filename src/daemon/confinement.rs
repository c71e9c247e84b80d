//! Confining the process of a mount or a guard, with a helper process for what it cannot do any more.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::thread::CapabilitySet;

use super::auditor::{self, SYSLOG};
use super::command_error::reason;
use super::fuse_mount::{Attached, UnmountOutcome};
use super::mount_config::Checked;
use crate::os::Privilege;
use crate::os::helper::{Answer, Errand, Errands};
use crate::os::sandbox::{self, Setting};

/// Gives up all that serving does not take, but for the capabilities `kept`, and leaves reading the policy to the helper process.
/// That also unmounts what is `attached`, if anything is.
///
/// # Errors
/// Those of [`sandbox::confine`].
pub fn confine(
    checked: &mut Checked,
    attached: Option<&Attached>,
    privilege: Privilege,
    setting: Setting,
    kept: CapabilitySet,
) -> io::Result<()> {
    let outside = Outside { checked, attached };
    let confined = sandbox::confine(&outside, privilege, setting, kept)?;
    log::debug!("sandbox: {}", confined.holds.join(", "));
    if !confined.lacks.is_empty() {
        let lacks = confined.lacks.iter();
        let lacks: Vec<String> = lacks
            .map(|(piece, error)| format!("{piece} ({})", reason(error)))
            .collect();
        log::warn!(
            "the sandbox is weaker than it should be; this system lacks: {}",
            lacks.join(", ")
        );
    }
    if let Some(policy) = &mut checked.policy {
        policy.release();
    }
    Ok(())
}

/// The errands of the helper process, which has one descriptor of the daemon's: no other may be used by these.
#[derive(Debug)]
struct Outside<'a> {
    /// The audit log, and the policy file, if there is one.
    checked: &'a Checked,
    /// The mount; `None` for a guard.
    attached: Option<&'a Attached>,
}

impl Errands for Outside<'_> {
    fn run(&self, errand: Errand) -> io::Result<Answer> {
        let outcome = |outcome: UnmountOutcome| (vec![outcome as u8], None);
        let opened = |descriptor| (Vec::new(), Some(descriptor));
        match (errand, self.attached, &self.checked.policy) {
            (Errand::Unmount, Some(mount), _) => mount.spot.unmount().map(outcome),
            (Errand::Detach, Some(mount), _) => mount.spot.detach().map(outcome),
            (Errand::OpenLog, ..) => self.checked.audit.sink.open_log().map(opened),
            (Errand::ConnectSyslog, ..) => auditor::connect(SYSLOG.as_ref()).map(opened),
            (Errand::ReadPolicy, _, Some(policy)) => {
                Ok((serde_json::to_vec(&policy.text())?, None))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn policy_directory(&self) -> Option<BorrowedFd<'_>> {
        self.checked.policy.as_ref()?.descriptor()
    }

    fn cutter(&self) -> Option<BorrowedFd<'_>> {
        self.attached?.cutter()
    }
}
