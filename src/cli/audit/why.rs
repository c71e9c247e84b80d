//! Why a line is no record: the long way, for lines that the short one did not take.
//!
//! The tables here are those of docs/audit.md, and a test holds them together.

use serde_json::{Map, Value};

use super::line::MOST;
use super::words::{Exempt, Offended, Verdict, Word, is_code_point, is_errno, time};
use crate::fs::audit::Operation;
use crate::names::name_of_json;

/// What a field has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Time,
    Text,
    Name,
    /// A name that starts with `/`.
    Path,
    Operation,
    Rule,
    Verdict,
    Exempt,
    CodePoint,
    Errno,
    /// Of 53 bits.
    Number,
    /// Of 32 bits.
    Id,
    /// An object of numbers.
    Numbers,
}

/// What may stand in the place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Else {
    Nothing,
    /// `null`.
    Null,
    /// The field may be absent.
    Absent,
}

/// A field of an event.
pub(super) type Field = (&'static str, Type, Else);

const OFFENCE: &[Field] = &[
    ("time", Type::Time, Else::Nothing),
    ("event", Type::Text, Else::Nothing),
    ("mount", Type::Path, Else::Nothing),
    ("operation", Type::Operation, Else::Nothing),
    ("path", Type::Path, Else::Nothing),
    ("name", Type::Name, Else::Nothing),
    ("rule", Type::Rule, Else::Nothing),
    ("kind", Type::Text, Else::Nothing),
    ("offset", Type::Number, Else::Nothing),
    ("length", Type::Number, Else::Nothing),
    ("code_point", Type::CodePoint, Else::Null),
    ("verdict", Type::Verdict, Else::Nothing),
    ("exempt", Type::Exempt, Else::Null),
    ("errno", Type::Errno, Else::Null),
    ("visible", Type::Name, Else::Null),
    ("backing", Type::Name, Else::Null),
    ("accepted", Type::Name, Else::Null),
    ("sibling", Type::Name, Else::Null),
    ("uid", Type::Id, Else::Nothing),
    ("gid", Type::Id, Else::Nothing),
    ("pid", Type::Id, Else::Nothing),
    ("command", Type::Name, Else::Nothing),
    ("left_out", Type::Number, Else::Nothing),
    ("section", Type::Name, Else::Absent),
];

const LEFT_OUT: &[Field] = &[
    ("time", Type::Time, Else::Nothing),
    ("event", Type::Text, Else::Nothing),
    ("mount", Type::Path, Else::Nothing),
    ("directory", Type::Path, Else::Nothing),
    ("uid", Type::Id, Else::Nothing),
    ("left_out", Type::Number, Else::Nothing),
];

const SUMMARY: &[Field] = &[
    ("time", Type::Time, Else::Nothing),
    ("event", Type::Text, Else::Nothing),
    ("mount", Type::Path, Else::Nothing),
    ("operations", Type::Number, Else::Nothing),
    ("offences", Type::Numbers, Else::Nothing),
    ("refused", Type::Number, Else::Nothing),
    ("normalized", Type::Number, Else::Nothing),
    ("reported", Type::Number, Else::Nothing),
    ("written", Type::Number, Else::Nothing),
    ("left_out", Type::Number, Else::Nothing),
    ("dropped", Type::Number, Else::Nothing),
];

/// What every event has.
const ANY: &[Field] = &[
    ("time", Type::Time, Else::Nothing),
    ("event", Type::Text, Else::Nothing),
];

/// The events that this program knows, with their fields.
pub(super) const EVENTS: [(&str, &[Field]); 3] = [
    ("offence", OFFENCE),
    ("left-out", LEFT_OUT),
    ("summary", SUMMARY),
];

impl Type {
    /// What a value is that is none of it.
    fn failing(self) -> &'static str {
        match self {
            Self::Time => "no time",
            Self::Text => "no text",
            Self::Name => "no name",
            Self::Path => "no absolute path",
            Self::Operation => "no operation",
            Self::Rule => "no rule",
            Self::Verdict => "no verdict",
            Self::Exempt => "no reason",
            Self::CodePoint => "no code point",
            Self::Errno => "no errno",
            Self::Number | Self::Id => "no such number",
            Self::Numbers => "no object of numbers",
        }
    }

    fn takes(self, value: &Value) -> bool {
        let text = |is_such: fn(&str) -> bool| value.as_str().is_some_and(is_such);
        match self {
            Self::Time => text(|text| time(text).is_some()),
            Self::Text => value.is_string(),
            Self::Name => name_of_json(value).is_some(),
            Self::Path => name_of_json(value).is_some_and(|name| name.starts_with(b"/")),
            Self::Operation => text(|text| Word::<Operation>::of(text).is_some()),
            Self::Rule => text(|text| Word::<Offended>::of(text).is_some()),
            Self::Verdict => text(|text| Word::<Verdict>::of(text).is_some()),
            Self::Exempt => text(|text| Word::<Exempt>::of(text).is_some()),
            Self::CodePoint => text(is_code_point),
            Self::Errno => text(is_errno),
            Self::Number => is_count(value),
            Self::Id => value.as_u64().is_some_and(|id| u32::try_from(id).is_ok()),
            Self::Numbers => {
                let numbers = value.as_object();
                numbers.is_some_and(|numbers| numbers.values().all(is_count))
            }
        }
    }
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some_and(|count| count <= MOST)
}

