//! Reading the policy again while it is mounted, or while a guard has it in force.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use parking_lot::Mutex;

use super::effective_options;
use super::mount_config::MountConfig;
use crate::fs::Utf8Fs;
use crate::fuse::status::Told;
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
        let Some(source) = config.checked.policy.clone() else {
            return Ok(None);
        };
        let (mut config, fs, told) = (config.clone(), Arc::clone(fs), Arc::clone(told));
        let mut reload = move || {
            let read = source.reload().and_then(|(policy, new)| {
                let old = &config.checked.resolved;
                let faults = old.remount_faults(&new, &policy, config.background);
                if !faults.is_empty() {
                    return Err(faults);
                }
                let sections = new.rules.sections().len();
                fs.replace_rules(new.rules.clone());
                config.checked.resolved.rules = new.rules;
                told.lock().options = Some(effective_options::options(&config));
                Ok(sections)
            });
            note_reload(&mut told.lock().policy, read);
        };
        let (knock, knocks) = sync_channel(1);
        thread::Builder::new()
            .name("policy".to_owned())
            .spawn(move || knocks.into_iter().for_each(|()| reload()))?;
        Ok(Some(Self(knock)))
    }

    /// Has it read anew; once more if it is being read just now. Returns at once.
    pub(super) fn knock(&self) {
        // One that waits already will see the file as it is now.
        self.0.try_send(()).ok();
    }
}

/// Logs the outcome of a reload, and notes it in the status: the number of sections in force now, or a line for each fault.
pub fn note_reload(status: &mut Option<PolicyStatus>, read: Result<usize, Vec<String>>) {
    let Some(policy) = status else {
        return;
    };
    let time = Time::now();
    // Noted before it is logged: who reads the log and then asks is told of it.
    let faults = match read {
        Ok(sections) => {
            (policy.since, policy.sections, policy.fault) = (time, sections, None);
            policy.reloads += 1;
            let file = &policy.file;
            log::info!("the policy {file} was reloaded and is in force; sections: {sections}");
            return;
        }
        Err(faults) => faults,
    };
    policy.failed_reloads += 1;
    let lines: Vec<String> = faults.iter().take(MOST_TOLD).cloned().collect();
    let fault = policy.fault.insert(PolicyFault { time, lines });
    for line in &fault.lines {
        log::error!("policy: {line}");
    }
    if faults.len() > MOST_TOLD {
        log::error!("policy: and {} more", faults.len() - MOST_TOLD);
    }
    log::error!("the policy was not reloaded: the previous one stays in force");
}
