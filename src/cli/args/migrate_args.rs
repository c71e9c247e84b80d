//! `utf8fs migrate`, `undo` and `journal`: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

use super::values::word;
use crate::codec::{Charset, Form};
use crate::names::{Escapes, PrivateUse, charset};
use crate::policy::Profile;
use crate::tree::plan::{OnCollision, PlanFormat};

/// `utf8fs migrate`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(after_long_help = include_str!("help/migrate.txt"))]
pub struct MigrateArgs {
    /// Directories whose names are changed, at any depth, and files that are renamed themselves
    ///
    /// [default: with a plan to read, those that it was made for]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// No effect: directories are always migrated at any depth
    #[arg(short, long)]
    pub recursive: bool,

    /// Also rename the given directories themselves
    #[arg(long)]
    pub own_name: bool,

    /// Rename, instead of printing what would be renamed
    #[arg(long)]
    pub apply: bool,

    /// Print what would be renamed, and change nothing (the default)
    ///
    /// Prints the largest directories, by reason and charset, with samples; with --verbose a line for each name.
    #[arg(short = 'n', long, conflicts_with = "apply")]
    pub dry_run: bool,

    /// Print the summary as one JSON object, on the last line of standard output; a plan above it is in JSON too
    #[arg(long)]
    pub json: bool,

    /// With --from or another option for names: write the plan to this new file (- for standard output); else check the plan in this file, and with --apply apply it
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Format of the written plan; --apply reads either
    ///
    /// [default: json]
    #[arg(long, value_name = "FORMAT", value_parser = word::<PlanFormat>(), requires = "plan", conflicts_with = "apply", verbatim_doc_comment)]
    pub plan_format: Option<PlanFormat>,

    /// With --apply: edit the plan first, in $VISUAL or $EDITOR, and apply what was saved; an empty file changes nothing
    #[arg(short = 'i', long, requires = "apply", conflicts_with = "plan")]
    pub edit: bool,

    /// With --apply: undo journal to write [default: a file in ~/.local/state/utf8fs, for root in /var/lib/utf8fs]
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub journal: Option<PathBuf>,

    /// Charsets of the names that are not UTF-8, in the order in which they are tried; or auto, to guess them
    ///
    /// By IANA name: iso-8859-1, windows-1252, koi8-r, big5, ... The first charset that decodes a name, and encodes it back
    /// to the same bytes, is taken. Names in UTF-8 are not changed.
    #[arg(long, value_name = "CHARSET,...", value_delimiter = ',', action = ArgAction::Append, help_heading = "Names")]
    pub from: Option<Vec<String>>,

    /// Charset in which names that are UTF-8 are stored, for a device that knows no other; names with characters that it lacks stay
    ///
    /// Names that are not UTF-8 stay too.
    #[arg(long, value_name = "CHARSET", value_parser = charset, conflicts_with_all = ["from", "charset_map", "set_charset", "fix_double", "unescape", "map"], help_heading = "Names")]
    pub to: Option<Charset>,

    /// Charset map: a file of the charsets of directories, where --from does not hold; 'utf8fs scan --propose-map' writes one
    #[arg(long, value_name = "FILE", help_heading = "Names")]
    pub charset_map: Option<PathBuf>,

    /// Charset of a directory and of those below it: an entry of a charset map, which overrides the file; may be repeated
    ///
    /// DIR is a path from the root of the tree (/letters), or the name of a directory anywhere (letters). CHARSET is as for
    /// --from, or leave, which changes no name.
    #[arg(long, value_name = "DIR=CHARSET", action = ArgAction::Append, help_heading = "Names")]
    pub set_charset: Option<Vec<String>>,

    /// Decode names that were encoded in UTF-8 more than once
    #[arg(long, help_heading = "Names")]
    pub fix_double: bool,

    /// Escape names whose charset is unknown or uncertain, which stay otherwise: each offending byte as % and hex digits, as a mount shows them
    ///
    /// Decide uncertain names first. Once the charset is known, --unescape utf8fs --from CHARSET gives them their text.
    #[arg(long, conflicts_with_all = ["to", "unescape"], help_heading = "Names")]
    pub escape: bool,

    /// Decode escapes
    #[arg(long, value_name = "KIND", value_parser = word::<Escapes>(), help_heading = "Names")]
    pub unescape: Option<Escapes>,

