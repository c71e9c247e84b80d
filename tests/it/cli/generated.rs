//! The manual pages and completions, which are made from the definition of the arguments.

use std::process::Command as Process;

use clap::CommandFactory;
use utf8fs::cli::args::Cli;

#[path = "../../../scripts/generate/pages.rs"]
mod pages;

/// Law L4: what can be typed can be read of.
#[test]
fn every_command_has_a_page_with_every_option_of_it() {
    let pages = pages::pages(Cli::command());
    let page = |name: &str| {
        let found = pages.iter().find(|(file, _)| file == name);
        let (_, text) = found.unwrap_or_else(|| panic!("no {name}"));
        String::from_utf8(text.clone()).unwrap()
    };
    let whole = Cli::command();
    let main = page("utf8fs.1");
    let mut seen = 0;
    let mut commands: Vec<(String, &clap::Command)> = Vec::new();
    for command in whole.get_subcommands() {
        let name = command.get_name();
        if command.has_subcommands() {
            let below = command.get_subcommands();
            commands.extend(below.map(|below| (format!("{name} {}", below.get_name()), below)));
        } else {
            commands.push((name.to_owned(), command));
        }
    }
    for (words, command) in &commands {
        let name = format!("utf8fs-{}.1", words.replace(' ', "-"));
        let text = page(&name);
        assert!(main.contains(&format!("utf8fs {words}\\fR")), "{name}");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let head = match arg.get_long() {
                Some(long) => format!("\\-\\-{}\\fR", long.replace('-', "\\-")),
                None => format!("\\fI{}\\fR", arg.get_value_names().unwrap()[0]),
            };
            assert!(text.contains(&head), "{name} lacks {head}");
            seen += 1;
        }
        assert!(
            text.contains(".SH EXIT STATUS") || command.get_name() == "demo",
            "{name}"
        );
    }
    assert!(seen > 50, "{seen} options");
    assert_eq!(pages.len(), commands.len() + 1);
}

/// No line is taken for a request that is none: each that begins with a dot is one of ours.
#[test]
fn no_text_of_a_page_is_taken_for_a_request() {
    let known = [
        ".TH", ".SH", ".SS", ".TP", ".br", ".sp", ".nf", ".fi", ".RS", ".RE", ".\\\"",
    ];
    for (name, text) in pages::pages(Cli::command()) {
        let text = String::from_utf8(text).unwrap();
        for line in text.lines().filter(|line| line.starts_with(['.', '\''])) {
            let request = line.split(' ').next().unwrap();
            assert!(known.contains(&request), "{name}: {line}");
        }
    }
}

/// What bash offers for the last of `words`, with the file loaded as its completions are.
fn in_bash(file: &std::path::Path, words: &[&str]) -> Vec<String> {
    let script = r#"source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _utf8fs utf8fs "${@: -1}" "${@: -2:1}"; printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Process::new("bash");
    bash.args(["--norc", "-c", script, "-"])
        .arg(file)
        .args(words);
    let output = bash.output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let place = tempfile::tempdir().unwrap();
    let completions = pages::completions();
    let names: Vec<&str> = completions.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["utf8fs", "_utf8fs", "utf8fs.fish"]);
    let file = place.path().join("utf8fs");
    std::fs::write(&file, &completions[0].1).unwrap();
    let rows: [(&[&str], &[&str]); 4] = [
        (&["utf8fs", "mo"], &["mount"]),
        (&["utf8fs", "mount", "--audit-l"], &["--audit-log"]),
        (
            &["utf8fs", "mount", "--profile", "po"],
            &["portable", "posix"],
        ),
        (
            &["utf8fs", "umount", "--"],
            &[
                "--lazy",
                "--all",
                "--dry-run",
                "--json",
                "--yes",
                "--verbose",
                "--quiet",
                "--color",
                "--help",
            ],
        ),
    ];
    for (words, wanted) in rows {
        assert_eq!(in_bash(&file, words), wanted, "{words:?}");
    }
}

/// In the file for fish, what a value is stands in quotes within quotes: none of them may end early.
#[test]
fn quotes_in_the_file_for_fish_are_balanced() {
    let completions = pages::completions();
    let text = String::from_utf8(completions[2].1.clone()).unwrap();
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let code: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    let text = code.join("\n");
    let mut quote = None;
    let mut octets = text.chars();
    while let Some(c) = octets.next() {
        match (c, quote) {
            ('\\', _) => drop(octets.next()),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\n', Some('\'')) => panic!("a quote is open at the end of a line"),
            _ => {}
        }
    }
    assert_eq!(quote, None);
}

/// The scripts for fish and zsh put the help of values in double quotes as it is.
#[test]
fn the_help_of_values_has_no_signs_that_a_shell_takes_for_its_own() {
    let mut whole = Cli::command();
    whole.build();
    let below = |command: &clap::Command| command.get_subcommands().cloned().collect::<Vec<_>>();
    let commands = below(&whole);
    let commands: Vec<_> = commands
        .iter()
        .flat_map(below)
        .chain(commands.clone())
        .collect();
    let values = commands.iter().flat_map(clap::Command::get_arguments);
    let values: Vec<_> = values.flat_map(clap::Arg::get_possible_values).collect();
    assert!(values.len() > 50, "{} values", values.len());
    for value in values {
        let help = value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(!help.contains(['"', '\\', '$', '`']), "{help}");
    }
}
