//! The planner as a function: laws for any listing, and rows for what is easily got wrong.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{ProptestConfig, any, proptest};
use utf8fs::backing::Kind;
use utf8fs::codec::guess::Guesser;
use utf8fs::names::{BackingName, Escapes, Index, Legacy, NameMap, OnViolation, PrivateUse};
use utf8fs::policy::{ErrnoChoice, Policy, Profile};
use utf8fs::records::{PlanLine, Reason, Warning};
use utf8fs::tree::plan::plan_directory::plan;
use utf8fs::tree::plan::{CharsetChoice, CharsetSource, EntryList, OnCollision, PlanOptions};

use super::charsets;
use super::strategies::{Names, listing, names, options};
use crate::support::show;

fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Plans, where files of the same length of name have the same content.
fn planned(options: &PlanOptions, names: &Names) -> Vec<PlanLine> {
    let same = |one: &BackingName, other: &BackingName| {
        one.as_bytes().len() % 2 == other.as_bytes().len() % 2
    };
    plan(
        options,
        &CharsetChoice::default(),
        &listing(names),
        &|_| true,
        &same,
    )
}

/// The listing after the plan is done.
fn applied(names: &Names, lines: &[PlanLine]) -> Names {
    let mut after: BTreeMap<Vec<u8>, Kind> = names.iter().cloned().collect();
    let gone = lines
        .iter()
        .filter(|line| line.new.is_some() || line.same_as.is_some());
    for line in gone.clone() {
        assert!(after.remove(line.old.as_bytes()).is_some());
    }
    for line in gone {
        if let Some(new) = &line.new {
            assert!(after.insert(new.as_bytes().to_vec(), line.kind).is_none());
        }
    }
    after.into_iter().collect()
}

/// What a mount with the same charsets and policy shows each backing name as.
fn visible(options: &PlanOptions, names: &BTreeSet<Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let CharsetSource::Charsets(from) = &options.from else {
        panic!("a mount has charsets that are named");
    };
    let map = NameMap {
        policy: options.policy().clone(),
        legacy: Legacy::Decode,
        from: from.clone(),
        store_as: None,
        on_violation: OnViolation::Reject,
        errno: ErrnoChoice::default(),
    };
    let (conforming, others): (BTreeSet<&Vec<u8>>, BTreeSet<&Vec<u8>>) =
        names.iter().partition(|name| map.policy.conforms(name));
    let others: Vec<BackingName> = others
        .iter()
        .map(|name| BackingName::parse(name).unwrap())
        .collect();
    let is_taken = |name: &[u8]| names.contains(name) && map.policy.conforms(name);
    let index = Index::build(&map, others.clone(), is_taken);
    let mapped = others.iter().map(|name| {
        let visible = index.visible(name).unwrap().as_bytes().to_vec();
        (name.as_bytes().to_vec(), visible)
    });
    let itself = conforming
        .iter()
        .map(|name| ((*name).clone(), (*name).clone()));
    mapped.chain(itself).collect()
}

