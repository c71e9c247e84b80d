//! Law N12: names kept in a legacy charset, shown as UTF-8; and an escape as another spelling of a decoded name (N10).

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::{Tree, show};

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
        let tree = Tree::new();
        let mount = tree.mount(&["--store-as", charset]);
        for make in Make::ALL {
            let what = format!("{} of {visible} in {charset}", make.label());
            let label = make.label().as_bytes();
            at::mkdir(mount.dir(), label).unwrap();
            let dir = at::open_dir(mount.dir(), label).unwrap();
            at::write_new(&dir, Make::SOURCE, b"content").unwrap();
            assert_eq!(make.run(&dir, visible.as_bytes()), Ok(()), "{what}");
            let below = at::open_dir(tree.below_dir(), label).unwrap();
            let on_disk = at::list(&below);
            assert!(
                on_disk.contains(&stored.to_vec()),
                "{what}: {}",
                show(&on_disk.concat())
            );
            let listed = at::list(&dir);
            assert!(listed.contains(&visible.as_bytes().to_vec()), "{what}");
            let number = at::stat(&below, stored).unwrap().st_ino;
            assert_eq!(
                at::stat(&dir, visible.as_bytes()).unwrap().st_ino,
                number,
                "{what}"
            );
            let again = at::create_new(&dir, visible.as_bytes()).err();
            assert_eq!(again, Some(Errno::EXIST), "{what}");
            assert_eq!(at::list(&below), on_disk, "{what}");
        }
        mount.stop();
    }
}

#[test]
fn n12_a_character_that_the_charset_lacks_is_refused_and_said_so() {
    let tree = Tree::new();
    let mount = tree.mount(&["--store-as", "iso-8859-1"]);
    let name = "5\u{20AC}".as_bytes();
    for make in Make::ALL {
        at::mkdir(mount.dir(), make.label().as_bytes()).unwrap();
        let dir = at::open_dir(mount.dir(), make.label().as_bytes()).unwrap();
        at::write_new(&dir, Make::SOURCE, b"").unwrap();
        assert_eq!(make.run(&dir, name), Err(Errno::ILSEQ), "{}", make.label());
        assert_eq!(at::list(&dir), [Make::SOURCE], "{}", make.label());
    }
    let records = mount.stop();
    assert_eq!(records.len(), Make::ALL.len());
    for record in records {
        assert_eq!(record.text("rule"), "unmappable");
        assert_eq!(record.text("kind"), "iso-8859-1");
        assert_eq!(record.text("code_point"), "U+20AC");
        assert_eq!((record.number("offset"), record.number("length")), (1, 3));
    }
}

/// N1, N2, N11: UTF-8 and ill-formed names of the charset side by side; what is there is never made twice.
#[test]
fn n12_names_of_every_kind_live_beside_those_of_the_charset() {
    let tree = Tree::new();
    let utf8 = "\u{E9}t\u{E9}".as_bytes();
    tree.file(utf8, b"UTF-8");
    tree.file(b"na\xEFve", b"Latin-1");
    tree.file(b"\xC3\xA9", b"UTF-8 too");
    let mount = tree.mount(&["--store-as", "iso-8859-1"]);
    let dir = mount.dir();
    // The conforming name is there: it is opened, not made anew beside it.
    assert_eq!(at::create_new(dir, utf8).err(), Some(Errno::EXIST));
    assert_eq!(at::read(dir, utf8).unwrap(), b"UTF-8");
    assert_eq!(
        at::create_new(dir, "na\u{EF}ve".as_bytes()).err(),
        Some(Errno::EXIST)
    );
    at::write_new(dir, b"new", b"new").unwrap();
    at::rename(dir, b"new", "na\u{EF}ve".as_bytes()).unwrap();
    assert_eq!(at::read(dir, "na\u{EF}ve".as_bytes()).unwrap(), b"new");
    // Moving away and back stores it in the charset.
    at::rename(dir, utf8, b"moved").unwrap();
    at::rename(dir, b"moved", utf8).unwrap();
    let below = at::sorted(tree.below_dir());
    assert_eq!(below, [b"na\xEFve".as_slice(), b"\xC3\xA9", b"\xE9t\xE9"]);
    let exchange = at::rename_with(dir, utf8, "na\u{EF}ve".as_bytes(), RenameFlags::EXCHANGE);
    assert_eq!(exchange, Ok(()));
    assert_eq!(at::read(dir, utf8).unwrap(), b"new");
    assert_eq!(at::sorted(tree.below_dir()), below);
    mount.stop();
}

/// N10: under `normalize`, what a decoded name would be escaped as reaches it, by every operation.
#[test]
fn n10_an_escape_reaches_the_entry_that_is_shown_decoded() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"coffee");
    let below = tree.directory(b"d\xE9p\xF4t");
    let mount = tree.mount(&["--from", "iso-8859-1", "--on-violation", "normalize"]);
    let dir = mount.dir();
    let (escape, decoded) = (b"caf%E9".as_slice(), "caf\u{E9}".as_bytes());
    assert_eq!(at::read(dir, escape).unwrap(), b"coffee");
    assert_eq!(at::create_new(dir, escape).err(), Some(Errno::EXIST));
    assert_eq!(at::mkdir(dir, escape), Err(Errno::EXIST));
    assert_eq!(at::link(dir, decoded, escape), Err(Errno::EXIST));
    at::write_new(dir, b"new", b"tea").unwrap();
    at::rename(dir, b"new", escape).unwrap();
    assert_eq!(at::read(dir, decoded).unwrap(), b"tea");
    let inside = at::open_dir(dir, b"d%E9p%F4t").unwrap();
    at::write_new(&inside, b"file", b"").unwrap();
    assert_eq!(at::list(&below), [b"file"]);
    at::rename(dir, b"d%E9p%F4t", b"depot").unwrap();
    at::write_new(&inside, b"more", b"").unwrap();
    drop(inside);
    let gone = at::stat(dir, "d\u{E9}p\u{F4}t".as_bytes()).err();
    assert_eq!(gone, Some(Errno::NOENT));
    at::unlink(dir, escape).unwrap();
    assert_eq!(at::stat(dir, decoded).err(), Some(Errno::NOENT));
    assert_eq!(at::stat(dir, escape).err(), Some(Errno::NOENT));
    // Nothing has it now: it is a name like others.
    at::write_new(dir, escape, b"itself").unwrap();
    assert_eq!(at::sorted(tree.below_dir()), [escape, b"depot"]);
    mount.stop();
}

/// Found from outside: in NFD, a letter with an accent is two characters, which no charset of one byte has.
#[test]
fn n12_names_in_nfd_are_stored_composed() {
    let tree = Tree::new();
    tree.file(b"old\xE9", b"old");
    let options = "--store-as iso-8859-1 --normalization nfd";
    let mount = tree.mount(&options.split(' ').collect::<Vec<_>>());
    let name = b"olde\xCC\x81".as_slice();
    assert_eq!(at::list(mount.dir()), [name]);
    at::unlink(mount.dir(), name).unwrap();
    at::write_new(mount.dir(), name, b"new").unwrap();
    assert_eq!(at::list(mount.dir()), [name]);
    assert_eq!(at::list(tree.below_dir()), [b"old\xE9"]);
    mount.stop();
}
