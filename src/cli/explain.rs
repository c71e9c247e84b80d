//! `utf8fs explain`: what a name is made of, whether it conforms, what would become of it, and what it may be in.

mod sequences;

use std::io::{self, BufRead};
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::args::{ExplainArgs, PolicyArgs};
use super::output::Output;
use super::text_table::columns;
use super::{CommandError, Doing, ExitCode, config, guess_report};
use crate::codec::guess::Guesser;
use crate::codec::{Charset, Encoding};
use crate::daemon::mount_policy::name_map;
use crate::names::{BackingName, NameMap, OnViolation, Quoted, VisibleName};
use crate::policy::{NAME_MAX, Offence, Rule, errno};
use crate::records::{Name, PolicyFile, add_fields, json_line};
use sequences::{hex, notation, rows};

/// An explanation of one name.
#[derive(Debug)]
struct Explanation<'a> {
    /// The settings by which it is judged.
    map: &'a NameMap,
    /// The name, which may be no component of a path at all.
    name: &'a [u8],
    /// Why it does not conform; `None` if it does.
    offence: Option<Offence>,
    /// The visible name of the name on disk, without siblings; `None` if it is hidden or cannot lie there.
    visible: Option<Name>,
    /// The conforming name that it stands for, where there is one.
    normalized: Option<Name>,
    /// The text that it spells, if all of it is characters.
    text: Option<String>,
    /// Can a mount be by this definition of UTF-8?
    is_mountable: bool,
}

impl<'a> Explanation<'a> {
    fn new(map: &'a NameMap, name: &'a [u8]) -> Self {
        let encoding = map.policy.encoding;
        let is_mountable = Encoding::MOUNTABLE.contains(&encoding);
        let name_of = |visible: VisibleName| Name::from(visible.as_bytes());
        let on_disk = BackingName::parse(name).ok().filter(|_| is_mountable);
        let visible = on_disk.and_then(|name| map.visible_alone(&name));
        let normalized = map.normalized(name).ok().filter(|_| is_mountable);
        let pieces = encoding.pieces(name);
        let characters = pieces.map(|piece| char::from_u32(piece.spells.ok()?));
        Self {
            map,
            name,
            offence: map.policy.check(name).err().or_else(|| {
                let visible = VisibleName::parse(name).ok()?;
                map.stored(&visible).err()
            }),
            visible: visible.map(name_of),
            normalized: normalized.map(name_of),
            text: characters.collect(),
            is_mountable,
        }
    }

    /// Returns one JSON object on one line. The keys are part of the interface (law L4). They are `name`, `verdict`,
    /// `visible`, `normalized` and `encoding`. Where that is not `utf-8` there is also `text`. A refused name has
    /// `rule`, `kind`, `offset`, `length`, `code_point` and `errno` too.
    fn to_json(&self) -> String {
        let encoding = self.map.policy.encoding;
        let mut object = json!({
            "name": Name::from(self.name),
            "encoding": encoding,
            "visible": self.visible,
            "normalized": self.normalized,
            "verdict": self.offence.map_or("conforming", |_| "refused"),
        });
        if encoding != Encoding::Utf8 {
            add_fields(&mut object, json!({"text": self.text}));
        }
        if let Some(offence) = self.offence {
            let refusal = json!({
                "rule": offence.rule.label(),
                "kind": offence.rule.kind(),
                "offset": offence.offset,
                "length": offence.length,
                "code_point": offence.code_point.map(notation),
                "errno": self.is_mountable.then(|| self.errno(offence)),
            });
            add_fields(&mut object, refusal);
        }
        json_line(&object)
    }

    /// Lines for people.
    fn to_lines(&self) -> Vec<String> {
        let mut facts = Vec::new();
        let encoding = self.map.policy.encoding;
        if encoding != Encoding::Utf8 {
            let none = || "none: not all of it is characters".to_owned();
            let text = self.text.as_ref();
            let text = text.map_or_else(none, |text| Quoted::of(text).to_string());
            facts.push(("encoding", encoding.to_string()));
            facts.push(("text", text));
        }
        facts.push(("verdict", self.verdict()));
        if let Some(offence) = self.offence {
            facts.push(("rule", offence.rule.to_string()));
            facts.push(("where", self.place(offence)));
        }
        if let Some(offence) = self.offence.filter(|_| self.is_mountable) {
            let or_why = |name: &Option<Name>, why| {
                let nothing = || format!("nothing: {why}");
                name.as_ref().map_or_else(nothing, Name::to_string)
            };
            let why_hidden = if offence.rule == Rule::NotAComponent {
                "no entry of a directory can have this name"
            } else {
                "--legacy hide"
            };
            let why_none = self.why_not_normalized(offence);
            facts.push(("visible", or_why(&self.visible, why_hidden)));
            facts.push(("normalized", or_why(&self.normalized, why_none)));
        }
        let sequences = columns(&rows(self.name, &self.map.policy), &[0]).into_iter();
        let facts = facts.into_iter();
        std::iter::once(Quoted(self.name).to_string())
            .chain(sequences.map(|row| format!("  {row}")))
            .chain(facts.map(|(fact, value)| format!("  {fact:10}  {value}")))
            .collect()
    }