proptest! {
    #![proptest_config(cases())]

    /// Laws T2, C5, N5: no two into one, none that is there, each conforms and is one component.
    #[test]
    fn t2_new_names_are_free_and_conform(options in options(), names in names()) {
        let lines = planned(&options, &names);
        let listed: BTreeSet<&[u8]> = names.iter().map(|(name, _)| name.as_slice()).collect();
        let mut given = BTreeSet::new();
        for line in &lines {
            assert!(listed.contains(line.old.as_bytes()));
            let Some(new) = &line.new else {
                assert!(line.is_left() || line.same_as.is_some());
                continue;
            };
            assert!(!line.is_left());
            assert!(options.policy().conforms(new.as_bytes()), "{line:?}");
            assert!(!listed.contains(new.as_bytes()), "{line:?}");
            assert!(given.insert(new.clone()), "{line:?}");
        }
        // Each entry once, in order.
        assert!(lines.is_sorted_by(|one, other| one.old < other.old));
    }

    /// A plan depends on what is there, and not on the order in which the filesystem tells it.
    #[test]
    fn the_order_of_a_listing_does_not_matter(options in options(), names in names(), seed in any::<u64>()) {
        let lines = planned(&options, &names);
        let mut rows: Vec<(usize, &(Vec<u8>, Kind))> = names.iter().enumerate().collect();
        rows.sort_by_key(|(index, _)| (u64::try_from(*index).unwrap() ^ 0x55).wrapping_mul(seed | 1));
        let mut other = EntryList::default();
        for (index, (name, kind)) in rows {
            other.push(name, *kind, u64::try_from(index).unwrap());
        }
        let same = |one: &BackingName, other: &BackingName| {
        one.as_bytes().len() % 2 == other.as_bytes().len() % 2
    };
        assert_eq!(plan(&options, &CharsetChoice::default(), &other, &|_| true, &same), lines);
    }

    /// Once done, there is nothing to do.
    #[test]
    fn planning_again_finds_nothing(options in options(), names in names()) {
        let mut options = options;
        // What was guessed of many names may be guessed otherwise of the few that are left.
        options.fix_double = false;
        let lines = planned(&options, &names);
        let after = applied(&names, &lines);
        let again = planned(&options, &after);
        for line in &again {
            // A second one of the same content may have been found only now.
            let is_new = line.new.is_some() && options.on_collision != OnCollision::Suffix;
            assert!(!is_new, "{line:?} after {lines:?}");
        }
    }

    /// Law N1: names that are UTF-8 are not touched by `--from`.
    #[test]
    fn n1_text_is_never_decoded_again(names in names(), auto in any::<bool>()) {
        let from = if auto { CharsetSource::Auto } else { charsets(&["iso-8859-1"]) };
        let options = PlanOptions::new(Policy::default(), from);
        for line in planned(&options, &names) {
            assert!(std::str::from_utf8(line.old.as_bytes()).is_err(), "{line:?}");
        }
    }

    /// Law C4: what is decoded is encoded back to the same bytes.
    #[test]
    fn c4_decoding_can_be_undone(names in names(), options in options()) {
        let CharsetSource::Charsets(from) = &options.from else { panic!("charsets are named") };
        let mut options = PlanOptions::new(Policy::default(), CharsetSource::Charsets(from.clone()));
        options.on_collision = OnCollision::Skip;
        for line in planned(&options, &names) {
            let Some(new) = &line.new else { continue };
            let text = std::str::from_utf8(new.as_bytes()).unwrap();
            assert_eq!(line.charset.unwrap().encode(text).unwrap(), line.old.as_bytes());
        }
    }

    /// Law T7: a mount with the same charsets shows each entry by one name: before, after each single step, and at the end.
    #[test]
    fn t7_visible_names_are_the_same_before_during_and_after(options in options(), names in names()) {
        let mut options = options;
        (options.fix_double, options.unescape, options.private_use) = (false, None, None);
        options.on_collision = OnCollision::Skip;
        let lines = planned(&options, &names);
        let mut here: BTreeSet<Vec<u8>> = names.iter().map(|(name, _)| name.clone()).collect();
        let before = visible(&options, &here);
        let mut origin: BTreeMap<Vec<u8>, Vec<u8>> = here.iter().map(|name| (name.clone(), name.clone())).collect();
        for line in lines.iter().filter(|line| line.new.is_some()) {
            let new = line.new.as_ref().unwrap().as_bytes().to_vec();
            here.remove(line.old.as_bytes());
            here.insert(new.clone());
            origin.insert(new, line.old.as_bytes().to_vec());
            for (name, shown) in visible(&options, &here) {
                assert_eq!(show(&shown), show(&before[&origin[&name]]), "{} after {line:?}", show(&name));
            }
        }
    }
}

