//! `utf8fs scan --shard` and `--merge`: parts of a tree add up to just the report of one scan.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Run, run, utf8fs};
use crate::support::random::Random;
use crate::support::{Tree, needs, user};

const PIECES: &[&[u8]] = &[
    b"plain",
    b"caf\xE9",
    b"CAF\xE9",
    b"Plain",
    b"\xE4\xE5",
    "e\u{301}".as_bytes(),
    "\u{E9}".as_bytes(),
    b"what?",
    "Caf\u{C3}\u{A9} de la gare".as_bytes(),
    b"\xC0\xAF",
    b"a\nb",
    b" x",
    b"\x82\xA0",
    b"CON",
    b"-rf",
    b"\xED\xA0\x80",
    b"\xF0\xF2\xE9\xF7\xE5\xF4",
    b"\x1B[2J",
    "\u{202E}txt".as_bytes(),
    b"n",
];

/// A tree of many directories, four deep, with all kinds of names. The same each time.
fn tree() -> Tree {
    let tree = Tree::new();
    let mut random = Random::new(8);
    let mut directories = vec![tree.backing()];
    for number in 0..400 {
        let above =
            usize::try_from(random.below(u64::try_from(directories.len()).unwrap())).unwrap();
        let above = directories[above].clone();
        let piece = PIECES[usize::try_from(random.below(20)).unwrap()];
        let name = [piece, number.to_string().as_bytes()].concat();
        let path = above.join(OsStr::from_bytes(&name));
        let depth = path
            .strip_prefix(tree.backing())
            .unwrap()
            .components()
            .count();
        if number % 4 == 0 && depth < 5 {
            std::fs::create_dir(&path).unwrap();
            directories.push(path);
        } else {
            std::fs::write(&path, "").unwrap();
            // And one like it.
            let like: Vec<u8> = name.iter().map(u8::to_ascii_uppercase).collect();
            std::fs::write(above.join(OsStr::from_bytes(&like)), "").unwrap();
        }
    }
    tree
}

/// Runs the program as an ordinary user where there is root, so that there is what it cannot read.
fn scan(arguments: &[&[u8]], input: &[u8]) -> Run {
    let mut command = match needs::is_root() {
        true => user::command(user::NOBODY, Path::new(env!("CARGO_BIN_EXE_utf8fs"))),
        false => utf8fs(&[]),
    };
    command
        .arg("scan")
        .args(arguments.iter().map(|argument| OsStr::from_bytes(argument)));
    Run::of(command, input)
}

