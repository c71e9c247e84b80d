//! Messages to the systemd journal: each record with its facts as fields, as docs/audit.md promises them. They are in
//! the journal's own protocol (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>).

use serde::Deserialize;
use serde_json::Value;

use crate::os::syslog::{DAEMON, severity};
use crate::records::{AuditEvent, AuditRecord, Name, json_line};

/// Returns the datagram: `MESSAGE` is the line, `UTF8FS_RECORD` the record as a line of JSON, and each field of it is a field
/// besides. Names are quoted in those, so that no tool that prints a field prints a name raw (law L1).
pub(super) fn message(line: &str, record: &AuditRecord) -> Vec<u8> {
    let mut message = Vec::with_capacity(2048);
    let mut add = |key: &str, value: &str| push_field(&mut message, key, value.as_bytes());
    add("MESSAGE", line);
    add("PRIORITY", &severity(record.level()).to_string());
    add("SYSLOG_FACILITY", &DAEMON.to_string());
    add("SYSLOG_IDENTIFIER", "utf8fs");
    if let Some(id) = message_id(record) {
        add("MESSAGE_ID", id);
    }
    add("UTF8FS_RECORD", &json_line(record));
    let fields = serde_json::to_value(record).unwrap_or_default();
    push_fields(&mut add, "UTF8FS", &fields);
    message
}

/// Returns the kind of a message, by which the journal finds all of that kind.
fn message_id(record: &AuditRecord) -> Option<&'static str> {
    match record.event {
        AuditEvent::Offence(_) => Some("b2a7e0c0a6f94f5d9a1d6a5f3d1c7e41"),
        AuditEvent::LeftOut(_) => Some("5f0c6d8be2a54c6c8c3b0f3b7e9d2a12"),
        AuditEvent::Summary(_) => Some("e94b1d7a3c0f4be08f6a92c5d71b6f83"),
        AuditEvent::Unknown => None,
    }
}

/// Adds each field of `fields` that is not null; one within another has the names of both.
fn push_fields(add: &mut impl FnMut(&str, &str), above: &str, fields: &Value) {
    for (key, value) in fields.as_object().into_iter().flatten() {
        let key = format!("{above}_{}", key.to_ascii_uppercase().replace('-', "_"));
        match value {
            Value::Null => {}
            Value::String(text) => add(&key, text),
            Value::Object(_) => match Name::deserialize(value) {
                Ok(name) => add(&key, &name.to_string()),
                Err(_) => push_fields(add, &key, value),
            },
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => add(&key, &value.to_string()),
        }
    }
}

/// Adds a field: `KEY=value`, or where a newline is in the value the key, its length in eight bytes and the value.
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
    use super::{message, push_field};
    use crate::records::{
        AuditCounts, AuditEvent, AuditRecord, RuleCounts, SummaryRecord, Time, json_line,
    };

    #[test]
    fn each_field_of_a_record_is_one_of_the_journal_and_names_are_quoted() {
        let summary = AuditEvent::Summary(SummaryRecord {
            operations: 9,
            offences: RuleCounts {
                not_unique: 1,
                ..RuleCounts::default()
            },
            refused: 1,
            normalized: 0,
            reported: 0,
            records: AuditCounts {
                written: 0,
                left_out: 0,
                dropped: 0,
            },
        });
        let summary = AuditRecord {
            time: Time("2026-11-21T11:49:58.965881Z".parse().unwrap()),
            mount: b"/caf\xE9\nMESSAGE=forged".into(),
            event: summary,
        };
        let text = String::from_utf8(message("line", &summary)).unwrap();
        let fields: Vec<&str> = text.lines().collect();
        assert_eq!(
            fields,
            [
                "MESSAGE=line",
                "PRIORITY=6",
                "SYSLOG_FACILITY=3",
                "SYSLOG_IDENTIFIER=utf8fs",
                "MESSAGE_ID=e94b1d7a3c0f4be08f6a92c5d71b6f83",
                &format!("UTF8FS_RECORD={}", json_line(&summary)),
                "UTF8FS_TIME=2026-11-21T11:49:58.965881Z",
                r#"UTF8FS_MOUNT="/caf\xE9\nMESSAGE=forged""#,
                "UTF8FS_EVENT=summary",
                "UTF8FS_OPERATIONS=9",
                "UTF8FS_OFFENCES_ILL_FORMED=0",
                "UTF8FS_OFFENCES_TOO_LONG=0",
                "UTF8FS_OFFENCES_FORBIDDEN=0",
                "UTF8FS_OFFENCES_NOT_NORMALIZED=0",
                "UTF8FS_OFFENCES_UNMAPPABLE=0",
                "UTF8FS_OFFENCES_NOT_UNIQUE=1",
                "UTF8FS_OFFENCES_NOT_A_COMPONENT=0",
                "UTF8FS_REFUSED=1",
                "UTF8FS_NORMALIZED=0",
                "UTF8FS_REPORTED=0",
                "UTF8FS_WRITTEN=0",
                "UTF8FS_LEFT_OUT=0",
                "UTF8FS_DROPPED=0",
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
