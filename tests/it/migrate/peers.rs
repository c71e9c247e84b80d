//! What went wrong for others who rename trees.

use utf8fs::codec::Form;
use utf8fs::names::Escapes;
use utf8fs::policy::Policy;
use utf8fs::records::{PlanLine, Reason, Warning};
use utf8fs::tree::plan::{CharsetSource, PlanOptions};

use super::{charsets, migrate, options, planned};
use crate::support::{Tree, at};

fn line(tree: &Tree, options: &PlanOptions, name: &[u8]) -> Option<PlanLine> {
    let lines = planned(&tree.backing(), options);
    lines[b"".as_slice()]
        .iter()
        .find(|line| line.old.as_bytes() == name)
        .cloned()
}

/// convmv's `--unescape` moved `%2e%2e%2fx` to the directory above, and replaced `victim` by `victim%00x`.
#[test]
fn unlike_convmv_escapes_do_not_walk_out_or_cut_names() {
    let tree = Tree::new();
    for name in [
        b"%2e%2e%2fESCAPED".as_slice(),
        b"%2E%2E%2FESCAPED",
        b"victim",
        b"victim%00x",
        b"a%2Fb",
        b"%2E%2E",
        b"%2E",
    ] {
        tree.file(name, b"");
    }
    let mut options = options(&["iso-8859-1"]);
    options.unescape = Some(Escapes::Utf8fs);
    assert!(planned(&tree.backing(), &options).is_empty());
    options.unescape = Some(Escapes::Percent);
    let lines = &planned(&tree.backing(), &options)[b"".as_slice()];
    assert_eq!(lines.len(), 6);
    let is_left = |line: &PlanLine| line.new.is_none() && line.reason == Reason::NoSpelling;
    assert!(lines.iter().all(is_left), "{lines:?}");
}

/// What convmv users type is taken, or answered with what there is for it.
#[test]
fn options_of_convmv_are_taken_or_explained() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    for (option, instead) in [
        ("--notest", "for --notest of convmv, migrate has --apply\n"),
        ("-f", "for -f of convmv, migrate has --from CHARSET"),
        ("--list", "migrate has 'utf8fs convert --list'\n"),
    ] {
        let run = migrate(tree.parent(), &[option, "x", "backing"]).expect(2);
        assert!(run.stderr.contains(instead), "{run:?}");
    }
    let other = migrate(tree.parent(), &["--no-such", "backing"]).expect(2);
    assert!(!other.stderr.contains("convmv"), "{other:?}");
    let taken = ["-r", "-n", "-q", "--from", "iso-8859-1", "backing"];
    migrate(tree.parent(), &taken).expect(0);
    let interactive = migrate(
        tree.parent(),
        &["-i", "--apply", "--from", "auto", "backing"],
    );
    assert!(
        interactive
            .expect(2)
            .stderr
            .contains("--edit needs a terminal")
    );
}

/// convmv maps the octet 81 of windows-1252 to U+FFFD.
#[test]
fn unlike_convmv_an_octet_that_a_charset_lacks_is_not_replaced() {
    let tree = Tree::new();
    tree.file(b"a\x81b", b"");
    tree.file(b"caf\xE9", b"");
    let line = line(&tree, &options(&["windows-1252"]), b"a\x81b").unwrap();
    assert_eq!((line.new, line.reason), (None, Reason::Unreadable));
}

/// convmv ends at once at a name that does not decode, or becomes too long; here the rest is planned.
#[test]
fn unlike_convmv_one_bad_name_does_not_stop_the_rest() {
    let tree = Tree::new();
    let long = [0xE9; 200];
    for name in [long.as_slice(), b"\x81", b"caf\xE9"] {
        tree.file(name, b"");
    }
    let run = migrate(tree.parent(), &["--from", "windows-1252", "backing"]).expect(1);
    assert!(run.stdout.contains(r#""caf\xE9" -> "café""#), "{run:?}");
    assert!(
        run.stderr
            .contains("1 name would be changed, 2 entries would be left as they are"),
        "{run:?}"
    );
}

/// convmv counts a name that it leaves, because its new name is taken, as converted, and ends with 0.
#[test]
fn unlike_convmv_collisions_are_in_the_exit_status() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"1");
    tree.file("café".as_bytes(), b"2");
    let run = migrate(tree.parent(), &["--from", "iso-8859-1", "backing"]).expect(1);
    assert!(
        run.stdout.contains(
            "stays: another entry has its new name, see --on-collision\n                   \"caf\\xE9\"; \"café\"?"
        ),
        "{run:?}"
    );
}

