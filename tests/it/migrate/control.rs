//! Law T8: no name gets control characters that it has not.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::sample::select;
use proptest::{prop_assert, proptest};
use strum::VariantArray;
use utf8fs::backing::Kind;
use utf8fs::codec::Charset;
use utf8fs::names::{Escapes, PrivateUse};
use utf8fs::policy::{Policy, is_component};
use utf8fs::tree::plan::plan_directory::plan;
use utf8fs::tree::plan::{CharsetChoice, CharsetSource, EntryList, PlanOptions};

use super::{migrate, utf8fs};
use crate::support::{Tree, at};

/// Names in `Shift_JIS`, and what they are.
const NAMES: [(&[u8], &str); 4] = [
    (b"\x89\xEF\x8Bc\x8Bc\x8E\x96\x98^.doc", "会議議事録.doc"),
    (b"\x97\\\x8EZ\x95\\.xls", "予算表.xls"),
    (
        b"\x89\xC4\x8Bx\x82\xDD\x82\xCC\x8E\xCA\x90^",
        "夏休みの写真",
    ),
    (b"\x83\\\x83t\x83g\x83E\x83F\x83A", "ソフトウェア"),
];

fn tree() -> Tree {
    let tree = Tree::new();
    for (name, _) in NAMES {
        tree.file(name, b"");
    }
    tree
}

fn names(tree: &Tree) -> Vec<Vec<u8>> {
    at::sorted(tree.below_dir())
}

#[test]
fn t8_names_that_would_get_control_characters_are_left_and_counted() {
    let tree = tree();
    let before = names(&tree);
    let arguments = [
        "--from",
        "iso-8859-1",
        "--journal",
        "journal",
        "--apply",
        "backing",
    ];
    let run = migrate(tree.parent(), &arguments).expect(1);
    assert!(
        run.stderr
            .contains("4 names would get control characters and were left"),
        "{run:?}"
    );
    assert!(run.stderr.contains("--allow-control"), "{run:?}");
    assert!(
        run.stdout.contains("会議議事録.doc"),
        "another reading is offered: {run:?}"
    );
    assert_eq!(names(&tree), before);
    // A plan says the same, before and when it is carried out.
    let planned = ["--from", "iso-8859-1", "--plan", "plan", "backing"];
    let run = migrate(tree.parent(), &planned).expect(1);
    assert!(
        run.stderr
            .contains("4 names would get control characters and would be left"),
        "{run:?}"
    );
    let run = migrate(tree.parent(), &["--plan", "plan", "--apply"]).expect(1);
    assert!(
        run.stderr
            .contains("4 names would get control characters and were left"),
        "{run:?}"
    );
    assert_eq!(names(&tree), before);
    // Who insists gets them, and can go back.
    migrate(
        tree.parent(),
        &[&["--allow-control"], &arguments[..]].concat(),
    )
    .expect(0);
    assert!(names(&tree).contains(&"\u{83}\\\u{83}t\u{83}g\u{83}E\u{83}F\u{83}A".into()));
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert_eq!(names(&tree), before);
    // The right charset has none.
    migrate(
        tree.parent(),
        &["--from", "shift_jis", "--apply", "backing"],
    )
    .expect(0);
    let mut texts: Vec<Vec<u8>> = NAMES
        .iter()
        .map(|(_, text)| text.as_bytes().into())
        .collect();
    texts.sort();
    assert_eq!(names(&tree), texts);
}

proptest! {
    #[test]
    fn t8_no_bytes_in_any_charset_become_control_characters(
        name in vec(any::<u8>(), 1..40),
        charset in select(Charset::all().collect::<Vec<_>>()),
        is_auto in any::<bool>(),
        escapes in select(Escapes::VARIANTS),
        private_use in select(PrivateUse::VARIANTS),
    ) {
        if !is_component(&name) {
            return Ok(());
        }
        let from = if is_auto { CharsetSource::Auto } else { CharsetSource::Charsets(vec![charset]) };
        let mut options = PlanOptions::new(Policy::default(), from);
        options.fix_double = true;
        options.unescape = Some(escapes);
        options.private_use = Some(private_use);
        options.least = 0.0;
        let mut listing = EntryList::default();
        listing.push(&name, Kind::File, 1);
        let same = |_: &_, _: &_| false;
        for line in plan(&options, &CharsetChoice::default(), &listing, &|_| true, &same) {
            let names = line.new.iter().chain(line.candidates.iter().map(|other| &other.name));
            for new in names {
                let text = str::from_utf8(new.as_bytes()).unwrap();
                let had = |c: char| match str::from_utf8(&name) {
                    Ok(text) => text.contains(c),
                    Err(_) => c.is_ascii() && name.contains(&u8::try_from(c).unwrap()),
                };
                prop_assert!(text.chars().all(|c| !c.is_control() || had(c)), "{text:?}");
            }
        }
    }
}
