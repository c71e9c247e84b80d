//! The program `iconv` of the C library, and what can be learnt from it about a charset in a few runs.
//!
//! With `-c` it leaves out what it cannot convert, so that sequences go through it one after the other with a mark
//! between them, and nothing comes out between two marks for one that is undefined. That alone would not be sound, since
//! what is left out may be more or less than the sequence. So:
//!
//! - As many marks must come out as went in; else the test fails. The mark begins with three newlines that may
//!   be lost: with A2 E8, which is undefined, glibc's UHC leaves out two bytes more.
//! - A sequence that begins with a character is not one itself.
//! - What is left of a sequence of which some bytes were left out is one of its own bytes (ASCII), or what another part
//!   means alone. Then it counts as undefined. (No sequence of several bytes rightly means either.)
//! - All that is then taken as defined goes through again *without* `-c`, where the program stops at the first thing
//!   that it cannot convert: it must succeed and give the same. So whatever is taken as defined is defined.
//! - What is wrongly taken as undefined would be missing from the comparison. All that one side has and the other lacks
//!   is counted there, class by class, and so is found out too.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

/// What each sequence of bytes means, of those that mean a character.
pub(super) type Read = BTreeMap<Vec<u8>, char>;
/// The bytes of each character, of those that have some.
pub(super) type Written = BTreeMap<char, Vec<u8>>;

/// Fails with the reason if `iconv` is not that of glibc or lacks the charset.
pub(super) fn must_have(charset: &str) {
    let version = run(&["--version"], Vec::new());
    let version = String::from_utf8(version.stdout).unwrap();
    let line = version.lines().next().unwrap_or_default();
    assert!(
        line.contains("GLIBC") || line.contains("GNU libc"),
        "these tests compare with the program iconv of glibc (Debian: libc-bin), not with: {line:?}"
    );
    let probe = run(&["-f", charset, "-t", "UTF-8"], b"a".to_vec());
    assert!(
        probe.status.success() && probe.stdout == b"a",
        "iconv does not know {charset}: these tests need all modules in glibc's directory gconv \
         (Debian: libc6; Fedora: glibc-gconv-extra): {}",
        probe.stderr.escape_ascii()
    );
}

/// Adds what the charset makes of these sequences, which are longer than those in `known`.
pub(super) fn read(charset: &str, sequences: &[Vec<u8>], known: &mut Read) {
    let begins_with_character =
        |bytes: &[u8]| (1..bytes.len()).any(|end| known.contains_key(&bytes[..end]));
    let sequences: Vec<_> = sequences
        .iter()
        .filter(|bytes| !begins_with_character(bytes))
        .collect();
    let from = ["-c", "-f", charset, "-t", "UTF-8"];
    let outputs = convert(&from, &sequences);
    let (mut defined, mut texts, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (bytes, output) in sequences.into_iter().zip(outputs) {
        let text = std::str::from_utf8(&output).unwrap();
        let mut chars = text.chars();
        let (Some(c), None) = (chars.next(), chars.next()) else {
            continue;
        };
        let lengths = 1..bytes.len();
        let means_a_part = lengths
            .flat_map(|length| bytes.windows(length))
            .any(|part| known.get(part) == Some(&c));
        let means_its_byte = bytes.len() > 1 && c.is_ascii() && bytes.contains(&output[0]);
        if !means_a_part && !means_its_byte {
            defined.push(bytes);
            texts.push(output);
            found.push((bytes.clone(), c));
        }
    }
    let again = convert(&from[1..], &defined);
    assert!(again == texts, "{charset}: -c makes another text");
    known.extend(found);
}

/// What the charset makes of every code point; only GB18030 may have any beyond U+2FFFF.
pub(super) fn write(charset: &str) -> Written {
    let in_pieces = if charset.eq_ignore_ascii_case("gb18030") {
        '\0'..=char::MAX
    } else {
        let beyond: String = ('\u{30000}'..=char::MAX).collect();
        let output = run(&["-c", "-f", "UTF-8", "-t", charset], beyond.into());
        assert!(output.stdout.is_empty(), "{charset}: beyond U+2FFFF");
        '\0'..='\u{2FFFF}'
    };
    let texts: Vec<Vec<u8>> = in_pieces.map(|c| c.to_string().into()).collect();
    let texts: Vec<_> = texts.iter().collect();
    let to = ["-c", "-f", "UTF-8", "-t", charset];
    let outputs = convert(&to, &texts);
    let (defined, outputs): (Vec<_>, Vec<_>) = texts
        .into_iter()
        .zip(outputs)
        .filter(|(_, output)| !output.is_empty())
        .unzip();
    let again = convert(&to[1..], &defined);
    assert!(again == outputs, "{charset}: -c writes other bytes");
    let chars = defined.into_iter().map(|text| first_char(text));
    chars.zip(outputs).collect()
}

fn first_char(text: &[u8]) -> char {
    std::str::from_utf8(text).unwrap().parse().unwrap()
}

/// Each item converted, through one process. Without `-c` it must succeed.
fn convert(arguments: &[&str], items: &[&Vec<u8>]) -> Vec<Vec<u8>> {
    /// No item has all of it, and no charset has another meaning for these bytes.
    const MARK: &[u8] = b"\n\n\n\x01\x02\x03";
    let mut input = Vec::with_capacity(items.len() * 10);
    for item in items {
        input.extend_from_slice(item);
        input.extend_from_slice(MARK);
    }
    let output = run(arguments, input);
    let message = output.stderr.escape_ascii();
    assert!(
        output.status.success() || arguments[0] == "-c",
        "iconv {arguments:?}: {message}"
    );
    let mut outputs = Vec::with_capacity(items.len());
    let mut start = 0;
    while let Some(length) = output.stdout[start..]
        .windows(3)
        .position(|bytes| bytes == &MARK[3..])
    {
        let item = &output.stdout[start..start + length];
        let newlines = item.iter().rev().take(3).take_while(|b| **b == b'\n');
        outputs.push(item[..item.len() - newlines.count()].to_vec());
        start += length + 3;
    }
    assert_eq!(start, output.stdout.len(), "iconv {arguments:?}");
    assert_eq!(outputs.len(), items.len(), "iconv {arguments:?}: {message}");
    outputs
}

fn run(arguments: &[&str], input: Vec<u8>) -> Output {
    let mut child = Command::new("iconv")
        .args(arguments)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests compare with the program iconv of glibc (Debian: libc-bin)");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    match writer.join().unwrap() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("iconv: {error}"),
        Ok(()) | Err(_) => output,
    }
}
