//! The policy file of a mount: what holds on it, in a file that can be replaced while it is mounted (docs/policy.md).

mod loaded_policy;
mod name_outlook;
mod policy_checks;
mod policy_directory;
mod policy_faults;
mod read_policy;
mod resolved_policy;
#[cfg(test)]
mod tests;

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use super::start_error::StartError;
use crate::os::helper;
use crate::records::{PolicyFile, PolicyText};
pub use loaded_policy::LoadedPolicy;
pub use name_outlook::Outlook;
use policy_directory::PolicyDirectory;
pub use policy_faults::Place;
pub use read_policy::{groups_of, line_and_column, number_of, user_names};
use read_policy::{read_policy, unreadable};
pub use resolved_policy::{ResolvedPolicy, charset, name_map, not_on_offer};

/// A policy file, and the options that override it.
#[derive(Debug, Clone)]
pub struct PolicySource {
    /// Its path, absolute, as it was named.
    pub path: PathBuf,
    directory: PolicyDirectory,
    /// Its path within the directory.
    name: PathBuf,
    /// The options of the command line.
    options: PolicyFile,
}

impl PolicySource {
    /// Finds the policy file of a mount of these directories, both absolute and without symlinks.
    ///
    /// # Errors
    /// It cannot be found, or lies in one of them.
    pub fn open(
        path: &Path,
        backing: &Path,
        mountpoint: &Path,
        options: PolicyFile,
    ) -> Result<Self, StartError> {
        let ruled = vec![
            (mountpoint.to_owned(), "mount point"),
            (backing.to_owned(), "backing directory"),
        ];
        let path = absolute(path)?;
        let (directory, name) = PolicyDirectory::open(&path, ruled)
            .map_err(|why| LoadedPolicy::new(unreadable(&path, why)).refusal())?;
        Ok(Self {
            path,
            directory,
            name,
            options,
        })
    }

    /// Reads the policy in this process.
    #[must_use]
    pub fn read(&self) -> LoadedPolicy {
        self.loaded(read_policy(&self.directory, &self.name))
    }

    /// Merges the files, with a warning for each path from the system's root.
    fn loaded(&self, text: PolicyText) -> LoadedPolicy {
        let mut policy = LoadedPolicy::new(text);
        policy.check_paths(self.directory.ruled());
        policy
    }

    /// Reads the files of the policy, for a daemon that cannot: JSON of [`PolicyText`].
    #[must_use]
    pub fn read_text(&self) -> Vec<u8> {
        let text = read_policy(&self.directory, &self.name);
        serde_json::to_vec(&text).unwrap_or_default()
    }

    /// Reads the policy anew, and resolves it where the options do not override it.
    ///
    /// # Errors
    /// A line for each fault.
    pub fn reload(&self) -> Result<(LoadedPolicy, ResolvedPolicy), Vec<String>> {
        let policy = self
            .read_again()
            .map_err(|error| vec![format!("cannot be read: {error}")])?;
        if !policy.is_valid() {
            return Err(policy.error_lines());
        }
        policy.warn();
        match ResolvedPolicy::new(self.options.clone(), &policy) {
            Ok(resolved) => Ok((policy, resolved)),
            Err(error) => Err(vec![error.message]),
        }
    }

    /// Reads the policy where it can be read: by the helper process if there is one.
    fn read_again(&self) -> std::io::Result<LoadedPolicy> {
        match helper::read_policy() {
            None => Ok(self.read()),
            Some(text) => Ok(self.loaded(serde_json::from_slice(&text?)?)),
        }
    }

    /// Returns the descriptor that the helper process needs.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.directory.descriptor()
    }

    /// Leaves reading to the helper process, which has the descriptor by now.
    pub fn release(&mut self) {
        self.directory.release();
    }
}

/// Loads a policy file that rules no mount yet, to be checked.
///
/// # Errors
/// There is no current directory.
pub fn load(path: &Path) -> Result<LoadedPolicy, StartError> {
    let path = absolute(path)?;
    let text = match PolicyDirectory::open(&path, Vec::new()) {
        Ok((directory, name)) => read_policy(&directory, &name),
        Err(why) => unreadable(&path, why),
    };
    Ok(LoadedPolicy::new(text))
}

/// Loads a policy file, and checks what would keep it from being in force on a mount.
///
/// # Errors
/// There is no current directory.
pub fn load_and_check(path: &Path) -> Result<LoadedPolicy, StartError> {
    let mut policy = load(path)?;
    policy.check_alone();
    Ok(policy)
}

/// Makes a path absolute, which the daemon looks up from elsewhere.
fn absolute(path: &Path) -> Result<PathBuf, StartError> {
    std::path::absolute(path).map_err(|error| StartError::io("find the policy", &error))
}
