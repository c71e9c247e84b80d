//! Law N9: new names that are made, refused, and exempt, and what the audit log takes of them.

use std::sync::Arc;

use rustix::io::Errno;

use super::{Exemptions, Legacy, Scratch, map};
use crate::at::{self, Make};
use crate::names::Quoted;
use crate::names::rules::{Exempt, Verdict};
use crate::policy::{Alike, RuleName};
use crate::records::Name;

fn escaping(exempt: Exemptions, unique: Option<Alike>) -> Scratch {
    let below = Arc::new(tempfile::tempdir().unwrap());
    Scratch::of(below, exempt, map(Legacy::Escape, &[]), unique)
}

fn exempting(uids: &[u32], patterns: &[&str]) -> Exemptions {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.into()).collect();
    Exemptions::new(uids.iter().copied(), &patterns).unwrap()
}

/// Law N9: a name that conforms is made without a word, whatever it looks like.
#[test]
fn names_that_conform_are_made_and_not_recorded() {
    let names = [
        "é",
        "e\u{301}",
        "100%",
        "%E9",
        "~x",
        "名前.txt",
        "\u{1F600}",
        "a b",
        "%",
    ];
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
    for (number, name) in names.iter().enumerate() {
        for make in Make::ALL {
            let label = make.label();
            let (dir, below) = scratch.directory(format!("{label}{number}").as_bytes());
            at::write_new(&below, Make::SOURCE, b"").unwrap();
            let made = dir.make(make, name.as_bytes());
            assert_eq!(made, Ok(()), "{label} of {name}");
            let is_there = at::list(&below).contains(&name.as_bytes().to_vec());
            assert!(is_there, "{label} of {name}");
        }
    }
    assert_eq!(scratch.records().len(), 0);
}

/// Law N9: every octet as a new name. `.` and `/` are no names, and the kernel asks for neither.
#[test]
fn every_single_octet_as_a_new_name_is_made_where_it_is_ascii() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
    for octet in (1..=255_u8).filter(|octet| !b"./".contains(octet)) {
        let expected = match octet.is_ascii() {
            true => Ok(()),
            false => Err(Errno::ILSEQ),
        };
        assert_eq!(scratch.root().mkdir(&[octet]), expected, "{octet:02X}");
    }
    assert_eq!(at::list(scratch.below_dir()).len(), 127 - 2);
    assert_eq!(scratch.records().len(), 128);
}

/// Outside of what is exempt names are refused as ever.
#[test]
fn what_is_not_exempt_is_judged_as_ever() {
    let exempt = exempting(&[4_000_000, 4_000_001], &["/backups/**", "*.tmp"]);
    let scratch = escaping(exempt, None);
    let [(backups, _), (other, _)] =
        [b"backups", &b"other"[..]].map(|name| scratch.directory(name));
    scratch.root().mkdir(b"\xFF.tmp").unwrap();
    other.mkdir(b"\xFF.tmp").unwrap();
    for (dir, name, errno) in [
        (other, &b"\xFF"[..], Errno::ILSEQ),
        (other, b"\xFF.tmp2", Errno::ILSEQ),
        (backups, &[0xFF; 256], Errno::NAMETOOLONG),
    ] {
        assert_eq!(dir.mkdir(name), Err(errno), "{}", Quoted(name));
    }
    // A rename out of what is exempt makes a new name.
    backups.mkdir(b"\xFF").unwrap();
    let moved = |name| backups.rename_into(b"\xFF", other, name, 0);
    assert_eq!(moved(b"\xFF"), Err(Errno::ILSEQ));
    moved(b"new").unwrap();
    let records = scratch.records();
    let verdicts: Vec<_> = records
        .iter()
        .map(|record| (record.verdict, record.exempt))
        .collect();
    let passed = (Verdict::Reported, Some(Exempt::Path));
    let refused = (Verdict::Refused, None);
    assert_eq!(
        verdicts,
        [passed, passed, refused, refused, refused, passed, refused]
    );
}

/// A name that is like a sibling's is let through too, and which sibling that is goes to the log.
#[test]
fn clashes_are_exempt_too() {
    let exempt = exempting(&[], &["*.bak", "/README"]);
    let scratch = escaping(exempt, Some(Alike::Casefold));
    at::write_new(scratch.below_dir(), b"readme", b"").unwrap();
    let dir = scratch.root();
    dir.mkdir(b"README").unwrap();
    assert_eq!(dir.mkdir(b"ReadMe"), Err(Errno::EXIST));
    assert_eq!(dir.sorted(), [&b"README"[..], b"readme"]);
    let records = scratch.records();
    let [passed, refused] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!(passed.verdict, Verdict::Reported);
    assert_eq!(passed.exempt, Some(Exempt::Path));
    assert_eq!(passed.rule, RuleName::NotUnique);
    assert_eq!(passed.sibling, Some(Name::from(b"readme")));
    assert_eq!(passed.visible, Some(Name::from(b"README")));
    assert_eq!((refused.verdict, refused.exempt), (Verdict::Refused, None));
}