/// Lines that come in no order, sorted; then the others.
fn canonical(stdout: &str) -> String {
    let is_free = |line: &&str| {
        line.starts_with(r#"{"scan":"entry""#) || line.starts_with(r#"{"scan":"unread""#)
    };
    let (mut free, fixed): (Vec<&str>, Vec<&str>) = stdout.lines().partition(is_free);
    free.sort_unstable();
    free.extend(fixed);
    free.join("\n")
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Scans in parts, and gives their reports.
fn parts(tree: &Tree, of: usize, options: &[&[u8]], input: &[u8]) -> Vec<PathBuf> {
    (1..=of)
        .map(|number| {
            let shard = format!("{number}/{of}");
            let arguments = [&[&b"--json"[..], b"--shard", shard.as_bytes()][..], options].concat();
            let part = scan(&arguments, input);
            assert_ne!(part.code, Some(2), "{part:?}");
            let file = tree.parent().join(format!("{number}.json"));
            std::fs::write(&file, part.stdout).unwrap();
            file
        })
        .collect()
}

fn merged(parts: &[PathBuf], options: &[&[u8]]) -> Run {
    let files: Vec<&[u8]> = parts.iter().map(|part| bytes(part)).collect();
    run(&[&[&b"scan"[..]], options, &[b"--merge"], &files].concat())
}

/// Each way to tell it is the same of parts as of one scan.
fn assert_same(
    tree: &Tree,
    of: usize,
    rules: &[&[u8]],
    shared: &[&[u8]],
    of_what: &[&[u8]],
    input: &[u8],
) {
    let what = format!("{of} parts, {}", shared.concat().escape_ascii());
    let files = parts(tree, of, &[rules, shared, of_what].concat(), input);
    let whole = |options: &[&[u8]]| scan(&[options, rules, of_what].concat(), input);

    let (one, all) = (whole(&[b"--json"]), merged(&files, &[b"--json"]));
    assert_eq!((all.code, &all.stderr), (one.code, &one.stderr), "{what}");
    assert_eq!(canonical(&all.stdout), canonical(&one.stdout), "{what}");
    assert!(one.stdout.lines().count() > 100, "{what}");
    assert_eq!(
        all.stdout.lines().count(),
        one.stdout.lines().count(),
        "{what}"
    );

    let (one, all) = (whole(&[]), merged(&files, &[]));
    assert_eq!(all.stdout, one.stdout, "{what}");

    let [one_page, all_page] =
        ["one.html", "all.html"].map(|name| tree.parent().join("out").join(name));
    whole(&[b"--html", bytes(&one_page)]);
    merged(&files, &[b"--html", bytes(&all_page)]);
    let [one, all] = [one_page, all_page].map(|page| std::fs::read_to_string(page).unwrap());
    assert!(one == all, "{what}: the pages differ");
}

/// Which paths offend.
fn offending(mut command: Command, input: &[u8]) -> Vec<Vec<u8>> {
    use std::io::Write;
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let paths = output.stdout.split(|byte| *byte == 0);
    let mut paths: Vec<Vec<u8>> = paths.map(<[u8]>::to_vec).collect();
    paths.sort();
    paths
}

const RULES: &[&[u8]] = &[
    b"--profile",
    b"portable",
    b"--unique",
    b"casefold",
    b"--doubled",
];

#[test]
fn parts_of_a_tree_add_up_to_the_report_of_one_scan() {
    let tree = tree();
    let backing = tree.backing();
    std::fs::create_dir(tree.parent().join("out")).unwrap();
    std::fs::set_permissions(tree.parent().join("out"), PermissionsExt::from_mode(0o777)).unwrap();
    // One that every part reads, and others below.
    let mut shut = Vec::new();
    for path in [&b"shut"[..], b"plainx/a/shut", b"plainx/b", b"plainx/a/c/d"] {
        let path = backing.join(OsStr::from_bytes(path));
        std::fs::create_dir_all(&path).unwrap();
        shut.push(path);
    }
    let set_mode = |mode| {
        for path in &shut {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
    };
    set_mode(0o000);
    let missing = tree.parent().join("missing");
    for (of, depth) in [(1, 2), (3, 2), (8, 2), (3, 1), (8, 4)] {
        let depth = depth.to_string();
        let shared = [&b"--shard-depth"[..], depth.as_bytes()];
        let of_what = [bytes(&backing), bytes(&missing)];
        assert_same(&tree, of, RULES, &shared, &of_what, b"");
    }
    assert_same(&tree, 3, &[], &[], &[bytes(&backing)], b"");
    set_mode(0o700);

    // The parts have nothing in common, and paths of theirs are all of them.
    let of_part = |shard: &[u8]| {
        offending(
            utf8fs(&[b"scan", b"-0", b"--shard", shard, bytes(&backing)]),
            b"",
        )
    };
    let parts = [of_part(b"1/3"), of_part(b"2/3"), of_part(b"3/3")];
    assert!(parts.iter().all(|part| part.len() > 10), "{parts:?}");
    let mut all: Vec<Vec<u8>> = parts.concat();
    all.sort();
    all.drain(..2);
    assert_eq!(
        all,
        offending(utf8fs(&[b"scan", b"-0", bytes(&backing)]), b"")
    );
}

#[test]
fn parts_of_a_list_add_up_to_the_report_of_one_scan() {
    let tree = tree();
    std::fs::create_dir(tree.parent().join("out")).unwrap();
    std::fs::set_permissions(tree.parent().join("out"), PermissionsExt::from_mode(0o777)).unwrap();
    let mut find = Command::new("find");
    find.arg(tree.backing()).args(["-mindepth", "1", "-print0"]);
    let sorted = find.output().unwrap().stdout;
    // Directories come up several times.
    let mut names: Vec<&[u8]> = sorted.split_inclusive(|byte| *byte == 0).collect();
    let mut random = Random::new(5);
    for index in (1..names.len()).rev() {
        let other = random.below(u64::try_from(index + 1).unwrap());
        names.swap(index, usize::try_from(other).unwrap());
    }
    for list in [&sorted, &names.concat()] {
        for of in [1, 3, 8] {
            assert_same(&tree, of, RULES, &[], &[b"--names-from", b"-"], list);
        }
    }
}

/// Of whole trees, scanned one by one.
#[test]
fn reports_of_several_trees_make_one() {
    let (one, two) = (tree(), Tree::new());
    two.file(b"caf\xE9", b"");
    let report = |tree: &Tree| {
        let report = run(&[
            b"scan",
            b"--json",
            b"--shard",
            b"1/1",
            bytes(&tree.backing()),
        ]);
        let file = tree.parent().join("report");
        std::fs::write(&file, report.stdout).unwrap();
        file
    };
    let all = merged(&[report(&one), report(&two)], &[b"--json"]);
    let whole = run(&[
        b"scan",
        b"--json",
        bytes(&one.backing()),
        bytes(&two.backing()),
    ]);
    assert_eq!(canonical(&all.stdout), canonical(&whole.stdout));
    assert_eq!(all.code, Some(1));
}

/// As docs/scanning.md has it, and with the reports right behind it.
#[test]
fn merge_takes_the_reports_wherever_they_stand() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    let made = parts(&tree, 2, &[bytes(&tree.backing())], b"");
    let (one, two) = (bytes(&made[0]), bytes(&made[1]));
    let json = merged(&made, &[b"--json"]);
    assert_eq!((json.code, json.stderr.as_str()), (Some(1), ""));
    for arguments in [
        [&b"--merge"[..], b"--json", one, two],
        [&b"--merge"[..], one, b"--json", two],
        [&b"--json"[..], one, two, b"--merge"],
    ] {
        let run = run(&[&[&b"scan"[..]], &arguments[..]].concat());
        assert_eq!((run.code, run.stdout), (Some(1), json.stdout.clone()));
    }
    let twice = [&b"scan"[..], b"--json", b"--merge", one, b"--merge", two];
    assert_eq!(run(&twice).stdout, json.stdout);
    let page = tree.parent().join("page");
    let documented = [&b"scan"[..], b"--merge", b"--html", bytes(&page), one, two];
    assert_eq!(run(&documented).code, Some(1));
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .ends_with("</html>\n")
    );
}

#[test]
fn parts_that_are_no_whole_are_refused() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    let backing = tree.backing();
    let made = parts(&tree, 3, &[bytes(&backing)], b"");
    assert_eq!(merged(&made, &[]).code, Some(1));
    let all = ["1.json", "2.json", "3.json"];
    let refused = |names: &[&str], why: &str| {
        let files: Vec<PathBuf> = names.iter().map(|name| tree.parent().join(name)).collect();
        let run = merged(&files, &[b"--json"]);
        let (error, _hint) = run.refusal();
        assert!(error.contains(why), "{why}: {error}");
    };
    refused(
        &["1.json", "3.json"],
        "not all of 3 parts are there: 2 missing",
    );
    refused(
        &["1.json", "2.json", "2.json"],
        "part 2 of 3 is there twice",
    );
    refused(&["1.json", "none"], "No such file");
    let write = |name: &str, text: &str| std::fs::write(tree.parent().join(name), text).unwrap();
    let text = |name: &str| std::fs::read_to_string(tree.parent().join(name)).unwrap();
    let other = |name: &str, arguments: &[&[u8]]| {
        write(
            name,
            &run(&[&[&b"scan"[..], b"--json"], arguments].concat()).stdout,
        );
    };
    other("of-4", &[b"--shard", b"2/4", bytes(&backing)]);
    refused(&["1.json", "of-4"], "how many parts there are");
    other(
        "depth",
        &[b"--shard", b"2/3", b"--shard-depth", b"5", bytes(&backing)],
    );
    refused(&["1.json", "depth"], "--shard-depth");
    other(
        "policy",
        &[b"--shard", b"2/3", b"--profile", b"safe", bytes(&backing)],
    );
    refused(&["1.json", "policy"], "by what names conform");
    other("root", &[b"--shard", b"2/3", bytes(tree.parent())]);
    refused(&["1.json", "root"], "the directories");
    other("whole", &[bytes(&backing)]);
    refused(&["whole"], "is not the report of a part");
    write("prose", "names\n");
    refused(&["prose"], "line 1 is none of a report");
    let second = text("2.json");
    write("cut", second.strip_suffix('\n').unwrap());
    refused(&["1.json", "cut"], "is cut off");
    let lines: Vec<&str> = second.lines().collect();
    write("short", &(lines[..lines.len() - 1].join("\n") + "\n"));
    refused(&["1.json", "short"], "its last line is missing");
    // One field after the other, made to make no sense.
    let part = text("1.json");
    let alter = |from: &str, to: &str| {
        assert!(part.contains(from), "{from} is not in {part}");
        write("altered", &part.replacen(from, to, 1));
    };
    let rows = [
        ("\"version\":\"", "\"version\":\"1", "of one version"),
        ("\"format\":6", "\"format\":2,\"x\":0", "is of format 2"),
        ("\"shard\":1", "\"shard\":9", "a part that there is not"),
        ("\"vanished\":0}", "\"vanished\":-1}", "integer `-1`"),
        (
            "\"kinds\":[",
            "\"kinds\":[[[\"ill-formed\",\"forged\\u001b\"],1],",
            "unknown kind \"forged\\x1B\"",
        ),
        ("\"unread\":{", "\"unread\":{\"x\":1,", "unknown field `x`"),
        (
            "\"undone\":0",
            "\"undone\":7",
            "the numbers of a guesser make no sense",
        ),
        ("\"of\":3", "\"of\":3,\"of\":3", "duplicate field `of`"),
    ];
    for (from, to, why) in rows {
        alter(from, to);
        refused(&["altered", all[1], all[2]], why);
    }
    for wrong in [
        &[&b"scan"[..], b"--shard", b"0/3", b"."][..],
        &[b"scan", b"--shard", b"4/3", b"."],
        &[b"scan", b"--shard", b"+1/3", b"."],
        &[b"scan", b"--shard", b"1", b"."],
        &[b"scan", b"--shard-depth", b"1", b"."],
        &[b"scan", b"--shard", b"1/2", b"--shard-depth", b"0", b"."],
        &[b"scan", b"--merge", b"x", b"--profile", b"safe"],
        &[b"scan", b"--merge"],
    ] {
        run(wrong).refusal();
    }
}

