//! `utf8fs undo`: a migration taken back.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::json;

use super::args::UndoArgs;
use super::error::journal_fault;
use super::journal_list::{last_to_undo, missing, print_journals};
use super::output::{Output, counted, left_as_is, print_note, print_warning, warn_of_lost_time};
use super::progress::{steps, with_progress};
use super::stop::Stop;
use super::tree_location::find_tree;
use super::{CommandError, Doing, ExitCode, cannot_be};
use crate::backing::Dir;
use crate::names::{BackingName, Quoted, ShellWord};
use crate::records::{JournalOrigin, Name, Outcome, json_line};
use crate::tree::apply::{Movement, Observer};
use crate::tree::change::{EntryMatch, TreePath, join_path};
use crate::tree::rollback::{UndoScope, preview, undo};
use crate::tree::tree_identity::identity_of;
use crate::tree::tree_lock::TreeLock;
use crate::tree::undo_journal::{
    Journal, JournalError, JournalFile, JournalPart, JournalRegister, Skipped, Status,
};

/// Takes a migration back, or says what that would do; without a journal, lists all.
///
/// # Errors
/// The journal cannot be read, the tree is another one or in use, `--only` leads nowhere.
pub(super) fn run(args: &UndoArgs) -> Result<ExitCode, CommandError> {
    let Some(target) = find_target(args)? else {
        if args.apply || args.only.is_some() {
            return Err(CommandError::usage("it is not said which migration").hint(
                "give a journal, the directory of a tree, or --last; 'utf8fs undo' lists all",
            ));
        }
        print_journals(args.json)?;
        return Ok(ExitCode::Ok);
    };
    let wrong = |error| journal_fault(&target.journal, &error);
    let part = match args.past_damage {
        true => JournalPart::AllSound,
        false => JournalPart::BeforeDamage,
    };
    let mut journal = if args.apply && !args.by_name {
        Journal::open(&target.journal, part).map_err(wrong)?
    } else {
        Journal::view(&target.journal, part, &mut |_| ()).map_err(wrong)?
    };
    report_damage(&journal, part);
    let path = tree_path(args, &target, &journal);
    let only = args.only.as_deref().map(|only| names(only, &path));
    let only = only.transpose()?;
    let root = Dir::open_root(&path).map_err(|error| {
        CommandError::usage(cannot_be("opened", Quoted::of(&path), &error))
            .hint("give the place of the tree with --root")
    })?;
    let root = root.into_fd();
    refuse_before_later(&journal)?;
    let printer = Printer {
        args,
        stop: Stop::watch()?,
        out: Output::stdout(),
        progress: Mutex::default(),
    };
    let scope = UndoScope {
        only: only.as_deref(),
        matching: match args.by_name {
            true => EntryMatch::Name,
            false => EntryMatch::Inode,
        },
    };
    let outcome = take_back(&root, &mut journal, scope, &printer).map_err(wrong)?;
    finish(&journal, outcome, printer)
}

/// A journal that is undone.
struct Target {
    journal: PathBuf,
    /// The directory of the tree, if that was given.
    root: Option<PathBuf>,
}

/// Returns the journal that is meant; `None` if none was named.
fn find_target(args: &UndoArgs) -> Result<Option<Target>, CommandError> {
    let register = JournalRegister::usual();
    let doing = "read the register of journals";
    let Some(path) = &args.journal else {
        if !args.last {
            return Ok(None);
        }
        let mut known = register.all().doing(doing)?;
        known.retain(|known| known.header.origin != JournalOrigin::Guard);
        let last = last_to_undo(known)?;
        return Ok(Some(Target {
            journal: last.path,
            root: None,
        }));
    };
    if !path.is_dir() {
        return Ok(Some(Target {
            journal: path.clone(),
            root: None,
        }));
    }
    let root = Dir::open_root(path).doing(&format!("open {}", Quoted::of(path)))?;
    let tree = identity_of(&root.into_fd()).doing("look at the tree")?;
    let last = last_to_undo(register.of_tree(&tree).doing(doing)?)?;
    Ok(Some(Target {
        journal: last.path,
        root: Some(path.clone()),
    }))
}

/// Returns the directory of the tree: the one that was given, else the one in which it is found, else its path of before.
fn tree_path(args: &UndoArgs, target: &Target, journal: &Journal) -> PathBuf {
    let given = args.root.clone().or_else(|| target.root.clone());
    let recorded = || journal.header.root.as_path().to_owned();
    match given {
        Some(path) => path,
        None if args.by_name => recorded(),
        None => find_tree(&journal.header).unwrap_or_else(recorded),
    }
}

