//! Reading the policy again while it is mounted.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use parking_lot::Mutex;

use super::effective_options::{self, policy_status};
use super::mount_config::MountConfig;
use super::mount_policy::ResolvedPolicy;
use crate::fs::Utf8Fs;
use crate::fuse::status::Told;
use crate::names::Quoted;
use crate::records::{PolicyFault, PolicyStatus, Time};

/// Most faults of one reading that are told.
const MOST_TOLD: usize = 16;

/// Has the policy read anew, by a thread of its own: a file may lie where reading waits.
#[derive(Debug)]
pub(super) struct Reloader(SyncSender<()>);

impl Reloader {
    /// Starts the thread, where there is a policy file. It ends with the process.
    ///
    /// # Errors
    /// There are too many threads.
    pub(super) fn start(
        config: &MountConfig,
        fs: &Arc<Utf8Fs>,
        told: &Arc<Mutex<Told>>,
    ) -> io::Result<Option<Self>> {
        if config.policy.is_none() {
            return Ok(None);
        }
        let mut mounted = Mounted {
            resolved: config.resolved.clone(),
            config: config.clone(),
            fs: Arc::clone(fs),
            told: Arc::clone(told),
        };
        let (knock, knocks) = sync_channel(1);
        thread::Builder::new()
            .name("policy".to_owned())
            .spawn(move || {
                while knocks.recv().is_ok() {
                    mounted.reload();
                }
            })?;
        Ok(Some(Self(knock)))
    }

    /// Has it read anew; once more if it is being read just now. Returns at once.
    pub(super) fn knock(&self) {
        // One that waits already will see the file as it is now.
        self.0.try_send(()).ok();
    }
}

struct Mounted {
    resolved: ResolvedPolicy,
    config: MountConfig,
    fs: Arc<Utf8Fs>,
    told: Arc<Mutex<Told>>,
}

impl Mounted {
    fn reload(&mut self) {
        let faults = match self.read() {
            Ok(resolved) => {
                self.put_in_force(resolved);
                return;
            }
            Err(faults) => faults,
        };
        // Before it is logged: who reads the log and then asks is told of it.
        let first = faults.get(..MOST_TOLD).unwrap_or(&faults);
        self.tell(first);
        for fault in first {
            log::error!("policy: {fault}");
        }
        if faults.len() > MOST_TOLD {
            log::error!("policy: and {} more", faults.len() - MOST_TOLD);
        }
        log::error!("the policy was not reloaded: the previous one stays in force");
    }

    /// Has it told that these were in the way of the last reading.
    fn tell(&self, faults: &[String]) {
        let mut told = self.told.lock();
        if let Some(policy) = &mut told.policy {
            policy.failed_reloads += 1;
            policy.fault = Some(PolicyFault {
                time: Time::now(),
                lines: faults.to_vec(),
            });
        }
    }

    /// The policy as it is in its file now, or a line for each reason why it cannot be put in force.
    fn read(&self) -> Result<ResolvedPolicy, Vec<String>> {
        let Some(source) = &self.config.policy else {
            return Err(Vec::new());
        };
        let (policy, resolved) = source.reload()?;
        let faults = self
            .resolved
            .remount_faults(&resolved, &policy, self.config.background);
        if faults.is_empty() {
            Ok(resolved)
        } else {
            Err(faults)
        }
    }

    fn put_in_force(&mut self, resolved: ResolvedPolicy) {
        let sections = resolved.rules.sections().len();
        self.fs.replace_rules(resolved.rules.clone());
        self.config.resolved.rules = resolved.rules;
        let options = effective_options::options(&self.config);
        let mut told = self.told.lock();
        let before = told.policy.take();
        *told = Told {
            options: Some(options),
            policy: policy_status(&self.config).map(|policy| PolicyStatus {
                reloads: before.as_ref().map_or(0, |before| before.reloads) + 1,
                failed_reloads: before.map_or(0, |before| before.failed_reloads),
                ..policy
            }),
        };
        drop(told);
        if let Some(source) = &self.config.policy {
            let file = Quoted(source.path.as_os_str().as_bytes());
            log::info!("the policy {file} was reloaded and is in force; sections: {sections}");
        }
    }
}
