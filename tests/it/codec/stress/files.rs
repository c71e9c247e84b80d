//! The files themselves, line by line, in the folder that `UTF8FS_STRESS_DATA` names: `scripts/long stress-data` runs this.

use super::mended;
use std::path::PathBuf;
use utf8fs::codec::Encoding;

/// The last line of Kuhn's text before those that are all of one length.
const PROSE: usize = 60;
/// The first line of its section 5.
const SECTION_5: usize = 238;

fn file(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("UTF8FS_STRESS_DATA").expect("UTF8FS_STRESS_DATA names a folder");
    std::fs::read(PathBuf::from(folder).join("utf8").join(name)).expect("the file is there")
}

/// "All lines in this file are exactly 79 characters long", when each malformed sequence is one.
#[test]
#[ignore = "needs the text: scripts/long stress-data runs it"]
fn every_line_of_kuhns_text_has_79_characters() {
    let text = file("kuhn-UTF-8-test.txt");
    let lines: Vec<&[u8]> = text
        .strip_suffix(b"\n")
        .unwrap()
        .split(|&byte| byte == b'\n')
        .collect();
    for (index, line) in lines.iter().enumerate().skip(PROSE) {
        let number = index + 1;
        let encoding = match number {
            SECTION_5.. => Encoding::Utf8,
            _ => Encoding::Utf8Rfc2279,
        };
        let pieces: Vec<_> = encoding.pieces(line).collect();
        assert_eq!(pieces.len(), 79, "line {number}");
        let is_control = line.contains(&0) || line.contains(&0x7F);
        let last = if is_control { b' ' } else { b'|' };
        assert_eq!(pieces[78].spells, Ok(u32::from(last)), "line {number}");
        // Sections 3 to 5 have ill-formed sequences in quotation marks and nowhere else; the others have none.
        let has_faults = pieces.iter().any(|piece| piece.spells.is_err());
        assert!(!has_faults || number > 96, "line {number}");
    }
    assert!(lines.last().unwrap().starts_with(b"THE END"));
    println!(
        "kuhn-UTF-8-test.txt: {} lines, each of 79 characters",
        lines.len() - PROSE
    );
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let octet = |pair: &[u32]| u8::try_from(pair[0] << 4 | pair[1]).unwrap();
    digits.chunks(2).map(octet).collect()
}

#[test]
#[ignore = "needs the file: scripts/long stress-data runs it"]
fn every_sequence_of_utf8tests_is_left_skipped_or_replaced_as_it_says() {
    let text = String::from_utf8(file("utf8tests.txt")).unwrap();
    let mut count = 0;
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let fields: Vec<&str> = line.splitn(3, ':').collect();
        let number = fields[0];
        let (bytes, skipped, replaced) = match fields[1].trim() {
            "valid" => {
                let bytes = fields[2].as_bytes().to_vec();
                (bytes.clone(), bytes.clone(), bytes)
            }
            "valid hex" => (hex(fields[2]), hex(fields[2]), hex(fields[2])),
            "invalid hex" => {
                let wanted: Vec<&str> = fields[2].split(':').collect();
                let skipped = wanted[1].replace("nothing", "");
                (hex(wanted[0]), hex(&skipped), hex(wanted[2]))
            }
            other => panic!("{number}: {other}"),
        };
        let is_valid = fields[1].trim().starts_with("valid");
        assert_eq!(
            Encoding::Utf8.validate(&bytes).is_ok(),
            is_valid,
            "{number}"
        );
        assert_eq!(mended(&bytes, b""), skipped, "{number}");
        assert_eq!(mended(&bytes, "\u{FFFD}".as_bytes()), replaced, "{number}");
        count += 1;
    }
    assert_eq!(count, 222, "lines with a sequence");
    println!("utf8tests.txt: {count} sequences");
}
