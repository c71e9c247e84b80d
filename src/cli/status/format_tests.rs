//! The formats, on a status made up.

use serde_json::json;

use super::status_text as text;
use super::*;
use crate::records::{MountOptions, PolicyFault, STATUS_FORMAT, Time};

/// A directory that tries to end its line and its label, and to move the cursor.
const HOSTILE: &[u8] = b"/a\"} 1\n# caf\xE9\\\x1B[2J";

fn status() -> MountStatus {
    let counted = |requests: u64, errors: u64, calls: u64, times: &[u64]| {
        json!({
            "requests": requests, "errors": errors, "backing_calls": calls,
            "microseconds": 1000 * requests, "times": times,
        })
    };
    let options = json!({ "policy": null, "encoding": "utf-8", "from": ["koi8-r", "cp866"], "legacy": "decode", "store-as": null,
            "on-violation": "reject", "errno": "eilseq", "normalization": "preserve", "forbid": [], "max-bytes": 255,
            "max-chars": null, "max-utf16": null, "unique": null, "exempt-uid": [], "exempt": ["\u{1B}[2J"], "cache": 1.5,
            "locks": "local", "cross-mounts": false, "passthrough": "auto", "threads": 32, "uring": "auto", "sandbox": "full",
            "audit-log": Name::from(b"/l\xFF"), "audit-format": "text", "audit-burst": 100, "audit-per-minute": 60,
            "background": false, "fsname": Name::from(b"\xFF"), "allow-other": true, "flags": ["nosuid", "nodev"] });
    let whole = json!({
        "format": STATUS_FORMAT,
        "version": "0.1.0",
        "pid": 42,
        "mountpoint": Name::from(HOSTILE),
        "backing": Name::from("/srv/ä"),
        "uptime_seconds": 7384.5,
        "total": counted(105, 3, 210, &[]),
        "operations": {
            "lookup": counted(5, 3, 10, &[5, 0, 0]),
            "getattr": counted(100, 0, 200, &[50, 49, 1]),
            "link": counted(0, 0, 0, &[0, 0, 0]),
        },
        "times_below_microseconds": [4, 16],
        "inodes": 7,
        "open": { "files": 2, "directories": 1 },
        "descriptors": { "limit": 1000, "reserve": 64, "user_limit": 500, "open": 4, "inodes": 6, "inodes_limit": 250 },
        "indexes": { "directories": 3, "bytes": 2049, "readings": 9 },
        "kept": { "names_seconds": 315_360_000.0, "files_seconds": 1.0, "names_barred": 0 },
        "passthrough": true,
        "transport": { "kind": "io_uring", "threads_per_cpu": 32 },
        "watch": { "alive": true, "directories": 12, "overflows": 1, "stalls": 2, "stalled": false },
        "offences": { "ill-formed": 2, "too-long": 0, "forbidden": 1 },
        "offences_by_verdict": {
            "ill-formed": { "refused": 1, "normalized": 0, "reported": 1 },
            "too-long": { "refused": 0, "normalized": 0, "reported": 0 },
            "forbidden": { "refused": 1, "normalized": 0, "reported": 0 },
        },
        "verdicts": { "refused": 3, "normalized": 0, "reported": 0 },
        "audit_records": { "written": 3, "left_out": 0, "dropped": 0 },
        "policy": null,
        "options": options,
    });
    serde_json::from_value(whole).unwrap()
}