/// A report of which lines are lost, doubled or out of place is refused, and nothing is told of it.
#[test]
fn reports_that_were_cut_are_refused_with_file_and_line() {
    let tree = tree();
    let made = parts(&tree, 2, &[RULES, &[bytes(&tree.backing())]].concat(), b"");
    let one = std::fs::read_to_string(&made[0]).unwrap();
    let two = std::fs::read_to_string(&made[1]).unwrap();
    let lines: Vec<&str> = one.lines().collect();
    let is_entry = |line: &&str| line.starts_with(r#"{"scan":"entry""#);
    let entries: Vec<&str> = lines.iter().copied().filter(is_entry).collect();
    let others: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !is_entry(line))
        .collect();
    assert!(entries.len() > 100, "{}", entries.len());
    let part = |text: &str| {
        let mut lines = text.lines();
        lines
            .position(|line| line.starts_with(r#"{"scan":"part""#))
            .unwrap()
            + 1
    };
    let file = tree.parent().join("altered");
    let merge = |text: &str| {
        std::fs::write(&file, text).unwrap();
        merged(&[file.clone(), made[1].clone()], &[b"--json"])
    };
    // The order of entries is free, as that of threads is.
    let mut sorted = entries.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let all = |entries: &[&str]| [entries, &others].concat().join("\n") + "\n";
    let whole = merged(&made, &[b"--json"]);
    let again = merge(&all(&sorted));
    assert_eq!(canonical(&again.stdout), canonical(&whole.stdout));

    let refused = |text: &str, line: usize, why: &str| {
        let run = merge(text);
        let (error, hint) = run.refusal();
        let wanted = format!("{:?}: line {line} {why}", file.to_str().unwrap());
        assert!(error.contains(&wanted), "{wanted}: {error}");
        assert!(!hint.is_empty());
    };
    let count = entries.len();
    let says = |is: usize, how: &str| {
        format!("says that there are {count} lines of names, and there are {is}: some were {how}")
    };
    let at_part = |text: &str, why: &str| refused(text, part(text), why);
    at_part(&all(&entries[1..]), &says(count - 1, "lost"));
    at_part(&all(&entries[..count - 1]), &says(count - 1, "lost"));
    at_part(&all(&[]), &says(0, "lost"));
    let doubled = [&entries[..], &entries[3..4]].concat();
    at_part(&all(&doubled), &says(count + 1, "doubled or added"));
    // Two parts in one file.
    refused(
        &(one.clone() + &two),
        lines.len() + 1,
        "comes after the end",
    );
    let without_end = lines[..lines.len() - 1].join("\n") + "\n";
    let both = without_end + &two;
    refused(&both, lines.len() - 1 + part(&two), "is of a second part");
    refused(
        &(one.clone() + entries[0] + "\n"),
        lines.len() + 1,
        "comes after the end",
    );
}
