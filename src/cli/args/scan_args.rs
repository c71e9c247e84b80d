//! `utf8fs scan`.

use std::path::PathBuf;

use clap::Args;

use super::values::{one_of, word};
use super::{ConformingArgs, number};
use crate::codec::Encoding;
use crate::policy::Alike;
use crate::tree::scan::Shard;

/// `utf8fs scan`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(
    override_usage = "utf8fs scan [OPTIONS] <DIR>...\n       utf8fs scan [OPTIONS] --names-from <FILE>\n       utf8fs scan [OPTIONS] --merge <REPORT>...",
    after_long_help = include_str!("help/scan.txt")
)]
pub struct ScanArgs {
    /// Directories whose names are checked, at any depth; with --merge the reports
    #[arg(value_name = "DIR", required_unless_present = "names_from")]
    pub directories: Vec<PathBuf>,

    /// Check a list of paths instead, each ended by a NUL; - for standard input
    ///
    /// Of each path the last component is checked. Collisions are found if the paths of a directory are next to each other,
    /// apart from those below it. Nothing else is read.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["directories", "cross_mounts", "view", "threads"])]
    pub names_from: Option<PathBuf>,

    /// Check one of N parts of the directories or of the list; each name is in one part
    ///
    /// The path of a directory decides its part, so that all hosts agree. With --json the report can be merged.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Depth below DIR of the directories that are distributed to the parts; those above are read for every part
    ///
    /// [default: 2]
    #[arg(long, value_name = "LEVELS", requires = "shard", conflicts_with = "names_from", value_parser = number::<1, 64>, allow_negative_numbers = true, verbatim_doc_comment)]
    pub shard_depth: Option<usize>,

    /// Merge the reports of all parts, which scan --shard I/N --json wrote, into the report of one scan
    ///
    /// They are given instead of the directories. Reports of 1/1, of several trees or lists, become one of all. Each file is read twice.
    #[arg(long, overrides_with = "merge", conflicts_with_all = [
        "names_from", "cross_mounts", "view", "threads", "progress", "shard", "encoding", "profile", "normalization",
        "forbid", "max_bytes", "max_chars", "unique", "doubled",
    ])]
    pub merge: bool,

    /// Print one JSON object a line: each name with a finding, then the summary; docs/scanning.md has the fields
    #[arg(long)]
    pub json: bool,

    /// Print the path of each offending name, as its bytes are, ended by a NUL
    #[arg(short = '0', long = "null", conflicts_with = "json")]
    pub null: bool,

    /// Write a report for a browser: one file, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write a charset map to this new file: the charset of each directory, with samples, to be checked by you
    ///
    /// For migrate --charset-map. The directory is read twice more.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names_from", "merge", "shard", "charset_map"])]
    pub propose_map: Option<PathBuf>,

    /// Print how many names this charset map decodes, and how many it leaves
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names_from", "merge", "shard", "json", "null"])]
    pub charset_map: Option<PathBuf>,

    /// Enter mounts inside the directories
    #[arg(long)]
    pub cross_mounts: bool,

    /// Scan what utf8fs shows, if a given directory is a utf8fs mount or lies in one
    ///
    /// Otherwise that is an error: the names there are those that the mount shows, not those on disk.
    #[arg(long)]
    pub view: bool,

    /// Directories to read at a time
    ///
    /// [default: the number of CPUs, plus two]
    #[arg(long, value_name = "N", value_parser = number::<1, 1024>, allow_negative_numbers = true, verbatim_doc_comment)]
    pub threads: Option<usize>,

    /// Print the progress every ten seconds, even if standard error is not a terminal
    #[arg(long)]
    pub progress: bool,

    /// Definition of UTF-8 by which names are well-formed
    ///
    /// [default: utf-8]
    #[arg(
        long,
        value_name = "LABEL",
        value_parser = one_of(&Encoding::MOUNTABLE),
        verbatim_doc_comment,
        help_heading = "Names"
    )]
    pub encoding: Option<Encoding>,

    /// Which names conform.
    #[command(flatten)]
    pub conforming: ConformingArgs,

    /// Count names that differ from a sibling only in this as offences
    #[arg(long, value_name = "HOW", value_parser = word::<Alike>(), help_heading = "Names")]
    pub unique: Option<Alike>,

    /// Count names that are likely UTF-8 encoded twice as offences
    #[arg(long, help_heading = "Names")]
    pub doubled: bool,
}
