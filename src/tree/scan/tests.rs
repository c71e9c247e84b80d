//! Names by what is found in them, alone and beside each other.

use std::io;

use std::sync::Mutex;

use super::*;
use crate::codec::Form;
use crate::policy::{Alike, Policy, Profile};
use crate::records::{Directory, Finding, KindLabel, Name, ScanLine, Tally};

/// Takes all that it is told, as lines of Rust's quoting.
#[derive(Debug, Default)]
struct Told(Mutex<String>);

impl Told {
    fn take(&self, line: &ScanLine) -> bool {
        let line = if let ScanLine::Entry(entry) = line {
            let path = entry.path.as_bytes();
            let found = entry.found.iter();
            let found: Vec<String> = found
                .map(|found| format!("{}/{}", <&str>::from(found.finding), found.kind.0))
                .collect();
            let mark = if entry.offends { "!" } else { "" };
            format!("{} {mark}{}\n", path.escape_ascii(), found.join(" "))
        } else if let ScanLine::Unread { path, reason } = line {
            format!("{} unread: {reason}\n", path.as_bytes().escape_ascii())
        } else {
            panic!("{line:?}");
        };
        self.0.lock().unwrap().push_str(&line);
        true
    }
}

/// What is told of a list, and the tally.
fn told(rules: Rules, names: &[&[u8]]) -> (String, Tally) {
    let sink = Told::default();
    let take = |line: &ScanLine| sink.take(line);
    let scan = Scan::new(rules, Shard::WHOLE, vec![Name::default()], Some(&take));
    let list: &[u8] = &names.join(&0);
    scan.read_list(list, b"list");
    let tally = scan.part().tally;
    let told = sink.0.lock().unwrap().clone();
    (told, tally)
}

fn strict() -> Rules {
    let policy = Policy {
        form: Some(Form::Nfc),
        max_bytes: 40,
        ..Profile::Portable.policy()
    };
    Rules::new(policy, Some(Alike::Casefold), true)
}

#[test]
fn names_are_of_the_classes_that_the_rows_say() {
    let rows: &[(&[u8], &str)] = &[
        (b"readme.txt", ""),
        ("Jos\u{E9}".as_bytes(), ""),
        (b"caf\xE9.txt", "!ill-formed/truncated"),
        (b"\xE9\xE8t\xE9", "!ill-formed/truncated"),
        (b"a\x80", "!ill-formed/unexpected-continuation"),
        (b"a\xFF", "!ill-formed/invalid-byte"),
        (b"..\xC0\xAF", "!ill-formed/overlong"),
        (b"\xED\xA0\x80", "!ill-formed/surrogate"),
        (b"\xF4\x90\x80\x80", "!ill-formed/out-of-range"),
        (
            b"x\xFF\x80?",
            "!ill-formed/invalid-byte ill-formed/unexpected-continuation forbidden/windows",
        ),
        (b"what?", "!forbidden/windows"),
        (b"a\nb", "!forbidden/control"),
        ("a\u{202E}b".as_bytes(), "!forbidden/bidi"),
        (b"-rf", "!forbidden/leading-dash"),
        (b" a", "!forbidden/edge-space"),
        (b"NUL.txt", "!forbidden/windows"),
        (
            b"a2345678901234567890123456789012345678901",
            "!too-long/bytes",
        ),
        (b"a234567890123456789012345678901234567890", ""),
        (b"e\xCC\x81", "!not-normalized/nfc"),
        ("CafÃ© de la gare".as_bytes(), "!doubly-encoded/iso-8859-1"),
    ];
    for (name, wanted) in rows {
        let (told, tally) = told(strict(), &[name]);
        let wanted = match *wanted {
            "" => String::new(),
            wanted => format!("{} {wanted}\n", name.escape_ascii()),
        };
        assert_eq!(told, wanted);
        let counts = tally.counts;
        assert_eq!(counts.entries, 1);
        assert_eq!(counts.ascii, u64::from(name.is_ascii()));
        assert_eq!(
            counts.ill_formed,
            u64::from(std::str::from_utf8(name).is_err())
        );
        assert_eq!(counts.ascii + counts.beyond_ascii + counts.ill_formed, 1);
        assert_eq!(counts.offending, u64::from(!wanted.is_empty()));
    }
}

#[test]
fn what_no_option_asks_for_is_a_remark() {
    let names: &[&[u8]] = &[
        b"e\xCC\x81",
        "\u{E9}".as_bytes(),
        b"README",
        b"readme",
        "CafÃ© de la gare".as_bytes(),
        b"-x",
    ];
    let (told, tally) = told(Rules::new(Policy::default(), None, false), names);
    let wanted = r"e\xcc\x81 not-normalized/nfc collides-in-form/nfc
\xc3\xa9 collides-in-form/nfc
README collides-in-case/casefold
readme collides-in-case/casefold
Caf\xc3\x83\xc2\xa9 de la gare doubly-encoded/iso-8859-1
";
    assert_eq!(told, wanted);
    assert_eq!((tally.counts.offending, tally.counts.remarked), (0, 5));
}

