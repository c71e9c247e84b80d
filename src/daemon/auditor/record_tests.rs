//! How records read: golden lines, for they are an interface (law L4).

use jiff::Timestamp;
use strum::VariantArray;

use crate::codec::{Encoding, Form, Malformed};
use crate::fs::audit::{Operation, Verdict};
use crate::names::rules::Exempt;
use crate::policy::{Alike, Class, Rule, RuleName, Unit};
use crate::records::{
    AuditCounts, AuditEvent, AuditRecord, LeftOutRecord, Name, OffenceRecord, RuleCounts,
    SummaryRecord, Time, json_line,
};

/// An offence by the name `name`, at this place of it.
pub(super) fn record(name: &[u8], rule: Rule, offset: usize, length: usize) -> OffenceRecord {
    OffenceRecord {
        operation: Operation::Create,
        path: [b"/dir/", name].concat().into(),
        name: name.to_vec().into(),
        rule: rule.into(),
        fault: rule.to_string(),
        kind: rule.kind().map(Into::into),
        offset,
        length,
        code_point: match rule {
            Rule::IllFormed(_, malformed) => malformed.code_point(),
            Rule::TooLong { .. }
            | Rule::Forbidden(_)
            | Rule::NotNormalized(_)
            | Rule::Unmappable(_)
            | Rule::NotUnique(_)
            | Rule::NotAComponent => None,
        }
        .map(|code| format!("U+{code:04X}")),
        verdict: Verdict::Refused,
        exempt: None,
        errno: Some("EILSEQ".into()),
        visible: None,
        backing: None,
        accepted: None,
        sibling: None,
        uid: 1000,
        gid: 100,
        pid: 4242,
        command: b"touch".into(),
        left_out: 0,
        section: None,
    }
}

/// The time of all records.
pub(super) fn time() -> Time {
    Time(Timestamp::new(1_763_721_360, 1_234_999).unwrap())
}

impl From<AuditEvent> for AuditRecord {
    fn from(event: AuditEvent) -> Self {
        Self {
            time: time(),
            mount: b"/mnt/x".into(),
            event,
        }
    }
}

impl From<OffenceRecord> for AuditRecord {
    fn from(record: OffenceRecord) -> Self {
        AuditEvent::Offence(Box::new(record)).into()
    }
}

/// The line of a record.
pub(super) fn text(record: &OffenceRecord) -> String {
    AuditRecord::from(record.clone()).text()
}

/// An offence by a name in Latin-1.
pub(super) fn latin1() -> OffenceRecord {
    record(
        b"caf\xE9",
        Rule::IllFormed(Encoding::Utf8, Malformed::Truncated),
        3,
        1,
    )
}