/// Says what of the journal is not there, and whether it counts.
fn report_damage(journal: &Journal, part: JournalPart) {
    let Some(damage) = journal.damage else {
        if let Some(offset) = journal.torn_at {
            print_note(&format!(
                "the journal ends in what was being written when the machine failed, from byte {offset} on; nothing of that was done"
            ));
        }
        return;
    };
    let (frame, offset) = (damage.frame, damage.offset);
    let later = counted(damage.later_frames, "sound frame");
    let rest = match (damage.later_frames, part) {
        (0, _) => "there is nothing sound behind it".to_owned(),
        (_, JournalPart::BeforeDamage) => {
            format!("{later} behind it are left out; --past-damage takes them too")
        }
        (_, JournalPart::AllSound) => format!("{later} behind it count"),
    };
    print_warning(&format!(
        "the journal is damaged: frame {frame} is missing, at byte {offset}; {rest}"
    ));
}

/// Refuses to undo a migration while a later one of the same tree is not undone.
fn refuse_before_later(journal: &Journal) -> Result<(), CommandError> {
    let register = JournalRegister::usual();
    let later = register
        .later_migration(journal)
        .doing("read the register of journals")?;
    let Some(later) = later else {
        return Ok(());
    };
    if later.file != JournalFile::Present {
        return Err(missing(&later));
    }
    let (shown, word) = (Quoted::of(&later.path), ShellWord::of(&later.path));
    let message = format!("a later migration was not undone, by the journal {shown}");
    let hint = format!("undo that first: utf8fs undo --apply {word}");
    Err(CommandError::failure(message).hint(hint))
}

/// Takes a journal back, or says what that would do.
fn take_back(
    root: &OwnedFd,
    journal: &mut Journal,
    scope: UndoScope<'_>,
    printer: &Printer<'_>,
) -> Result<Outcome, JournalError> {
    let args = printer.args;
    let all = journal.steps();
    let line = |elapsed| {
        let (done, directory) = &*printer.progress.lock();
        steps(*done, all, elapsed, directory)
    };
    // What would be done is printed meanwhile, which tells enough.
    with_progress(args.progress, !args.apply, line, || {
        if args.apply {
            let _lock = TreeLock::take(root)?;
            undo(root, journal, scope, printer)
        } else {
            preview(root, journal, scope, printer)
        }
    })
}

/// Prints the sums, and enters into the register that the migration is undone.
fn finish(
    journal: &Journal,
    outcome: Outcome,
    printer: Printer<'_>,
) -> Result<ExitCode, CommandError> {
    let Printer {
        args, stop, out, ..
    } = printer;
    let (done, left) = (outcome.done, outcome.left);
    if args.json {
        let fields = json!({"event": "total", "applied": args.apply, "undone": done, "left": left, "stopped": outcome.is_stopped});
        out.line(&json_line(&fields));
    }
    out.finish()?;
    let would = if args.apply { "" } else { "would be " };
    let (steps, stays) = (counted(done, "step"), counted(left, "entry"));
    let as_is = left_as_is(left);
    print_note(&format!("{steps} {would}undone, {stays} {as_is}"));
    if let Some(signal) = stop.signal()
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
    let is_undone = journal.state().status == Status::Undone;
    if args.apply && is_undone {
        enter_undone(journal);
    }
    if !args.apply && done > 0 {
        print_note("nothing was done; do it with --apply");
    }
    if is_undone && !args.apply {
        print_note("it has been undone already");
    }
    let is_all = left == 0 && (journal.damage.is_none() || args.past_damage && !is_cut(journal));
    Ok(match is_all {
        true => ExitCode::Ok,
        false => ExitCode::Failure,
    })
}

/// Does the journal end before its jobs do, so that no frame tells of the rest?
fn is_cut(journal: &Journal) -> bool {
    journal
        .damage
        .is_some_and(|damage| damage.later_frames == 0)
}

/// Enters that a migration is undone: so it is known also if its journal is removed.
fn enter_undone(journal: &Journal) {
    if let Err(error) = JournalRegister::usual().record(journal) {
        print_warning(&cannot_be("written", "the register of journals", &error));
    }
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
