//! A plan that was written, perhaps edited, and is done now: just that, and nothing else.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::journalled::{migrate, not_done, tell};
use super::{Root, Work, directories, text, wishes};
use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
use crate::cli::error::reason;
use crate::names::Quoted;
use crate::tree::journal::{Draft, Left};
use crate::tree::plan::Reason;
use crate::tree::plan::read::{self, Part, PlanError, Rows};
use crate::tree::plan::settle::settle;

/// Does what the plan says. It is read to its end before anything is done: one wrong line, and nothing is.
pub(super) fn run(args: &MigrateArgs, work: &Work) -> Result<(), CliError> {
    let path = args.plan.as_deref().unwrap_or(Path::new(""));
    let refuse = |error: PlanError| {
        let name = Quoted(path.as_os_str().as_bytes());
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
    let open = || read::open(path).map_err(|error| refuse(PlanError::Io(error)));
    let mut roots = Vec::new();
    let mut plan = open()?;
    while let Some(part) = plan.part().map_err(refuse)? {
        if let Part::Tree(header) = part {
            let path = PathBuf::from(std::ffi::OsString::from_vec(header.root));
            roots.push(directories::root(&path, args.view)?);
        }
    }
    compare(args, &roots)?;
    let options = wishes::of_a_plan(&hash(path).map_err(|error| refuse(PlanError::Io(error)))?);
    let mut plan = open()?;
    let mut part = plan.part().map_err(refuse)?;
    for root in &roots {
        if work.stop.is_asked() {
            return Ok(());
        }
        part = plan.part().map_err(refuse)?;
        let mut is_read = false;
        migrate(
            root,
            args.journal.as_deref(),
            options.clone(),
            work,
            |draft| {
                is_read = true;
                while let Some(Part::Directory(rows)) = &part {
                    add(root, rows, draft, work)?;
                    if work.stop.is_asked() {
                        break;
                    }
                    part = plan.part().map_err(refuse)?;
                }
                Ok(())
            },
        )?;
        while !is_read && matches!(part, Some(Part::Directory(_))) {
            part = plan.part().map_err(refuse)?;
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
    if args.dirs.is_empty() {
        return Ok(());
    }
    let given = directories::roots(&args.dirs, args.view)?;
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

/// Puts what can still be done of a directory's lines into the journal.
fn add(root: &Root, rows: &Rows, draft: &Draft, work: &Work) -> Result<(), CliError> {
    let tally = &work.tally;
    tally.directories.add(1);
    tally.entries.add_len(rows.rows.len());
    let count = |which: fn(&&read::Row) -> bool| rows.rows.iter().filter(which).count();
    tally.renamed.add_len(count(|row| row.new.is_some()));
    tally
        .retargeted
        .add_len(count(|row| row.new_target.is_some()));
    tally.set_aside.add_len(count(|row| row.same_as.is_some()));
    let settled = match settle(&root.fd, rows) {
        Ok(settled) => settled,
        Err(error) => {
            tally.unread.add(1);
            let names: Vec<&[u8]> = rows.directory.iter().map(|name| name.as_bytes()).collect();
            let path = names.join(&b'/');
            let note = format!("{} cannot be read: {}", Quoted(&path), reason(&error));
            crate::cli::output::print_note(&note);
            return Ok(());
        }
    };
    tally.left.add_len(settled.left);
    tally.control.add_len(count(|row| {
        let reason = row.stays.as_ref().and_then(|stays| stays.reason);
        reason == Some(Reason::Control)
    }));
    if settled.left > 0 {
        let mut left = String::new();
        text::push_left_by_plan(&mut left, rows);
        tell(&left);
    }
    for refused in &settled.refused {
        let why = format!("{} (line {} of the plan)", refused.why, refused.line);
        not_done(work, &rows.directory, refused.old.as_bytes(), &why);
    }
    if settled.group.steps.is_empty() {
        return Ok(());
    }
    let left = draft.add(&settled.group);
    let left = left.map_err(|error| CliError::failure(format!("{error}; nothing was changed")))?;
    for Left {
        directory,
        name,
        why,
    } in left
    {
        not_done(work, &directory, name.as_bytes(), &why);
    }
    Ok(())
}
