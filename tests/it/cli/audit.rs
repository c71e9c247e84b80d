//! `utf8fs audit`: what is counted, what is no record, how it ends (laws L1, L4).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Run, run, utf8fs};
use crate::support::{Tree, at, needs, page};

/// A log of 20,000 records, and what is in it.
fn made() -> (TempDir, PathBuf, Value) {
    let place = tempfile::tempdir().unwrap();
    let [log, sums] = ["log", "sums"].map(|name| place.path().join(name));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/long/audit-log");
    let made = Command::new(script)
        .arg("20000")
        .args([&log, &sums])
        .status();
    assert!(made.unwrap().success());
    let sums = serde_json::from_slice(&std::fs::read(sums).unwrap()).unwrap();
    (place, log, sums)
}

fn audit(options: &[&str], log: &Path) -> Run {
    let mut arguments: Vec<&[u8]> = vec![b"audit"];
    arguments.extend(options.iter().map(|option| option.as_bytes()));
    arguments.push(log.as_os_str().as_bytes());
    run(&arguments)
}

fn report(options: &[&str], log: &Path) -> Value {
    let run = audit(&[&["--json"], options].concat(), log);
    let [report] = &run.objects()[..] else {
        panic!("{run:?}");
    };
    report.clone()
}

/// A line of a log.
fn record(time: &str, path: &str, rule: &str, uid: u32) -> String {
    json!({
        "time": time, "event": "offence", "mount": {"text": "/mnt"}, "operation": "create", "path": {"text": path},
        "name": {"text": "x"}, "rule": rule, "kind": "control", "offset": 0, "length": 1, "code_point": "U+0041",
        "verdict": "refused", "exempt": null, "errno": "EILSEQ", "visible": null, "backing": null, "accepted": null,
        "sibling": null, "uid": uid, "gid": 0, "pid": 1, "command": {"text": "cp"}, "left_out": 1, "later": [{}],
    })
    .to_string()
}

