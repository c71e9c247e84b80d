//! What is told of a policy in force: by the audit log and by `utf8fs status`.

use std::ffi::OsStr;
use std::process::Command;

use serde_json::{Value, json};

use super::{BAD, IN_FORCE, KEPT, Policy};
use crate::support::mount::binary;
use crate::support::{Mount, Tree, at, status};

/// By its name or its number, in the file and in the sums of it; nothing where the whole mount's keys decide.
#[test]
fn the_audit_log_names_the_section_that_decided() {
    let tree = Tree::new();
    for directory in ["web", "old", "free"] {
        std::fs::create_dir(tree.backing().join(directory)).unwrap();
    }
    let text = "mode = \"report\"\n[[section]]\nname = \"the web\\n\"\npath = \"/web/**\"\nforbid = [\"non-ascii\"]\nmode = \"enforce\"\n\
        [[section]]\npath = \"/old/**\"\n[[section]]\nname = \"\"\npath = \"/free/**\"\n";
    let policy = Policy::new(&tree, text);
    let mount = tree.mount(&policy.option());
    at::mkdir(mount.sub("web"), BAD).unwrap_err();
    // Offends against the section alone.
    at::mkdir(mount.sub("web"), "é".as_bytes()).unwrap_err();
    at::mkdir(mount.sub("old"), BAD).unwrap();
    at::mkdir(mount.sub("free"), BAD).unwrap();
    at::mkdir(mount.dir(), BAD).unwrap();
    let records = mount.stop();
    let sections: Vec<Option<Vec<u8>>> = records
        .iter()
        .map(|record| record.name("section"))
        .collect();
    let web = Some(b"the web\n".to_vec());
    let numbers = [b"#2", b"#3"].map(|number| Some(number.to_vec()));
    let [old, free] = numbers;
    assert_eq!(sections, [web.clone(), web, old, free, None]);
    assert!(records[4].0.as_object().unwrap().get("section").is_none());
    let log = tree.audit_log();
    let summed = Command::new(binary())
        .args(["audit", "--json"])
        .arg(&log)
        .output()
        .unwrap();
    assert_eq!(summed.status.code(), Some(1), "{summed:?}");
    let summed: Value = serde_json::from_slice(&summed.stdout).unwrap();
    let first = &summed["sections"]["rows"][0];
    assert_eq!(
        *first,
        json!({"section": {"text": "the web\n"}, "offences": 2})
    );
    assert_eq!(
        (&summed["sections"]["distinct"], &summed["garbled"]["count"]),
        (&json!(4), &json!(0))
    );
}

