//! Listings: names of five charsets, doubly encoded, in several forms, colliding, of every length.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use utf8fs::backing::Kind;
use utf8fs::codec::{Charset, Form};
use utf8fs::names::{Escapes, PrivateUse};
use utf8fs::policy::{NAME_MAX, Profile, is_component};
use utf8fs::tree::plan::{EntryList, OnCollision, PlanOptions};

use super::charsets;

/// Charsets with words of their users.
const WORDS: [(&str, &[&str]); 5] = [
    ("iso-8859-1", &["café", "garçon", "über", "señor", "À¯"]),
    ("windows-1252", &["prix €", "“cité”", "œuvre", "café"]),
    ("koi8-r", &["привет", "Москва", "ёж"]),
    ("shift_jis", &["日本語", "表示", "ソフト", "テスト"]),
    ("gb18030", &["中文", "文件夹", "你好"]),
];

/// Text that needs no charset: other forms, what profiles forbid, escapes, what is like numbers of collisions.
const PLAIN: [&str; 17] = [
    "a\u{F022}b",
    "\u{F029}",
    "%20",
    "%2F",
    "%0a",
    "cafe\u{301}",
    "\u{212B}",
    "a:b",
    " edge ",
    "caf%E9",
    "%25",
    "%C3%A9",
    "-2",
    ".txt",
    "\u{85}",
    "café-2",
    "x",
];

/// What no charset means.
const BROKEN: [&[u8]; 4] = [b"\xC0\xAF", b"\xED\xA0\x80", b"\xFF\xFE", b"\xE9"];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let encoded = select(WORDS.as_slice()).prop_flat_map(|(label, words)| {
        (Just(label), select(words), 0..4_u8).prop_map(|(label, word, how)| {
            let charset = Charset::from_label(label).unwrap();
            match how {
                0 => word.as_bytes().to_vec(),
                // Encoded again.
                1 => word
                    .bytes()
                    .map(char::from)
                    .collect::<String>()
                    .into_bytes(),
                _ => charset.encode(word).unwrap(),
            }
        })
    });
    prop_oneof![
        6 => encoded,
        2 => select(PLAIN.as_slice()).prop_map(|text| text.as_bytes().to_vec()),
        1 => select(BROKEN.as_slice()).prop_map(<[u8]>::to_vec),
        1 => any::<u8>().prop_map(|octet| vec![octet]),
    ]
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let long = (piece(), 10..120_usize).prop_map(|(piece, times)| piece.repeat(times));
    prop_oneof![8 => vec(piece(), 1..3).prop_map(|pieces| pieces.concat()), 1 => long]
        .prop_filter("no name", |name| {
            name.len() <= NAME_MAX && is_component(name)
        })
}

/// Names, each with what it is; inode numbers are their places.
pub(super) type Names = Vec<(Vec<u8>, Kind)>;

pub(super) fn names() -> impl Strategy<Value = Names> {
    let kind = select([Kind::File, Kind::File, Kind::Dir, Kind::Symlink].as_slice());
    vec((name(), kind), 0..24).prop_map(|names| {
        let unique: BTreeMap<Vec<u8>, Kind> = names.into_iter().collect();
        unique.into_iter().collect()
    })
}

pub(super) fn listing(names: &Names) -> EntryList {
    let mut listing = EntryList::default();
    for (index, (name, kind)) in names.iter().enumerate() {
        listing.push(name, *kind, u64::try_from(index).unwrap());
    }
    listing
}

/// What is asked, with charsets that are named.
pub(super) fn options() -> impl Strategy<Value = PlanOptions> {
    let from = prop_oneof![
        3 => select(WORDS.as_slice()).prop_map(|(label, _)| vec![label]),
        2 => Just(vec!["shift_jis", "koi8-r"]),
        1 => Just(vec!["gb18030", "windows-1252", "iso-8859-1"]),
        1 => Just(Vec::new()),
    ];
    (
        from,
        select([None, None, Some(Form::Nfc), Some(Form::Nfd)].as_slice()),
        select(
            [
                Profile::Utf8,
                Profile::Utf8,
                Profile::Safe,
                Profile::Portable,
                Profile::Posix,
            ]
            .as_slice(),
        ),
        select([None, Some(PrivateUse::Sfm), Some(PrivateUse::Sfu)].as_slice()),
        (
            any::<bool>(),
            select([None, Some(Escapes::Utf8fs), Some(Escapes::Percent)].as_slice()),
            any::<bool>(),
        ),
        select([OnCollision::Skip, OnCollision::Suffix, OnCollision::Same].as_slice()),
    )
        .prop_map(
            |(from, form, profile, private_use, (double, unescape, shorten), on_collision)| {
                let mut policy = profile.policy();
                policy.form = form;
                let mut options = PlanOptions::new(policy, charsets(&from));
                options.fix_double = double;
                options.unescape = unescape;
                options.private_use = private_use;
                options.shorten = shorten;
                options.on_collision = on_collision;
                options
            },
        )
}