#[test]
fn the_sums_of_a_log_are_those_that_are_known() {
    if !needs::program("python3", "a log of known sums") {
        return;
    }
    let (_place, log, known) = made();
    let run = audit(&["--json", "--top", "1000", "--by", "hour"], &log);
    assert_eq!(run.code, Some(3), "some lines are no records");
    let report = &run.objects()[0];
    for key in ["offences", "left_out", "dropped", "lines"] {
        assert_eq!(report[key], known[key], "{key}");
    }
    for key in ["rules", "verdicts"] {
        for (label, count) in report[key].as_object().unwrap() {
            let known = known[key].get(label).cloned().unwrap_or(json!(0));
            assert_eq!(*count, known, "{label}");
        }
    }
    let same = |table: &str, key: &dyn Fn(&Value) -> String| {
        let rows = report[table]["rows"].as_array().unwrap();
        let known = known[table].as_object().unwrap();
        assert_eq!(rows.len(), known.len(), "{table}");
        for row in rows {
            assert_eq!(row["offences"], known[&key(row)], "{table}: {row}");
        }
        assert_eq!(report[table]["distinct"], known.len(), "{table}");
        assert!(rows.is_sorted_by(|a, b| a["offences"].as_u64() >= b["offences"].as_u64()));
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    // As Python writes it.
    let python = |value: &Value| {
        let name = value.as_object().unwrap().iter().next().unwrap();
        format!("{{\"{}\": {}}}", name.0, name.1)
    };
    same("kinds", &|row| {
        format!("{} {}", text(&row["rule"]), text(&row["kind"]))
    });
    same("operations", &|row| text(&row["operation"]));
    same("users", &|row| row["uid"].to_string());
    same("commands", &|row| {
        format!("[{}, {}]", row["uid"], python(&row["command"]))
    });
    same("directories", &|row| python(&row["path"]));
    assert_eq!(report["over_time"]["unit"], "hour");
    let hours = report["over_time"]["rows"].as_array().unwrap();
    assert_eq!(hours.len(), 7 * 24);
    for hour in hours {
        let from = text(&hour["from"]);
        assert_eq!(hour["offences"], known["hours"][&from], "{from}");
    }
    let garbled = &report["garbled"];
    let lines = garbled["first"].as_array().unwrap().iter();
    let lines: Vec<&Value> = lines.map(|garbled| &garbled["line"]).collect();
    assert_eq!(
        lines,
        known["garbled"]
            .as_array()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(garbled["count"], lines.len());
    let first = &lines[0];
    assert!(
        run.stderr
            .contains(&format!("/log\", line {first}: it is ")),
        "{run:?}"
    );

    // The same in words, and by days where nothing is said.
    let told = audit(&[], &log);
    assert_eq!(told.code, Some(3));
    assert!(
        told.stdout.starts_with("20,000 offences in 20,020 lines: "),
        "{}",
        told.stdout
    );
    for part in [
        "by day (UTC)",
        "2026-11-16",
        " \"evil\\n{}\"",
        "\"/mnt/share/group00/us\\xE9r000\"",
    ] {
        assert!(
            told.stdout.contains(part),
            "{part} is not in {}",
            told.stdout
        );
    }
}

#[test]
fn only_what_was_asked_for_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let summary = r#"{"time":"2026-11-03T00:00:00.000000Z","event":"summary","mount":{"text":"/mnt"},"operations":9,"offences":{"ill-formed":9},"refused":9,"normalized":0,"reported":0,"written":4,"left_out":0,"dropped":5}"#;
    let left_out = r#"{"time":"2026-11-02T00:00:00.000000Z","event":"left-out","mount":{"text":"/mnt"},"directory":{"text":"/a"},"uid":1,"left_out":9}"#;
    let unknown =
        r#"{"time":"2026-11-02T00:00:00.000000Z","event":"policy","mount":{"text":"/mnt"}}"#;
    let lines = [
        record("2026-11-01T00:00:00.000000Z", "/a/b/x", "forbidden", 1),
        record("2026-11-02T00:00:00.000000Z", "/a/x", "ill-formed", 1),
        String::new(),
        record("2026-11-02T23:59:59.999999Z", "/ab", "ill-formed", 2),
        left_out.to_owned(),
        summary.to_owned(),
        unknown.to_owned(),
    ];
    std::fs::write(&log, lines.join("\n")).unwrap();
    // Offences, left out, lost.
    let rows: &[(&[&str], [u64; 3])] = &[
        (&[], [3, 12, 5]),
        (&["--since", "2026-11-02"], [2, 11, 5]),
        (&["--until", "2026-11-02"], [1, 1, 0]),
        (
            &[
                "--since",
                "2026-11-02T00:00:01Z",
                "--until",
                "2026-11-03T01:00:00+01:00",
            ],
            [1, 1, 0],
        ),
        (&["--rule", "ill-formed"], [2, 0, 5]),
        (&["--rule", "too-long,forbidden"], [1, 0, 5]),
        (&["--verdict", "refused"], [3, 0, 5]),
        (&["--verdict", "normalized,reported"], [0, 0, 5]),
        (&["--uid", "2"], [1, 1, 5]),
        (&["--uid", "1,2"], [3, 12, 5]),
        (&["--below", "/mnt/a/"], [2, 11, 5]),
        (&["--below", "/mnt/ab"], [1, 1, 5]),
        (&["--below", "/"], [3, 12, 5]),
        (&["--below", "/elsewhere"], [0, 0, 0]),
    ];
    for (options, wanted) in rows {
        let report = report(options, &log);
        let got = ["offences", "left_out", "dropped"].map(|key| report[key].as_u64().unwrap());
        assert_eq!(got, *wanted, "{options:?}");
    }
    assert_eq!(audit(&[], &log).code, Some(1));
    assert_eq!(audit(&["--below", "/elsewhere"], &log).code, Some(0));
    assert_eq!(report(&[], &log)["other_events"], 1);
    for wrong in [
        &["--since", "2026-11-02", "--until", "2026-11-02"][..],
        &["--since", "yesterday"],
        &["--below", "mnt"],
        &["--rule", "forged"],
        &["--verdict", "forged"],
        &["--uid", "no-such-user"],
        &["--top", "0"],
    ] {
        audit(wrong, &log).refusal();
    }
    run(&[b"audit"]).refusal();
}

#[test]
fn lines_that_are_no_records_are_counted_and_named_and_the_rest_is_told() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let good = record("2026-11-01T00:00:00.000000Z", "/x", "ill-formed", 1);
    let (cut, _) = good.split_at(100);
    let long = "x".repeat(3 << 20);
    let lines = [
        &good,
        cut,
        "\u{1B}[2J",
        &long,
        &good,
        r#"{"event":"offence"}"#,
        cut,
    ];
    std::fs::write(&log, lines.join("\n")).unwrap();
    let run = audit(&["--json"], &log);
    assert_eq!(run.code, Some(3));
    let report = &run.objects()[0];
    assert_eq!(
        (&report["offences"], &report["lines"]),
        (&json!(2), &json!(7))
    );
    let garbled = report["garbled"]["first"].as_array().unwrap();
    let garbled: Vec<(u64, &str)> = garbled
        .iter()
        .map(|garbled| {
            (
                garbled["line"].as_u64().unwrap(),
                garbled["reason"].as_str().unwrap(),
            )
        })
        .collect();
    let [(2, first), (3, escape), (4, long), (6, short), (7, last)] = garbled[..] else {
        panic!("{garbled:?}");
    };
    assert_eq!((first, last), ("it is cut off", "it is cut off"));
    assert_eq!((escape, short), ("not JSON", "missing field `time`"));
    assert!(long.starts_with("it is longer than"));
    // By the reason, the most frequent first, each with its first line.
    let reasons = report["garbled"]["reasons"].as_array().unwrap();
    assert_eq!(reasons.len(), 4);
    let first = &reasons[0];
    let told = ["reason", "count", "line", "start"].map(|key| &first[key]);
    let start = json!({"text": cut});
    assert_eq!(
        told,
        [&json!("it is cut off"), &json!(2), &json!(2), &start]
    );
    let note = format!("/log\", line 2: it is cut off: {cut:?}");
    let note = format!("{note}, and 1 more for it");
    assert!(run.stderr.contains(&note), "{note}\n{}", run.stderr);
    assert!(
        run.stderr.contains(r#"line 3: not JSON: "\x1B[2J""#),
        "{}",
        run.stderr
    );
    assert!(run.stderr.len() < 2000, "{}", run.stderr);
    let words = audit(&[], &log).stdout;
    assert!(
        words.contains("\nlines that are not records, by reason\n              2  it is cut off\n"),
        "{words}"
    );
    // A record whose newline is missing is whole.
    let whole = Run::of(utf8fs(&[b"audit", b"-"]), good.as_bytes());
    assert_eq!(whole.code, Some(1), "{whole:?}");

    let missing = place.path().join("missing\n\u{1B}[2J");
    let both = super::run(&[
        b"audit",
        missing.as_os_str().as_bytes(),
        log.as_os_str().as_bytes(),
    ]);
    assert_eq!(both.code, Some(3));
    assert!(
        both.stderr.contains("cannot be read: No such file"),
        "{both:?}"
    );
    assert!(both.stdout.starts_with("2 offences in 7 lines"), "{both:?}");
}

#[test]
fn a_log_of_text_sums_up_as_one_of_json() {
    let place = tempfile::tempdir().unwrap();
    let [json, text] = ["json", "text"].map(|name| place.path().join(name));
    let time = "2026-11-01T00:00:00.000000Z";
    let left_out = json!({
        "time": time, "event": "left-out", "mount": {"text": "/mnt"}, "directory": {"text": "/d"}, "uid": 3, "left_out": 5,
    });
    let summary = json!({
        "time": time, "event": "summary", "mount": {"text": "/mnt"}, "operations": 9, "offences": {"ill-formed": 2},
        "refused": 2, "normalized": 0, "reported": 0, "written": 1, "left_out": 0, "dropped": 1,
    });
    let records = [
        record(time, "/a; b/\"x", "ill-formed", 7),
        left_out.to_string(),
        summary.to_string(),
    ];
    std::fs::write(&json, records.join("\n")).unwrap();
    let records = [
        r#"create "/a; b/\"x": refused with EILSEQ: ill-formed UTF-8: anything; rule: ill-formed control; at byte 0: 41; by uid 7 gid 0 pid 1 "cp"; left out before it, of this uid in this directory: 1; mount "/mnt""#,
        r#"left out: 5 of uid 3 in "/d"; mount "/mnt""#,
        r#"summary of "/mnt": 9 operations; 2 offences (2 ill-formed, 0 too-long, 0 forbidden, 0 not-normalized, 0 unmappable, 0 not-unique, 0 not-a-component; 2 refused, 0 normalized, 0 reported); records: 1 written, 0 left out by the rate limit, 1 dropped"#,
    ];
    let lines = records.map(|record| format!("{time} {record}"));
    std::fs::write(&text, lines.join("\n")).unwrap();
    let [mut of_text, of_json] = [&text, &json].map(|log| report(&[], log));
    of_text["files"] = of_json["files"].clone();
    assert_eq!(of_text, of_json);
    assert_eq!(
        (&of_json["left_out"], &of_json["dropped"]),
        (&json!(6), &json!(1))
    );
    let cut: Vec<&str> = lines.iter().map(|line| &line[..line.len() - 1]).collect();
    std::fs::write(&text, cut.join("\n")).unwrap();
    let run = audit(&[], &text);
    assert_eq!(run.code, Some(3));
    let said = "line 1: it is cut off or altered: \"2026-11-01T00:00:00.000000Z create";
    assert!(run.stderr.contains(said), "{run:?}");
    assert!(run.stderr.contains("and 2 more for it"), "{run:?}");
}

#[test]
fn compressed_logs_are_named() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    std::fs::write(&log, b"\x1F\x8B\x08\0\n\xFF\n").unwrap();
    let compressed = audit(&[], &log);
    assert!(compressed.stderr.contains("zcat FILE"), "{compressed:?}");
    assert!(compressed.stderr.len() < 200, "{compressed:?}");
    assert_eq!(compressed.code, Some(3));
}

