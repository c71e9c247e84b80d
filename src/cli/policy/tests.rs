//! Wrong files, and what is said of them.

mod fixed;
mod keys;
mod outlooks;

use std::path::Path;

use super::assemble::check_alone;
use super::*;

/// What a policy of this text comes to.
fn decided(text: &str) -> Decided {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("p"), text).unwrap();
    let text = assemble(gather(&place.path().join("p"), &Grounds::none()));
    Decided::with_file(Said::default(), &text).unwrap()
}

/// What is said of a file `p` with this text, without the directory that it is in.
fn said(text: &str, others: &[(&str, &str)]) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in others.iter().chain(&[("p", text)]) {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    let mut text = assemble(gather(&place.path().join("p"), &Grounds::none()));
    check_alone(&mut text);
    let prefix = format!("{}/", place.path().to_str().unwrap());
    let lines = text.faults.lines(&text.files).into_iter();
    lines.map(|line| line.replace(&prefix, "")).collect()
}

#[test]
fn each_fault_is_told_with_its_line_and_column() {
    let rows: &[(&str, &[&str])] = &[
        ("", &[]),
        (
            "profle = 1",
            &["p:1:1: error: unknown key \"profle\"; did you mean profile?"],
        ),
        (
            "max-bytes = 99",
            &["p:1:1: error: unknown key \"max-bytes\"; did you mean max_bytes?"],
        ),
        (
            "cache = 3",
            &[
                "p:1:1: error: unknown key \"cache\"; it is no matter of the policy: an option of 'utf8fs mount'",
            ],
        ),
        (
            "path = \"/a/**\"",
            &["p:1:1: error: unknown key \"path\"; it is said in a [[section]]"],
        ),
        (
            "[[section]]\nprofile = \"safe\"",
            &[
                "p:2:1: error: unknown key \"profile\"; it is for the whole mount, and goes above the first [[section]]",
            ],
        ),
        (
            "[section]\nmode = \"off\"",
            &["p:1:1: error: section must be written [[section]], and is a table"],
        ),
        (
            "profile = 3\nmode = [\"off\"]",
            &[
                "p:1:11: error: profile must be text, and is a number",
                "p:2:8: error: mode must be text, and is a list",
            ],
        ),
        (
            "mode = \"enforced\"",
            &["p:1:8: error: mode cannot be \"enforced\"; did you mean enforce?"],
        ),
        (
            "mode = \"xyz\"",
            &["p:1:8: error: mode cannot be \"xyz\"; it takes enforce, normalize, report, off"],
        ),
        (
            "forbid = [\"bidi\", \"windws\", 3]",
            &[
                "p:1:19: error: forbid cannot be \"windws\"; did you mean windows?",
                "p:1:29: error: forbid must be text, and is a number",
            ],
        ),
        (
            "max_bytes = 12\nmax_chars = -1\naudit_burst = 1.5",
            &[
                "p:1:13: error: max_bytes must be 24 to 255",
                "p:2:13: error: max_chars is out of range",
                "p:3:15: error: audit_burst must be a number, and is a fraction",
            ],
        ),
        (
            "from = [\"koi8-q\", \"utf-7\"]",
            &[
                "p:1:9: error: from: unknown charset \"koi8-q\"; did you mean koi8-r?",
                "p:1:19: error: from: charset \"utf-7\" is not on offer: stateful: one name has many spellings, and one of them spells `/` with other bytes",
            ],
        ),
        (
            "exempt = [\"/a/\"]",
            &[
                "p:1:11: error: exempt: \"/a/\" is no pattern: names do not end in /; /a/** is what lies in a directory",
            ],
        ),
        (
            "mode = \"off\"\non_violation = \"report\"",
            &[
                "p:2:16: error: on_violation contradicts mode: they are one; mode takes enforce for reject, and off",
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
            &["p:2:14: error: audit_log: the audit log \"\" is not a file"],
        ),
        (
            "audit_log = \"a\\u0000\"",
            &["p:1:13: error: audit_log: the audit log \"a\\x00\" is not a file"],
        ),
        (
            "audit_log = \"/tmp/..\"",
            &["p:1:13: error: audit_log: the audit log \"/tmp/..\" is not a file"],
        ),
        (
            "audit_log = \"journald:x\"",
            &[
                "p:1:13: error: audit_log: the audit log \"journald:x\": the socket has no path that begins with /",
            ],
        ),
        (
            "audit_log = \"/none/x\"",
            &[
                "p:1:13: error: audit_log: the audit log \"/none/x\" cannot be written: No such file or directory",
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
            "[[section]]\nusers = [\"rot\", -1, 4294967295, 4294967296]\ngroups = []",
            &[
                "p:2:10: warning: users: unknown user \"rot\" matches nobody; names are those of /etc/passwd, others go by number",
                "p:2:17: error: users is out of range",
                "p:2:21: error: users is out of range",
                "p:2:33: error: users is out of range",
                "p:3:10: error: groups is empty: leave it out if the section is for all",
            ],
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
            &[
                "p:1:1: error: invalid unquoted key, expected letters, numbers, `-`, `_`",
                "p:1:1: error: unknown key \"ä\"; docs/policy.md has all keys",
            ],
        ),
        (
            "[\"é\"]\n mode = \"x",
            &[
                "p:1:2: error: unknown key \"é\"; docs/policy.md has all keys",
                "p:2:11: error: invalid basic string, expected `\"`",
            ],
        ),
    ];
    for (text, expected) in rows {
        let found = said(text, &[]);
        assert_eq!(found, *expected, "{text}");
    }
}

/// A path or value may hold the words that lines have for severities.
#[test]
fn a_fault_is_an_error_or_a_warning_whatever_its_file_is_called() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a: error: b");
    let text = "x = 1\n[[section]]\n[[section]]\n";
    std::fs::write(&file, text).unwrap();
    let text = assemble(gather(&file, &Grounds::none()));
    assert_eq!(text.faults.lines(&text.files).len(), 2);
    let refused = refused(&text);
    let shown = text.files.shown(0);
    assert_eq!(
        refused.message,
        format!("{shown}:1:1: unknown key \"x\"; docs/policy.md has all keys")
    );
    assert_eq!(
        refused.hint.as_deref(),
        Some("'utf8fs policy check FILE' checks a file")
    );
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
                "p:1:17: error: include: . is a directory",
                "a:2:8: error: mode must be text, and is a number",
            ],
        ),
        (
            "include = \"a\"",
            &[
                ("a", "include = \"b\""),
                ("b", "mode = \"off\"\ninclude = [\"./p\"]"),
            ],
            &["b:2:12: error: include: a cycle: p includes a includes b includes p"],
        ),
        (
            "include = \"p\"",
            &[],
            &["p:1:11: error: include: a cycle: p includes p"],
        ),
        // Twice is no cycle.
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
    for (text, others, expected) in rows {
        assert_eq!(said(text, others), *expected, "{text}");
    }
}

