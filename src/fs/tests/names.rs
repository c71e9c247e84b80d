//! Laws N1 to N6, N10 and N11: entries by their visible names, and by other spellings of them.

use rustix::io::Errno;

use super::programs::errno;
use super::{Legacy, NameMap, ROOT, Scratch, in_form, map, new_entry};
use crate::at;
use crate::codec::{Charset, Form};
use crate::names::Quoted;
use crate::policy::Profile;

const COMPOSED: &[u8] = "caf\u{E9}".as_bytes();
const DECOMPOSED: &[u8] = "cafe\u{301}".as_bytes();
const LATIN: &[u8] = b"caf\xE9";

/// N10: under `reject` the other form of a name still finds it; only a new name in that form is refused.
#[test]
fn the_other_form_finds_what_exists_also_under_reject() {
    let map = in_form(Form::Nfc, map(Legacy::Escape, &[]));
    let scratch = Scratch::new(map, &[COMPOSED]);
    let dir = scratch.root();
    assert_eq!(dir.read(DECOMPOSED).unwrap(), COMPOSED);
    assert_eq!(dir.create_new(DECOMPOSED), Err(Errno::EXIST));
    dir.unlink(DECOMPOSED).unwrap();
    assert_eq!(dir.stat(COMPOSED), Err(Errno::NOENT));
    assert_eq!(dir.create_new(DECOMPOSED), Err(Errno::ILSEQ));
    assert!(at::list(scratch.below_dir()).is_empty());
}

/// N11: opening with `O_CREAT` opens the legacy sibling, and writes go to it. The kernel looks the name up first, or again where it
/// asked to make it and gets `ESTALE`.
#[test]
fn writing_to_the_visible_name_writes_to_the_legacy_file() {
    let scratch = Scratch::new(map(Legacy::Decode, &["iso-8859-1"]), &[LATIN]);
    let new = new_entry(ROOT, COMPOSED, libc::S_IFREG | 0o644);
    let made = scratch.fs.create(&new, libc::O_CREAT | libc::O_WRONLY);
    assert_eq!(made.err().map(errno), Some(Errno::STALE));
    scratch.root().write(COMPOSED, b"new content").unwrap();
    assert_eq!(at::list(scratch.below_dir()), [LATIN]);
    let content = at::read(scratch.below_dir(), LATIN);
    assert_eq!(content.unwrap(), b"new content");
}

/// N6, `raw`: what exists can be read, renamed to a conforming name and removed, and cannot be made anew.
#[test]
fn raw_names_can_be_cleaned_up_and_not_made_anew() {
    let scratch = Scratch::new(map(Legacy::Raw, &[]), &[LATIN, b"\xFF"]);
    let dir = scratch.root();
    assert_eq!(dir.sorted(), [LATIN, b"\xFF"]);
    assert_eq!(dir.read(LATIN).unwrap(), LATIN);
    dir.rename(LATIN, COMPOSED).unwrap();
    dir.unlink(b"\xFF").unwrap();
    assert_eq!(dir.rename(COMPOSED, LATIN), Err(Errno::ILSEQ));
    assert_eq!(dir.create_new(b"\xFF"), Err(Errno::ILSEQ));
    assert_eq!(at::list(scratch.below_dir()), [COMPOSED]);
}

/// N6, `hide`: neither listed nor found, whatever the offence.
#[test]
fn hidden_names_are_neither_listed_nor_found() {
    let hidden: [&[u8]; 4] = [LATIN, b"a\nb", b"-x", DECOMPOSED];
    let safe = NameMap {
        policy: Profile::Safe.policy(),
        ..map(Legacy::Hide, &[])
    };
    let names = [&hidden[..], &[&b"plain"[..]]].concat();
    let scratch = Scratch::new(in_form(Form::Nfc, safe), &names);
    assert_eq!(scratch.list(), [b"plain"]);
    let guesses: [&[u8]; 4] = [b"caf%E9", COMPOSED, b"a%0Ab", b"%2Dx"];
    for name in hidden.into_iter().chain(guesses) {
        let found = scratch.root().stat(name);
        assert_eq!(found, Err(Errno::NOENT), "{}", Quoted(name));
    }
}

/// Law N1, whatever wants the name too: siblings that are read, escaped or cut to it, and charsets in which it means something else.
#[test]
fn n1_a_conforming_name_is_listed_and_opened_as_itself_whatever_lies_beside_it() {
    let conforming: [&[u8]; 10] = [
        COMPOSED,
        // In EUC-JP it is another character.
        b"\xC9\xBD",
        b"caf%E9",
        b"caf%%E9",
        b"100%",
        b"%25",
        b"a~b",
        b"~aaaaaaaaaaaaaaaa",
        b"e\xCC\x81",
        &[b'x'; 255],
    ];
    let beside: [&[u8]; 4] = [LATIN, b"%\xFF", b"100%\xFF", &[0xFF; 255]];
    let latin = || map(Legacy::Decode, &["iso-8859-1"]);
    let stored = NameMap {
        store_as: Some(Charset::from_label("iso-8859-1").unwrap()),
        ..latin()
    };
    for map in [
        latin(),
        map(Legacy::Decode, &["euc-jp"]),
        map(Legacy::Escape, &[]),
        map(Legacy::Raw, &[]),
        map(Legacy::Hide, &[]),
        stored,
    ] {
        let what = format!("{map:?}");
        let scratch = Scratch::new(map, &[&conforming[..], &beside].concat());
        let listed = scratch.list();
        for name in conforming {
            let times = listed.iter().filter(|found| *found == name).count();
            assert_eq!(times, 1, "{} {what}", Quoted(name));
            let content = scratch.root().read(name).unwrap();
            assert_eq!(content, name, "{what}");
        }
    }
}

/// Laws N3, N5: every octet that can be a name, below the mount.
#[test]
fn every_single_octet_below_is_visible_and_opens() {
    let octets: Vec<[u8; 1]> = (1..=255).map(|octet| [octet]).collect();
    let names = octets.iter().map(|octet| &octet[..]);
    let names: Vec<&[u8]> = names.filter(|name| !matches!(*name, b"/" | b".")).collect();
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &names);
    let listed = scratch.list();
    assert_eq!(listed.len(), names.len());
    for name in names {
        let visible = match name.is_ascii() {
            true => name.to_vec(),
            false => format!("%{:02X}", name[0]).into_bytes(),
        };
        assert!(listed.contains(&visible), "{}", Quoted(&visible));
        assert_eq!(scratch.root().read(&visible).unwrap(), name);
    }
}
