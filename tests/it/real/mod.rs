//! Names that nobody here invented, each mounted with the charset it was made in.

use crate::support::{Tree, at, show};

/// Where it was found, its charset, its bytes, its text.
type Found = (&'static str, &'static str, &'static [u8], &'static str);

const FOUND: [Found; 13] = [
    (
        "fshost/node-dir test/fixtures/testdir5",
        "iso-8859-1",
        b"testu\xE7\xF5es.txt",
        "testuções.txt",
    ),
    (
        "libarchive cpio, tar, zip",
        "cp866",
        b"\x8F\x90\x88\x82\x85\x92",
        "ПРИВЕТ",
    ),
    (
        "libarchive cpio, tar, zip",
        "cp866",
        b"\xAF\xE0\xA8\xA2\xA5\xE2",
        "привет",
    ),
    (
        "libarchive cpio, tar",
        "euc-jp",
        b"\xB4\xC1\xBB\xFA.txt",
        "漢字.txt",
    ),
    ("libarchive cpio, tar", "euc-jp", b"\xC9\xBD.txt", "表.txt"),
    (
        "libarchive cpio, tar, zip",
        "koi8-r",
        b"\xF0\xF2\xE9\xF7\xE5\xF4",
        "ПРИВЕТ",
    ),
    (
        "libarchive cpio, tar, zip",
        "koi8-r",
        b"\xD0\xD2\xC9\xD7\xC5\xD4",
        "привет",
    ),
    (
        "libarchive zip",
        "shift_jis",
        b"\x95\x5C\x82\xBE\x82\xE6",
        "表だよ",
    ),
    (
        "libarchive zip",
        "shift_jis",
        b"\x88\xEA\x97\x97\x95\x5C.txt",
        "一覧表.txt",
    ),
    (
        "libarchive zip",
        "shift_jis",
        b"\x8A\xBF\x8E\x9A.txt",
        "漢字.txt",
    ),
    (
        "libarchive pax (name with a combining caron and one Latin-1 byte)",
        "iso-8859-1",
        b"abc\xCC\x8Cmno\xFCxyz",
        "abcÌ\u{8C}mnoüxyz",
    ),
    (
        "clsty/zip-encoding-test",
        "shift_jis",
        b"\x82\xB1\x82\xF1\x82\xC9\x82\xBF\x82\xCD\x90\xA2\x8AE.txt",
        "こんにちは世界.txt",
    ),
    (
        "clsty/zip-encoding-test",
        "gbk",
        b"\xA4\xB3\xA4\xF3\xA4\xCB\xA4\xC1\xA4\xCF\xCA\xC0\xBD\xE7.txt",
        "こんにちは世界.txt",
    ),
];

/// Laws N3, N6: with the right charset the name is its text, and opens. One of them is well-formed UTF-8 by chance
/// (C9 BD, which is U+027D); law N1 shows it as it is.
#[test]
fn names_from_real_archives_are_shown_as_their_text() {
    for (origin, charset, name, text) in FOUND {
        let tree = Tree::new();
        tree.file(name, origin.as_bytes());
        let mount = tree.mount(&["--from", charset]);
        let dir = mount.dir();
        let shown = at::list(dir);
        let words = format!("{} of {origin}", show(name));
        let text = std::str::from_utf8(name).unwrap_or(text);
        assert_eq!(shown, [text.as_bytes()], "{words}");
        assert_eq!(at::read(dir, text.as_bytes()).unwrap(), origin.as_bytes());
        mount.stop();
        assert_eq!(at::list(tree.below_dir()), [name], "untouched below");
    }
}

/// Laws N2, N3, N6: without a charset all of them side by side are shown escaped, and open.
#[test]
fn names_from_real_archives_are_escaped_without_a_charset() {
    let tree = Tree::new();
    for (origin, _, name, _) in FOUND {
        tree.file(name, origin.as_bytes());
    }
    let below = at::sorted(tree.below_dir());
    let mount = tree.mount(&[]);
    let dir = mount.dir();
    let shown = at::list(dir);
    assert_eq!(shown.len(), below.len());
    for visible in &shown {
        let text = std::str::from_utf8(visible).unwrap();
        let name = unescape(text);
        let content = at::read(tree.below_dir(), &name).unwrap();
        assert_eq!(at::read(dir, visible).unwrap(), content, "{text}");
    }
    mount.stop();
}

/// What was escaped; none of these names has a `%` of its own.
fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut name = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        name.push(u8::from_str_radix(&part[..2], 16).unwrap());
        name.extend_from_slice(&part.as_bytes()[2..]);
    }
    name
}
