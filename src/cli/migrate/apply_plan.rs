//! A plan that was written, perhaps edited, and is checked or done now: just that, and nothing else.

use std::path::Path;

use super::apply_journal::{failure, migrate, was_done};
use super::roots::{self, Root};
use super::work::Work;
use crate::cli::args::MigrateArgs;
use crate::cli::{CommandError, cannot_be};
use crate::names::Quoted;
use crate::tree::apply::Observer;
use crate::tree::plan::PlannedLinks;
use crate::tree::plan::plan_reader::{self, PlanError};
use crate::tree::undo_journal::{Draft, JournalError};

/// Reads a plan to its end before anything is done: one wrong line, and nothing is. Returns its trees, and what the journal says
/// of the options.
pub(super) fn trees(plan: &Path, args: &MigrateArgs) -> Result<(Vec<Root>, String), CommandError> {
    let refused = refused(plan);
    let mut reader = plan_reader::open(plan).map_err(&refused)?;
    let mut roots = Vec::new();
    while let Some(header) = reader.tree().map_err(&refused)? {
        roots.push(roots::open(header.root.as_path(), args.view)?);
    }
    if roots.is_empty() {
        return Err(CommandError::usage("the plan is about no directory"));
    }
    let is_given = args.paths.is_empty() || {
        let given = roots::open_all(args)?;
        let has = |root: &Root| given.iter().any(|given| given.path == root.path);
        given.len() == roots.len() && roots.iter().all(has)
    };
    if !is_given {
        let roots: Vec<String> = roots
            .iter()
            .map(|root| Quoted(root.bytes()).to_string())
            .collect();
        return Err(CommandError::usage(format!(
            "the plan is about {}, and not about what was given",
            roots.join(" and ")
        ))
        .hint("leave the directories out"));
    }
    Ok((roots, format!("--plan {}", reader.hash())))
}

fn refused(plan: &Path) -> impl Fn(PlanError) -> CommandError {
    let name = format!("the plan {}", Quoted::of(plan));
    move |error| match error {
        PlanError::Line { line, what } => CommandError::usage(format!(
            "{name} is refused, nothing was done: line {line}: {what}"
        )),
        PlanError::Io(error) => CommandError::usage(cannot_be("read", &name, &error))
            .hint("to write one, give --from CHARSET or --from auto as well"),
    }
}

/// Does what a plan says, or says what it would do.
pub(super) fn run(plan: &Path, work: &Work<'_>) -> Result<(), CommandError> {
    let refused = refused(plan);
    let mut reader = plan_reader::open(plan).map_err(&refused)?;
    for root in work.roots.iter().take_while(|_| !work.is_over()) {
        reader.tree().map_err(&refused)?;
        let mut links = PlannedLinks::default();
        let mut fill = |draft: Option<&Draft>| {
            while !work.is_over()
                && let Some(plan) = reader.directory().map_err(&refused)?
            {
                work.count(&plan);
                if draft.is_none() {
                    links.add(&plan);
                }
                work.add(root, &plan, draft)?;
            }
            Ok(())
        };
        if work.args.apply {
            migrate(root, work, |draft| fill(Some(draft)))?;
        } else if !was_done(root, work)? {
            JournalError::refuse_read_only(&root.fd).map_err(failure(root))?;
            fill(None)?;
            for link in links.astray(&root.fd, root.bytes()) {
                work.print_failed(&link, "would lead elsewhere or nowhere");
            }
        }
    }
    Ok(())
}
