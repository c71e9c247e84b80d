//! `utf8fs undo`: a migration taken back.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use super::args::UndoArgs;
use super::error::reason;
use super::journal::explain;
use super::output::{Output, counted, print_note, print_warning};
use super::progress::{self, Progress};
use super::stop::Stop;
use super::{CliError, ExitCode};
use crate::backing::Dir;
use crate::names::{BackingName, Quoted};
use crate::records::{Name, json_line};
use crate::tree::apply::{self, Movement, Observer};
use crate::tree::change::{TreePath, join_path};
use crate::tree::rollback::{preview, undo};
use crate::tree::tree_lock::TreeLock;
use crate::tree::undo_journal::{Journal, Skipped, Status};

/// Takes a migration back, or says what that would do.
///
/// # Errors
/// The journal cannot be read or is broken, the tree is another one or in use, `--only` leads nowhere.
pub(super) fn run(args: &UndoArgs) -> Result<ExitCode, CliError> {
    let wrong = |error| explain(&args.journal, &error);
    let mut journal = if args.apply {
        Journal::open(&args.journal).map_err(wrong)?
    } else {
        Journal::view(&args.journal, &mut |_| ()).map_err(wrong)?
    };
    let path = journal.header().root.clone();
    let path = args
        .root
        .as_deref()
        .unwrap_or_else(|| Path::new(OsStr::from_bytes(&path)));
    let only = args
        .only
        .as_ref()
        .map(|only| names(only, path))
        .transpose()?;
    let root = Dir::open_root(path).map_err(|error| {
        let path = Quoted(path.as_os_str().as_bytes());
        CliError::usage(format!("{path} cannot be opened: {}", reason(&error)))
            .hint("give the place of the tree with --root")
    })?;
    let root = root.into_fd();
    let printer = Printer::new(args)?;
    // What would be done is printed meanwhile, which tells enough.
    let progress = Progress::start(args.progress, !args.apply);
    let line = |elapsed| printer.line(elapsed);
    let outcome = progress.during(line, || {
        if args.apply {
            let _lock = TreeLock::take(&root)?;
            undo(&root, &mut journal, only.as_deref(), &printer)
        } else {
            preview(&root, &journal, only.as_deref(), &printer)
        }
    });
    let outcome = outcome.map_err(wrong)?;
    let signal = printer.finish()?;
    let (done, left) = (outcome.done, outcome.left);
    if args.json {
        let fields = json!({"event": "total", "applied": args.apply, "undone": done, "left": left, "stopped": outcome.is_stopped});
        let mut out = Output::stdout();
        out.line(&json_line(&fields))?;
        out.flush()?;
    }
    let would = if args.apply { "" } else { "would be " };
    let steps = counted(done, "step", "steps");
    let stays = match left {
        1 => "1 entry left as it is".to_owned(),
        left => format!("{left} entries left as they are"),
    };
    print_note(&format!("{steps} {would}undone, {stays}"));
    if let Some(signal) = signal.filter(|_| outcome.is_stopped) {
        print_note("stopped; go on with the same command");
        return Ok(ExitCode::Stopped(signal));
    }
    let is_nothing = only.is_some() && outcome.done + outcome.before + outcome.left == 0;
    if let Some(only) = args.only.as_ref().filter(|_| is_nothing) {
        let only = Quoted(only.as_bytes());
        return Err(CliError::failure(format!(
            "the journal has no entry at or below {only}"
        )));
    }
    if !args.apply && done > 0 {
        print_note("nothing was done; do it with --apply");
    }
    if journal.status() == Status::Undone && !args.apply {
        print_note("it has been undone already");
    }
    Ok(if left > 0 {
        ExitCode::Failure
    } else {
        ExitCode::Ok
    })
}

