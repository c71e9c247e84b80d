//! Law C1 on a mount: `--encoding` says which names are well-formed, and laws N1, N5, N6 and N9 follow it.

use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::{Tree, show};

/// A name, and in which of utf-8, utf-8-rfc2279, fss-utf and utf-8-bmp it is well-formed.
const NAMES: &[(&[u8], [bool; 4])] = &[
    ("caf\u{E9}".as_bytes(), [true, true, true, true]),
    ("\u{FFFD}".as_bytes(), [true, true, true, true]),
    ("\u{1F600}".as_bytes(), [true, true, true, false]),
    (b"\xED\xA0\x80", [false, true, true, true]), // U+D800
    (b"a\xED\xA1\x8C\xED\xBE\xB4", [false, true, true, true]), // a pair of surrogates
    (b"\xF4\x90\x80\x80", [false, true, true, false]), // U+110000
    (b"\xF8\x88\x80\x80\x80", [false, true, true, false]), // U+200000
    (b"\xFD\xBF\xBF\xBF\xBF\xBF.txt", [false, true, true, false]), // U+7FFFFFFF
    (b"\xFE\xBF\xBF\xBF\xBF\xBF", [false; 4]),
    (b"\xC0\xAF", [false; 4]),
    (b"\xFC\x83\xBF\xBF\xBF\xBF", [false; 4]), // overlong in six octets
    (b"caf\xE9", [false; 4]),
];

const ENCODINGS: [&str; 4] = ["utf-8", "utf-8-rfc2279", "fss-utf", "utf-8-bmp"];

#[test]
fn c1_n1_n6_names_below_are_visible_as_the_encoding_says() {
    for (column, encoding) in ENCODINGS.into_iter().enumerate() {
        let tree = Tree::new();
        for (name, _) in NAMES {
            tree.file(name, name);
        }
        let mount = tree.mount(&["--encoding", encoding]);
        let listed = at::list(mount.dir());
        assert_eq!(listed.len(), NAMES.len(), "{encoding}");
        for (name, well_formed) in NAMES {
            let is_itself = listed.contains(&name.to_vec());
            assert_eq!(is_itself, well_formed[column], "{encoding}: {}", show(name));
        }
        for name in &listed {
            let content = at::read(mount.dir(), name).unwrap();
            let is_itself = NAMES.iter().any(|(below, _)| *below == name.as_slice());
            assert_eq!(is_itself, content == *name, "{encoding}: {}", show(name));
            assert!(
                is_itself || name.contains(&b'%'),
                "{encoding}: {}",
                show(name)
            );
        }
        mount.stop();
    }
}

#[test]
fn c1_n9_names_are_made_or_refused_as_the_encoding_says() {
    for (column, encoding) in ENCODINGS.into_iter().enumerate() {
        // `-o encoding=` says the same as `--encoding`.
        let option = format!("encoding={encoding}");
        let tree = Tree::new();
        let mount = tree.mount(&["-o", &option]);
        for (number, (name, well_formed)) in NAMES.iter().enumerate() {
            for make in Make::ALL {
                let what = format!("{} of {} in {encoding}", make.label(), show(name));
                let dir = format!("{number}-{}", make.label());
                at::mkdir(mount.dir(), dir.as_bytes()).unwrap();
                let dir = at::open_dir(mount.dir(), dir.as_bytes()).unwrap();
                at::write_new(&dir, Make::SOURCE, b"").unwrap();
                let made = make.run(&dir, name);
                let wanted = if well_formed[column] {
                    Ok(())
                } else {
                    Err(Errno::ILSEQ)
                };
                assert_eq!(made, wanted, "{what}");
                let is_there = at::list(&dir).contains(&name.to_vec());
                assert_eq!(is_there, well_formed[column], "{what}");
            }
        }
        let records = mount.stop();
        let refused = NAMES.iter().filter(|(_, well_formed)| !well_formed[column]);
        assert_eq!(
            records.len(),
            refused.count() * Make::ALL.len(),
            "{encoding}"
        );
    }
}

#[test]
fn n6_n9_what_a_charset_reads_beyond_the_encoding_is_escaped() {
    let tree = Tree::new();
    // U+10348 and U+4E2D in GB18030; the first is beyond 16 bits.
    tree.file(b"\x90\x30\xD5\x30", b"beyond");
    tree.file(b"\xD6\xD0", b"within");
    let mount = tree.mount(&["--encoding", "utf-8-bmp", "--from", "gb18030"]);
    let wanted: [&[u8]; 2] = [b"%F0%90%8D%88", "\u{4E2D}".as_bytes()];
    assert_eq!(at::sorted(mount.dir()), wanted);
    assert_eq!(at::read(mount.dir(), wanted[0]).unwrap(), b"beyond");
    mount.stop();
}

#[test]
fn n10_normalization_leaves_what_unicode_does_not_know_as_it_is() {
    let tree = Tree::new();
    let options = ["--encoding", "fss-utf", "--normalization", "nfc"];
    let mount = tree.mount(&options);
    let made = [
        b"e\xCC\x81\xED\xA0\x80\xCC\x81\xFD\xBF\xBF\xBF\xBF\xBFe\xCC\x81".as_slice(),
        b"x\xED\xA0\x80",
    ];
    let composed = b"\xC3\xA9\xED\xA0\x80\xCC\x81\xFD\xBF\xBF\xBF\xBF\xBF\xC3\xA9".as_slice();
    assert_eq!(at::mkdir(mount.dir(), made[0]), Err(Errno::ILSEQ));
    at::mkdir(mount.dir(), made[1]).unwrap();
    at::mkdir(mount.dir(), composed).unwrap();
    // The other form reaches it.
    let number = at::stat(mount.dir(), composed).unwrap().st_ino;
    assert_eq!(at::stat(mount.dir(), made[0]).unwrap().st_ino, number);
    at::rmdir(mount.dir(), made[0]).unwrap();
    assert_eq!(at::list(mount.dir()), [made[1]]);
    mount.stop();
}

/// Law T8: text of another charset is shown, and reported once.
#[test]
fn t8_the_first_name_that_is_shown_with_control_characters_is_warned_of() {
    let tree = Tree::new();
    // Shift_JIS as Latin-1 reads it.
    for name in [
        b"\x83\x74\x83\x48".as_slice(),
        b"\x8B\xE0\x8A\x7A.xls",
        b"caf\xE9",
    ] {
        tree.file(name, b"");
    }
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    assert_eq!(at::list(mount.dir()).len(), 3);
    let log = mount.stderr();
    let warnings = log.matches("is shown with control characters").count();
    assert_eq!(warnings, 1, "{log}");
    mount.stop();
    let mount = tree.mount(&["--from", "shift_jis"]);
    assert_eq!(at::list(mount.dir()).len(), 3);
    let log = mount.stderr();
    assert!(!log.contains("control characters"), "{log}");
    mount.stop();
}
