use std::path::Path;

use clap::Parser;

use super::*;
use crate::cli::args::{Cli, Command};
use crate::names::OnViolation;
use crate::policy::Profile;
use crate::records::{Id, SinkKind};

fn typed(line: &[&str]) -> Result<MountArgs, CommandError> {
    let line: Vec<OsString> = line.iter().map(OsString::from).collect();
    typed_octets(line)
}

fn typed_octets(line: Vec<OsString>) -> Result<MountArgs, CommandError> {
    let mut whole = ["utf8fs", "mount", "b", "m"].map(OsString::from).to_vec();
    whole.extend(line);
    let parsed = Cli::try_parse_from(expand(whole));
    match parsed
        .map_err(|error| CommandError::usage(error.to_string()))?
        .command
    {
        Some(Command::Mount(args)) => Ok(*args),
        other => panic!("{other:?}"),
    }
}

/// What it says of the mount itself, and all else.
fn read(line: &[&str]) -> Result<(Vec<&'static str>, MountArgs), CommandError> {
    let typed = typed(line)?;
    Ok((words(&typed)?, typed))
}

/// The flags of the mount.
fn flags(line: &[&str]) -> MountFlags {
    MountFlags::of(&read(line).unwrap().0)
}

fn refused(line: &[&str]) -> (String, String) {
    let error = read(line).unwrap_err();
    assert!(error.is_usage);
    (error.message, error.hint.unwrap_or_default())
}

#[test]
fn set_user_id_and_devices_are_off_unless_asked_for() {
    let plain = flags(&[]);
    assert!(plain.has("nosuid") && plain.has("nodev") && !plain.has("ro"));
    let asked = flags(&["-o", "suid,dev"]);
    assert!(!asked.has("nosuid") && !asked.has("nodev"));
}

#[test]
fn every_flag_is_known() {
    for flag in all_words() {
        assert_eq!(read(&["-o", flag]).unwrap().0, [flag]);
    }
}

/// A value that the long option takes, by its definition where that tells.
fn value_of(arg: &Arg) -> String {
    let words = arg.get_possible_values();
    match words.first() {
        Some(word) => word.get_name().to_owned(),
        None if matches!(arg.get_long(), Some("from" | "store-as")) => "koi8-r".to_owned(),
        None => "30".to_owned(),
    }
}

/// Law L4: what can be said by a long option can be said in fstab, by the same word, and is taken the same way.
#[test]
fn every_long_option_has_a_form_in_o_or_a_reason_to_have_none() {
    let command = CommonArgs::augment_args(MountArgs::augment_args(clap::Command::default()));
    let mut seen = 0;
    for arg in command
        .get_arguments()
        .filter(|arg| arg.get_long().is_some())
    {
        let word = arg.get_long().unwrap();
        if let Some(why) = instead_of(word) {
            assert_eq!(refused(&["-o", word]).1, why);
            continue;
        }
        seen += 1;
        let is_flag = !arg.get_action().takes_values();
        let value = value_of(arg);
        let plain = match is_flag {
            true => format!("--{word}"),
            false => format!("--{word}={value}"),
        };
        let (_, mut wanted) = read(&[&plain]).unwrap();
        for spelling in [word.to_owned(), word.replace('-', "_")] {
            let option = match is_flag {
                true => spelling,
                false => format!("{spelling}={value}"),
            };
            let (_, got) = read(&["-o", &option]).unwrap();
            wanted.options.clone_from(&got.options);
            assert_eq!(got, wanted, "{option}");
        }
    }
    assert!(seen > 20, "{seen} options");
    assert_eq!(
        refused(&["-o", "help"]).1,
        "write 'utf8fs mount --help'",
        "mount(8) would take the help for a mount"
    );
}

#[test]
fn a_line_of_fstab_holds_all_of_it() {
    let line = "defaults,noauto,nofail,_netdev,user,user=me,x-systemd.automount,comment=a b,ro,noexec,noatime,\
        allow_other,fsname=old\\,stuff,from=shift_jis:windows-1252,on_violation=normalize,forbid=control:bidi,max-bytes=100,cross_mounts";
    let (words, args) = read(&["-o", line]).unwrap();
    assert_eq!(words, ["ro", "noexec", "noatime", "allow_other"]);
    assert_eq!(args.fsname.unwrap(), Path::new("old,stuff"));
    let from = args.policy.from.unwrap();
    let from: Vec<&str> = from.iter().map(|charset| charset.label()).collect();
    assert_eq!(from, ["shift_jis", "windows-1252"]);
    assert_eq!(args.policy.on_violation, Some(OnViolation::Normalize));
    assert_eq!(
        args.policy.conforming.forbid.unwrap(),
        [Class::Control, Class::Bidi]
    );
    assert_eq!(args.policy.conforming.max_bytes, Some(100));
    assert!(args.cross_mounts);
}

#[test]
fn exemptions_add_up() {
    let (_, args) = read(&[
        "--exempt",
        "*.tmp",
        "-o",
        "exempt=/a/**:/d/*:*.bak,exempt={b\\,c}",
        "-o",
        "exempt-uid=0:1000",
        "--exempt-uid",
        "0,1000",
    ])
    .unwrap();
    let mut patterns = args.shared.exempt.unwrap();
    patterns.sort();
    assert_eq!(patterns, ["*.bak", "*.tmp", "/a/**", "/d/*", "{b,c}"]);
    let uids = [0, 1000, 0, 1000].map(Id::Number);
    assert_eq!(args.shared.exempt_uid.unwrap(), uids);
}

