//! Law N12: names kept in a legacy charset, shown as UTF-8.

use rustix::io::Errno;

use super::{Scratch, map};
use crate::at::{self, Make};
use crate::codec::{Charset, Form};
use crate::names::{Legacy, NameMap};
use crate::policy::{Policy, RuleName};

/// New names are stored in the charset, which is the first that others are decoded from.
fn storing(charset: &str) -> NameMap {
    NameMap {
        store_as: Charset::from_label(charset).ok(),
        ..map(Legacy::Decode, &[charset])
    }
}

#[test]
fn n12_names_are_stored_in_the_charset_by_every_operation_and_read_back() {
    // charset, visible, stored
    let rows: [(&str, &str, &[u8]); 7] = [
        ("iso-8859-1", "caf\u{E9}", b"caf\xE9"),
        (
            "koi8-r",
            "\u{41F}\u{420}\u{418}\u{412}\u{415}\u{422}.txt",
            b"\xF0\xF2\xE9\xF7\xE5\xF4.txt",
        ),
        (
            "shift_jis",
            "\u{4E00}\u{89A7}\u{8868}.txt",
            b"\x88\xEA\x97\x97\x95\x5C.txt",
        ),
        ("gb18030", "\u{1F600}", b"\x94\x39\xFC\x36"),
        ("iso-8859-1", "plain", b"plain"),
        // Read as UTF-8, these octets would be other names (N1): stored in UTF-8.
        ("euc-jp", "\u{8868}.txt", "\u{8868}.txt".as_bytes()),
        ("iso-8859-1", "\u{C3}\u{A9}", "\u{C3}\u{A9}".as_bytes()),
    ];
    for (charset, visible, stored) in rows {
        let scratch = Scratch::new(storing(charset), &[]);
        for make in Make::ALL {
            let what = format!("{} of {visible} in {charset}", make.label());
            let (dir, below) = scratch.directory(make.label().as_bytes());
            let visible = visible.as_bytes();
            at::write_new(&below, Make::SOURCE, b"content").unwrap();
            assert_eq!(dir.make(make, visible), Ok(()), "{what}");
            let on_disk = at::sorted(&below);
            assert!(on_disk.contains(&stored.to_vec()), "{what}: {on_disk:02X?}");
            assert!(dir.sorted().contains(&visible.to_vec()), "{what}");
            let number = at::stat(&below, stored).unwrap().st_ino;
            assert_eq!(dir.stat(visible).unwrap().ino, number, "{what}");
            assert_eq!(dir.create_new(visible), Err(Errno::EXIST), "{what}");
            assert_eq!(at::sorted(&below), on_disk, "{what}");
        }
    }
}

#[test]
fn n12_a_character_that_the_charset_lacks_is_refused_and_said_so() {
    let scratch = Scratch::new(storing("iso-8859-1"), &[]);
    for make in Make::ALL {
        let (dir, below) = scratch.directory(make.label().as_bytes());
        at::write_new(&below, Make::SOURCE, b"").unwrap();
        let made = dir.make(make, "5\u{20AC}".as_bytes());
        assert_eq!(made, Err(Errno::ILSEQ), "{}", make.label());
        assert_eq!(dir.sorted(), [Make::SOURCE], "{}", make.label());
    }
    let records = scratch.records();
    assert_eq!(records.len(), Make::ALL.len());
    for record in records {
        assert_eq!(record.rule, RuleName::Unmappable);
        assert_eq!(record.kind.as_deref(), Some("iso-8859-1"));
        assert_eq!(record.code_point.as_deref(), Some("U+20AC"));
        assert_eq!((record.offset, record.length), (1, 3));
    }
}

/// N1, N2, N11: UTF-8 and ill-formed names of the charset side by side; what is there is never made twice.
#[test]
fn n12_names_of_every_kind_live_beside_those_of_the_charset() {
    let (utf8, naïve) = ("\u{E9}t\u{E9}".as_bytes(), "na\u{EF}ve".as_bytes());
    let below: [&[u8]; 3] = [utf8, b"na\xEFve", b"\xC3\xA9"];
    let scratch = Scratch::new(storing("iso-8859-1"), &below);
    let dir = scratch.root();
    // The conforming name is there: it is opened, not made anew beside it.
    assert_eq!(dir.create_new(utf8), Err(Errno::EXIST));
    assert_eq!(dir.read(utf8).unwrap(), utf8);
    assert_eq!(dir.create_new(naïve), Err(Errno::EXIST));
    dir.write_new(b"new", b"new").unwrap();
    dir.rename(b"new", naïve).unwrap();
    assert_eq!(dir.read(naïve).unwrap(), b"new");
    // Moving away and back stores it in the charset.
    dir.rename(utf8, b"moved").unwrap();
    dir.rename(b"moved", utf8).unwrap();
    let below = at::sorted(scratch.below_dir());
    assert_eq!(below, [&b"na\xEFve"[..], b"\xC3\xA9", b"\xE9t\xE9"]);
    dir.rename_with(utf8, naïve, libc::RENAME_EXCHANGE).unwrap();
    assert_eq!(dir.read(utf8).unwrap(), b"new");
    assert_eq!(at::sorted(scratch.below_dir()), below);
}

/// Found from outside: in NFD, a letter with an accent is two characters, which no charset of one byte has.
#[test]
fn n12_names_in_nfd_are_stored_composed() {
    let nfd = NameMap {
        policy: Policy {
            form: Some(Form::Nfd),
            ..Policy::default()
        },
        ..storing("iso-8859-1")
    };
    let scratch = Scratch::new(nfd, &[b"old\xE9"]);
    let dir = scratch.root();
    let name = b"olde\xCC\x81";
    assert_eq!(dir.sorted(), [name]);
    dir.unlink(name).unwrap();
    dir.write_new(name, b"new").unwrap();
    assert_eq!(dir.sorted(), [name]);
    assert_eq!(at::list(scratch.below_dir()), [b"old\xE9"]);
}
