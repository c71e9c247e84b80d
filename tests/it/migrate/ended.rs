//! Ended in the middle, by a signal or a kill at a given rename: the same command goes on, or `undo` takes back (law T4).

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::{PATIENCE, migrate, utf8fs};
use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Tree, at};

const FILES: usize = 60;
/// In one directory of the two.
const MOST: usize = 45;
const ARGUMENTS: [&str; 6] = [
    "--from",
    "koi8-r",
    "--apply",
    "--journal",
    "journal",
    "backing",
];

fn tree() -> Tree {
    let tree = Tree::new();
    for (directory, files) in [(&b"\xD0\xCF"[..], MOST), (b"two", FILES - MOST)] {
        let below = tree.directory(directory);
        for number in 0..files {
            let name = [format!("{number} ").as_bytes(), b"\xC4\xC1"].concat();
            at::write_new(&below, &name, &name).unwrap();
            at::set_mtime(&below, &name, 1_000_000).unwrap();
        }
        at::set_mtime(tree.below_dir(), directory, 2_000_000).unwrap();
    }
    tree
}

fn taken(tree: &Tree) -> Snapshot {
    snapshot::take(&tree.backing(), Times::Kept)
}

/// Runs the migration until its rename of that number, at which it gets the signal.
fn interrupted(directory: &Path, signal: &str, when: usize) -> (ExitStatus, String) {
    let inject = format!("inject=renameat2:signal={signal}:when={when}");
    let output = Command::new("timeout")
        .args([PATIENCE, "strace", "-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(inject)
        .arg(env!("CARGO_BIN_EXE_utf8fs"))
        .arg("migrate")
        .args(ARGUMENTS)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status, String::from_utf8(output.stderr).unwrap())
}

fn count_of_new(tree: &Tree) -> usize {
    let names = [&b"\xD0\xCF"[..], "по".as_bytes(), b"two"]
        .into_iter()
        .filter_map(|directory| at::open_dir(tree.below_dir(), directory).ok());
    names
        .flat_map(at::list)
        .filter(|name| name.ends_with("да".as_bytes()))
        .count()
}

/// What an uninterrupted migration gives.
fn whole() -> Snapshot {
    let tree = tree();
    migrate(tree.parent(), &ARGUMENTS).expect(0);
    assert_eq!(count_of_new(&tree), FILES);
    taken(&tree)
}

#[test]
fn t4_a_signal_stops_between_two_renames_and_says_how_to_go_on() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let tree = tree();
        let before = taken(&tree);
        // Each thread counts its own renames. Only the one with most files makes so many: a second signal ends it at once.
        let (status, said) = interrupted(tree.parent(), signal, FILES / 3);
        assert_eq!(status.code(), Some(code), "{said}");
        assert!(said.contains("same command"), "{said}");
        assert!(said.contains("utf8fs undo"), "{said}");
        let done = count_of_new(&tree);
        assert!((1..FILES).contains(&done), "{done}");

        migrate(tree.parent(), &ARGUMENTS).expect(0);
        assert_eq!(taken(&tree), whole());
        utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
        assert_eq!(taken(&tree), before);
    }
}

#[test]
fn t4_after_a_kill_the_same_command_goes_on_and_undo_takes_back() {
    let whole = whole();
    // The first rename is that of the journal to its name: nothing is done before it.
    // Each thread counts its own.
    for when in [1, 2, 3, FILES / 4] {
        for goes_on in [true, false] {
            let tree = tree();
            let before = taken(&tree);
            let (status, said) = interrupted(tree.parent(), "KILL", when);
            assert_eq!(
                status.signal().or(status.code().map(|code| code - 128)),
                Some(9),
                "{said}"
            );
            let is_begun = std::fs::symlink_metadata(tree.parent().join("journal")).is_ok();
            if goes_on {
                migrate(tree.parent(), &ARGUMENTS).expect(0);
                assert_eq!(taken(&tree), whole, "{when}");
            }
            if goes_on || is_begun {
                utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
            }
            assert_eq!(taken(&tree), before, "{when}, went on: {goes_on}");
        }
    }
}

/// What a power cut would take: the journal is synced, gets its name, and that is synced in its directory, before anything in the
/// tree is renamed.
#[test]
fn t4_the_journal_and_its_name_are_synced_before_the_first_rename() {
    let tree = tree();
    let log = tree.parent().join("calls");
    let output = Command::new("timeout")
        .args([PATIENCE, "strace", "-f", "-qq", "-y", "-o"])
        .arg(&log)
        .args(["-e", "trace=write,pwrite64,fsync,renameat2"])
        .arg(env!("CARGO_BIN_EXE_utf8fs"))
        .arg("migrate")
        .args(ARGUMENTS)
        .current_dir(tree.parent())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = std::fs::read_to_string(log).unwrap();
    let place = tree.parent().to_str().unwrap();
    let calls: Vec<&str> = log.lines().collect();
    let is = |line: &str, call: &str, file: &str| {
        line.contains(&format!(" {call}(")) && line.contains(&format!("<{place}{file}>"))
    };
    let first = |call, file| calls.iter().position(|line| is(line, call, file));
    let renamed = first("renameat2", "/backing").unwrap();
    let named = first("renameat2", "").unwrap();
    let before =
        |end: usize, call, file| calls[..end].iter().rposition(|line| is(line, call, file));
    let written = before(named, "write", "/journal.draft").unwrap();
    assert!(
        written < before(named, "fsync", "/journal.draft").unwrap_or(0),
        "{log}"
    );
    assert!(named < before(renamed, "fsync", "").unwrap_or(0), "{log}");
    // What follows says how far it came.
    assert_eq!(before(renamed, "write", "/journal"), None, "{log}");
}

#[test]
fn a_second_signal_ends_undo_at_once() {
    let tree = tree();
    let before = taken(&tree);
    migrate(tree.parent(), &ARGUMENTS).expect(0);
    // The first at a rename; the second with what is written after it.
    let output = Command::new("timeout")
        .args([PATIENCE, "strace", "-f", "-qq", "-o", "/dev/null"])
        .args(["-e", "inject=renameat2:signal=INT:when=1"])
        .args(["-e", "inject=write:signal=TERM:when=1+"])
        .arg(env!("CARGO_BIN_EXE_utf8fs"))
        .args(["undo", "--apply", "journal"])
        .current_dir(tree.parent())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(130 | 143)), "{said}");
    assert!(
        !said.contains("same command"),
        "it went on to its end: {said}"
    );
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert_eq!(taken(&tree), before);
}
