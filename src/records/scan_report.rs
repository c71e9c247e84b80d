//! The report of a scan, as `utf8fs scan --json` prints it, one object a line (docs/scanning.md).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Finding, Found, FoundCounts, GuessRecord, KindLabel, Name, ReadName};
use crate::codec::guess::{Guesser, Sample};
use crate::codec::{Charset, Encoding};
use crate::policy::{Class, Normalization};

/// The version of the last line.
pub const TOTAL_FORMAT: u64 = 1;

/// The version of the line of a part.
pub const PART_FORMAT: u64 = 6;

/// Counts are smaller, so that their sums stay numbers.
const COUNT_LIMIT: u64 = 1 << 48;

/// Any line of a report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "scan", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScanLine {
    /// A name with findings.
    Entry(ScanEntry),
    /// A directory that could not be read, or not to its end.
    Unread {
        /// Its path.
        path: Name,
        /// Why.
        reason: String,
    },
    /// A directory on another mount.
    LeftOut {
        /// Its path.
        path: Name,
    },
    /// A directory with many offences.
    Directory(DirectoryReport),
    /// A guess at the charset of all names.
    Guess(GuessRecord),
    /// All that is needed to merge the report of a part with those of the others.
    Part(Box<ScanPart>),
    /// The end of the report.
    Total(Box<ScanTotal>),
}

/// A name with findings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanEntry {
    /// Its path, which starts with the directory as it was typed.
    pub path: Name,
    /// The name.
    pub name: Name,
    /// Is one of the findings an offence?
    pub offends: bool,
    /// The findings, one of each kind. Never empty.
    pub found: Vec<Found>,
    /// A sibling that it collides with.
    pub like: Option<Name>,
}

/// A directory, with numbers of the names right in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectoryReport {
    /// Its path.
    pub path: Name,
    /// Its names.
    #[serde(flatten)]
    pub counts: Counts,
    /// The likely charsets of its ill-formed names, best first.
    pub guesses: Vec<CharsetGuess>,
    /// The charsets of the names whose texts are certain, if those of the tree are in several.
    pub charsets: Vec<Charset>,
}

/// A charset that names are likely in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharsetGuess {
    /// The charset.
    pub charset: Charset,
    /// The likelihood, 0.0..=1.0.
    pub confidence: f64,
}

/// The last line: the whole scan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScanTotal {
    /// [`TOTAL_FORMAT`].
    pub format: u64,
    /// The directories as they were typed.
    pub roots: Vec<Name>,
    /// Directories that were read.
    pub directories: u64,
    /// Directories with a finding right in them.
    pub troubled_directories: u64,
    /// All names.
    #[serde(flatten)]
    pub counts: Counts,
    /// The names by finding and kind.
    pub kinds: Vec<KindTotal>,
    /// The worst directories by charset, if the names are in several.
    pub charsets: Vec<CharsetTotal>,
    /// The commands to run next.
    pub next: Vec<String>,
    /// The rules that names were judged by.
    pub policy: PolicyReport,
    /// Directories that could not be read.
    pub unread: u64,
    /// Directories on other mounts.
    pub left_out: u64,
    /// Directories that were gone when they were to be read.
    pub vanished: u64,
}

/// The number of names with a kind of a finding.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindTotal {
    /// The finding.
    pub finding: Finding,
    /// Its kind.
    pub kind: KindLabel,
    /// The number of names.
    pub names: u64,
    /// Is it an offence?
    pub offence: bool,
}

/// Directories whose ill-formed names are in one charset, or that mix several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharsetTotal {
    /// The charset; several of directories that mix them; none where no text is certain.
    pub charsets: Vec<Charset>,
    /// The number of directories.
    pub directories: u64,
    /// The number of ill-formed names in them.
    pub names: u64,
    /// Some of them.
    pub examples: Vec<ReadName>,
}

/// The rules that names were judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyReport {
    /// The definition of UTF-8.
    pub encoding: Encoding,
    /// The normalization form that names have to be in.
    pub normalization: Normalization,
    /// Forbidden classes.
    pub forbid: Vec<Class>,
    /// Limit in bytes.
    pub max_bytes: usize,
    /// Limit in characters.
    pub max_chars: Option<usize>,
    /// Limit in UTF-16 units.
    pub max_utf16: Option<usize>,
    /// The findings that are offences.
    pub offences: Vec<Finding>,
}

