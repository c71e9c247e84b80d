//! Law N7: names that are cut are found again without reading the directory for each.

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
    let normalize = NameMap {
        on_violation: OnViolation::Normalize,
        ..map(Legacy::Escape, &[])
    };
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