#[test]
fn users_have_names_and_a_path_below_which_nothing_is_gets_a_warning() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let record = |uid| record("2026-11-01T00:00:00.000000Z", "/x", "ill-formed", uid);
    std::fs::write(&log, format!("{}\n{}\n", record(0), record(7))).unwrap();
    assert_eq!(report(&["--uid", "root"], &log)["records"], 1);
    assert_eq!(report(&["--uid", "root,7"], &log)["records"], 2);
    let users = &report(&[], &log)["users"]["rows"];
    assert_eq!(users[0]["user"], "root", "{users}");
    assert!(audit(&[], &log).stdout.contains("  uid 0 (root)\n"));
    let of_root = record(0).replace("\"accepted\":null", r#""accepted":{"text":"y"}"#);
    std::fs::write(&log, of_root).unwrap();
    let sample = "  ill-formed control: \"/mnt/x\", would be accepted: \"y\"\n";
    let text = audit(&[], &log).stdout;
    assert!(text.contains(sample), "{text}");
    let kinds = &report(&[], &log)["kinds"]["rows"];
    let sample = json!({"path": {"text": "/mnt/x"}, "accepted": {"text": "y"}});
    assert_eq!(kinds[0]["sample"], sample);
    let unknown = audit(&["--uid", "no-such-user"], &log);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let below = audit(&["--below", "/x"], &log);
    let said = "no record at or below \"/x\" is selected; paths begin with the mount point";
    assert!(below.stderr.contains(said), "{below:?}");
    assert_eq!(audit(&["--below", "/mnt/x"], &log).stderr, "");
}

