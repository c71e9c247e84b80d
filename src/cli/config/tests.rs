use std::ffi::OsString;

use clap::Parser;

use super::*;
use crate::cli::args::{Cli, Command};
use crate::cli::mount_options::expand;
use crate::codec::Form;
use crate::daemon::auditor::SinkKind;
use crate::names::{Legacy, OnViolation};
use crate::policy::{Alike, Class, NAME_MAX, Profile};
use log::LevelFilter;

fn typed(line: &[&str]) -> MountArgs {
    let line = ["utf8fs", "mount"].iter().chain(line);
    let line = expand(line.map(OsString::from).collect());
    match Cli::try_parse_from(line).unwrap().command {
        Some(Command::Mount(args)) => *args,
        other => panic!("{other:?}"),
    }
}

/// Decides on a mount of one fresh directory on another, with these options.
fn decided(options: &[&str]) -> Result<MountConfig, CommandError> {
    let place = tempfile::tempdir().unwrap();
    let (backing, mountpoint) = (place.path().join("b"), place.path().join("m"));
    std::fs::create_dir(&backing).unwrap();
    std::fs::create_dir(&mountpoint).unwrap();
    let mut line = vec![backing.to_str().unwrap(), mountpoint.to_str().unwrap()];
    line.extend(options);
    mount(typed(&line))
}

fn refused(options: &[&str]) -> (String, String) {
    let error = decided(options).unwrap_err();
    assert!(error.is_usage);
    (error.message, error.hint.unwrap())
}

/// Why options are no options of a mount.
fn misread(options: &[&str]) -> String {
    let line = ["utf8fs", "mount", "b", "m"].iter().chain(options);
    let line = expand(line.map(OsString::from).collect());
    Cli::try_parse_from(line).unwrap_err().to_string()
}

#[test]
fn without_options_only_ill_formed_and_too_long_names_offend() {
    let config = decided(&[]).unwrap();
    assert_eq!(config.checked.resolved.map.policy, Profile::Utf8.policy());
    assert_eq!(config.checked.resolved.map.policy.max_bytes, NAME_MAX);
    assert_eq!(
        (
            config.checked.resolved.map.legacy,
            config.checked.resolved.map.on_violation
        ),
        (Legacy::Escape, OnViolation::Reject)
    );
    assert_eq!(config.checked.audit.audit_log, SinkKind::Stderr);
    assert_eq!(config.fsname, config.checked.backing.as_os_str());
    assert!(!config.background);
    assert_eq!(config.threads, THREADS);
    assert!(config.checked.backing.is_absolute() && config.checked.mountpoint.is_absolute());
}

#[test]
fn names_are_decoded_where_a_charset_is_given() {
    let map = decided(&["--from", "iso-8859-1,koi8-r"])
        .unwrap()
        .checked
        .resolved
        .map;
    assert_eq!(map.legacy, Legacy::Decode);
    let labels: Vec<&str> = map.from.iter().map(|charset| charset.label()).collect();
    assert_eq!(labels, ["iso-8859-1", "koi8-r"]);
}

#[test]
fn options_make_a_profile_stricter() {
    let options = [
        "--profile",
        "safe",
        "--forbid",
        "invisible,non-ascii",
        "--normalization",
        "nfd",
        "--max-chars",
        "40",
    ];
    let policy = decided(&options).unwrap().checked.resolved.map.policy;
    for class in [
        Class::Control,
        Class::LeadingDash,
        Class::Invisible,
        Class::NonAscii,
    ] {
        assert!(policy.forbid.contains(&class), "{class:?}");
    }
    assert_eq!(
        (policy.form, policy.max_chars, policy.max_bytes),
        (Some(Form::Nfd), Some(40), NAME_MAX)
    );
}

#[test]
fn contradictions_are_refused_with_what_to_do() {
    let rows: &[(&[&str], &str)] = &[
        (
            &["--background", "--audit-log", "-"],
            "--audit-log - contradicts --background: nobody reads its standard error",
        ),
        (
            &["--legacy", "decode"],
            "--legacy decode without --from: there is no charset to decode from",
        ),
    ];
    for &(options, message) in rows {
        assert_eq!(refused(options).0, message);
    }
}

