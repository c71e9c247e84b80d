//! Law N9: what does not conform is refused with the right errno and leaves nothing behind; law L2: each time there is
//! one record that says which name, which byte, which rule.

use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::audit::Record;
use crate::support::{Tree, show};

/// A name that breaks a rule: the name, rule, kind, offset and length of the offence, the code point it spells.
pub(super) type Row = (
    &'static [u8],
    &'static str,
    &'static str,
    u64,
    u64,
    Option<u64>,
);

/// One name, or more, of each class of ill-formed UTF-8.
pub(super) const ILL_FORMED: &[Row] = &[
    (b"\x80", "ill-formed", "unexpected-continuation", 0, 1, None),
    (
        b"ab\xBFz",
        "ill-formed",
        "unexpected-continuation",
        2,
        1,
        None,
    ),
    // The third octet continues nothing.
    (
        b"\xC3\xA9\xA9",
        "ill-formed",
        "unexpected-continuation",
        2,
        1,
        None,
    ),
    (b"\xFE", "ill-formed", "invalid-byte", 0, 1, None),
    (b"a\xFF", "ill-formed", "invalid-byte", 1, 1, None),
    (b"\xC0z", "ill-formed", "invalid-byte", 0, 1, None),
    (
        b"abc\xF5\x80\x80\x80",
        "ill-formed",
        "invalid-byte",
        3,
        1,
        None,
    ),
    // Six octets, which were U+7FFFFFFF until 2003.
    (
        b"\xFD\xBF\xBF\xBF\xBF\xBF",
        "ill-formed",
        "invalid-byte",
        0,
        1,
        None,
    ),
    // Latin-1.
    (b"caf\xE9", "ill-formed", "truncated", 3, 1, None),
    (b"caf\xE9.txt", "ill-formed", "truncated", 3, 1, None),
    (b"\xE2\x82", "ill-formed", "truncated", 0, 2, None),
    (b"x\xF0\x9F\x98y", "ill-formed", "truncated", 1, 3, None),
    // `/`, NUL and `.` in disguise.
    (b"\xC0\xAF", "ill-formed", "overlong", 0, 2, Some(0x2F)),
    (b"etc\xC0\x80", "ill-formed", "overlong", 3, 2, Some(0)),
    (
        b"\xC0\xAE\xC0\xAE\xC0\xAFetc",
        "ill-formed",
        "overlong",
        0,
        2,
        Some(0x2E),
    ),
    (b"\xE0\x80\xAF", "ill-formed", "overlong", 0, 3, Some(0x2F)),
    (
        b"\xF0\x80\x80\xAF",
        "ill-formed",
        "overlong",
        0,
        4,
        Some(0x2F),
    ),
    (b"\xC1\xBF", "ill-formed", "overlong", 0, 2, Some(0x7F)),
    (b"\xE0\x9F\xBF", "ill-formed", "overlong", 0, 3, Some(0x7FF)),
    (
        b"\xF0\x8F\xBF\xBF",
        "ill-formed",
        "overlong",
        0,
        4,
        Some(0xFFFF),
    ),
    // CESU-8 of U+10000.
    (
        b"\xED\xA0\x80\xED\xB0\x80",
        "ill-formed",
        "surrogate",
        0,
        3,
        Some(0xD800),
    ),
    (
        b"--\xED\xBF\xBF",
        "ill-formed",
        "surrogate",
        2,
        3,
        Some(0xDFFF),
    ),
    (
        b"\xF4\x90\x80\x80",
        "ill-formed",
        "out-of-range",
        0,
        4,
        Some(0x11_0000),
    ),
];

/// What the profile `portable` with `--normalization nfc` forbids besides.
pub(super) const FORBIDDEN: &[Row] = &[
    (b"a\x1Bb", "forbidden", "control", 1, 1, Some(0x1B)),
    (b"\x7F", "forbidden", "control", 0, 1, Some(0x7F)),
    (b"a\xC2\x9Bb", "forbidden", "control", 1, 2, Some(0x9B)),
    (
        b"a\xE2\x80\xA8b",
        "forbidden",
        "newline",
        1,
        3,
        Some(0x2028),
    ),
    (
        b"abc\xE2\x80\xAEtxt",
        "forbidden",
        "bidi",
        3,
        3,
        Some(0x202E),
    ),
    (b"\xE2\x81\xA6x", "forbidden", "bidi", 0, 3, Some(0x2066)),
    (b"-rf", "forbidden", "leading-dash", 0, 1, Some(0x2D)),
    (b" x", "forbidden", "edge-space", 0, 1, Some(0x20)),
    (
        b"x\xE3\x80\x80",
        "forbidden",
        "edge-space",
        1,
        3,
        Some(0x3000),
    ),
    (b"a:b", "forbidden", "windows", 1, 1, Some(0x3A)),
    (b"x?", "forbidden", "windows", 1, 1, Some(0x3F)),
    (b"a\\b", "forbidden", "windows", 1, 1, Some(0x5C)),
    (b"x.", "forbidden", "windows", 1, 1, Some(0x2E)),
];

