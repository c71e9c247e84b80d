//! A plan that was written, perhaps edited, and is done now: just that, and nothing else.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::apply_journal::migrate;
use super::arguments;
use super::roots::{self, Root};
use super::work::{Work, quoted};
use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
use crate::cli::error::reason;
use crate::names::Quoted;
use crate::tree::change::join_path;
use crate::tree::plan::DirectoryPlan;
use crate::tree::plan::plan_reader::{self, Part, PlanError};
use crate::tree::plan::revalidate::revalidate;
use crate::tree::undo_journal::Draft;

/// Does what the plan says. It is read to its end before anything is done: one wrong line, and nothing is.
pub(super) fn run(args: &MigrateArgs, work: &Work) -> Result<(), CliError> {
    let path = args.plan.as_deref().unwrap_or(Path::new(""));
    let refuse = |error: PlanError| {
        let name = quoted(path);
        match error {
            PlanError::Line { line, what } => CliError::usage(format!(
                "the plan {name} is refused, nothing was done: line {line}: {what}"
            )),
            PlanError::Io(error) => CliError::usage(format!(
                "the plan {name} cannot be read: {}",
                reason(&error)
            )),
        }
    };
    let open = || plan_reader::open(path).map_err(|error| refuse(PlanError::Io(error)));
    let mut roots = Vec::new();
    let mut reader = open()?;
    while let Some(part) = reader.part().map_err(refuse)? {
        if let Part::Tree(header) = part {
            let path = PathBuf::from(std::ffi::OsString::from_vec(header.root.into_bytes()));
            roots.push(roots::open(&path, args.view)?);
        }
    }
    compare(args, &roots)?;
    let options = arguments::of_a_plan(&hash(path).map_err(|error| refuse(PlanError::Io(error)))?);
    let mut reader = open()?;
    let mut part = reader.part().map_err(refuse)?;
    for root in &roots {
        if work.stop.is_asked() {
            return Ok(());
        }
        part = reader.part().map_err(refuse)?;
        let mut is_read = false;
        migrate(
            root,
            args.journal.as_deref(),
            options.clone(),
            work,
            |draft| {
                is_read = true;
                while let Some(Part::Directory(plan)) = &part {
                    add(root, plan, draft, work)?;
                    if work.stop.is_asked() {
                        break;
                    }
                    part = reader.part().map_err(refuse)?;
                }
                Ok(())
            },
        )?;
        while !is_read && matches!(part, Some(Part::Directory(_))) {
            part = reader.part().map_err(refuse)?;
        }
    }
    drop(part);
    Ok(())
}

/// Are the directories that were given those of the plan?
fn compare(args: &MigrateArgs, roots: &[Root]) -> Result<(), CliError> {
    if roots.is_empty() {
        return Err(CliError::usage("the plan is about no directory"));
    }
    if args.journal.is_some() && roots.len() > 1 {
        return Err(
            CliError::usage("--journal is for one directory, and the plan has more")
                .hint("leave it out"),
        );
    }
    if args.paths.is_empty() {
        return Ok(());
    }
    let given = roots::open_all(args)?;
    let is_given = |root: &Root| given.iter().any(|given| given.path == root.path);
    match roots.iter().find(|root| !is_given(root)) {
        None if given.len() == roots.len() => Ok(()),
        other => {
            let root = other.or(roots.first()).map_or(b"".as_slice(), Root::bytes);
            Err(CliError::usage(format!(
                "the plan is about {}, and not about what was given",
                Quoted(root)
            ))
            .hint("leave the directories out"))
        }
    }
}

fn hash(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        digest.update(buffer.get(..length).unwrap_or_default());
    }
    let octets = digest.finalize();
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}

/// Puts into the journal what can still be done of a directory's lines.
fn add(root: &Root, plan: &DirectoryPlan, draft: &Draft, work: &Work) -> Result<(), CliError> {
    work.count(plan);
    let revalidated = match revalidate(&root.fd, plan) {
        Ok(revalidated) => revalidated,
        Err(error) => {
            work.unread(&plan.path(), &error);
            return Ok(());
        }
    };
    work.print_left(plan);
    for refused in &revalidated.refused {
        let path = join_path(plan.directory.iter().chain([&refused.old]));
        let why = format!("{} (line {} of the plan)", refused.reason, refused.line);
        work.not_done(&path, &why);
    }
    work.add(plan, revalidated.changes, draft)
}
