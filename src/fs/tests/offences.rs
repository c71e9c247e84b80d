//! Law N9: what does not conform is refused with the right errno and leaves nothing behind; law L2: each time there is
//! one record that says which name, which byte, which rule.

use rustix::io::Errno;

use super::{Scratch, map};
use crate::at::{self, Make};
use crate::codec::Form;
use crate::fs::audit::Verdict;
use crate::names::{Legacy, NameMap, OnViolation, Quoted};
use crate::offending::{FORBIDDEN, ILL_FORMED, OUT_OF_FORM, Row};
use crate::policy::{ErrnoChoice, Policy, Profile};
use crate::records::OffenceRecord;

fn check_rule(record: &OffenceRecord, &(name, rule, kind, offset, length, code_point): &Row) {
    let found = (<&str>::from(record.rule), record.kind.as_deref());
    assert_eq!(found, (rule, Some(kind)), "{}", Quoted(name));
    let place = [record.offset, record.length].map(|count| u64::try_from(count).unwrap());
    assert_eq!(place, [offset, length], "{}", Quoted(name));
    let spelled = code_point.map(|code| format!("U+{code:04X}"));
    assert_eq!(record.code_point, spelled, "{}", Quoted(name));
}

/// Every row by every operation: refused with `errno`, nothing left behind, one record.
fn assert_refused(map: &NameMap, rows: &[Row], errno: Errno, symbol: &str) {
    let scratch = Scratch::new(map.clone(), &[]);
    for (number, row) in rows.iter().enumerate() {
        for make in Make::ALL {
            let label = make.label();
            let name = row.0;
            let what = format!("{label} of {}", Quoted(name));
            let path = format!("d{number}-{label}");
            let (dir, below) = scratch.directory(path.as_bytes());
            at::write_new(&below, Make::SOURCE, b"content").unwrap();
            assert_eq!(dir.make(make, name), Err(errno), "{what}");
            assert_eq!(at::list(&below), [Make::SOURCE], "{what} left something");
            assert_eq!(at::read(&below, Make::SOURCE).unwrap(), b"content");
            let records = scratch.records();
            let [record] = &records[..] else {
                panic!("{what}: {records:?}");
            };
            check_rule(record, row);
            // A name is looked up before all else, and what is too long for any name ends there.
            let operation = match name.len() > 255 && row.1 == "too-long" {
                true => "lookup",
                false => label,
            };
            assert_eq!(<&str>::from(record.operation), operation, "{what}");
            assert_eq!(record.name.as_bytes(), name, "{what}");
            let path = [b"/", path.as_bytes(), b"/", name].concat();
            assert_eq!(record.path.as_bytes(), path, "{what}");
            assert_eq!(record.verdict, Verdict::Refused, "{what}");
            assert_eq!(record.errno.as_deref(), Some(symbol), "{what}");
            assert_eq!(record.backing, None, "{what}");
        }
    }
}

/// Names by this policy, escaped.
fn by(policy: Policy) -> NameMap {
    NameMap {
        policy,
        ..map(Legacy::Escape, &[])
    }
}

fn with_errno(errno: ErrnoChoice) -> NameMap {
    NameMap {
        errno,
        ..map(Legacy::Escape, &[])
    }
}