/// Names out of normalization form C.
const OUT_OF_FORM: &[Row] = &[
    (b"e\xCC\x81", "not-normalized", "nfc", 0, 3, None),
    (b"ab\xE2\x84\xAB", "not-normalized", "nfc", 1, 4, None),
];

/// Makes each name by each operation, each in a directory of its own so that no record is left out (law L3), and
/// returns what the system said.
pub(super) fn make_all(
    tree: &Tree,
    options: &[&str],
    names: &[Vec<u8>],
) -> (Vec<Done>, Vec<Record>) {
    for number in 0..names.len() * Make::ALL.len() {
        let dir = tree.directory(format!("d{number}").as_bytes());
        at::write_new(&dir, Make::SOURCE, b"content").unwrap();
    }
    let mount = tree.mount(options);
    let mut done = Vec::new();
    for name in names {
        for make in Make::ALL {
            let dir = format!("d{}", done.len());
            let result = make.run(mount.sub(&dir), name);
            done.push((make, name.clone(), dir, result));
        }
    }
    (done, mount.stop())
}

/// The operation, the name, the directory, and what came of it.
pub(super) type Done = (Make, Vec<u8>, String, at::Result<()>);

/// The one record of an attempt.
pub(super) fn only_record<'r>(records: &'r [Record], (make, name, dir, _): &Done) -> &'r Record {
    let path = [b"/", dir.as_bytes(), b"/", name].concat();
    let mut of_it = records
        .iter()
        .filter(|record| record.name("path").as_ref() == Some(&path));
    let what = format!("{} of {}", make.label(), show(name));
    let record = of_it
        .next()
        .unwrap_or_else(|| panic!("no record of the {what}"));
    assert!(of_it.next().is_none(), "more than one record of the {what}");
    // The kernel looks a name up before all else, and what is too long for any name ends there.
    let operation = match record.text("rule") == "too-long" && name.len() > 255 {
        true => "lookup",
        false => make.label(),
    };
    assert_eq!(record.text("operation"), operation, "{what}");
    assert_eq!(record.name("name").as_ref(), Some(name), "{what}");
    record
}

pub(super) fn check_rule(record: &Record, &(name, rule, kind, offset, length, code_point): &Row) {
    let name = show(name);
    assert_eq!(record.text("rule"), rule, "{name}");
    assert_eq!(record.text("kind"), kind, "{name}");
    assert_eq!(record.number("offset"), offset, "{name}");
    assert_eq!(record.number("length"), length, "{name}");
    let spelled = code_point.map(|c| format!("U+{c:04X}"));
    assert_eq!(
        record.0["code_point"].as_str(),
        spelled.as_deref(),
        "{name}"
    );
}

pub(super) fn names_of(rows: &[Row]) -> Vec<Vec<u8>> {
    rows.iter().map(|row| row.0.to_vec()).collect()
}

/// Nothing is made, and what was there is as it was.
fn assert_untouched(tree: &Tree, dir: &str, what: &str) {
    let below = at::open_dir(tree.below_dir(), dir.as_bytes()).unwrap();
    assert_eq!(at::list(&below), [Make::SOURCE], "{what} left something");
    assert_eq!(at::read(&below, Make::SOURCE).unwrap(), b"content");
}

/// Every row by every operation: refused with `errno`, nothing left behind, one record.
fn assert_refused(options: &[&str], rows: &[Row], errno: Errno, symbol: &str) {
    let tree = Tree::new();
    let (done, records) = make_all(&tree, options, &names_of(rows));
    assert_eq!(records.len(), done.len(), "one record for each attempt");
    for (number, attempt) in done.iter().enumerate() {
        let row = &rows[number / Make::ALL.len()];
        let (make, name, dir, result) = attempt;
        let what = format!("{} of {}", make.label(), show(name));
        assert_eq!(*result, Err(errno), "{what}");
        assert_untouched(&tree, dir, &what);
        let record = only_record(&records, attempt);
        check_rule(record, row);
        assert_eq!(record.text("verdict"), "refused", "{what}");
        assert_eq!(record.text("errno"), symbol, "{what}");
        assert_eq!(record.name("backing"), None, "{what}");
    }
}

