//! What all commands have in common: quiet and verbose runs, dry runs, JSON, colours, completions (law L4).

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::json;

use super::run;

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A tree with a name in Latin-1.
fn tree() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("tree")).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xE9");
    fs::write(place.path().join("tree").join(name), "").unwrap();
    place
}

#[test]
fn a_dry_run_of_mount_checks_everything_and_mounts_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (backing, point) = (place.path().join("b"), place.path().join("m"));
    fs::create_dir(&backing).unwrap();
    fs::create_dir(&point).unwrap();
    let dry = [b"mount", &b"-n"[..], bytes(&backing), bytes(&point)];
    let done = run(&dry);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""));
    let wrong = run(&[&dry[..], &[b"--from", b"nonsense"]].concat());
    assert_eq!(wrong.code, Some(2));
    let unwatched = run(&[&dry[..2], &[b"--cache", b"watch", b"/sys", dry[3]]].concat());
    let refusal = "error: --cache watch is not possible: ";
    assert_eq!(unwatched.code, Some(1));
    assert!(
        unwatched.stderr.starts_with(refusal),
        "{}",
        unwatched.stderr
    );
    // Nothing is mounted.
    let umount = run(&[b"umount", b"-n", b"--json", bytes(&point)]);
    assert_eq!(umount.code, Some(1));
    let error = umount.objects()[0]["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("nothing is mounted on "), "{error}");
    assert_eq!(umount.objects()[0]["unmounted"], false);
}

#[test]
fn migrating_and_undoing_sum_up_in_json_and_are_quiet_if_asked_to() {
    let place = tree();
    let (tree, journal) = (place.path().join("tree"), place.path().join("journal"));
    let migrate: [&[u8]; 5] = [
        b"migrate",
        b"--json",
        b"--from",
        b"iso-8859-1",
        bytes(&tree),
    ];
    let dry = run(&[&migrate[..], &[b"-n", b"-q"]].concat());
    assert_eq!((dry.code, dry.stderr.as_str()), (Some(0), ""));
    let total = dry.objects().pop().unwrap();
    assert_eq!(total["renamed"], 1);
    assert_eq!(total["applied"], false);
    let apply = [&migrate[..], &[b"--apply", b"--journal", bytes(&journal)]].concat();
    let done = run(&apply);
    assert_eq!((done.code, done.objects().len()), (Some(0), 1));
    assert_eq!(done.objects()[0]["done"], 1);
    assert!(done.stderr.contains("to go back: "), "{done:?}");
    let undo = run(&[b"undo", b"-n", b"-q", b"--json", bytes(&journal)]);
    assert_eq!((undo.code, undo.stderr.as_str()), (Some(0), ""));
    let [step, total] = &undo.objects()[..] else {
        panic!("{undo:?}");
    };
    assert_eq!(step["action"], "rename");
    assert_eq!(step["new"], json!({"bytes": "Y2Fm6Q=="}));
    assert_eq!(
        (&total["undone"], &total["applied"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(
        run(&[b"undo", b"-n", b"--apply", bytes(&journal)]).code,
        Some(2)
    );
}

#[test]
fn policies_are_reported_in_json() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("p.toml");
    fs::write(&file, "profile = \"safe\"\n").unwrap();
    let check = run(&[b"policy", b"check", b"--json", bytes(&file)]);
    assert_eq!(check.code, Some(0), "{check:?}");
    assert_eq!(check.objects()[0]["valid"], true);
    let show = run(&[b"policy", b"show", b"--json", bytes(&file), b"/a\nb"]);
    let shown = &show.objects()[0];
    assert_eq!(shown["path"], json!({"text": "/a\nb"}));
    let rows = shown["rows"].as_array().unwrap();
    let profile = rows.iter().find(|row| row["key"] == "profile").unwrap();
    assert_eq!(profile["value"], "safe");
    assert!(
        shown["verdict"].as_str().unwrap().contains("EILSEQ"),
        "{shown}"
    );
    fs::write(&file, "nonsense = 1\n").unwrap();
    let check = run(&[b"policy", b"check", b"--json", bytes(&file)]);
    assert_eq!(
        (check.code, &check.objects()[0]["valid"]),
        (Some(1), &json!(false))
    );
}

#[test]
fn each_shell_has_a_script_that_knows_the_commands() {
    for shell in [&b"bash"[..], b"zsh", b"fish", b"elvish", b"powershell"] {
        let done = run(&[b"completion", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        assert!(
            done.stdout.contains("migrate") && done.stdout.contains("mount"),
            "{shell:?}"
        );
    }
    assert_eq!(run(&[b"completion", b"cmd"]).code, Some(2));
}

#[test]
fn colours_come_only_where_they_are_asked_for() {
    let mut command = super::utf8fs(&[b"--color", b"always", b"monut"]);
    let output = command.output().unwrap();
    assert!(output.stderr.contains(&0x1B), "{output:?}");
    for words in [&[&b"monut"[..]][..], &[b"--color=never", b"monut"]] {
        assert!(!run(words).stderr.contains('\u{1B}'));
    }
}
