//! The policy file of a mount: what holds on it, in a file that can be replaced while it is mounted (docs/policy.md).

mod loaded_policy;
mod policy_checks;
mod policy_faults;
mod policy_source;
mod resolved_policy;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::command_error::{CommandError, Doing};
use crate::records::PolicyFile;
pub use loaded_policy::LoadedPolicy;
pub use policy_faults::{Place, Table};
pub use policy_source::{PolicySource, Reading, line_and_column, table_fault};
pub use resolved_policy::{Outlook, ResolvedPolicy, name_map};

/// Loads a policy file that rules no mount yet, to be checked.
///
/// # Errors
/// There is no current directory.
pub fn load(path: &Path) -> Result<LoadedPolicy, CommandError> {
    let source = PolicySource::open(path, Vec::new(), PolicyFile::default())?;
    source.read().doing("read the policy")
}
