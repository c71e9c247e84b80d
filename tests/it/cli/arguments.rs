//! Bad input: refused in one line, with what to do in another, exit code 2, nothing mounted.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Run, run, utf8fs};

/// A scratch directory with `b` and `m`, a file `file` and a directory `b/in`.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("b/in")).unwrap();
        fs::create_dir(place.path("m")).unwrap();
        fs::write(place.path("file"), "").unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Mounts `backing` on `mountpoint`, relative to the place, with more arguments. It is to be refused.
    fn mount(&self, backing: &str, mountpoint: &str, more: &[&[u8]]) -> Run {
        let (backing, mountpoint) = (self.path(backing), self.path(mountpoint));
        let mut arguments = vec![
            b"mount",
            backing.as_os_str().as_bytes(),
            mountpoint.as_os_str().as_bytes(),
        ];
        arguments.extend(more);
        let was_mounted = self.is_mounted();
        let run = run(&arguments);
        assert_eq!(self.is_mounted(), was_mounted, "{run:?}");
        run
    }

    fn is_mounted(&self) -> bool {
        // Others may have mounts with names that are not UTF-8.
        let mounts = fs::read("/proc/self/mountinfo")
            .unwrap()
            .escape_ascii()
            .to_string();
        mounts.contains(self.0.path().to_str().unwrap())
    }
}

/// A mount that lives as long as this, with its daemon in the foreground.
struct Live(Child);