fn listed(names: &[&[u8]]) -> Names {
    let mut names: Names = names
        .iter()
        .map(|name| (name.to_vec(), Kind::File))
        .collect();
    names.sort_by(|one, other| one.0.cmp(&other.0));
    names
}

/// Old and new names, as text.
fn told(lines: &[PlanLine]) -> Vec<(String, Option<String>, Reason)> {
    let text = |name: &BackingName| String::from_utf8(name.as_bytes().to_vec()).unwrap();
    lines
        .iter()
        .map(|line| {
            (
                show(line.old.as_bytes()),
                line.new.as_ref().map(text),
                line.reason,
            )
        })
        .collect()
}

fn one(name: &[u8], options: &PlanOptions) -> PlanLine {
    let lines = planned(options, &listed(&[name]));
    let [line] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    line.clone()
}

#[test]
fn collisions_are_dealt_with_as_asked() {
    // Two spellings of é want the name that a third has.
    let names: [&[u8]; 4] = [
        b"caf\xE9.txt",
        b"cafe\xCC\x81.txt",
        "café.txt".as_bytes(),
        "café-2.txt".as_bytes(),
    ];
    let policy = Policy {
        form: Some(utf8fs::codec::Form::Nfc),
        ..Policy::default()
    };
    let mut options = PlanOptions::new(policy, charsets(&["iso-8859-1"]));
    let with = |options: &PlanOptions| {
        let lines = planned(options, &listed(&names));
        let told: Vec<(String, Option<String>, Reason)> = told(&lines);
        (told, lines)
    };
    let decomposed = show(b"cafe\xCC\x81.txt");
    let latin = show(b"caf\xE9.txt");
    let (skipped, lines) = with(&options);
    assert_eq!(
        skipped,
        [
            (decomposed.clone(), None, Reason::Taken),
            (latin.clone(), None, Reason::Taken)
        ]
    );
    assert_eq!(
        lines[0].candidates[0].name.as_bytes(),
        "café.txt".as_bytes()
    );
    options.on_collision = OnCollision::Suffix;
    let (numbered, lines) = with(&options);
    let is_told = |line: &PlanLine| line.warning == Some(Warning::Numbered);
    assert!(lines.iter().all(is_told));
    assert_eq!(
        numbered,
        [
            (decomposed, Some("café-3.txt".into()), Reason::Form),
            (latin, Some("café-4.txt".into()), Reason::Decoded)
        ]
    );
    options.on_collision = OnCollision::Same;
    let (_, lines) = with(&options);
    // By the content that this test gives to files: that of the names of even length.
    let set_aside: Vec<Option<&[u8]>> = lines
        .iter()
        .map(|line| line.same_as.as_ref().map(|name| name.as_bytes()))
        .collect();
    assert_eq!(set_aside, [None, None]);
    let all_same = |_: &_, _: &_| true;
    let lines = plan(
        &options,
        &CharsetChoice::default(),
        &listing(&listed(&names)),
        &|_| true,
        &all_same,
    );
    assert!(
        lines
            .iter()
            .all(|line| line.same_as.as_ref().unwrap().as_bytes() == "café.txt".as_bytes())
    );
}

