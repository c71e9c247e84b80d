//! Bugs of others who convert or check names. Each comment says whose bug it is and where it was seen; "measured" is on
//! Debian 12, with bindfs 1.14.7 over libfuse 2.9.9 and fuse-convmvfs 0.2.6. `tests/it/mount/peers.rs` has those that only
//! a mount can show.

use rustix::io::Errno;

use super::{Alike, Legacy, NameMap, OnViolation, Scratch, in_form, in_mode, map};
use crate::at::{self, Make};
use crate::codec::{Charset, Form};
use crate::names::Quoted;

const NFC: &[u8] = b"caf\xC3\xA9";
const NFD: &[u8] = b"cafe\xCC\x81";
const LATIN: &[u8] = b"caf\xE9";

fn latin() -> NameMap {
    map(Legacy::Decode, &["iso-8859-1"])
}

fn escape() -> NameMap {
    map(Legacy::Escape, &[])
}

fn normalizing(map: NameMap) -> NameMap {
    in_mode(OnViolation::Normalize, map)
}

/// What the files of the root hold, sorted: each its backing name.
fn contents(scratch: &Scratch) -> Vec<Vec<u8>> {
    let dir = scratch.root();
    let listed = dir.sorted();
    let mut contents: Vec<_> = listed.iter().map(|name| dir.read(name).unwrap()).collect();
    contents.sort();
    contents
}

/// bindfs with libfuse's iconv module takes U+110000 and five octets for UTF-8, dirconv surrogates (measured); Safename's
/// check skips the fourth octet of four.
#[test]
fn what_bindfs_dirconv_and_safename_take_for_utf_8_is_refused() {
    let scratch = Scratch::new(escape(), &[Make::SOURCE]);
    for name in [
        &b"\xF4\x90\x80\x80"[..],
        b"\xF8\x88\x80\x80\x80",
        b"\xED\xA0\x80",
        b"\xF0\x90\x80",
        b"\xC0\xAF",
        b"\xC0\x80",
    ] {
        for make in Make::ALL {
            let made = scratch.root().make(make, name);
            let what = format!("{} of {}", make.label(), Quoted(name));
            assert_eq!(made, Err(Errno::ILSEQ), "{what}");
        }
    }
    assert_eq!(at::list(scratch.below_dir()), [Make::SOURCE]);
}

/// The kernel fails a whole listing with EIO for one name with `/` in it, which a converter can make of a name.
#[test]
fn unlike_a_careless_converter_no_name_makes_a_listing_fail() {
    let mut names = [
        &b"\xC0\xAF"[..],
        b"..\xE0\x80\xAFx",
        b"a\x81\x5E",
        b"+AC8-",
        b"%2F",
        b"\x61\x4B",
    ];
    names.sort_unstable();
    for charset in ["shift_jis", "euc-jp", "gb18030", "cp437", "macintosh"] {
        let scratch = Scratch::new(map(Legacy::Decode, &[charset]), &names);
        for name in scratch.list() {
            assert!(!name.contains(&b'/'), "{charset}: {}", Quoted(&name));
        }
        assert_eq!(contents(&scratch), names, "{charset}");
    }
}

/// fuse-t#114: of the NFC, NFD and Latin-1 spellings of one name two are listed, both open one file, the third is lost.
/// The iconv module hides the raw one beside the converted one.
#[test]
fn unlike_fuse_t_every_spelling_that_lies_below_is_one_entry_with_its_own_content() {
    for map in [
        latin(),
        in_form(Form::Nfc, latin()),
        in_form(Form::Nfd, latin()),
        normalizing(in_form(Form::Nfc, latin())),
        escape(),
    ] {
        let what = format!("{map:?}");
        let scratch = Scratch::new(map, &[NFC, NFD, LATIN]);
        assert_eq!(contents(&scratch), [NFD, NFC, LATIN], "{what}");
    }
}

/// rclone#6098, #7456 and winfsp#642: names that have the escape character themselves cannot be reached.
#[test]
fn unlike_rclone_and_winfsp_names_with_the_escape_character_are_reached() {
    let mut names = [
        &b"%E9"[..],
        b"\xE9",
        b"%25E9",
        b"%\xE9",
        b"%%E9",
        b"%",
        b"%25\xE9",
    ];
    names.sort_unstable();
    assert_eq!(contents(&Scratch::new(escape(), &names)), names);
}

