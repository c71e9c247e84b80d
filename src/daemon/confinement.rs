//! Confining the process of a mount or a guard, with a helper process for what it cannot do any more.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::thread::CapabilitySet;

use super::auditor::{self, SYSLOG, SinkKind};
use super::fuse_mount::{Attached, Spot, UnmountOutcome};
use super::mount_config::Checked;
use super::mount_policy::PolicySource;
use super::start_error::reason;
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
    let outside = Outside {
        spot: attached.map(|attached| &attached.spot),
        log: &checked.audit.sink,
        policy: checked.policy.as_ref(),
        cutter: attached.and_then(Attached::cutter),
    };
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
    /// What is mounted where; `None` for a guard.
    spot: Option<&'a Spot>,
    /// Where offences are logged.
    log: &'a SinkKind,
    /// The policy file, if there is one.
    policy: Option<&'a PolicySource>,
    /// What cuts the connection to the kernel, if that can be had.
    cutter: Option<BorrowedFd<'a>>,
}

impl Errands for Outside<'_> {
    fn run(&self, errand: Errand) -> io::Result<Answer> {
        let outcome = |outcome: UnmountOutcome| (vec![outcome as u8], None);
        let opened = |descriptor| (Vec::new(), Some(descriptor));
        match (errand, self.spot, self.policy) {
            (Errand::Unmount, Some(spot), _) => spot.unmount().map(outcome),
            (Errand::Detach, Some(spot), _) => spot.detach().map(outcome),
            (Errand::OpenLog, ..) => self.log.open_log().map(opened),
            (Errand::ConnectSyslog, ..) => auditor::connect(SYSLOG.as_ref()).map(opened),
            (Errand::ReadPolicy, _, Some(policy)) => {
                Ok((serde_json::to_vec(&policy.text())?, None))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn policy_directory(&self) -> Option<BorrowedFd<'_>> {
        self.policy.and_then(PolicySource::descriptor)
    }

    fn cutter(&self) -> Option<BorrowedFd<'_>> {
        self.cutter
    }
}