/// Law L2: all facts, in one line.
#[test]
fn a_record_reads_as_the_golden_lines_say() {
    let refused = OffenceRecord {
        accepted: Some(Name::from("café")),
        ..latin1()
    };
    let normalized = OffenceRecord {
        operation: Operation::Rename,
        verdict: Verdict::Normalized,
        errno: None,
        visible: Some(Name::from("é")),
        backing: Some(Name::from("é")),
        ..record("e\u{301}".as_bytes(), Rule::NotNormalized(Form::Nfc), 0, 3)
    };
    let long = Rule::TooLong {
        unit: Unit::Bytes,
        actual: 300,
        limit: 255,
    };
    let too_long = OffenceRecord {
        errno: Some("ENAMETOOLONG".into()),
        path: b"/a".into(),
        command: Name::default(),
        ..record(&[b'a'; 300], long, 255, 45)
    };
    let reported = OffenceRecord {
        verdict: Verdict::Reported,
        errno: None,
        command: b"a\nb\x1B".into(),
        ..record("a\u{202E}b".as_bytes(), Rule::Forbidden(Class::Bidi), 1, 3)
    };
    let clash = OffenceRecord {
        operation: Operation::Mkdir,
        errno: Some("EEXIST".into()),
        sibling: Some(Name::from(b"readme")),
        ..record(b"README", Rule::NotUnique(Alike::Casefold), 0, 6)
    };
    let exempt = OffenceRecord {
        exempt: Some(Exempt::Uid),
        verdict: Verdict::Reported,
        errno: None,
        sibling: Some(Name::from("é")),
        ..record("e\u{301}".as_bytes(), Rule::NotUnique(Alike::Nfc), 0, 3)
    };
    let rows = [
        (
            clash,
            r#"2025-11-21T10:36:00.001234Z mkdir "/dir/README": refused with EEXIST: not unique: differs from a sibling in case or form alone; rule: not-unique casefold; at byte 0: 52 45 41 44 4D 45; sibling: "readme"; by uid 1000 gid 100 pid 4242 "touch"; mount "/mnt/x""#,
        ),
        (
            exempt,
            "2025-11-21T10:36:00.001234Z create \"/dir/e\\u{301}\": reported, exempt by uid: not unique: differs from a sibling in normalization form alone; rule: not-unique nfc; at byte 0: 65 CC 81; sibling: \"é\"; by uid 1000 gid 100 pid 4242 \"touch\"; mount \"/mnt/x\"",
        ),
        (
            refused,
            r#"2025-11-21T10:36:00.001234Z create "/dir/caf\xE9": refused with EILSEQ: ill-formed UTF-8: truncated sequence; rule: ill-formed truncated; at byte 3: E9; would be accepted: "café"; by uid 1000 gid 100 pid 4242 "touch"; mount "/mnt/x""#,
        ),
        (
            normalized,
            "2025-11-21T10:36:00.001234Z rename \"/dir/e\\u{301}\": normalized: not in normalization form C; rule: not-normalized nfc; at byte 0: 65 CC 81; visible: \"é\"; backing: \"é\"; by uid 1000 gid 100 pid 4242 \"touch\"; mount \"/mnt/x\"",
        ),
        (
            too_long,
            r#"2025-11-21T10:36:00.001234Z create "/a": refused with ENAMETOOLONG: too long: 300 bytes, the limit is 255; rule: too-long bytes; at byte 255: 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 ... (45 bytes); by uid 1000 gid 100 pid 4242 ""; mount "/mnt/x""#,
        ),
        (
            reported,
            r#"2025-11-21T10:36:00.001234Z create "/dir/a\u{202E}b": reported: forbidden: bidirectional control; rule: forbidden bidi; at byte 1: E2 80 AE; by uid 1000 gid 100 pid 4242 "a\nb\x1B"; mount "/mnt/x""#,
        ),
    ];
    for (record, expected) in rows {
        assert_eq!(text(&record), expected);
        if record.path.as_bytes().ends_with(record.name.as_bytes()) {
            is_read_back(record.into());
        }
    }
    let told = OffenceRecord {
        left_out: 12,
        ..latin1()
    };
    let text = text(&told);
    let expected =
        r#""touch"; left out before it, of this uid in this directory: 12; mount "/mnt/x""#;
    assert!(text.ends_with(expected), "{text}");
    is_read_back(told.into());
}

/// The line of a record says all of it, and no part of the line is a record.
fn is_read_back(mut record: AuditRecord) {
    let text = record.text();
    record.time = "2025-11-21T10:36:00.001234Z".parse().map(Time).unwrap();
    if let AuditEvent::Offence(offence) = &mut record.event {
        offence.fault.clear();
        offence.code_point = None;
    }
    assert_eq!(
        AuditRecord::from_text(&text).as_ref(),
        Some(&record),
        "{text}"
    );
    let is_whole = |end: &usize| text.is_char_boundary(*end);
    for end in (0..text.len()).filter(is_whole) {
        let (part, _) = text.split_at(end);
        assert_eq!(AuditRecord::from_text(part), None, "{part}");
    }
}

#[test]
fn records_without_a_name_are_read_back() {
    let left_out = AuditEvent::LeftOut(LeftOutRecord {
        directory: Name::from(b"/; mount \"/x\""),
        uid: 7,
        left_out: 12,
    });
    is_read_back(AuditRecord {
        mount: Name::from(b"/a \"b"),
        ..left_out.into()
    });
    let mut offences = RuleCounts::default();
    for (count, &rule) in (1..).zip(RuleName::VARIANTS) {
        *offences.of(rule) = count;
    }
    let summary = AuditEvent::Summary(SummaryRecord {
        operations: 120,
        offences,
        refused: 9,
        normalized: 8,
        reported: 11,
        records: AuditCounts {
            written: 20,
            left_out: 5,
            dropped: 3,
        },
    });
    is_read_back(AuditRecord {
        mount: Name::from(b"/1 refused"),
        ..summary.into()
    });
}

#[test]
fn a_line_that_was_altered_is_no_record() {
    let summary = r#"2025-11-21T10:36:00.001234Z summary of "/m": 7 operations; 2 offences (2 ill-formed, 0 too-long, 0 forbidden, 0 not-normalized, 0 unmappable, 0 not-unique, 0 not-a-component; 2 refused, 0 normalized, 0 reported); records: 1 written, 0 left out by the rate limit, 1 dropped"#;
    assert!(AuditRecord::from_text(summary).is_some());
    let offence = text(&latin1());
    for line in [
        // Two lines without the newline between them.
        summary.repeat(2),
        offence.repeat(2),
        format!("{summary}; mount \"/x\""),
        format!("{offence}; mount \"/x\""),
        summary.replace(": 7 operations", ": 9 operations; 7 operations"),
        summary.replace("2 offences", "3 offences"),
        summary.replace("0 too-long, ", ""),
        summary.replace("7 operations", "-7 operations"),
        offence.replace("refused", "refused refused"),
    ] {
        assert_eq!(AuditRecord::from_text(&line), None, "{line}");
    }
}

