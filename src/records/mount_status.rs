//! The status of a mount, as its daemon answers it (docs/status.md has its fields), and that of a guard, as it writes it for
//! `utf8fs status` (docs/guard.md).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{LogFormat, Name, RuleCounts, SinkKind, Time, VerdictCounts};
use crate::codec::{Charset, Encoding};
use crate::names::Legacy;
use crate::policy::{Alike, Class, ErrnoChoice, Normalization};

/// The version of [`MountStatus`]. It is counted up where a field goes or gets another meaning.
pub const STATUS_FORMAT: u64 = 1;

/// The status of a mount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MountStatus {
    /// [`STATUS_FORMAT`].
    pub format: u64,
    /// Version of the daemon.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// The mount point.
    pub mountpoint: Name,
    /// The backing directory.
    pub backing: Name,
    /// Trouble with its path, which is found by who asks: the daemon sees no paths.
    #[serde(default)]
    pub backing_fault: Option<BackingFault>,
    /// Seconds since the mount.
    pub uptime_seconds: f64,
    /// All requests.
    pub total: RequestCounts,
    /// Requests by their kind in the FUSE protocol.
    pub operations: BTreeMap<Cow<'static, str>, RequestCounts>,
    /// The limits of [`RequestCounts::times`].
    pub times_below_microseconds: Vec<u64>,
    /// Inodes that the kernel knows.
    pub inodes: usize,
    /// Open files and directories.
    pub open: OpenCounts,
    /// Descriptors of the daemon.
    pub descriptors: DescriptorCounts,
    /// Indexes of visible names.
    pub indexes: IndexCounts,
    /// Times for which the kernel may keep names and attributes.
    pub kept: CacheTimes,
    /// May the kernel read and write files by itself?
    pub passthrough: bool,
    /// The transport of requests.
    pub transport: Transport,
    /// State of the watcher of changes below, if there is one.
    pub watch: Option<WatchStatus>,
    /// Why there is none, in words.
    #[serde(default)]
    pub unwatched: Option<String>,
    /// Offences by rule.
    pub offences: RuleCounts,
    /// Offences by rule and verdict.
    pub offences_by_verdict: RuleCounts<VerdictCounts>,
    /// Offences by verdict.
    pub verdicts: VerdictCounts,
    /// Records of offences.
    pub audit_records: AuditCounts,
    /// Did the log not take the last record, or could it not be reopened?
    #[serde(default)]
    pub audit_log_fails: bool,
    /// The policy file in force.
    pub policy: Option<PolicyStatus>,
    /// The options in force; `None` where they are too long for an answer.
    pub options: Option<MountOptions>,
}

/// The reason why the path of the backing directory does not lead to what is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackingFault {
    /// Nothing is there.
    Gone,
    /// Another directory is there.
    Replaced,
}

/// The way by which requests come from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Transport {
    /// Rings (FUSE over io_uring).
    IoUring {
        /// Operations made on one CPU that may wait at a time.
        threads_per_cpu: usize,
    },
    /// The device `/dev/fuse`.
    Device {
        /// Why not by rings: the label of `NoRings`.
        no_rings: Cow<'static, str>,
    },
}

/// Counts of one kind of request, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests that were begun.
    pub requests: u64,
    /// Answers that were errors, or that there is no such entry.
    pub errors: u64,
    /// System calls on the backing filesystem.
    pub backing_calls: u64,
    /// Time of those that were answered.
    pub microseconds: u64,
    /// Answers by the time they took, in the ranges of [`MountStatus::times_below_microseconds`] and one above; empty for all requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<u64>,
}

/// Numbers of open files and directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCounts {
    /// Open files.
    pub files: usize,
    /// Open directories.
    pub directories: usize,
}

/// Numbers of descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorCounts {
    /// The limit of the process.
    pub limit: usize,
    /// Descriptors that open files cannot take.
    pub reserve: usize,
    /// The limit for the open files of one user.
    pub user_limit: usize,
    /// Descriptors of open files, directories and locks.
    pub open: usize,
    /// Descriptors kept for inodes.
    pub inodes: usize,
    /// The limit of those.
    pub inodes_limit: usize,
}

/// Counts of the indexes of visible names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexCounts {
    /// Directories that have one.
    pub directories: usize,
    /// Bytes of all of them, about.
    pub bytes: usize,
    /// Directories that were read for one.
    pub readings: u64,
}

/// The kernel's timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CacheTimes {
    /// Names, in seconds.
    pub names_seconds: f64,
    /// Attributes of regular files, in seconds.
    pub files_seconds: f64,
    /// Names that are being renamed, which it must not keep.
    pub names_barred: usize,
}

/// State of the watcher of changes below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchStatus {
    /// Are they still followed?
    pub alive: bool,
    /// Directories that are watched.
    pub directories: usize,
    /// Times that more changed than could be reported.
    pub overflows: u64,
    /// Notifications that the kernel held back for over a second.
    pub stalls: u64,
    /// Is one held back now?
    pub stalled: bool,
}

/// Numbers of records of offences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCounts {
    /// Number of records written.
    pub written: u64,
    /// Number of records that the rate limit left out.
    pub left_out: u64,
    /// Number of records that were lost: the queue was full, or the log did not take them.
    pub dropped: u64,
}

