//! `utf8fs convert`: a filter that can be trusted (laws C1, C4, L4).

use std::io::Write;
use std::process::{Command, Stdio};

use super::utf8fs;

/// What a run left; its output may be anything.
struct Left {
    code: Option<i32>,
    output: Vec<u8>,
    said: String,
}

fn convert(options: &[&str], input: &[u8]) -> Left {
    let options: Vec<&[u8]> = options.iter().map(|option| option.as_bytes()).collect();
    let mut command = utf8fs(&[&[b"convert".as_slice()], options.as_slice()].concat());
    finish(&mut command, input)
}

fn finish(command: &mut Command, input: &[u8]) -> Left {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // It may stop before it has read all.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Left {
        code: output.status.code(),
        output: output.stdout,
        said: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn text_goes_from_any_encoding_to_any_other() {
    let rows: &[(&str, &str, &[u8], &[u8])] = &[
        (
            "utf-8",
            "utf-8",
            "caf\u{E9}\n".as_bytes(),
            "caf\u{E9}\n".as_bytes(),
        ),
        ("iso-8859-1", "utf-8", b"caf\xE9", "caf\u{E9}".as_bytes()),
        ("UTF-8", "Latin1", "caf\u{E9}".as_bytes(), b"caf\xE9"),
        ("shift_jis", "utf-16be", b"\x95\x5C", b"\x88\x68"),
        (
            "cesu-8",
            "utf-8",
            b"\xED\xA1\x8C\xED\xBE\xB4",
            "\u{233B4}".as_bytes(),
        ),
        ("utf-8", "mutf-8", b"a\0", b"a\xC0\x80"),
        ("fss-utf-draft", "fss-utf", b"\x80\x80", b"\xC2\x80"),
        (
            "fss-utf-xutf",
            "ucs-4le",
            b"\xFD\xBF\xBF\xBF\xBF\xBF",
            b"\xFF\xFF\xFF\x7F",
        ),
        (
            "koi8-r",
            "cp866",
            b"\xF0\xF2\xE9\xF7\xE5\xF4",
            b"\x8F\x90\x88\x82\x85\x92",
        ),
        ("utf-8", "utf-8", b"", b""),
    ];
    for &(from, to, input, output) in rows {
        let left = convert(&["--from", from, "--to", to], input);
        assert_eq!(left.output, output, "{from} to {to}");
        assert_eq!(
            (left.code, left.said.as_str()),
            (Some(0), ""),
            "{from} to {to}"
        );
    }
}

#[test]
fn what_stops_it_is_told_by_offset_length_and_kind_and_what_is_before_is_written() {
    type Row<'a> = (&'a str, &'a str, &'a [u8], &'a [u8], &'a str);
    let rows: &[Row<'_>] = &[
        (
            "utf-8",
            "utf-8",
            b"caf\xE9.",
            b"caf",
            "malformed input for utf-8: offset 3, length 1, truncated",
        ),
        (
            "utf-8",
            "utf-8",
            b"/\xC0\xAE./",
            b"/",
            "malformed input for utf-8: offset 1, length 2, overlong (U+002E)",
        ),
        (
            "utf-8",
            "utf-8",
            b"a\xF0\x82\x82\xAC",
            b"a",
            "malformed input for utf-8: offset 1, length 4, overlong (U+20AC)",
        ),
        (
            "utf-8",
            "utf-16le",
            b"\xED\xA1\x8C\xED\xBE\xB4",
            b"",
            "malformed input for utf-8: offset 0, length 3, surrogate (U+D84C)",
        ),
        (
            "windows-1252",
            "utf-8",
            b"a\x81",
            b"a",
            "malformed input for windows-1252: offset 1, length 1, unassigned",
        ),
        (
            "utf-8",
            "iso-8859-1",
            "\u{E9}\u{20AC}".as_bytes(),
            b"\xE9",
            "unmappable input for iso-8859-1: offset 2, length 3, unmappable (U+20AC)",
        ),
        (
            "fss-utf",
            "utf-8",
            b"\xFD\xBF\xBF\xBF\xBF\xBF",
            b"",
            "unmappable input for utf-8: offset 0, length 6, unmappable (U+7FFFFFFF)",
        ),
        (
            "utf-16le",
            "utf-8",
            b"a\0b",
            b"a",
            "malformed input for utf-16le: offset 2, length 1, truncated",
        ),
    ];
    for &(from, to, input, output, error) in rows {
        let left = convert(&["--from", from, "--to", to], input);
        assert_eq!(left.output, output, "{from} to {to}");
        assert_eq!(left.code, Some(1), "{from} to {to}");
        let instead = if to == "iso-8859-1" { "?" } else { "U+FFFD" };
        let wanted = format!("error: {error}\nhint: --lossy replace writes {instead} instead\n");
        assert_eq!(left.said, wanted, "{from} to {to}");
    }
}