#[test]
fn people_get_aligned_columns_with_the_most_frequent_first_and_the_total_last() {
    let expected = r#"
"/srv/ä" shown at "/a\"} 1\n# caf\xE9\\\x1B[2J", for 2.1 h, by process 42, utf8fs 0.1.0
the mount is well
no policy file is in force

request  count  errors  calls     time   mean  99 % within
getattr    100       0    200  100.0ms  1.0ms         16µs
lookup       5       3     10    5.0ms  1.0ms          4µs
total      105       3    210  105.0ms  1.0ms         16µs

inodes           7
open             2 files, 1 directory
descriptors      1000 limit, 64 reserve, 500 user limit, 4 open, 6 inodes, 250 inodes limit
indexes          3 directories, 2049 bytes, 9 readings
kept             names until changed, files 1 s
passthrough      true
transport        rings (io_uring), 32 threads for each CPU
watch            alive, 12 directories, 1 overflow, 2 stalls
offences         2 ill-formed, 1 forbidden
verdicts         3 refused
audit records    3 written
audit log fails  false

offences by verdict
  ill-formed  1 refused, 1 reported
  forbidden   1 refused

options in force
  policy            -
  encoding          utf-8
  from              koi8-r, ibm866
  legacy            decode
  store-as          -
  on-violation      reject
  errno             eilseq
  normalization     preserve
  forbid            -
  max-bytes         255
  max-chars         -
  max-utf16         -
  unique            -
  exempt-uid        -
  exempt            \u{1B}[2J
  cache             1.5
  locks             local
  cross-mounts      false
  passthrough       auto
  threads           32
  uring             auto
  sandbox           full
  audit-log         "/l\xFF"
  audit-format      text
  audit-burst       100
  audit-per-minute  60
  background        false
  fsname            "\xFF"
  allow-other       true
  flags             nosuid, nodev
"#;
    let got = text::lines(&of_mount(&status())).join("\n");
    assert_eq!(format!("\n{got}\n"), expected, "{got}");
}

fn of_mount(status: &MountStatus) -> Status {
    Status::Mount(Box::new(status.clone()))
}

fn metrics(status: &MountStatus) -> Vec<String> {
    prometheus::lines(&[asked(HOSTILE, Ok(of_mount(status)))])
}

#[test]
fn metrics_are_prometheus_text_and_a_hostile_path_stays_in_its_label() {
    let lines = metrics(&status());
    let mount = r#"mountpoint="/a\\\"} 1\\n# caf\\xE9\\\\\\x1B[2J""#;
    for line in &lines {
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        let is_head = line.starts_with("# HELP utf8fs_") || line.starts_with("# TYPE utf8fs_");
        let is_sample = line.starts_with("utf8fs_") && line.contains(&format!("{{{mount}"));
        assert!(is_head || is_sample, "{line}");
    }
    let expected = [
        "info{M,backing=\"/srv/ä\",version=\"0.1.0\"} 1",
        "uptime_seconds{M} 7384.5",
        "requests_total{M,operation=\"lookup\"} 5",
        "requests_total{M,operation=\"link\"} 0",
        "request_errors_total{M,operation=\"lookup\"} 3",
        "backing_calls_total{M,operation=\"getattr\"} 200",
        "request_duration_seconds_bucket{M,operation=\"getattr\",le=\"0.000004\"} 50",
        "request_duration_seconds_bucket{M,operation=\"getattr\",le=\"0.000016\"} 99",
        "request_duration_seconds_bucket{M,operation=\"getattr\",le=\"+Inf\"} 100",
        "request_duration_seconds_sum{M,operation=\"getattr\"} 0.100000",
        "request_duration_seconds_count{M,operation=\"getattr\"} 100",
        "inodes{M} 7",
        "watch_overflows_total{M} 1",
        "watch_stalls_total{M} 2",
        "offences_total{M,rule=\"ill-formed\"} 2",
        "offences_by_verdict_total{M,rule=\"ill-formed\",verdict=\"reported\"} 1",
        "offences_by_verdict_total{M,rule=\"too-long\",verdict=\"refused\"} 0",
        "policy_file{M} 0",
        "verdicts_total{M,verdict=\"refused\"} 3",
        "audit_records_total{M,fate=\"left_out\"} 0",
    ];
    for sample in expected {
        let sample = format!("utf8fs_{}", sample.replace('M', mount));
        assert!(
            lines.contains(&sample),
            "{sample}\nin\n{}",
            lines.join("\n")
        );
    }
    // Of what never came there is no histogram, and each metric has one head, before its samples.
    let link = "duration_seconds_count{";
    assert_eq!(lines.iter().filter(|line| line.contains(link)).count(), 2);
    let mut heads = lines.iter().filter(|line| line.starts_with("# TYPE"));
    let first = heads.next().unwrap();
    assert!(!heads.any(|head| head == first));
}

/// A row of the table whose path leads nowhere would be no metric at all.
#[test]
fn each_row_of_the_table_is_a_metric_where_there_is_all() {
    let mut mount = status();
    mount.policy = Some(PolicyStatus {
        file: Name::from(b"/p"),
        since: Time("2026-11-21T11:49:58.5Z".parse().unwrap()),
        sections: 3,
        reloads: 2,
        failed_reloads: 1,
        fault: None,
    });
    let guard = json!({
        "format": 1, "version": "0.1.0", "pid": 1, "directory": Name::from(b"/g"), "uptime_seconds": 1.5, "policy": mount.policy,
        "events": 9, "overflows": 0, "scans": 1, "lag_milliseconds": 2, "waiting": 0, "renamed": 0, "left": 0,
        "offences": { "ill-formed": 2 }, "verdicts": { "reported": 2 },
        "audit_records": { "written": 2, "left_out": 0, "dropped": 0 },
    });
    let guard: GuardStatus = serde_json::from_value(guard).unwrap();
    assert_eq!(
        text::lines(&Status::Guard(Box::new(guard.clone()))),
        [
            "\"/g\" guarded, for 1.5 s, by process 1, utf8fs 0.1.0",
            "the guard is well",
            "policy \"/p\" in force since 2026-11-21T11:49:58.500000Z; sections: 3, reloads: 2, failed reloads: 1",
            "",
            "events            9",
            "overflows         0",
            "scans             1",
            "lag milliseconds  2",
            "waiting           0",
            "renamed           0",
            "left              0",
            "offences          2 ill-formed",
            "verdicts          2 reported",
            "audit records     2 written",
        ]
    );
    let lines = prometheus::lines(&[
        asked(HOSTILE, Ok(of_mount(&mount))),
        asked(b"/g", Ok(Status::Guard(Box::new(guard)))),
    ]);
    for row in include_str!("metrics.txt").lines() {
        let (name, help) = (
            row.split([' ', ',']).next().unwrap(),
            row.get(83..).unwrap(),
        );
        let head = format!("# HELP utf8fs_{name} {help}");
        assert!(lines.contains(&head), "{head}");
    }
    for sample in [
        "policy_reloads_total{M,result=\"good\"} 2",
        "policy_reloads_total{M,result=\"failed\"} 1",
        "policy_fault{M} 0",
        "backing_fault{M} 0",
        "audit_log_fails{M} 0",
        "policy_good_reading_timestamp_seconds{M} 1795261798.500000",
        "policy_sections{M} 3",
    ] {
        let mount = r#"mountpoint="/a\\\"} 1\\n# caf\\xE9\\\\\\x1B[2J""#;
        let sample = format!("utf8fs_{}", sample.replacen('M', mount, 1));
        assert!(lines.contains(&sample), "{sample}");
    }
    let sample = "utf8fs_guard_offences_total{mountpoint=\"/g\",rule=\"ill-formed\"} 2";
    assert!(lines.contains(&sample.to_owned()));
}

#[test]
fn where_changes_are_not_followed_the_reason_is_shown_and_no_metric() {
    let mut status = status();
    status.watch = None;
    status.unwatched = Some("it takes Linux 6.2".to_owned());
    let lines = text::lines(&of_mount(&status));
    assert!(lines.contains(&"unwatched        it takes Linux 6.2".to_owned()));
    let lines = metrics(&status);
    assert!(!lines.iter().any(|line| line.contains("utf8fs_watch")));
}

fn mount(point: &[u8]) -> MountInfo {
    MountInfo {
        id: 1,
        parent: 0,
        mount_point: point.to_vec(),
        flags: Vec::new(),
        fs_type: b"fuse.utf8fs".to_vec(),
        source: b"/srv/\xE4".to_vec(),
        options: Vec::new(),
    }
}

fn asked(point: &[u8], answer: Result<Status, NoStatus>) -> Asked {
    let mount = mount(point);
    Asked { mount, answer }
}

fn two_mounts() -> [Asked; 2] {
    let dead = NoStatus::new(NoAnswer::Dead, "it is gone".to_owned(), "unmount it");
    [
        asked(HOSTILE, Ok(of_mount(&status()))),
        asked(b"/b", Err(dead)),
    ]
}

#[test]
fn all_mounts_have_a_line_each_with_their_state() {
    let lines = lines(&two_mounts(), StatusFormat::Text, true);
    let rows: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| line.split("  ").collect())
        .collect();
    let cells = |row: &[&str]| -> Vec<String> {
        let cells = row.iter().map(|cell| cell.trim().to_owned());
        cells.filter(|cell| !cell.is_empty()).collect()
    };
    assert_eq!(
        cells(&rows[0]),
        [
            "mounted on",
            "shows",
            "state",
            "for",
            "requests",
            "errors",
            "offences"
        ]
    );
    let shown = r#""/a\"} 1\n# caf\xE9\\\x1B[2J""#;
    let source = r#""/srv/\xE4""#;
    assert_eq!(
        cells(&rows[1]),
        [shown, source, "well", "2.1 h", "105", "3", "3"]
    );
    assert_eq!(
        cells(&rows[2]),
        ["\"/b\"", source, "dead", "-", "-", "-", "-"]
    );
    assert_eq!(rows.len(), 3);
}