/// The policy file in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyStatus {
    /// Its path.
    pub file: Name,
    /// When it was read.
    pub since: Time,
    /// Number of its sections.
    pub sections: usize,
    /// Times that it was read again since the mount.
    pub reloads: u64,
    /// Times that it was refused.
    pub failed_reloads: u64,
    /// Why the last reading failed, if it did.
    pub fault: Option<PolicyFault>,
}

/// Why a policy file was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFault {
    /// When it was read.
    pub time: Time,
    /// A line for each error.
    pub lines: Vec<String>,
}

/// The options in force, defaults filled in, by the names of the long options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MountOptions {
    /// The policy file.
    pub policy: Option<Name>,
    /// The definition of UTF-8.
    pub encoding: Encoding,
    /// Charsets that ill-formed names may be in.
    pub from: Vec<Charset>,
    /// The way to show names on disk that do not conform.
    pub legacy: Legacy,
    /// The charset that new names are stored in.
    pub store_as: Option<Charset>,
    /// The action on a new name that does not conform: `off`, or a word of the option.
    pub on_violation: Cow<'static, str>,
    /// The error for a refused name.
    pub errno: ErrnoChoice,
    /// The normalization form of names.
    pub normalization: Normalization,
    /// Forbidden classes, those of the profile among them.
    pub forbid: Vec<Class>,
    /// Most bytes in a name.
    pub max_bytes: usize,
    /// Most characters in a name.
    pub max_chars: Option<usize>,
    /// Most UTF-16 units in a name.
    pub max_utf16: Option<usize>,
    /// In what siblings may not differ alone.
    pub unique: Option<Alike>,
    /// Users who are exempt.
    pub exempt_uid: Vec<u32>,
    /// Patterns that are exempt.
    pub exempt: Vec<String>,
    /// The cache mode; `None` to choose by where it is mounted.
    pub cache: Option<CacheMode>,
    /// The place where locks are held.
    pub locks: Cow<'static, str>,
    /// Are mounts inside the backing directory entered?
    pub cross_mounts: bool,
    /// May the kernel read and write files?
    pub passthrough: Cow<'static, str>,
    /// Most operations at a time.
    pub threads: usize,
    /// May requests come by rings?
    pub uring: Cow<'static, str>,
    /// The degree of confinement.
    pub sandbox: Cow<'static, str>,
    /// The log of offences.
    #[serde(flatten)]
    pub audit: AuditConfig,
    /// Does the daemon run in the background?
    pub background: bool,
    /// The source that `/proc/mounts` shows.
    pub fsname: Name,
    /// May other users use the mount?
    pub allow_other: bool,
    /// The flags of the mount that restrict.
    pub flags: Vec<Cow<'static, str>>,
}

/// Destination, format and rate limit of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuditConfig {
    /// The destination; a file's path is absolute.
    pub audit_log: SinkKind,
    /// The format.
    pub audit_format: LogFormat,
    /// Records of one user in one directory that pass at once after a quiet time; with 0 none ever passes.
    pub audit_burst: u32,
    /// Those that pass each minute in the long run; with 0 none passes after the burst.
    pub audit_per_minute: u32,
}

/// The value of `--cache`: a word, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheMode {
    /// For up to a minute: the kernel is notified of what others change.
    Watch,
    /// For as long as the kernel likes: nobody else changes anything.
    Exclusive,
    /// The kernel keeps what it knows for so many seconds.
    #[serde(untagged)]
    Seconds(f64),
}

/// The state of a mount that gives no status, by words that are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum NoAnswer {
    /// Its daemon is gone.
    Dead,
    /// No answer in time.
    Silent,
    /// We may not ask.
    Denied,
    /// There is no answer for another reason.
    Unknown,
}

/// Why there is no status. The process that asks writes it for the one that prints.
#[derive(Debug, Serialize, Deserialize)]
pub struct NoStatus {
    /// The state of the mount.
    pub state: NoAnswer,
    /// The reason for people.
    pub message: String,
    /// The remedy.
    pub hint: String,
}

/// The version of [`GuardStatus`]. It is counted up where a field goes or gets another meaning.
pub const GUARD_STATUS_FORMAT: u64 = 1;

/// The status of a guard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardStatus {
    /// [`GUARD_STATUS_FORMAT`].
    pub format: u64,
    /// Version of the guard.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The directory.
    pub directory: Name,
    /// Seconds since its start.
    pub uptime_seconds: f64,
    /// The policy file in force.
    pub policy: Option<PolicyStatus>,
    /// Events that the kernel reported.
    pub events: u64,
    /// Times that the kernel could not keep all events.
    pub overflows: u64,
    /// Scans that were finished.
    pub scans: u64,
    /// Milliseconds from the making of the last offending name to its event.
    pub lag_milliseconds: u64,
    /// Entries that wait to be renamed.
    pub waiting: u64,
    /// Entries that were renamed.
    pub renamed: u64,
    /// Entries that were to be renamed, and were left.
    pub left: u64,
    /// Offences by rule.
    pub offences: RuleCounts<u64>,
    /// Offences by verdict.
    pub verdicts: VerdictCounts,
    /// Records of offences.
    pub audit_records: AuditCounts,
}

/// The fields that every version of a status has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FormatHead {
    /// The version of the rest.
    pub format: u64,
    /// The version of utf8fs that wrote it.
    #[serde(default)]
    pub version: Option<String>,
}
