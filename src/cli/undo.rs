//! `utf8fs undo`: a migration taken back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use parking_lot::Mutex;
use serde_json::json;

use super::args::UndoArgs;
use super::error::journal_fault;
use super::output::{Output, counted, left_as_is, print_note, print_warning, warn_of_lost_time};
use super::progress::{steps, with_progress};
use super::stop::Stop;
use super::{CommandError, ExitCode, cannot_be};
use crate::backing::Dir;
use crate::names::{BackingName, Quoted, ShellWord};
use crate::records::{Name, Outcome, json_line};
use crate::tree::apply::{Movement, Observer};
use crate::tree::change::{TreePath, join_path};
use crate::tree::rollback::{preview, undo};
use crate::tree::tree_lock::TreeLock;
use crate::tree::undo_journal::{Journal, Skipped, Status};

/// Takes a migration back, or says what that would do.
///
/// # Errors
/// The journal cannot be read or is broken, the tree is another one or in use, `--only` leads nowhere.
pub(super) fn run(args: &UndoArgs) -> Result<ExitCode, CommandError> {
    let wrong = |error| journal_fault(&args.journal, &error);
    let mut journal = if args.apply {
        Journal::open(&args.journal).map_err(wrong)?
    } else {
        Journal::view(&args.journal, &mut |_| ()).map_err(wrong)?
    };
    let path = journal.header.root.clone();
    let path = args.root.as_deref().unwrap_or(path.as_path());
    let only = args.only.as_deref().map(|only| names(only, path));
    let only = only.transpose()?;
    let root = Dir::open_root(path).map_err(|error| {
        CommandError::usage(cannot_be("opened", Quoted::of(path), &error))
            .hint("give the place of the tree with --root")
    })?;
    let root = root.into_fd();
    if let Some(later) = journal.later() {
        let (shown, word) = (Quoted::of(&later), ShellWord::of(&later));
        let message = format!("a later migration was not undone, by the journal {shown}");
        let hint = format!("undo that first: utf8fs undo --apply {word}");
        return Err(CommandError::failure(message).hint(hint));
    }
    let printer = Printer {
        args,
        stop: Stop::watch()?,
        out: Output::stdout(),
        progress: Mutex::default(),
    };
    let all = journal.jobs.steps;
    let line = |elapsed| {
        let (done, directory) = &*printer.progress.lock();
        steps(*done, all, elapsed, directory)
    };
    // What would be done is printed meanwhile, which tells enough.
    let outcome = with_progress(args.progress, !args.apply, line, || {
        if args.apply {
            let _lock = TreeLock::take(&root)?;
            undo(&root, &mut journal, only.as_deref(), &printer)
        } else {
            preview(&root, &journal, only.as_deref(), &printer)
        }
    });
    let outcome = outcome.map_err(wrong)?;
    let (done, left) = (outcome.done, outcome.left);
    if args.json {
        let fields = json!({"event": "total", "applied": args.apply, "undone": done, "left": left, "stopped": outcome.is_stopped});
        printer.out.line(&json_line(&fields));
    }
    printer.out.finish()?;
    let would = if args.apply { "" } else { "would be " };
    let (steps, stays) = (counted(done, "step"), counted(left, "entry"));
    let as_is = left_as_is(left);
    print_note(&format!("{steps} {would}undone, {stays} {as_is}"));
    if let Some(signal) = printer.stop.signal()
        && outcome.is_stopped
    {
        print_note("stopped; go on with the same command");
        return Ok(ExitCode::Stopped(signal));
    }
    if let Some(only) = &args.only
        && done + outcome.before + left == 0
    {
        let only = Quoted::of(only);
        let message = format!("the journal has no entry at or below {only}");
        return Err(CommandError::failure(message));
    }
    if !args.apply && done > 0 {
        print_note("nothing was done; do it with --apply");
    }
    if journal.state().status == Status::Undone && !args.apply {
        print_note("it has been undone already");
    }
    Ok(match left {
        0 => ExitCode::Ok,
        _ => ExitCode::Failure,
    })
}

/// The names of a path within the tree, which may be given from the root of the tree or of the filesystem.
fn names(only: &OsStr, root: &Path) -> Result<TreePath, CommandError> {
    let path = Path::new(only);
    let path = path.strip_prefix(root).unwrap_or(path).as_os_str();
    let names = path.as_bytes().split(|&octet| octet == b'/');
    let names = names.filter(|name| !name.is_empty());
    let names: Result<TreePath, _> = names.map(BackingName::parse).collect();
    names.ok().filter(|names| !names.is_empty()).ok_or_else(|| {
        CommandError::usage(format!("{} is not a path within the tree", Quoted::of(only)))
            .hint("give it from the root of the tree on, without '.' and '..'; without --only all is undone")
    })
}

/// Prints what would be done to standard output, and what is left to standard error; hears signals.
struct Printer<'a> {
    args: &'a UndoArgs,
    stop: Stop,
    out: Output,
    /// Steps that are done, and the directory that was worked on last.
    progress: Mutex<(u64, Vec<u8>)>,
}

impl Observer for Printer<'_> {
    fn progress(&self, outcome: Outcome, directory: &TreePath) {
        let steps = outcome.done + outcome.before + outcome.left;
        *self.progress.lock() = (steps, join_path(&**directory));
    }

    fn step(&self, directory: &TreePath, name: &BackingName, movement: Movement<'_>) {
        if self.args.apply {
            return;
        }
        let path = |name: &BackingName| Name::from(join_path(directory.iter().chain([name])));
        let old = path(name);
        let (action, new) = match movement {
            Movement::To(new) => ("rename", Some(Name::from(new.as_bytes()))),
            Movement::Back(new) => ("restore", Some(Name::from(new.as_bytes()))),
            Movement::Aside => ("set-aside", None),
            Movement::Target(new) => ("retarget", Some(Name::from(new))),
        };
        let line = match (movement, &new) {
            _ if self.args.json => {
                json_line(&json!({"event": "step", "path": old, "action": action, "new": new}))
            }
            (Movement::Back(new), _) => format!("{} comes back", path(new)),
            (Movement::Target(_), Some(new)) => format!("{old}: target -> {new}"),
            (_, Some(new)) => format!("{old} -> {new}"),
            (_, None) => format!("{old} is put aside"),
        };
        self.out.line(&line);
        self.out.flush();
    }

    fn skipped(&self, skipped: &Skipped) {
        let path = skipped.path();
        print_warning(&format!("{} was left: {}", Quoted(&path), skipped.reason));
    }

    fn time_lost(&self, directory: &TreePath, errno: i32) {
        warn_of_lost_time(directory, errno);
    }

    fn is_over(&self) -> bool {
        self.stop.signal().is_some()
    }
}
