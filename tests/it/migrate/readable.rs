//! Plans in the readable format: written, edited, applied and taken back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use super::{PATIENCE, Run, migrate, utf8fs};
use crate::support::{Tree, at, snapshot};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.file(b"caf\xE9.txt", b"1");
    tree.file(b"ma\xF1ana", b"2");
    let below = tree.directory(b"d\xE9p\xF4t");
    at::write_new(&below, b"\xE9t\xE9\n", b"3").unwrap();
    at::symlink(b"../caf\xE9.txt", &below, b"link").unwrap();
    // With --from iso-8859-1 this would get control characters.
    tree.file(b"\x83\\\x83t\x83g\x83E\x83F\x83A", b"4");
    tree
}

fn plan(tree: &Tree) -> String {
    std::fs::read_to_string(tree.parent().join("plan")).unwrap()
}

#[test]
fn a_plan_says_that_a_decoded_name_had_what_the_profile_forbids() {
    let tree = Tree::new();
    tree.file(b"caf\xE9:", b"");
    let from = ["--from", "iso-8859-1", "--profile", "portable"];
    let write = ["--plan", "plan", "--plan-format", "readable", "backing"];
    migrate(tree.parent(), &[from.as_slice(), &write].concat()).expect(0);
    let text = plan(&tree);
    let end = "# iso-8859-1, had what the profile forbids\n";
    assert!(text.contains(end), "{text}");
}

/// Law T9: the plan has no new target for it, since what it leads to was to stay. A target that somebody gives is reported if it
/// leads elsewhere.
#[test]
fn t9_a_link_follows_an_edited_plan_or_is_reported() {
    let tree = Tree::new();
    tree.file(b"\x83x", b"");
    at::symlink(b"\x83x", tree.below_dir(), b"l\xE9").unwrap();
    at::symlink(b"nowhere", tree.below_dir(), b"m\xE9").unwrap();
    let from = ["--from", "iso-8859-1", "--plan", "plan"];
    let write = ["--plan-format", "readable", "backing"];
    migrate(tree.parent(), &[&from[..], &write].concat()).expect(1);
    let inode = at::stat(tree.below_dir(), b"\x83x").unwrap().st_ino;
    let text = plan(&tree);
    let end = text.rfind("end of plan").unwrap();
    let line = format!("\"\\x83x\" -> \"x\"  file {inode}\n");
    let text = [&text[..end], &line, &text[end..]].concat();
    let plan = tree.parent().join("plan");
    std::fs::write(&plan, &text).unwrap();
    let check = migrate(tree.parent(), &["--plan", "plan"]).expect(0);
    let words = "3 names would be changed, 1 link would be led to new names";
    assert!(check.stderr.contains(words), "{check:?}");
    let apply = ["--plan", "plan", "--apply", "--journal", "journal"];
    migrate(tree.parent(), &apply).expect(0);
    let link = std::fs::read_link(tree.backing().join("lé")).unwrap();
    assert_eq!(link.to_str(), Some("x"));
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    std::fs::remove_file(tree.parent().join("journal")).unwrap();

    let name = "\"l\\xE9\" -> \"lé\"";
    let given = format!("{name} leads to \"\\x83x\" -> \"nowhere\"");
    assert!(text.contains(name), "{text}");
    std::fs::write(&plan, text.replace(name, &given)).unwrap();
    let check = migrate(tree.parent(), &["--plan", "plan"]).expect(1);
    assert_eq!(check.stdout, "\"l\\xE9\" would lead elsewhere or nowhere\n");
    let run = migrate(tree.parent(), &apply).expect(1);
    let dangles = r#""l\xE9" leads elsewhere or nowhere now"#;
    assert!(run.stdout.contains(dangles), "{run:?}");
    assert!(
        run.stderr.contains("3 steps done, 1 step failed"),
        "{run:?}"
    );
}

