//! Law N9, `--unique`: a new name that differs from a sibling in case or form alone is refused; what was made so below
//! stays as it is.

use rustix::io::Errno;

use super::{Scratch, map};
use crate::at::{self, Make};
use crate::backing::Stat;
use crate::codec::{Encoding, Form};
use crate::fs::audit::Verdict;
use crate::names::{Legacy, NameMap, OnViolation, Quoted};
use crate::policy::{Alike, Policy, RuleName};
use crate::records::OffenceRecord;

/// A sibling, a new name, and whether the new one is refused by `casefold` and by `nfc`.
const ROWS: &[(&str, &str, bool, bool)] = &[
    ("readme", "README", true, false),
    ("readme", "readme.txt", false, false),
    ("straße", "STRASSE", true, false),
    ("STRAẞE", "strasse", true, false),
    ("σς", "ΣΣ", true, false),
    ("İ", "i\u{307}", true, false),
    ("i", "ı", false, false),
    ("\u{212A}", "k", true, false),
    // KELVIN SIGN and K are canonical equivalents
    ("\u{212A}", "K", true, true),
    ("\u{212B}", "Å", true, true),
    ("Å", "a\u{30A}", true, false),
    ("ﬁ", "FI", true, false),
    ("é", "e\u{301}", true, true),
    ("한", "\u{1112}\u{1161}\u{11AB}", true, true),
    ("ệ", "E\u{302}\u{323}", true, false),
    ("ệ", "e\u{302}\u{323}", true, true),
    ("Ꭰ", "\u{AB70}", true, false),
    ("\u{10400}", "\u{10428}", true, false),
    ("²", "2", false, false),
];

fn assert_record(
    record: &OffenceRecord,
    sibling: &[u8],
    name: &[u8],
    alike: Alike,
    verdict: Verdict,
) {
    assert_eq!(record.rule, RuleName::NotUnique);
    assert_eq!(record.kind.as_deref(), Some(alike.into()));
    assert_eq!(record.verdict, verdict);
    assert_eq!(record.name.as_bytes(), name);
    assert_eq!(record.sibling, Some(sibling.into()));
    assert_eq!(record.accepted, None);
    assert!(record.length > 0 && record.offset + record.length <= name.len());
}

fn casefold(map: NameMap, names: &[&[u8]]) -> Scratch {
    Scratch::over(map, Some(Alike::Casefold), names)
}

/// Each row by each operation that makes a name.
#[test]
fn names_that_are_like_a_sibling_are_refused_by_every_operation() {
    for alike in [Alike::Casefold, Alike::Nfc] {
        let scratch = Scratch::over(map(Legacy::Escape, &[]), Some(alike), &[]);
        let mut refused = Vec::new();
        for (row, &(sibling, name, casefold, nfc)) in ROWS.iter().enumerate() {
            for make in Make::ALL {
                let label = make.label();
                let (dir, below) = scratch.directory(format!("{row}-{label}").as_bytes());
                at::write_new(&below, sibling.as_bytes(), b"sibling").unwrap();
                at::write_new(&below, Make::SOURCE, b"source").unwrap();
                let what = format!("{label} of {name} beside {sibling}, {alike:?}");
                let result = dir.make(make, name.as_bytes());
                let mut expected = vec![sibling.as_bytes(), Make::SOURCE];
                if if alike == Alike::Casefold {
                    casefold
                } else {
                    nfc
                } {
                    assert_eq!(result, Err(Errno::EXIST), "{what}");
                    refused.push((sibling, name, make));
                } else {
                    assert_eq!(result, Ok(()), "{what}");
                    expected.push(name.as_bytes());
                    expected.retain(|name| make != Make::Rename || *name != Make::SOURCE);
                }
                expected.sort_unstable();
                assert_eq!(at::sorted(&below), expected, "{what}");
                // The name itself is there, which is no clash.
                assert_eq!(dir.mkdir(sibling.as_bytes()), Err(Errno::EXIST));
            }
        }
        let records = scratch.records();
        assert_eq!(records.len(), refused.len());
        for (record, (sibling, name, make)) in records.iter().zip(refused) {
            let (sibling, name) = (sibling.as_bytes(), name.as_bytes());
            assert_record(record, sibling, name, alike, Verdict::Refused);
            assert_eq!(record.errno.as_deref(), Some("EEXIST"));
            assert_eq!(<&str>::from(record.operation), make.label());
        }
    }
}

