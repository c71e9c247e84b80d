//! `utf8fs guard`: what was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueHint};

use super::values::word;
use super::{ConformingArgs, SharedArgs, seconds};
use crate::codec::Charset;
use crate::guard::Action;
use crate::names::charset;
use crate::os::Sandbox;

/// `utf8fs guard`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/guard.txt"))]
pub struct GuardArgs {
    /// Directory whose names are checked, at any depth on its filesystem
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// Action on an entry whose name does not conform
    ///
    /// [default: that of the policy, else report]
    #[arg(long, value_name = "WHAT", value_parser = word::<Action>(), verbatim_doc_comment)]
    pub on_violation: Option<Action>,

    /// Seconds before an entry is renamed; an entry that is being written to is renamed later
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2", allow_negative_numbers = true)]
    pub grace: Duration,

    /// Undo journal of the renames, outside DIR; an existing one is continued
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub journal: Option<PathBuf>,

    /// Do not check the names that exist at the start
    #[arg(long)]
    pub no_initial_scan: bool,

    /// Confinement of the guard
    #[arg(long, value_name = "HOW", value_parser = word::<Sandbox>())]
    pub sandbox: Option<Sandbox>,

    /// What conforms.
    #[command(flatten)]
    pub conforming: ConformingArgs,

    /// Charsets of the names that are not UTF-8, in the order in which they are tried
    ///
    /// [default: the likeliest, by all names of the directory]
    #[arg(long, value_name = "CHARSET,...", value_parser = charset, value_delimiter = ',', action = ArgAction::Append, verbatim_doc_comment, help_heading = "Names")]
    pub from: Option<Vec<Charset>>,

    /// Charset map: a file of the charsets of directories, where --from does not hold; 'utf8fs scan --propose-map' writes one
    ///
    /// It is read at the start only.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Names")]
    pub charset_map: Option<PathBuf>,

    /// The policy file, exemptions and the audit log.
    #[command(flatten)]
    pub shared: SharedArgs,
}
