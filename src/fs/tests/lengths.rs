//! Law N7: names that are cut, which are found again without reading the directory for each.

use std::time::Instant;

use super::*;

const COUNT: usize = 3000;

/// Readings that clocks of any grain may cost: an index is believed for a second where a change could hide.
const FEW: u64 = 20;

#[test]
fn legacy_names_that_are_cut_are_found_without_a_reading_for_each() {
    let names: Vec<Vec<u8>> = (0..COUNT)
        .map(|number| [vec![0xE9; 200], format!("{number}.txt").into_bytes()].concat())
        .collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let began = Instant::now();
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &names);
    let listed = scratch.list();
    assert_eq!(listed.len(), COUNT);
    for name in &listed {
        assert!(name.len() <= 255 && name.ends_with(b".txt") && name.contains(&b'~'));
        let (found, asked) = scratch.find(name);
        // The name itself, and what it stands for.
        assert!(names.contains(&found.unwrap().as_slice()));
        assert_eq!(asked, 2);
    }
    assert!(scratch.fs.indexed.counts().readings < FEW + began.elapsed().as_secs());
}

#[test]
fn new_names_that_are_cut_are_found_by_every_length_of_theirs() {
    let normalize = in_mode(OnViolation::Normalize, map(Legacy::Escape, &[]));
    let began = Instant::now();
    let scratch = Scratch::new(normalize, &[]);
    let long = |number: usize| {
        let length = [256, 300, 1000, 4095][number % 4];
        let end = format!("{number}.tar.gz");
        [vec![b'x'; length - end.len()], end.into_bytes()].concat()
    };
    for number in 0..COUNT {
        let name = long(number);
        scratch.fs.mkdir(&new_entry(ROOT, &name, 0o755)).unwrap();
    }
    let listed = scratch.list();
    assert_eq!(listed.len(), COUNT);
    for number in 0..COUNT {
        let found = scratch.find(&long(number)).0.unwrap();
        assert!(listed.contains(&found) && found.ends_with(b".gz"));
        let name = long(number);
        let again = scratch.fs.mkdir(&new_entry(ROOT, &name, 0o755));
        assert_eq!(again.unwrap_err().errno(), libc::EEXIST);
    }
    assert!(scratch.fs.indexed.counts().readings < FEW + began.elapsed().as_secs());
}

/// A name whose escapes do not fit is cut between them, ends in a hash of the whole name and its extension, and opens;
/// two such names that are cut alike stay apart.
#[test]
fn legacy_names_that_outgrow_the_limit_are_cut_and_open() {
    let long = |end: &[u8]| [&[0xE9; 200][..], end].concat();
    let names = [&b"a"[..], b"a.jpeg", b"b", b"b.jpeg"].map(long);
    let expected: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    for map in [
        map(Legacy::Escape, &[]),
        map(Legacy::Decode, &["iso-8859-1"]),
    ] {
        let scratch = Scratch::new(map, &expected);
        let dir = scratch.root();
        let listed = scratch.list();
        assert_eq!(listed.len(), 4, "N2");
        let mut reached = Vec::new();
        for visible in &listed {
            let text = std::str::from_utf8(visible).unwrap();
            assert!(text.len() <= 255, "N7");
            let stem = text.strip_suffix(".jpeg").unwrap_or(text);
            let (prefix, mark) = stem.rsplit_once('~').unwrap();
            assert_eq!(mark.len(), 16);
            assert!(mark.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7')));
            assert!(prefix.ends_with("%E9") || prefix.ends_with('é'), "{prefix}");
            let content = dir.read(visible).unwrap();
            assert_eq!(content.ends_with(b".jpeg"), text.ends_with(".jpeg"));
            reached.push(content);
        }
        reached.sort();
        assert_eq!(reached, expected, "N3");
    }
}