/// What has the name itself is opened, refused or replaced as ever, and an entry may change the case of its own name.
#[test]
fn the_name_itself_and_its_own_other_case_are_no_clash() {
    let scratch = casefold(map(Legacy::Escape, &[]), &[b"readme", b"other"]);
    scratch.directory(b"Sub");
    let dir = scratch.root();
    dir.write(b"readme", b"").unwrap();
    assert_eq!(dir.write(b"README", b""), Err(Errno::EXIST));
    assert_eq!(dir.link(b"readme", b"README"), Err(Errno::EXIST));
    dir.rename(b"readme", b"ReadMe").unwrap();
    dir.rename(b"Sub", b"sub").unwrap();
    assert_eq!(dir.rename(b"other", b"README"), Err(Errno::EXIST));
    let no_replace = libc::RENAME_NOREPLACE;
    let refused = dir.rename_with(b"other", b"ReadMe", no_replace);
    assert_eq!(refused, Err(Errno::EXIST));
    dir.rename(b"other", b"ReadMe").unwrap();
    assert_eq!(dir.read(b"ReadMe").unwrap(), b"other");
    // What is gone is no sibling.
    dir.unlink(b"ReadMe").unwrap();
    dir.write_new(b"README", b"three").unwrap();
    dir.rename_with(b"README", b"sub", libc::RENAME_EXCHANGE)
        .unwrap();
    assert_eq!(dir.mkdir(b"SUB"), Err(Errno::EXIST));
    assert_eq!(at::sorted(scratch.below_dir()), [&b"README"[..], b"sub"]);
    assert_eq!(scratch.records().len(), 4);
}

/// A whiteout keeps the old name, so that the other case of it is a clash.
#[test]
fn a_name_that_a_whiteout_keeps_is_a_sibling() {
    let scratch = casefold(map(Legacy::Escape, &[]), &[b"a"]);
    let refused = scratch
        .root()
        .rename_with(b"a", b"A", libc::RENAME_WHITEOUT);
    assert_eq!(refused, Err(Errno::EXIST));
    assert_eq!(at::list(scratch.below_dir()), [b"a"]);
    assert_eq!(at::read(scratch.below_dir(), b"a").unwrap(), b"a");
}

/// Entries that were made so below are all shown, and each opens; they can be cleaned up.
#[test]
fn entries_that_are_alike_below_are_shown_and_open() {
    let names = ["a", "A", "é", "e\u{301}", "É"].map(str::as_bytes);
    let scratch = casefold(map(Legacy::Escape, &[]), &names);
    let (dir, below) = (scratch.root(), scratch.below_dir());
    assert_eq!(dir.sorted(), at::sorted(&below));
    for name in names {
        assert_eq!(dir.read(name).unwrap(), name, "{}", Quoted(name));
    }
    dir.rename(b"A", b"a").unwrap();
    assert_eq!(dir.read(b"a").unwrap(), b"A");
    assert_eq!(dir.create_new(b"A"), Err(Errno::EXIST));
    dir.unlink(b"a").unwrap();
    dir.write_new(b"A", b"").unwrap();
    let refused = dir.rename("é".as_bytes(), "E\u{301}".as_bytes());
    assert_eq!(refused, Err(Errno::EXIST), "like two others");
    // Another one made so below, once the clock has moved on, without which old kernels' ctime does not tell the change
    // from the one before.
    let last = Stat::of(&below).unwrap().ctime;
    let probe = tempfile::tempfile().unwrap();
    while Stat::of(&probe).unwrap().ctime <= last {
        rustix::io::pwrite(&probe, b"x", 0).unwrap();
    }
    at::write_new(&below, b"b", b"").unwrap();
    assert_eq!(dir.mkdir(b"B"), Err(Errno::EXIST));
    at::unlink(&below, b"b").unwrap();
    dir.mkdir(b"B").unwrap();
}

