//! `utf8fs scan`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgAction, Args};

use super::{
    ForbidValue, MountEncodingValue, NormalizationValue, PolicyArgs, ProfileValue, UniqueValue,
    max_bytes, max_chars, shard_depth, threads,
};

/// `utf8fs scan`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(
    override_usage = "utf8fs scan [OPTIONS] <DIR>...\n       utf8fs scan [OPTIONS] --names-from <FILE>\n       utf8fs scan [OPTIONS] --merge <REPORT>...",
    after_long_help = "\
An offence is what a mount with the same options would refuse as a new name. Names that are
likely encoded twice, that differ from a sibling in case or form alone, or that are not in NFC
are told of, and are offences where --doubled, --unique and --normalization say so.

Examples:
  What is wrong with the names of this tree, and which charset are they in?
    utf8fs scan /srv/old
  The same to look at, and to hand on:
    utf8fs scan --html report.html /srv/old
  What would Windows clients not get?
    utf8fs scan --profile portable --unique casefold /srv/share
  All that offends, moved away:
    utf8fs scan -0 --profile safe /srv/in | xargs -0 -r mv -t /srv/quarantine --
  A list that another program made:
    find /srv/old -xdev -print0 | utf8fs scan --names-from -
  A volume of a cluster, by three hosts at once:
    utf8fs scan --shard 1/3 --json /vol >1.json       (on the others 2/3 and 3/3)
    utf8fs scan --merge 1.json 2.json 3.json

Exit status:
  0  no name offends
  1  some do
  2  wrong arguments, or none of the directories is there; nothing was read
  3  not everything could be read; the rest was, and is told. Or not all could be written"
)]
pub struct ScanArgs {
    /// Directories whose names, and all below them, are looked at; with --merge the reports
    #[arg(value_name = "DIR", required_unless_present = "names_from")]
    pub directories: Vec<PathBuf>,

    /// Look at a list of paths instead, each ended by a NUL; - for standard input
    ///
    /// Each is one name, its last component. Collisions are seen where the paths of a directory stand together, but for those
    /// below it. Nothing else is read.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["directories", "cross_mounts", "view", "threads"])]
    pub names_from: Option<PathBuf>,

    /// Look at one of N parts of the directories or of the list, which have nothing in common and are all of it together
    ///
    /// By the names that lead to a directory, so that each host has the same parts. With --json the report has what --merge
    /// takes.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<ShardValue>,

    /// How far below DIR directories are shared out to the parts; those above are read for every part
    ///
    /// [default: 2]
    #[arg(long, value_name = "LEVELS", requires = "shard", conflicts_with = "names_from", value_parser = shard_depth, allow_negative_numbers = true, verbatim_doc_comment)]
    pub shard_depth: Option<usize>,

    /// Make one report of those of all parts, as scan --shard I/N --json wrote them: the same as of one scan
    ///
    /// They stand where the directories would. Reports of several 1/1 are those of several trees or lists, and make one of all. Each file is read twice.
    #[arg(long, overrides_with = "merge", conflicts_with_all = [
        "names_from", "cross_mounts", "view", "threads", "progress", "shard", "encoding", "profile", "normalization",
        "forbid", "max_bytes", "max_chars", "unique", "doubled",
    ])]
    pub merge: bool,

    /// Print one JSON object a line: each name with a finding, then the whole; docs/scanning.md has the fields
    #[arg(long)]
    pub json: bool,

    /// Print the path of each name that offends, as it is, ended by a NUL
    #[arg(short = '0', long = "null", conflicts_with = "json")]
    pub null: bool,

    /// Write a report to look at: one file, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Enter mounts inside the directories
    #[arg(long)]
    pub cross_mounts: bool,

    /// Scan what utf8fs shows, where a directory given is a mount of utf8fs or lies in one
    ///
    /// Without this option that is an error: the names there are those that the mount shows, not those on disk.
    #[arg(long)]
    pub view: bool,

    /// Directories that are read at a time
    ///
    /// [default: one for each CPU, and two more]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true, verbatim_doc_comment)]
    pub threads: Option<usize>,

    /// Tell how far it is each ten seconds, also where standard error is no terminal
    #[arg(long)]
    pub progress: bool,

    /// Definition of UTF-8 by which names are well-formed
    ///
    /// [default: utf-8]
    #[arg(
        long,
        value_name = "LABEL",
        value_enum,
        verbatim_doc_comment,
        help_heading = "Names"
    )]
    pub encoding: Option<MountEncodingValue>,

    /// What conforms; the options below make it stricter
    ///
    /// [default: utf8]
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        verbatim_doc_comment,
        help_heading = "Names"
    )]
    pub profile: Option<ProfileValue>,

    /// Normalization form that names must have
    ///
    /// [default: preserve]
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        verbatim_doc_comment,
        help_heading = "Names"
    )]
    pub normalization: Option<NormalizationValue>,

    /// Characters and shapes that names must not have, besides those of the profile
    #[arg(long, value_name = "CLASS,...", value_enum, value_delimiter = ',', action = ArgAction::Append, help_heading = "Names")]
    pub forbid: Option<Vec<ForbidValue>>,

    /// Most bytes in a name, 24 to 255
    ///
    /// [default: 255]
    #[arg(long, value_name = "N", value_parser = max_bytes, allow_negative_numbers = true, verbatim_doc_comment, help_heading = "Names")]
    pub max_bytes: Option<usize>,

    /// Most characters in a name, 24 or more
    ///
    /// [default: no limit but that of bytes]
    #[arg(long, value_name = "N", value_parser = max_chars, allow_negative_numbers = true, verbatim_doc_comment, help_heading = "Names")]
    pub max_chars: Option<usize>,

    /// Names that differ from a sibling in this alone are offences
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Names")]
    pub unique: Option<UniqueValue>,

    /// Names that are likely UTF-8 encoded twice are offences
    #[arg(long, help_heading = "Names")]
    pub doubled: bool,
}

/// `--shard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardValue {
    /// Which part, from 1 on.
    pub number: u64,
    /// Of how many.
    pub of: u64,
}

impl FromStr for ShardValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// More hosts than there are.
        const MOST: u64 = 65_536;
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let parts = text.split_once('/');
        let parts = parts.filter(|(number, of)| plain(number) && plain(of));
        let parts = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) && of <= MOST => {
                Ok(Self { number, of })
            }
            _ => Err(format!(
                "it must be I/N, with I from 1 to N and N up to {MOST}"
            )),
        }
    }
}

impl ScanArgs {
    /// The same rules as a mount's.
    #[must_use]
    pub fn policy(&self) -> PolicyArgs {
        PolicyArgs {
            profile: self.profile,
            normalization: self.normalization,
            forbid: self.forbid.clone(),
            max_bytes: self.max_bytes,
            max_chars: self.max_chars,
            ..PolicyArgs::default()
        }
    }
}
