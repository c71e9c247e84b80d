//! `utf8fs policy`: what was typed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::audit_args::uid;
use crate::os::user_tables::{GROUP, groups_of, number_in, table};

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
    #[arg(long, value_name = "USER", value_parser = user)]
    pub user: Option<(u32, BTreeSet<u32>)>,

    /// Group of that user, by name or number; may be repeated
    ///
    /// [default: those of /etc/passwd and /etc/group, if the user is given by name]
    #[arg(long, value_name = "GROUP", value_parser = gid)]
    pub group: Vec<u32>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Takes a user, and returns the groups of one who is given by name.
fn user(text: &str) -> Result<(u32, BTreeSet<u32>), String> {
    Ok((uid(text)?, groups_of(text)))
}

/// Takes a group by number or name.
fn gid(text: &str) -> Result<u32, &'static str> {
    let gid = text.parse().ok().or_else(|| number_in(&table(GROUP), text));
    gid.ok_or("it must be a number or a name of /etc/group")
}
