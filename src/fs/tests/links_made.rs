//! Law N13: symlinks that are made, and what they lead to below.

use std::sync::Arc;

use rustix::io::Errno;

use super::{Exemptions, Legacy, NameMap, OnViolation, Operation, Scratch, in_form, in_mode, map};
use crate::at;
use crate::codec::Form;
use crate::names::rules::Verdict;
use crate::policy::{Policy, RuleName};
use crate::records::Name;

fn latin() -> NameMap {
    map(Legacy::Decode, &["iso-8859-1"])
}

/// N9 in a target: refused with the path of the link and the name in the target, or normalized, or reported.
#[test]
fn names_in_targets_that_do_not_conform_are_refused_or_normalized_or_reported() {
    let target = b"plain/nix/n\xEFx/\xFF";
    let normalized = "plain/nix/nïx/ÿ".as_bytes();
    for (what, made, verdict) in [
        (OnViolation::Reject, None, Verdict::Refused),
        (
            OnViolation::Normalize,
            Some(normalized),
            Verdict::Normalized,
        ),
        (OnViolation::Report, Some(&target[..]), Verdict::Reported),
    ] {
        let scratch = Scratch::new(in_mode(what, latin()), &[]).with_legacy_tree();
        let dir = scratch.root();
        let result = dir.sub(b"plain").symlink(target, b"link");
        assert_eq!(result.err(), made.is_none().then_some(Errno::ILSEQ));
        let stored = scratch.readlink_below(b"plain/link");
        assert_eq!(stored.ok().as_deref(), made);
        // Out of the mount anything goes.
        dir.symlink(b"/n\xEFx", b"out").unwrap();
        assert_eq!(dir.readlink(b"out").unwrap(), b"/n\xEFx");
        let records = scratch.records();
        let [record] = &records[..] else {
            panic!("{what:?}: {records:?}");
        };
        assert_eq!(
            (record.operation, record.verdict),
            (Operation::Symlink, verdict)
        );
        assert_eq!((record.rule, record.offset), (RuleName::IllFormed, 1));
        assert_eq!(record.path.as_bytes(), b"/plain/link");
        assert_eq!(record.name.as_bytes(), b"n\xEFx");
        let accepted = "nïx".as_bytes();
        assert_eq!(record.accepted, Some(Name::from(accepted)));
        assert_eq!(record.errno.is_none(), made.is_some());
        let stored = if what == OnViolation::Report {
            b"n\xEFx"
        } else {
            accepted
        };
        assert_eq!(record.backing, made.map(|_| Name::from(stored)));
    }
}

/// N10 in a target: another spelling of an entry that is there is no offence.
#[test]
fn another_spelling_in_a_target_names_the_entry() {
    let map = in_mode(OnViolation::Normalize, in_form(Form::Nfc, latin()));
    let scratch = Scratch::new(map, &[]).with_legacy_tree();
    let dir = scratch.root();
    let visible = "dé/fé".as_bytes();
    let spellings = [&b"d\xE9/f\xE9"[..], b"de\xCC\x81/fe\xCC\x81", visible];
    for (number, spelling) in spellings.into_iter().enumerate() {
        let link = format!("l{number}").into_bytes();
        dir.symlink(spelling, &link).unwrap();
        assert_eq!(scratch.readlink_below(&link).unwrap(), b"d\xE9/f\xE9");
        assert_eq!(dir.readlink(&link).unwrap(), visible);
    }
    assert_eq!(scratch.records().len(), 0);
}

/// A target that outgrows `PATH_MAX` below is not made.
#[test]
fn a_target_too_long_below_is_refused() {
    let policy = Policy {
        max_bytes: 32,
        ..Policy::default()
    };
    let map = NameMap {
        policy,
        ..map(Legacy::Escape, &[])
    };
    let scratch = Scratch::new(map, &[]);
    at::mkdir(scratch.below_dir(), &[b'x'; 255]).unwrap();
    let [visible] = &scratch.list()[..] else {
        panic!("one entry");
    };
    let times = |count: usize| [visible, &b"/../"[..]].concat().repeat(count);
    let dir = scratch.root();
    dir.symlink(&times(15), b"fits").unwrap();
    assert_eq!(dir.readlink(b"fits").unwrap(), times(15));
    assert_eq!(dir.symlink(&times(16), b"long"), Err(Errno::NAMETOOLONG));
}