/// Laws L1 and L2: whatever bytes the names have.
#[test]
fn a_record_is_read_back_whatever_its_names_are() {
    let names: [&[u8]; 6] = [
        b"\"; rule: forbidden bidi; at byte 0",
        b"\\",
        b"\xFF\x00\n",
        "\u{202E}; by uid 0".as_bytes(),
        b": ",
        b"",
    ];
    for name in names {
        let name = || Some(Name::from(name));
        let section = name();
        is_read_back(AuditRecord {
            mount: name().unwrap(),
            ..OffenceRecord {
                path: Name::from([b"/", name().unwrap().as_bytes(), b"/caf\xE9"].concat()),
                accepted: name(),
                sibling: name(),
                visible: name(),
                backing: name(),
                command: name().unwrap(),
                section,
                ..latin1()
            }
            .into()
        });
    }
}

/// Laws L2 and L4: these keys, in this order.
#[test]
fn a_record_in_json_reads_as_the_golden_lines_say() {
    let overlong = OffenceRecord {
        accepted: Some(Name::from(b"a%C0%AF")),
        ..record(
            b"a\xC0\xAF",
            Rule::IllFormed(Encoding::Utf8, Malformed::Overlong(0x2F)),
            1,
            2,
        )
    };
    assert_eq!(
        json_line(&AuditRecord::from(overlong.clone())),
        concat!(
            r#"{"time":"2025-11-21T10:36:00.001234Z","mount":{"text":"/mnt/x"},"event":"offence","operation":"create","#,
            r#""path":{"bytes":"L2Rpci9hwK8="},"name":{"bytes":"YcCv"},"rule":"ill-formed","kind":"overlong","#,
            r#""offset":1,"length":2,"code_point":"U+002F","verdict":"refused","exempt":null,"errno":"EILSEQ","visible":null,"#,
            r#""backing":null,"accepted":{"text":"a%C0%AF"},"sibling":null,"uid":1000,"gid":100,"pid":4242,"#,
            r#""command":{"text":"touch"},"left_out":0}"#
        )
    );
    let reported = OffenceRecord {
        verdict: Verdict::Reported,
        errno: None,
        exempt: Some(Exempt::Path),
        left_out: 7,
        visible: Some(Name::from("\u{202E}")),
        backing: Some(Name::from("\u{202E}")),
        ..record("\u{202E}".as_bytes(), Rule::Forbidden(Class::Bidi), 0, 3)
    };
    assert_eq!(
        json_line(&AuditRecord::from(reported.clone())),
        concat!(
            r#"{"time":"2025-11-21T10:36:00.001234Z","mount":{"text":"/mnt/x"},"event":"offence","operation":"create","#,
            r#""path":{"text":"/dir/\u202e"},"name":{"text":"\u202e"},"rule":"forbidden","kind":"bidi","#,
            r#""offset":0,"length":3,"code_point":null,"verdict":"reported","exempt":"path","errno":null,"visible":{"text":"\u202e"},"#,
            r#""backing":{"text":"\u202e"},"accepted":null,"sibling":null,"uid":1000,"gid":100,"pid":4242,"#,
            r#""command":{"text":"touch"},"left_out":7}"#
        )
    );
}

/// A section's name is quoted as names are; without a section nothing is said of one.
#[test]
fn l1_the_section_that_decided_is_told_and_quoted() {
    let told = OffenceRecord {
        section: Some(Name::from("a\n\u{1B}[2Jé")),
        ..latin1()
    };
    let line = text(&told);
    let expected = r#": refused with EILSEQ in section "a\n\x1B[2Jé": ill-formed"#;
    assert!(line.contains(expected), "{line}");
    let json = json_line(&AuditRecord::from(told.clone()));
    let expected = r#","left_out":0,"section":{"text":"a\n\u001b[2Jé"}}"#;
    assert!(json.ends_with(expected), "{json}");
    assert!(!text(&latin1()).contains("section"));
    assert_eq!(latin1().section, None);
}

#[test]
fn a_name_in_the_target_of_a_link_is_told_beside_the_path_of_the_link() {
    let record = OffenceRecord {
        operation: Operation::Symlink,
        path: b"/dir/link".into(),
        ..latin1()
    };
    let told = format!("; in the target: {}", record.name);
    assert!(text(&record).contains(&told), "{}", text(&record));
    assert!(!text(&latin1()).contains("in the target"));
}
