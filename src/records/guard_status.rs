//! The status of a guard, as it writes it for `utf8fs status` (docs/guard.md has its fields).

use serde::{Deserialize, Serialize};

use super::{AuditCounts, Name, PolicyStatus, RuleCounts, VerdictCounts};

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
