//! Names whose charset is in doubt while their text is not, and texts that people judge.

use serde_json::{Value, json};
use utf8fs::codec::Charset;

use super::{migrate, utf8fs};
use crate::support::{Tree, at};

/// French names, of which the last tells windows-1252 from the charsets that read the others alike.
const FRENCH: [&str; 6] = [
    "56 - Hôtel réservé.jpg",
    "Été à la plage.jpg",
    "Anniversaire d'Hélène.jpg",
    "Forêt près de Besançon.jpg",
    "Facture n° 12 payée.pdf",
    "Dîner – 12 €.txt",
];

fn in_charset(label: &str, text: &str) -> Vec<u8> {
    Charset::from_label(label).unwrap().encode(text).unwrap()
}

/// ISO-8859-1, ISO-8859-15 and windows-1252 share the odds of a name that they read alike.
#[test]
fn t8_charsets_that_give_the_same_text_add_up() {
    let tree = Tree::new();
    for text in FRENCH {
        tree.file(&in_charset("windows-1252", text), b"");
    }
    let guessed = utf8fs(
        tree.parent(),
        &[b"explain", b"--guess", b"--json", b"H\xF4tel r\xE9serv\xE9"],
    )
    .expect(0);
    let best: Value = serde_json::from_str(guessed.stdout.lines().next().unwrap()).unwrap();
    assert!(best["confidence"].as_f64() > Some(0.9), "{best}");
    assert!(
        best["alike"]
            .as_array()
            .unwrap()
            .contains(&json!("windows-1252")),
        "{best}"
    );
    migrate(tree.parent(), &["--from", "auto", "--apply", "backing"]).expect(0);
    let mut wanted = FRENCH.map(|text| text.as_bytes().to_vec());
    wanted.sort();
    assert_eq!(at::sorted(tree.below_dir()), wanted);
}

/// The byte 8C is a control character in ISO-8859-1 and a letter in windows-1252.
#[test]
fn t8_no_guess_prefers_control_characters() {
    let tree = Tree::new();
    let name = in_charset("windows-1252", "ŒUVRES COMPLÈTES");
    tree.file(&name, b"");
    let guessed = utf8fs(tree.parent(), &[b"explain", b"--guess", &name]).expect(0);
    let scanned = utf8fs(tree.parent(), &[b"scan", b"backing"]).expect(1);
    for run in [guessed, scanned] {
        let best = run
            .stdout
            .lines()
            .find(|line| line.contains("  \"\\x8CUVRES"));
        assert!(
            best.is_some_and(|best| best.contains("\"ŒUVRES COMPLÈTES\"")),
            "{run:?}"
        );
    }
}

/// A plan as a program writes it again, with a decision by a person in it.
#[test]
fn t1_a_plan_that_another_program_wrote_is_done_as_it_says() {
    let tree = Tree::new();
    for text in FRENCH {
        tree.file(&in_charset("windows-1252", text), b"");
    }
    let control = b"\x83\\\x83t\x83g\x83E\x83F\x83A";
    tree.file(control, b"");
    let plan = [
        "--from",
        "windows-1252,iso-8859-1",
        "--allow-control",
        "--plan",
        "plan",
        "backing",
    ];
    migrate(tree.parent(), &plan).expect(0);
    let path = tree.parent().join("plan");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["old"]["bytes"] == "g1yDdINng0WDRoNB" {
            line["new"] = Value::Null;
        }
        // As Python's json.dumps does.
        line.to_string()
            .replace("\":", "\": ")
            .replace(",\"", ", \"")
    });
    std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let run = migrate(tree.parent(), &["--plan", "plan", "--apply"]).expect(1);
    assert!(run.stdout.contains("the plan leaves it"), "{run:?}");
    assert!(
        !run.stdout.contains("beware") && !run.stderr.contains("control"),
        "{run:?}"
    );
    let names = at::sorted(tree.below_dir());
    assert!(names.contains(&control.to_vec()), "{names:?}");
    assert!(
        FRENCH
            .iter()
            .all(|text| names.contains(&text.as_bytes().to_vec())),
        "{names:?}"
    );
}

/// A few that stay are named, many are counted by reason.
#[test]
fn what_stays_is_counted_by_reason_where_it_is_much() {
    let tree = Tree::new();
    for number in 0..40 {
        tree.file(
            format!("{number}")
                .as_bytes()
                .iter()
                .copied()
                .chain([0x81])
                .collect::<Vec<u8>>()
                .as_slice(),
            b"",
        );
    }
    let apply = [
        "--from",
        "windows-1252",
        "--apply",
        "--journal",
        "journal",
        "backing",
    ];
    let run = migrate(tree.parent(), &apply).expect(1);
    assert!(run.stdout.contains("             40  stays: "), "{run:?}");
    assert!(run.stdout.lines().count() < 6, "{run:?}");
    let run = migrate(tree.parent(), &[&["--verbose"], &apply[..]].concat()).expect(1);
    assert_eq!(run.stdout.matches(" stays: ").count(), 40, "{run:?}");
}