#[test]
fn suspicious_bytes_are_marked_and_what_no_charset_takes_is_left_with_readings() {
    let latin = PlanOptions::new(Policy::default(), charsets(&["iso-8859-1"]));
    assert_eq!(
        one(b"..\xC0\xAFetc", &latin).warning,
        Some(Warning::Overlong)
    );
    assert_eq!(one(b"a\x80b", &latin).reason, Reason::Control);
    let mut insisting = latin.clone();
    insisting.allow_control = true;
    assert_eq!(one(b"a\x80b", &insisting).warning, Some(Warning::Control));
    assert_eq!(one(b"caf\xE9", &latin).warning, None);
    // By itself it is no Korean, whose 유 has the same bytes; nor do such names vouch for each other.
    let auto = PlanOptions::new(Policy::default(), CharsetSource::Auto);
    let alone = one(b"..\xC0\xAF..\xC0\xAFetc", &auto);
    assert_eq!(alone.reason, Reason::Unsure, "{alone:?}");
    assert_eq!(alone.warning, Some(Warning::Overlong));
    let names: [&[u8]; 3] = [
        b"..\xC0\xAF..\xC0\xAFetc\xC0\xAFpasswd",
        b"..\xC0\xAF..\xC0\xAFetc\xC0\xAFshadow",
        b"\xC0\xAFroot",
    ];
    let lines = planned(&auto, &listed(&names));
    let unsure = lines.iter().filter(|line| line.reason == Reason::Unsure);
    assert_eq!(unsure.count(), 3, "{lines:?}");
    let windows = PlanOptions::new(Policy::default(), charsets(&["windows-1252"]));
    let left = one(b"caf\xE9 \x81", &windows);
    assert_eq!((left.reason, left.new.as_ref()), (Reason::Unreadable, None));
    assert!(!left.candidates.is_empty());
    // Nothing is asked for, nothing is decoded.
    let mut none = PlanOptions::new(Policy::default(), CharsetSource::Charsets(Vec::new()));
    none.fix_double = true;
    assert_eq!(one(b"caf\xE9", &none).new, None);
}

#[test]
fn charsets_are_guessed_for_each_directory_where_its_names_tell() {
    let encode = |label: &str, texts: &[&str]| {
        let charset = utf8fs::codec::Charset::from_label(label).unwrap();
        let names: Vec<Vec<u8>> = texts
            .iter()
            .map(|text| charset.encode(text).unwrap())
            .collect();
        names
    };
    let french = [
        "Été à la plage.jpg",
        "Reçu de la société.pdf",
        "Élève modèle.doc",
        "Français très simple.txt",
        "Événement spécial.txt",
        "Théâtre du siècle.txt",
    ];
    let russian = [
        "Отчёт за год.doc",
        "Фотографии из отпуска.zip",
        "Новая папка",
        "Список сотрудников.xls",
        "Договор аренды.doc",
    ];
    let (french, russian) = (encode("iso-8859-1", &french), encode("koi8-r", &russian));
    let mut guesser = Guesser::default();
    for _ in 0..40 {
        french.iter().for_each(|name| guesser.add(name));
    }
    russian.iter().for_each(|name| guesser.add(name));
    let tree = CharsetChoice::of(&guesser);
    let options = PlanOptions::new(Policy::default(), CharsetSource::Auto);
    let charset = |names: &[Vec<u8>]| {
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let same = |_: &_, _: &_| false;
        let lines = plan(&options, &tree, &listing(&listed(&names)), &|_| true, &same);
        assert_eq!(lines.len(), names.len());
        let labels: BTreeSet<Option<&str>> = lines
            .iter()
            .map(|line| line.charset.map(|charset| charset.label()))
            .collect();
        assert!(
            lines
                .iter()
                .all(|line| line.confidence.is_none_or(|p| p >= 0.9))
        );
        labels
    };
    assert_eq!(charset(&french), BTreeSet::from([Some("iso-8859-1")]));
    assert_eq!(charset(&russian), BTreeSet::from([Some("koi8-r")]));
    // One name that says nothing by itself is as the tree's.
    assert_eq!(
        charset(&[b"\xE9t\xE9".to_vec()]),
        BTreeSet::from([Some("iso-8859-1")])
    );
}

#[test]
fn names_that_were_encoded_twice_are_undone_where_that_is_likely() {
    let mut options = PlanOptions::new(Policy::default(), CharsetSource::Charsets(Vec::new()));
    options.fix_double = true;
    let again = |text: &str| text.bytes().map(char::from).collect::<String>();
    let name = again("Événement à la société.txt");
    let line = one(name.as_bytes(), &options);
    assert_eq!(
        line.new.unwrap().as_bytes(),
        "Événement à la société.txt".as_bytes()
    );
    assert_eq!(line.reason, Reason::Doubled);
    for meant in ["café", "Ã", "naïve ©"] {
        assert_eq!(
            planned(&options, &listed(&[meant.as_bytes()])),
            [],
            "{meant}"
        );
    }
}

