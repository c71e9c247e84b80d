//! Destination and format of the audit log, from the options and the policy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::auditor::{AuditOptions, Format, JOURNAL, SinkKind};
use super::mount_paths::log_name;
use super::start_error::StartError;
use crate::names::Quoted;
use crate::records::{LogOption, PolicyFile};

/// Destination and format of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// The destination; a file's path is absolute.
    pub sink: SinkKind,
    /// The format.
    pub format: Format,
    /// The rate limit.
    pub limit: AuditOptions,
}

/// Decides where offences are logged.
///
/// # Errors
/// The keys contradict each other, or name what can be no log.
pub(super) fn audit_config(
    keys: &PolicyFile,
    is_background: bool,
) -> Result<AuditConfig, StartError> {
    let sink = keys
        .audit_log
        .as_ref()
        .map(|log| log_sink(&log_target(log)));
    let sink = match sink.transpose()? {
        Some(SinkKind::Stderr) if is_background => {
            return Err(StartError::usage(
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

/// Returns the value of `--audit-log`.
pub(super) fn log_target(log: &LogOption) -> OsString {
    match log {
        LogOption::Word(text) => OsString::from(text.as_ref()),
        LogOption::File(name) => OsString::from_vec(name.as_bytes().to_vec()),
    }
}

/// Decides where a log is that was named so.
///
/// # Errors
/// It is on no system.
pub(super) fn log_sink(log: &OsStr) -> Result<SinkKind, StartError> {
    Ok(match log.as_bytes() {
        b"-" => SinkKind::Stderr,
        b"syslog" => SinkKind::Syslog,
        b"journald" => SinkKind::Journal(JOURNAL.into()),
        octets => match octets.strip_prefix(b"journald:") {
            Some(socket) if socket.starts_with(b"/") => {
                SinkKind::Journal(OsStr::from_bytes(socket).into())
            }
            Some(_) => {
                return Err(StartError::usage(format!(
                    "the audit log {}: the socket has no path that begins with /",
                    Quoted(octets)
                ))
                .hint("a file of such a name is written as ./journald:...; the journal of the namespace NAME is journald:/run/systemd/journal.NAME/socket"));
            }
            None => {
                log_name(log.as_ref())?;
                SinkKind::File(log.into())
            }
        },
    })
}
