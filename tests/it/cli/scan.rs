//! `utf8fs scan`: what is read, what is told, how it ends (laws T3, T5, L1, L4).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{PATIENCE, Run, run, utf8fs};
use crate::support::{needs, page, tree::Tree, user};

/// Names that would clear a screen, forge a line or turn the text around.
const HOSTILE: &[&[u8]] = &[
    b"\x1B[2J\x1B]0;title\x07",
    b"a\nerror: forged\r\n",
    b"\xC2\x9B2J\x9B",
    "\u{202E}txt.exe\u{2066}\u{200B}\u{FEFF}\u{2028}".as_bytes(),
    b"\x7F\x08\x08\xC0\x8A\xED\xA0\x80\xFF\xE2\x80",
    b"\"\\\"",
];

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Makes files of these paths, and the directories on the way.
fn tree(names: &[&[u8]]) -> Tree {
    let tree = Tree::new();
    for name in names {
        let path = tree.backing().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    tree
}

fn scan(tree: &Tree, options: &[&[u8]]) -> Run {
    let backing = tree.backing();
    let mut arguments: Vec<&[u8]> = vec![b"scan"];
    arguments.extend(options);
    arguments.push(bytes(&backing));
    run(&arguments)
}

fn of_kind<'o>(objects: &'o [Value], kind: &str) -> Vec<&'o Value> {
    objects
        .iter()
        .filter(|object| object["scan"] == kind)
        .collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_exit_code_says_whether_a_name_offends() {
    let clean = tree(&[b"a", "d/\u{E9}".as_bytes()]);
    let run = scan(&clean, &[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("no name offends"), "{run:?}");
    assert_eq!(scan(&clean, &[b"--forbid", b"non-ascii"]).code, Some(1));
    let ill = tree(&[b"d/caf\xE9"]);
    assert_eq!(scan(&ill, &[]).code, Some(1));
    let alike = tree(&[
        b"README",
        b"readme",
        "Caf\u{C3}\u{A9} de la gare".as_bytes(),
    ]);
    assert_eq!(scan(&alike, &[]).code, Some(0));
    assert_eq!(scan(&alike, &[b"--unique", b"nfc"]).code, Some(0));
    assert_eq!(scan(&alike, &[b"--unique", b"casefold"]).code, Some(1));
    assert_eq!(scan(&alike, &[b"--doubled"]).code, Some(1));
}

#[test]
fn the_commands_to_run_next_ask_for_what_was_scanned_for() {
    let old = tree(&[b"\xF0\xF2\xE9\xF7\xE5\xF4.txt", b"\xD0\xD2\xC9\xD7\xC5\xD4"]);
    let strict: &[&[u8]] = &[b"--profile", b"portable", b"--unique", b"casefold"];
    let run = scan(&old, strict);
    for next in [
        "utf8fs migrate --from auto --profile portable ",
        "utf8fs mount --from koi8-r --profile portable --unique casefold ",
    ] {
        assert!(run.stdout.contains(next), "{run:?}");
    }
    let forbidden = scan(&tree(&[b"a:b"]), strict);
    let next = "next\n  utf8fs migrate --profile portable ";
    assert!(forbidden.stdout.contains(next), "{forbidden:?}");
    assert!(!scan(&tree(&[b"a", b"A"]), strict).stdout.contains("next\n"));
}

#[test]
fn all_twins_are_listed_with_verbose() {
    let twins = tree(&[b"a", b"A", b"b", b"B", b"c", b"C"]);
    let count = |arguments: &[&[u8]]| scan(&twins, arguments).stdout.matches(", like ").count();
    assert_eq!(count(&[b"--unique", b"casefold"]), 3);
    assert_eq!(count(&[b"--unique", b"casefold", b"--verbose"]), 6);
}

#[test]
fn wrong_arguments_are_refused_with_exit_code_2() {
    for arguments in [
        &[&b"scan"[..]][..],
        &[b"scan", b"--json", b"-0", b"."],
        &[b"scan", b"--names-from", b"-", b"."],
        &[b"scan", b"--names-from", b"/none/list"],
        &[b"scan", b"--html", b"/none/report.html", b"."],
        &[b"scan", b"--threads", b"0", b"."],
        &[b"scan", b"--profile", b"none", b"."],
    ] {
        run(arguments).refusal();
    }
}

/// Law T3: what cannot be read does not stop the rest.
#[test]
fn t3_what_cannot_be_read_is_told_and_the_rest_is_scanned() {
    let tree = tree(&[b"open/caf\xE9", b"shut\x1B/a", b"b"]);
    let set_mode = |mode| {
        let shut = tree.backing().join(OsStr::from_bytes(b"shut\x1B"));
        std::fs::set_permissions(shut, PermissionsExt::from_mode(mode)).unwrap();
    };
    set_mode(0o000);
    let missing = tree.parent().join("missing");
    let mut command = user::command(user::NOBODY, Path::new(env!("CARGO_BIN_EXE_utf8fs")));
    command
        .args(["scan", "--json"])
        .arg(tree.backing())
        .arg(&missing);
    let run = Run::of(command, b"");
    set_mode(0o700);
    assert_eq!(run.code, Some(3), "{run:?}");
    let objects = run.objects();
    assert_eq!(of_kind(&objects, "entry").len(), 1);
    let mut unread = of_kind(&objects, "unread");
    unread.sort_by_key(|object| object["path"].to_string());
    let reasons: Vec<&str> = unread
        .iter()
        .map(|object| object["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["Permission denied", "No such file or directory"]);
    assert!(keys(unread[0]) == ["scan", "path", "reason"]);
    assert_eq!(of_kind(&objects, "total")[0]["unread"], 2);
    assert!(
        run.stderr
            .contains("shut\\x1B\" could not be read: Permission denied"),
        "{run:?}"
    );
    assert!(
        run.stderr
            .contains("missing\" could not be read: No such file"),
        "{run:?}"
    );
}

#[test]
fn mounts_inside_are_left_out_and_told() {
    if !needs::root("mounts inside a directory that is scanned") {
        return;
    }
    let tree = tree(&[b"inside/covered", b"a"]);
    let inside = tree.backing().join("inside");
    let script = format!(
        "mount -t tmpfs none '{0}' && touch '{0}'/$(printf 'caf\\351') && \"$@\"",
        inside.to_str().unwrap()
    );
    let scanned = |options: &[&str]| {
        // In a mount namespace of its own, which ends with it.
        let mut command = std::process::Command::new("unshare");
        command
            .args([
                "--mount",
                "sh",
                "-c",
                &script,
                "sh",
                env!("CARGO_BIN_EXE_utf8fs"),
                "scan",
                "--json",
            ])
            .args(options)
            .arg(tree.backing());
        Run::of(command, b"")
    };
    let stayed = scanned(&[]);
    assert_eq!(stayed.code, Some(0), "{stayed:?}");
    let objects = stayed.objects();
    let left_out = of_kind(&objects, "left-out");
    assert_eq!(
        left_out[0]["path"],
        json!({"text": inside.to_str().unwrap()})
    );
    assert_eq!(keys(left_out[0]), ["scan", "path"]);
    let total = of_kind(&objects, "total")[0];
    assert_eq!(
        (&total["names"], &total["left_out"]),
        (&json!(2), &json!(1))
    );
    let crossed = scanned(&["--cross-mounts"]);
    assert_eq!(crossed.code, Some(1), "{crossed:?}");
    assert_eq!(of_kind(&crossed.objects(), "total")[0]["names"], 3);
}

/// Law L4, as docs/scanning.md has it.
#[test]
fn l4_the_fields_of_json_are_those_that_are_documented() {
    let long = [b"n".repeat(100)].concat();
    let tree = tree(&[
        b"d/caf\xE9.txt",
        b"d/CAF\xE9.txt",
        "e/Caf\u{C3}\u{A9} de la gare".as_bytes(),
        "e/what?".as_bytes(),
        &long,
    ]);
    let run = scan(
        &tree,
        &[b"--json", b"--profile", b"portable", b"--max-bytes", b"50"],
    );
    assert_eq!(run.code, Some(1));
    let objects = run.objects();
    let entries = of_kind(&objects, "entry");
    assert_eq!(entries.len(), 5);
    let of_name = |name: Value| *entries.iter().find(|entry| entry["name"] == name).unwrap();
    let path = |name: &str| json!({"text": tree.backing().join(name).to_str().unwrap()});
    assert_eq!(
        *of_name(json!({"text": "what?"})),
        json!({
            "scan": "entry", "path": path("e/what?"), "name": {"text": "what?"}, "offends": true,
            "found": [{"finding": "forbidden", "kind": "windows", "offset": 4, "length": 1}], "like": null,
        })
    );
    let cafe = of_name(json!({"bytes": "Y2Fm6S50eHQ="}));
    assert_eq!(
        cafe["found"],
        json!([
            {"finding": "ill-formed", "kind": "truncated", "offset": 3, "length": 1},
            {"finding": "collides-in-case", "kind": "casefold", "offset": null, "length": null},
        ])
    );
    assert_eq!(cafe["like"], json!({"bytes": "Q0FG6S50eHQ="}));
    let doubled = of_name(json!({"text": "Caf\u{C3}\u{A9} de la gare"}));
    assert_eq!(
        (&doubled["offends"], &doubled["found"][0]["kind"]),
        (&json!(false), &json!("iso-8859-1"))
    );

    let counts = [
        "names",
        "ascii",
        "utf8",
        "ill_formed",
        "offending",
        "remarked",
        "found",
    ];
    let directories = of_kind(&objects, "directory");
    assert_eq!(directories.len(), 3);
    assert_eq!(directories[0]["path"], path("d"), "the worst first");
    assert_eq!(
        keys(directories[0]),
        [&["scan", "path"], &counts[..], &["guesses", "charsets"]].concat()
    );
    assert_eq!(
        keys(&directories[0]["guesses"][0]),
        ["charset", "confidence"]
    );
    let guesses = of_kind(&objects, "guess");
    assert_eq!(
        keys(guesses[0]),
        [
            "scan",
            "guess",
            "charset",
            "alike",
            "confidence",
            "read",
            "of",
            "examples"
        ]
    );
    assert!(
        guesses
            .iter()
            .any(|guess| guess["guess"] == "doubly-encoded")
    );
    let total = objects.last().unwrap();
    let before = [
        "scan",
        "format",
        "roots",
        "directories",
        "troubled_directories",
    ];
    let after = [
        "kinds", "charsets", "next", "policy", "unread", "left_out", "vanished",
    ];
    assert_eq!(keys(total), [&before[..], &counts, &after].concat());
    // The two directories are names as well.
    assert_eq!(
        (&total["names"], &total["offending"]),
        (&json!(7), &json!(4))
    );
    assert_eq!(total["found"]["ill-formed"], 2);
    assert!(total["kinds"].as_array().unwrap().contains(&json!(
        {"finding": "too-long", "kind": "bytes", "names": 1, "offence": true}
    )));
    let page = page("docs/scanning.md");
    for object in objects
        .iter()
        .chain([&total["policy"], &total["found"], &total["kinds"][0]])
    {
        for key in keys(object) {
            assert!(
                page.contains(&format!("`{key}`")),
                "{key} is not documented"
            );
        }
    }
}

#[test]
fn paths_of_offending_names_are_printed_as_they_are() {
    let names: &[&[u8]] = &[
        b"plain",
        b"sub\xFF/caf\xE9\n",
        b"sub\xFF/ok",
        "e\u{301}".as_bytes(),
        b"\xE9",
    ];
    let tree = tree(names);
    let backing = tree.backing();
    let output = utf8fs(&[b"scan", b"-0", bytes(&backing)]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.ends_with(b"\0"));
    let mut printed: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    printed.sort_unstable();
    let below = |name: &[u8]| [bytes(&backing), b"/", name].concat();
    let mut wanted = [&b"sub\xFF"[..], b"sub\xFF/caf\xE9\n", b"\xE9"]
        .map(below)
        .to_vec();
    wanted.push(Vec::new());
    wanted.sort();
    assert_eq!(printed, wanted);
}

#[test]
fn a_list_from_find_gives_what_a_walk_gives() {
    let names: &[&[u8]] = &[
        b"a/b/caf\xE9",
        b"a/b/CAF\xE9",
        b"a/B/x",
        b"a/c",
        b"z\n",
        b"y/\xFFz",
    ];
    let tree = tree(names);
    let walked = scan(&tree, &[b"--json"]);
    let found = std::process::Command::new("find")
        .arg(tree.backing())
        .args(["-mindepth", "1", "-print0"])
        .output()
        .unwrap();
    let listed = Run::of(
        utf8fs(&[b"scan", b"--json", b"--names-from", b"-"]),
        &found.stdout,
    );
    assert_eq!(walked.code, listed.code);
    let same = |run: &Run| {
        let mut objects = run.objects();
        objects.retain(|object| object["scan"] == "entry");
        objects.sort_by_key(|object| object["path"].to_string());
        objects
    };
    assert_eq!(same(&walked), same(&listed));
    assert_eq!(same(&walked).len(), 5);
    let total = |run: &Run| run.objects().last().unwrap().clone();
    for field in ["names", "directories", "found", "kinds", "offending"] {
        assert_eq!(total(&walked)[field], total(&listed)[field], "{field}");
    }
    let none = Run::of(utf8fs(&[b"scan", b"--names-from", b"-"]), b"");
    assert_eq!(none.code, Some(0), "{none:?}");
}

/// Law L1. `Run::of` checks what is printed.
#[test]
fn l1_hostile_names_are_never_printed_raw() {
    let tree = Tree::new();
    for name in HOSTILE {
        let directory = tree.backing().join(OsStr::from_bytes(name));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join(OsStr::from_bytes(b"caf\xE9")), "").unwrap();
    }
    for options in [
        &[&b"--profile"[..], b"safe"][..],
        &[b"--json"],
        &[b"--progress", b"--profile", b"posix"],
    ] {
        let run = scan(&tree, options);
        assert_eq!(run.code, Some(1));
        assert!(
            !run.stdout.lines().any(|line| line.starts_with("error")),
            "{run:?}"
        );
    }
}

/// People get the beginning of it, programs all.
#[test]
fn a_name_that_no_filesystem_has_is_not_shown_whole() {
    let name = [&b"caf\xE9 "[..], &b"x".repeat(3_000_000)].concat();
    let list = [&name[..], b"\0"].concat();
    let told = |option: &[&[u8]]| {
        let arguments = [&[&b"scan"[..], b"--names-from", b"-"], option].concat();
        Run::of(utf8fs(&arguments), &list)
    };
    let text = told(&[]);
    assert_eq!(text.code, Some(1));
    assert!(text.stdout.len() < 20_000, "{} bytes", text.stdout.len());
    assert!(
        text.stdout.contains("xxx\"... (3,000,005 bytes)"),
        "{}",
        text.stdout
    );
    let json = told(&[b"--json"]);
    let objects = json.objects();
    let [entry] = &of_kind(&objects, "entry")[..] else {
        panic!("one entry");
    };
    let shown = entry["name"]["bytes"].as_str().unwrap();
    assert_eq!(shown.len(), name.len().div_ceil(3) * 4);
}

#[test]
fn a_reader_who_leaves_ends_it_quietly() {
    let tree = Tree::in_memory();
    for index in 0..3000 {
        tree.file(
            format!("{index:0>150}")
                .as_bytes()
                .iter()
                .copied()
                .chain([0xFF])
                .collect::<Vec<u8>>()
                .as_slice(),
            b"",
        );
    }
    let script = format!(
        "set -o pipefail; timeout {} \"$1\" scan --json \"$2\" | head -c 100 >/dev/null",
        PATIENCE.as_secs()
    );
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", &script, "bash", env!("CARGO_BIN_EXE_utf8fs")])
        .arg(tree.backing());
    let run = Run::of(command, b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
}
