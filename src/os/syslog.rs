//! Messages to syslog, in the manner of RFC 3164 with no time of their own (section 4.3.2: the receiver puts its own).

use log::Level;

/// The socket of syslog.
pub(crate) const SYSLOG: &str = "/dev/log";

/// The facility "system daemons".
pub(crate) const DAEMON: u8 = 3;

/// Returns the datagram of a line.
pub(crate) fn message(line: &str, level: Level) -> String {
    let priority = DAEMON * 8 + severity(level);
    format!("<{priority}>utf8fs[{}]: {line}", std::process::id())
}

/// Returns the severity of a message as RFC 5424, section 6.2.1, counts it.
pub(crate) fn severity(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}
