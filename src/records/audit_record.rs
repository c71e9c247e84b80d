//! A line of the audit log (docs/audit.md has its fields).

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use strum::{EnumString, IntoStaticStr, VariantArray};

use serde::{Deserialize, Serialize};

use super::{AuditCounts, Name, RuleCounts, Time};
use crate::names::rules::{Exempt, Verdict};
use crate::policy::RuleName;

/// An operation that names are asked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Operation {
    /// A name too long for any entry was looked up.
    Lookup,
    /// A file was made by opening it.
    Create,
    /// A directory was made.
    Mkdir,
    /// A device, a FIFO, a socket or a file was made.
    Mknod,
    /// A symlink was made.
    Symlink,
    /// A hard link was made.
    Link,
    /// An entry was renamed.
    Rename,
    /// A guard found the name in a scan of the tree.
    Found,
}

/// A name that does not conform was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffenceRecord {
    /// The operation.
    pub operation: Operation,
    /// From the root of the mount, `/`, to the name as asked; of a symlink whose target offends, the symlink.
    pub path: Name,
    /// The name as asked; of a symlink's target, the component.
    pub name: Name,
    /// The rule that it breaks.
    pub rule: RuleName,
    /// What that rule says of the name, in words; empty in a record that was read.
    #[serde(skip)]
    pub fault: String,
    /// The kind within the rule.
    pub kind: Option<Cow<'static, str>>,
    /// Offset of the bytes of `name` that offend.
    pub offset: usize,
    /// Length of the bytes that offend.
    pub length: usize,
    /// The code point that they spell, if any: `U+003F`.
    pub code_point: Option<String>,
    /// The action taken.
    pub verdict: Verdict,
    /// Why it was let through, where others are refused it.
    pub exempt: Option<Exempt>,
    /// The errno of a refusal, by its symbol.
    pub errno: Option<Cow<'static, str>>,
    /// The name that it is listed as, if it was made.
    pub visible: Option<Name>,
    /// The name that was made below, if it was made.
    pub backing: Option<Name>,
    /// A name that would be accepted instead.
    pub accepted: Option<Name>,
    /// The sibling that the name is like, where that is the offence.
    pub sibling: Option<Name>,
    /// User of the caller.
    pub uid: u32,
    /// Group of the caller.
    pub gid: u32,
    /// Process of the caller.
    pub pid: u32,
    /// Command of the caller; empty where it is not known.
    pub command: Name,
    /// Offences of this user in this directory that the rate limit left out before this one.
    pub left_out: u64,
    /// The section of the policy that decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<Name>,
}

/// Offences that the rate limit left out, and that no other record tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutRecord {
    /// The directory, from the root of the mount.
    pub directory: Name,
    /// The user.
    pub uid: u32,
    /// Number of offences.
    pub left_out: u64,
}

/// The mount ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryRecord {
    /// Operations that the mount answered.
    pub operations: u64,
    /// Offences by rule.
    pub offences: RuleCounts,
    /// Offences refused.
    pub refused: u64,
    /// Offences normalized.
    pub normalized: u64,
    /// Offences reported.
    pub reported: u64,
    /// Their records.
    #[serde(flatten)]
    pub records: AuditCounts,
}

/// A record of the audit log. Fields that a later version added are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "a JSON object")]
pub struct AuditRecord {
    /// When it happened.
    pub time: Time,
    /// Path of the mount point.
    pub mount: Name,
    /// The event, with the fields that it has.
    #[serde(flatten)]
    pub event: AuditEvent,
}

/// An event that the audit log tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum AuditEvent {
    /// A name that does not conform was asked for.
    Offence(Box<OffenceRecord>),
    /// The rate limit left offences out.
    LeftOut(LeftOutRecord),
    /// The mount ended.
    Summary(SummaryRecord),
    /// An event of a later version.
    #[serde(other)]
    Unknown,
}
