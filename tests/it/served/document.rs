//! docs/serving.md as data. A part of it begins with `<!-- test: NAME -->` and ends with its first table.

use crate::support::page;

/// One part.
pub(super) struct Part {
    /// Options of `utf8fs mount` in its `console` block; none if there is no such block.
    pub(super) options: Vec<&'static str>,
    /// Its `ini` block; empty if there is none.
    pub(super) configuration: String,
    /// The cells of its table, without the head.
    pub(super) rows: Vec<Vec<&'static str>>,
}

/// The part of this name.
pub(super) fn part(name: &str) -> Part {
    let marker = format!("<!-- test: {name} -->");
    let (_, text) = page("docs/serving.md").split_once(&marker).unwrap();
    let (text, _) = text.split_once("<!-- test:").unwrap_or((text, ""));
    let rows: Vec<_> = text
        .lines()
        .skip_while(|line| !line.starts_with("|--"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.strip_prefix('|').unwrap().strip_suffix('|').unwrap();
            cells.split('|').map(str::trim).collect()
        })
        .collect();
    assert!(!rows.is_empty(), "no rows in {name}");
    let command = block(text, "console");
    let options = command
        .strip_prefix("# utf8fs mount --background ")
        .map(|line| line.trim_end().strip_suffix(" /srv/share /mnt/share"))
        .map(|line| line.unwrap().split(' ').collect());
    assert!(options.is_some() || command.is_empty(), "{command}");
    Part {
        options: options.unwrap_or_default(),
        configuration: block(text, "ini").to_owned(),
        rows,
    }
}

fn block(text: &'static str, language: &str) -> &'static str {
    text.split_once(&format!("```{language}\n"))
        .and_then(|(_, text)| text.split_once("```"))
        .map_or("", |(block, _)| block)
}

/// What stands between backticks in a cell, `\xE9` read as an octet and `\u{301}` as a character.
pub(super) fn literals(cell: &str) -> Vec<Vec<u8>> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.map(unescape).collect()
}

/// The first of [`literals`].
pub(super) fn literal(cell: &str) -> Vec<u8> {
    literals(cell).swap_remove(0)
}

fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let rest = if let Some(part) = part.strip_prefix('x') {
            let (digits, rest) = part.split_at(2);
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest
        } else {
            let (digits, rest) = part.strip_prefix("u{").unwrap().split_once('}').unwrap();
            let code_point = u32::from_str_radix(digits, 16).unwrap();
            let character = char::from_u32(code_point).unwrap();
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
            rest
        };
        bytes.extend(rest.as_bytes());
    }
    bytes
}

#[test]
fn escapes_of_the_document_are_octets_and_characters() {
    let names = literals("`caf\\xE9 \\u{301}`, and `plain`");
    assert_eq!(names, [b"caf\xE9 \xCC\x81".as_slice(), b"plain"]);
    assert!(literals("").is_empty());
}
