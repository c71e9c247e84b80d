//! `--policy`, and `utf8fs policy`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where the policy is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Names")]
pub struct PolicyFileArgs {
    /// File that says all that the options on names and the audit log say, and what holds where and for whom
    ///
    /// Options override it. It is read anew on SIGHUP; where it is wrong then, the old one stays in force. docs/policy.md
    /// has its keys.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

/// `utf8fs policy`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct PolicyCommandArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub action: PolicyAction,
}

/// What can be done with a policy file.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum PolicyAction {
    /// Say all that is wrong with policy files, by line and column
    #[command(after_long_help = "\
Exit status:
  0  they can be put in force, perhaps with warnings
  1  one of them cannot
  2  wrong arguments")]
    Check {
        /// Policy files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Say what holds for a new name, and which lines of the file say so
    #[command(after_long_help = "\
Examples:
  What becomes of a name in Latin-1 that a backup restores?
    utf8fs policy show /etc/utf8fs/share.toml $'/backups/caf\\xE9' --user backup
  And where somebody of the group staff makes it?
    utf8fs policy show /etc/utf8fs/share.toml $'/docs/caf\\xE9' --group staff

Exit status:
  0  said
  1  the file cannot be put in force
  2  wrong arguments")]
    Show {
        /// The policy file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Visible path of the new name, from the root of the mount
        #[arg(value_name = "PATH")]
        path: OsString,

        /// The user who makes it, by name or number; root if nothing is said
        #[arg(long, value_name = "USER")]
        user: Option<String>,

        /// A group that the user is in, by name or number; may be repeated
        #[arg(long, value_name = "GROUP")]
        group: Vec<String>,
    },
}
