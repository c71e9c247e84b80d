//! Law N9: invisible characters, refused but where a language or an emoji needs them.

use rustix::io::Errno;

use crate::support::{Tree, at, audit, show};

/// Persian, Hindi, an emoji of a family, a heart, the flag of Wales, a keycap.
const NEEDED: [&str; 6] = [
    "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}.txt",
    "\u{915}\u{94D}\u{200D}\u{937}",
    "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
    "\u{2764}\u{FE0F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
    "1\u{FE0F}\u{20E3}",
];

/// Each with what is accepted in its place, in which only what is refused is escaped.
const REFUSED: [(&str, &str); 5] = [
    ("pay\u{200D}pal", "pay%E2%80%8Dpal"),
    ("a\u{FE0F}\u{2764}\u{FE0F}", "a%EF%B8%8F\u{2764}\u{FE0F}"),
    (
        "\u{645}\u{6CC}\u{200C}\u{62E}\u{200B}\u{200C}",
        "\u{645}\u{6CC}\u{200C}\u{62E}%E2%80%8B%E2%80%8C",
    ),
    (
        "\u{200C}\u{628}\u{200C}\u{628}",
        "%E2%80%8C\u{628}\u{200C}\u{628}",
    ),
    ("\u{2800}", "%E2%A0%80"),
];

#[test]
fn n9_names_with_joiners_that_a_language_or_an_emoji_needs_are_made_and_others_refused() {
    let tree = Tree::new();
    let mount = tree.mount(&["--forbid", "invisible", "--audit-burst", "100"]);
    for name in NEEDED {
        assert_eq!(at::mkdir(mount.dir(), name.as_bytes()), Ok(()), "{name:?}");
        let long = [name, "\u{200B}"].concat();
        assert_eq!(
            at::mkdir(mount.dir(), long.as_bytes()),
            Err(Errno::ILSEQ),
            "{long:?}"
        );
    }
    let mut wanted = NEEDED.map(|name| name.as_bytes().to_vec());
    wanted.sort();
    assert_eq!(at::sorted(mount.dir()), wanted);
    assert_eq!(at::sorted(tree.below_dir()), wanted);
    for (name, _) in REFUSED {
        let refused = at::mkdir(mount.dir(), name.as_bytes());
        assert_eq!(refused, Err(Errno::ILSEQ), "{name:?}");
    }
    mount.stop();
    let log = audit::offences(&tree.audit_log());
    for (name, accepted) in REFUSED {
        let is_of_name =
            |record: &&audit::Record| record.name("name") == Some(name.as_bytes().to_vec());
        let record = log.iter().find(is_of_name).unwrap();
        let wanted = accepted.as_bytes().to_vec();
        assert_eq!(record.name("accepted"), Some(wanted), "{name:?}");
    }
}

#[test]
fn n9_of_a_name_that_is_normalized_only_the_characters_without_a_use_are_escaped() {
    let tree = Tree::new();
    let mount = tree.mount(&["--forbid", "invisible", "--on-violation", "normalize"]);
    for (name, accepted) in REFUSED {
        at::mkdir(mount.dir(), name.as_bytes()).unwrap();
        let made = at::sorted(tree.below_dir());
        assert_eq!(made, [accepted.as_bytes()], "{}", show(name.as_bytes()));
        at::rmdir(mount.dir(), accepted.as_bytes()).unwrap();
    }
    mount.stop();
}

/// Law N5: windows-1256 has both joiners, as one byte each.
#[test]
fn n5_legacy_names_with_joiners_are_decoded_where_these_have_a_use_and_escaped_where_not() {
    let tree = Tree::new();
    // beh, ZWNJ, beh; and ZWNJ between Latin letters.
    tree.file(b"\xC8\x9D\xC8", b"");
    tree.file(b"\xC8a\x9Db", b"");
    let mount = tree.mount(&["--forbid", "invisible", "--from", "windows-1256"]);
    let wanted =
        ["\u{628}a%E2%80%8Cb", "\u{628}\u{200C}\u{628}"].map(|name| name.as_bytes().to_vec());
    assert_eq!(at::sorted(mount.dir()), wanted);
    for name in wanted {
        assert_eq!(at::read(mount.dir(), &name).unwrap(), b"");
    }
    mount.stop();
}

/// One joiner in its place lets no other character in, whichever sections forbid them.
#[test]
fn n9_sections_that_forbid_invisible_characters_let_none_in_beside_a_joiner() {
    let tree = Tree::new();
    for directory in ["one", "other"] {
        std::fs::create_dir(tree.backing().join(directory)).unwrap();
    }
    let file = tree.parent().join("policy.toml");
    let text = "[[section]]\npath = \"/one/**\"\nforbid = [\"invisible\"]\n\
        [[section]]\npath = \"/other/**\"\nforbid = [\"invisible\", \"windows\"]\n";
    std::fs::write(&file, text).unwrap();
    let mount = tree.mount(&["--policy", file.to_str().unwrap()]);
    for directory in ["one", "other"] {
        let inside = at::open_dir(mount.dir(), directory.as_bytes()).unwrap();
        for name in NEEDED {
            assert_eq!(
                at::mkdir(&inside, name.as_bytes()),
                Ok(()),
                "{name:?} in {directory}"
            );
            for other in [
                "\u{200B}",
                "\u{200E}",
                "\u{AD}",
                "\u{E0041}",
                "\u{2060}",
                "\u{3164}",
            ] {
                let both = [name, other].concat();
                let made = at::mkdir(&inside, both.as_bytes());
                assert_eq!(made, Err(Errno::ILSEQ), "{both:?} in {directory}");
            }
        }
    }
    // There the key itself is forbidden.
    let inside = at::open_dir(mount.dir(), b"other").unwrap();
    let key = "*\u{FE0F}\u{20E3}".as_bytes();
    assert_eq!(at::mkdir(&inside, key), Err(Errno::ILSEQ));
    drop(inside);
    mount.stop();
}