#[test]
fn offsets_count_through_the_whole_stream() {
    let mut input = "\u{E9}x".repeat(100_000).into_bytes();
    input.push(0xFF);
    input.extend("more".repeat(100_000).bytes());
    let left = convert(&["--from", "utf-8", "--to", "iso-8859-1"], &input);
    assert_eq!(left.output, b"\xE9x".repeat(100_000));
    assert!(
        left.said.contains("offset 300000, length 1, invalid-byte"),
        "{}",
        left.said
    );
    assert_eq!(left.code, Some(1));
}

#[test]
fn each_repair_is_told_of_and_ends_well() {
    let rows: &[(&str, &str, &[u8], &str)] = &[
        ("replace", "utf-8", b"caf\xE9", "caf\u{FFFD}"),
        ("latin1", "utf-8", b"caf\xE9", "caf\u{E9}"),
        ("cp1252", "utf-8", b"\x80uro", "\u{20AC}uro"),
        ("utf-8b", "utf-8b", b"ok", "ok"),
    ];
    for &(repair, to, input, output) in rows {
        let left = convert(&["--from", "utf-8", "--to", to, "--lossy", repair], input);
        assert_eq!(left.output, output.as_bytes(), "{repair}");
        assert_eq!(left.code, Some(0), "{repair}");
        let is_told = left
            .said
            .starts_with("utf8fs: repaired 1 sequence, the first at offset ");
        assert_eq!(is_told, repair != "utf-8b", "{repair}: {}", left.said);
    }
    let left = convert(
        &["--from", "utf-8", "--to", "utf-8", "--lossy", "utf-8b"],
        b"a\xE9",
    );
    assert_eq!(
        (left.code, left.output.as_slice()),
        (Some(1), b"a".as_slice())
    );
    assert!(
        left.said.contains(
            "offset 1, length 1, truncated; --lossy utf-8b makes U+DCE9 of it, which utf-8 lacks"
        ),
        "{}",
        left.said
    );
    let left = convert(
        &["--from", "utf-8", "--to", "wtf-8", "--lossy", "utf-8b"],
        b"a\xE9",
    );
    assert_eq!(
        (left.code, left.output.as_slice()),
        (Some(0), b"a\xED\xB3\xA9".as_slice())
    );
}

#[test]
fn wrong_labels_and_combinations_are_refused_before_anything_is_read() {
    let rows: &[(&[&str], &str, &str)] = &[
        (
            &["--from", "utf-16", "--to", "utf-8"],
            "unknown charset \"utf-16\"; did you mean utf-16be or utf-16le?",
            "--help",
        ),
        (
            &["--from", "utf-7", "--to", "utf-8"],
            "'utf8fs convert --list' lists what it takes",
            "--help",
        ),
        (
            &["--from", "utf-8", "--to", "nonsense"],
            "unknown charset \"nonsense\"",
            "--help",
        ),
        (
            &["--from", "ucs-2le", "--to", "utf-8", "--lossy", "cp1252"],
            "--lossy cp1252 is about single bytes, and ucs-2le has none",
            "--lossy replace",
        ),
        (&["--from", "utf-8"], "required arguments", "--to <LABEL>"),
        (&["--list", "--to", "utf-8"], "--list", "--help"),
    ];
    for &(options, error, hint) in rows {
        let left = convert(options, b"text");
        assert_eq!(
            (left.code, left.output.as_slice()),
            (Some(2), b"".as_slice()),
            "{options:?}"
        );
        let (first, rest) = left.said.split_once('\n').unwrap();
        assert!(first.contains(error), "{options:?}: {}", left.said);
        assert!(rest.contains(hint), "{options:?}: {}", left.said);
    }
}

#[test]
fn the_list_names_every_label_and_each_of_them_is_taken() {
    let left = convert(&["--list"], b"");
    assert_eq!((left.code, left.said.as_str()), (Some(0), ""));
    let list = String::from_utf8(left.output).unwrap();
    let labels: Vec<&str> = list
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(labels.len(), 16 + 52);
    for label in labels {
        let left = convert(&["--from", label, "--to", label], b"");
        assert_eq!((left.code, left.said.as_str()), (Some(0), ""), "{label}");
    }
}

#[test]
fn a_reader_who_leaves_ends_it_quietly() {
    let script =
        "yes | \"$0\" convert --from utf-8 --to utf-16le | head -c 4; exit \"${PIPESTATUS[1]}\"";
    let mut command = Command::new("bash");
    let left = finish(
        command.args(["-c", script, env!("CARGO_BIN_EXE_utf8fs")]),
        b"",
    );
    assert_eq!(left.output, b"y\0\n\0");
    assert_eq!((left.code, left.said.as_str()), (Some(0), ""));
}
