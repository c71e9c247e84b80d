//! Law C1: `--encoding` says which names are well-formed (`fs::tests::encodings` has more of them), and law N9 follows it. Law T8.

use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::{Tree, show};

/// A name, and in which of utf-8, utf-8-rfc2279, fss-utf and utf-8-bmp it is well-formed.
const NAMES: &[(&[u8], [bool; 4])] = &[
    ("caf\u{E9}".as_bytes(), [true, true, true, true]),
    ("\u{1F600}".as_bytes(), [true, true, true, false]),
    (b"\xED\xA0\x80", [false, true, true, true]), // U+D800
    (b"\xF4\x90\x80\x80", [false, true, true, false]), // U+110000
    (b"\xC0\xAF", [false; 4]),
];

const ENCODINGS: [&str; 4] = ["utf-8", "utf-8-rfc2279", "fss-utf", "utf-8-bmp"];

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
    mount.stop();
    let log = || std::fs::read_to_string(tree.parent().join("stderr")).unwrap();
    let warnings = log().matches("is shown with control characters").count();
    assert_eq!(warnings, 1, "{}", log());
    let mount = tree.mount(&["--from", "shift_jis"]);
    assert_eq!(at::list(mount.dir()).len(), 3);
    mount.stop();
    assert!(!log().contains("control characters"), "{}", log());
}
