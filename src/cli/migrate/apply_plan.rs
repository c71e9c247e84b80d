//! A plan that was written, perhaps edited, and is checked or done now: just that, and nothing else.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::apply_journal::{failure, migrate, was_done};
use super::roots::{self, Root};
use super::work::Work;
use super::{arguments, journal_path};
use crate::cli::args::MigrateArgs;
use crate::cli::{CommandError, cannot_be};
use crate::names::Quoted;
use crate::tree::plan::PlannedLinks;
use crate::tree::plan::plan_reader::{self, PlanError};
use crate::tree::undo_journal::{Draft, JournalError};

/// Does what the plan says, or says what it would do. It is read to its end before anything is done: one wrong line, and nothing is.
pub(super) fn run(work: &Work<'_>) -> Result<(), CommandError> {
    let args = work.args;
    let path = args.plan.as_deref().unwrap_or(Path::new(""));
    let refuse = |error: PlanError| {
        let name = Quoted::of(path);
        match error {
            PlanError::Line { line, what } => CommandError::usage(format!(
                "the plan {name} is refused, nothing was done: line {line}: {what}"
            )),
            PlanError::Io(error) => {
                CommandError::usage(cannot_be("read", format!("the plan {name}"), &error))
                    .hint("to write one, give --from CHARSET or --from auto as well")
            }
        }
    };
    let open = || plan_reader::open(path).map_err(|error| refuse(error.into()));
    let mut roots = Vec::new();
    let mut reader = open()?;
    while let Some(header) = reader.tree().map_err(refuse)? {
        let path = PathBuf::from(OsString::from_vec(header.root.into_bytes()));
        roots.push(roots::open(&path, args.view)?);
    }
    compare(args, &roots)?;
    let options = arguments::of_a_plan(&reader.hash());
    let mut reader = open()?;
    for root in &roots {
        if work.stop.is_asked() {
            break;
        }
        reader.tree().map_err(refuse)?;
        let mut links = PlannedLinks::default();
        let mut fill = |draft: Option<&Draft>| {
            while let Some(plan) = reader.directory().map_err(refuse)? {
                work.counters.lock().add_planned(&plan);
                if !args.apply {
                    links.add(&plan);
                }
                work.add(root, &plan, draft)?;
                if work.stop.is_asked() {
                    break;
                }
            }
            Ok(())
        };
        if args.apply {
            migrate(root, &options, work, |draft| fill(Some(draft)))?;
        } else if !was_done(&journal_path::find_usual(root)?.earlier, &options, work) {
            JournalError::refuse_read_only(&root.fd).map_err(failure(root))?;
            fill(None)?;
            work.print_astray(&links.astray(&root.fd, root.bytes()));
        }
    }
    Ok(())
}

/// Are the directories that were given those of the plan?
fn compare(args: &MigrateArgs, roots: &[Root]) -> Result<(), CommandError> {
    if roots.is_empty() {
        return Err(CommandError::usage("the plan is about no directory"));
    }
    arguments::check_journal(args, roots.len())?;
    if args.paths.is_empty() {
        return Ok(());
    }
    let given = roots::open_all(args)?;
    let is_given = |root: &Root| given.iter().any(|given| given.path == root.path);
    match roots.iter().find(|root| !is_given(root)) {
        None if given.len() == roots.len() => Ok(()),
        other => {
            let root = other.or(roots.first()).map_or(b"".as_slice(), Root::bytes);
            Err(CommandError::usage(format!(
                "the plan is about {}, and not about what was given",
                Quoted(root)
            ))
            .hint("leave the directories out"))
        }
    }
}
