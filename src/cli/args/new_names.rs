//! Options about new names that only a mount has.

use clap::Args;

use super::UniqueValue;

/// Which new names are refused for their siblings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Names")]
pub struct NewNameArgs {
    /// Refuse, with EEXIST, a new name that differs from a sibling in this alone
    ///
    /// For volumes shared with Windows and macOS. Names that were made so below the mount are shown and can be opened.
    #[arg(long, value_name = "HOW", value_enum)]
    pub unique: Option<UniqueValue>,
}
