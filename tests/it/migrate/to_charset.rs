//! Names that are stored in a legacy charset (`--to`).

use std::collections::BTreeSet;

use proptest::prelude::{ProptestConfig, proptest};
use proptest::sample::select;
use utf8fs::codec::Charset;
use utf8fs::policy::{Profile, is_component};
use utf8fs::tree::plan::plan_directory::plan;
use utf8fs::tree::plan::{CharsetChoice, CharsetSource, PlanOptions};

use super::strategies::{Names, listing, names};
use super::{migrate, utf8fs};
use crate::support::snapshot::{self, Times};
use crate::support::{Tree, at};

/// Laws T2, T4: by the command and by both formats of a plan, with links and collisions; and undone.
#[test]
fn a_tree_is_stored_in_a_charset_and_undone() {
    let tree = Tree::new();
    for name in ["café", "prix €", "日本", "cafe\u{301}", "Ã©", "ascii"] {
        tree.file(name.as_bytes(), name.as_bytes());
    }
    tree.file(b"old \xE9", b"");
    let directory = tree.directory("été".as_bytes());
    at::write_new(&directory, "ü".as_bytes(), b"").unwrap();
    at::symlink("été/ü".as_bytes(), tree.below_dir(), b"link").unwrap();
    let before = snapshot::take(&tree.backing(), Times::Kept);
    let to: [&str; 3] = ["--to", "iso-8859-1", "backing"];
    let run = migrate(tree.parent(), &[&["-v"], &to[..]].concat()).expect(1);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            r#""cafe\u{301}" stays: the charset of --to cannot have it"#,
            r#""café" -> "caf\xE9"  encoded in the charset of --to"#,
            r#""link" leads to "été/ü" -> "\xE9t\xE9/\xFC""#,
            r#""prix €" stays: the charset of --to cannot have it"#,
            r#""Ã©" stays: the charset of --to cannot have it"#,
            r#""été" -> "\xE9t\xE9"  encoded in the charset of --to"#,
            r#""été/ü" -> "\xFC"  encoded in the charset of --to"#,
            r#""日本" stays: the charset of --to cannot have it"#,
        ]
    );
    let applied = |arguments: &[&str], code| {
        let apply = ["--apply", "--journal", "journal"];
        migrate(tree.parent(), &[&apply, arguments].concat()).expect(code);
        let after = snapshot::take(&tree.backing(), Times::Kept);
        assert!(after.contains_key(b"caf\xE9".as_slice()), "{after:?}");
        assert!(
            after.contains_key(b"\xE9t\xE9/\xFC".as_slice()),
            "{after:?}"
        );
        assert!(after.contains_key(b"old \xE9".as_slice()), "{after:?}");
        assert_eq!(after.len(), before.len());
        let again = migrate(tree.parent(), &to).expect(1);
        assert!(
            again.stderr.contains("utf8fs: 4 entries would be left"),
            "{again:?}"
        );
        utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
        std::fs::remove_file(tree.parent().join("journal")).unwrap();
        assert_eq!(snapshot::take(&tree.backing(), Times::Kept), before);
    };
    applied(&to, 1);
    for (format, code) in [("json", 1), ("readable", 0)] {
        let planned = ["--plan", format, "--plan-format", format];
        migrate(tree.parent(), &[&planned, &to[..]].concat()).expect(1);
        applied(&["--plan", format], code);
    }
    let both = migrate(tree.parent(), &[&["--from", "koi8-r"], &to[..]].concat()).expect(2);
    assert!(both.stderr.contains("cannot be used with"), "{both:?}");
}

/// The listing after the plan is done.
fn after(options: &PlanOptions, before: &Names) -> Names {
    let same = |_: &_, _: &_| false;
    let lines = plan(
        options,
        &CharsetChoice::default(),
        &listing(before),
        &|_| true,
        &same,
    );
    let renamed = before.iter().map(|(name, kind)| {
        let line = lines.iter().find(|line| line.old.as_bytes() == name);
        let new = line.and_then(|line| line.new.as_ref());
        assert!(
            line.is_none() || std::str::from_utf8(name).is_ok(),
            "{line:?}"
        );
        (
            new.map_or(name.clone(), |new| new.as_bytes().to_vec()),
            *kind,
        )
    });
    renamed.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Laws T2, C4, C5: no two into one, each a component that is read back as it was, none twice.
    #[test]
    fn t2_names_in_a_charset_are_free_and_are_read_back(
        names in names(),
        charset in select(Charset::all().collect::<Vec<_>>()),
        profile in select([Profile::Utf8, Profile::Portable].as_slice()),
    ) {
        let mut options = PlanOptions::new(profile.policy(), CharsetSource::Charsets(Vec::new()));
        options.store_as(charset);
        let renamed = after(&options, &names);
        let unique: BTreeSet<&Vec<u8>> = renamed.iter().map(|(name, _)| name).collect();
        assert_eq!(unique.len(), names.len());
        for ((old, _), (new, _)) in names.iter().zip(&renamed) {
            assert!(is_component(new));
            if old != new && profile == Profile::Utf8 {
                assert_eq!(charset.decode_reversibly(new).unwrap().as_bytes(), old);
                assert!(std::str::from_utf8(new).is_err());
            }
        }
        // Once done, there is nothing to do, unless a name is free by now.
        let again = after(&options, &renamed);
        for ((one, _), (other, _)) in renamed.iter().zip(&again) {
            assert!(one == other || names.iter().any(|(name, _)| name == other), "{one:?} {other:?}");
        }
    }
}

/// A plan may have names that are not UTF-8 only if its header says so.
#[test]
fn a_plan_to_utf_8_has_no_other_names() {
    let tree = Tree::new();
    tree.file("é".as_bytes(), b"");
    let to = ["--to", "iso-8859-1", "--plan", "plan", "backing"];
    migrate(tree.parent(), &to).expect(0);
    let plan = tree.parent().join("plan");
    let text = std::fs::read_to_string(&plan).unwrap();
    let to_utf_8 = text.replace(r#","to":"iso-8859-1""#, "");
    assert_ne!(to_utf_8, text);
    // What the options say for people decides nothing.
    for options in ["--to iso-8859-1", "--normalize nfc --to iso-8859-1", ""] {
        let with_options = |text: &str| text.replace("--to iso-8859-1", options);
        std::fs::write(&plan, with_options(&to_utf_8)).unwrap();
        let run = migrate(tree.parent(), &["--plan", "plan"]).expect(2);
        assert!(run.stderr.contains("not well-formed UTF-8"), "{run:?}");
        std::fs::write(&plan, with_options(&text)).unwrap();
        migrate(tree.parent(), &["--plan", "plan"]).expect(0);
    }
}
