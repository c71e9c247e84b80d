//! Law C1: the encoding says which names are well-formed, and laws N1, N5, N6 and N9 follow it.

use rustix::io::Errno;

use super::{Scratch, map};
use crate::at::{self, Make};
use crate::codec::{Encoding, Form};
use crate::names::{Legacy, NameMap, Quoted};
use crate::policy::Policy;

/// A name, and in which of [`Encoding::MOUNTABLE`] it is well-formed.
const NAMES: &[(&[u8], [bool; 4])] = &[
    ("caf\u{E9}".as_bytes(), [true, true, true, true]),
    ("\u{FFFD}".as_bytes(), [true, true, true, true]),
    ("\u{1F600}".as_bytes(), [true, true, true, false]),
    (b"\xED\xA0\x80", [false, true, true, true]), // U+D800
    (b"a\xED\xA1\x8C\xED\xBE\xB4", [false, true, true, true]), // a pair of surrogates
    (b"\xF4\x90\x80\x80", [false, true, true, false]), // U+110000
    (b"\xF8\x88\x80\x80\x80", [false, true, true, false]), // U+200000
    (b"\xFD\xBF\xBF\xBF\xBF\xBF.txt", [false, true, true, false]), // U+7FFFFFFF
    (b"\xFE\xBF\xBF\xBF\xBF\xBF", [false; 4]),
    (b"\xC0\xAF", [false; 4]),
    (b"\xFC\x83\xBF\xBF\xBF\xBF", [false; 4]), // overlong in six octets
    (b"caf\xE9", [false; 4]),
];

fn by(encoding: Encoding, map: NameMap) -> NameMap {
    let policy = Policy {
        encoding,
        ..map.policy
    };
    NameMap { policy, ..map }
}

#[test]
fn c1_n1_n6_names_below_are_visible_as_the_encoding_says() {
    let below: Vec<&[u8]> = NAMES.iter().map(|(name, _)| *name).collect();
    for (column, encoding) in Encoding::MOUNTABLE.into_iter().enumerate() {
        let scratch = Scratch::new(by(encoding, map(Legacy::Escape, &[])), &below);
        let dir = scratch.root();
        let listed = dir.sorted();
        assert_eq!(listed.len(), NAMES.len(), "{encoding:?}");
        for (name, well_formed) in NAMES {
            let is_itself = listed.contains(&name.to_vec());
            assert_eq!(
                is_itself,
                well_formed[column],
                "{encoding:?}: {}",
                Quoted(name)
            );
        }
        for name in &listed {
            let content = dir.read(name).unwrap();
            let is_itself = below.contains(&name.as_slice());
            let what = format!("{encoding:?}: {}", Quoted(name));
            assert_eq!(is_itself, content == *name, "{what}");
            assert!(is_itself || name.contains(&b'%'), "{what}");
        }
    }
}

#[test]
fn c1_n9_names_are_made_or_refused_as_the_encoding_says() {
    for (column, encoding) in Encoding::MOUNTABLE.into_iter().enumerate() {
        let scratch = Scratch::new(by(encoding, map(Legacy::Escape, &[])), &[]);
        for (number, (name, well_formed)) in NAMES.iter().enumerate() {
            for make in Make::ALL {
                let label = make.label();
                let what = format!("{label} of {} in {encoding:?}", Quoted(name));
                let (dir, below) = scratch.directory(format!("{number}-{label}").as_bytes());
                at::write_new(&below, Make::SOURCE, b"").unwrap();
                let expected = match well_formed[column] {
                    true => Ok(()),
                    false => Err(Errno::ILSEQ),
                };
                assert_eq!(dir.make(make, name), expected, "{what}");
                let is_there = dir.sorted().contains(&name.to_vec());
                assert_eq!(is_there, well_formed[column], "{what}");
            }
        }
        let refused = NAMES.iter().filter(|(_, well_formed)| !well_formed[column]);
        let expected = refused.count() * Make::ALL.len();
        assert_eq!(scratch.records().len(), expected, "{encoding:?}");
    }
}

#[test]
fn n6_n9_what_a_charset_reads_beyond_the_encoding_is_escaped() {
    // U+10348 and U+4E2D in GB18030; the first is beyond 16 bits.
    let below: [&[u8]; 2] = [b"\x90\x30\xD5\x30", b"\xD6\xD0"];
    let map = by(Encoding::Utf8Bmp, map(Legacy::Decode, &["gb18030"]));
    let scratch = Scratch::new(map, &below);
    let expected: [&[u8]; 2] = [b"%F0%90%8D%88", "\u{4E2D}".as_bytes()];
    assert_eq!(scratch.list(), expected);
    assert_eq!(scratch.root().read(expected[0]).unwrap(), below[0]);
}

#[test]
fn n10_normalization_leaves_what_unicode_does_not_know_as_it_is() {
    let mut map = by(Encoding::FssUtf, map(Legacy::Escape, &[]));
    map.policy.form = Some(Form::Nfc);
    let scratch = Scratch::new(map, &[]);
    let dir = scratch.root();
    let made = [
        b"e\xCC\x81\xED\xA0\x80\xCC\x81\xFD\xBF\xBF\xBF\xBF\xBFe\xCC\x81".as_slice(),
        b"x\xED\xA0\x80",
    ];
    let composed = b"\xC3\xA9\xED\xA0\x80\xCC\x81\xFD\xBF\xBF\xBF\xBF\xBF\xC3\xA9".as_slice();
    assert_eq!(dir.mkdir(made[0]), Err(Errno::ILSEQ));
    dir.mkdir(made[1]).unwrap();
    dir.mkdir(composed).unwrap();
    // The other form reaches it.
    let number = dir.stat(composed).unwrap().ino;
    assert_eq!(dir.stat(made[0]).unwrap().ino, number);
    dir.rmdir(made[0]).unwrap();
    assert_eq!(dir.sorted(), [made[1]]);
}