/// Whatever is made is read back as it was made, and leads below to where it leads above.
#[test]
fn what_is_made_is_read_back() {
    let scratch = Scratch::new(latin(), &[]).with_legacy_tree();
    let dir = scratch.root().sub(b"plain");
    let parts = [
        "dé", "fé", "sub", "séb", "plain", "é", "café", "nix", "%E9", "back", "hop", "hép", ".",
        "", "..",
    ];
    // The number of parts, and every how many-th path of so many is made.
    for (count, step) in [(1, 1), (2, 1), (3, 7), (4, 101), (5, 1511)] {
        for round in (0..parts.len().pow(count)).step_by(step) {
            let part = |place| parts[round / parts.len().pow(place) % parts.len()];
            let target = (0..count).map(part).collect::<Vec<_>>().join("/");
            if target.is_empty() || target.starts_with('/') {
                continue;
            }
            let name = format!("l{count}.{round}");
            dir.symlink(target.as_bytes(), name.as_bytes()).unwrap();
            let read = dir.readlink(name.as_bytes()).unwrap();
            assert_eq!(
                read.escape_ascii().to_string(),
                target.as_bytes().escape_ascii().to_string()
            );
            let link = format!("plain/{name}").into_bytes();
            let stored = scratch.readlink_below(&link).unwrap();
            // One that leads out is stored as it is, and leads elsewhere from elsewhere.
            if stored != target.as_bytes() || target.is_ascii() && !target.contains("..") {
                let direct = scratch.follow(format!("plain/{target}").as_bytes());
                assert_eq!(scratch.follow(&link), direct, "{target}");
                assert_eq!(scratch.follow_below(&link), direct, "{target}");
            }
        }
    }
}

/// Laws N13 and F1: a component longer than any name leads nowhere, and is made and read as it is, as natively.
#[test]
fn a_component_longer_than_any_name_is_made_and_read_as_it_is() {
    let long = "n".repeat(256);
    let text = "é".repeat(1000);
    let same = |target: String| (target.clone(), target.into_bytes());
    let rows = [
        same(long.clone()),
        same(text),
        same(format!("plain/{long}/x")),
        (format!("dé/{long}"), [b"d\xE9/", long.as_bytes()].concat()),
        (
            format!("{long}/../café"),
            [long.as_bytes(), b"/../caf\xE9"].concat(),
        ),
        same("n".repeat(4095)),
    ];
    let short = Policy {
        max_bytes: 100,
        ..Policy::default()
    };
    let below = Scratch::new(latin(), &[]).with_legacy_tree().below;
    for map in [
        latin(),
        NameMap {
            policy: short,
            ..latin()
        },
        in_form(Form::Nfc, latin()),
        in_mode(OnViolation::Report, latin()),
    ] {
        let what = format!("{map:?}");
        let scratch = Scratch::of(Arc::clone(&below), Exemptions::default(), map, None);
        let dir = scratch.root();
        for (target, expected) in &rows {
            dir.symlink(target.as_bytes(), b"long").unwrap();
            let stored = scratch.readlink_below(b"long").unwrap();
            assert_eq!(stored, *expected, "{what}");
            let read = dir.readlink(b"long").unwrap();
            assert_eq!(read, target.as_bytes(), "{what}");
            dir.unlink(b"long").unwrap();
        }
        scratch.symlink_below(long.as_bytes(), b"long");
        assert_eq!(scratch.follow(b"long"), scratch.follow_below(b"long"));
        dir.unlink(b"long").unwrap();
        // What is ill-formed is an offence, of whatever length.
        if scratch.fs.map.on_violation != OnViolation::Report {
            let target = [b"\xFF", long.as_bytes()].concat();
            assert_eq!(dir.symlink(&target, b"ill"), Err(Errno::ILSEQ));
        }
    }
}