/// Says why the line is no record. There are no more such reasons than fields and a few, whatever is in a line.
#[cold]
pub(super) fn why(line: &[u8]) -> String {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) if error.is_eof() => return "it is cut off".to_owned(),
        Err(_no_json) => return "it is no JSON".to_owned(),
    };
    let Value::Object(object) = value else {
        return "it is no object".to_owned();
    };
    let event = object.get("event").and_then(Value::as_str);
    let known = EVENTS.iter().find(|(name, _)| Some(*name) == event);
    let fields = known.map_or(ANY, |(_, fields)| *fields);
    let fault = fields.iter().find_map(|field| fault(field, &object));
    // The parser keeps the last of those alike.
    fault.unwrap_or_else(|| "a field is in it twice".to_owned())
}

fn fault((name, is, or): &Field, object: &Map<String, Value>) -> Option<String> {
    match object.get(*name) {
        None if *or == Else::Absent => None,
        None => Some(format!("its {name} is missing")),
        Some(Value::Null) if *or == Else::Null => None,
        Some(value) if is.takes(value) => None,
        Some(_) => Some(format!("its {name} is {}", is.failing())),
    }
}

#[cfg(test)]
pub(super) mod samples {
    /// A record of each event.
    pub(in crate::cli::audit) const OFFENCE: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","event":"offence","mount":{"text":"/mnt"},"operation":"create","path":{"bytes":"L2NhZuk="},"name":{"bytes":"Y2Fm6Q=="},"rule":"ill-formed","kind":"truncated","offset":3,"length":1,"code_point":null,"verdict":"refused","exempt":null,"errno":"EILSEQ","visible":null,"backing":null,"accepted":null,"sibling":null,"uid":7,"gid":7,"pid":1,"command":{"text":"tou\"ch"},"left_out":2}"#;
    pub(in crate::cli::audit) const LEFT_OUT: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","event":"left-out","mount":{"text":"/"},"directory":{"text":"/"},"uid":4294967295,"left_out":1}"#;
    pub(in crate::cli::audit) const SUMMARY: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","event":"summary","mount":{"text":"/mnt"},"operations":3,"offences":{"ill-formed":1},"refused":1,"normalized":0,"reported":0,"written":1,"left_out":0,"dropped":0}"#;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{EVENTS, Else, MOST, Type, samples};
    use crate::cli::audit::line::read;

    fn sample(event: &str) -> Value {
        let all = [samples::OFFENCE, samples::LEFT_OUT, samples::SUMMARY].into_iter();
        let mut all = all.map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.find(|value| value["event"] == event).unwrap()
    }

    fn refusal(value: &Value) -> Option<String> {
        read(value.to_string().as_bytes()).err()
    }

    /// Values of which each type takes some, and no type all.
    fn values() -> Vec<Value> {
        vec![
            json!(null),
            json!(true),
            json!(7),
            json!(-1),
            json!(1.5),
            json!(1e30),
            json!(u64::from(u32::MAX) + 1),
            json!(MOST),
            json!(MOST + 1),
            json!({"ill-formed": MOST + 1}),
            json!(u64::MAX),
            json!("7"),
            json!(""),
            json!("yesterday"),
            json!("2026-11-21T11:49:58.965881Z"),
            json!("2026-11-21T11:49:60.000000Z"),
            json!("create"),
            json!("unlink"),
            json!("too-long"),
            json!("reported"),
            json!("uid"),
            json!("path"),
            json!("U+0041"),
            json!("EIO"),
            json!([]),
            json!([7]),
            json!({}),
            json!({"text": "x"}),
            json!({"text": "/x"}),
            json!({"text": 7}),
            json!({"bytes": "L/8="}),
            json!({"bytes": "/w=="}),
            json!({"bytes": "/w"}),
            json!({"bytes": "!!"}),
            json!({"text": "/", "bytes": ""}),
            json!({"ill-formed": 7}),
            json!({"ill-formed": "7"}),
            json!({"create": null}),
            json!({"refused": null}),
        ]
    }

    /// A record is taken as a whole or not at all: both ways to read one agree, field by field.
    #[test]
    fn each_field_that_is_missing_or_of_another_type_makes_a_line_no_record() {
        let mut refused = 0;
        for (event, fields) in EVENTS {
            let whole = sample(event);
            assert_eq!(refusal(&whole), None);
            for (name, is, or) in fields.iter().filter(|(name, ..)| *name != "event") {
                let mut without = whole.clone();
                without.as_object_mut().unwrap().remove(*name);
                let missing = (*or != Else::Absent).then(|| format!("its {name} is missing"));
                assert_eq!(refusal(&without), missing, "{event}");
                for value in values() {
                    let is_fine = is.takes(&value) || value.is_null() && *or == Else::Null;
                    let mut altered = whole.clone();
                    altered[*name] = value.clone();
                    let fault = (!is_fine).then(|| format!("its {name} is {}", is.failing()));
                    refused += usize::from(!is_fine);
                    assert_eq!(refusal(&altered), fault, "{event}: {name} as {value}");
                }
            }
        }
        assert!(refused > 900, "{refused}");
    }

    #[test]
    fn what_is_no_record_is_told_why() {
        let offence = samples::OFFENCE;
        let altered = |from: &str, to: &str| {
            assert!(offence.contains(from), "{from}");
            offence.replacen(from, to, 1)
        };
        let values = sample("offence");
        let values: Vec<&Value> = values.as_object().unwrap().values().collect();
        let rows = [
            (
                offence.strip_suffix('}').unwrap().to_owned(),
                "it is cut off",
            ),
            (format!("{offence}{offence}"), "it is no JSON"),
            ("\u{1B}[2J".to_owned(), "it is no JSON"),
            ("[]".to_owned(), "it is no object"),
            (format!("[{offence}]"), "it is no object"),
            // Its values in the order of its fields.
            (json!(values).to_string(), "it is no object"),
            ("{}".to_owned(), "its time is missing"),
            (
                altered("\"event\":\"offence\",", ""),
                "its event is missing",
            ),
            (
                altered("\"offence\"", "{\"offence\":null}"),
                "its event is no text",
            ),
            (
                altered("\"uid\":7", "\"uid\":7,\"uid\":0"),
                "a field is in it twice",
            ),
            (
                altered("\"text\":\"/mnt\"", "\"text\":\"/mnt\",\"text\":\"/\""),
                "a field is in it twice",
            ),
            (
                altered("\"offence\"", "\"summary\""),
                "its operations is missing",
            ),
        ];
        for (line, reason) in rows {
            assert_eq!(read(line.as_bytes()).unwrap_err(), reason, "{line}");
        }
        assert_eq!(read(b"caf\xE9").unwrap_err(), "it is no JSON");
        let mut line = offence.as_bytes().to_vec();
        line[20] = 0xFF;
        assert_eq!(read(&line).unwrap_err(), "it is no JSON");
    }

    /// Law L4: the fields of the page are those that are read, of the same types.
    #[test]
    fn l4_the_page_on_the_log_has_the_fields_that_are_read() {
        let page = include_str!("../../../docs/audit.md");
        for (event, fields) in EVENTS {
            let head = format!("### `\"event\": \"{event}\"`");
            let part = page.split(head.as_str()).nth(1).unwrap();
            let part = part.split("\n### ").next().unwrap();
            let rows = part.lines().filter(|line| line.starts_with("| `"));
            let mut told = Vec::new();
            for row in rows {
                let cells: Vec<&str> = row.split('|').map(str::trim).collect();
                for name in cells[1].split('`').skip(1).step_by(2) {
                    told.push((name, cells[2]));
                }
            }
            // Of every event, and said of the first alone.
            for of_all in ["time", "event", "mount"] {
                let is_there = told.iter().any(|(name, _)| *name == of_all);
                assert!(is_there || of_all == "event", "{event}: {of_all}");
            }
            let names: Vec<&str> = told.iter().map(|(name, _)| *name).collect();
            let mut known: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
            if !names.contains(&"event") {
                known.retain(|name| *name != "event");
            }
            assert_eq!(names, known, "{event}");
            for (name, told) in told.iter().filter(|(_, told)| !told.is_empty()) {
                let (_, is, or) = fields.iter().find(|(known, ..)| known == name).unwrap();
                let is = match is {
                    Type::Time => "time",
                    Type::Name | Type::Path => "name",
                    Type::Number | Type::Id => "number",
                    Type::Numbers => "object",
                    Type::Text
                    | Type::Operation
                    | Type::Rule
                    | Type::Verdict
                    | Type::Exempt
                    | Type::CodePoint
                    | Type::Errno => "text",
                };
                let or = match or {
                    Else::Nothing => "",
                    Else::Null => ", null",
                    Else::Absent => ", absent",
                };
                assert_eq!(*told, format!("{is}{or}"), "{event}: {name}");
            }
        }
    }
}
