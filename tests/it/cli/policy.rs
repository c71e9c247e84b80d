//! `utf8fs policy`: faults, what holds and why, exit codes.

use super::run;

const GOOD: &str = r#"profile = "safe"
mode = "enforce"
from = ["iso-8859-1"]

[[section]]
name = "nightly"
path = ["/backups/**"]
users = [34, "root"]
mode = "report"

[[section]]
path = ["/docs/**"]
forbid = ["windows"]
groups = [50]
errno = "einval"

[[section]]
path = "/inbox/*"
mode = "normalize"

[[section]]
path = "/theirs/*"
groups = "daemon"
mode = "off"
"#;

fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

#[test]
fn an_error_comes_before_a_warning_about_the_same_place() {
    let place = place(&[("p", "[[section]]\nmax_chars = 1\nmode = \"off\"\n")]);
    let file = place.path().join("p").into_os_string().into_encoded_bytes();
    let checked = run(&[b"policy", b"check", &file]);
    let mut lines = checked.stdout.lines();
    assert!(
        lines
            .next()
            .is_some_and(|line| line.contains(":2:13: error: ")),
        "{checked:?}"
    );
    assert!(
        lines
            .next()
            .is_some_and(|line| line.contains(":2:13: warning: ")),
        "{checked:?}"
    );
}

#[test]
fn check_ends_with_1_where_one_file_has_a_fault_and_tells_all() {
    let warned = "[[section]]\n[[section]]\n";
    let place = place(&[("good", GOOD), ("bad", "x = 1\n"), ("warned", warned)]);
    let path = |name: &str| {
        place
            .path()
            .join(name)
            .into_os_string()
            .into_encoded_bytes()
    };
    let [good, bad, warned, none] = ["good", "bad", "warned", "none"].map(path);
    let shown = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    let checked = run(&[b"policy", b"check", &good, &warned]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let [good_shown, warned_shown] = [&good, &warned].map(|path| shown(path));
    assert_eq!(
        checked.stdout,
        format!(
            "{good_shown}: ok; sections: 4\n\
            {warned_shown}:2:1: warning: this section is never reached: that of {warned_shown}:1 holds for all that it holds for\n\
            {warned_shown}: ok; sections: 2\n"
        )
    );
    let checked = run(&[b"policy", b"check", &bad, &good, &none]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{checked:?}");
    assert!(
        lines[0].contains("bad:1:1: error: unknown field `x`"),
        "{lines:?}"
    );
    assert!(lines[2].ends_with("none: error: cannot be read: No such file or directory"));
    assert_eq!(checked.stderr, "");
}

/// The command line of `show` after the file, lines that it says, the last of them what becomes of the name.
type Row = (
    &'static [&'static [u8]],
    &'static [(&'static str, &'static str, &'static str)],
    &'static str,
);

#[test]
fn show_says_what_holds_and_which_lines_say_so() {
    let rows: &[Row] = &[
        (
            &[b"/backups/caf\xE9"],
            &[
                ("section", "nightly", ":5"),
                ("users", "34 0", ":8"),
                ("mode", "report", ":9"),
                ("profile", "safe", ":1"),
            ],
            "is created as asked, and recorded: ill-formed UTF-8: truncated sequence",
        ),
        (
            &[b"backups/caf\xE9", b"--user", b"7"],
            &[
                ("section", "none", ""),
                ("mode", "enforce", ":2"),
                ("errno", "eilseq", "default"),
            ],
            "is refused with EILSEQ: ill-formed UTF-8: truncated sequence",
        ),
        (
            &[b"/docs/a:b", b"--group", b"4", b"--group", b"50"],
            &[
                ("section", "first matching section", ":11"),
                ("errno", "einval", ":15"),
                ("forbid", "windows", ":1 and "),
            ],
            "is refused with EINVAL: forbidden: refused by Windows (character, device or ending)",
        ),
        (
            &[b"/docs/a:b", b"--user", b"daemon"],
            &[("section", "none", "")],
            "conforms",
        ),
        (
            &[b"/theirs/caf\xE9", b"--user", b"daemon"],
            &[("section", "first matching section", ":21")],
            "is created as asked; it would not conform",
        ),
        (
            &[b"/theirs/caf\xE9", b"--user", b"daemon", b"--group", b"0"],
            &[("section", "none", "")],
            "is refused with EILSEQ: ill-formed UTF-8: truncated sequence",
        ),
        (
            &[b"/inbox/caf\xE9"],
            &[("mode", "normalize", ":19")],
            "is created as \"café\": ill-formed UTF-8: truncated sequence",
        ),
        (
            &[b"/inbox/deep/caf\xE9"],
            &[("mode", "enforce", ":2")],
            "is refused with EILSEQ: ill-formed UTF-8: truncated sequence",
        ),
    ];
    let place = place(&[("p", GOOD)]);
    let file = place.path().join("p").into_os_string().into_encoded_bytes();
    for (arguments, expected, verdict) in rows {
        let command = [&[&b"policy"[..], b"show", &file], *arguments].concat();
        let shown = run(&command);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        for (key, value, place) in *expected {
            let line = shown
                .stdout
                .lines()
                .find(|line| line.trim_start().starts_with(key));
            let line = line.unwrap_or_else(|| panic!("no {key} in {shown:?}"));
            assert!(
                line.contains(value) && line.contains(place),
                "{key} {value} {place}: {line}"
            );
        }
        let last = shown.stdout.lines().last().unwrap();
        assert_eq!(
            last.trim_start().trim_start_matches("result").trim_start(),
            *verdict
        );
    }
}

