use clap::Parser;

use super::*;
use crate::cli::args::{Cli, Command};
use crate::policy::Class;

fn typed(line: &[&str]) -> MountArgs {
    let line = ["utf8fs", "mount", "b", "m"].iter().chain(line);
    match Cli::try_parse_from(line).unwrap().command {
        Some(Command::Mount(args)) => *args,
        other => panic!("{other:?}"),
    }
}

fn read(line: &[&str]) -> Result<MountOptions, CliError> {
    MountOptions::read(&typed(line))
}

fn refused(line: &[&str]) -> (String, String) {
    let error = read(line).unwrap_err();
    assert_eq!(error.code.code(), 2);
    (error.message, error.hint.unwrap_or_default())
}

#[test]
fn set_user_id_and_devices_are_off_unless_asked_for() {
    let plain = read(&[]).unwrap();
    assert!(plain.flags.nosuid && plain.flags.nodev && !plain.flags.read_only);
    assert_eq!(plain.allow_other, None);
    let asked = read(&["-o", "suid,dev"]).unwrap();
    assert!(!asked.flags.nosuid && !asked.flags.nodev);
}

#[test]
fn every_flag_that_is_listed_is_known_below() {
    for flag in FLAGS {
        assert!(
            flag.ends_with("allow_other")
                || *flag == "cross_mounts"
                || MountFlags::default().set(flag),
            "{flag}"
        );
        let given = read(&["-o", flag]).unwrap();
        assert_eq!(given.cross_mounts, *flag == "cross_mounts", "{flag}");
    }
}

#[test]
fn every_key_that_is_listed_is_taken_with_either_dash() {
    for key in KEYS {
        for spelling in [(*key).to_owned(), key.replace('-', "_")] {
            let value = match *key {
                "legacy" => "raw",
                "on-violation" => "report",
                "errno" => "eperm",
                "profile" => "safe",
                "normalization" => "nfd",
                "store-as" => "koi8-r",
                "encoding" => "fss-utf",
                "unique" => "casefold",
                "forbid" => "bidi",
                "audit-format" => "json",
                "sandbox" => "none",
                "passthrough" => "off",
                "locks" => "backing",
                _ => "30",
            };
            let given = read(&["-o", &format!("{spelling}={value}")]).unwrap();
            assert_ne!(given, read(&[]).unwrap(), "{spelling}");
        }
    }
}

#[test]
fn a_line_of_fstab_holds_all_of_it() {
    let line = "defaults,noauto,nofail,_netdev,user,x-systemd.automount,comment=a b,ro,noexec,noatime,\
        allow_other,fsname=old\\,stuff,from=shift_jis:windows-1252,on_violation=normalize,forbid=control:bidi,max-bytes=100";
    let read = read(&["-o", line]).unwrap();
    assert!(read.flags.read_only && read.flags.noexec && read.flags.noatime && read.flags.nosuid);
    assert_eq!(read.allow_other, Some(true));
    assert_eq!(read.fsname.unwrap(), "old,stuff");
    assert_eq!(read.policy.from.unwrap(), ["shift_jis", "windows-1252"]);
    assert_eq!(read.policy.on_violation.unwrap().word(), "normalize");
    assert_eq!(
        read.policy.forbid.unwrap(),
        [ForbidValue(Class::Control), ForbidValue(Class::Bidi)]
    );
    assert_eq!(read.policy.max_bytes, Some(100));
}

#[test]
fn exemptions_add_up() {
    let read = read(&[
        "--exempt",
        "*.tmp",
        "-o",
        "exempt=/a/**,exempt={b\\,c}",
        "-o",
        "exempt-uid=0:1000",
        "--exempt-uid",
        "0,1000",
    ])
    .unwrap();
    assert_eq!(read.new_names.exempt.unwrap(), ["*.tmp", "/a/**", "{b,c}"]);
    assert_eq!(read.new_names.exempt_uid.unwrap(), [0, 1000]);
}

#[test]
fn paths_are_bytes() {
    let mut args = typed(&[]);
    args.options = vec![OsString::from_vec(
        b"audit-log=/tmp/\xE9,fsname=\xFF".to_vec(),
    )];
    let read = MountOptions::read(&args).unwrap();
    assert_eq!(read.audit.audit_log.unwrap().as_bytes(), b"/tmp/\xE9");
    assert_eq!(read.fsname.unwrap().as_bytes(), b"\xFF");
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (one, other) in CONTRADICTIONS {
        for (first, second) in [(one, other), (other, one)] {
            let (message, hint) = refused(&["-o", first, "-o", second]);
            assert_eq!(
                message,
                format!("-o {first} and -o {second} contradict each other")
            );
            assert_eq!(hint, "give one of them");
        }
    }
    let (message, hint) = refused(&["--profile", "safe", "-o", "profile=posix"]);
    assert_eq!(message, "-o profile= contradicts another value of profile");
    assert_eq!(hint, "give profile once, as an option of its own or in -o");
    refused(&["-o", "from=koi8-r,from=iso-8859-1"]);
    refused(&["--threads", "2", "-o", "threads=3"]);
}

#[test]
fn what_is_said_twice_alike_is_taken() {
    read(&[
        "--profile",
        "safe",
        "-o",
        "ro,ro,profile=safe,profile=safe",
        "-o",
        "ro,,",
    ])
    .unwrap();
}

#[test]
fn the_nearest_option_is_offered_for_an_unknown_one() {
    let rows = [
        ("nosiud", "did you mean nosuid?"),
        ("alow_other", "did you mean allow_other?"),
        ("on-violaton=report", "did you mean on-violation?"),
        ("max_byte=30", "did you mean max-bytes?"),
        ("zzz", "'utf8fs mount --help' lists the options of -o"),
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
fn wrong_values_are_refused_with_the_right_ones() {
    let rows = [
        (
            "profile=posx",
            "-o profile=\"posx\" is not possible",
            "did you mean profile=posix?",
        ),
        (
            "legacy=?",
            "-o legacy=\"?\" is not possible",
            "it takes decode, escape, raw, hide",
        ),
        (
            "max-bytes=23",
            "-o max-bytes=\"23\" is not possible",
            "it must be 24 to 255",
        ),
        (
            "max-bytes=256",
            "-o max-bytes=\"256\" is not possible",
            "it must be 24 to 255",
        ),
        (
            "max-chars=1",
            "-o max-chars=\"1\" is not possible",
            "it must be 24 or more",
        ),
        (
            "unique=nfd",
            "-o unique=\"nfd\" is not possible",
            "did you mean unique=nfc?",
        ),
        (
            "exempt-uid=0:root",
            "-o exempt-uid=\"root\" is not possible",
            "it must be the number of a user, as 'id -u NAME' prints it",
        ),
        (
            "exempt-uid=4294967295",
            "-o exempt-uid=\"4294967295\" is not possible",
            "it must be the number of a user, as 'id -u NAME' prints it",
        ),
        (
            "threads=0",
            "-o threads=\"0\" is not possible",
            "it must be 1 to 1024",
        ),
        (
            "audit-burst=-1",
            "-o audit-burst=\"-1\" is not possible",
            "invalid digit found in string",
        ),
        ("errno", "-o errno needs a value", "write -o errno=VALUE"),
        ("errno=", "-o errno needs a value", "write -o errno=VALUE"),
        ("ro=1", "-o ro takes no value", "write -o ro"),
    ];
    for (options, message, hint) in rows {
        assert_eq!(
            refused(&["-o", options]),
            (message.to_owned(), hint.to_owned()),
            "{options}"
        );
    }
}
