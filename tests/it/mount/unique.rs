//! Law N9, `--unique`: a new name that differs from a sibling in case or form alone is refused. `fs::tests::unique_names` has all
//! the rest.

use rustix::io::Errno;

use crate::support::Tree;
use crate::support::at::{self, Make};

/// A sibling, a new name, and whether the new one is refused by `casefold` and by `nfc`.
const ROWS: &[(&str, &str, bool, bool)] = &[
    ("readme", "README", true, false),
    ("readme", "readme.txt", false, false),
    ("é", "e\u{301}", true, true),
];

/// Each row by each operation that makes a name.
#[test]
fn names_that_are_like_a_sibling_are_refused_by_every_operation() {
    let settings = [
        (["--unique", "casefold"], "casefold"),
        (["-o", "unique=nfc"], "nfc"),
    ];
    for (options, kind) in settings {
        let tree = Tree::new();
        for (row, (sibling, ..)) in ROWS.iter().enumerate() {
            for make in Make::ALL {
                let dir = tree.directory(format!("{row}-{}", make.label()).as_bytes());
                at::write_new(&dir, sibling.as_bytes(), b"sibling").unwrap();
                at::write_new(&dir, Make::SOURCE, b"source").unwrap();
            }
        }
        let mount = tree.mount(&options);
        let mut refused = Vec::new();
        for (row, &(sibling, name, casefold, nfc)) in ROWS.iter().enumerate() {
            for make in Make::ALL {
                let dir = mount.sub(&format!("{row}-{}", make.label()));
                let what = format!("{} of {name} beside {sibling}, {kind}", make.label());
                let result = make.run(&dir, name.as_bytes());
                if if kind == "casefold" { casefold } else { nfc } {
                    assert_eq!(result, Err(Errno::EXIST), "{what}");
                    refused.push((sibling, name, make));
                } else {
                    assert_eq!(result, Ok(()), "{what}");
                }
                // The name itself is there, which is no clash.
                assert_eq!(at::mkdir(&dir, sibling.as_bytes()), Err(Errno::EXIST));
            }
        }
        let records = mount.stop();
        assert_eq!(records.len(), refused.len());
        for (record, (sibling, name, make)) in records.iter().zip(refused) {
            assert_eq!(record.text("rule"), "not-unique");
            assert_eq!(record.text("kind"), kind);
            assert_eq!(record.text("errno"), "EEXIST");
            assert_eq!(record.text("operation"), make.label());
            assert_eq!(record.name("name").as_deref(), Some(name.as_bytes()));
            assert_eq!(record.name("sibling").as_deref(), Some(sibling.as_bytes()));
        }
    }
}
