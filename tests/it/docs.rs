//! The documents: links, transcripts, the names of tests, the picture of the README.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use utf8fs::codec::{Charset, Encoding};
use utf8fs::policy::Class;

use crate::support::mount::binary;
use crate::support::needs;

/// `scripts/docs` finds nothing; as root it runs what the pages show.
#[test]
fn the_documents_say_what_the_program_does() {
    needs::root("the transcripts in the documents");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/docs");
    let mut command = Command::new(script);
    let output = command.env("UTF8FS", binary()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
}

/// Whoever has just cloned the repository copies two commands: one shows what it does, one says whether it works.
#[test]
fn the_readme_has_a_command_that_runs_the_program_and_one_that_runs_all_tests() {
    let readme = crate::support::page("README.md");
    let (_, section) = readme.split_once("\n## Run and test\n").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let commands = block.lines().map(|line| line.split('#').next().unwrap());
    let commands: Vec<&str> = commands.map(str::trim_end).collect();
    assert_eq!(commands, ["cargo run --release -- demo", "scripts/test"]);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mode = std::fs::metadata(root.join("scripts/test")).unwrap();
    assert!(mode.permissions().mode() & 0o111 != 0);
    let mut demo = Command::new(binary());
    let output = demo.arg("demo").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// What stands in backticks in the rows of a table; `a1` to `a3` are three.
fn labels<'t>(rows: impl Iterator<Item = &'t str>) -> BTreeSet<String> {
    let number = |label: &str| {
        let stem = label.trim_end_matches(|c: char| c.is_ascii_digit());
        (stem.to_owned(), label[stem.len()..].parse::<u32>().unwrap())
    };
    let mut labels = BTreeSet::new();
    for row in rows {
        let parts: Vec<&str> = row.split('`').collect();
        for index in (1..parts.len()).step_by(2) {
            labels.insert(parts[index].to_owned());
            if parts[index - 1] == " to " {
                let (stem, first) = number(parts[index - 2]);
                let (_, last) = number(parts[index]);
                labels.extend((first..last).map(|number| format!("{stem}{number}")));
            }
        }
    }
    labels
}

#[test]
fn the_pages_have_every_charset_form_and_class() {
    let encodings = include_str!("../../docs/encodings.md");
    let semantics = include_str!("../../docs/internals/semantics.md");
    let names =
        |all: Vec<&str>| -> BTreeSet<String> { all.into_iter().map(str::to_owned).collect() };
    let (forms, charsets) = encodings.split_once("## Legacy charsets").unwrap();
    let forms = forms.lines().filter(|line| line.starts_with("| `"));
    let forms = forms.filter_map(|row| row.split('|').nth(1));
    let all = Encoding::ALL.iter().map(|form| form.label());
    assert_eq!(labels(forms), names(all.collect()));
    let charsets = charsets.lines().take_while(|line| !line.starts_with("**"));
    let charsets = charsets.filter(|line| line.starts_with("| "));
    assert_eq!(
        labels(charsets),
        names(Charset::all().map(Charset::label).collect())
    );
    let classes = semantics
        .lines()
        .find(|line| line.starts_with("| `forbidden` |"));
    let classes = classes.unwrap().split('|').skip(2);
    let all = Class::ALL.iter().map(|&class| class.into());
    assert_eq!(labels(classes), names(all.collect()));
}
