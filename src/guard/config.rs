//! The options of a guard, and their check: which directory, by which policy, and what becomes of offenders.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::daemon::command_error::CommandError;
use crate::daemon::mount_config::{self, Checked};
use crate::daemon::mount_paths::check_file;
use crate::daemon::mount_policy::ResolvedPolicy;
use crate::names::CharsetMap;
use crate::names::rules::Mode;
use crate::os::Sandbox;
use crate::records::PolicyFile;

/// What becomes of an entry whose name does not conform.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Action {
    /// Log it
    Report,
    /// Rename it, as 'utf8fs migrate' would; log it if that is uncertain or the name is taken
    Normalize,
}

impl From<Action> for Mode {
    fn from(action: Action) -> Self {
        match action {
            Action::Report => Self::Report,
            Action::Normalize => Self::Normalize,
        }
    }
}

/// The options of a guard.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The directory.
    pub directory: PathBuf,
    /// The policy file.
    pub policy: Option<PathBuf>,
    /// The options that override it.
    pub keys: PolicyFile,
    /// The charsets of names that are not UTF-8, by directory.
    pub charset_map: Arc<CharsetMap>,
    /// Time for which an entry has to be left alone before it is renamed.
    pub grace: Duration,
    /// The undo journal.
    pub journal: Option<PathBuf>,
    /// Is the directory scanned at the start?
    pub initial_scan: bool,
    /// The degree of confinement.
    pub sandbox: Sandbox,
}

/// Checks the options and the policy, then the directory, then that no file of ours lies in it. Takes the journal out of
/// the options where nothing is renamed.
///
/// # Errors
/// Options that are wrong or contradict each other, and a directory that is unfit, in this order.
pub(super) fn check(options: &mut GuardOptions) -> Result<Checked, CommandError> {
    let directory = &options.directory;
    let policy = options.policy.as_deref();
    let checked = mount_config::check(directory, directory, policy, options.keys.clone(), false)?;
    refuse_unfit(&checked.resolved, options.journal.is_some())?;
    if !checked.resolved.rules.normalizes() {
        options.journal = None;
    } else if let Some(journal) = &options.journal {
        let ruled = [(checked.backing.clone(), "directory")];
        let remedy = "keep it outside of what is guarded";
        check_file("journal", journal, &ruled, remedy)?;
    }
    Ok(checked)
}

/// Refuses a policy that no guard can have in force, or only one with an undo journal: at the start, and when it is read anew.
///
/// # Errors
/// It asks for what is for mounts, or for renames without a journal.
pub(super) fn refuse_unfit(
    resolved: &ResolvedPolicy,
    has_journal: bool,
) -> Result<(), CommandError> {
    if resolved.map.store_as.is_some() {
        return Err(CommandError::usage(
            "store_as is for mounts: a guard looks at names as they are stored",
        )
        .hint("leave it out of the policy, or mount the directory"));
    }
    if resolved.rules.normalizes() && !has_journal {
        return Err(CommandError::usage(
            "names are put right only by a guard that was started with a journal",
        )
        .hint("give --journal FILE, from which 'utf8fs undo' takes the renames back"));
    }
    Ok(())
}