/// Law N9: EILSEQ for what is ill-formed, by every operation that makes a name.
#[test]
fn ill_formed_names_are_refused_by_every_operation() {
    assert_refused(&[], ILL_FORMED, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: a charset to decode old names from does not make new ones conform.
#[test]
fn ill_formed_names_are_refused_where_a_charset_could_decode_them() {
    let options = ["--from", "windows-1252,iso-8859-1"];
    assert_refused(&options, ILL_FORMED, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: EILSEQ for forbidden characters and shapes, in the order of rules of the decisions.
#[test]
fn forbidden_names_are_refused_by_every_operation() {
    let options = ["--profile", "portable"];
    assert_refused(&options, FORBIDDEN, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: EILSEQ for names out of the wanted form, where no other spelling of them exists (N10).
#[test]
fn names_out_of_form_are_refused_by_every_operation() {
    let options = ["--normalization", "nfc"];
    assert_refused(&options, OUT_OF_FORM, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: the errno of a refusal can be set.
#[test]
fn the_errno_of_a_refusal_can_be_chosen() {
    let rows = &ILL_FORMED[..2];
    assert_refused(&["--errno", "einval"], rows, Errno::INVAL, "EINVAL");
    assert_refused(&["--errno", "eperm"], rows, Errno::PERM, "EPERM");
    assert_refused(&["--errno", "eilseq"], rows, Errno::ILSEQ, "EILSEQ");
    let too_long = &["--errno", "enametoolong"];
    assert_refused(too_long, rows, Errno::NAMETOOLONG, "ENAMETOOLONG");
}

/// Law N9: ENAMETOOLONG for what is too long, whatever the errno of other refusals.
#[test]
fn too_long_names_are_refused_by_every_operation() {
    let row =
        |name: &'static [u8], offset, length| (name, "too-long", "bytes", offset, length, None);
    let rows = [row(&[b'a'; 256], 255, 1), row(&[b'a'; 300], 255, 45)];
    for errno in ["eilseq", "einval", "eperm", "enametoolong"] {
        let options = ["--errno", errno];
        assert_refused(&options, &rows, Errno::NAMETOOLONG, "ENAMETOOLONG");
    }
    let rows = [row(
        b"a long name of forty-one bytes, no more\xC3\xA9",
        39,
        2,
    )];
    let options = ["--max-bytes", "40"];
    assert_refused(&options, &rows, Errno::NAMETOOLONG, "ENAMETOOLONG");
    // 24 characters are allowed, and these are 25 of two octets each.
    let name: &'static [u8] = "é".repeat(25).leak().as_bytes();
    let rows = [(name, "too-long", "chars", 48, 2, None)];
    let options = ["--max-chars", "24"];
    assert_refused(&options, &rows, Errno::NAMETOOLONG, "ENAMETOOLONG");
}

/// Law N9: the rules are looked at in the order ill-formed, too long, forbidden, not normalized.
#[test]
fn the_first_rule_broken_is_the_one_named() {
    let long: &'static [u8] = &[&b"-e\xCC\x81"[..], &[b'a'; 252]].concat().leak()[..];
    let ill: &'static [u8] = &[&[b'a'; 254][..], b"\xE9\xE9"].concat().leak()[..];
    let options = ["--profile", "safe", "--normalization", "nfc"];
    let rows = [(ill, "ill-formed", "truncated", 254, 1, None)];
    assert_refused(&options, &rows, Errno::ILSEQ, "EILSEQ");
    let rows = [(long, "too-long", "bytes", 255, 1, None)];
    assert_refused(&options, &rows, Errno::NAMETOOLONG, "ENAMETOOLONG");
    let rows = [(
        &b"-e\xCC\x81"[..],
        "forbidden",
        "leading-dash",
        0,
        1,
        Some(0x2D),
    )];
    assert_refused(&options, &rows, Errno::ILSEQ, "EILSEQ");
}

/// Law N9, `normalize`: where a name stands for no conforming one it is refused.
#[test]
fn names_that_stand_for_no_conforming_one_are_refused_under_normalize() {
    let options = ["--on-violation", "normalize"];
    assert_refused(&options, ILL_FORMED, Errno::ILSEQ, "EILSEQ");
    let rows = [
        (&b"a b"[..], "forbidden", "not-posix", 1, 1, Some(0x20)),
        (b"100%", "forbidden", "not-posix", 3, 1, Some(0x25)),
        (b"x~", "forbidden", "not-posix", 1, 1, Some(0x7E)),
        ("é".as_bytes(), "forbidden", "not-posix", 0, 2, Some(0xE9)),
    ];
    let options = ["--on-violation", "normalize", "--profile", "posix"];
    assert_refused(&options, &rows, Errno::ILSEQ, "EILSEQ");
}