#[test]
fn where_a_file_stops_being_text_is_told_by_line_and_column() {
    let place = tempfile::tempdir().unwrap();
    let [file, other] = ["p", "q"].map(|name| place.path().join(name));
    let (shown, other_shown) = (file.to_str().unwrap(), other.to_str().unwrap());
    let rows: [(&[u8], &str, usize); 4] = [
        (b"\xFF", "1:1", 0),
        (b"mode = \"off\"\n# \xC3\xA9\xE2\x82\xAC \xC3", "2:6", 21),
        (b"\n\n\xE2\x82\n", "3:1", 2),
        (b"a\n\x80", "2:1", 2),
    ];
    std::fs::write(&other, "include = \"p\"").unwrap();
    for (text, at, byte) in rows {
        std::fs::write(&file, text).unwrap();
        let lines = |path: &Path| {
            let files = gather(path, &Grounds::none());
            // As it comes from the helper process.
            let text = assemble(Gathered::from_json(&files.to_json()).unwrap());
            text.faults.lines(&text.files)
        };
        let why = format!("is not well-formed UTF-8, from byte {byte} on");
        assert_eq!(lines(&file), [format!("{shown}:{at}: error: {why}")]);
        let included = format!("{other_shown}:1:11: error: include: {shown}:{at} {why}");
        assert_eq!(lines(&other), [included]);
    }
}

#[test]
fn too_many_files_and_too_much_text_are_refused() {
    let names: Vec<String> = (0..70).map(|number| format!("f{number}")).collect();
    let others: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let text = format!("include = {names:?}");
    let found = said(&text, &others);
    assert_eq!(found.len(), 7, "{found:?}");
    assert!(found[0].contains("these are too many files"), "{found:?}");
    let long = format!("# {}", "x".repeat(600 << 10));
    let found = said("include = [\"a\", \"b\"]", &[("a", &long), ("b", &long)]);
    assert_eq!(
        found,
        [
            "p:1:17: error: include: b is too large: a policy has at most 1024 KiB, with all that it includes"
        ]
    );
}

/// What nests deeper than a person writes is refused, and no stack overflows.
#[test]
fn deep_nesting_is_refused() {
    let found = said(&format!("from = {}", "[".repeat(100_000)), &[]);
    assert!(found[0].contains("error: "), "{found:?}");
}

#[test]
fn every_key_of_a_policy_is_an_option_of_mount() {
    use clap::CommandFactory;
    let command = crate::cli::args::Cli::command();
    let mount = command.find_subcommand("mount").unwrap();
    for key in document::Top::KEYS {
        // mode is on_violation with one word more.
        let option = key.replace('_', "-").replace("mode", "on-violation");
        let known = mount
            .get_arguments()
            .any(|arg| arg.get_long() == Some(&option));
        assert!(known, "{key}");
    }
    assert!(Path::new("/etc/passwd").is_file());
}
