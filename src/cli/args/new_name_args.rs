//! Options about new names that only a mount has.

use clap::{ArgAction, Args};

use super::values::word;
use crate::policy::Alike;

/// Which new names are refused for their siblings, and which are let through for who asks or where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Names")]
pub struct NewNameArgs {
    /// Refuse, with EEXIST, a new name that differs from a sibling only in this
    ///
    /// For volumes shared with Windows and macOS. Such names that exist are shown and can be opened.
    #[arg(long, value_name = "HOW", value_parser = word::<Alike>())]
    pub unique: Option<Alike>,

    /// Users, by number, whose new names are created unchanged, as with --on-violation report
    #[arg(long, value_name = "UID,...", value_parser = uid, value_delimiter = ',', action = ArgAction::Append)]
    pub exempt_uid: Option<Vec<u32>>,

    /// New names that are created unchanged, as with --on-violation report: a glob; may be repeated
    ///
    /// A pattern with a / matches the visible path from the root of the mount, as in /backups/**. One without matches the name
    /// in every directory. ? is one byte, * any number of them but /, ** any number of components.
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append)]
    pub exempt: Option<Vec<String>>,
}

/// Takes a user id.
pub(in crate::cli) fn uid(text: &str) -> Result<u32, String> {
    const HINT: &str = "it must be the number of a user, as 'id -u NAME' prints it";
    let uid: Option<u32> = text.parse().ok();
    // The last one is that of nobody at all: chown(2).
    uid.filter(|&uid| uid != u32::MAX)
        .ok_or_else(|| HINT.to_owned())
}
