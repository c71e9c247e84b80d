//! Law C4: the legacy charsets agree with `iconv` of the C library on every byte, on every double byte and on every code
//! point, where both define it; the differences are listed with their reason, and what one side alone defines is counted.

mod program;
mod reading;
mod reasons;
mod writing;

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::ops::RangeInclusive;

use utf8fs::codec::Charset;

use program::{Read, Written};
use reasons::GB_2005;

/// Which side alone defines something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

/// A charset of ours and one of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    ours: Charset,
    theirs: &'static str,
}

/// Every charset on offer with its counterpart; `cp720` has none. Two are compared twice: with the vendor's charset, that
/// ours is (its labels are of ours, too), and with the one without the vendor's extensions.
fn pairs() -> Vec<Pair> {
    let pair = |ours, theirs| Pair { ours, theirs };
    let mut pairs = Vec::new();
    for ours in Charset::all() {
        match ours.label() {
            "cp720" => {}
            "windows-874" => pairs.push(pair(ours, "CP874")),
            "x-mac-cyrillic" => pairs.push(pair(ours, "MAC-CYRILLIC")),
            "ibm00858" => pairs.push(pair(ours, "IBM858")),
            "shift_jis" => pairs.extend([pair(ours, "CP932"), pair(ours, "SHIFT_JIS")]),
            "euc-kr" => pairs.extend([pair(ours, "UHC"), pair(ours, "EUC-KR")]),
            label => pairs.push(pair(ours, label)),
        }
    }
    pairs
}

/// The sequences of so many bytes that may be characters. Of four bytes, which GB18030 alone has: all of the basic plane,
/// and beyond it the ends of each row of 1260, in which the code points go up by one.
fn sequences(charset: Charset, length: usize) -> Vec<Vec<u8>> {
    let digits = || 0x30..=0x39;
    let thirds = |lead| (0x81..=0xFE).step_by(if lead <= 0x84 { 1 } else { 0x7D });
    match length {
        1 => (0..=0xFF).map(|a| vec![a]).collect(),
        2 => double(0x80..=0xFF).collect(),
        3 if charset.label() == "euc-jp" => double(0..=0xFF)
            .map(|pair| [&[0x8F], &pair[..]].concat())
            .collect(),
        4 => (0x81..=0xFE)
            .flat_map(|a| digits().flat_map(move |b| thirds(a).map(move |c| [a, b, c])))
            .flat_map(|[a, b, c]| digits().map(move |d| vec![a, b, c, d]))
            .collect(),
        _ => Vec::new(),
    }
}

fn double(leads: RangeInclusive<u8>) -> impl Iterator<Item = Vec<u8>> {
    leads.flat_map(|a| (0..=0xFF).map(move |b| vec![a, b]))
}

/// What each of all sequences means in ours.
fn read(charset: Charset) -> Read {
    let lengths = 1..=charset.max_len();
    let all = lengths.flat_map(|length| sequences(charset, length));
    let characters = all.filter(|bytes| charset.first_len(bytes) == Some(bytes.len()));
    let meaning = |bytes: Vec<u8>| {
        let text = charset.decode(&bytes).unwrap();
        (bytes, text.parse().unwrap())
    };
    characters.map(meaning).collect()
}

/// The bytes that ours has for each character. What is written is read as the same again (a law with tests of its own),
/// so that there are none but those that are read; but GB18030 has all, and not all are read here.
fn written(charset: Charset) -> Written {
    if charset.label() == "gb18030" {
        let bytes = |c: char| charset.encode(&c.to_string()).unwrap();
        return ('\0'..=char::MAX).map(|c| (c, bytes(c))).collect();
    }
    let read = read(charset).into_iter();
    read.map(|(bytes, c)| (c, bytes))
        .filter(|(c, bytes)| charset.encode(&c.to_string()).as_ref() == Ok(bytes))
        .collect()
}

/// How two tables differ: what both have, and what one has alone.
struct Compared<K, V> {
    differing: BTreeMap<K, (V, V)>,
    one_sided: Vec<(Side, K)>,
}

fn compare<K: Ord + Clone, V: Eq + Clone>(
    ours: &BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
) -> Compared<K, V> {
    let mut differing = BTreeMap::new();
    let mut one_sided = Vec::new();
    for (key, ours) in ours {
        match theirs.get(key) {
            None => one_sided.push((Side::Ours, key.clone())),
            Some(theirs) if theirs != ours => {
                differing.insert(key.clone(), (ours.clone(), theirs.clone()));
            }
            Some(_) => {}
        }
    }
    let others = theirs.keys().filter(|key| !ours.contains_key(key));
    one_sided.extend(others.map(|key| (Side::Theirs, key.clone())));
    Compared {
        differing,
        one_sided,
    }
}

/// What is not as listed, for people.
#[derive(Default)]
struct Complaints(String);

