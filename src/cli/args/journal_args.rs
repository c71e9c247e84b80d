//! `utf8fs undo` and `utf8fs journal`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `utf8fs undo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/undo.txt"))]
pub struct UndoArgs {
    /// The journal that the migration wrote
    pub journal: PathBuf,

    /// Only this entry and what lies below it; a path within the tree, in names of before the migration or after it
    #[arg(long, value_name = "PATH")]
    pub only: Option<OsString>,

    /// Do it, instead of saying what would be done
    #[arg(long)]
    pub apply: bool,

    /// Say what would be done, and do nothing (the default)
    #[arg(short = 'n', long, conflicts_with = "apply")]
    pub dry_run: bool,

    /// Print one JSON object a line: each step that would be undone, then the sums
    #[arg(long)]
    pub json: bool,

    /// Where the tree lies now, if it was moved since
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Say how far it is on standard error, also where that is no terminal
    #[arg(long)]
    pub progress: bool,
}

/// `utf8fs journal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/journal.txt"))]
pub struct JournalArgs {
    /// The journal
    pub journal: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}