/// Law N9: EILSEQ for what is ill-formed, by every operation that makes a name.
#[test]
fn ill_formed_names_are_refused_by_every_operation() {
    let map = map(Legacy::Escape, &[]);
    assert_refused(&map, ILL_FORMED, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: a charset to decode old names from does not make new ones conform.
#[test]
fn ill_formed_names_are_refused_where_a_charset_could_decode_them() {
    let map = map(Legacy::Decode, &["windows-1252", "iso-8859-1"]);
    assert_refused(&map, ILL_FORMED, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: EILSEQ for forbidden characters and shapes, in the order of rules of the decisions.
#[test]
fn forbidden_names_are_refused_by_every_operation() {
    let portable = by(Profile::Portable.policy());
    assert_refused(&portable, FORBIDDEN, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: EILSEQ for names out of the wanted form, where no other spelling of them exists (N10).
#[test]
fn names_out_of_form_are_refused_by_every_operation() {
    let nfc = by(Policy {
        form: Some(Form::Nfc),
        ..Policy::default()
    });
    assert_refused(&nfc, OUT_OF_FORM, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: the errno of a refusal can be set.
#[test]
fn the_errno_of_a_refusal_can_be_chosen() {
    let rows = [
        (ErrnoChoice::Einval, Errno::INVAL, "EINVAL"),
        (ErrnoChoice::Eperm, Errno::PERM, "EPERM"),
        (ErrnoChoice::Eilseq, Errno::ILSEQ, "EILSEQ"),
        (
            ErrnoChoice::Enametoolong,
            Errno::NAMETOOLONG,
            "ENAMETOOLONG",
        ),
    ];
    for (choice, errno, symbol) in rows {
        assert_refused(&with_errno(choice), &ILL_FORMED[..2], errno, symbol);
    }
}

/// Law N9: ENAMETOOLONG for what is too long, whatever the errno of other refusals.
#[test]
fn too_long_names_are_refused_by_every_operation() {
    let assert_too_long = |map: &NameMap, name: &'static [u8], kind, offset, length| {
        let row = (name, "too-long", kind, offset, length, None);
        assert_refused(map, &[row], Errno::NAMETOOLONG, "ENAMETOOLONG");
    };
    let choices = [
        ErrnoChoice::Eilseq,
        ErrnoChoice::Einval,
        ErrnoChoice::Eperm,
        ErrnoChoice::Enametoolong,
    ];
    for map in choices.map(with_errno) {
        assert_too_long(&map, &[b'a'; 256], "bytes", 255, 1);
        assert_too_long(&map, &[b'a'; 300], "bytes", 255, 45);
    }
    let forty_bytes = by(Policy {
        max_bytes: 40,
        ..Policy::default()
    });
    let name = b"a long name of forty-one bytes, no more\xC3\xA9";
    assert_too_long(&forty_bytes, name, "bytes", 39, 2);
    // These are 25 characters of two octets each.
    let few_characters = by(Policy {
        max_chars: Some(24),
        ..Policy::default()
    });
    let name = "é".repeat(25).leak().as_bytes();
    assert_too_long(&few_characters, name, "chars", 48, 2);
}

/// Law N9: the rules are looked at in the order ill-formed, too long, forbidden, not normalized.
#[test]
fn the_first_rule_broken_is_the_one_named() {
    let long: &'static [u8] = [&b"-e\xCC\x81"[..], &[b'a'; 252]].concat().leak();
    let ill: &'static [u8] = [&[b'a'; 254][..], b"\xE9\xE9"].concat().leak();
    let dashed: &'static [u8] = b"-e\xCC\x81";
    let safe_nfc = by(Policy {
        form: Some(Form::Nfc),
        ..Profile::Safe.policy()
    });
    let rows = [(ill, "ill-formed", "truncated", 254, 1, None)];
    assert_refused(&safe_nfc, &rows, Errno::ILSEQ, "EILSEQ");
    let rows = [(long, "too-long", "bytes", 255, 1, None)];
    assert_refused(&safe_nfc, &rows, Errno::NAMETOOLONG, "ENAMETOOLONG");
    let rows = [(dashed, "forbidden", "leading-dash", 0, 1, Some(0x2D))];
    assert_refused(&safe_nfc, &rows, Errno::ILSEQ, "EILSEQ");
}

/// Law N9, `normalize`: where a name stands for no conforming one it is refused.
#[test]
fn names_that_stand_for_no_conforming_one_are_refused_under_normalize() {
    let normalizing = |policy| NameMap {
        on_violation: OnViolation::Normalize,
        ..by(policy)
    };
    let plain = normalizing(Policy::default());
    assert_refused(&plain, ILL_FORMED, Errno::ILSEQ, "EILSEQ");
    let rows = [
        (&b"a b"[..], "forbidden", "not-posix", 1, 1, Some(0x20)),
        (b"100%", "forbidden", "not-posix", 3, 1, Some(0x25)),
        (b"x~", "forbidden", "not-posix", 1, 1, Some(0x7E)),
        ("é".as_bytes(), "forbidden", "not-posix", 0, 2, Some(0xE9)),
    ];
    let posix = normalizing(Profile::Posix.policy());
    assert_refused(&posix, &rows, Errno::ILSEQ, "EILSEQ");
}