impl Complaints {
    /// Every difference must be listed, and every listed one must be there.
    fn differing<K: Ord + Debug, V: Eq + Debug>(
        &mut self,
        pair: Pair,
        found: &BTreeMap<K, (V, V)>,
        listed: &BTreeMap<K, (V, V)>,
    ) {
        let new = found.iter().filter(|(key, v)| listed.get(key) != Some(v));
        let gone = listed.iter().filter(|(key, v)| found.get(key) != Some(v));
        for (word, (key, (ours, theirs))) in
            new.map(|d| ("new", d)).chain(gone.map(|d| ("gone", d)))
        {
            let line = format!("{pair:?} {word}: {key:02X?} {ours:02X?} {theirs:02X?}");
            writeln!(self.0, "{line}").unwrap();
        }
    }

    /// Everything that one side has alone must be in a class, and each class have so many members. What belongs to the
    /// first class that takes it does not belong to others.
    fn one_sided<K: Debug>(
        &mut self,
        pair: Pair,
        found: Vec<(Side, K)>,
        classes: &[(&str, usize)],
        class_of: impl Fn(Side, &K) -> Option<usize>,
    ) {
        let mut counts = vec![0; classes.len()];
        for (side, key) in found {
            match class_of(side, &key) {
                Some(class) => counts[class] += 1,
                None => writeln!(self.0, "{pair:?} {side:?} alone: {key:02X?}").unwrap(),
            }
        }
        for ((reason, listed), count) in classes.iter().zip(counts) {
            if count != *listed {
                writeln!(self.0, "{pair:?}: {count} and not {listed}: {reason}").unwrap();
            }
        }
    }

    fn must_be_none(self) {
        let Self(lines) = self;
        assert!(
            lines.is_empty(),
            "not as in reading.rs and writing.rs:\n{lines}"
        );
    }
}

/// Does the C library have GB18030 of 2005? glibc 2.36 has (Debian 12), 2.41 has that of 2022 (Debian 13), as we do.
fn has_gb_2005() -> bool {
    let mut found = Read::new();
    program::read("GB18030", &[b"\xFE\x51".to_vec()], &mut found);
    found.values().eq(&['\u{20087}'])
}

/// Does a row of this charset apply?
fn applies(pair: Pair, theirs: &str) -> bool {
    pair.theirs.eq_ignore_ascii_case(theirs)
        || theirs == GB_2005 && pair.theirs == "gb18030" && has_gb_2005()
}

#[test]
fn c4_every_byte_and_double_byte_means_what_it_means_in_the_c_library() {
    let mut complaints = Complaints::default();
    for pair in pairs() {
        program::must_have(pair.theirs);
        let mut theirs = Read::new();
        for length in 1..=pair.ours.max_len() {
            program::read(pair.theirs, &sequences(pair.ours, length), &mut theirs);
        }
        let found = compare(&read(pair.ours), &theirs);
        let rows = reading::READ.iter().filter(|row| applies(pair, row.theirs));
        let listed = rows.flat_map(reading::Differing::each).collect();
        complaints.differing(pair, &found.differing, &listed);

        let rows = reading::ONE_SIDED.iter();
        let rows: Vec<_> = rows.filter(|row| applies(pair, row.theirs)).collect();
        let classes: Vec<_> = rows.iter().map(|row| (row.reason, row.count)).collect();
        complaints.one_sided(pair, found.one_sided, &classes, |side, bytes| {
            rows.iter()
                .position(|row| row.side == side && row.takes(bytes))
        });
    }
    complaints.must_be_none();
}

#[test]
fn c4_every_code_point_is_written_as_in_the_c_library() {
    let mut complaints = Complaints::default();
    for pair in pairs() {
        program::must_have(pair.theirs);
        let found = compare(&written(pair.ours), &program::write(pair.theirs));
        let rows = writing::WRITTEN.iter().filter(|row| applies(pair, row.0));
        let listed = rows.map(|(_, c, ours, theirs, _)| (*c, (ours.to_vec(), theirs.to_vec())));
        complaints.differing(pair, &found.differing, &listed.collect());

        let rows = writing::ONE_SIDED.iter();
        let rows: Vec<_> = rows.filter(|row| applies(pair, row.0)).collect();
        let classes: Vec<_> = rows.iter().map(|row| (row.4, row.3)).collect();
        complaints.one_sided(pair, found.one_sided, &classes, |side, c| {
            let takes = |row: &&writing::Class| row.1 == side && row.2.contains(c);
            rows.iter().position(takes)
        });
    }
    complaints.must_be_none();
}

#[test]
fn the_lists_name_only_charsets_that_are_compared() {
    let known =
        |theirs: &str| theirs == GB_2005 || pairs().iter().any(|pair| applies(*pair, theirs));
    assert!(reading::READ.iter().all(|row| known(row.theirs)));
    assert!(writing::WRITTEN.iter().all(|row| known(row.0)));
    assert!(reading::ONE_SIDED.iter().all(|row| known(row.theirs)));
    assert!(writing::ONE_SIDED.iter().all(|row| known(row.0)));
    let without: Vec<_> = Charset::all()
        .filter(|charset| pairs().iter().all(|pair| pair.ours != *charset))
        .map(Charset::label)
        .collect();
    assert_eq!(without, ["cp720"]);
}