#[test]
fn all_mounts_are_an_object_each() {
    let lines = lines(&two_mounts(), StatusFormat::Json, true);
    let objects: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects[0]["mountpoint"], json!(Name::from(HOSTILE)));
    assert_eq!(
        (&objects[0]["pid"], &objects[0]["state"]),
        (&json!(42), &json!("well"))
    );
    let dead = json!({ "mountpoint": Name::from(b"/b"), "source": Name::from(b"/srv/\xE4"), "state": "dead" });
    assert_eq!(objects[1], dead);
}

#[test]
fn an_impaired_mount_is_not_well_in_its_metrics() {
    let is_well = |status: &MountStatus| {
        let lines = metrics(status);
        let mut well = lines.iter().filter(|line| line.starts_with("utf8fs_well{"));
        well.next().unwrap().ends_with("} 1")
    };
    let mut status = status();
    assert!(is_well(&status));
    status.audit_log_fails = true;
    assert!(!is_well(&status));
}

#[test]
fn metrics_of_all_mounts_have_one_head_each_and_say_who_answers() {
    let lines = lines(&two_mounts(), StatusFormat::Prometheus, true);
    let mut heads: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("# TYPE"))
        .collect();
    let count = heads.len();
    heads.dedup();
    heads.sort();
    heads.dedup();
    assert_eq!(heads.len(), count);
    let up: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("utf8fs_up{"))
        .collect();
    assert!(
        up[0].ends_with("} 1") && *up[1] == "utf8fs_up{mountpoint=\"/b\"} 0",
        "{up:?}"
    );
    assert!(lines.contains(&"utf8fs_well{mountpoint=\"/b\"} 0".to_owned()));
    assert!(lines.iter().any(|line| line.starts_with("utf8fs_inodes{")));
}

