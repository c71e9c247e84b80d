//! A tree of several charsets, made clean by a charset map that `scan` proposes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};
use utf8fs::codec::Charset;

use super::{migrate, utf8fs};
use crate::support::{Tree, at, snapshot};

const FRENCH: [&str; 10] = [
    "Été à la plage.jpg",
    "Hôtel réservé.pdf",
    "Clés perdues.txt",
    "Anniversaire d'Hélène.jpg",
    "Théâtre à Orléans.doc",
    "Forêt près de Besançon.jpg",
    "Déjà vu.txt",
    "Facture n° 12 payée.pdf",
    "Crème brûlée.doc",
    "Noël chez mémé.jpg",
];

const RUSSIAN: [&str; 10] = [
    "Отчёт за год.doc",
    "Письмо директору.txt",
    "Фотографии с дачи.jpg",
    "Договор аренды.pdf",
    "Список покупок.txt",
    "Расписание уроков.xls",
    "Музыка для поездки.mp3",
    "День рождения бабушки.jpg",
    "Рецепт борща.doc",
    "Новый год.jpg",
];

const JAPANESE: [&str; 10] = [
    "会議議事録.doc",
    "予算表.xls",
    "東京タワーの写真.jpg",
    "日本語の本.pdf",
    "請求書.pdf",
    "旅行の計画.txt",
    "新しいフォルダ.txt",
    "お母さんの誕生日.jpg",
    "年賀状.doc",
    "議題一覧.txt",
];

/// A directory, the charset of its names, and the names.
type Row<'r> = (&'r [u8], &'static str, Vec<&'static str>);