    fn errno(&self, offence: Offence) -> &'static str {
        errno::symbol(self.map.errno.errno(offence.rule))
    }

    fn verdict(&self) -> String {
        let offence = match (self.offence, self.is_mountable) {
            (None, true) => return "conforming, visible as it is".to_owned(),
            (None, false) => return "conforming".to_owned(),
            (Some(_), false) => return "does not conform".to_owned(),
            (Some(offence), true) => offence,
        };
        let is_storable = offence.rule != Rule::NotAComponent && self.name.len() <= NAME_MAX;
        match (self.map.on_violation, &self.normalized) {
            (OnViolation::Normalize, Some(name)) => {
                format!("refused; by --on-violation normalize {name} is made instead")
            }
            (OnViolation::Report, _) if is_storable => {
                "refused; by --on-violation report it is made all the same, and logged".to_owned()
            }
            (OnViolation::Reject | OnViolation::Normalize | OnViolation::Report, _) => {
                format!("refused with {}", self.errno(offence))
            }
        }
    }

    fn place(&self, offence: Offence) -> String {
        const SHOWN: usize = 16;
        let Offence { offset, length, .. } = offence;
        let mut place = format!("offset {offset}, length {length}");
        let octets = self.name.get(offset..).unwrap_or_default();
        let octets = octets.get(..length.min(SHOWN)).unwrap_or(octets);
        if !octets.is_empty() {
            place.push_str(&format!(": {}", hex(octets)));
        }
        if length > SHOWN {
            place.push_str(" ...");
        }
        if let Some(code_point) = offence.code_point {
            place.push_str(&format!(", {}", notation(code_point)));
        }
        place
    }

    fn why_not_normalized(&self, offence: Offence) -> &'static str {
        let from = &self.map.from;
        let takes = |charset: &Charset| charset.decode_reversibly(self.name).is_some();
        match offence.rule {
            Rule::NotAComponent => "it is not one component of a path",
            Rule::IllFormed(..) if from.is_empty() => "no charset is given with --from",
            Rule::IllFormed(..) if !from.iter().any(takes) => "no charset of --from takes it",
            Rule::IllFormed(..) => "what it decodes to does not conform either",
            Rule::Unmappable(_) => "the charset of --store-as lacks it",
            Rule::Forbidden(_)
            | Rule::TooLong { .. }
            | Rule::NotNormalized(_)
            | Rule::NotUnique(_) => "what could be made of it does not conform either",
        }
    }
}

/// Explains every name that was given, or guesses what all of them are in: the arguments, those in hex, those on
/// standard input.
///
/// # Errors
/// Wrong arguments, or standard input or output fail.
pub(super) fn run(args: &ExplainArgs) -> Result<ExitCode, CommandError> {
    if args.guess && args.policy != PolicyArgs::default() {
        return Err(CommandError::usage(
            "--guess contradicts the options of --from to --max-chars",
        )
        .hint("a guess looks at the names alone; leave the others out"));
    }
    let map = name_map(&PolicyFile {
        encoding: args.encoding,
        ..config::policy_keys(&args.policy)
    })?;
    if args.names.is_empty() && args.hex.is_empty() && !args.null {
        return Err(CommandError::usage("no name is given")
            .hint("give names, or --hex BYTES, or -0 for names on standard input"));
    }
    let out = Output::stdout();
    let (mut exit, mut guesser) = (ExitCode::Ok, Guesser::default());
    let typed = args.names.iter().chain(&args.hex);
    let typed = typed.map(|name| name.as_bytes().to_vec());
    let read = args.null.then(|| io::stdin().lock().split(0));
    for name in typed.map(Ok).chain(read.into_iter().flatten()) {
        let name = name.doing("read standard input")?;
        if args.guess {
            guesser.add(&name);
            continue;
        }
        let explanation = Explanation::new(&map, &name);
        if explanation.offence.is_some() {
            exit = ExitCode::NotConforming;
        }
        out.lines(match args.json {
            true => vec![explanation.to_json()],
            false => explanation.to_lines(),
        });
        if out.is_over() {
            break;
        }
    }
    if args.guess {
        guess_report::print(&guesser, args.json, &out);
    }
    out.finish()?;
    Ok(exit)
}
