//! Wrong files, and what is said of them.

mod fixed_keys;
mod outlooks;
mod section_keys;

use std::path::Path;

use super::*;
use crate::daemon::mount_paths::ruled;

/// The keys of the whole mount.
fn top_keys() -> Vec<String> {
    let keys = serde_json::to_value(PolicyFile::default()).unwrap();
    let keys = keys.as_object().unwrap().keys();
    let keys = keys.filter(|key| !["include", "section"].contains(&key.as_str()));
    keys.cloned().collect()
}

/// Loads a policy of this text.
fn loaded(text: &str) -> LoadedPolicy {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("p"), text).unwrap();
    load(&place.path().join("p")).unwrap()
}

/// Resolves a policy of this text.
fn resolved(text: &str) -> ResolvedPolicy {
    ResolvedPolicy::new(PolicyFile::default(), &loaded(text)).unwrap()
}

/// Returns what is said of a file `p` with this text, without the directory that it is in.
fn said(text: &str, others: &[(&str, &str)]) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in others.iter().chain(&[("p", text)]) {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    let mut policy = load(&place.path().join("p")).unwrap();
    policy.check_alone();
    let directory = place.path().canonicalize().unwrap();
    let prefix = format!("{}/", directory.to_str().unwrap());
    let lines = policy.fault_lines().into_iter();
    lines.map(|line| line.replace(&prefix, "")).collect()
}

