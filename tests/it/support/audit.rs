//! The audit log, read back.

use std::path::Path;

use base64::Engine;
use serde_json::Value;

/// One line of the log.
#[derive(Debug, Clone)]
pub(crate) struct Record(pub(crate) Value);

impl Record {
    /// The text of a field that must be one.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.0[key]
            .as_str()
            .unwrap_or_else(|| panic!("\"{key}\" is no string in {}", self.0))
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.0[key]
            .as_u64()
            .unwrap_or_else(|| panic!("\"{key}\" is no number in {}", self.0))
    }

    /// The bytes of a name (law L1); `None` where the field is absent or null.
    pub(crate) fn name(&self, key: &str) -> Option<Vec<u8>> {
        let value = &self.0[key];
        if value.is_null() {
            return None;
        }
        if let Some(text) = value["text"].as_str() {
            return Some(text.as_bytes().to_vec());
        }
        let bytes = value["bytes"]
            .as_str()
            .unwrap_or_else(|| panic!("\"{key}\" is no name in {}", self.0));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(bytes)
            .unwrap();
        assert!(
            std::str::from_utf8(&bytes).is_err(),
            "a name that is UTF-8 is given as text: {}",
            self.0
        );
        Some(bytes)
    }

    pub(crate) fn is_offence(&self) -> bool {
        self.text("event") == "offence"
    }
}

/// Every record of the log. Each line is one JSON object and cannot move a terminal's cursor (law L1).
pub(crate) fn read(path: &Path) -> Vec<Record> {
    let log = std::fs::read(path).unwrap_or_default();
    let whole = whole_lines(&log);
    assert_eq!(
        log.len(),
        whole.len(),
        "the last line of the log is cut off"
    );
    records(whole)
}

/// The offences of the log so far: a line may be being written.
pub(crate) fn offences_so_far(path: &Path) -> Vec<Record> {
    let log = std::fs::read(path).unwrap_or_default();
    let records = records(whole_lines(&log));
    records.into_iter().filter(Record::is_offence).collect()
}

fn whole_lines(log: &[u8]) -> &[u8] {
    let end = log.iter().rposition(|&byte| byte == b'\n');
    &log[..end.map_or(0, |end| end + 1)]
}

fn records(lines: &[u8]) -> Vec<Record> {
    lines
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| {
            let line = line.trim_ascii_end();
            let text = std::str::from_utf8(line).unwrap();
            assert!(
                !text.contains(|c: char| c.is_control() || is_bidi(c)),
                "a control character in {}",
                line.escape_ascii()
            );
            let value: Value = serde_json::from_str(text)
                .unwrap_or_else(|error| panic!("{error} in {}", line.escape_ascii()));
            assert!(value.is_object());
            Record(value)
        })
        .collect()
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}')
}

/// The offences of the log, without its summaries.
pub(crate) fn offences(path: &Path) -> Vec<Record> {
    read(path).into_iter().filter(Record::is_offence).collect()
}