/// Two names that become one are found in the plan, where others overwrite, or find it when one is renamed.
#[test]
fn unlike_dirconv_two_names_into_one_are_found_before_anything_is_written() {
    let tree = Tree::new();
    for name in [b"caf\xE9".as_slice(), b"cafe\xCC\x81", b"caf\x8E"] {
        tree.file(name, b"");
    }
    let policy = Policy {
        form: Some(Form::Nfc),
        ..Policy::default()
    };
    let options = PlanOptions::new(policy, charsets(&["iso-8859-1"]));
    let lines = planned(&tree.backing(), &options);
    let new: Vec<_> = lines[b"".as_slice()]
        .iter()
        .filter_map(|line| line.new.clone())
        .collect();
    assert_eq!(
        new.iter()
            .filter(|new| new.as_bytes() == "café".as_bytes())
            .count(),
        1
    );
}

/// convmv and dirconv take overlong sequences for Latin-1; here somebody is told.
#[test]
fn unlike_convmv_attack_octets_are_pointed_out() {
    let tree = Tree::new();
    tree.file(b"o\xC0\xAFx", b"");
    let line = line(&tree, &options(&["iso-8859-1"]), b"o\xC0\xAFx").unwrap();
    assert_eq!(line.warning, Some(Warning::Overlong));
    // A charset that cannot mean it leaves it.
    let line = self::line(&tree, &options(&["shift_jis"]), b"o\xC0\xAFx");
    assert!(line.is_none_or(|line| line.warning.is_none()));
}

/// convmv takes surrogates, five octets and U+110000 for UTF-8, and leaves them without a word.
#[test]
fn unlike_convmv_what_only_looks_like_utf_8_is_not_passed_over() {
    let tree = Tree::new();
    let names: [&[u8]; 3] = [
        b"\xED\xA0\x80",
        b"\xF8\x88\x80\x80\x80",
        b"\xF4\x90\x80\x80",
    ];
    for name in names {
        tree.file(name, b"");
    }
    let nothing = PlanOptions::new(Policy::default(), CharsetSource::Charsets(Vec::new()));
    for name in names {
        assert!(line(&tree, &nothing, name).unwrap().is_left());
    }
}

/// convmv leaves out pipes and sockets without a word.
#[test]
fn unlike_convmv_pipes_and_sockets_are_renamed_too() {
    let tree = Tree::new();
    let below = tree.below_dir();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(
        &below,
        b"p\xEFpe".as_slice(),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    rustix::fs::mknodat(
        &below,
        b"s\xF6cket".as_slice(),
        rustix::fs::FileType::Socket,
        mode,
        0,
    )
    .unwrap();
    let lines = planned(&tree.backing(), &options(&["iso-8859-1"]));
    assert!(lines[b"".as_slice()].iter().all(|line| line.new.is_some()));
    assert_eq!(lines[b"".as_slice()].len(), 2);
}

/// convmv works with paths, which end at `PATH_MAX`.
#[test]
fn unlike_convmv_paths_may_be_longer_than_path_max() {
    let tree = Tree::new();
    let mut dir = tree.below_dir();
    // 240 octets each, twice as many when they are decoded, if they were.
    let name = [b"d".repeat(200), vec![0xE9; 20]].concat();
    for _ in 0..30 {
        at::mkdir(&dir, &name).unwrap();
        dir = at::open_dir(&dir, &name).unwrap();
    }
    at::write_new(&dir, b"f\xE9", b"").unwrap();
    let lines = planned(&tree.backing(), &options(&["iso-8859-1"]));
    assert_eq!(
        lines
            .values()
            .flatten()
            .filter(|line| line.new.is_some())
            .count(),
        31
    );
    assert!(lines.keys().map(Vec::len).max().unwrap() > 6000);
}

/// Names that are hostile to a terminal are printed quoted, where convmv and dirconv print them raw.
#[test]
fn unlike_convmv_and_dirconv_names_cannot_move_the_cursor() {
    let tree = Tree::new();
    tree.file(b"\x1B[2J\x9B\xE9\n-> forged", b"");
    let run = migrate(
        tree.parent(),
        &["--from", "iso-8859-1", "--allow-control", "backing", "-v"],
    )
    .expect(0);
    assert_eq!(run.stdout.lines().count(), 1);
    assert!(
        run.stdout
            .contains(r#""\x1B[2J\x9B\xE9\n-> forged" -> "\x1B[2J\u{9B}é\n-> forged""#),
        "{run:?}"
    );
    assert!(run.stdout.contains("beware"), "{run:?}");
}
