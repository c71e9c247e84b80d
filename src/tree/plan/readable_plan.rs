//! The reader of the readable form of a plan: a line for each change, with quoted names (docs/migrating.md).
//!
//! ```text
//! plan 1 of "/srv/old" by "--from koi8-r"
//!
//! in "/letters" 4711
//! "\xF0.txt" -> "П.txt"  file 4712  # koi8-r 98 %
//!
//! end of plan 1
//! ```

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::names::Quoted;
use crate::names::quoted::unquote;
use crate::records::{Name, PlanEnd, PlanHeader, PlanLine, PlanRecord};

const SHAPE: &str = r#"not a line of a plan: "OLD" -> "NEW" KIND INODE"#;

/// A part of a line.
#[derive(Debug, PartialEq)]
enum Token<'l> {
    Word(&'l str),
    Name(Vec<u8>),
}
use Token::{Name as Quote, Word};

/// A reader of readable plans, line by line.
#[derive(Debug, Default)]
pub(super) struct ReadablePlan {
    /// The directory of the lines that follow, and its inode number.
    directory: Option<(Name, u64)>,
}

impl ReadablePlan {
    /// Reads a line. Returns `None` for a comment and for the start of a directory.
    ///
    /// # Errors
    /// The fault of a line that is not one of a plan.
    pub(super) fn parse(&mut self, line: &str) -> Result<Option<PlanRecord>, String> {
        let number = |word: &str| {
            let number = word.parse::<u64>();
            number.map_err(|_error| format!("{} is not a number", Quoted(word.as_bytes())))
        };
        let record = match tokens(line)?.as_slice() {
            [] => return Ok(None),
            [
                Word("plan"),
                Word(version),
                Word("of"),
                Quote(root),
                Word("by"),
                Quote(options),
            ] => {
                self.directory = None;
                PlanRecord::Header(PlanHeader {
                    version: number(version)?,
                    root: root.clone().into(),
                    options: String::from_utf8(options.clone()).unwrap_or_default(),
                })
            }
            [Word("end"), Word("of"), Word("plan"), Word(version)] => PlanRecord::End(PlanEnd {
                version: number(version)?,
            }),
            [Word("in"), Quote(path), Word(inode)] => {
                let path = path.strip_prefix(b"/");
                let path = path.ok_or("the path of a directory has to start with /")?;
                self.directory = Some((path.to_vec().into(), number(inode)?));
                return Ok(None);
            }
            [Quote(old), changes @ .., Word(kind), Word(inode)] => {
                let directory = self.directory.as_ref();
                let (path, directory_inode) = directory
                    .ok_or(r#"it belongs to no directory: the line in "/PATH" INODE is missing"#)?;
                let mut fields = Map::new();
                let mut add = |key: &str, value: Value| fields.insert(key.to_owned(), value);
                add("directory", json!(path));
                add("directory_inode", json!(directory_inode));
                add("old", json!(Name::from(old.as_slice())));
                add("new", Value::Null);
                add("kind", json!(kind));
                add("inode", json!(number(inode)?));
                for (key, name) in changes_of(changes)? {
                    add(key, json!(Name::from(name.as_slice())));
                }
                let line = PlanLine::deserialize(Value::Object(fields));
                PlanRecord::Line(Box::new(line.map_err(|error| error.to_string())?))
            }
            [Word("in"), ..] => return Err(r#"not a line of a plan: in "/PATH" INODE"#.to_owned()),
            _ => return Err(SHAPE.to_owned()),
        };
        Ok(Some(record))
    }
}

/// Returns the fields that stand between the old name and the kind of an entry: words, and a name behind them, of each.
fn changes_of<'t>(tokens: &'t [Token<'_>]) -> Result<Vec<(&'static str, &'t Vec<u8>)>, String> {
    let (mut fields, mut words) = (Vec::new(), Vec::new());
    for token in tokens {
        let name = match token {
            Word(word) => {
                words.push(*word);
                continue;
            }
            Quote(name) => name,
        };
        let before = fields.last().map(|(field, _)| *field);
        let field = match (before, words.join(" ").as_str()) {
            (None, "->") => "new",
            (None | Some("new"), "is set aside for") => "same_as",
            (None | Some("new"), "leads to") => "target",
            (Some("target"), "->") => "new_target",
            _ => return Err(SHAPE.to_owned()),
        };
        fields.push((field, name));
        words.clear();
    }
    match (fields.last(), words.is_empty()) {
        (Some(("target", _)), _) | (_, false) => Err(SHAPE.to_owned()),
        _ => Ok(fields),
    }
}

/// Cuts a line into words and quoted names, without the comment.
fn tokens(line: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let after = if rest.starts_with('"') {
            let (name, after) = unquote(rest).ok_or(
                "the quotes around a name are not closed, or an escape in them is unknown",
            )?;
            tokens.push(Quote(name));
            after
        } else {
            let end = rest.find([' ', '\t', '"', '#']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            tokens.push(Word(word));
            after
        };
        rest = after.trim_start();
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::plan::{DirectoryPlan, PlanFormat};

    fn read(text: &str) -> Vec<Result<PlanRecord, String>> {
        let mut plan = ReadablePlan::default();
        let lines = text.lines().map(|line| plan.parse(line));
        lines.filter_map(Result::transpose).collect()
    }

    /// Returns the lines of a directory with one entry.
    fn directory(line: &PlanLine) -> String {
        PlanFormat::Readable.directory(&DirectoryPlan {
            entries: 1,
            lines: vec![line.clone()],
        })
    }

    fn line(json: &str) -> Box<PlanLine> {
        match PlanRecord::parse(json.as_bytes()) {
            Ok(PlanRecord::Line(line)) => line,
            other => panic!("{other:?} from {json}"),
        }
    }

    /// Law L4: what is written is read back.
    #[test]
    fn l4_what_decides_is_read_back_as_it_was_written() {
        let rows = [
            r#"{"directory":{"text":"a/b"},"directory_inode":1,"old":{"bytes":"6Q=="},"new":{"text":"é#\"\\\u202e"},"kind":"file","inode":2}"#,
            r#"{"directory":{"text":""},"directory_inode":1,"old":{"text":"l"},"new":{"text":"m"},"kind":"symlink","inode":2,"target":{"bytes":"6Q=="},"new_target":{"text":"é"}}"#,
            r#"{"directory":{"bytes":"6Q=="},"directory_inode":1,"old":{"text":"a\nb"},"new":null,"kind":"file","inode":2,"same_as":{"text":"d"}}"#,
        ];
        for row in rows {
            let line = line(row);
            let text = directory(&line);
            assert_eq!(read(&text), [Ok(PlanRecord::Line(line))], "{text}");
        }
        let header = PlanHeader {
            version: 1,
            root: b"/a\xE9\"".to_vec().into(),
            options: "--only \"x\"".to_owned(),
        };
        let end = PlanEnd { version: 1 };
        let readable = PlanFormat::Readable;
        let text = readable.header(header.root.as_bytes(), &header.options) + &readable.end();
        let records = [Ok(PlanRecord::Header(header)), Ok(PlanRecord::End(end))];
        assert_eq!(read(&text), records);
    }

    #[test]
    fn candidates_are_comments_to_uncomment() {
        let left = line(
            r#"{"directory":{"text":""},"directory_inode":1,"old":{"bytes":"6Q=="},"new":null,"kind":"file","inode":2,"reason":"unsure","candidates":[{"name":{"text":"é"},"charset":"iso-8859-1","confidence":0.561}]}"#,
        );
        let text = left.readable();
        assert_eq!(
            text,
            "# \"\\xE9\" stays: its charset is uncertain\n#\"\\xE9\" -> \"é\"  file 2  # iso-8859-1 56 %\n"
        );
        assert!(read(&text).is_empty());
        let uncommented = directory(&left).replace("\n#\"", "\n\"");
        let wanted = r#"{"directory":{"text":""},"directory_inode":1,"old":{"bytes":"6Q=="},"new":{"text":"é"},"kind":"file","inode":2}"#;
        assert_eq!(read(&uncommented), [Ok(PlanRecord::Line(line(wanted)))]);
    }

    #[test]
    fn a_faulty_line_is_refused() {
        let rows = [
            (r#""a" -> "b" file 1"#, "it belongs to no directory"),
            ("in \"/\"\n", "not a line of a plan: in \"/PATH\" INODE"),
            ("in \"/\" 1\n\"a\" -> b file 1", "not a line of a plan"),
            ("in \"/\" 1\n\"a\" -> \"b\"", "not a line of a plan"),
            ("in \"/\" 1\n\"a\" -> \"b\" file x", "\"x\" is not a number"),
            ("in \"/\" 1\n\"a\" -> \"b file 1", "not closed"),
            (
                "in \"/\" 1\n\"a\" -> \"\\q\" file 1",
                "an escape in them is unknown",
            ),
            ("in \"/\" 1\n\"a\" -> \"..\" file 1", "is no name"),
            ("in \"/\" 1\n\"a\" -> \"b\" folder 1", "unknown variant"),
            ("in \"/..\" 1\n\"a\" -> \"b\" file 1", "is no path"),
            ("in \"a\" 1", "start with /"),
            ("rename a b", "not a line of a plan"),
        ];
        for (text, message) in rows {
            let Some(Err(fault)) = read(text).pop() else {
                panic!("{text}");
            };
            assert!(fault.contains(message), "{text}: {fault}");
        }
    }
}