#[test]
fn offences_are_summed_up_by_the_section_that_decided() {
    let place = tempfile::tempdir().unwrap();
    let [log, page] = ["log", "page"].map(|name| place.path().join(name));
    let plain = record("2026-11-01T00:00:00.000000Z", "/x", "ill-formed", 1);
    let (body, _) = plain.split_at(plain.len() - 1);
    let of = |section: &str| format!("{body},\"section\":{{\"text\":\"{section}\"}}}}");
    let hostile = of("<b>\\u001b[2J");
    let lines = [
        &plain,
        &of("web"),
        &hostile,
        &of("web"),
        &of("web"),
        &hostile,
    ];
    std::fs::write(&log, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let wanted = json!({"rows": [
        {"section": {"text": "web"}, "offences": 3},
        {"section": {"text": "<b>\u{1B}[2J"}, "offences": 2},
        {"section": null, "offences": 1},
    ], "distinct": 3});
    assert_eq!(report(&[], &log)["sections"], wanted);
    let words = audit(&["--html", page.to_str().unwrap()], &log).stdout;
    let told = r#"
by section of the policy
              3  "web"
              2  "<b>\x1B[2J"
              1  no section
"#;
    assert!(words.contains(told), "{words}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("&#60;b&#62;\\x1B[2J"), "{html}");
    assert!(html.contains("Offences by section of the policy") && html.contains("no section"));
    // Where no section decided anything, there is nothing to tell.
    std::fs::write(&log, plain).unwrap();
    let words = audit(&["--html", page.to_str().unwrap()], &log).stdout;
    assert!(!words.contains("section"), "{words}");
    assert!(
        !std::fs::read_to_string(&page)
            .unwrap()
            .contains("section of the policy")
    );
}

/// Nobody can make so many that they add up to none.
#[test]
fn sums_do_not_wrap() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let good = record("2026-11-01T00:00:00.000000Z", "/x", "ill-formed", 1);
    let most = good.replace("\"left_out\":1", &format!("\"left_out\":{}", u64::MAX));
    std::fs::write(&log, format!("{most}\n").repeat(3)).unwrap();
    for options in [&["--json"][..], &[]] {
        assert_eq!(audit(options, &log).code, Some(1));
    }
    assert_eq!(report(&[], &log)["left_out"], json!(u64::MAX));
}

/// Law L4, as docs/audit.md has it.
#[test]
fn l4_the_fields_of_the_report_are_those_that_are_documented() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let good = record("2026-11-01T00:00:00.000000Z", "/x", "ill-formed", 1);
    std::fs::write(&log, format!("{good}\nno record\n")).unwrap();
    fn keys(value: &Value, all: &mut Vec<String>) {
        for (key, value) in value.as_object().into_iter().flatten() {
            all.push(key.clone());
            keys(value, all);
        }
        value
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|value| keys(value, all));
    }
    let mut all = Vec::new();
    keys(&report(&[], &log), &mut all);
    assert!(all.len() > 30, "{all:?}");
    let page = page("docs/audit.md");
    for key in all {
        assert!(
            page.contains(&format!("`{key}`")),
            "{key} is not documented"
        );
    }
}