/// For a monitor, which goes by the exit status.
#[test]
fn a_mount_is_impaired_while_its_policy_file_is_refused() {
    let tree = Tree::new();
    let policy = Policy::new(&tree, "mode = \"report\"\n");
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("policy:");
    mount.allow_warning(KEPT);
    let point = mount.point();
    let ask = |arguments: &[&OsStr]| {
        let said = status::run(arguments);
        (said.status.code(), String::from_utf8(said.stdout).unwrap())
    };
    // The exit status of all mounts is theirs too.
    let state = || {
        let (_, all) = ask(&["--all".as_ref(), "--format".as_ref(), "json".as_ref()]);
        let mut all = all
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ours = all.find(|mount| mount["mountpoint"]["text"] == *point.to_str().unwrap());
        ours.unwrap()["state"].clone()
    };
    policy.replace("modee = \"x\"\n");
    assert_eq!(policy.reload(&mount), KEPT);
    let (code, said) = ask(&[point.as_os_str()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("\nimpaired: the policy file is refused"),
        "{said}"
    );
    assert_eq!(state(), "impaired");
    assert_eq!(ask(&["--all".as_ref()]).0, Some(1));
    policy.replace("mode = \"enforce\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    let (code, said) = ask(&[point.as_os_str()]);
    assert_eq!(
        (code, said.contains("impaired")),
        (Some(0), false),
        "{said}"
    );
    assert_eq!(state(), "well");
    mount.stop();
}

/// What an administrator watches: offences by rule and by what became of them, the file, and its readings.
#[test]
fn the_policy_and_its_offences_are_told_alike_in_each_format() {
    let tree = Tree::new();
    let policy = Policy::new(
        &tree,
        "mode = \"report\"\n[[section]]\npath = \"/none/**\"\n",
    );
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("policy:");
    mount.allow_warning(KEPT);
    let say = |mount: &Mount<'_>, format: &str| {
        let point = mount.point();
        let said = status::run(&["--format".as_ref(), format.as_ref(), point.as_os_str()]);
        String::from_utf8(said.stdout).unwrap()
    };
    at::mkdir(mount.dir(), b"one\xE9").unwrap();
    policy.replace("mode = \"enforce\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    for name in [BAD, b"\xFF"] {
        at::mkdir(mount.dir(), name).unwrap_err();
    }
    at::mkdir(mount.dir(), &[b'a'; 256]).unwrap_err();
    for _ in 0..2 {
        policy.replace("mode = 7\n");
        assert_eq!(policy.reload(&mount), KEPT);
    }
    let json = status::of(&mount.point());
    let file = json!({"text": policy.path.to_str().unwrap()});
    assert_eq!(
        (&json["options"]["policy"], &json["policy"]["file"]),
        (&file, &file)
    );
    let by_verdict = &json["offences_by_verdict"];
    assert_eq!(
        by_verdict["ill-formed"],
        json!({"refused": 2, "normalized": 0, "reported": 1})
    );
    assert_eq!(
        by_verdict["too-long"],
        json!({"refused": 1, "normalized": 0, "reported": 0})
    );
    let since: jiff::Timestamp = json["policy"]["since"].as_str().unwrap().parse().unwrap();

    let metrics = say(&mount, "prometheus");
    let value = |name: &str, labels: &str| {
        let mut lines = metrics.lines();
        let start = format!("utf8fs_{name}{{mountpoint=");
        let line = lines.find(|line| line.starts_with(&start) && line.contains(labels));
        let line = line.unwrap_or_else(|| panic!("{name} {labels} is not in {metrics}"));
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let rows = [
        ("policy_file", "", "1"),
        ("policy_fault", "", "1"),
        ("policy_sections", "", "0"),
        ("policy_reloads_total", "result=\"good\"", "1"),
        ("policy_reloads_total", "result=\"failed\"", "2"),
        (
            "offences_by_verdict_total",
            "rule=\"ill-formed\",verdict=\"refused\"",
            "2",
        ),
        (
            "offences_by_verdict_total",
            "rule=\"ill-formed\",verdict=\"reported\"",
            "1",
        ),
        (
            "offences_by_verdict_total",
            "rule=\"too-long\",verdict=\"refused\"",
            "1",
        ),
        (
            "offences_by_verdict_total",
            "rule=\"forbidden\",verdict=\"refused\"",
            "0",
        ),
    ];
    for (name, labels, expected) in rows {
        assert_eq!(value(name, labels), expected, "{name} {labels}");
    }
    let micros = since.as_microsecond();
    let seconds = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    assert_eq!(value("policy_good_reading_timestamp_seconds", ""), seconds);

    let words = say(&mount, "text");
    for part in [
        "sections: 0, reloads: 1, failed reloads: 2",
        "  ill-formed  2 refused, 1 reported",
        "  too-long    1 refused",
        "  policy            \"/",
    ] {
        assert!(words.contains(part), "{part} is not in {words}");
    }
    policy.replace("mode = \"off\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    let metrics = say(&mount, "prometheus");
    assert!(
        metrics
            .lines()
            .any(|line| line.starts_with("utf8fs_policy_fault{") && line.ends_with(" 0"))
    );
    mount.stop();
    let plain = tree.mount(&[]);
    let json = status::of(&plain.point());
    assert_eq!(json["policy"], Value::Null);
    assert_eq!(json["options"].get("policy"), Some(&Value::Null));
    let metrics = say(&plain, "prometheus");
    assert!(
        metrics
            .lines()
            .any(|line| line.starts_with("utf8fs_policy_file{") && line.ends_with(" 0"))
    );
    assert!(!metrics.contains("utf8fs_policy_reloads_total"));
    assert!(say(&plain, "text").contains("no policy file is in force"));
}
