//! The documents that cross a border, each defined once: its writer and all its readers share the type.
//!
//! This is the only layer that derives serialization. A field that is added here is written and read everywhere.

mod audit_record;
mod backing_name;
mod charset_map_file;
mod counts;
mod finding;
mod guess_record;
mod journal_event;
mod json;
mod kind;
mod mount_status;
mod name;
mod plan_record;
mod policy_file;
mod scan_report;
mod sink_kind;
mod time;
mod word;

pub use audit_record::{
    AuditEvent, AuditRecord, LeftOutRecord, OffenceRecord, Operation, SummaryRecord,
};
pub use backing_name::{TreePath, join_path, parse_backing_name, parse_tree_path};
pub use charset_map_file::{CharsetMapFile, CharsetMapSection};
pub use counts::{FoundCounts, RuleCounts, VerdictCounts};
pub use finding::{Finding, Found, KindLabel};
pub use guess_record::{DoubledName, GuessRecord, ReadName, percent};
pub use journal_event::{
    Change, Destination, FileTime, InodeId, Job, JournalEvent, JournalHeader, JournalOrigin,
    Outcome, RegisterEntry, Retarget, TreeIdentity, Unplanned,
};
pub use json::{add_fields, json_line};
pub use kind::Kind;
pub use mount_status::{
    AuditConfig, AuditCounts, BackingFault, CacheMode, CacheTimes, DescriptorCounts, FormatHead,
    GUARD_STATUS_FORMAT, GuardStatus, IndexCounts, MountOptions, MountStatus, NoAnswer, NoStatus,
    OpenCounts, PolicyFault, PolicyStatus, RequestCounts, STATUS_FORMAT, Transport, WatchStatus,
};
pub use name::Name;
pub use plan_record::{
    Candidate, PLAN_VERSION, PlanEnd, PlanHeader, PlanLine, PlanRecord, Reason, Warning, describe,
};
pub use policy_file::{
    Comparison, Id, List, LogFormat, PolicyFile, PolicySection, PolicyText, TextFile,
};
pub use scan_report::{
    CharsetGuess, CharsetTotal, Counts, Directory, DirectoryReport, Failure, Failures, KindTotal,
    PART_FORMAT, PolicyReport, Sampled, ScanEntry, ScanLine, ScanPart, ScanTotal, TOTAL_FORMAT,
    Tally,
};
pub use sink_kind::SinkKind;
pub use time::{Time, whole_milliseconds};