/// A name with a record in it, made through a mount, is one record.
#[test]
fn a_record_in_a_name_is_none() {
    let tree = Tree::new();
    let good = record("2026-11-01T00:00:00.000000Z", "/x", "too-long", 0);
    // What follows the mount point is no component of a path.
    let good = good.replace('/', ".");
    let (start, _) = good.split_at(150);
    let mount = tree.mount(&[]);
    let names = [
        format!("\n{start}\n").into_bytes(),
        b"\"},\n{\xFF}\n".to_vec(),
    ];
    at::mkdir(mount.dir(), &names[1]).unwrap_err();
    mount.stop();
    let options = ["--profile", "safe"];
    let mount = tree.mount(&options);
    at::mkdir(mount.dir(), &names[0]).unwrap_err();
    mount.stop();
    let log = tree.audit_log();
    let run = audit(&["--json"], &log);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let report = &run.objects()[0];
    assert_eq!(
        (&report["offences"], &report["summaries"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(report["rules"]["too-long"], 0);
}

/// The page is one file without a script, and a name in it is text.
#[test]
fn l1_no_name_on_the_page_is_more_than_text() {
    let place = tempfile::tempdir().unwrap();
    let [log, page] =
        ["<img src=x onerror=pwned()>", "page.html"].map(|name| place.path().join(name));
    let hostile =
        "/</title></style><script>pwned()</script><!--/\u{1B}[2J\u{202E}&lt;\" onload='x'/x";
    let mut lines = String::new();
    for hour in 0..200 {
        let time = format!(
            "2026-11-{:02}T{:02}:00:00.000000Z",
            1 + hour / 24,
            hour % 24
        );
        lines += &record(&time, hostile, "forbidden", hour % 3);
        lines += "\n";
    }
    std::fs::write(&log, lines + "{\"time\":\"<b>\"}\n").unwrap();
    let page_name = page.to_str().unwrap();
    assert_eq!(audit(&["--html", page_name], &log).code, Some(3));
    let html = std::fs::read_to_string(&page).unwrap();
    for bad in [
        "<script",
        "<img",
        "<b>onload",
        "onerror=pwned()>",
        "\u{1B}",
        "\u{202E}",
    ] {
        assert!(!html.contains(bad), "{bad}");
    }
    assert!(html.contains("&#60;script&#62;pwned()&#60;/script&#62;&#60;!--"));
    assert!(
        html.contains("default-src 'none'; style-src 'sha256-") && !html.contains("script-src")
    );
    assert_eq!(
        html.matches("<title>").count(),
        1 + 9,
        "a title for each day"
    );
    assert!(!html.contains("http://") && !html.contains("https://"));
    if !needs::program("chromium", "the page of audit --html") {
        return;
    }
    let mut shown = crate::support::chromium::Page::open(&page, "");
    assert_eq!(shown.value("document.scripts.length"), json!(0));
    assert_eq!(
        shown.value("document.querySelectorAll('img, b.x, iframe, script').length"),
        json!(0)
    );
    assert_eq!(
        shown.value("document.querySelectorAll('.plot g').length"),
        json!(9)
    );
    assert_eq!(
        shown.value("document.querySelector('.plot rect').getBoundingClientRect().height > 10"),
        json!(true)
    );
    assert_eq!(
        shown.value("getComputedStyle(document.querySelector('.r2')).fill"),
        json!("rgb(154, 63, 134)")
    );
    let cells = shown.value("[...document.querySelectorAll('td .name')].map((e) => e.textContent)");
    let wanted =
        r#""/mnt/</title></style><script>pwned()</script><!--/\x1B[2J\u{202E}&lt;\" onload='x'""#;
    assert!(
        cells.as_array().unwrap().contains(&json!(wanted)),
        "{cells}"
    );
}