/// The names of a path within the tree, which may also be given from the root of the filesystem.
fn names(only: &OsString, root: &Path) -> Result<TreePath, CliError> {
    let within = Path::new(only)
        .strip_prefix(root)
        .unwrap_or(Path::new(only));
    let octets = within.as_os_str().as_bytes();
    let wrong = |_broken| {
        let only = Quoted(only.as_bytes());
        CliError::usage(format!("{only} is not a path within the tree"))
            .hint("give it from the root of the tree on, without '.' and '..'")
    };
    if octets.is_empty() {
        let only = Quoted(only.as_bytes());
        return Err(
            CliError::usage(format!("{only} is all of the tree, or nothing of it"))
                .hint("leave --only out to undo all"),
        );
    }
    if octets.starts_with(b"/") {
        return Err(wrong(()));
    }
    let names = octets
        .split(|&octet| octet == b'/')
        .filter(|name| !name.is_empty());
    names
        .map(BackingName::parse)
        .collect::<Result<_, _>>()
        .map_err(|_broken| wrong(()))
}

/// Prints what would be done to standard output, and what is left to standard error; hears signals.
struct Printer {
    is_apply: bool,
    is_json: bool,
    stop: Stop,
    /// The error by which standard output takes no more.
    failed: Mutex<Option<CliError>>,
    /// Steps that are done, all steps, and the directory that was worked on last.
    done: AtomicU64,
    all: AtomicU64,
    directory: Mutex<Vec<u8>>,
}

impl Printer {
    fn new(args: &UndoArgs) -> Result<Self, CliError> {
        Ok(Self {
            is_apply: args.apply,
            is_json: args.json,
            stop: Stop::watch()?,
            failed: Mutex::new(None),
            done: AtomicU64::new(0),
            all: AtomicU64::new(0),
            directory: Mutex::default(),
        })
    }

    fn line(&self, elapsed: Duration) -> String {
        let directory = self.directory.lock();
        let [done, all] = [&self.done, &self.all].map(|count| count.load(Ordering::Relaxed));
        progress::steps(done, all, elapsed, &directory)
    }

    fn print(&self, line: &str) -> Result<(), CliError> {
        let mut out = Output::stdout();
        out.line(line)?;
        out.flush()
    }

    fn finish(self) -> Result<Option<u8>, CliError> {
        let signal = self.stop.signal();
        self.failed.into_inner().map_or(Ok(signal), Err)
    }
}

/// Returns a step as one JSON object.
fn step_json(path: &[u8], movement: Movement<'_>) -> String {
    let (action, new) = match movement {
        Movement::To(to) => ("rename", Some(to.as_bytes())),
        Movement::Back(to) => ("restore", Some(to.as_bytes())),
        Movement::Aside => ("set-aside", None),
        Movement::Target(target) => ("retarget", Some(target)),
    };
    json_line(
        &json!({"event": "step", "path": Name::from(path), "action": action, "new": new.map(Name::from)}),
    )
}

impl Observer for Printer {
    fn progress(&self, progress: &apply::Progress<'_>) {
        self.done.store(progress.steps, Ordering::Relaxed);
        self.all.store(progress.all, Ordering::Relaxed);
        *self.directory.lock() = join_path(&**progress.directory);
    }

    fn step(&self, directory: &TreePath, name: &BackingName, movement: Movement<'_>) {
        if self.is_apply {
            return;
        }
        let path = |name: &BackingName| join_path(directory.iter().chain([name]));
        let line = match movement {
            _ if self.is_json => step_json(&path(name), movement),
            Movement::To(to) => format!("{} -> {}", Quoted(&path(name)), Quoted(to.as_bytes())),
            Movement::Back(to) => format!("{} comes back", Quoted(&path(to))),
            Movement::Aside => format!("{} is put aside", Quoted(&path(name))),
            Movement::Target(target) => {
                format!("{}: target -> {}", Quoted(&path(name)), Quoted(target))
            }
        };
        if let Err(error) = self.print(&line) {
            self.failed.lock().get_or_insert(error);
        }
    }

    fn skipped(&self, skipped: &Skipped) {
        let path = join_path(skipped.directory.iter().chain([&skipped.name]));
        print_warning(&format!("{} was left: {}", Quoted(&path), skipped.reason));
    }

    fn time_lost(&self, directory: &TreePath, errno: i32) {
        let path = join_path(&**directory);
        let error = std::io::Error::from_raw_os_error(errno);
        print_warning(&format!(
            "the time of {} could not be put back: {}",
            Quoted(&path),
            reason(&error)
        ));
    }

    fn is_over(&self) -> bool {
        self.stop.is_asked() || self.failed.lock().is_some()
    }
}