#[test]
fn our_escapes_are_undone_and_no_others() {
    let mut options = PlanOptions::new(Policy::default(), charsets(&["iso-8859-1"]));
    options.unescape = Some(Escapes::Utf8fs);
    assert_eq!(
        one(b"caf%E9.txt", &options).new.unwrap().as_bytes(),
        "café.txt".as_bytes()
    );
    assert_eq!(one(b"caf%E9.txt", &options).reason, Reason::Escaped);
    let others: [&[u8]; 6] = [b"100%", b"a%20b", b"caf%e9", b"%41", b"%2E%2E%2F", b"x%00"];
    assert_eq!(planned(&options, &listed(&others)), []);
}

#[test]
fn what_has_no_text_is_escaped_where_that_is_wanted_and_read_later() {
    let mut escape = PlanOptions::new(Policy::default(), charsets(&["windows-1252"]));
    escape.escape = true;
    let mut unescape = PlanOptions::new(Policy::default(), charsets(&["ibm437"]));
    unescape.unescape = Some(Escapes::Utf8fs);
    for (name, new, reason, later) in [
        (&b"caf\xE9"[..], "café", Reason::Decoded, None),
        (b"x\x81", "x%81", Reason::BytesEscaped, Some("xü")),
        (
            b"100%81\x81",
            "100%2581%81",
            Reason::BytesEscaped,
            Some("100%81ü"),
        ),
        (
            b"a\x07\x9D",
            "a\x07%9D",
            Reason::BytesEscaped,
            Some("a\x07¥"),
        ),
    ] {
        let line = one(name, &escape);
        assert_eq!(line.new.unwrap().as_bytes(), new.as_bytes(), "{new}");
        assert_eq!(line.reason, reason, "{new}");
        if let Some(later) = later {
            let line = one(new.as_bytes(), &unescape);
            assert_eq!(line.new.unwrap().as_bytes(), later.as_bytes());
        }
    }
    let taken = planned(&escape, &listed(&[b"x\xFF\x81", b"x%FF%81"]));
    assert!(
        taken.len() == 1 && taken[0].reason == Reason::Taken,
        "{taken:?}"
    );
    // An escape that was cut could not be read later.
    let long = b"\x81".repeat(200);
    let left = one(&long, &escape);
    assert_eq!((left.new, left.reason), (None, Reason::WouldBeTooLong));
    escape.shorten = true;
    let cut = one(&long, &escape).new.unwrap();
    assert!(
        cut.as_bytes().starts_with(b"%81%81") && cut.as_bytes().contains(&b'~'),
        "{cut:?}"
    );
}

#[test]
fn private_use_characters_are_mapped_back_and_then_spelled_as_the_profile_wants() {
    let name = "a\u{F022}b\u{F03F}.\u{F029}";
    for (map, new) in [
        (PrivateUse::Sfm, "a:b\u{F03F}.."),
        (PrivateUse::Sfu, "a\"b?.\u{F029}"),
    ] {
        let mut options = PlanOptions::new(Policy::default(), CharsetSource::Charsets(Vec::new()));
        options.private_use = Some(map);
        let line = one(name.as_bytes(), &options);
        assert_eq!(line.new.unwrap().as_bytes(), new.as_bytes());
        assert_eq!(line.reason, Reason::Mapped);
    }
    let mut options = PlanOptions::new(
        Profile::Portable.policy(),
        CharsetSource::Charsets(Vec::new()),
    );
    options.private_use = Some(PrivateUse::Sfm);
    let line = one("a\u{F022}b".as_bytes(), &options);
    assert_eq!(line.new.unwrap().as_bytes(), b"a%3Ab");
    // What would be no name is left, and so is what another entry has (law T2).
    for (profile, names) in [
        (Profile::Utf8, ["\u{F029}", "x"]),
        (Profile::Portable, ["a\u{F022}b", "a%3Ab"]),
    ] {
        let mut options = PlanOptions::new(profile.policy(), CharsetSource::Charsets(Vec::new()));
        options.private_use = Some(PrivateUse::Sfm);
        let lines = planned(&options, &listed(&names.map(str::as_bytes)));
        assert!(lines.len() == 1 && lines[0].new.is_none(), "{lines:?}");
    }
}

