//! Destination and format of the audit log, from the options and the policy.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::auditor::{AuditConfig, AuditOptions, JOURNAL, SinkKind};
use super::command_error::CommandError;
use super::mount_paths::file_name;
use crate::names::Quoted;
use crate::records::{LogOption, PolicyFile};

/// What messages call the file.
pub(super) const LOG: &str = "audit log";

/// Decides where offences are logged.
///
/// # Errors
/// The keys contradict each other, or name what can be no log.
pub(super) fn audit_config(
    keys: &PolicyFile,
    is_background: bool,
) -> Result<AuditConfig, CommandError> {
    let sink = keys.audit_log.as_ref().map(log_sink);
    let sink = match sink.transpose()? {
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

/// Decides where a log is that was named so.
///
/// # Errors
/// It is on no system.
pub(super) fn log_sink(log: &LogOption) -> Result<SinkKind, CommandError> {
    let log = match log {
        LogOption::Word(text) => text.as_bytes(),
        LogOption::File(name) => name.as_bytes(),
    };
    Ok(match log {
        b"-" => SinkKind::Stderr,
        b"syslog" => SinkKind::Syslog,
        b"journald" => SinkKind::Journal(JOURNAL.into()),
        octets => match octets.strip_prefix(b"journald:") {
            Some(socket) if socket.starts_with(b"/") => {
                SinkKind::Journal(OsStr::from_bytes(socket).into())
            }
            Some(_) => {
                return Err(CommandError::usage(format!(
                    "the audit log {}: the socket has no path that begins with /",
                    Quoted(octets)
                ))
                .hint("a file of such a name is written as ./journald:...; the journal of the namespace NAME is journald:/run/systemd/journal.NAME/socket"));
            }
            None => {
                let path = Path::new(OsStr::from_bytes(log));
                file_name(LOG, path)?;
                SinkKind::File(path.into())
            }
        },
    })
}