#[test]
fn paths_are_bytes() {
    let line = b"audit-log=/tmp/\xE9,fsname=\xFF".to_vec();
    let args = typed_octets(vec!["-o".into(), OsString::from_vec(line)]).unwrap();
    let log = SinkKind::File(OsStr::from_bytes(b"/tmp/\xE9").into());
    assert_eq!(args.shared.audit_log, Some(log));
    assert_eq!(args.fsname.unwrap().into_os_string().as_bytes(), b"\xFF");
    let line = OsString::from_vec(b"from=\xE9".to_vec());
    let error = typed_octets(vec!["-o".into(), line]).unwrap_err();
    assert!(error.message.contains("UTF-8"), "{error}");
}

#[test]
fn a_remount_is_refused_with_what_is_possible() {
    let (message, hint) = refused(&["-o", "remount,rw"]);
    assert!(
        message.starts_with("-o remount is not possible: "),
        "{message}"
    );
    assert!(
        hint.contains("mount -i -o remount,bind,ro,nosuid,nodev "),
        "{hint}"
    );
}

#[test]
fn sloppy_leaves_unknown_options_out() {
    let (words, _) = read(&["-o", "zzz=1,sloppy,ro,\u{e9}"]).unwrap();
    assert_eq!(words, ["ro"]);
    refused(&["-o", "sloppy,profile=nonsense"]);
}

/// As in mount(8).
#[test]
fn of_options_that_contradict_each_other_the_later_wins() {
    let flags = |line: &str| flags(&["-o", line]);
    assert!(!flags("ro,rw").has("ro") && flags("rw,ro").has("ro"));
    for (line, expected) in [
        ("noatime,relatime", [false, true, false]),
        ("relatime,noatime", [true, false, false]),
        ("noatime,strictatime", [false, false, true]),
        ("strictatime,nostrictatime", [false, false, false]),
    ] {
        let flags = flags(line);
        let got = [
            flags.has("noatime"),
            flags.has("relatime"),
            flags.has("strictatime"),
        ];
        assert_eq!(got, expected, "{line}");
    }
    let profile = |line: &[&str]| read(line).unwrap().1.policy.conforming.profile.unwrap();
    assert_eq!(
        profile(&["--profile", "safe", "-o", "profile=posix"]),
        Profile::Posix
    );
    assert_eq!(
        profile(&["-vo", "profile=posix,ro", "--profile", "safe"]),
        Profile::Safe
    );
    let (_, args) = read(&["-o", "threads=2", "-othreads=3"]).unwrap();
    assert_eq!(args.threads, Some(3));
}

#[test]
fn what_is_no_option_stays() {
    let line = ["utf8fs", "mount", "-f", "--", "-o", "ro"]
        .map(OsString::from)
        .to_vec();
    assert_eq!(expand(line.clone()), line);
    let line = ["utf8fs", "scan", "-o", "ro,rw"]
        .map(OsString::from)
        .to_vec();
    assert_eq!(expand(line.clone()), line);
}

#[test]
fn the_nearest_option_is_offered_for_an_unknown_one() {
    let rows = [
        ("nosiud", "did you mean nosuid?"),
        ("alow_other", "did you mean allow_other?"),
        ("on-violaton=report", "did you mean on-violation?"),
        ("max_byte=30", "did you mean max-bytes?"),
        ("ro=1", "did you mean ro?"),
        ("fs_name=x", "did you mean fsname?"),
        ("zzz", "'utf8fs mount --help' lists the options of -o"),
        (
            "--from=iso-8859-1",
            "options in -o have no dashes: from=iso-8859-1",
        ),
        (
            "uid=1000",
            "owners and modes are those of the backing directory",
        ),
        (
            "drop_privileges",
            "leave it out: utf8fs confines itself, as sandbox says",
        ),
        (
            "setuid=nobody",
            "leave it out: to mount as another user, write user and let that user mount",
        ),
        ("allow_sud", "did you mean allow_suid?"),
        (
            "iocharset=utf8",
            "write from=CHARSET for the charset of the names on disk",
        ),
        (
            "from=iso-8859-1,koi8-r",
            "in -o a colon stands between values: from=shift_jis:windows-1252",
        ),
        (
            "forbid=control,bidi",
            "in -o a colon stands between values: from=shift_jis:windows-1252",
        ),
    ];
    for (options, hint) in rows {
        let (message, got) = refused(&["-o", options]);
        assert!(message.starts_with("unknown option in -o: \""), "{message}");
        assert_eq!(got, hint, "{options}");
    }
}

#[test]
fn wrong_values_are_refused() {
    let rows = [
        ("profile=posx", "'posx'"),
        ("legacy=?", "decode, escape, raw, hide"),
        ("max-bytes=23", "it must be 24 to 255"),
        ("exempt-uid=0:root", "it must be the number of a user"),
        ("errno", "a value is required for '--errno <ERRNO>'"),
        ("errno=", "a value is required for '--errno <ERRNO>'"),
        (
            "cross_mounts=1",
            "unexpected value '1' for '--cross-mounts'",
        ),
        ("ro=1", "unknown option in -o: \"ro=1\""),
        ("fsname=", "a value is required for '--fsname <TEXT>'"),
    ];
    for (options, part) in rows {
        let (message, _) = refused(&["-o", options]);
        assert!(message.contains(part), "{options}: {message}");
    }
    // The value is not what follows.
    let (message, _) = refused(&["-o", "errno", "c"]);
    assert!(message.contains("a value is required for"), "{message}");
}