/// The part of a scan that one host did.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanPart {
    /// [`PART_FORMAT`].
    #[serde(deserialize_with = "part_format")]
    pub format: u64,
    /// The version of utf8fs.
    pub version: String,
    /// The number of the part, counted from 1.
    pub shard: u64,
    /// The number of parts.
    pub of: u64,
    /// The depth below a root at which directories are shared out.
    pub depth: usize,
    /// The directories as they were typed; of a list one without a name.
    pub roots: Vec<Name>,
    /// The rules that names were judged by.
    pub policy: PolicyReport,
    /// All that was gathered.
    pub tally: Tally,
}

/// Reads the version of a part. It comes before fields that other versions may not have.
fn part_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        PART_FORMAT => Ok(PART_FORMAT),
        other => Err(de::Error::custom(format_args!(
            "the part is of format {other}, and this version reads {PART_FORMAT}: scan it again"
        ))),
    }
}

/// All that a scan gathered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Directories that were read.
    pub directories: u64,
    /// Directories in which something was found.
    pub troubled_directories: u64,
    /// The numbers of all entries.
    pub counts: Counts,
    /// Entries by finding and kind; one with two kinds of a finding is counted in both.
    #[serde(with = "rows")]
    pub kinds: BTreeMap<(Finding, KindLabel), u64>,
    /// The guesses at all names together.
    pub guesser: Guesser,
    /// The directories with the most offences, worst first.
    pub worst: BTreeSet<Directory>,
    /// More of them, without anything to guess from.
    pub on_map: BTreeSet<Directory>,
    /// Names with each kind of each finding.
    #[serde(with = "rows")]
    pub samples: BTreeMap<(Finding, KindLabel), BTreeSet<Sampled>>,
    /// Directories that could not be read, or not to their end.
    pub unread: Failures,
    /// The errno of each unread directory that is read for every part of a tree, by path; the same in each, as a rule.
    #[serde(with = "rows")]
    pub above: BTreeMap<Name, i32>,
    /// Directories on other mounts that were left out.
    pub left_out: Failures,
    /// Directories that were gone, or something else, when they were to be read.
    pub vanished: u64,
}

/// Numbers of entries, of a directory or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All of them; each is one of the three below.
    #[serde(rename = "names")]
    pub entries: u64,
    /// In ASCII.
    pub ascii: u64,
    /// Well-formed, beyond ASCII.
    #[serde(rename = "utf8")]
    pub beyond_ascii: u64,
    /// Ill-formed.
    pub ill_formed: u64,
    /// With an offence.
    pub offending: u64,
    /// With findings that are no offences, and no offence.
    pub remarked: u64,
    /// With each finding.
    pub found: FoundCounts,
}

/// A directory, with what lies right in it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Its path, which starts with the directory as it was typed.
    pub path: Name,
    /// The numbers of its entries.
    pub counts: Counts,
    /// The guesses at its names; `None` where there is nothing to guess, or where only numbers are kept.
    pub guesser: Option<Box<Guesser>>,
}

/// A name that stands for others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The hash of its path: samples are the names of the smallest hashes, whoever met them.
    pub hash: u64,
    /// The path of its directory, which starts as it was typed.
    pub directory: Name,
    /// The name, and what was found in it.
    pub entry: ScanEntry,
}

/// A directory that could not be read, or was not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Its path, which starts with the directory as it was typed.
    pub path: Name,
    /// The errno; 0 for directories that were left out.
    pub errno: i32,
}

/// Failures: all are counted, the first by path are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failures {
    /// The number of failures.
    pub count: u64,
    /// The first of them.
    pub first: BTreeSet<Failure>,
}

/// The fields of a guesser.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Guesser", deny_unknown_fields)]
struct GuesserFields {
    ill_formed: u64,
    well_formed: u64,
    unread: Vec<u64>,
    seen: [u64; 4],
    sample: Sample,
    beyond_ascii: u64,
    undone: u64,
    doubled: Sample,
}

impl Serialize for Guesser {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        GuesserFields::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Guesser {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let guesser = GuesserFields::deserialize(deserializer)?;
        let is_small = guesser.ill_formed.max(guesser.well_formed) < COUNT_LIMIT;
        if is_small && guesser.is_sound() {
            return Ok(guesser);
        }
        Err(de::Error::custom("the numbers of a guesser make no sense"))
    }
}

/// Names with their hashes.
impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.hashed();
        serializer.collect_seq(names.map(|(hash, name)| (hash, Name::from(name))))
    }
}

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<(u64, Name)>::deserialize(deserializer)?.into_iter();
        Ok(Self::of(
            names.map(|(hash, name)| (hash, name.into_bytes().into())),
        ))
    }
}

/// Maps whose keys are no text, as rows of key and value.
mod rows {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
    {
        let rows = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(rows.into_iter().collect())
    }
}
