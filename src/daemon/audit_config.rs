//! Destination and format of the audit log, from the options and the policy.

use super::command_error::CommandError;
use crate::records::{AuditConfig, PolicyFile, SinkKind};

/// What messages call the file.
pub(super) const LOG: &str = "audit log";

/// Records of one user in one directory that pass at once, by default.
pub const BURST: u32 = 100;
/// Those that pass each minute, by default.
pub const PER_MINUTE: u32 = 60;

/// Decides where offences are logged.
///
/// # Errors
/// The keys contradict each other.
pub(super) fn audit_config(
    keys: &PolicyFile,
    is_background: bool,
) -> Result<AuditConfig, CommandError> {
    let audit_log = match keys.audit_log.clone() {
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
    Ok(AuditConfig {
        audit_log,
        audit_format: keys.audit_format.unwrap_or_default(),
        audit_burst: keys.audit_burst.unwrap_or(BURST),
        audit_per_minute: keys.audit_per_minute.unwrap_or(PER_MINUTE),
    })
}
