//! What `policy show` tells of a new name is what a filesystem of that policy does with it.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::backing::Dir;
use crate::fs::{Caller, NewEntry, ROOT, Utf8Fs, samples};
use crate::names::VisibleName;
use crate::names::rules::Decision;

/// The user who runs the tests: the filesystem makes what it makes as its own user.
fn me() -> Caller {
    Caller {
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        pid: std::process::id(),
    }
}

fn words(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        select(values).prop_map(move |value| format!("{key} = {value}\n")),
    ]
}

const PATHS: &[&str] = &[
    "\"/web/**\"",
    "\"/web/*\"",
    "[\"*.tmp\", \"caf*\"]",
    "\"/*\"",
    "\"**\"",
    "\"/w?b/[a-x]*\"",
];
const MODES: &[&str] = &["\"enforce\"", "\"normalize\"", "\"report\"", "\"off\""];
const ERRNOS: &[&str] = &["\"einval\"", "\"eperm\"", "\"enametoolong\""];
const FORBID: &[&str] = &[
    "\"windows\"",
    "[\"non-ascii\"]",
    "[\"leading-dash\", \"control\"]",
];

fn joined<const N: usize>(parts: [BoxedStrategy<String>; N]) -> impl Strategy<Value = String> {
    parts.to_vec().prop_map(|parts| parts.concat())
}

fn section() -> impl Strategy<Value = String> {
    let me = me();
    let users = format!("users = [{}]\n", me.uid);
    let groups = format!("groups = [{}, 4242]\n", me.gid);
    joined([
        Just("[[section]]\n".to_owned()).boxed(),
        words("path", PATHS).boxed(),
        select(vec![
            String::new(),
            users,
            groups,
            "users = 4242\n".to_owned(),
        ])
        .boxed(),
        words("mode", MODES).boxed(),
        words("errno", ERRNOS).boxed(),
        words("forbid", FORBID).boxed(),
        words("max_bytes", &["24", "40"]).boxed(),
        words("max_chars", &["24", "30"]).boxed(),
    ])
}

fn policy() -> impl Strategy<Value = String> {
    let mine = format!("exempt_uid = [{}]\n", me().uid);
    let top = joined([
        words("profile", &["\"safe\"", "\"portable\"", "\"posix\""]).boxed(),
        words("normalization", &["\"nfc\"", "\"nfd\"", "\"preserve\""]).boxed(),
        words("from", &["\"iso-8859-1\"", "[\"shift_jis\", \"koi8-r\"]"]).boxed(),
        words("store_as", &["\"iso-8859-15\"", "\"koi8-r\""]).boxed(),
        words("mode", MODES).boxed(),
        words("errno", ERRNOS).boxed(),
        words("max_bytes", &["50", "255"]).boxed(),
        words("exempt", PATHS).boxed(),
        select(vec![String::new(), String::new(), String::new(), mine]).boxed(),
    ]);
    (top, prop::collection::vec(section(), 0..4))
        .prop_map(|(top, sections)| top + &sections.concat())
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"a",
        b"caf",
        b"\xE9",
        "é".as_bytes(),
        "e\u{301}".as_bytes(),
        "я".as_bytes(),
        "中".as_bytes(),
        b":",
        b"-",
        b"\t",
        b" ",
        b".tmp",
        b"\xC0\xAF",
        b"%41",
        b"%E9",
        b"~",
        b"con",
        b"aaaaaaaaaaaaaaaaaaaaaaaaaa",
        &[b'b'; 120],
        &[0xE9; 90],
    ];
    let count = pieces.len();
    let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
    let some = subsequence(pieces, 1..=4.min(count)).prop_shuffle();
    some.prop_map(|pieces| pieces.concat())
}

/// A filesystem of that policy over `root`, with a directory `web`, and the number of that.
fn filesystem(resolved: &ResolvedPolicy, root: &Path) -> (Utf8Fs, u64) {
    std::fs::create_dir(root.join("web")).unwrap();
    let root = Dir::open_root(root).unwrap().into_fd();
    let mut config = samples::config(root, resolved.map.clone());
    config.rules = resolved.rules.clone();
    config.settings.unique = resolved.unique;
    config.settings.rules_may_change = true;
    let fs = Utf8Fs::new(config).unwrap();
    let web = fs.lookup(me(), ROOT, b"web").unwrap().inode.number;
    (fs, web)
}

/// The names below in a directory.
fn below(directory: &Path) -> BTreeSet<Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().as_bytes().to_vec());
    names.filter(|name| name != b"web").collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_filesystem_does_what_is_told(text in policy(), names in prop::collection::vec(name(), 1..12)) {
        let place = tempfile::tempdir().unwrap();
        let resolved = resolved(&text);
        let root = place.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let (fs, web) = filesystem(&resolved, &root);
        let groups = BTreeSet::from([me().gid]);
        for name in names {
            for (number, directory, prefix) in [(ROOT, root.clone(), "/"), (web, root.join("web"), "/web/")] {
                let path = [prefix.as_bytes(), &name].concat();
                let asked = VisibleName::parse(&name).unwrap();
                let Outlook { section, decision, .. } = resolved.outlook(me().uid, &groups, &path, &asked);
                let new = NewEntry { caller: me(), parent: number, name: &name, mode: 0o755, umask: 0o022 };
                let made = fs.mkdir(&new);
                let what = format!("{text}{}", path.escape_ascii());
                match (decision, made) {
                    (Decision::Refuse(offence), Err(error)) => {
                        let errno = resolved.rules.terms_of(section).map.errno.errno(offence.rule);
                        prop_assert_eq!(errno, error.errno(), "{}", what);
                    }
                    (Decision::TooLong, Err(error)) => prop_assert_eq!(libc::ENAMETOOLONG, error.errno(), "{}", what),
                    (Decision::Create(new), Ok(_)) => {
                        let expected = resolved.map.stored(&new.visible);
                        let expected = expected.unwrap_or_else(|_lacking| new.visible.as_backing());
                        let found = below(&directory);
                        let is_it = |name: &Vec<u8>| {
                            name == expected.as_bytes() || name == new.visible.as_bytes()
                        };
                        prop_assert!(found.len() == 1 && found.iter().all(is_it), "{} {:?}", what, found);
                        prop_assert!(fs.lookup(me(), number, new.visible.as_bytes()).is_ok(), "{}", what);
                        fs.rmdir(me(), number, new.visible.as_bytes()).unwrap();
                    }
                    (decision, made) => prop_assert!(false, "{} {:?} {:?}", what, decision, made.map(drop)),
                }
                prop_assert!(below(&directory).is_empty(), "{}", what);
            }
        }
    }
}
