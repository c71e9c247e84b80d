//! Reading the policy anew while it is mounted.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::decide::{Decided, Said};
use super::fault::{Fault, Severity};
use crate::cli::{MountConfig, in_force};
use crate::fs::Utf8Fs;
use crate::fuse::status::Told;
use crate::names::{Quoted, json_name};
use std::os::unix::ffi::OsStrExt;

/// Most faults of one reading that are told.
const MOST_TOLD: usize = 16;

/// Has the policy read anew, by a thread of its own: a file may lie where reading waits.
#[derive(Debug)]
pub(crate) struct Reloader(SyncSender<()>);

impl Reloader {
    /// Starts the thread, where there is a policy file. It ends with the process.
    ///
    /// # Errors
    /// There are too many threads.
    pub(crate) fn start(
        config: &MountConfig,
        fs: &Arc<Utf8Fs>,
        told: &Arc<Mutex<Told>>,
    ) -> io::Result<Option<Self>> {
        let Some(source) = &config.policy else {
            return Ok(None);
        };
        let mut mounted = Mounted {
            decided: Decided {
                map: config.map.clone(),
                unique: config.unique,
                rules: config.rules.clone(),
                said: source.merged.clone(),
            },
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
    pub(crate) fn knock(&self) {
        // One that waits already will see the file as it is now.
        self.0.try_send(()).ok();
    }
}

/// What is told of a policy that has come into force now; `null` without one.
pub(crate) fn told(config: &MountConfig) -> Value {
    let Some(source) = &config.policy else {
        return Value::Null;
    };
    json!({
        "file": json_name(source.path.as_os_str().as_bytes()),
        "since": now(),
        "sections": config.rules.sections().len(),
        "reloads": 0,
        "failed_reloads": 0,
        "fault": null,
    })
}

fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

struct Mounted {
    decided: Decided,
    config: MountConfig,
    fs: Arc<Utf8Fs>,
    told: Arc<Mutex<Told>>,
}

impl Mounted {
    fn reload(&mut self) {
        let faults = match self.read() {
            Ok(decided) => {
                self.put_in_force(decided);
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
        log::error!("the policy was not read anew: the one before stays in force");
    }

    /// Has it told that these were in the way of the last reading.
    fn tell(&self, faults: &[String]) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut told.policy, "failed_reloads");
        if let Some(policy) = told.policy.as_object_mut() {
            policy.insert(
                "fault".to_owned(),
                json!({ "time": now(), "lines": faults }),
            );
        }
    }

    /// The policy as it is in its file now, or a line for each reason why it cannot be put in force.
    fn read(&self) -> Result<Decided, Vec<String>> {
        let Some(source) = &self.config.policy else {
            return Err(Vec::new());
        };
        let text = source
            .read_anew()
            .map_err(|error| vec![format!("cannot be read: {error}")])?;
        if text.faults.is_fatal() {
            let errors = text.faults.of(Severity::Error);
            return Err(errors.map(|fault| fault.line(&text.files)).collect());
        }
        super::warn(&text);
        let said: Said = source.said.clone();
        let decided = Decided::with_file(said, &text).map_err(|error| vec![error.message])?;
        let is_background = self.config.background;
        let stuck = self.decided.needs_remount(&decided, &text, is_background);
        if stuck.is_empty() {
            return Ok(decided);
        }
        let line = |(key, place)| {
            let fault = Fault {
                place,
                severity: Severity::Error,
                message: format!("{key} cannot change while it is mounted: it takes a remount"),
            };
            fault.line(&text.files)
        };
        Err(stuck.into_iter().map(line).collect())
    }

    fn put_in_force(&mut self, decided: Decided) {
        let sections = decided.rules.sections().len();
        self.fs.replace_rules(decided.rules.clone());
        self.config.rules = decided.rules;
        let options = in_force::options(&self.config);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told.policy.clone();
        *told = Told {
            options,
            policy: told_of(&self.config, &before),
        };
        drop(told);
        if let Some(source) = &self.config.policy {
            let file = Quoted(source.path.as_os_str().as_bytes());
            log::info!("the policy {file} was read anew and is in force; sections: {sections}");
        }
    }
}

fn told_of(config: &MountConfig, before: &Value) -> Value {
    let mut policy = told(config);
    for key in ["reloads", "failed_reloads"] {
        if let (Some(slot), Some(count)) = (policy.get_mut(key), before.get(key)) {
            *slot = count.clone();
        }
    }
    count(&mut policy, "reloads");
    policy
}

fn count(policy: &mut Value, key: &str) {
    if let Some(slot) = policy.get_mut(key) {
        *slot = json!(slot.as_u64().unwrap_or(0) + 1);
    }
}
