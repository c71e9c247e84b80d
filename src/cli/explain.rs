//! `utf8fs explain`: what a name is made of, whether it conforms, what would become of it, and what it may be in.

mod diagnosis;
mod render;
mod sequences;

use std::io::{self, BufRead};
use std::os::unix::ffi::OsStrExt;

use super::args::{ExplainArgs, PolicyArgs};
use super::output::Output;
use super::{CommandError, Doing, ExitCode, config, guess_report};
use crate::codec::Encoding;
use crate::codec::guess::Guesser;
use crate::daemon::mount_policy::name_map;
use crate::names::{BackingName, NameMap, VisibleName};
use crate::policy::Offence;
use crate::records::PolicyFile;

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
    visible: Option<VisibleName>,
    /// The conforming name that it stands for, where there is one.
    normalized: Option<VisibleName>,
    /// The text that it spells, if all of it is characters.
    text: Option<String>,
    /// Can a mount be by this definition of UTF-8?
    is_mountable: bool,
}

impl<'a> Explanation<'a> {
    fn new(map: &'a NameMap, name: &'a [u8]) -> Self {
        let encoding = map.policy.encoding;
        let is_mountable = Encoding::MOUNTABLE.contains(&encoding);
        let pieces = encoding.pieces(name);
        let characters = pieces.map(|piece| char::from_u32(piece.spells.ok()?));
        Self {
            map,
            name,
            offence: map.policy.check(name).err().or_else(|| {
                let visible = VisibleName::parse(name).ok()?;
                map.stored(&visible).err()
            }),
            visible: BackingName::parse(name)
                .ok()
                .filter(|_| is_mountable)
                .and_then(|name| map.visible_alone(&name)),
            normalized: map.normalized(name).ok().filter(|_| is_mountable),
            text: characters.collect(),
            is_mountable,
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
    let (mut exit, mut guesser) = (ExitCode::Ok, Guesser::new());
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
