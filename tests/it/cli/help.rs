//! The whole help and the output for people, word for word (law L4). `UPDATE_SNAPSHOTS=1` writes them anew.

use std::path::Path;

use super::{Run, run};

/// Compares with this file of the repository; white space at the ends of lines does not count.
fn assert_snapshot(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
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

/// The pages in docs/commands are what `--help` prints, and there is one for each command.
#[test]
fn the_help_is_what_it_was() {
    let help = helped(&[b"--help"]).stdout;
    assert_snapshot("docs/commands/utf8fs.txt", &help);
    assert_snapshot(
        "tests/it/cli/snapshots/help-short.txt",
        &helped(&[b"-h"]).stdout,
    );
    let mut pages = vec!["utf8fs.txt".to_owned()];
    for command in subcommands(&help) {
        let mut with_subcommands = vec![vec![command]];
        let help = helped(&[command.as_bytes(), b"--help"]).stdout;
        with_subcommands.extend(subcommands(&help).map(|below| vec![command, below]));
        for words in with_subcommands {
            let mut arguments: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            arguments.push(b"--help");
            let page = format!("{}.txt", words.join("-"));
            assert_snapshot(&format!("docs/commands/{page}"), &helped(&arguments).stdout);
            pages.push(page);
        }
    }
    let there = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands"));
    for entry in there.unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            pages.contains(&name),
            "docs/commands/{name} is of no command"
        );
    }
}

/// The names in the list of commands of a help text, but for `help` itself.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let (_, list) = help.split_once("\nCommands:\n").unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help")
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
    assert_snapshot("tests/it/cli/snapshots/explain.txt", &legacy.stdout);
    let octets = b"C0 80 61 ED A1 8C ED BE B4 ED A0 80";
    let java = run(&[b"explain", b"--encoding", b"mutf-8", b"--hex", octets]);
    assert_eq!(java.code, Some(0));
    assert_snapshot("tests/it/cli/snapshots/explain-mutf-8.txt", &java.stdout);
    let cesu = run(&[b"explain", b"--encoding", b"cesu-8", b"--hex", octets]);
    assert_eq!(cesu.code, Some(1));
    assert_snapshot("tests/it/cli/snapshots/explain-cesu-8.txt", &cesu.stdout);
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