#[test]
fn a_mount_whose_policy_file_is_refused_is_impaired() {
    let mut status = status();
    let policy = |fault| PolicyStatus {
        file: Name::from(b"/p"),
        since: Time::now(),
        sections: 0,
        reloads: 0,
        failed_reloads: 0,
        fault,
    };
    status.policy = Some(policy(None));
    assert!(of_mount(&status).impairments().is_empty());
    status.policy = Some(policy(Some(PolicyFault {
        time: Time::now(),
        lines: vec!["p:1:1: error: x".to_owned()],
    })));
    assert_eq!(of_mount(&status).impairments().len(), 1);
    let line = "impaired: the policy file is refused; the policy before it stays in force";
    assert_eq!(text::lines(&of_mount(&status))[1], line);
}

#[test]
fn a_mount_whose_audit_log_takes_nothing_is_impaired() {
    let mut status = status();
    assert!(of_mount(&status).impairments().is_empty());
    status.audit_log_fails = true;
    let line = "impaired: the audit log cannot be written or reopened; records are lost, or go to the old file";
    assert_eq!(text::lines(&of_mount(&status))[1], line);
}

#[test]
fn a_mount_that_follows_changes_no_more_is_not_well() {
    let mut status = status();
    assert!(of_mount(&status).impairments().is_empty());
    status.watch.as_mut().unwrap().alive = false;
    assert_eq!(of_mount(&status).impairments().len(), 1);
    status.watch = None;
    assert!(of_mount(&status).impairments().is_empty());
}

/// Law L4: what the daemon writes is what is read, and options that are too long for an answer are left out.
#[test]
fn a_status_without_options_is_read() {
    let mut status = status();
    let has_options = |status: &MountStatus| {
        let text = serde_json::to_vec(status).unwrap();
        let read: MountStatus = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, *status);
        read.options.is_some()
    };
    assert!(has_options(&status));
    status.options = None::<MountOptions>;
    assert!(!has_options(&status));
}
