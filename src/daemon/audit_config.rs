//! Destination and format of the audit log, from the options and the policy.

use super::auditor::{AuditConfig, AuditOptions};
use super::command_error::CommandError;
use crate::records::{PolicyFile, SinkKind};

/// What messages call the file.
pub(super) const LOG: &str = "audit log";

/// Decides where offences are logged.
///
/// # Errors
/// The keys contradict each other.
pub(super) fn audit_config(
    keys: &PolicyFile,
    is_background: bool,
) -> Result<AuditConfig, CommandError> {
    let sink = match keys.audit_log.clone() {
        Some(SinkKind::Stderr) if is_background => {
            return Err(CommandError::usage(
                "--audit-log - contradicts --background: nobody reads its standard error",
            )
            .hint("log to a file, to syslog or to journald, or stay in the foreground"));
        }
        Some(sink) => sink,
        None if is_background => SinkKind::Syslog,
        None => SinkKind::Stderr,
    };
    let default = AuditOptions::default();
    Ok(AuditConfig {
        sink,
        format: keys.audit_format.unwrap_or_default(),
        limit: AuditOptions {
            burst: keys.audit_burst.unwrap_or(default.burst),
            per_minute: keys.audit_per_minute.unwrap_or(default.per_minute),
        },
    })
}