#[test]
fn a_charset_that_is_not_offered_is_refused_with_the_near_ones_or_the_reason() {
    let message = misread(&["--from", "iso-8859-1x"]);
    let expected = "unknown charset \"iso-8859-1x\"; did you mean iso-8859-1";
    assert!(message.contains(expected), "{message}");
    for label in ["utf-7", "utf-16", "iso-2022-jp"] {
        let message = misread(&["--store-as", label]);
        let expected = format!("charset \"{label}\" is not supported: ");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn new_names_can_be_compared_and_exempt() {
    let plain = decided(&[]).unwrap();
    assert_eq!(plain.checked.resolved.unique, None);
    let options = "--unique casefold --exempt *.tmp --exempt /a/{b,c}/** --exempt-uid 0,1000";
    let config = decided(&options.split(' ').collect::<Vec<_>>()).unwrap();
    assert_eq!(config.checked.resolved.unique, Some(Alike::Casefold));
    let (message, hint) = refused(&["--exempt", "/a/"]);
    assert_eq!(
        message,
        "--exempt \"/a/\" is not a pattern: names do not end in /; /a/** is what lies in a directory"
    );
    assert!(hint.starts_with("a pattern is a path as "), "{hint}");
    refused(&["-o", "exempt=[a"]);
}

#[test]
fn in_the_background_offences_go_to_the_system_log() {
    assert_eq!(
        decided(&["--background"]).unwrap().checked.audit.audit_log,
        SinkKind::Syslog
    );
    assert_eq!(
        decided(&["--audit-log", "syslog"])
            .unwrap()
            .checked
            .audit
            .audit_log,
        SinkKind::Syslog
    );
    assert_eq!(
        decided(&["--audit-log", "-"])
            .unwrap()
            .checked
            .audit
            .audit_log,
        SinkKind::Stderr
    );
}

#[test]
fn the_journal_has_a_socket_of_its_own() {
    let sink = |log: &str| {
        decided(&["--audit-log", log])
            .unwrap()
            .checked
            .audit
            .audit_log
    };
    assert_eq!(
        sink("journald"),
        SinkKind::Journal("/run/systemd/journal/socket".into())
    );
    assert_eq!(
        sink("journald:/run/x y"),
        SinkKind::Journal("/run/x y".into())
    );
    assert!(matches!(sink("./journald:x"), SinkKind::File(_)));
    for log in ["journald:", "journald:run"] {
        let message = misread(&["--audit-log", log]);
        assert!(message.contains("no path that begins with /"), "{message}");
        assert!(message.contains("journal.NAME"), "{message}");
    }
}

#[test]
fn the_audit_log_is_found_again_from_anywhere() {
    let SinkKind::File(log) = decided(&["--audit-log", "./syslog"])
        .unwrap()
        .checked
        .audit
        .audit_log
    else {
        panic!("./syslog is a file");
    };
    assert!(log.is_absolute() && log.ends_with("syslog"));
}

#[test]
fn the_audit_log_must_not_be_seen_through_the_mount() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().to_str().unwrap();
    std::fs::create_dir(place.path().join("sub")).unwrap();
    for log in ["log", "sub/log"] {
        let log = place.path().join(log);
        let line = [directory, directory, "--audit-log", log.to_str().unwrap()];
        let error = mount(typed(&line)).unwrap_err();
        assert!(
            error.message.ends_with(" is inside the mount point"),
            "{error}"
        );
    }
}

/// There, users of the mount could put a link in its place, for root to write through.
#[test]
fn the_audit_log_must_not_be_in_the_backing_directory() {
    let place = tempfile::tempdir().unwrap();
    let [backing, mountpoint] = ["b", "m"].map(|name| place.path().join(name));
    std::fs::create_dir(&backing).unwrap();
    std::fs::create_dir(&mountpoint).unwrap();
    let log = backing.join("log");
    let line = [&backing, &mountpoint, &log].map(|path| path.to_str().unwrap());
    let error = mount(typed(&[line[0], line[1], "--audit-log", line[2]])).unwrap_err();
    assert!(
        error.message.ends_with(" is inside the backing directory"),
        "{error}"
    );
}

#[test]
fn less_and_more_can_be_said() {
    let verbosity = |options: &[&str]| {
        let words = [&["utf8fs", "mount", "b", "m"], options].concat();
        Cli::try_parse_from(words).unwrap().common.verbosity()
    };
    assert_eq!(verbosity(&["-q"]), LevelFilter::Warn);
    assert_eq!(verbosity(&["-v"]), LevelFilter::Debug);
    assert_eq!(verbosity(&["-vv"]), LevelFilter::Trace);
}

#[test]
fn of_foreground_and_background_the_later_holds() {
    let typed = |options: &[&str]| typed(&[&["b", "m"], options].concat()).background;
    assert!(typed(&["-f", "--background"]));
    assert!(!typed(&["--background", "-f"]));
}
