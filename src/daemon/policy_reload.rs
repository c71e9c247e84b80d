//! Reading the policy again while it is mounted, or while a guard has it in force.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::command_error::{CommandError, Doing};
use super::mount_policy::{PolicySource, Reading};
use crate::records::{PolicyFault, PolicyStatus, Time};

/// Most faults of one reading that are told.
const MOST_TOLD: usize = 16;

/// Has the policy read anew, by a thread of its own: a file may lie where reading waits.
#[derive(Debug, Default)]
pub struct Reloader(Option<SyncSender<()>>);

impl Reloader {
    /// Starts the thread, where there is a policy file; it ends with the process. Each reading is handed to `take`.
    ///
    /// # Errors
    /// There are too many threads.
    pub fn start(
        source: Option<PolicySource>,
        mut take: impl FnMut(Reading) + Send + 'static,
    ) -> Result<Self, CommandError> {
        let Some(source) = source else {
            return Ok(Self::default());
        };
        let (knock, knocks) = sync_channel(1);
        let thread = thread::Builder::new().name("policy".to_owned());
        thread
            .spawn(move || knocks.into_iter().for_each(|()| take(source.reload())))
            .doing("start the thread of the policy")?;
        Ok(Self(Some(knock)))
    }

    /// Has it read anew; once more if it is being read just now. Returns at once.
    pub fn knock(&self) {
        // One that waits already will see the file as it is now.
        self.0.as_ref().map(|knock| knock.try_send(()));
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
