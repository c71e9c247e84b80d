//! Settings, and names and directories that are likely to get in each other's way.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use utf8fs::codec::{Charset, Encoding, Form};
use utf8fs::names::{BackingName, Legacy, NameMap, OnViolation};
use utf8fs::policy::{Class, ErrnoChoice, NAME_MAX, Policy, Profile, SMALLEST_LIMIT, is_component};

/// What names are made of: spellings of one letter, escapes of it, marks of laws N6 and N7, what classes forbid, joiners
/// with what they join, what composes with the last digit of an escape, and what turns to ASCII in a normalization form.
const PIECES: [&[u8]; 58] = [
    b"\xE9",
    "é".as_bytes(),
    "e\u{301}".as_bytes(),
    b"%E9",
    b"%%E9",
    b"%C3%A9",
    b"%65%CC%81",
    b"%",
    b"%25",
    b"~",
    b"a",
    b"a",
    b"C",
    b"E",
    "\u{327}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{338}".as_bytes(),
    "\u{323}".as_bytes(),
    b"\xCC",
    b"\xA7",
    b"\xFF",
    b"\x80",
    b"\xC0\xAF",
    b"\xED\xA0\x80",
    b"\xF4\x90\x80\x80",
    b"\x95\x5C",
    "表".as_bytes(),
    "\u{212A}".as_bytes(),
    b"K",
    "\u{37E}".as_bytes(),
    b";",
    "\u{1FEF}".as_bytes(),
    b"`",
    "\u{226E}".as_bytes(),
    b"<",
    b":",
    b"CON",
    b"LPT\xC2\xB9",
    b"com1",
    b".",
    b".txt",
    b" ",
    "\u{A0}".as_bytes(),
    b"-",
    b"\n",
    "\u{202E}".as_bytes(),
    "\u{200B}".as_bytes(),
    "\u{628}\u{200C}".as_bytes(),
    "\u{628}".as_bytes(),
    "\u{200D}".as_bytes(),
    "\u{915}\u{94D}\u{200D}".as_bytes(),
    "\u{1F468}\u{200D}".as_bytes(),
    "\u{2764}\u{FE0F}".as_bytes(),
    "*\u{FE0F}\u{20E3}".as_bytes(),
    "\u{10FFFF}".as_bytes(),
    "\u{1100}\u{1161}".as_bytes(),
    "ééééééééééééééé".as_bytes(),
    b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => select(PIECES.as_slice()).prop_map(<[u8]>::to_vec),
        1 => any::<u8>().prop_map(|octet| vec![octet]),
        1 => any::<char>().prop_map(|c| String::from(c).into_bytes()),
    ];
    let long = (select(PIECES.as_slice()), 1..100usize)
        .prop_map(|(piece, times)| vec![piece.repeat(times)]);
    // The pieces at the front are one letter and its escapes: alone, they make for crowds that want one name.
    let letters = vec(select(&PIECES[..12]), 1..3)
        .prop_map(|pieces| pieces.into_iter().map(<[u8]>::to_vec).collect());
    prop_oneof![4 => letters, 4 => vec(piece.clone(), 1..4), 1 => vec(piece, 1..40), 1 => long]
        .prop_map(|pieces: Vec<Vec<u8>>| pieces.concat())
}

/// A name as it can lie on disk.
pub(super) fn name() -> impl Strategy<Value = BackingName> {
    bytes().prop_filter_map("not a name", |bytes| {
        (bytes.len() <= NAME_MAX && is_component(&bytes))
            .then(|| BackingName::parse(&bytes).ok())
            .flatten()
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let limit = || prop_oneof![Just(SMALLEST_LIMIT), SMALLEST_LIMIT..=NAME_MAX];
    let forbid = prop_oneof![
        4 => select([Profile::Utf8, Profile::Safe, Profile::Portable, Profile::Posix].as_slice())
            .prop_map(|profile| profile.policy().forbid),
        1 => vec(select(Class::ALL), 0..4)
            .prop_map(|classes| {
                let mut policy = Policy::default();
                policy.forbid(&classes);
                policy.forbid
            }),
    ];
    let encoding = prop_oneof![
        3 => Just(Encoding::Utf8),
        1 => select([Encoding::Utf8Rfc2279, Encoding::FssUtf, Encoding::Utf8Bmp].as_slice()),
    ];
    (
        encoding,
        prop_oneof![3 => Just(NAME_MAX), 1 => limit()],
        option::weighted(0.2, limit()),
        option::weighted(0.2, limit()),
        select([None, Some(Form::Nfc), Some(Form::Nfd)].as_slice()),
        forbid,
    )
        .prop_map(
            |(encoding, max_bytes, max_chars, max_utf16, form, forbid)| Policy {
                encoding,
                max_bytes,
                max_chars,
                max_utf16,
                form,
                forbid,
            },
        )
}

/// Settings under which names are mapped.
pub(super) fn map() -> impl Strategy<Value = NameMap> {
    let charsets: Vec<Charset> = [
        "iso-8859-1",
        "windows-1258",
        "shift_jis",
        "gb18030",
        "koi8-r",
        "cp437",
    ]
    .into_iter()
    .map(|label| Charset::from_label(label).unwrap())
    .collect();
    let on_violation = vec![
        OnViolation::Reject,
        OnViolation::Normalize,
        OnViolation::Report,
    ];
    (
        policy(),
        select([Legacy::Decode, Legacy::Decode, Legacy::Escape].as_slice()),
        vec(select(charsets), 0..3),
        select(on_violation),
        any::<bool>(),
    )
        .prop_map(|(policy, legacy, from, on_violation, stores)| NameMap {
            policy,
            legacy,
            store_as: from
                .first()
                .copied()
                .filter(|_| stores && legacy == Legacy::Decode),
            from,
            on_violation,
            errno: ErrnoChoice::default(),
        })
}

/// Settings and a directory in which some names are just what others would be visible as.
pub(super) fn directory() -> impl Strategy<Value = (NameMap, BTreeSet<BackingName>)> {
    (map(), btree_set(name(), 0..10), vec(any::<bool>(), 30)).prop_map(
        |(map, mut names, choices)| {
            // Three rounds, so that what gives way to a sibling finds the next name taken too.
            for choices in choices.chunks(10) {
                let shown = super::directory::shown(&map, &names);
                let copies: Vec<_> = shown
                    .values()
                    .zip(choices)
                    .filter(|&(_, &chosen)| chosen)
                    .filter_map(|(visible, _)| BackingName::parse(visible.as_bytes()).ok())
                    .collect();
                names.extend(copies);
            }
            (map, names)
        },
    )
}
