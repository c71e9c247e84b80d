//! Directories made by an enemy: names in the order in which they are made. A filesystem in memory lists the last one first, and so
//! has them removed in the order that costs most.

use sha2::{Digest, Sha256};
use utf8fs::names::{BackingName, Legacy, NameMap, OnViolation};
use utf8fs::policy::{ErrnoChoice, Policy};

use super::directory::shown;
use crate::support::random::Random;

/// A kind of directory, and the options under which it is hostile.
pub(crate) struct Crowd {
    pub(crate) label: &'static str,
    pub(crate) options: &'static [&'static str],
    /// How often `rm -rf` has to be called at most: a name that goes back from more than eight signs, which nobody but an enemy
    /// makes it have, is missed once.
    pub(crate) runs: usize,
    names: fn(usize) -> Vec<Vec<u8>>,
}

impl Crowd {
    pub(crate) const ALL: [&Self; 4] = [&ONE_TEXT, &PERCENTS, &FORGED_MARKS, &COMBINING_MARKS];

    /// So many names, all different.
    pub(crate) fn names(&self, count: usize) -> Vec<Vec<u8>> {
        (self.names)(count)
    }
}

/// An old directory as any other, to compare the hostile ones with: each name has a text of its own.
pub(crate) const PEACEFUL: Crowd = Crowd {
    label: "peaceful",
    options: &["--from=iso-8859-1"],
    runs: 1,
    names: |count| {
        let numbered = |number: usize| [b"caf\xE9 ", format!("{number:07}").as_bytes()].concat();
        (0..count).map(numbered).collect()
    },
};

/// All decode to one text, seventeen times `é`: in GB 18030, in ISO-8859-1, and in UTF-8 with each letter composed or not.
/// None conforms, so that one of them has the text, and the next one when that goes.
pub(crate) const ONE_TEXT: Crowd = Crowd {
    label: "one text",
    options: &["--from=gb18030,iso-8859-1", "--normalization=nfc"],
    runs: 1,
    names: |count| {
        let mut names = vec![b"\xA8\xA6".repeat(17), b"\xE9".repeat(17)];
        // A choice of 0 would conform.
        names.extend((1..count - 1).map(|choice| {
            let letter = |place: usize| ["é", "e\u{301}"][(choice >> place) & 1];
            (0..17).map(letter).collect::<String>().into_bytes()
        }));
        names.sort_unstable_by(|one, other| other.cmp(one));
        names
    },
};

/// `%` alone, 1 to 255 times, and mixtures of it with what it is escaped as; none conforms to `posix`.
pub(crate) const PERCENTS: Crowd = Crowd {
    label: "percent signs",
    options: &["--legacy=escape", "--profile=posix"],
    runs: 1,
    names: |count| {
        let mut names: Vec<Vec<u8>> = (1..=255).map(|length| b"%".repeat(length)).collect();
        // In base 4, with `%252525%` before each, so that all are different and none is signs alone.
        names.extend((0..count - names.len()).map(|number| {
            let piece = |place: usize| ["%25", "%E9", "%%2", "%7E"][(number >> (2 * place)) & 3];
            format!("%252525%{}", (0..10).map(piece).collect::<String>()).into_bytes()
        }));
        names
    },
};

/// What `\xE9` 255 times would be visible as by the `way`th escape: no more than this test needs of law N7.
fn forged(way: usize) -> Vec<u8> {
    let name = [0xE9; 255];
    let mut hashed = name.to_vec();
    if way > 8 {
        hashed.extend(format!("\0{way}").into_bytes());
    }
    let digest = Sha256::digest(hashed);
    let bits = digest[..10]
        .iter()
        .fold(0_u128, |bits, &octet| bits << 8 | u128::from(octet));
    let digits = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = (0..16).rev().map(|group| {
        let digit = bits >> (5 * group) & 31;
        digits[usize::try_from(digit).unwrap()]
    });
    let mark: Vec<u8> = b"~".repeat(way.min(8)).into_iter().chain(hash).collect();
    let escape = [b"%".repeat(way), b"E9".to_vec()].concat();
    let room = (255 - mark.len()) / escape.len();
    [escape.repeat(room), mark].concat()
}

/// One name that is cut, and names that conform and are what it would be cut to, one way after the other, every other
/// one with a wrong hash. The last way is removed first, and would have the name pushed back by one.
pub(crate) const FORGED_MARKS: Crowd = Crowd {
    label: "forged marks",
    options: &["--legacy=escape"],
    runs: 2,
    names: |count| {
        let mut names = vec![vec![0xE9; 255]];
        names.extend((2..=count).map(|number| {
            let mut name = forged(number / 2);
            if number % 2 == 1 {
                let last = name.last_mut().unwrap();
                *last = if *last == b'a' { b'b' } else { b'a' };
            }
            name
        }));
        names
    },
};

/// One letter with the same 127 combining marks in every order: all have one text in form C, which is as long as they are.
pub(crate) const COMBINING_MARKS: Crowd = Crowd {
    label: "combining marks",
    options: &["--legacy=escape", "--normalization=nfc"],
    runs: 1,
    names: |count| {
        let mut random = Random::new(0x301);
        // Of eight classes, so that form C puts them in order; `b` composes with none of them.
        let marks = "\u{316}\u{31B}\u{321}\u{345}\u{315}\u{35C}\u{35D}\u{301}";
        let mut marks: Vec<char> = marks.chars().cycle().take(127).collect();
        let mut names = std::collections::BTreeSet::new();
        while names.len() < count {
            for place in (1..marks.len()).rev() {
                let other = random.below(place as u64 + 1);
                marks.swap(place, usize::try_from(other).unwrap());
            }
            let name: String = std::iter::once('b').chain(marks.iter().copied()).collect();
            names.insert(name.into_bytes());
        }
        names.into_iter().rev().collect()
    },
};

/// The forgeries are right: with them, the name that they block is escaped with more signs than there are of them.
#[test]
fn forged_marks_push_the_name_that_they_imitate_on() {
    let map = NameMap {
        policy: Policy::default(),
        legacy: Legacy::Escape,
        from: Vec::new(),
        store_as: None,
        on_violation: OnViolation::Reject,
        errno: ErrnoChoice::default(),
    };
    let names = FORGED_MARKS.names(20);
    let names = names.iter().map(|name| BackingName::parse(name).unwrap());
    let names: Vec<BackingName> = names.collect();
    let shown: Vec<_> = shown(&map, &names).into_values().collect();
    let [victim] = &shown[..] else {
        panic!("one name does not conform");
    };
    let victim = victim.as_bytes();
    assert!(victim.starts_with(&[b'%'; 11]) && !victim.starts_with(&[b'%'; 12]));
}