fn make(tree: &Tree, rows: &[Row<'_>]) {
    for (directory, charset, names) in rows {
        let charset = Charset::from_label(charset).unwrap();
        let directory = tree.backing().join(OsStr::from_bytes(directory));
        std::fs::create_dir_all(&directory).unwrap();
        let directory = at::open_dir_path(&directory);
        for name in names {
            at::write_new(&directory, &charset.encode(name).unwrap(), name.as_bytes()).unwrap();
        }
    }
}

/// Checks that each file has the name that is in it; returns their number.
fn checked(root: &Path) -> usize {
    let files = snapshot::take(root, snapshot::Times::Kept);
    let files = files
        .iter()
        .filter_map(|(path, entry)| match &entry.content {
            snapshot::Content::File(content) => Some((path, content)),
            _ => None,
        });
    files
        .map(|(path, content)| {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap();
            assert_eq!(name, content.as_slice(), "{path:?}");
        })
        .count()
}

fn entries(map: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = map
        .lines()
        .filter(|line| line.starts_with("path") || line.starts_with("charset"))
        .collect();
    let value = |line: &str| line.split('"').nth(1).unwrap().to_owned();
    lines
        .chunks(2)
        .map(|pair| (value(pair[0]), value(pair[1])))
        .collect()
}

/// One guess at all names together would be wrong for most of them.
#[test]
fn a_scan_leads_to_a_map_where_charsets_are_mixed_else_to_the_charset() {
    let tree = Tree::new();
    make(
        &tree,
        &[
            (b"fr", "windows-1252", FRENCH.to_vec()),
            (b"ru", "koi8-r", RUSSIAN.to_vec()),
            (b"ru/old", "koi8-r", RUSSIAN.to_vec()),
            (b"mixed", "windows-1252", FRENCH.to_vec()),
            (b"mixed", "shift_jis", JAPANESE.to_vec()),
            (b"puzzle", "koi8-r", RUSSIAN[..1].to_vec()),
        ],
    );
    let puzzle = at::open_dir_path(&tree.backing().join("puzzle"));
    for number in 0..5 {
        let cut_short = [b"\xE6\x97\xA5\xE6\x9C".as_slice(), &[b'0' + number]].concat();
        at::write_new(&puzzle, &cut_short, b"").unwrap();
    }
    let several = utf8fs(tree.parent(), &[b"scan", b"backing"]).expect(1);
    let lines: Vec<&str> = several.stdout.lines().map(str::trim_start).collect();
    for found in [
        "the ill-formed names mix charsets",
        "20  koi8-r in 2 directories",
        "20  mixed: ",
        "6  uncertain in 1 directory",
        "10  of 10, koi8-r  \"backing/ru/old\"",
        "20  of 20, mixes ",
        "next",
        "utf8fs scan --propose-map charsets.toml backing",
        "utf8fs migrate --charset-map charsets.toml backing",
    ] {
        let found = lines.iter().filter(|line| line.starts_with(found)).count();
        assert_eq!(found, 1, "{several:?}");
    }
    assert!(!several.stdout.contains("together"), "{several:?}");
    let several = utf8fs(tree.parent(), &[b"scan", b"--json", b"backing"]).expect(1);
    let total = several.stdout.lines().last().unwrap();
    let total: Value = serde_json::from_str(total).unwrap();
    let of_russian = total["charsets"].as_array().unwrap().iter();
    let mut of_russian = of_russian.filter(|total| total["charsets"] == json!(["koi8-r"]));
    let of_russian = of_russian.next().unwrap();
    assert_eq!([&of_russian["directories"], &of_russian["names"]], [2, 20]);
    assert_eq!(
        total["next"][1],
        "utf8fs migrate --charset-map charsets.toml backing"
    );

    let one = utf8fs(tree.parent(), &[b"scan", b"backing/ru"]).expect(1);
    assert!(one.stdout.contains("likely written in"), "{one:?}");
    let next = "\n\nnext\n  utf8fs migrate --from auto backing/ru\n  \
        utf8fs mount --from koi8-r backing/ru MOUNTPOINT\n";
    assert!(one.stdout.ends_with(next), "{one:?}");
}

/// Laws T1 and T4: three commands, and back again.
#[test]
fn a_tree_of_three_charsets_is_made_clean_by_a_proposed_map_and_undone_bit_by_bit() {
    let tree = Tree::new();
    let cyrillic = Charset::from_label("koi8-r")
        .unwrap()
        .encode("Старое")
        .unwrap();
    let old = [b"ru/".as_slice(), &cyrillic].concat();
    make(
        &tree,
        &[
            (b"fr", "windows-1252", FRENCH.to_vec()),
            (b"fr/2004", "windows-1252", FRENCH.to_vec()),
            (b"ru", "koi8-r", RUSSIAN.to_vec()),
            (&old, "koi8-r", RUSSIAN.to_vec()),
            (b"jp", "shift_jis", JAPANESE.to_vec()),
            (b"mixed", "windows-1252", FRENCH.to_vec()),
            (b"mixed", "shift_jis", JAPANESE.to_vec()),
        ],
    );
    let before = snapshot::take(&tree.backing(), snapshot::Times::Kept);
    let proposed = utf8fs(
        tree.parent(),
        &[b"scan", b"--propose-map", b"charsets.toml", b"backing"],
    )
    .expect(1);
    assert!(
        proposed
            .stderr
            .contains("go on with: utf8fs migrate --charset-map charsets.toml backing\n"),
        "{proposed:?}"
    );
    let map = std::fs::read_to_string(tree.parent().join("charsets.toml")).unwrap();
    let found = entries(&map);
    let paths: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(paths, ["/fr", "/jp", "/mixed", "/ru"], "{map}");
    assert_eq!(
        [&*found["/jp"], &*found["/mixed"], &*found["/ru"]],
        ["shift_jis", "auto", "koi8-r"],
        "{map}"
    );
    assert!(
        map.contains("# 21 names in 2 directories, 99 % sure on average\n"),
        "{map}"
    );
    assert!(map.contains("# mixes charsets: "), "{map}");
    let judged = utf8fs(
        tree.parent(),
        &[b"scan", b"--charset-map", b"charsets.toml", b"backing"],
    )
    .expect(1);
    assert!(
        judged.stdout.contains("koi8-r, in 2 directories\n"),
        "{judged:?}"
    );
    assert!(!judged.stdout.contains("left as they are"), "{judged:?}");

    let by_map = [
        "--charset-map",
        "charsets.toml",
        "--apply",
        "--journal",
        "journal",
        "backing",
    ];
    migrate(tree.parent(), &by_map).expect(0);
    assert_eq!(checked(&tree.backing()), 70);
    assert!(
        utf8fs(tree.parent(), &[b"scan", b"backing"])
            .expect(0)
            .stdout
            .contains("no name offends")
    );
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert_eq!(
        snapshot::take(&tree.backing(), snapshot::Times::Kept),
        before
    );
    // It is never written over.
    utf8fs(
        tree.parent(),
        &[b"scan", b"--propose-map", b"charsets.toml", b"backing"],
    )
    .expect(2);
    assert_eq!(
        std::fs::read_to_string(tree.parent().join("charsets.toml")).unwrap(),
        map
    );
}

/// A child of which little is known goes by the entry above it; what is uncertain has an entry of its own, with samples.
#[test]
fn a_proposed_map_inherits_where_nothing_speaks_against_it_and_hides_nothing() {
    let tree = Tree::new();
    make(
        &tree,
        &[
            (b"", "windows-1252", FRENCH.to_vec()),
            (b"", "shift_jis", JAPANESE.to_vec()),
            (b"ru", "koi8-r", RUSSIAN.to_vec()),
            (b"ru/x", "koi8-r", vec!["да"]),
            (b"mixed", "windows-1252", FRENCH.to_vec()),
            (b"mixed", "shift_jis", JAPANESE.to_vec()),
            (b"lone", "windows-1256", vec!["GRات"]),
        ],
    );
    let propose: &[&[u8]] = &[b"scan", b"--propose-map", b"map", b"backing"];
    utf8fs(tree.parent(), propose).expect(1);
    let map = std::fs::read_to_string(tree.parent().join("map")).unwrap();
    let found = entries(&map);
    let auto: Vec<&str> = ["/", "/lone", "/mixed"].to_vec();
    assert!(auto.iter().all(|path| found[*path] == "auto"), "{map}");
    assert_eq!((found.len(), &*found["/ru"]), (4, "koi8-r"), "{map}");
    for comment in [
        "# 11 names in 2 directories, ",
        "#   not sure: \"lone/GR\\xC7\\xCA\" ",
        "# 1 name in 1 directory, 1 not sure\n",
    ] {
        assert!(map.contains(comment), "{comment}: {map}");
    }
    // Nothing uncertain is left in silence.
    migrate(tree.parent(), &["--charset-map", "map", "backing"]).expect(1);
    std::fs::write(
        tree.parent().join("map"),
        "[[directory]]\npath = ['/', 'backing/ru', 'typo']\ncharset = 'leave'\n",
    )
    .unwrap();
    let judge: &[&[u8]] = &[b"scan", b"--charset-map", b"map", b"backing"];
    let run = utf8fs(tree.parent(), judge).expect(1);
    assert!(run.stdout.ends_with("52  left as they are\n"), "{run:?}");
    let warning = "warning: no directory matches \"backing/ru\", \"typo\" of the charset map: ";
    assert!(run.stderr.contains(warning), "{run:?}");
    let run = migrate(tree.parent(), &["--charset-map", "map", "backing"]).expect(0);
    assert!(run.stderr.contains(warning), "{run:?}");
    let part = ["--charset-map", "map", "--only", "ru", "backing"];
    assert!(
        !migrate(tree.parent(), &part)
            .expect(0)
            .stderr
            .contains(warning)
    );
}

/// A name whose text another entry has is sure nonetheless.
#[test]
fn a_name_that_is_taken_is_not_unsure_on_a_proposed_map() {
    let tree = Tree::new();
    make(&tree, &[(b"old", "windows-1252", FRENCH.to_vec())]);
    let old = at::open_dir(tree.below_dir(), b"old").unwrap();
    for name in FRENCH {
        at::write_new(&old, name.as_bytes(), b"").unwrap();
    }
    let propose: &[&[u8]] = &[b"scan", b"--propose-map", b"map", b"backing"];
    utf8fs(tree.parent(), propose).expect(1);
    let map = std::fs::read_to_string(tree.parent().join("map")).unwrap();
    assert_eq!(entries(&map)["/old"], "iso-8859-1", "{map}");
    assert!(!map.contains("not sure"), "{map}");
}

const THREE: [&[u8]; 3] = [b"a", b"b", b"c\xE9"];

/// A tree of three directories, with a name that is not UTF-8 in each, and one in a directory in it.
fn three_directories() -> Tree {
    let tree = Tree::new();
    for directory in THREE {
        let directory = tree.directory(directory);
        at::write_new(&directory, b"\xC1", b"").unwrap();
        at::mkdir(&directory, b"x").unwrap();
        at::write_new(at::open_dir(&directory, b"x").unwrap(), b"\xC1", b"").unwrap();
    }
    tree
}

#[test]
fn each_directory_goes_by_the_nearest_entry_and_the_others_by_from() {
    let tree = three_directories();
    for directory in THREE {
        let directory = at::open_dir(tree.below_dir(), directory).unwrap();
        at::symlink(b"../a/\xC1", &directory, b"link").unwrap();
    }
    let map = "[[directory]]\npath = '/a'\ncharset = 'koi8-r'\n\
        [[directory]]\npath = '/c%E9/x'\ncharset = ['euc-jp', 'windows-1253']\n\
        [[directory]]\npath = 'x'\ncharset = 'leave'\n";
    std::fs::write(tree.parent().join("map"), map).unwrap();
    let run = migrate(
        tree.parent(),
        &[
            "--charset-map",
            "map",
            "--from",
            "iso-8859-1",
            "backing",
            "-v",
        ],
    )
    .expect(0);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            r#""a/\xC1" -> "а"  decoded from koi8-r"#,
            r#""a/link" leads to "../a/\xC1" -> "../a/а""#,
            r#""b/\xC1" -> "Á"  decoded from iso-8859-1"#,
            r#""b/link" leads to "../a/\xC1" -> "../a/а""#,
            r#""c\xE9" -> "cé"  decoded from iso-8859-1"#,
            r#""c\xE9/\xC1" -> "Á"  decoded from iso-8859-1"#,
            r#""c\xE9/link" leads to "../a/\xC1" -> "../a/а""#,
            r#""c\xE9/x/\xC1" -> "Α"  decoded from windows-1253"#,
        ]
    );
    // Where neither says anything, names are left and reported.
    let run = migrate(tree.parent(), &["--charset-map", "map", "backing", "-v"]).expect(1);
    assert!(run.stdout.contains(r#""b/\xC1" stays: "#), "{run:?}");
    assert!(!run.stdout.contains("a/x"), "{run:?}");
}

/// An entry on the command line wins over one of the file for the same directory, and the last one over those before it.
#[test]
fn set_charset_wins_over_the_file_and_is_undone() {
    let tree = three_directories();
    let before = snapshot::take(&tree.backing(), snapshot::Times::Kept);
    let map = "[[directory]]\npath = ['/a', '/b']\ncharset = 'koi8-r'\n\
        [[directory]]\npath = '/b/x'\ncharset = 'koi8-r'\n";
    std::fs::write(tree.parent().join("map"), map).unwrap();
    let set = [
        "--charset-map",
        "map",
        "--set-charset",
        "/b=auto",
        "--set-charset",
        "/b=euc-jp,windows-1253",
        "--set-charset=/c%E9=leave",
        "--set-charset=/=iso-8859-1",
        "--journal",
        "journal",
        "--apply",
        "backing",
    ];
    migrate(tree.parent(), &set).expect(0);
    let after = snapshot::take(&tree.backing(), snapshot::Times::Kept);
    let files: Vec<&[u8]> = after.keys().map(Vec::as_slice).collect();
    let of_c = |rest: &[u8]| ["cé/".as_bytes(), rest].concat();
    let expected = [
        b"a".to_vec(),
        b"a/x".to_vec(),
        "a/x/а".into(),
        "a/а".into(),
        b"b".to_vec(),
        b"b/x".to_vec(),
        "b/x/а".into(),
        "b/Α".into(),
        "cé".into(),
        of_c(b"x"),
        of_c(b"x/\xC1"),
        of_c(b"\xC1"),
    ];
    assert_eq!(files, expected);
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    assert_eq!(
        snapshot::take(&tree.backing(), snapshot::Times::Kept),
        before
    );
    for (entry, fault) in [
        ("koi8-r", "--set-charset \"koi8-r\": it must be DIR=CHARSET"),
        ("=koi8-r", "--set-charset \"=koi8-r\": it is empty"),
        ("/a=koi9", "--set-charset: unknown charset \"koi9\""),
        (
            "/a=auto,koi8-r",
            "--set-charset: auto and leave stand alone",
        ),
        ("/a/[=koi8-r", "--set-charset \"/a/[=koi8-r\": "),
    ] {
        let run = migrate(tree.parent(), &["--set-charset", entry, "backing"]).expect(2);
        assert!(
            run.stderr.starts_with(&format!("error: {fault}")),
            "{run:?}"
        );
    }
}

#[test]
fn a_faulty_map_is_refused_with_line_and_column() {
    let tree = Tree::new();
    let refused = |command: &str, text: &str| {
        std::fs::write(tree.parent().join("map"), text).unwrap();
        let run = utf8fs(
            tree.parent(),
            &[command.as_bytes(), b"--charset-map", b"map", b"backing"],
        )
        .expect(2);
        run.stderr.lines().next().unwrap().to_owned()
    };
    let row = "[[directory]]\npath = \"/a\"\ncharset = \"koi8r-x\"\n";
    for command in ["scan", "migrate"] {
        let fault = refused(command, row);
        assert!(
            fault.starts_with(
                "error: \"map\":3:11: unknown charset \"koi8r-x\"; did you mean koi8-r"
            ),
            "{fault}"
        );
        let fault = refused(command, "[[directory]\n");
        assert!(fault.starts_with("error: \"map\":1:1"), "{fault}");
    }
    let missing = migrate(tree.parent(), &["--charset-map", "no", "backing"]).expect(2);
    assert!(
        missing.stderr.contains("cannot be read: No such file"),
        "{missing:?}"
    );
}
