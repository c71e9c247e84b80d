//! `utf8fs undo` and `utf8fs journal`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `utf8fs undo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/undo.txt"))]
pub struct UndoArgs {
    /// Undo journal that the migration or the guard wrote
    pub journal: PathBuf,

    /// Only this entry and what is below it: a path from the root of the tree, with the names before or after the migration
    #[arg(long, value_name = "PATH")]
    pub only: Option<OsString>,

    /// Undo, instead of printing what would be done
    #[arg(long)]
    pub apply: bool,

    /// Print what would be done, and do nothing (the default)
    #[arg(short = 'n', long, conflicts_with = "apply")]
    pub dry_run: bool,

    /// Print one JSON object a line: each step that would be undone, then the sums
    #[arg(long)]
    pub json: bool,

    /// Directory of the tree now, if it was moved since
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Print the progress on standard error, even if that is not a terminal
    #[arg(long)]
    pub progress: bool,
}

/// `utf8fs journal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/journal.txt"))]
pub struct JournalArgs {
    /// Undo journal of a migration or of a guard
    pub journal: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}