#[test]
fn names_of_one_directory_collide_as_the_rows_say() {
    // c: in case; f: in form
    let rows: &[&[(&[u8], &str)]] = &[
        &[(b"a", "c"), (b"A", "c"), (b"b", "")],
        &[("straße".as_bytes(), "c"), (b"STRASSE", "c")],
        // KELVIN SIGN is K in another form
        &[(b"K", "f"), (b"\xE2\x84\xAA", "f")],
        &[(b"k", "c"), (b"\xE2\x84\xAA", "c")],
        &[
            (b"E\xCC\x81", "cf"),
            ("\u{C9}".as_bytes(), "cf"),
            ("\u{E9}".as_bytes(), "c"),
        ],
        &[(b"CAF\xE9", "c"), (b"caf\xE9", "c"), (b"caf\xC9", "")],
        // The same path twice is one name.
        &[(b"same", ""), (b"same", "")],
        &[(b"x/a", ""), (b"y/A", "")],
    ];
    for row in rows {
        let names: Vec<&[u8]> = row.iter().map(|(name, _)| *name).collect();
        let (told, _) = told(Rules::new(Policy::default(), None, false), &names);
        for (name, wanted) in *row {
            let line = told
                .lines()
                .find(|line| line.starts_with(&format!("{} ", name.escape_ascii())))
                .unwrap_or_default();
            let is = |label| line.contains(label);
            assert_eq!(is("collides-in-case"), wanted.contains('c'), "{told}");
            assert_eq!(is("collides-in-form"), wanted.contains('f'), "{told}");
        }
    }
}

#[test]
fn a_list_is_taken_in_the_order_of_find_and_each_line_is_one_name() {
    let names: &[&[u8]] = &[
        b".",
        b"./a",
        b"./sub",
        b"./sub/x",
        b"./sub/deep/",
        b"./sub/deep/y\xFF",
        b"./sub/X",
        b"./A",
        b"/",
        b"",
        b"..",
        b"/abs",
        b"/ABS",
        b"//two",
    ];
    let (told, tally) = told(Rules::new(Policy::default(), None, false), names);
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "./A collides-in-case/casefold",
            "./a collides-in-case/casefold",
            "./sub/X collides-in-case/casefold",
            "./sub/deep/y\\xff !ill-formed/invalid-byte",
            "./sub/x collides-in-case/casefold",
            "/ABS collides-in-case/casefold",
            "/abs collides-in-case/casefold",
        ]
    );
    assert_eq!(tally.counts.entries, 10);
}

#[test]
fn a_list_that_breaks_off_is_judged_up_to_there() {
    struct Broken<'b>(&'b [u8]);
    impl io::Read for Broken<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            match io::Read::read(&mut self.0, to) {
                Ok(0) => Err(io::Error::from_raw_os_error(libc::EIO)),
                read => read,
            }
        }
    }
    let sink = Told::default();
    let take = |line: &ScanLine| sink.take(line);
    let scan = Scan::new(strict(), Shard::WHOLE, vec![Name::default()], Some(&take));
    let list = io::BufReader::new(Broken(b"a\0b\xFF\0c"));
    scan.read_list(list, b"list");
    let tally = scan.part().tally;
    assert_eq!(tally.counts.entries, 2);
    let unread = tally.unread.first.first().unwrap();
    assert_eq!(
        (unread.path.as_bytes(), unread.errno),
        (&b"list"[..], libc::EIO)
    );
    let told = sink.0.lock().unwrap();
    assert!(told.contains("list unread: "), "{told}");
    assert!(told.contains("b\\xff !ill-formed/invalid-byte\n"), "{told}");
}

#[test]
fn what_is_kept_is_bounded_and_the_worst() {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for directory in 0..20_100 {
        for name in 0..=directory % 3 {
            names.push(format!("d{directory:05}/{name}_\u{1}").into_bytes());
        }
    }
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let (_, tally) = told(strict(), &names);
    let paths = |kept: &std::collections::BTreeSet<Directory>| {
        let paths = kept.iter().map(|directory| directory.path.clone());
        paths
            .map(|path| String::from_utf8(path.into_bytes()).unwrap())
            .collect::<Vec<_>>()
    };
    let worst_first = [2, 1, 0].into_iter();
    let worst_first = worst_first.flat_map(|rest| (rest..20_100).step_by(3));
    let mut worst_first = worst_first.map(|directory| format!("d{directory:05}"));
    let wanted: Vec<String> = worst_first.by_ref().take(20_000).collect();
    assert_eq!(paths(&tally.worst), wanted[..100]);
    assert_eq!(paths(&tally.on_map), wanted);
    assert_eq!(worst_first.count(), 100);
    assert_eq!(tally.troubled_directories, 20_100);
    assert_eq!(tally.counts.found.forbidden, 40_200);
    let samples = &tally.samples[&(Finding::Forbidden, KindLabel("control"))];
    assert_eq!(samples.len(), 400);
}
