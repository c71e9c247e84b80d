//! `utf8fs undo` and `utf8fs journal`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `utf8fs undo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = "\
Each entry is looked at before it is renamed. One that others have changed since, or whose old
name is taken by now, is reported and left. An undo that was stopped or killed is completed by the
same command.

Examples:
  What would be undone?
    utf8fs undo /var/lib/utf8fs/photos.journal
  Undo all of it:
    utf8fs undo --apply /var/lib/utf8fs/photos.journal
  Only what was renamed in one directory, and that directory itself:
    utf8fs undo --apply --only 2004/Málaga /var/lib/utf8fs/photos.journal

Exit status:
  0    undone, or told
  1    some entries were left as they are, or the journal is refused
  2    wrong arguments, no such journal or tree; nothing was done
  130  stopped by SIGINT, 143 by SIGTERM")]
pub struct UndoArgs {
    /// The journal that the migration wrote
    pub journal: PathBuf,

    /// Only this entry and what lies below it; a path within the tree, in names of before the migration or after it
    #[arg(long, value_name = "PATH")]
    pub only: Option<OsString>,

    /// Do it, instead of saying what would be done
    #[arg(long)]
    pub apply: bool,

    /// Where the tree lies now, if it was moved since
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Say how far it is on standard error, also where that is no terminal
    #[arg(long)]
    pub progress: bool,
}

/// `utf8fs journal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = "\
It may be looked at while the migration is under way.

Examples:
  What was this file called?
    utf8fs journal --json photos.journal | grep 'Málaga'

Exit status:
  0  shown
  1  it is no journal, or was cut or altered: what is sound before that is shown
  2  wrong arguments, or no such journal")]
pub struct JournalArgs {
    /// The journal
    pub journal: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}
