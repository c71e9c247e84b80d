//! The system's journal as a sink: each record with its facts as fields, in the journal's own protocol
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>), as docs/audit.md promises them.

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::datagram::Datagrams;
use super::sink::Severity;
use super::syslog::DAEMON;
use crate::names::{Quoted, json_line, name_of_json};
use crate::os::helper;

/// The socket of the system's journal; that of the namespace NAME is `/run/systemd/journal.NAME/socket`
/// (systemd-journald.service(8)).
pub const JOURNAL: &str = "/run/systemd/journal/socket";

/// The kind of a message, by which the journal finds all of that kind (`MESSAGE_ID`).
const IDS: [(&str, &str); 3] = [
    ("offence", "b2a7e0c0a6f94f5d9a1d6a5f3d1c7e41"),
    ("left-out", "5f0c6d8be2a54c6c8c3b0f3b7e9d2a12"),
    ("summary", "e94b1d7a3c0f4be08f6a92c5d71b6f83"),
];

/// A sender to the journal's socket.
#[derive(Debug)]
pub(super) struct Journal(Datagrams);

impl Journal {
    /// A sender to the socket at `path`, which need not be there yet.
    ///
    /// # Errors
    /// No socket could be made.
    pub(super) fn new(path: PathBuf) -> io::Result<Self> {
        Datagrams::new(path, helper::open_log).map(Self)
    }

    /// Sends `line` with `facts`; waits for a journal that takes nothing a second at most.
    ///
    /// # Errors
    /// Nobody took it; `EMSGSIZE` for one beyond what a socket holds (some 200 KiB, which no record of a mount reaches).
    pub(super) fn send(&mut self, line: &str, facts: &Value, severity: Severity) -> io::Result<()> {
        self.0.send(&message(line, facts, severity))
    }
}

/// The datagram: `MESSAGE` is the line, `UTF8FS_RECORD` all facts as a line of JSON, and each is a field besides. Names are
/// quoted in those, so that no tool that prints a field prints a name raw (law L1).
fn message(line: &str, facts: &Value, severity: Severity) -> Vec<u8> {
    let mut message = Vec::with_capacity(2048);
    let mut add = |key: &str, value: &str| push_field(&mut message, key, value.as_bytes());
    add("MESSAGE", line);
    add("PRIORITY", &severity.number().to_string());
    add("SYSLOG_FACILITY", &DAEMON.to_string());
    add("SYSLOG_IDENTIFIER", "utf8fs");
    let event = facts.get("event").and_then(Value::as_str);
    let id = IDS.iter().find(|(of, _)| Some(*of) == event);
    if let Some((_, id)) = id {
        add("MESSAGE_ID", id);
    }
    add("UTF8FS_RECORD", &json_line(facts));
    push_facts(&mut add, "UTF8FS", facts);
    message
}

/// Adds a field for each of `facts` that is not null; one within another has the names of both.
fn push_facts(add: &mut impl FnMut(&str, &str), above: &str, facts: &Value) {
    for (key, value) in facts.as_object().into_iter().flatten() {
        let key = format!("{above}_{}", key.to_ascii_uppercase().replace('-', "_"));
        match value {
            Value::Null => {}
            Value::String(text) => add(&key, text),
            Value::Object(_) => match name_of_json(value) {
                Some(name) => add(&key, &Quoted(&name).to_string()),
                None => push_facts(add, &key, value),
            },
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => add(&key, &value.to_string()),
        }
    }
}

/// Adds a field: `KEY=value`, or where a newline is in the value the key, its length in eight octets and the value.
fn push_field(message: &mut Vec<u8>, key: &str, value: &[u8]) {
    message.extend(key.bytes());
    if value.contains(&b'\n') {
        let length = u64::try_from(value.len()).unwrap_or(u64::MAX);
        message.push(b'\n');
        message.extend(length.to_le_bytes());
    } else {
        message.push(b'=');
    }
    message.extend(value);
    message.push(b'\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{message, push_field};
    use crate::daemon::audit::Severity;
    use crate::names::json_name;

    #[test]
    fn each_fact_is_a_field_and_names_are_quoted() {
        let facts = json!({
            "event": "summary", "path": json_name(b"/caf\xE9\nMESSAGE=forged"), "errno": null, "code_point": "U+003F",
            "uid": 1000, "offences": {"ill-formed": 2, "too-long": 0},
            "section": json_name(b"the web\n\x1B"),
        });
        let text = String::from_utf8(message("line", &facts, Severity::Info)).unwrap();
        let fields: Vec<&str> = text.lines().collect();
        assert_eq!(
            fields,
            [
                "MESSAGE=line",
                "PRIORITY=6",
                "SYSLOG_FACILITY=3",
                "SYSLOG_IDENTIFIER=utf8fs",
                "MESSAGE_ID=e94b1d7a3c0f4be08f6a92c5d71b6f83",
                &format!("UTF8FS_RECORD={facts}"),
                "UTF8FS_EVENT=summary",
                r#"UTF8FS_PATH="/caf\xE9\nMESSAGE=forged""#,
                "UTF8FS_CODE_POINT=U+003F",
                "UTF8FS_UID=1000",
                "UTF8FS_OFFENCES_ILL_FORMED=2",
                "UTF8FS_OFFENCES_TOO_LONG=0",
                r#"UTF8FS_SECTION="the web\n\x1B""#,
            ]
        );
    }

    #[test]
    fn a_value_with_a_newline_is_told_with_its_length() {
        let mut message = Vec::new();
        push_field(&mut message, "A", b"one\xFF");
        push_field(&mut message, "B", b"two\nC=3");
        assert_eq!(message, b"A=one\xFF\nB\n\x07\0\0\0\0\0\0\0two\nC=3\n");
    }
}
