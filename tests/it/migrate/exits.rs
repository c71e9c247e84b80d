//! What the exit status and the last words say (laws T3, T4, L4): gone on with, done again, by a plan, stopped.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{PATIENCE, Run, migrate, utf8fs};
use crate::support::{Tree, at, needs, snapshot, user};

const DIRECT: [&str; 3] = ["--from", "iso-8859-1", "backing"];
const BY_PLAN: [&str; 2] = ["--plan", "plan"];
const APPLY: [&str; 3] = ["--apply", "--journal", "journal"];

fn written(tree: &Tree) {
    migrate(tree.parent(), &[&DIRECT[..], &BY_PLAN].concat());
}

/// Runs `utf8fs migrate` with these arguments in a strace that injects.
fn injected(directory: &Path, inject: &str, arguments: &[&str]) -> Run {
    let output = Command::new("timeout")
        .args([PATIENCE, "strace", "-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("inject={inject}"))
        .args([env!("CARGO_BIN_EXE_utf8fs"), "migrate"])
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// One name is taken, two are changed, each in a rename of its own behind that of the journal.
fn tree_with_a_name_taken() -> Tree {
    let tree = Tree::new();
    for name in [&b"a\xE9"[..], "aé".as_bytes(), b"b\xE9", b"c\xE9"] {
        tree.file(name, b"");
    }
    tree
}

/// Law T4: after a kill the same command, or the plan, ends as if there had been none.
#[test]
fn t4_what_planning_left_is_told_by_who_goes_on() {
    for command in [&DIRECT[..], &BY_PLAN] {
        let command = [command, &APPLY].concat();
        let tree = tree_with_a_name_taken();
        written(&tree);
        let whole = migrate(tree.parent(), &command).expect(1);
        let left = "\"a\\xE9\" stays: another entry has its new name, see --on-collision";
        assert!(whole.stdout.starts_with(left), "{whole:?}");

        let tree = tree_with_a_name_taken();
        written(&tree);
        injected(tree.parent(), "renameat2:signal=KILL:when=3", &command);
        let journal = utf8fs(tree.parent(), &[b"journal", b"journal"]).expect(0);
        let planned = "planning left 1 entry, and could not read 0 directories\n";
        assert!(journal.stdout.contains(planned), "{journal:?}");
        let on = migrate(tree.parent(), &command).expect(1);
        let words = "is the journal of; when it was planned 1 entry was left as it is\n";
        assert!(on.stderr.contains(words), "{on:?}");
        let words = "utf8fs: 1 entry was left as it is; 2 steps done\n";
        assert!(on.stderr.ends_with(words), "{on:?}");
        assert!(tree.backing().join("bé").is_file() && tree.backing().join("cé").is_file());
    }
}

/// Law T4: what was given may have its new name by then.
#[test]
fn t4_files_and_own_names_that_have_changed_are_gone_on_with() {
    const FILES: &[&[u8]] = &[b"backing/a\xE9", b"backing/b\xE9", b"backing/c\xE9"];
    const OWN_NAME: &[&[u8]] = &[b"--own-name", b"backing/d\xE9"];
    let arguments = |apply: &[&[u8]], given: &[&[u8]]| -> Vec<Vec<u8>> {
        let fixed: [&[u8]; 3] = [b"migrate", b"--from", b"iso-8859-1"];
        let all = [&fixed, apply, given].concat();
        all.into_iter().map(<[u8]>::to_vec).collect()
    };
    let apply: [&[u8]; 3] = [b"--apply", b"--journal", b"journal"];
    for (given, when) in [(FILES, 3), (FILES, 4), (OWN_NAME, 3)] {
        let tree = Tree::new();
        for name in [&b"a\xE9"[..], b"b\xE9", b"c\xE9"] {
            tree.file(name, b"");
        }
        // Directories are renamed from the outermost in.
        at::write_new(tree.directory(b"d\xE9"), b"in\xE9", b"").unwrap();
        let before = snapshot::take(&tree.backing(), snapshot::Times::Kept);
        let command = arguments(&apply, given);
        let command: Vec<&OsStr> = command.iter().map(|word| OsStr::from_bytes(word)).collect();
        let output = Command::new("timeout")
            .args([PATIENCE, "strace", "-f", "-qq", "-o", "/dev/null", "-e"])
            .arg(format!("inject=renameat2:signal=KILL:when={when}"))
            .arg(env!("CARGO_BIN_EXE_utf8fs"))
            .args(&command)
            .current_dir(tree.parent())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        let command: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        let on = utf8fs(tree.parent(), &command).expect(0);
        assert!(on.stderr.contains("going on with"), "{on:?}");
        let left = snapshot::take(&tree.backing(), snapshot::Times::Ignored);
        let is_given = |path: &[u8]| {
            given == FILES && !path.starts_with(b"d") || given == OWN_NAME && path.starts_with(b"d")
        };
        for path in left.keys().filter(|path| is_given(path)) {
            assert!(std::str::from_utf8(path).is_ok(), "{on:?}");
        }
        // Done: nothing of that name is there, and nothing is to be gone on with.
        utf8fs(tree.parent(), &command).expect(2);
        utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
        let after = snapshot::take(&tree.backing(), snapshot::Times::Kept);
        assert_eq!(after, before);
    }
}

/// Law T4: neither is what could not be read forgotten.
#[test]
fn t4_what_planning_could_not_read_is_told_by_who_goes_on() {
    if !needs::root("another user") {
        return;
    }
    let tree = Tree::new();
    std::fs::create_dir(tree.backing().join("locked")).unwrap();
    std::fs::set_permissions(
        tree.backing().join("locked"),
        PermissionsExt::from_mode(0o000),
    )
    .unwrap();
    tree.file(b"a\xE9", b"");
    tree.file(b"b\xE9", b"");
    for path in [tree.parent().to_owned(), tree.backing()] {
        std::os::unix::fs::chown(path, Some(user::NOBODY), Some(user::NOBODY)).unwrap();
    }
    // A copy that the user can run.
    let program = tree.parent().join("program");
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_utf8fs")).arg(&program);
    assert!(copy.status().unwrap().success());
    let run = |inject: &str| {
        let output = user::command(user::NOBODY, Path::new("timeout"))
            .args([PATIENCE, "strace", "-f", "-qq", "-o", "/dev/null", "-e"])
            .arg(inject)
            .args(["./program", "migrate"])
            .args([&DIRECT[..], &APPLY].concat())
            .current_dir(tree.parent())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    run("inject=renameat2:signal=KILL:when=2");
    assert!(tree.parent().join("journal").is_file());
    let (code, said) = run("trace=none");
    assert_eq!(code, Some(3), "{said}");
    let words = "when it was planned 1 directory could not be read\n";
    assert!(said.contains(words), "{said}");
    assert!(tree.backing().join("aé").is_file() && tree.backing().join("bé").is_file());
}

/// A plan that was done, but for some of it, is no success when it is given again.
#[test]
fn a_plan_that_is_done_but_for_some_steps_says_so_again() {
    let command = [&BY_PLAN[..], &APPLY].concat();
    // By the system at a step, and by planning.
    for (is_taken, inject) in [
        (false, "renameat2:error=EPERM:when=2"),
        (true, "renameat2:error=EPERM:when=99"),
    ] {
        let tree = Tree::new();
        tree.file(b"a\xE9", b"");
        tree.file(b"b\xE9", b"");
        if is_taken {
            tree.file("aé".as_bytes(), b"");
        }
        written(&tree);
        let first = injected(tree.parent(), inject, &command).expect(1);
        assert!(first.stdout.contains(" stays: "), "{first:?}");
        let again = migrate(tree.parent(), &command).expect(1);
        let what = if is_taken {
            "1 entry was left as it is"
        } else {
            "1 step failed"
        };
        let said = format!(
            "utf8fs: this plan has already been applied, but {what}; its journal is \"journal\"\n\
             utf8fs: make a new plan for that, or undo this one: then it can be applied again\n\
             utf8fs: {what}\n"
        );
        assert_eq!(again.stderr, said);
    }
    let tree = Tree::new();
    tree.file(b"a\xE9", b"");
    written(&tree);
    migrate(tree.parent(), &command).expect(0);
    let again = migrate(tree.parent(), &command).expect(0);
    let words = "utf8fs: this plan has already been applied; its journal is \"journal\"\n";
    assert!(again.stderr.starts_with(words), "{again:?}");
}

/// An entry that gets a name, and of which something is left all the same, is left by whatever way it is done.
#[test]
fn a_link_whose_target_is_left_counts_by_plan_as_it_does_directly() {
    let tree = || {
        let tree = Tree::new();
        tree.file(b"caf\xE9", b"");
        at::symlink(b"caf\xE9", tree.below_dir(), b"l\xE9").unwrap();
        let link = tree.backing().join(OsStr::from_bytes(b"l\xE9"));
        std::fs::hard_link(link, tree.backing().join(OsStr::from_bytes(b"m\xE9"))).unwrap();
        tree.file(b"n\xE9", b"");
        tree.file("né".as_bytes(), b"");
        tree
    };
    let left = |run: &Run| {
        let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
        lines.retain(|line| line.contains("stays"));
        lines.sort_unstable();
        lines
    };
    let expected = [
        r#""l\xE9" -> "lé"; its target stays: it is a symbolic link with several names"#,
        r#""m\xE9" -> "mé"; its target stays: it is a symbolic link with several names"#,
        r#""n\xE9" stays: another entry has its new name, see --on-collision; "né"? from iso-8859-1"#,
    ];
    let one = tree();
    assert_eq!(
        left(&migrate(one.parent(), &[&DIRECT[..], &["-v"]].concat()).expect(1)),
        expected
    );
    migrate(one.parent(), &[&DIRECT[..], &BY_PLAN].concat()).expect(1);
    let by_plan = migrate(one.parent(), &[&BY_PLAN[..], &APPLY].concat()).expect(1);
    let other = tree();
    let direct = migrate(other.parent(), &[&DIRECT[..], &APPLY].concat()).expect(1);
    assert_eq!(
        (left(&by_plan), left(&direct)),
        (
            expected.map(str::to_owned).to_vec(),
            expected.map(str::to_owned).to_vec()
        )
    );
    let words = "3 names changed, 3 entries were left as they are, of";
    assert!(by_plan.stderr.contains(words), "{by_plan:?}");
    assert!(direct.stderr.contains(words), "{direct:?}");
}

/// What a person has left in a plan stays as well.
#[test]
fn what_the_plan_leaves_is_told_as_its_doing() {
    let tree = Tree::new();
    tree.file(b"a\xE9", b"");
    written(&tree);
    let path = tree.parent().join("plan");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace(r#""new":{"text":"aé"}"#, r#""new":null"#),
    )
    .unwrap();
    let run = migrate(tree.parent(), &[&BY_PLAN[..], &APPLY].concat()).expect(1);
    assert_eq!(run.stdout, "\"a\\xE9\" stays: the plan leaves it\n");
    assert_eq!(
        run.stderr,
        "utf8fs: 1 entry was left as it is, of 1 line of the plan\n"
    );
}

#[test]
fn a_signal_while_planning_leaves_nothing_in_the_way() {
    let tree = tree_with_a_name_taken();
    let apply = [&DIRECT[..], &APPLY].concat();
    let plan = [&DIRECT[..], &BY_PLAN].concat();
    for command in [&DIRECT[..], &apply, &plan] {
        // The root is the only directory.
        let run = injected(tree.parent(), "getdents64:signal=INT:when=1", command).expect(130);
        let words = "it was stopped while planning: nothing was changed, and the same command starts over\n";
        assert!(run.stderr.ends_with(words), "{run:?}");
        assert!(!run.stderr.contains("undo"), "{run:?}");
        let mut left = at::sorted(at::open_dir_path(tree.parent()));
        left.sort_unstable();
        assert_eq!(left, [&b"backing"[..], b"mnt"]);
    }
    migrate(tree.parent(), &plan).expect(1);
    migrate(tree.parent(), &apply).expect(1);
}

/// The command line that is told can be pasted: no name of a journal runs anything.
#[test]
fn the_way_back_that_is_told_can_be_pasted_into_a_shell() {
    for name in [
        &b"journal"[..],
        b"my journal",
        b"it's $(touch owned)",
        b"j\xE9\n`touch owned`",
        b"-j",
    ] {
        let tree = Tree::new();
        tree.file(b"a\xE9", b"");
        let journal = [b"--journal=", name].concat();
        let command: [&[u8]; 6] = [
            b"migrate",
            b"--from",
            b"iso-8859-1",
            b"--apply",
            &journal,
            b"backing",
        ];
        let run = utf8fs(tree.parent(), &command).expect(0);
        assert!(tree.backing().join("aé").is_file());
        let told = run
            .stderr
            .lines()
            .find_map(|line| line.split_once("to go back: "));
        let (_, told) = told.unwrap();
        let output = Command::new("bash")
            .args([
                "-c",
                &format!("utf8fs() {{ \"$PROGRAM\" \"$@\"; }}; {told}"),
            ])
            .env("PROGRAM", env!("CARGO_BIN_EXE_utf8fs"))
            .current_dir(tree.parent())
            .output()
            .unwrap();
        assert!(output.status.success(), "{told}: {output:?}");
        assert!(!tree.backing().join("aé").is_file());
        assert!(
            tree.parent().join("owned").symlink_metadata().is_err(),
            "{told}"
        );
    }
}

/// What we write into the tree ourselves is none of its entries that are migrated.
#[test]
fn a_journal_or_plan_that_lies_in_the_tree_keeps_its_name() {
    let tree = Tree::new();
    tree.file(b"a\xE9", b"");
    let plan = b"backing/plan\xE9";
    let command: [&[u8]; 6] = [
        b"migrate",
        b"--from",
        b"iso-8859-1",
        b"--plan",
        plan,
        b"backing",
    ];
    utf8fs(tree.parent(), &command).expect(0);
    let path = tree.parent().join(OsStr::from_bytes(plan));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    std::fs::remove_file(path).unwrap();

    let journal = b"--journal=backing/j\xE9";
    let command: [&[u8]; 6] = [
        b"migrate",
        b"--from",
        b"iso-8859-1",
        b"--apply",
        journal,
        b"backing",
    ];
    let run = utf8fs(tree.parent(), &command).expect(0);
    assert!(run.stderr.contains("1 name changed"), "{run:?}");
    assert_eq!(
        at::sorted(tree.below_dir()),
        ["aé".as_bytes().to_vec(), b"j\xE9".to_vec()]
    );
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"backing/j\xE9"]).expect(0);
    assert_eq!(
        at::sorted(tree.below_dir()),
        [b"a\xE9".to_vec(), b"j\xE9".to_vec()]
    );
}

#[test]
fn why_names_stay_is_told_of_a_profile_without_a_percent_sign() {
    let tree = Tree::new();
    tree.file(b"a b", b"");
    let hint = "--profile posix allows no %";
    let run = migrate(tree.parent(), &["--profile", "posix", "backing"]).expect(1);
    assert!(run.stderr.contains(hint), "{run:?}");
    assert!(
        run.stderr
            .contains("1 entry would be left as it is, of 1 entry;"),
        "{run:?}"
    );
    tree.file("plain".as_bytes(), b"");
    let run = migrate(
        tree.parent(),
        &["--profile", "posix", "--only", "plain", "backing"],
    )
    .expect(0);
    assert!(!run.stderr.contains(hint), "{run:?}");
}

#[test]
fn a_tree_that_is_not_there_is_told_with_its_path() {
    let tree = Tree::new();
    for command in [
        &[&b"migrate"[..], b"--from", b"koi8-r"][..],
        &[b"scan"],
        &[b"undo"],
        &[b"journal"],
    ] {
        let run = utf8fs(tree.parent(), &[command, &[b"no/such"]].concat()).expect(2);
        let line = run.stderr.lines().next().unwrap();
        assert!(line.starts_with("error: \"no/such\""), "{run:?}");
        assert!(line.ends_with(": No such file or directory"), "{run:?}");
    }
    let run = utf8fs(tree.parent(), &[b"scan", b"no/such", b"backing"]).expect(3);
    assert!(
        run.stderr
            .contains("\"no/such\" could not be read: No such file"),
        "{run:?}"
    );
}

/// Law T3: an entry that others have changed since is reported with its line of the plan.
#[test]
fn t3_what_changed_since_it_was_planned_is_reported_with_its_line() {
    let tree = Tree::new();
    for name in [b"a\xE9", b"b\xE9"] {
        tree.file(name, b"");
    }
    written(&tree);
    at::unlink(tree.below_dir(), b"a\xE9").unwrap();
    let run = migrate(tree.parent(), &[&BY_PLAN[..], &APPLY].concat()).expect(1);
    let stays = "\"a\\xE9\" stays: it is not there any more (line 2 of the plan)\n";
    assert_eq!(run.stdout, stays);
}

/// Law T6: a time that cannot be put back is told.
#[test]
fn t6_a_directory_whose_time_is_lost_is_told() {
    let tree = Tree::new();
    let below = tree.directory(b"dir");
    at::write_new(&below, b"\xE9", b"").unwrap();
    let command = [&DIRECT[..], &APPLY].concat();
    let run = injected(tree.parent(), "utimensat:error=EPERM", &command).expect(0);
    let words = "utf8fs: the time of \"dir\" could not be put back: Operation not permitted\n";
    assert!(run.stderr.contains(words), "{run:?}");
}

#[test]
fn no_way_back_is_told_where_nothing_was_done() {
    let tree = Tree::new();
    tree.file(b"\xE9", b"");
    let command = [&DIRECT[..], &APPLY].concat();
    let run = injected(tree.parent(), "renameat2:error=EPERM:when=2+", &command).expect(1);
    assert_eq!(
        run.stderr,
        "utf8fs: 1 name to be changed, of 1 entry; 1 step failed\n"
    );
}

#[test]
fn t1_a_plan_without_apply_is_checked_and_not_done() {
    let tree = tree_with_a_name_taken();
    written(&tree);
    at::rename(tree.below_dir(), b"b\xE9", b"elsewhere").unwrap();
    let before = snapshot::take(&tree.backing(), snapshot::Times::Kept);
    let check = migrate(tree.parent(), &BY_PLAN).expect(1);
    let words = "2 names would be changed, 1 entry would be left as it is, of 3 lines of the plan; 1 step would fail; nothing was changed";
    assert!(check.stderr.contains(words), "{check:?}");
    assert_eq!(
        snapshot::take(&tree.backing(), snapshot::Times::Kept),
        before
    );
    assert!(at::stat(std::fs::File::open(tree.parent()).unwrap(), b"journal").is_err());
    let done = migrate(tree.parent(), &[&BY_PLAN[..], &APPLY].concat()).expect(1);
    assert_eq!(check.stdout, done.stdout);
    assert!(check.stdout.contains(r#""b\xE9" stays"#), "{check:?}");

    std::fs::write(tree.parent().join("plan"), "no plan\n").unwrap();
    let run = migrate(tree.parent(), &BY_PLAN).expect(2);
    assert!(
        run.stderr.contains("is refused, nothing was done: line 1"),
        "{run:?}"
    );
}
