//! `utf8fs demo`, run for real: it shows what it should, harms no terminal, and leaves nothing behind.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use super::{PATIENCE, Run, is_dangerous, utf8fs};

/// The demo, making its directory in `temp`.
fn demo(temp: &TempDir) -> Command {
    let mut command = utf8fs(&[b"demo"]);
    command.env("TMPDIR", temp.path()).env_remove("HOME");
    command
}

/// The paths of the mounts below `temp`.
fn mounts(temp: &TempDir) -> Vec<String> {
    let table = fs::read("/proc/self/mountinfo").expect("/proc is mounted");
    let below = temp.path().canonicalize().expect("it is there");
    table
        .split(|&octet| octet == b'\n')
        .filter_map(|line| line.split(|&octet| octet == b' ').nth(4))
        .filter(|path| path.starts_with(below.as_os_str().as_bytes()))
        .map(|path| String::from_utf8(path.to_vec()).expect("we chose it"))
        .collect()
}

#[track_caller]
fn assert_nothing_is_left(temp: &TempDir) {
    assert_eq!(mounts(temp), [""; 0], "mounts are left");
    let left: Vec<_> = fs::read_dir(temp.path()).expect("it is there").collect();
    assert!(left.is_empty(), "files are left: {left:?}");
}

#[test]
fn it_shows_the_product_and_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let run = Run::of(demo(&temp), b"");
    assert_nothing_is_left(&temp);
    let shown = run.stdout;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));

    // each in one line, in this order
    let rows: [&[&str]; 30] = [
        &["$ utf8fs mount old mnt"],
        &[r#""caf\xE9.txt""#, r#""caf%E9.txt""#],
        &[r#""\xE0"#, r#"~"#],
        &[r#""5 \x80.txt""#, r#""5 %80.txt""#],
        &[r#""\x93\xFA\x96{.txt""#, r#""%93%FA%96{.txt""#],
        &[r#""\xED\xC9\xD2.txt""#, r#""%ED%C9%D2.txt""#],
        &[r#""a\xC0\x80b""#, r#""a%C0%80b""#],
        &[r#""cafÃ©.txt""#, r#""cafÃ©.txt""#],
        &[r#""etc\xC0\xAFpasswd""#, r#""etc%C0%AFpasswd""#],
        &[r#""\xED\xA0\x80.txt""#, r#""%ED%A0%80.txt""#],
        &[r#""\xFD\xBF\xBF\xBF\xBF\xBF""#, r#""%FD%BF%BF%BF%BF%BF""#],
        &["13 files on disk, 13 in the mount"],
        &["$ utf8fs mount --from iso-8859-1 old/latin-1 mnt"],
        &[r#""caf\xE9.txt""#, r#""café.txt""#],
        &[r#""\xE0"#, r#""àá"#],
        &[r#""5 \x80.txt""#, r#""5 €.txt""#],
        &[r#""\x93\xFA\x96{.txt""#, r#""日本.txt""#],
        &[r#""\xED\xC9\xD2.txt""#, r#""Мир.txt""#],
        &["$ utf8fs mount --profile safe"],
        &[r#""two\nlines.txt""#, r#""two%0Alines.txt""#],
        &["create", r#""caf\xE9.txt""#, "EILSEQ"],
        &["ill-formed", "at byte 3: E9"],
        &["mkdir", "EILSEQ"],
        &["overlong", "at byte 0: C0 AE"],
        &["create", "ENAMETOOLONG"],
        &[r#""-rf""#, "EILSEQ"],
        &["rename", "refused with EILSEQ", "by uid"],
        &["--on-violation normalize"],
        &["create", r#""caf\xE9.txt""#, "made"],
        &[r#"  "café.txt"  "#, r#"  "café.txt""#],
    ];
    let mut lines = shown.lines();
    for row in rows {
        let found = lines.any(|line| row.iter().all(|piece| line.contains(piece)));
        assert!(found, "no line (in order) with {row:?} in\n{shown}");
    }
}

#[test]
fn its_columns_are_aligned() {
    let temp = tempfile::tempdir().unwrap();
    let shown = Run::of(demo(&temp), b"").stdout;
    let column = |visible: &str| {
        let line = shown.lines().find(|line| line.contains(visible)).unwrap();
        line.find(visible).unwrap()
    };
    // What stands before them is ASCII.
    for visible in [
        "in the mount",
        r#""caf%E9.txt""#,
        r#""café.txt""#,
        r#""日本.txt""#,
    ] {
        assert_eq!(column(visible), 30, "{visible} in\n{shown}");
    }
}

/// A signal finds a mount; whatever the demo is doing then, all of it goes.
#[test]
fn an_interrupt_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let temp = tempfile::tempdir().unwrap();
        let table = File::open("/proc/self/mountinfo").unwrap();
        // A pipe with room for the first scene and no more, so that the demo cannot end before the signal.
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let room = fcntl_setpipe_size(&write, 4096).unwrap();
        let (mut read, mut write) = (File::from(read), File::from(write));
        write.write_all(&vec![b' '; room - 2048]).unwrap();
        let mut command = demo(&temp);
        let child = command
            .stdin(Stdio::null())
            .stdout(write)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(command);
        while mounts(&temp).is_empty() {
            let patience = Timespec::try_from(PATIENCE).unwrap();
            let changed = poll(&mut [PollFd::new(&table, PollFlags::PRI)], Some(&patience));
            assert_ne!(changed, Ok(0), "it never mounts");
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut shown = Vec::new();
        read.read_to_end(&mut shown).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_nothing_is_left(&temp);
        assert_eq!(
            (
                output.status.code(),
                str::from_utf8(&output.stderr).unwrap()
            ),
            (
                Some(1),
                "error: interrupted; all that was made is removed\n"
            )
        );
        let shown = String::from_utf8(shown).unwrap();
        assert!(!shown.contains("What to do next"));
        assert!(!shown.chars().any(|c| c != '\n' && is_dangerous(c)));
    }
}

#[test]
fn a_reader_who_leaves_is_no_error_and_nothing_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    drop(read);
    let output = demo(&temp)
        .stdin(Stdio::null())
        .stdout(write)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_nothing_is_left(&temp);
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
}

#[test]
fn a_temporary_directory_that_is_not_there_gets_a_hint() {
    let temp = tempfile::tempdir().unwrap();
    let mut command = demo(&temp);
    command.env("TMPDIR", temp.path().join("none"));
    let run = Run::of(command, b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    let (error, hint) = run.stderr.split_once('\n').unwrap();
    assert!(error.starts_with("error: cannot make a temporary directory"));
    assert!(hint.starts_with("hint: set TMPDIR"));
}

/// Nobody may mount without fusermount3; only root can become nobody.
#[test]
fn who_cannot_mount_gets_an_error_and_a_hint_and_nothing_is_left() {
    const NOBODY: u32 = 65534;
    let temp = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    // Where the repository lies, nobody may be shut out.
    let program = bin.path().join("utf8fs");
    fs::copy(env!("CARGO_BIN_EXE_utf8fs"), &program).unwrap();
    for (path, mode) in [(temp.path(), 0o777), (bin.path(), 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(program);
    command.arg("demo").env_clear().env("TMPDIR", temp.path());
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.env("PATH", "/nonexistent");
    let run = Run::of(command, b"");
    assert_nothing_is_left(&temp);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.ends_with("$ utf8fs mount old mnt\n"), "{run:?}");
    let errors = run.stderr;
    let lines: Vec<_> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(lines[0].starts_with("error: cannot mount on "), "{errors}");
    assert!(lines[1].starts_with("hint: "), "{errors}");
}
