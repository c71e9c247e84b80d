//! Conversions that lose characters, or lead out of the tree.

use std::process::Command;

use rustix::io::Errno;

use super::LATIN;
use crate::support::Tree;
use crate::support::at;
use crate::support::mount::binary;

/// fuse-convmvfs stores what it cannot convert as `???`: three files written as `caf` and E9, E8, E7 end as one (measured).
/// detox and transliteration lose names in the same way.
#[test]
fn unlike_convmvfs_three_names_are_three_files_or_refused() {
    let names = [LATIN, b"caf\xE8", b"caf\xE7"];
    let options = ["--on-violation=normalize", "--from=iso-8859-1"];
    for (options, made) in [(&options[..], 3), (&options[..1], 0)] {
        let tree = Tree::new();
        let mount = tree.mount(options);
        for name in names {
            let written = at::write_new(mount.dir(), name, name);
            assert_eq!(written, if made == 3 { Ok(()) } else { Err(Errno::ILSEQ) });
        }
        assert_eq!(at::list(mount.dir()).len(), made);
        for name in names.iter().take(made) {
            assert_eq!(at::read(mount.dir(), name).unwrap(), *name);
        }
        mount.stop();
    }
}

/// bindfs with `to_code=UTF-7` or `//TRANSLIT`, and convmvfs with `ocharset=UTF-7`, make files outside the source tree,
/// and cut a name at a NUL; `€` becomes `EUR`. `convmv --unescape` moves a file to the parent and replaces another
/// (measured).
#[test]
fn unlike_bindfs_convmvfs_and_convmv_no_name_leads_out_or_is_cut_or_transliterated() {
    for options in [
        &[][..],
        &["--store-as=iso-8859-1"],
        &["--store-as=shift_jis"],
    ] {
        let tree = Tree::new();
        let mount = tree.mount(options);
        at::mkdir(mount.dir(), b"d").unwrap();
        let dir = mount.sub("d");
        at::write_new(&dir, b"victim", b"victim").unwrap();
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
            match at::write_new(&dir, name.as_bytes(), name.as_bytes()) {
                Ok(()) => {
                    made += 1;
                    assert_eq!(at::read(&dir, name.as_bytes()).unwrap(), name.as_bytes());
                }
                refused => assert_eq!(refused, Err(Errno::ILSEQ), "{name}"),
            }
        }
        let listed = at::list(&dir);
        assert_eq!(listed.len(), made);
        assert!(!listed.contains(&b"a".to_vec()) && !listed.contains(&b"EUR".to_vec()));
        assert_eq!(at::read(&dir, b"victim").unwrap(), b"victim");
        assert_eq!(at::list(tree.below_dir()), [b"d"]);
        drop(dir);
        mount.stop();
    }
}

/// The same peers take any charset that iconv has: UTF-7, EBCDIC (where 61 is `/`), `//TRANSLIT`, `//IGNORE`.
#[test]
fn unlike_iconv_no_charset_is_taken_that_can_spell_a_slash_or_loses_characters() {
    let tree = Tree::new();
    for charset in [
        "utf-7",
        "utf-16",
        "ebcdic-us",
        "iso-2022-jp",
        "iso-8859-1//TRANSLIT",
        "iso-8859-1//IGNORE",
    ] {
        for option in ["--from", "--store-as"] {
            let mut command = Command::new(binary());
            command.args(["mount", option, charset]);
            let output = command
                .arg(tree.backing())
                .arg(tree.point())
                .output()
                .unwrap();
            assert_eq!(
                output.status.code(),
                Some(2),
                "{option} {charset}: {output:?}"
            );
        }
    }
}

/// convmv turns 81 in windows-1252, which is no character there, into U+FFFD, and so two names into one (measured).
#[test]
fn unlike_convmv_an_octet_that_a_charset_lacks_is_kept() {
    let tree = Tree::new();
    let names = [&b"a\x81"[..], b"a\x8D", b"a\x90"];
    for name in names {
        tree.file(name, name);
    }
    let mount = tree.mount(&["--from", "windows-1252"]);
    assert_eq!(at::sorted(mount.dir()), [b"a%81", b"a%8D", b"a%90"]);
    for (name, visible) in names.iter().zip([b"a%81", b"a%8D", b"a%90"]) {
        assert_eq!(at::read(mount.dir(), visible).unwrap(), *name);
    }
    mount.stop();
}