impl Live {
    fn on(place: &Place) -> Self {
        let program = env!("CARGO_BIN_EXE_utf8fs");
        let mut live = Self(
            Command::new("setpriv")
                .args(["--pdeathsig", "TERM", "--", program, "mount", "-q"])
                .args([place.path("b"), place.path("m")])
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        // The kernel tells of a change of the table to those who had it open before. Now and then a look at the daemon.
        let table = fs::File::open("/proc/self/mountinfo").unwrap();
        let now_and_then = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        while !place.is_mounted() {
            assert_eq!(live.0.try_wait().unwrap(), None, "the daemon ended");
            let mut change = [PollFd::new(&table, PollFlags::PRI)];
            poll(&mut change, Some(&now_and_then)).unwrap();
        }
        live
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        self.0.wait().unwrap();
    }
}

/// A row: what is tried, a piece of the error, a piece of the hint.
fn assert_refused(run: &Run, error: &str, hint: &str) {
    let (got_error, got_hint) = run.refusal();
    assert!(
        got_error.contains(error),
        "wanted {error:?} in {got_error:?}"
    );
    assert!(got_hint.contains(hint), "wanted {hint:?} in {got_hint:?}");
}

#[test]
fn unfit_directories_are_refused() {
    let place = Place::new();
    symlink(place.path("b/in"), place.path("link")).unwrap();
    let rows = [
        ("none", "m", "none\" does not exist", "existing directory"),
        (
            "file",
            "m",
            "file\" is not a directory",
            "directory whose names",
        ),
        ("b", "none", "none\" does not exist", "mkdir"),
        (
            "b",
            "file",
            "file\" is not a directory",
            "existing, best an empty, directory",
        ),
        (
            "b",
            "b/in",
            "b/in\" is inside the backing directory",
            "mount it elsewhere",
        ),
        (
            "b",
            "link",
            "link\" is inside the backing directory",
            "mount it elsewhere",
        ),
        (
            "b",
            "b/in/../in",
            "is inside the backing directory",
            "mount it elsewhere",
        ),
    ];
    for (backing, mountpoint, error, hint) in rows {
        assert_refused(&place.mount(backing, mountpoint, &[]), error, hint);
    }
}

#[test]
fn a_mount_point_that_is_taken_is_refused_and_the_mount_lives_on() {
    let place = Place::new();
    let live = Live::on(&place);
    let hint = "unmount it first: utf8fs umount /";
    let error = "m\" is mounted already (fuse.utf8fs)";
    assert_refused(&place.mount("b", "m", &[]), error, hint);
    assert!(place.path("m/in").is_dir());
    drop(live);
    assert!(!place.is_mounted());
}

#[test]
fn an_unreadable_backing_directory_is_refused() {
    let place = Place::new();
    fs::set_permissions(place.0.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.path("b"), Permissions::from_mode(0o000)).unwrap();
    let mut command = utf8fs(&[b"mount"]);
    if rustix::process::geteuid().is_root() {
        // Root reads everything, so that an ordinary user asks, with a copy of the program that the user can reach.
        let program = place.path("utf8fs");
        fs::copy(env!("CARGO_BIN_EXE_utf8fs"), &program).unwrap();
        command = Command::new(program);
        command.arg("mount").uid(65534).gid(65534).current_dir("/");
    }
    command.arg(place.path("b")).arg(place.path("m"));
    assert_refused(
        &Run::of(command, b""),
        "b\" cannot be read: permission denied",
        "make it readable",
    );
    fs::set_permissions(place.path("b"), Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_hostile_path_is_quoted() {
    let place = Place::new();
    let hostile = place.path("\u{1b}[2J\nhint: \u{202e}x");
    let run = run(&[b"mount", hostile.as_os_str().as_bytes(), b"m"]);
    assert_refused(
        &run,
        "\\x1B[2J\\nhint: \\u{202E}x\" does not exist",
        "existing directory",
    );
}

#[test]
fn unknown_charsets_are_refused_with_the_near_ones() {
    let place = Place::new();
    let refused = |label: &[u8]| place.mount("b", "m", &[b"--from", label]);
    assert_refused(
        &refused(b"iso-8859-1x"),
        "unknown charset \"iso-8859-1x\"; did you mean iso-8859-1",
        "--help",
    );
    assert_refused(
        &refused(b"\x1B[2J"),
        "unknown charset \"\\x1B[2J\"; it takes",
        "--help",
    );
    assert_refused(&refused(b""), "unknown charset \"\"; it takes", "--help");
}

/// UTF-7, EBCDIC (where 61 is `/`) and `//TRANSLIT` are taken by what converts names by iconv(3).
#[test]
fn charsets_that_cannot_be_undone_are_refused_with_the_reason() {
    let place = Place::new();
    for label in [
        "utf-7",
        "utf-16",
        "iso-2022-jp",
        "ebcdic",
        "ebcdic-us",
        "cp037",
        "iso-8859-1//TRANSLIT",
        "iso-8859-1//IGNORE",
    ] {
        for option in ["--from", "--store-as"] {
            let run = place.mount("b", "m", &[option.as_bytes(), label.as_bytes()]);
            let error = format!("charset \"{label}\" is not supported: ");
            assert_refused(&run, &error, "--help");
            let hint = match label.split_once("//") {
                Some((charset, _)) => format!("; did you mean {charset}?"),
                None => "; it takes IANA's names".to_owned(),
            };
            assert_refused(&run, &hint, "--help");
        }
    }
}

#[test]
fn contradictory_options_are_refused() {
    let place = Place::new();
    let rows: &[(&[&[u8]], &str, &str)] = &[
        (
            &[b"--legacy", b"decode"],
            "--legacy decode without --from",
            "--from iso-8859-1",
        ),
        (
            &[b"-q", b"-v"],
            "'--quiet' cannot be used with '--verbose...'",
            "--help",
        ),
        (
            &[b"--background", b"--audit-log", b"-"],
            "--audit-log - contradicts --background",
            "to syslog",
        ),
    ];
    for &(options, error, hint) in rows {
        assert_refused(&place.mount("b", "m", options), error, hint);
    }
}

#[test]
fn wrong_options_are_refused() {
    let place = Place::new();
    let rows: &[(&[&[u8]], &str, &str)] = &[
        (
            &[b"-o", b"nosiud"],
            "unknown option in -o: \"nosiud\"",
            "did you mean nosuid?",
        ),
        (
            &[b"-o", b"\x1B[2J"],
            "unknown option in -o: \"\\x1B[2J\"",
            "'utf8fs mount --help'",
        ),
        (
            &[b"-o", b"cache=\xFE"],
            "text in UTF-8 is wanted in the place of \"--cache=\\xFE\"",
            "--help",
        ),
        (
            &[b"-o", b"\xFF=\xFE"],
            "unknown option in -o: \"\\xFF=\\xFE\"",
            "'utf8fs mount --help'",
        ),
        (
            &[b"--profile", b"saef"],
            "invalid value 'saef' for '--profile <NAME>'",
            "a similar value exists: 'safe'",
        ),
        (&[b"--max-bytes", b"23"], "it must be 24 to 255", "--help"),
        (&[b"--max-bytes", b"256"], "it must be 24 to 255", "--help"),
        (&[b"--max-chars", b"23"], "it must be 24 or more", "--help"),
        (
            &[b"--forbid", b"control,emoji"],
            "invalid value 'emoji'",
            "--help",
        ),
        (
            &[b"--profil", b"safe"],
            "unexpected argument '--profil' found",
            "a similar argument exists: '--profile'",
        ),
        (&[b"third"], "unexpected argument 'third' found", "--help"),
        (
            &[b"--a\n\ntip: run this\n\nUsage: \x1B[2J"],
            "unexpected argument '--a",
            "--help",
        ),
        (
            &[b"--audit-log", b"/nowhere/log"],
            "the audit log \"/nowhere/log\" cannot be written",
            "make its directory first",
        ),
    ];
    for &(options, error, hint) in rows {
        assert_refused(&place.mount("b", "m", options), error, hint);
    }
}

#[test]
fn missing_and_unknown_commands_are_refused() {
    assert_refused(
        &run(&[b"mount", b"b"]),
        "required arguments were not provided",
        "<MOUNTPOINT>",
    );
    assert_refused(&run(&[b"mount", b"", b"m"]), "<BACKING>", "help");
    assert_refused(
        &run(&[b"monut"]),
        "unrecognized subcommand 'monut'",
        "'mount'",
    );
    assert_refused(&run(&[b"--verbose"]), "--version", "--help");
    assert_refused(&run(&[b"explain"]), "no name is given", "standard input");
    assert_refused(
        &run(&[b"explain", b"--hex", b"C"]),
        "two hex digits for each byte",
        "--help",
    );
    assert_refused(
        &run(&[b"explain", b"--hex", b"xy"]),
        "it must be hex digits",
        "--help",
    );
    assert_refused(
        &run(&[b"explain", b"--from", b"utf-7", b"x"]),
        "charset \"utf-7\" is not supported: ",
        "--help",
    );
}

#[test]
fn an_argument_that_is_no_text_is_named_without_loss() {
    let rows: [(&[&[u8]], &str); 4] = [
        (
            &[b"explain", b"--encoding", b"caf\xE9", b"x"],
            r#""caf\xE9""#,
        ),
        (&[b"convert", b"--from=\xFF"], r#""--from=\xFF""#),
        // The operands may be any bytes; it is the option that is to be text.
        (
            &[b"mount", b"\xE9", b"m", b"--exempt", b"\xFE"],
            r#""\xE9" and "\xFE""#,
        ),
        (&[b"mount", b"--legacy", b"\xFF", b"b", b"m"], r#""\xFF""#),
    ];
    for (arguments, named) in rows {
        let error = format!("text in UTF-8 is wanted in the place of {named}");
        assert_refused(&run(arguments), &error, "--help");
    }
    // Any bytes may stand here, but not so many words.
    let rows: [(&[&[u8]], &str); 4] = [
        (
            &[b"mount", b"b", b"m", b"\xE9"],
            r"unexpected argument '\xe9' found",
        ),
        (
            &[b"policy", b"show", b"f", b"p", b"\xE9"],
            r"unexpected argument '\xe9' found",
        ),
        (
            &[b"mount", b"--\xFF", b"b", b"m"],
            r"unexpected argument '--\xff' found",
        ),
        (&[b"\xFF"], r"unrecognized subcommand '\xff'"),
    ];
    for (arguments, error) in rows {
        assert_refused(&run(arguments), error, "--help");
    }
}

#[test]
fn numbers_below_zero_are_values_out_of_range() {
    let rows: [(&[&[u8]], &str); 3] = [
        (
            &[b"mount", b"--cache", b"-1", b"b", b"m"],
            "it must be 0 to 86400 seconds",
        ),
        (
            &[b"mount", b"--threads", b"-3", b"b", b"m"],
            "it must be 1 to 1024",
        ),
        (
            &[b"explain", b"--max-bytes", b"-9", b"x"],
            "it must be 24 to 255",
        ),
    ];
    for (arguments, error) in rows {
        assert_refused(&run(arguments), error, "--help");
    }
}