/// Its target follows, and its name is counted as left.
#[test]
fn t3_a_link_whose_own_name_is_uncertain_is_left_though_its_target_follows() {
    let tree = Tree::new();
    for name in [
        &b"Stra\xDFe der Freunde"[..],
        b"M\xFCller und S\xF6hne",
        b"Gr\xFC\xDFe aus K\xF6ln",
    ] {
        tree.file(name, b"");
    }
    at::symlink(b"M\xFCller und S\xF6hne", tree.below_dir(), b"\x93\x8C").unwrap();
    let from = [
        "--from",
        "auto",
        "--plan",
        "plan",
        "--plan-format",
        "readable",
        "backing",
    ];
    let run = migrate(tree.parent(), &from).expect(1);
    let words = "3 names would be changed, 1 link would be led to new names, 1 entry would be left";
    assert!(run.stderr.contains(words), "{run:?}");
    let text = plan(&tree);
    let inode = at::stat(tree.below_dir(), b"\x93\x8C").unwrap().st_ino;
    let leads = r#" leads to "M\xFCller und S\xF6hne" -> "Müller und Söhne"  symlink "#;
    let line =
        format!("\n\"\\x93\\x8C\"{leads}{inode}  # its name stays: its charset is uncertain\n#");
    assert!(text.contains(&line), "{line} is not in {text}");
    let run = migrate(
        tree.parent(),
        &["--plan", "plan", "--apply", "--journal", "journal"],
    )
    .expect(0);
    assert!(
        run.stderr
            .contains("3 names changed, 1 link led to new names, of 4 lines"),
        "{run:?}"
    );
    let target = std::fs::read_link(tree.backing().join(OsStr::from_bytes(b"\x93\x8C"))).unwrap();
    assert_eq!(target.to_str(), Some("Müller und Söhne"));
}

/// A line into which a name can be written.
#[test]
fn t1_a_name_that_nothing_can_be_made_of_is_given_one_in_the_plan() {
    let tree = Tree::new();
    tree.file("café".as_bytes(), b"");
    let profile = ["--profile", "posix", "--plan", "plan"];
    let readable = ["--plan-format", "readable", "backing"];
    migrate(tree.parent(), &[&profile[..], &readable].concat()).expect(1);
    let inode = at::stat(tree.below_dir(), "café".as_bytes())
        .unwrap()
        .st_ino;
    let line = format!("#\"café\" -> \"\"  file {inode}\n");
    let text = plan(&tree);
    assert!(text.contains(&line), "{line} is not in {text}");
    let given = format!("\"café\" -> \"coffee\"  file {inode}\n");
    std::fs::write(tree.parent().join("plan"), text.replace(&line, &given)).unwrap();
    let apply = ["--plan", "plan", "--apply", "--journal", "journal"];
    migrate(tree.parent(), &apply).expect(0);
    assert_eq!(at::sorted(tree.below_dir()), [b"coffee"]);
}

