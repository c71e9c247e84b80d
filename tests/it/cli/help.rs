//! The whole help and the output for people, word for word (law L4). `UPDATE_SNAPSHOTS=1` writes them anew.

use std::path::Path;

use super::{Run, run};

/// Compares with the file of this name; white space at the ends of lines does not count.
fn assert_snapshot(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/cli/snapshots")
        .join(name);
    let lines: Vec<&str> = got.lines().map(str::trim_end).collect();
    let got = lines.join("\n") + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        got == wanted,
        "{name} differs; if it is meant to, run with UPDATE_SNAPSHOTS=1 and read the difference:\n{got}"
    );
}

fn helped(arguments: &[&[u8]]) -> Run {
    let run = run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run
}

#[test]
fn the_help_is_what_it_was() {
    assert_snapshot("help.txt", &helped(&[b"--help"]).stdout);
    assert_snapshot("help-short.txt", &helped(&[b"-h"]).stdout);
    assert_snapshot("help-mount.txt", &helped(&[b"mount", b"--help"]).stdout);
    assert_snapshot("help-explain.txt", &helped(&[b"explain", b"--help"]).stdout);
    assert_snapshot("help-convert.txt", &helped(&[b"convert", b"--help"]).stdout);
    assert_snapshot("help-scan.txt", &helped(&[b"scan", b"--help"]).stdout);
    assert_snapshot("help-migrate.txt", &helped(&[b"migrate", b"--help"]).stdout);
    assert_snapshot("help-status.txt", &helped(&[b"status", b"--help"]).stdout);
    assert_snapshot("help-audit.txt", &helped(&[b"audit", b"--help"]).stdout);
    assert_snapshot("help-undo.txt", &helped(&[b"undo", b"--help"]).stdout);
    assert_snapshot("help-journal.txt", &helped(&[b"journal", b"--help"]).stdout);
    assert_snapshot("help-policy.txt", &helped(&[b"policy", b"--help"]).stdout);
    let check = [&b"policy"[..], b"check", b"--help"];
    assert_snapshot("help-policy-check.txt", &helped(&check).stdout);
    let show = [&b"policy"[..], b"show", b"--help"];
    assert_snapshot("help-policy-show.txt", &helped(&show).stdout);
    assert_snapshot("help-umount.txt", &helped(&[b"umount", b"--help"]).stdout);
    assert_snapshot("help-demo.txt", &helped(&[b"demo", b"--help"]).stdout);
}

#[test]
fn an_explanation_is_what_it_was() {
    let legacy = run(&[
        b"explain",
        b"--from",
        b"iso-8859-1",
        b"--profile",
        b"safe",
        b"caf\xE9.txt",
        b"..\xC0\xAFetc",
        b"\xFD\xBF\xBF\xBF\xBF\xBF",
        b"a\nb\x1B[2J",
        "caf\u{E9}".as_bytes(),
        b"a/b",
        b"",
    ]);
    assert_eq!(legacy.code, Some(1));
    assert_snapshot("explain.txt", &legacy.stdout);
    let octets = b"C0 80 61 ED A1 8C ED BE B4 ED A0 80";
    let java = run(&[b"explain", b"--encoding", b"mutf-8", b"--hex", octets]);
    assert_eq!(java.code, Some(0));
    assert_snapshot("explain-mutf-8.txt", &java.stdout);
    let cesu = run(&[b"explain", b"--encoding", b"cesu-8", b"--hex", octets]);
    assert_eq!(cesu.code, Some(1));
    assert_snapshot("explain-cesu-8.txt", &cesu.stdout);
}

#[test]
fn help_that_nobody_asked_for_is_an_error() {
    let run = run(&[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("Usage: utf8fs <COMMAND>"), "{run:?}");
}

#[test]
fn the_version_names_the_program_and_on_demand_unicode() {
    let version = concat!("utf8fs ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(helped(&[b"--version"]).stdout, version);
    assert_eq!(helped(&[b"-V"]).stdout, version);
    let (major, minor, update) = utf8fs::codec::normalize::UNICODE_VERSION;
    let mut verbose = format!("{version}normalization: Unicode {major}.{minor}.{update}\n");
    let (major, minor, update) = utf8fs::codec::caseless::UNICODE_VERSION;
    verbose += &format!("case folding: Unicode {major}.{minor}.{update}\n");
    assert_eq!(helped(&[b"--version", b"--verbose"]).stdout, verbose);
    assert_eq!(helped(&[b"--verbose", b"--version"]).stdout, verbose);
}
