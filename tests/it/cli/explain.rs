//! `utf8fs explain`: where names come from, what people read, how it ends (laws L1, L4).

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Run, run, utf8fs};

#[test]
fn names_come_from_arguments_then_hex_then_standard_input() {
    let command = utf8fs(&[
        b"explain", b"--json", b"-0", b"--hex", b"62", b"--hex", b"63 63", b"--", b"-a", b"\xE9",
    ]);
    let run = Run::of(command, b"one\ntwo\0\xFF\0\0last");
    let names: Vec<Value> = run
        .objects()
        .iter()
        .map(|object| object["name"].clone())
        .collect();
    let wanted = [
        json!({"text": "-a"}),
        json!({"bytes": "6Q=="}),
        json!({"text": "b"}),
        json!({"text": "cc"}),
        json!({"text": "one\ntwo"}),
        json!({"bytes": "/w=="}),
        json!({"text": ""}),
        json!({"text": "last"}),
    ];
    assert_eq!(names, wanted);
    assert_eq!(run.code, Some(1));
}

#[test]
fn no_names_on_standard_input_all_conform() {
    let run = Run::of(utf8fs(&[b"explain", b"-0"]), b"");
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "", "")
    );
}

#[test]
fn the_exit_code_says_whether_all_conform() {
    assert_eq!(run(&[b"explain", b"a", "\u{E9}".as_bytes()]).code, Some(0));
    assert_eq!(run(&[b"explain", b"a", b"\xE9", b"b"]).code, Some(1));
    assert_eq!(
        run(&[b"explain", b"--profile", b"posix", "\u{E9}".as_bytes()]).code,
        Some(1)
    );
    assert_eq!(
        run(&[b"explain", b"--json", b"--nonsense", b"a"]).code,
        Some(2)
    );
}

#[test]
fn the_text_says_whether_a_violation_is_refused_made_otherwise_or_reported() {
    let verdict = |options: &[&[u8]]| {
        let mut arguments: Vec<&[u8]> = vec![
            b"explain",
            b"\xE9",
            b"--from",
            b"iso-8859-1",
            b"--on-violation",
        ];
        arguments.extend(options);
        let run = run(&arguments);
        let line = run
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix("  verdict     "));
        line.unwrap().to_owned()
    };
    assert_eq!(
        verdict(&[b"reject", b"--errno", b"einval"]),
        "refused with EINVAL"
    );
    assert_eq!(
        verdict(&[b"normalize"]),
        "refused; by --on-violation normalize \"\u{E9}\" is made instead"
    );
    assert_eq!(
        verdict(&[b"report"]),
        "refused; by --on-violation report it is made all the same, and logged"
    );
}

/// Names that would clear a screen, forge a line or turn the text around. `Run::of` checks what is printed (law L1).
#[test]
fn hostile_names_are_never_printed_raw() {
    let names: &[&[u8]] = &[
        b"\x1B[2J\x1B]0;title\x07",
        b"a\nerror: forged\r\n",
        b"\xC2\x9B2J",
        "\u{202E}txt.exe\u{2066}\u{200B}\u{FEFF}\u{2028}".as_bytes(),
        b"\x7F\x08\x08\xC0\x8A\xED\xA0\x80\xFF\xE2\x80",
        b"\"\\\"",
    ];
    let profiles: [&[u8]; 4] = [b"utf8", b"safe", b"portable", b"posix"];
    for profile in profiles {
        for json in [true, false] {
            let mut arguments: Vec<&[u8]> = vec![b"explain", b"--profile", profile];
            arguments.extend(json.then_some(b"--json" as &[u8]));
            arguments.push(b"--");
            arguments.extend(names);
            let run = run(&arguments);
            assert_eq!(run.stderr, "");
            assert!(
                !run.stdout.lines().any(|line| line.starts_with("error")),
                "{run:?}"
            );
        }
    }
}

#[test]
fn a_reader_who_leaves_ends_it_quietly() {
    let script =
        r#"yes name | tr '\n' '\0' | head -c 4000000 | "$0" explain -0 | head -n 1 >/dev/null"#;
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_utf8fs")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(said, "");
}

/// All names together tell more than each: of "\xC9\xD7" alone little is known.
#[test]
fn a_guess_is_about_all_names_together_and_shows_their_readings() {
    let names = b"\xF0\xF2\xE9\xF7\xE5\xF4.txt\0\xD0\xD2\xC9\xD7\xC5\xD4\0plain\0Caf\xC3\x83\xC2\xA9 de la Gare\0";
    let run = Run::of(utf8fs(&[b"explain", b"-0", b"--guess"]), names);
    let wanted = "\
ill-formed names: 2 of 4; likely written in
   99 %  koi8-r (read alike by koi8-u), which reads 2 of 2
         \"\\xD0\\xD2\\xC9\\xD7\\xC5\\xD4\"  \"\u{43F}\u{440}\u{438}\u{432}\u{435}\u{442}\"  99 % for this name
         \"\\xF0\\xF2\\xE9\\xF7\\xE5\\xF4.txt\"  \"\u{41F}\u{420}\u{418}\u{412}\u{415}\u{422}.txt\"  99 % for this name
UTF-8 that was taken for another charset and encoded again, likely: 1 of 1 names beyond ASCII
   99 %  as these show
         \"Caf\u{C3}\u{A9} de la Gare\"  \"Caf\u{E9} de la Gare\", encoded 2 times, over iso-8859-1
";
    assert_eq!((run.stdout.as_str(), run.code), (wanted, Some(0)));
    let run = Run::of(utf8fs(&[b"explain", b"-0", b"--guess", b"--json"]), names);
    let objects = run.objects();
    assert_eq!(objects[0]["charset"], "koi8-r");
    assert_eq!(
        (&objects[0]["read"], &objects[0]["of"]),
        (&json!(2), &json!(2))
    );
    let doubled = objects.last().unwrap();
    assert_eq!(doubled["guess"], "doubly-encoded");
    assert_eq!(
        doubled["examples"][0]["text"],
        json!({"text": "Caf\u{E9} de la Gare"})
    );
    let nothing = Run::of(utf8fs(&[b"explain", b"-0", b"--guess"]), b"a\0b\0");
    let wanted = "ill-formed names: 0 of 2; there is no charset to guess\n";
    assert_eq!((nothing.stdout.as_str(), nothing.code), (wanted, Some(0)));
}

#[test]
fn a_guess_takes_no_options_that_it_would_not_heed() {
    let run = run(&[b"explain", b"--guess", b"--from", b"koi8-r", b"\xC9"]);
    let (error, hint) = run.refusal();
    assert!(error.contains("--guess contradicts"), "{error}");
    assert!(hint.contains("leave the others out"), "{hint}");
}