    /// Replace private-use characters by the characters that they stand for: " * : < > ? \ |
    #[arg(long, value_name = "HOW", value_parser = word::<PrivateUse>(), help_heading = "Names")]
    pub map: Option<PrivateUse>,

    /// Normalize all names to this form
    #[arg(long, value_name = "FORM", value_parser = word::<Form>(), help_heading = "Names")]
    pub normalize: Option<Form>,

    /// Escape what this profile forbids, as % and hex digits
    #[arg(long, value_name = "NAME", value_parser = word::<Profile>(), help_heading = "Names")]
    pub profile: Option<Profile>,

    /// Cut names that would become too long, as a mount shows them; otherwise they stay
    #[arg(long, help_heading = "Names")]
    pub shorten: bool,

    /// Also change names that would get control characters, noncharacters or unassigned code points; otherwise they stay
    ///
    /// Such a text nearly always means that another charset is right.
    #[arg(long, help_heading = "Names")]
    pub allow_control: bool,

    /// Least likelihood of a guess of --from auto or --fix-double, 0 to 1
    ///
    /// [default: 0.9]
    #[arg(long, value_name = "P", value_parser = confidence, verbatim_doc_comment, help_heading = "Names")]
    pub min_confidence: Option<f64>,

    /// Action on a name whose new name another entry has, or gets
    #[arg(long, value_name = "WHAT", value_parser = word::<OnCollision>(), help_heading = "Names")]
    pub on_collision: Option<OnCollision>,

    /// Entries to change, and with them all below: a glob; may be repeated
    ///
    /// A pattern with a / matches the path from the given directory, as in /photos/2004*. One without matches the name in
    /// every directory. Names are matched as they are on disk: ? is one byte, * any number of them but /, ** any number of
    /// components.
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, help_heading = "Names")]
    pub only: Option<Vec<String>>,

    /// Entries to leave, and with them all below: a glob; may be repeated
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, help_heading = "Names")]
    pub exclude: Option<Vec<String>>,

    /// Migrate what utf8fs shows, if a given directory is a utf8fs mount or lies in one
    ///
    /// Otherwise that is an error: the names there are those that the mount shows, not those on disk.
    #[arg(long)]
    pub view: bool,

    /// Print the progress on standard error, even if that is not a terminal
    #[arg(long)]
    pub progress: bool,
}

/// `utf8fs undo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/undo.txt"))]
pub struct UndoArgs {
    /// Undo journal, or the directory of a tree, of which the last migration is meant; without it, all journals are listed
    #[arg(value_name = "JOURNAL|DIR", value_hint = ValueHint::AnyPath)]
    pub journal: Option<PathBuf>,

    /// The last migration that is not undone, of whatever tree
    #[arg(long, conflicts_with = "journal")]
    pub last: bool,

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

    /// Match entries by path and kind instead of inode: in a copy of the tree, or one that was restored
    ///
    /// Nothing is overwritten. The journal does not note it, so that it serves for other copies too; names that were
    /// exchanged would be exchanged again by a second run.
    #[arg(long)]
    pub by_name: bool,

    /// Of a damaged journal, also what is sound behind the damage
    #[arg(long)]
    pub past_damage: bool,

    /// Print the progress on standard error, even if that is not a terminal
    #[arg(long)]
    pub progress: bool,
}

/// `utf8fs journal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/journal.txt"))]
pub struct JournalArgs {
    /// Undo journal of a migration or of a guard; without it, all journals are listed
    #[arg(value_hint = ValueHint::FilePath)]
    pub journal: Option<PathBuf>,

    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,

    /// Print the old and the new path of each entry that gets another name, quoted, with a tab between them
    ///
    /// The deepest come first: then a line for a directory holds for all below it that has no line of its own.
    #[arg(long, requires = "journal", conflicts_with = "json")]
    pub paths: bool,

    /// With --paths: print the bytes of the paths, each ended by a NUL
    #[arg(short = '0', long = "null", requires = "paths")]
    pub null: bool,

    /// Of a damaged journal, also what is sound behind the damage
    #[arg(long, requires = "journal")]
    pub past_damage: bool,
}

/// Takes a probability.
fn confidence(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.0..=1.0).contains(number));
    number.ok_or("it must be a number from 0 to 1, such as 0.95")
}
