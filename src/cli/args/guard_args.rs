//! `utf8fs guard`: what was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueHint};

use super::values::word;
use super::{AuditArgs, ConformingArgs, PolicyFileArgs, seconds, uid};
use crate::guard::Action;
use crate::os::Sandbox;
use crate::policy::Alike;

/// `utf8fs guard`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/guard.txt"))]
pub struct GuardArgs {
    /// Directory whose names are looked at, with all below it on its filesystem
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// What becomes of an entry whose name does not conform
    ///
    /// [default: what the policy says, else report]
    #[arg(long, value_name = "WHAT", value_parser = word::<Action>(), verbatim_doc_comment)]
    pub on_violation: Option<Action>,

    /// Seconds that an entry is left alone before it is renamed; one that is being written to is left alone for longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2", allow_negative_numbers = true)]
    pub grace: Duration,

    /// Undo journal of the renames, outside of DIR; one that is there is gone on with
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub journal: Option<PathBuf>,

    /// Do not look at the names that are there at the start
    #[arg(long)]
    pub no_initial_scan: bool,

    /// How far the guard confines itself
    #[arg(long, value_name = "HOW", value_parser = word::<Sandbox>())]
    pub sandbox: Option<Sandbox>,

    /// Where the policy is.
    #[command(flatten)]
    pub policy_file: PolicyFileArgs,

    /// What conforms.
    #[command(flatten)]
    pub conforming: ConformingArgs,

    /// Charsets that names which are not UTF-8 may be in, in the order in which they are tried
    ///
    /// [default: the likeliest one, by all names of the directory]
    #[arg(long, value_name = "CHARSET,...", value_delimiter = ',', action = ArgAction::Append, verbatim_doc_comment, help_heading = "Names")]
    pub from: Option<Vec<String>>,

    /// A file of the charsets of directories, which decides before --from; 'utf8fs scan --propose-map' writes one
    ///
    /// It is read at the start alone.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Names")]
    pub charset_map: Option<PathBuf>,

    /// Report a new name that differs from a sibling in this alone
    #[arg(long, value_name = "HOW", value_parser = word::<Alike>(), help_heading = "Names")]
    pub unique: Option<Alike>,

    /// Users, by number, whose names are left alone
    #[arg(long, value_name = "UID,...", value_parser = uid, value_delimiter = ',', action = ArgAction::Append, help_heading = "Names")]
    pub exempt_uid: Option<Vec<u32>>,

    /// Names that are left alone: a glob; may be repeated
    ///
    /// With a / in it, it is matched against the path from DIR, as in /backups/**; without, against the name alone, in every
    /// directory.
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, help_heading = "Names")]
    pub exempt: Option<Vec<String>>,

    /// Where offences are logged.
    #[command(flatten)]
    pub audit: AuditArgs,
}
