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
    pub shard: Option<Shard>,

    /// How far below DIR directories are shared out to the parts; those above are read for every part
    ///
    /// [default: 2]
    #[arg(long, value_name = "LEVELS", requires = "shard", conflicts_with = "names_from", value_parser = number::<1, 64>, allow_negative_numbers = true, verbatim_doc_comment)]
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

    /// Write a charset map to this file, which must not be there yet: the charset of each directory, with samples, to look at
    ///
    /// For migrate --charset-map. The directory is read twice more.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names_from", "merge", "shard", "charset_map"])]
    pub propose_map: Option<PathBuf>,

    /// Print how many names this charset map reads, and how many are left
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names_from", "merge", "shard", "json", "null"])]
    pub charset_map: Option<PathBuf>,

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
    #[arg(long, value_name = "N", value_parser = number::<1, 1024>, allow_negative_numbers = true, verbatim_doc_comment)]
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
        value_parser = one_of(&Encoding::MOUNTABLE),
        verbatim_doc_comment,
        help_heading = "Names"
    )]
    pub encoding: Option<Encoding>,

    /// Which names conform.
    #[command(flatten)]
    pub conforming: ConformingArgs,

    /// Names that differ from a sibling in this alone are offences
    #[arg(long, value_name = "HOW", value_parser = word::<Alike>(), help_heading = "Names")]
    pub unique: Option<Alike>,

    /// Names that are likely UTF-8 encoded twice are offences
    #[arg(long, help_heading = "Names")]
    pub doubled: bool,
}
