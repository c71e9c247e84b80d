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
    #[command(after_long_help = include_str!("help/policy-check.txt"))]
    Check {
        /// Policy files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,

        /// Print one JSON object for each file
        #[arg(long)]
        json: bool,
    },
    /// Say what holds for a new name, and which lines of the file say so
    #[command(after_long_help = include_str!("help/policy-show.txt"))]
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

        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