#[test]
fn show_names_the_line_that_decides_where_the_mode_is_off() {
    let text = "mode = \"enforce\"\nunique = \"casefold\"\n[[section]]\npath = \"/off/*\"\nmode = \"off\"\n\
        [[section]]\npath = \"/none/*\"\nunique = \"none\"\n";
    let place = place(&[("p", text)]);
    let file = place.path().join("p").into_os_string().into_encoded_bytes();
    for (path, value, at) in [
        (&b"/a"[..], "casefold", "p:2"),
        (b"/off/a", "none: mode is off", "p:5"),
        (b"/none/a", "none", "p:8"),
    ] {
        let shown = run(&[b"policy", b"show", &file, path]);
        let mut lines = shown.stdout.lines();
        let line = lines.find_map(|line| line.trim_start().strip_prefix("unique"));
        let line = line.unwrap().trim();
        assert!(line.starts_with(value) && line.ends_with(at), "{line}");
        assert_eq!(line.contains("mode is off"), value.contains("mode is off"));
    }
}

#[test]
fn unknown_users_and_groups_are_warnings_and_match_nobody() {
    let text = "[[section]]\nusers = \"no one\"\nmode = \"off\"\n[[section]]\nusers = \"no one\"\ngroups = 5\n";
    let place = place(&[("p", text)]);
    let file = place.path().join("p").into_os_string().into_encoded_bytes();
    let checked = run(&[b"policy", b"check", &file]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert!(
        lines[0].contains("p:2:9: warning: users: unknown user \"no one\" matches nobody"),
        "{lines:?}"
    );
    assert!(lines[2].ends_with("p: ok; sections: 2"), "{lines:?}");
    assert_eq!(lines.len(), 3);
    let shown = run(&[b"policy", b"show", &file, b"/a"]).stdout;
    assert!(shown.contains("none"), "{shown}");
    let shown = run(&[b"policy", b"show", &file, b"/a", b"--group", b"5"]).stdout;
    let users = shown.lines().find(|line| line.contains("users")).unwrap();
    assert!(
        users.contains(" nobody ") && users.ends_with("p:5"),
        "{shown}"
    );
}

#[test]
fn wrong_arguments_and_wrong_files_are_told_apart() {
    let place = place(&[("p", GOOD), ("bad", "mode = 1")]);
    let path = |name: &str| {
        place
            .path()
            .join(name)
            .into_os_string()
            .into_encoded_bytes()
    };
    let file = path("p");
    for wrong in [
        &[b"policy".as_slice(), b"show", &file, b"/a/.."][..],
        &[b"policy", b"show", &file, b"/x/../y"],
        &[b"policy", b"show", &file, b"/x/./y"],
        &[b"policy", b"show", &file, b"./y"],
        &[b"policy", b"show", &file, b"/x//y"],
        &[b"policy", b"show", &file, b"//y"],
        &[b"policy", b"show", &file, b"/y/"],
        &[b"policy", b"show", &file, b"/"],
        &[b"policy", b"show", &file, b""],
        &[b"policy", b"show", &file, b"/a", b"--user", b"no one"],
    ] {
        run(wrong).refusal();
    }
    let shown = run(&[b"policy", b"show", &path("bad"), b"/a"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(
        shown.stderr.contains("bad:1:8: invalid type: integer `1`"),
        "{shown:?}"
    );
}