/// Laws T1 and L4.
#[test]
fn t1_a_readable_plan_is_edited_applied_and_undone_bit_by_bit() {
    let tree = tree();
    let before = snapshot::take(&tree.backing(), snapshot::Times::Kept);
    let write = [
        "--from",
        "iso-8859-1",
        "--plan",
        "plan",
        "--plan-format",
        "readable",
        "backing",
    ];
    migrate(tree.parent(), &write).expect(1);
    let text = plan(&tree);
    let inode = |name: &[u8]| at::stat(tree.below_dir(), name).unwrap().st_ino;
    for line in [
        format!(
            r#""caf\xE9.txt" -> "café.txt"  file {}  # iso-8859-1"#,
            inode(b"caf\xE9.txt")
        ),
        format!(r#"in "/d\xE9p\xF4t" {}"#, inode(b"d\xE9p\xF4t")),
    ] {
        assert!(
            text.lines().any(|written| written == line),
            "{line} is not in {text}"
        );
    }
    for part in [
        "plan 1 of \"/",
        "/backing\" by \"--from iso-8859-1\"\n",
        r#""\xE9t\xE9\n" -> "été\n"  file "#,
        r#""link" leads to "../caf\xE9.txt" -> "../café.txt"  symlink "#,
        "stays: its text would have control characters",
        "\n\nend of plan 1\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // Another name, a name less, and a candidate instead of what would have control characters.
    let candidate = text
        .lines()
        .find(|line| line.contains("-> \"ソフトウェア\""))
        .unwrap();
    let edited = text
        .replace("-> \"café.txt\"", "-> \"coffee #1.txt\"")
        .replace("-> \"../café.txt\"", "-> \"../coffee #1.txt\"")
        .replace("\"ma\\xF1ana\"", "# \"ma\\xF1ana\"")
        .replace(candidate, candidate.strip_prefix('#').unwrap());
    std::fs::write(tree.parent().join("plan"), edited).unwrap();
    let apply = ["--plan", "plan", "--apply", "--journal", "journal"];
    migrate(tree.parent(), &apply).expect(0);
    let names: [&[u8]; 4] = [
        b"coffee #1.txt",
        "dépôt".as_bytes(),
        b"ma\xF1ana",
        "ソフトウェア".as_bytes(),
    ];
    assert_eq!(at::sorted(tree.below_dir()), names);
    let link = std::fs::read_link(tree.backing().join("dépôt/link")).unwrap();
    assert_eq!(link.to_str(), Some("../coffee #1.txt"));
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert_eq!(
        snapshot::take(&tree.backing(), snapshot::Times::Kept),
        before
    );
}

#[test]
fn a_faulty_readable_plan_is_refused_with_the_line() {
    let tree = tree();
    let write = [
        "--from",
        "iso-8859-1",
        "--plan",
        "plan",
        "--plan-format",
        "readable",
        "backing",
    ];
    migrate(tree.parent(), &write).expect(1);
    let text = plan(&tree);
    let line = 1 + text
        .lines()
        .position(|line| line.contains("café.txt\"  file"))
        .unwrap();
    let end = text.lines().count();
    for (edited, line, what) in [
        (
            text.replace("-> \"café.txt\"", "-> \"../café.txt\""),
            line,
            "\"../café.txt\" is no name",
        ),
        (
            text.replace("-> \"café.txt\"", "-> café.txt"),
            line,
            "not a line of a plan",
        ),
        (text.replace("end of plan 1\n", ""), end, "cut off"),
    ] {
        std::fs::write(tree.parent().join("plan"), edited).unwrap();
        let run = migrate(tree.parent(), &["--plan", "plan", "--apply"]).expect(2);
        let message = format!("nothing was done: line {line}: ");
        assert!(
            run.stderr.contains(&message) && run.stderr.contains(what),
            "{run:?}"
        );
    }
    // The format is of what is written, and found out where a plan is read.
    migrate(
        tree.parent(),
        &["--from", "koi8-r", "--plan-format", "readable", "backing"],
    )
    .expect(2);
    migrate(
        tree.parent(),
        &["--plan", "plan", "--plan-format", "readable", "--apply"],
    )
    .expect(2);
}

/// Runs `migrate --from iso-8859-1 --edit --apply` on a terminal, with that editor; all that it prints is in `stdout`.
fn edit(tree: &Tree, editor: &str) -> Run {
    let command = format!(
        "{} migrate --from iso-8859-1 --edit --apply --journal journal backing",
        env!("CARGO_BIN_EXE_utf8fs")
    );
    let output = Command::new("timeout")
        .args([PATIENCE, "script", "-qec", &command, "/dev/null"])
        .current_dir(tree.parent())
        .env_remove("VISUAL")
        .env("EDITOR", editor)
        .env("TMPDIR", tree.parent())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The plan that was kept.
fn kept(tree: &Tree) -> Option<Vec<u8>> {
    at::sorted(at::open_dir_path(tree.parent()))
        .into_iter()
        .find(|name| name.starts_with(b"utf8fs-plan-"))
}

/// Law T1.
#[test]
fn t1_an_edited_plan_is_done_as_it_was_saved_and_undone_bit_by_bit() {
    let tree = tree();
    let before = snapshot::take(&tree.backing(), snapshot::Times::Kept);
    let same = || snapshot::take(&tree.backing(), snapshot::Times::Kept) == before;
    let without = migrate(
        tree.parent(),
        &["--from", "koi8-r", "--edit", "--apply", "backing"],
    );
    let run = without.expect(2);
    assert!(
        run.stderr.contains("needs a terminal") && run.stderr.contains("hint: "),
        "{run:?}"
    );
    migrate(tree.parent(), &["--from", "koi8-r", "--edit", "backing"]).expect(2);
    // Nothing is saved, and no editor.
    let run = edit(&tree, "truncate -s 0").expect(0);
    assert!(
        run.stdout
            .contains("the plan is empty; nothing was changed"),
        "{run:?}"
    );
    // Nobody else reads the names meanwhile.
    let run = edit(&tree, "sh -c 'stat -c mode=%a \"${0%/*}\"; false'").expect(1);
    assert!(run.stdout.contains("mode=700"), "{run:?}");
    assert!(
        run.stdout
            .contains("the editor failed; nothing was changed"),
        "{run:?}"
    );
    assert!(same() && kept(&tree).is_none());
    let run = edit(&tree, "sed -i s/café/coffee/").expect(0);
    assert_eq!(kept(&tree), None, "{run:?}");
    let names = at::sorted(tree.below_dir());
    assert!(names.contains(&b"coffee.txt".to_vec()), "{run:?}");
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert!(same());
    // A refused plan is kept.
    let run = edit(&tree, "sed -i 's/->/=>/'").expect(2);
    assert!(run.stdout.contains("not a line of a plan"), "{run:?}");
    assert!(
        run.stdout.contains("to go on: utf8fs migrate --plan "),
        "{run:?}"
    );
    assert!(same() && kept(&tree).is_some());
}