#[test]
fn each_fault_is_told_with_its_line_and_column() {
    let rows: &[(&str, &[&str])] = &[
        ("", &[]),
        (
            "profle = 1",
            &["p:1:1: error: unknown field `profle`; did you mean `profile`?"],
        ),
        (
            "[[section]]\nprofile = \"safe\"",
            &[
                "p:2:1: error: `profile` belongs above the first [[section]]; a section has forbid, such as forbid = [\"not-posix\"]",
            ],
        ),
        (
            "[[section]]\nfrom = \"koi8-r\"",
            &["p:2:1: error: `from` belongs above the first [[section]]"],
        ),
        (
            "[[section]]\nusers = [\"1001\"]",
            &[
                "p:2:9: warning: users: unknown user \"1001\" matches nobody; write 1001 without quotes",
            ],
        ),
        (
            "[section]\nmode = \"off\"",
            &["p:1:1: error: write [[section]] with two brackets"],
        ),
        (
            "mode = [\"off\"]",
            &["p:1:8: error: invalid type: sequence, expected a string"],
        ),
        (
            "mode = \"enforced\"",
            &["p:1:8: error: unknown word \"enforced\"; it takes enforce, normalize, report, off"],
        ),
        (
            "audit_burst = 1.5",
            &["p:1:15: error: invalid type: floating point `1.5`, expected u32"],
        ),
        (
            "max_bytes = 12\nmax_chars = 23",
            &[
                "p:1:13: error: max_bytes must be 24 to 255",
                "p:2:13: error: max_chars must be 24 or more",
            ],
        ),
        (
            "from = [\"koi8-r\", \"koi8-q\"]",
            &["p:1:8: error: unknown charset \"koi8-q\"; did you mean koi8-r or koi8-u?"],
        ),
        (
            "store_as = \"utf-7\"",
            &[
                "p:1:12: error: charset \"utf-7\" is not supported: stateful: one name has many spellings, and one of them spells `/` with other bytes; it takes IANA's names of stateless charsets, such as iso-8859-1, windows-1252, shift_jis, koi8-r",
            ],
        ),
        (
            "exempt = [\"/a/\"]",
            &[
                "p:1:10: error: exempt: \"/a/\" is not a pattern: names do not end in /; /a/** is what lies in a directory",
            ],
        ),
        (
            "legacy = \"raw\"\nstore_as = \"koi8-r\"",
            &["p:1:10: error: legacy contradicts store_as, which needs names to be decoded"],
        ),
        (
            "legacy = \"decode\"",
            &[
                "p:1:10: warning: legacy is decode without from: it can be in force only where --from is given as well",
            ],
        ),
        (
            "legacy = \"decode\"\nfrom = []",
            &[
                "p:1:10: warning: legacy is decode without from: it can be in force only where --from is given as well",
            ],
        ),
        (
            "audit_log = \"-\"",
            &[
                "p:1:13: warning: audit_log is standard error: it can be in force only without --background",
            ],
        ),
        (
            "\n audit_log = \"\"",
            &["p:2:14: error: \"\": it is not a file; give the path of a file"],
        ),
        (
            "audit_log = \"a\\u0000\"",
            &["p:1:13: error: \"a\\x00\": it is not a file; give the path of a file"],
        ),
        (
            "audit_log = \"/tmp/..\"",
            &["p:1:13: error: \"/tmp/..\": it is not a file; give the path of a file"],
        ),
        (
            "audit_log = \"journald:x\"",
            &[
                "p:1:13: error: \"journald:x\": the socket has no path that begins with /; a file of such a name is written as ./journald:...; the journal of the namespace NAME is journald:/run/systemd/journal.NAME/socket",
            ],
        ),
        (
            "audit_log = \"/none/x\"",
            &[
                "p:1:13: error: audit_log: the audit log \"/none/x\" cannot be written: No such file or directory; make its directory first",
            ],
        ),
        ("audit_log = \"syslog\"", &[]),
        (
            "max_bytes = 100\n[[section]]\nmax_bytes = 101",
            &[
                "p:3:13: error: max_bytes is more than the 100 of the whole mount (p:1); a section can only be stricter",
            ],
        ),
        (
            "[[section]]\nunique = \"nfc\"\nusers = 1\n[[section]]\nunique = \"casefold\"",
            &[
                "p:5:10: error: unique contradicts nfc of p:2: names of a mount are compared in one way",
            ],
        ),
        (
            "[[section]]\nusers = [\"rot\", 4294967295]\ngroups = []",
            &[
                "p:2:9: error: users is out of range",
                "p:2:9: warning: users: unknown user \"rot\" matches nobody; names are those of /etc/passwd, others go by number",
                "p:3:10: error: groups is empty: leave it out if the section is for all",
            ],
        ),
        (
            "[[section]]\nusers = [1, -1]",
            &["p:2:9: error: it takes the name or number of a user or group"],
        ),
        (
            "[[section]]\ngroups = \"no such\\u001b\"",
            &[
                "p:2:10: warning: groups: unknown group \"no such\\x1B\" matches nobody; names are those of /etc/group, others go by number",
            ],
        ),
        (
            "[[section]]\npath = \"/a/**\"\n[[section]]\npath = [\"/a/**\"]\nusers = 0\n[[section]]\n[[section]]\nusers = 0",
            &[
                "p:3:1: warning: this section is never reached: that of p:1 holds for all that it holds for",
                "p:7:1: warning: this section is never reached: that of p:6 holds for all that it holds for",
            ],
        ),
        (
            "[[section]]\nusers = [0, 1]\n[[section]]\nusers = 1\n[[section]]\ngroups = 1",
            &[
                "p:3:1: warning: this section is never reached: that of p:1 holds for all that it holds for",
            ],
        ),
        (
            "[[section]]\nmode = \"off\"\nforbid = \"bidi\"",
            &["p:3:10: warning: forbid has no effect: mode is off here"],
        ),
        (
            "errno = \"eperm\"\n[[section]]\nmode = \"report\"\nerrno = \"einval\"\nforbid = \"bidi\"",
            &["p:4:9: warning: errno has no effect: mode is report here"],
        ),
        (
            "mode = \"off\"\nmode = \"off\"\n[[section]\n",
            &[
                "p:2:1: error: duplicate key",
                "p:3:11: error: unclosed array table, expected `]`",
            ],
        ),
        (
            "ä = 1 # é",
            &["p:1:1: error: invalid unquoted key, expected letters, numbers, `-`, `_`"],
        ),
        (
            "# é\n mode = \"x",
            &["p:2:11: error: invalid basic string, expected `\"`"],
        ),
    ];
    let found: Vec<(&str, Vec<String>)> = rows
        .iter()
        .map(|(text, _)| (*text, said(text, &[])))
        .collect();
    let wrong = found.iter().zip(rows);
    let wrong: Vec<_> = wrong
        .filter(|(found, (_, expected))| found.1 != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A path or value may hold the words that lines have for severities.
#[test]
fn a_fault_is_an_error_or_a_warning_whatever_its_file_is_called() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a: error: b");
    std::fs::write(&file, "max_bytes = 1\n[[section]]\n[[section]]\n").unwrap();
    let policy = load(&file).unwrap();
    assert_eq!(policy.fault_lines().len(), 2);
    let refusal = policy.check().unwrap_err();
    let shown = policy.text.shown(0);
    assert_eq!(
        refusal.message,
        format!("{shown}:1:13: max_bytes must be 24 to 255")
    );
    let hint = "'utf8fs policy check FILE' checks a file";
    assert_eq!(refusal.hint.as_deref(), Some(hint));
}

/// A file, others, what is said.
type Row = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

#[test]
fn includes_are_followed_and_their_faults_are_theirs() {
    let rows: &[Row] = &[
        (
            "include = \"none\"",
            &[],
            &["p:1:11: error: include: none cannot be read: No such file or directory"],
        ),
        (
            "include = [\"a\", \".\"]",
            &[("a", "\nmode = 1")],
            &[
                "p:1:11: error: include: . is a directory",
                "a:2:8: error: invalid type: integer `1`, expected a string",
            ],
        ),
        (
            "include = \"a\"",
            &[
                ("a", "include = \"b\""),
                ("b", "mode = \"off\"\ninclude = [\"./p\"]"),
            ],
            &[],
        ),
        ("include = \"p\"", &[], &[]),
        // Each is read once.
        (
            "include = [\"a\", \"b\"]",
            &[("a", "include = \"b\""), ("b", "")],
            &[],
        ),
        // What is said first holds.
        (
            "mode = \"off\"\ninclude = [\"a\", \"b\"]\n[[section]]\nusers = 1",
            &[
                ("a", "max_bytes = 50\n[[section]]\nmax_bytes = 60\n"),
                ("b", "max_bytes = 70\n[[section]]\nusers = 1"),
            ],
            &[
                "a:3:13: error: max_bytes is more than the 50 of the whole mount (a:1); a section can only be stricter",
                "b:2:1: warning: this section is never reached: that of p:3 holds for all that it holds for",
            ],
        ),
    ];
    let found: Vec<_> = rows
        .iter()
        .map(|(text, others, _)| said(text, others))
        .collect();
    let wrong = found.iter().zip(rows);
    let wrong: Vec<_> = wrong
        .filter(|(found, (_, _, expected))| *found != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn where_a_file_stops_being_text_is_told_by_line_and_column() {
    let place = tempfile::tempdir().unwrap();
    let [file, other] = ["p", "q"].map(|name| place.path().join(name));
    let (shown, other_shown) = (file.to_str().unwrap(), other.to_str().unwrap());
    let rows: [(&[u8], (usize, usize), usize); 4] = [
        (b"\xFF", (1, 1), 0),
        (b"mode = \"off\"\n# \xC3\xA9\xE2\x82\xAC \xC3", (2, 6), 21),
        (b"\n\n\xE2\x82\n", (3, 1), 2),
        (b"a\n\x80", (2, 1), 2),
    ];
    std::fs::write(&other, "include = \"p\"").unwrap();
    for (text, (line, column), byte) in rows {
        std::fs::write(&file, text).unwrap();
        let lines = |path: &Path| {
            // As it comes from the helper process.
            let source = PolicySource::open(path, Vec::new(), PolicyFile::default()).unwrap();
            let text = serde_json::to_vec(&source.text()).unwrap();
            LoadedPolicy::new(serde_json::from_slice(&text).unwrap(), &[]).fault_lines()
        };
        let why =
            format!("is not well-formed UTF-8 from line {line}, column {column} on (byte {byte})");
        assert_eq!(lines(&file), [format!("{shown}: error: {why}")]);
        let included = format!("{other_shown}:1:11: error: include: {shown} {why}");
        assert_eq!(lines(&other), [included]);
    }
}

#[test]
fn too_much_text_is_refused() {
    let long = format!("# {}", "x".repeat(600 << 10));
    let found = said("include = [\"a\", \"b\"]", &[("a", &long), ("b", &long)]);
    assert_eq!(
        found,
        [
            "p:1:11: error: include: b is too large: a policy has at most 1024 KiB, with all that it includes"
        ]
    );
}

/// What nests deeper than a person writes is refused, and no stack overflows.
#[test]
fn deep_nesting_is_refused() {
    let found = said(&format!("from = {}", "[".repeat(100_000)), &[]);
    assert!(found[0].contains("error: "), "{found:?}");
}

/// Paths of a policy begin at the root of the mount, those of the system match nothing.
#[test]
fn a_pattern_that_begins_with_the_mount_point_is_warned_of() {
    let place = tempfile::tempdir().unwrap();
    let text = "exempt = '/mnt/x/tmp/**'\n[[section]]\npath = ['/web/**', '/srv/x/web/**', '/srv/xy', 'srv']\n";
    let path = place.path().join("p");
    std::fs::write(&path, text).unwrap();
    let said = |backing: &str, mountpoint: &str| {
        let options = PolicyFile::default();
        let ruled = ruled(mountpoint.as_ref(), backing.as_ref());
        let source = PolicySource::open(&path, ruled.into(), options);
        let lines = source.unwrap().read().unwrap().fault_lines().into_iter();
        let lines = lines.filter_map(|line| Some(line.split_once(": warning: ")?.1.to_owned()));
        lines.collect::<Vec<String>>()
    };
    assert_eq!(
        said("/srv/x", "/mnt/x"),
        [
            "exempt: \"/mnt/x/tmp/**\" begins with the mount point; paths begin at the root of the mount",
            "path: \"/srv/x/web/**\" begins with the backing directory; paths begin at the root of the mount",
        ]
    );
    assert_eq!(said("/srv/z", "/mnt/z"), [""; 0]);
}

#[test]
fn a_policy_with_all_keys_goes_through_json_unchanged() {
    let text = "profile = 'safe'\nfrom = ['koi8-r']\nforbid = 'bidi'\nexempt_uid = [7, 'root']\nunique = 'none'\n\
        audit_log = 'x'\nmode = 'off'\naudit_burst = 4294967295\nmax_bytes = 7\nexempt = []\n[[section]]\nusers = 1\npath = ['a', 'b']\n";
    let policy = PolicyFile::parse(text).unwrap();
    let json = serde_json::to_value(&policy).unwrap();
    assert_eq!(serde_json::from_value::<PolicyFile>(json).unwrap(), policy);
    assert_eq!(policy.clone().or(PolicyFile::default()), policy);
    assert_eq!(PolicyFile::default().or(policy.clone()), policy);
}