/// Force-NFC renames break torrents and checksums (syncthing#7101, #9483, cryptomator#3318): `preserve` changes nothing.
/// zfs#3707: with formKD `Ⅲ` is `III`; no form of ours joins them. APFS refuses unassigned code points: U+D7FF
/// (haxe#9199), U+1FAE1 (youtube-dl#31395). The kernel's casefolding once lost files with ignorable code points
/// (5c26d2f1d3f5).
#[test]
fn unlike_apfs_zfs_and_ext4_what_is_assigned_or_ignorable_or_compatible_does_not_matter() {
    let names = [
        "\u{D7FF}",
        "\u{1FAE1}",
        "\u{378}",
        "\u{10FFFD}",
        "\u{2162}",
        "III",
        "a\u{AD}b",
        "ab",
        "\u{2764}\u{FE0F}",
        "\u{2764}",
    ];
    for (map, unique) in [
        (escape(), None),
        (in_form(Form::Nfc, escape()), None),
        (in_form(Form::Nfd, escape()), None),
        (escape(), Some(Alike::Nfc)),
        (map(Legacy::Raw, &[]), None),
        (normalizing(escape()), None),
    ] {
        let what = format!("{unique:?} {map:?}");
        let scratch = Scratch::over(map, unique, &[]);
        let dir = scratch.root();
        for name in names.map(str::as_bytes) {
            dir.write_new(name, name).unwrap();
        }
        for name in names.map(str::as_bytes) {
            assert_eq!(dir.read(name).unwrap(), name, "{what}");
        }
        assert_eq!(dir.sorted(), at::sorted(scratch.below_dir()), "{what}");
        assert_eq!(dir.sorted().len(), names.len(), "{what}");
    }
    let scratch = Scratch::new(escape(), &[]);
    for name in [NFC, NFD] {
        scratch.root().write_new(name, name).unwrap();
    }
    assert_eq!(at::sorted(scratch.below_dir()), [NFD, NFC]);
}

/// libfuse's iconv module copies targets with `strncpy` and cuts them without a word.
#[test]
fn unlike_iconv_a_long_target_is_read_whole() {
    let scratch = Scratch::new(latin(), &[]);
    let target = b"abcdefg/".repeat(500);
    scratch.symlink_below(&target, b"link");
    assert_eq!(scratch.root().readlink(b"link").unwrap(), target);
}

/// fuse-convmvfs stores what it cannot convert as `???`: three files written as `caf` and E9, E8, E7 end as one (measured).
/// detox and transliteration lose names in the same way.
#[test]
fn unlike_convmvfs_three_names_are_three_files_or_refused() {
    let names = [LATIN, b"caf\xE8", b"caf\xE7"];
    for (map, expected) in [
        (normalizing(latin()), Ok(())),
        (normalizing(escape()), Err(Errno::ILSEQ)),
    ] {
        let scratch = Scratch::new(map, &[]);
        let dir = scratch.root();
        for name in names {
            assert_eq!(dir.write_new(name, name), expected);
        }
        let made = names.into_iter().filter(|_| expected.is_ok());
        let made: Vec<&[u8]> = made.collect();
        assert_eq!(dir.sorted().len(), made.len());
        for name in made {
            assert_eq!(dir.read(name).unwrap(), name);
        }
    }
}

/// bindfs with `to_code=UTF-7` or `//TRANSLIT`, and convmvfs with `ocharset=UTF-7`, make files outside the source tree,
/// and cut a name at a NUL; `€` becomes `EUR`. `convmv --unescape` moves a file to the parent and replaces another
/// (measured).
#[test]
fn unlike_bindfs_convmvfs_and_convmv_no_name_leads_out_or_is_cut_or_transliterated() {
    let storing = |charset: &str| NameMap {
        store_as: Some(Charset::from_label(charset).unwrap()),
        ..map(Legacy::Decode, &[charset])
    };
    for map in [escape(), storing("iso-8859-1"), storing("shift_jis")] {
        let scratch = Scratch::new(map, &[]);
        scratch.root().mkdir(b"d").unwrap();
        let dir = scratch.root().sub(b"d");
        dir.write_new(b"victim", b"victim").unwrap();
        let mut made = 1;
        for name in [
            "..+AC8-evil",
            "a+AAA-b",
            "..\u{2044}x",
            "..\u{2215}x",
            "..\u{FF0F}x",
            "%2e%2e%2fESCAPED",
            "victim%00x",
            "\u{20AC}",
        ] {
            match dir.write_new(name.as_bytes(), name.as_bytes()) {
                Ok(()) => {
                    made += 1;
                    assert_eq!(dir.read(name.as_bytes()).unwrap(), name.as_bytes());
                }
                refused => assert_eq!(refused, Err(Errno::ILSEQ), "{name}"),
            }
        }
        let listed = dir.sorted();
        assert_eq!(listed.len(), made);
        assert!(!listed.contains(&b"a".to_vec()) && !listed.contains(&b"EUR".to_vec()));
        assert_eq!(dir.read(b"victim").unwrap(), b"victim");
        assert_eq!(at::list(scratch.below_dir()), [b"d"]);
    }
}

/// convmv turns 81 in windows-1252, which is no character there, into U+FFFD, and so two names into one (measured).
#[test]
fn unlike_convmv_an_octet_that_a_charset_lacks_is_kept() {
    let names = [&b"a\x81"[..], b"a\x8D", b"a\x90"];
    let scratch = Scratch::new(map(Legacy::Decode, &["windows-1252"]), &names);
    let shown = [&b"a%81"[..], b"a%8D", b"a%90"];
    assert_eq!(scratch.list(), shown);
    for (name, visible) in names.into_iter().zip(shown) {
        assert_eq!(scratch.root().read(visible).unwrap(), name);
    }
}
