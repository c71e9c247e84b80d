//! Law N8 in every mode. What is counted: how often the backing directory is asked for a name (each time one system call
//! that takes the name), and how often it is read as a whole.

use std::sync::Arc;

use super::{Scratch, map};
use crate::codec::{Charset, Encoding, Form};
use crate::names::rules::Exemptions;
use crate::names::{Legacy, NameMap, OnViolation};
use crate::policy::{Alike, Policy, Profile};

const LEGACY: [Legacy; 4] = [Legacy::Decode, Legacy::Escape, Legacy::Raw, Legacy::Hide];
const ON_VIOLATION: [OnViolation; 3] = [
    OnViolation::Reject,
    OnViolation::Normalize,
    OnViolation::Report,
];
const PROFILES: [Profile; 4] = [
    Profile::Utf8,
    Profile::Safe,
    Profile::Portable,
    Profile::Posix,
];
const FORMS: [Option<Form>; 3] = [None, Some(Form::Nfc), Some(Form::Nfd)];
/// Those that `mount --encoding` takes.
const ENCODINGS: [Encoding; 4] = [
    Encoding::Utf8,
    Encoding::Utf8Rfc2279,
    Encoding::FssUtf,
    Encoding::Utf8Bmp,
];
const UNIQUE: [Option<Alike>; 3] = [None, Some(Alike::Nfc), Some(Alike::Casefold)];
const CHARSET: &str = "iso-8859-1";

/// What a mount can be told about names but for `--unique` and `--exempt`, every combination.
fn maps() -> Vec<NameMap> {
    let mut maps = Vec::new();
    for legacy in LEGACY {
        for on_violation in ON_VIOLATION {
            for profile in PROFILES {
                for form in FORMS {
                    for encoding in ENCODINGS {
                        let policy = Policy {
                            form,
                            encoding,
                            ..profile.policy()
                        };
                        // Stored in a charset, which is one that is tried too; decoded by it alone; neither.
                        for (from, stores) in
                            [(&[CHARSET][..], true), (&[CHARSET], false), (&[], false)]
                        {
                            maps.push(NameMap {
                                policy: policy.clone(),
                                on_violation,
                                store_as: stores.then(|| Charset::from_label(CHARSET).unwrap()),
                                ..map(legacy, from)
                            });
                        }
                    }
                }
            }
        }
    }
    maps
}

/// A conforming ASCII name that no mapping yields costs one question and no reading, there or not; one with `%`, `~`, a
/// character beyond ASCII or a canonical form of such, where it is there. All are sought beside names of every other kind.
#[test]
fn a_conforming_name_costs_one_backing_lookup_in_every_mode() {
    let rows = [
        "plain",
        "README.txt",
        "a%E9",
        "a~b",
        "K",
        "caf\u{E9}",
        "cafe\u{301}",
    ];
    let beside: [&[u8]; 4] = [b"caf\xE8", b"\xFF", "e\u{327}\u{301}".as_bytes(), b"a\nb"];
    let absent = ["absent", "PLAIN", "a.b-c_d"];
    let there = rows.iter().map(|name| name.as_bytes());
    let names: Vec<&[u8]> = there.chain(beside).collect();
    let exemptions = [
        Exemptions::default(),
        Exemptions::new([0], &["*".to_owned(), "/d/*".to_owned()]).unwrap(),
    ];
    let below = Scratch::new(map(Legacy::Raw, &[]), &names).below;
    let maps = maps();
    assert_eq!(maps.len(), 4 * 3 * 4 * 3 * 4 * 3);
    let mut sought = 0;
    for map in maps {
        for unique in UNIQUE {
            for exempt in &exemptions {
                let scratch = Scratch::of(Arc::clone(&below), exempt.clone(), map.clone(), unique);
                let present = rows.map(|name| (name, true)).into_iter();
                let asked = present.chain(absent.map(|name| (name, false)));
                for (name, is_there) in
                    asked.filter(|(name, _)| map.policy.conforms(name.as_bytes()))
                {
                    let found = scratch.find(name.as_bytes());
                    let as_expected = found.0.is_some() == is_there && found.1 == 1;
                    assert!(as_expected, "{name}: {found:?} {unique:?} {map:?}");
                    sought += 1;
                }
                let readings = scratch.fs.indexed.counts().readings;
                assert_eq!(readings, 0, "{unique:?} {map:?}");
            }
        }
    }
    assert!(sought > 50_000, "{sought} lookups");
}

/// The kernel keeps a notification about a name waiting while somebody reads the directory (law F5).
#[test]
fn f5_a_directory_that_changes_is_not_read_again_for_each_of_its_names() {
    let names: Vec<Vec<u8>> = (0..20u8).map(|n| vec![b'a' + n, 0xE9]).collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &names);
    assert_eq!(scratch.list().len(), 20);
    let root = scratch.fs.inodes.get(super::ROOT).unwrap();
    let index = || root.as_directory().unwrap().index.lock();
    // As if there were many more names.
    index().as_mut().unwrap().took = std::time::Duration::from_secs(3600);
    for n in 0..20u8 {
        let (made, gone) = ([b'A' + n, 0xE9], [b'a' + n, 0xE9]);
        std::fs::write(scratch.path(&made), "").unwrap();
        std::fs::remove_file(scratch.path(&gone)).unwrap();
        let visible = |first: u8| format!("{}é", char::from(first)).into_bytes();
        scratch.leads_to(&visible(b'A' + n), Some(&made));
        scratch.leads_to(&visible(b'a' + n), None);
        let listed = scratch.list();
        assert!(listed.contains(&visible(b'A' + n)), "{listed:?}");
        assert!(!listed.contains(&visible(b'a' + n)), "{listed:?}");
        assert_eq!(listed.len(), 20, "{listed:?}");
    }
    // A name that has to give way is clear only by a reading.
    std::fs::write(scratch.path("Aé".as_bytes()), "").unwrap();
    assert_eq!(scratch.fs.indexed.counts().readings, 1);
    assert!(scratch.list().contains(&b"A%E9".to_vec()));
    assert_eq!(scratch.fs.indexed.counts().readings, 2);
}