/// What would be no name, and what would have control characters, is left; so is text beside bytes of a charset.
#[test]
fn escapes_of_urls_are_undone_where_a_name_comes_of_it() {
    let mut options = PlanOptions::new(Policy::default(), charsets(&["iso-8859-1"]));
    options.unescape = Some(Escapes::Percent);
    for (name, new) in [
        ("a%20b", "a b"),
        ("a%2520b%25", "a b%"),
        ("%e6%97%A5.txt", "日.txt"),
        ("caf%E9", "café"),
        ("é%C3%A9", "éé"),
        ("100% of%3A%zz", "100% of:%zz"),
    ] {
        let line = one(name.as_bytes(), &options);
        assert_eq!(line.new.unwrap().as_bytes(), new.as_bytes());
        assert_eq!(line.reason, Reason::Escaped);
    }
    for (name, reason) in [
        ("a%2Fb", Reason::NoSpelling),
        ("a%20b%00", Reason::NoSpelling),
        ("%2e%2E", Reason::NoSpelling),
        ("é%E9", Reason::NoSpelling),
        ("a%0Ab", Reason::Control),
        ("a%C2%85b", Reason::Control),
    ] {
        let line = one(name.as_bytes(), &options);
        assert_eq!((line.new, line.reason), (None, reason), "{name}");
    }
    assert_eq!(
        planned(&options, &listed(&[b"100%", b"%", b"%a", b"%4g"])),
        []
    );
    // Of two that become one, and of one that becomes another, one keeps its name (law T2).
    let lines = planned(&options, &listed(&[b"a b", b"a%20b", b"c%20", b"%63%20"]));
    let new: Vec<Option<Vec<u8>>> = lines
        .iter()
        .map(|line| line.new.as_ref().map(|new| new.as_bytes().to_vec()))
        .collect();
    assert_eq!(new, [Some(b"c ".to_vec()), None, None]);
}

#[test]
fn names_that_would_be_too_long_are_left_with_what_a_mount_shows() {
    let name = [0xE9; 200];
    let mut options = PlanOptions::new(Policy::default(), charsets(&["iso-8859-1"]));
    let left = one(&name, &options);
    assert_eq!((left.new, left.reason), (None, Reason::WouldBeTooLong));
    options.shorten = true;
    let cut = one(&name, &options);
    assert_eq!(cut.new.as_ref(), Some(&left.candidates[0].name));
    let names = BTreeSet::from([name.to_vec()]);
    assert_eq!(
        visible(&options, &names)[name.as_slice()],
        cut.new.unwrap().as_bytes()
    );
}

#[test]
fn what_a_profile_forbids_is_spelled_portably_or_left() {
    let portable = PlanOptions::new(
        Profile::Portable.policy(),
        CharsetSource::Charsets(Vec::new()),
    );
    assert_eq!(one(b"a:b", &portable).new.unwrap().as_bytes(), b"a%3Ab");
    let posix = PlanOptions::new(Profile::Posix.policy(), CharsetSource::Charsets(Vec::new()));
    let left = one("é".as_bytes(), &posix);
    assert_eq!((left.new, left.reason), (None, Reason::NoSpelling));
}
