//! `utf8fs migrate`: what was typed.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::values::word;
use crate::codec::Form;
use crate::names::{Escapes, PrivateUse};
use crate::policy::Profile;
use crate::tree::plan::OnCollision;

/// `utf8fs migrate`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(after_long_help = include_str!("help/migrate.txt"))]
pub struct MigrateArgs {
    /// Directories in which names are changed, at any depth, and files that are renamed themselves
    ///
    /// For a plan that is read, those that it is about if none are given.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// Has no effect: directories are always migrated with all that lies in them
    #[arg(short, long)]
    pub recursive: bool,

    /// Rename the directories given themselves, too
    #[arg(long)]
    pub own_name: bool,

    /// Do it
    #[arg(long)]
    pub apply: bool,

    /// Change nothing, and say what would be changed (the default)
    ///
    /// It prints the largest directories, by reason and charset, with samples; with --verbose a line for each name.
    #[arg(short = 'n', long, conflicts_with = "apply")]
    pub dry_run: bool,

    /// Print the sums as one JSON object, the last line of standard output; a plan before it is in JSON too
    #[arg(long)]
    pub json: bool,

    /// With --from or another option for names: write the plan to this file, which must not be there yet (- for standard output); else: check the plan in it, and with --apply do it
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// The format of the plan that is written; --plan with --apply reads both
    ///
    /// [default: json]
    #[arg(long, value_name = "FORMAT", value_parser = word::<PlanFormat>(), requires = "plan", conflicts_with = "apply", verbatim_doc_comment)]
    pub plan_format: Option<PlanFormat>,

    /// With --apply: edit the plan first, in $VISUAL or $EDITOR, and do what was saved; an empty file does nothing
    #[arg(short = 'i', long, requires = "apply", conflicts_with = "plan")]
    pub edit: bool,

    /// With --apply: where the journal is kept [default: a file in ~/.local/state/utf8fs, for root in /var/lib/utf8fs]
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub journal: Option<PathBuf>,

    /// Charsets that names which are not UTF-8 are written in, in the order in which they are tried; or auto, to have them guessed
    ///
    /// By IANA name: iso-8859-1, windows-1252, koi8-r, big5, ... A charset is taken where it gives the name back byte for
    /// byte. Names that are UTF-8 are not touched.
    #[arg(long, value_name = "CHARSET,...", value_delimiter = ',', action = ArgAction::Append, help_heading = "Names")]
    pub from: Option<Vec<String>>,

    /// Store names that are UTF-8 in this charset, for a device that knows no other; names that it lacks are left
    ///
    /// Names that are not UTF-8 stay as they are.
    #[arg(long, value_name = "CHARSET", conflicts_with_all = ["from", "charset_map", "set_charset", "fix_double", "unescape", "map"], help_heading = "Names")]
    pub to: Option<String>,

    /// A file of the charsets of directories, which decides before --from; 'utf8fs scan --propose-map' writes one
    #[arg(long, value_name = "FILE", help_heading = "Names")]
    pub charset_map: Option<PathBuf>,

    /// The charset of a directory and of those below it: an entry of a charset map, which wins over the file; may be repeated
    ///
    /// DIR is a path from the root of the tree (/letters), or the name of a directory anywhere (letters). CHARSET is one as for
    /// --from, or leave, which keeps the names as they are.
    #[arg(long, value_name = "DIR=CHARSET", action = ArgAction::Append, help_heading = "Names")]
    pub set_charset: Option<Vec<String>>,

    /// Undo names that were encoded as UTF-8 more than once
    #[arg(long, help_heading = "Names")]
    pub fix_double: bool,

    /// Write the bytes of names that would be left for their charset, unreadable or uncertain, as % and hex digits, as a mount shows them
    ///
    /// Decide uncertain names before. Once the charset is known, --unescape utf8fs --from CHARSET gives them their text.
    #[arg(long, conflicts_with_all = ["to", "unescape"], help_heading = "Names")]
    pub escape: bool,

    /// Undo escapes
    #[arg(long, value_name = "WHOSE", value_parser = word::<Escapes>(), help_heading = "Names")]
    pub unescape: Option<Escapes>,

    /// Map private-use characters back to those that they stand for: " * : < > ? \ |
    #[arg(long, value_name = "HOW", value_parser = word::<PrivateUse>(), help_heading = "Names")]
    pub map: Option<PrivateUse>,

    /// Bring all names to this normalization form
    #[arg(long, value_name = "FORM", value_parser = word::<Form>(), help_heading = "Names")]
    pub normalize: Option<Form>,

    /// Spell what this profile forbids as % and hex digits
    #[arg(long, value_name = "NAME", value_parser = word::<Profile>(), help_heading = "Names")]
    pub profile: Option<Profile>,

    /// Cut names that would become too long, as a mount shows them; else they are left
    #[arg(long, help_heading = "Names")]
    pub shorten: bool,

    /// Change also names that would get control characters, noncharacters or unassigned code points; else they are left
    ///
    /// Such a text nearly always means that another charset is right.
    #[arg(long, help_heading = "Names")]
    pub allow_control: bool,

    /// How likely a guess of --from auto or --fix-double has to be, 0 to 1
    ///
    /// [default: 0.9]
    #[arg(long, value_name = "P", value_parser = confidence, verbatim_doc_comment, help_heading = "Names")]
    pub min_confidence: Option<f64>,

    /// What becomes of a name whose new one another entry has, or gets
    #[arg(long, value_name = "WHAT", value_parser = word::<OnCollision>(), help_heading = "Names")]
    pub on_collision: Option<OnCollision>,

    /// Only what matches this, and what lies below it: a glob; may be repeated
    ///
    /// With a / in it, it is matched against the path from the directory given, as in /photos/2004*; without, against the name alone, in
    /// every directory. Names are matched as they lie on disk: ? is one byte, * any number of them but /, ** any number
    /// of components.
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, help_heading = "Names")]
    pub only: Option<Vec<String>>,

    /// Not what matches this, nor what lies below it: a glob; may be repeated
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, help_heading = "Names")]
    pub exclude: Option<Vec<String>>,

    /// Migrate what utf8fs shows, where a directory given is a mount of utf8fs or lies in one
    ///
    /// Without this option that is an error: the names there are those that the mount shows, not those on disk.
    #[arg(long)]
    pub view: bool,

    /// Say how far it is on standard error, also where that is no terminal
    #[arg(long)]
    pub progress: bool,
}

/// The format of a plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum PlanFormat {
    /// A line of JSON for each entry, for programs
    Json,
    /// A line such as "caf\xE9" -> "café" for each change, for people; names that stay are comments
    Readable,
}

/// Takes a probability.
fn confidence(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.0..=1.0).contains(number));
    number.ok_or("it must be a number from 0 to 1, such as 0.95")
}
