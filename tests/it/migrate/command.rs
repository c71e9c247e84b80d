//! The program from outside: what it prints, what it writes, how it ends (laws T1, L1, L4).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{migrate, utf8fs};
use crate::support::{Tree, at, needs, user};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.file(b"caf\xE9.txt", b"1");
    tree.file("déjà.txt".as_bytes(), b"2");
    let below = tree.directory(b"d\xE9p\xF4t");
    at::write_new(&below, b"\xE9t\xE9\n\x1B[2J", b"3").unwrap();
    at::symlink(b"../caf\xE9.txt", &below, b"link").unwrap();
    tree
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Law T1: nothing is written without `--apply`.
#[test]
fn t1_a_plan_is_printed_and_nothing_is_changed() {
    let tree = tree();
    let command = ["--from", "iso-8859-1", "backing", "--verbose"];
    let run = migrate(tree.parent(), &command).expect(0);
    assert_eq!(
        sorted(&run.stdout),
        [
            r#""caf\xE9.txt" -> "café.txt"  decoded from iso-8859-1"#,
            r#""d\xE9p\xF4t" -> "dépôt"  decoded from iso-8859-1"#,
            r#""d\xE9p\xF4t/\xE9t\xE9\n\x1B[2J" -> "été\n\x1B[2J"  decoded from iso-8859-1"#,
            r#""d\xE9p\xF4t/link" leads to "../caf\xE9.txt" -> "../café.txt""#,
        ]
    );
    assert_eq!(
        run.stderr,
        "utf8fs: 3 names would be changed, 1 link would be led to new names, of 5 entries; nothing was changed\n"
    );
    let names: Vec<Vec<u8>> = at::sorted(tree.below_dir());
    assert_eq!(
        names,
        [
            b"caf\xE9.txt".to_vec(),
            "déjà.txt".as_bytes().to_vec(),
            b"d\xE9p\xF4t".to_vec()
        ]
    );
}

/// Names are printed with `--verbose` alone: there may be thousands.
#[test]
fn a_dry_run_prints_a_summary_by_directory_charset_and_reason() {
    let tree = tree();
    for name in [b"\xE8".as_slice(), "è".as_bytes(), b"caf\xE8.txt"] {
        tree.file(name, b"");
    }
    let other = tree.parent().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join(OsStr::from_bytes(b"\xE9")), b"").unwrap();
    let command = ["--from", "windows-1252", "backing", "other"];
    let run = migrate(tree.parent(), &command).expect(1);
    let parent = tree.parent().canonicalize().unwrap();
    let parent = parent.to_str().unwrap();
    assert_eq!(
        run.stdout.replace(parent, "/p"),
        r#""/p/backing": 4 of 6 entries
              3  decoded from windows-1252
                   "caf\xE8.txt" -> "cafè.txt"
              1  stays: another entry has its new name, see --on-collision
                   "\xE8"; "è"? from windows-1252
"/p/backing/d\xE9p\xF4t": 2 of 2 entries
              1  decoded from windows-1252
                   "\xE9t\xE9\n\x1B[2J" -> "été\n\x1B[2J"
              1  its target changes
                   "link" leads to "../caf\xE9.txt" -> "../café.txt"
"/p/other": 1 of 1 entry
              1  decoded from windows-1252
                   "\xE9" -> "é"
--verbose lists all names
"#
    );
}

#[test]
fn the_plan_is_written_as_json_lines_and_not_over_a_file() {
    let tree = tree();
    let arguments = ["--from", "iso-8859-1", "--plan", "plan", "backing"];
    let run = migrate(tree.parent(), &arguments).expect(0);
    assert_eq!(run.stdout, "");
    let text = std::fs::read_to_string(tree.parent().join("plan")).unwrap();
    let values: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(values[0]["utf8fs_plan"], 1);
    assert_eq!(values[0]["options"], "--from iso-8859-1");
    assert_eq!(values.last().unwrap()["utf8fs_plan_end"], 1);
    let line = values
        .iter()
        .find(|value| value["old"]["bytes"] == "Y2Fm6S50eHQ=")
        .unwrap();
    let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "directory",
            "directory_inode",
            "old",
            "new",
            "kind",
            "inode",
            "reason",
            "charset",
            "confidence",
            "candidates"
        ]
    );
    let link = values
        .iter()
        .find(|value| value["old"]["text"] == "link")
        .unwrap();
    assert_eq!(link["new_target"]["text"], "../café.txt");
    // What is printed is the same.
    let printed = migrate(
        tree.parent(),
        &["--from", "iso-8859-1", "--plan", "-", "backing"],
    )
    .expect(0);
    assert_eq!(sorted(&printed.stdout), sorted(&text));
    let again = migrate(tree.parent(), &arguments).expect(2);
    assert!(
        again.stderr.contains("cannot be written: File exists"),
        "{again:?}"
    );
    assert_eq!(
        std::fs::read_to_string(tree.parent().join("plan")).unwrap(),
        text
    );
}

