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

use std::str::FromStr;

use crate::codec::Charset;
use crate::names::quoted::unquote;
use crate::names::{BackingName, Quoted};
use crate::records::{
    Kind, Name, PlanEnd, PlanHeader, PlanLine, PlanRecord, Reason, TreePath, parse_backing_name,
    parse_tree_path,
};

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
    directory: Option<(TreePath, u64)>,
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
                target_charset @ ..,
                Word("by"),
                Quote(options),
            ] => {
                self.directory = None;
                PlanRecord::Header(PlanHeader {
                    version: number(version)?,
                    root: root.clone().into(),
                    options: String::from_utf8(options.clone()).unwrap_or_default(),
                    to: charset_of(target_charset)?,
                })
            }
            [Word("end"), Word("of"), Word("plan"), Word(version)] => PlanRecord::End(PlanEnd {
                version: number(version)?,
            }),
            [Word("in"), Quote(path), Word(inode)] => {
                let path = path.strip_prefix(b"/");
                let path = path.ok_or("the path of a directory has to start with /")?;
                self.directory = Some((parse_tree_path(path)?, number(inode)?));
                return Ok(None);
            }
            [Quote(old), changes @ .., Word(kind), Word(inode)] => {
                PlanRecord::Line(Box::new(self.line(old, changes, kind, number(inode)?)?))
            }
            [Word("in"), ..] => return Err(r#"not a line of a plan: in "/PATH" INODE"#.to_owned()),
            _ => return Err(SHAPE.to_owned()),
        };
        Ok(Some(record))
    }

    /// Returns the line of an entry of the directory.
    fn line(
        &self,
        old: &[u8],
        changes: &[Token<'_>],
        kind: &str,
        inode: u64,
    ) -> Result<PlanLine, String> {
        let directory = self.directory.as_ref();
        let (directory, directory_inode) = directory
            .ok_or(r#"it belongs to no directory: the line in "/PATH" INODE is missing"#)?;
        let kind = Kind::from_str(kind)
            .map_err(|_unknown| format!("{} is no kind of file", Quoted(kind.as_bytes())))?;
        let changes = ReadChanges::parse(changes)?;
        let old = parse_backing_name(old)?;
        Ok(PlanLine {
            directory: directory.clone(),
            directory_inode: *directory_inode,
            new: changes.new,
            same_as: changes.same_as,
            target: changes.target,
            new_target: changes.new_target,
            ..PlanLine::new(old, kind, inode, Reason::default())
        })
    }
}

/// Returns the charset of the words `to CHARSET`, which may be missing.
fn charset_of(words: &[Token<'_>]) -> Result<Option<Charset>, String> {
    match words {
        [] => Ok(None),
        [Word("to"), Word(label)] => Charset::from_label(label)
            .map(Some)
            .map_err(|_unknown| format!("{} is no charset on offer", Quoted(label.as_bytes()))),
        _ => Err(SHAPE.to_owned()),
    }
}

/// The changes between the old name and the kind of an entry.
#[derive(Debug, Default)]
struct ReadChanges {
    new: Option<BackingName>,
    same_as: Option<BackingName>,
    target: Option<Name>,
    new_target: Option<Name>,
}

impl ReadChanges {
    /// Reads the changes: words, and a name behind them, of each.
    fn parse(tokens: &[Token<'_>]) -> Result<Self, String> {
        let (mut changes, mut words) = (Self::default(), Vec::new());
        for token in tokens {
            match token {
                Word(word) => words.push(*word),
                Quote(name) => {
                    changes.add(&words.join(" "), name)?;
                    words.clear();
                }
            }
        }
        let has_target_alone = changes.target.is_some() && changes.new_target.is_none();
        match words.is_empty() && !has_target_alone {
            true => Ok(changes),
            false => Err(SHAPE.to_owned()),
        }
    }

    /// Adds the change that these words and the name behind them say.
    fn add(&mut self, words: &str, name: &[u8]) -> Result<(), String> {
        let is_first = self.new.is_none() && self.is_before_target();
        match words {
            "->" if is_first => self.new = Some(parse_backing_name(name)?),
            "is set aside for" if self.is_before_target() => {
                self.same_as = Some(parse_backing_name(name)?);
            }
            "leads to" if self.is_before_target() => self.target = Some(name.into()),
            "->" if self.target.is_some() && self.new_target.is_none() => {
                self.new_target = Some(name.into());
            }
            _ => return Err(SHAPE.to_owned()),
        }
        Ok(())
    }

    fn is_before_target(&self) -> bool {
        self.same_as.is_none() && self.target.is_none()
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
        for to in [None, Charset::from_label("koi8-r").ok()] {
            let header = PlanHeader {
                version: 1,
                root: b"/a\xE9\"".to_vec().into(),
                options: "--only \"x\"".to_owned(),
                to,
            };
            let end = PlanEnd { version: 1 };
            let readable = PlanFormat::Readable;
            let text = readable.header(&header) + &readable.end();
            let records = [Ok(PlanRecord::Header(header)), Ok(PlanRecord::End(end))];
            assert_eq!(read(&text), records);
        }
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
            ("in \"/\" 1\n\"a\" -> \"b\" folder 1", "is no kind of file"),
            ("in \"/..\" 1", "is no path"),
            ("in \"a\" 1", "start with /"),
            ("rename a b", "not a line of a plan"),
            ("plan 1 of \"/\" to nowhere by \"\"", "no charset on offer"),
            (
                "plan 1 of \"/\" from koi8-r by \"\"",
                "not a line of a plan",
            ),
        ];
        for (text, message) in rows {
            let Some(Err(fault)) = read(text).pop() else {
                panic!("{text}");
            };
            assert!(fault.contains(message), "{text}: {fault}");
        }
    }
}
