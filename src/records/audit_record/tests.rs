//! Records as they are written and read.

use serde_json::{Value, json};

use super::{AuditEvent, AuditRecord};
use crate::records::json_line;

const OFFENCE: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","mount":{"text":"/mnt"},"event":"offence","operation":"create","path":{"bytes":"L2NhZuk="},"name":{"bytes":"Y2Fm6Q=="},"rule":"ill-formed","kind":"truncated","offset":3,"length":1,"code_point":null,"verdict":"refused","exempt":null,"errno":"EILSEQ","visible":null,"backing":null,"accepted":null,"sibling":null,"uid":7,"gid":8,"pid":9,"command":{"text":"tou\"ch"},"left_out":2}"#;
const LEFT_OUT: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","mount":{"text":"/mnt"},"event":"left-out","directory":{"text":"/d"},"uid":7,"left_out":3}"#;
const SUMMARY: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","mount":{"text":"/mnt"},"event":"summary","operations":9,"offences":{"ill-formed":1,"too-long":0,"forbidden":0,"not-normalized":0,"unmappable":0,"not-unique":0,"not-a-component":0},"refused":1,"normalized":0,"reported":0,"written":1,"left_out":0,"dropped":0}"#;

fn parse(line: &str) -> serde_json::Result<AuditRecord> {
    serde_json::from_str(line)
}

#[test]
fn l4_what_is_read_is_what_is_written() {
    for line in [OFFENCE, LEFT_OUT, SUMMARY] {
        let record = parse(line).unwrap();
        assert_eq!(json_line(&record), line);
    }
    let line = OFFENCE.replace(
        r#","left_out":2}"#,
        r#","left_out":2,"section":{"text":"s"}}"#,
    );
    let record = parse(&line).unwrap();
    assert_eq!(json_line(&record), line);
}

#[test]
fn events_and_fields_of_a_later_version_are_passed_over() {
    let line = OFFENCE.replace("\"uid\"", "\"later\":[{}],\"uid\"");
    assert_eq!(parse(&line).unwrap(), parse(OFFENCE).unwrap());
    let line = OFFENCE.replace("offence", "policy");
    let record = parse(&line).unwrap();
    assert_eq!(
        (record.event, record.mount.as_path().to_str()),
        (AuditEvent::Unknown, Some("/mnt"))
    );
}

/// A record is taken as a whole or not at all.
#[test]
fn a_field_that_is_missing_or_twice_or_of_another_type_makes_a_line_no_record() {
    for line in [OFFENCE, LEFT_OUT, SUMMARY] {
        let whole: Value = serde_json::from_str(line).unwrap();
        for (key, value) in whole.as_object().unwrap() {
            // What may be null may be missing too.
            let is_optional = value.is_null() || key == "errno" || key == "kind";
            let mut without = whole.clone();
            without.as_object_mut().unwrap().remove(key);
            let is_read = parse(&without.to_string()).is_ok();
            assert_eq!(is_read, is_optional, "without {key}");
            let mut altered = whole.clone();
            altered[key] = json!([true]);
            assert!(parse(&altered.to_string()).is_err(), "{key}");
            let twice = line.replacen('{', &format!("{{\"{key}\":{value},"), 1);
            assert!(parse(&twice).is_err(), "{key} twice");
        }
        let cut = line.strip_suffix('}').unwrap();
        assert!(parse(cut).unwrap_err().is_eof());
        assert!(parse(&format!("{line}{line}")).is_err());
    }
    for (from, to) in [
        ("ill-formed", "ill"),
        ("refused", "no"),
        ("create", "make"),
        ("-11-", "-13-"),
    ] {
        let line = OFFENCE.replacen(from, to, 1);
        assert!(parse(&line).is_err(), "{to}");
    }
}

/// The operations of the page on the audit log are those that can be recorded.
#[test]
fn l4_the_page_lists_each_operation_and_each_field_and_no_other() {
    use strum::VariantArray;
    let page = include_str!("../../../docs/audit.md");
    let row = page
        .lines()
        .find(|line| line.starts_with("| `operation` |"));
    let listed = row.unwrap().split('|').nth(4).unwrap();
    let mut listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    let all = super::Operation::VARIANTS.iter();
    let mut all: Vec<&str> = all.map(Into::into).collect();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all);
    for (event, line) in [
        ("offence", OFFENCE),
        ("left-out", LEFT_OUT),
        ("summary", SUMMARY),
    ] {
        let record: Value = serde_json::from_str(line).unwrap();
        let mut fields: Vec<&str> = record
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let head = format!("### `\"event\": \"{event}\"`");
        let part = page.split(head.as_str()).nth(1).unwrap();
        let rows = part.split("\n### ").next().unwrap().lines();
        let rows = rows.filter(|line| line.starts_with("| `"));
        let listed =
            rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
        let mut listed: Vec<&str> = listed.collect();
        if event == "offence" {
            fields.push("section");
        } else {
            listed.push("event");
        }
        listed.sort_unstable();
        fields.sort_unstable();
        assert_eq!(listed, fields, "{event}");
    }
}