#[test]
fn the_exit_status_says_what_is_left() {
    let tree = tree();
    migrate(tree.parent(), &["--from", "utf-8-nonsense", "backing"]).expect(2);
    migrate(tree.parent(), &["backing"]).expect(2);
    migrate(tree.parent(), &["--from", "koi8-r"]).expect(2);
    migrate(tree.parent(), &["--from", "koi8-r", "no such"]).expect(2);
    migrate(
        tree.parent(),
        &["--from", "koi8-r", "backing", "backing/d*"],
    )
    .expect(2);
    migrate(tree.parent(), &["--from", "koi8-r", ".", "backing"]).expect(2);
    migrate(tree.parent(), &["--from", "koi8-r,auto", "backing"]).expect(2);
    migrate(
        tree.parent(),
        &["--from", "koi8-r", "--journal", "j", "backing"],
    )
    .expect(2);
    migrate(
        tree.parent(),
        &["--from", "koi8-r", "--only", "[", "backing"],
    )
    .expect(2);
    migrate(
        tree.parent(),
        &["--from", "koi8-r", "--min-confidence", "2", "backing"],
    )
    .expect(2);
    migrate(
        tree.parent(),
        &["--from", "koi8-r", "--plan", "p", "--apply"],
    )
    .expect(2);
    migrate(tree.parent(), &["--plan", "no such", "--apply"]).expect(2);
    // Left: no charset is named for what is not UTF-8.
    let run = migrate(tree.parent(), &["--normalize", "nfc", "backing"]).expect(1);
    assert!(
        run.stdout
            .contains("  2  stays: none of the charsets tried reads it\n"),
        "{run:?}"
    );
    // Clean.
    tree.file(b"plain", b"");
    let run = migrate(
        tree.parent(),
        &["--from", "iso-8859-1", "--only", "plain", "backing"],
    )
    .expect(0);
    assert!(run.stderr.contains("nothing to do"), "{run:?}");
}

/// Law T3.
#[test]
fn t3_a_directory_that_cannot_be_read_is_told_and_the_rest_is_planned() {
    if !needs::root("another user") {
        return;
    }
    let tree = tree();
    std::fs::create_dir(tree.backing().join("locked")).unwrap();
    std::fs::set_permissions(
        tree.backing().join("locked"),
        PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    // A copy that the user can run.
    let program = tree.parent().join("program");
    let mut copy = std::process::Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_utf8fs")).arg(&program);
    assert!(copy.status().unwrap().success());
    let output = user::command(user::NOBODY, &program)
        .args(["migrate", "-v", "--from", "iso-8859-1"])
        .arg(tree.backing())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let (stdout, stderr) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(stdout.lines().count(), 4);
    assert!(
        stderr.contains("\"locked\" cannot be read: Permission denied"),
        "{stderr}"
    );
}

#[test]
fn patterns_say_what_is_planned() {
    let tree = tree();
    let names = |arguments: &[&str]| {
        let arguments = [&["-v", "--from", "iso-8859-1"], arguments, &["backing"]].concat();
        migrate(tree.parent(), &arguments)
            .expect(0)
            .stdout
            .lines()
            .count()
    };
    assert_eq!(names(&[]), 4);
    // A link does not follow what is not in question.
    assert_eq!(names(&["--only", "/d?p?t"]), 2);
    assert_eq!(names(&["--only", "/d?p?t/*"]), 1);
    // One that is not in question itself follows what is (law T9).
    assert_eq!(names(&["--exclude", "d?p?t"]), 2);
    assert_eq!(names(&["--only", "*.txt", "--exclude", "caf*"]), 0);
}

/// A plan that is refused does nothing, and says where.
#[test]
fn a_plan_that_was_altered_is_refused_with_the_line() {
    let tree = tree();
    migrate(
        tree.parent(),
        &["--from", "iso-8859-1", "--plan", "plan", "backing"],
    )
    .expect(0);
    let path = tree.parent().join("plan");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"café.txt\"", "\"../café.txt\"")).unwrap();
    let line = 1 + text
        .lines()
        .position(|line| line.contains("Y2Fm6S50eHQ="))
        .unwrap();
    let run = migrate(tree.parent(), &["--plan", "plan", "--apply"]).expect(2);
    assert!(
        run.stderr.contains(&format!(
            "nothing was done: line {line}: not a line of a plan: \"../café.txt\" is no name"
        )),
        "{run:?}"
    );
    std::fs::write(&path, &text[..text.len() - 5]).unwrap();
    let run = migrate(tree.parent(), &["--plan", "plan", "--apply"]).expect(2);
    assert!(run.stderr.contains("nothing was done: line 6: "), "{run:?}");
    std::fs::write(&path, &text).unwrap();
    let run = migrate(tree.parent(), &["--plan", "plan", "--apply", "."]).expect(2);
    assert!(run.stderr.contains("not about what was given"), "{run:?}");
    assert_eq!(at::sorted(tree.below_dir()).len(), 3);
}

#[test]
fn the_reader_may_go_away() {
    let tree = tree();
    let script = "set -o pipefail; \"$0\" migrate --from iso-8859-1 backing | true";
    let status = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_utf8fs")])
        .current_dir(tree.parent())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    // A name that is an argument is no option.
    utf8fs(
        tree.parent(),
        &[b"migrate", b"--from", b"iso-8859-1", b"--", b"backing"],
    )
    .expect(0);
}