/// Names are compared as they are visible; those that are hidden, not at all.
#[test]
fn legacy_names_are_compared_as_they_are_visible() {
    // How legacy names are shown, from which charset, a new name, is it refused?
    let rows: [(Legacy, &[&str], &[u8], bool); 6] = [
        (Legacy::Decode, &["iso-8859-1"], "CAFÉ".as_bytes(), true),
        (Legacy::Decode, &["iso-8859-1"], b"cafe\xCC\x81", true),
        (Legacy::Escape, &[], b"CAF%e9", true),
        (Legacy::Escape, &[], "CAFÉ".as_bytes(), false),
        (Legacy::Raw, &[], b"CAF%e9", false),
        (Legacy::Hide, &[], b"CAF%e9", false),
    ];
    for (legacy, from, name, is_refused) in rows {
        let scratch = casefold(map(legacy, from), &[b"caf\xE9"]);
        let expected = match is_refused {
            true => Err(Errno::EXIST),
            false => Ok(()),
        };
        let made = scratch.root().mkdir(name);
        assert_eq!(made, expected, "{} with {legacy:?}", Quoted(name));
    }
}

/// `report` lets it through and says so.
#[test]
fn clashes_are_reported_under_report() {
    let report = NameMap {
        on_violation: OnViolation::Report,
        ..map(Legacy::Escape, &[])
    };
    let scratch = casefold(report, &[b"a"]);
    let dir = scratch.root();
    dir.mkdir(b"A").unwrap();
    dir.link(b"a", b"b").unwrap();
    dir.rename(b"A", b"B").unwrap();
    assert_eq!(dir.sorted(), [&b"B"[..], b"a", b"b"]);
    let records = scratch.records();
    let [first, second] = &records[..] else {
        panic!("{records:?}");
    };
    for (record, sibling, name) in [(first, b"a", b"A"), (second, b"b", b"B")] {
        assert_record(record, sibling, name, Alike::Casefold, Verdict::Reported);
        assert_eq!((&record.errno, record.exempt), (&None, None));
        assert_eq!(record.visible, Some(name.into()));
        assert_eq!(record.backing, Some(name.into()));
    }
}

/// `normalize` has nothing to make of it.
#[test]
fn clashes_are_refused_under_normalize() {
    let normalize = NameMap {
        policy: Policy {
            form: Some(Form::Nfc),
            ..Policy::default()
        },
        on_violation: OnViolation::Normalize,
        ..map(Legacy::Decode, &["iso-8859-1"])
    };
    let café = "café".as_bytes();
    let scratch = casefold(normalize, &[café]);
    let dir = scratch.root();
    // Other spellings of the name itself are the entry that is there.
    for own in [&b"caf\xE9"[..], b"cafe\xCC\x81"] {
        dir.rename(own, own).unwrap();
        assert_eq!(dir.create_new(own), Err(Errno::EXIST));
    }
    for other in [&b"CAF\xC9"[..], b"CAFE\xCC\x81", "CAFÉ".as_bytes()] {
        assert_eq!(
            dir.create_new(other),
            Err(Errno::EXIST),
            "{}",
            Quoted(other)
        );
    }
    assert_eq!(at::list(scratch.below_dir()), [café]);
    let records = scratch.records();
    assert_eq!(records.len(), 3);
    for record in &records {
        let name = record.name.as_bytes();
        assert_record(record, café, name, Alike::Casefold, Verdict::Refused);
    }
}

/// Where names are well-formed by an older definition, what is text by RFC 3629 has case.
#[test]
fn names_in_older_forms_are_compared_too() {
    let older = NameMap {
        policy: Policy {
            encoding: Encoding::Utf8Rfc2279,
            ..Policy::default()
        },
        ..map(Legacy::Escape, &[])
    };
    let scratch = casefold(older, &[b"a\xED\xA0\x80\xFD\xBF\xBF\xBF\xBF\xBF"]);
    let dir = scratch.root();
    let refused = dir.mkdir(b"A\xED\xA0\x80\xFD\xBF\xBF\xBF\xBF\xBF");
    assert_eq!(refused, Err(Errno::EXIST));
    dir.mkdir(b"A\xED\xA0\x81\xFD\xBF\xBF\xBF\xBF\xBF").unwrap();
}
