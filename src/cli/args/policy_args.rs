//! `utf8fs policy`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `utf8fs policy`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum PolicyAction {
    /// Check policy files, and print each fault with line and column
    #[command(after_long_help = include_str!("help/policy-check.txt"))]
    Check {
        /// Policy files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,

        /// Print one JSON object for each file
        #[arg(long)]
        json: bool,
    },
    /// Explain what happens to a new name, by which lines of the file
    Show(PolicyShowArgs),
}

/// `utf8fs policy show`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/policy-show.txt"))]
pub struct PolicyShowArgs {
    /// The policy file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Visible path of the new name, from the root of the mount
    #[arg(value_name = "PATH")]
    pub path: OsString,

    /// User who creates it, by name or number
    ///
    /// [default: root]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// Group of that user, by name or number; may be repeated
    ///
    /// [default: those of /etc/passwd and /etc/group, if the user is given by name]
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
