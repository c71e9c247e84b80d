//! Law N12: names kept in a legacy charset, shown as UTF-8; and an escape as another spelling of a decoded name (N10).

use rustix::io::Errno;

use crate::support::Tree;
use crate::support::at::{self, Make};

/// A name that the charset has, and one that it lacks, by each operation that makes a name.
#[test]
fn n12_names_are_stored_in_the_charset_by_every_operation_and_read_back() {
    let tree = Tree::new();
    let mount = tree.mount(&["--store-as", "koi8-r"]);
    let visible = "\u{41F}\u{420}\u{418}\u{412}\u{415}\u{422}.txt".as_bytes();
    let stored = b"\xF0\xF2\xE9\xF7\xE5\xF4.txt";
    for make in Make::ALL {
        let label = make.label();
        at::mkdir(mount.dir(), label.as_bytes()).unwrap();
        let dir = mount.sub(label);
        at::write_new(&dir, Make::SOURCE, b"content").unwrap();
        let lacking = make.run(&dir, "caf\u{E9}".as_bytes());
        assert_eq!(lacking, Err(Errno::ILSEQ), "{label}");
        assert_eq!(make.run(&dir, visible), Ok(()), "{label}");
        let below = at::open_dir(tree.below_dir(), label.as_bytes()).unwrap();
        let number = at::stat(&below, stored).unwrap().st_ino;
        assert_eq!(at::stat(&dir, visible).unwrap().st_ino, number, "{label}");
        assert!(at::list(&dir).contains(&visible.to_vec()), "{label}");
        let again = at::create_new(&dir, visible).err();
        assert_eq!(again, Some(Errno::EXIST), "{label}");
    }
    let records = mount.stop();
    assert_eq!(records.len(), Make::ALL.len());
    for record in records {
        assert_eq!(record.text("rule"), "unmappable");
        assert_eq!(record.text("kind"), "koi8-r");
    }
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
