//! A plan that a person edits before it is done, as `git rebase -i` does.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{IsTerminal, stdin};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::plan_file::PlanFile;
use crate::cli::args::MigrateArgs;
use crate::cli::output::{print_error, print_note};
use crate::cli::{CommandError, Doing, ExitCode};
use crate::names::ShellWord;
use crate::tree::plan::PlanFormat;

/// Editors that start at a line given as `+LINE`.
const WITH_LINE: [&[u8]; 13] = [
    b"vi",
    b"vim",
    b"nvim",
    b"gvim",
    b"elvis",
    b"nano",
    b"pico",
    b"emacs",
    b"emacsclient",
    b"mg",
    b"joe",
    b"mcedit",
    b"kak",
];

/// Writes a plan, has it edited, and does what was saved. The plan is kept if that is refused or stopped.
pub(super) fn run(args: &MigrateArgs) -> Result<ExitCode, CommandError> {
    if !stdin().is_terminal() {
        return Err(CommandError::usage("--edit needs a terminal")
            .hint("write a plan by --plan FILE --plan-format readable, and apply it by --plan FILE --apply"));
    }
    // Its names are for nobody else.
    let directory = tempfile::Builder::new()
        .prefix("utf8fs-plan-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir();
    let directory = directory.doing("make a directory for the plan")?;
    let plan = directory.path().join("plan");
    let planned = super::run(&MigrateArgs {
        plan: Some(plan.clone()),
        plan_format: Some(PlanFormat::Readable),
        apply: false,
        edit: false,
        json: false,
        ..args.clone()
    })?;
    let read = || std::fs::read(&plan).doing("read the plan");
    let is_stopped = matches!(planned, ExitCode::Stopped(_));
    let has_changes = |plan: Vec<u8>| plan.windows(4).any(|start| start == b"\nin ");
    if is_stopped || !has_changes(read()?) {
        return Ok(planned);
    }
    let mut line = None;
    loop {
        edit(&plan, line)?;
        if read()?.trim_ascii().is_empty() {
            print_note("the plan is empty; nothing was changed");
            return Ok(ExitCode::Ok);
        }
        let Err(refusal) = PlanFile::open(&plan)?.check() else {
            break;
        };
        print_error(&refusal.error);
        line = refusal.line;
        if !asks_to_edit_again()? {
            drop(directory.keep());
            print_way_on(&plan);
            return Ok(ExitCode::Usage);
        }
    }
    let done = super::run(&MigrateArgs {
        plan: Some(plan.clone()),
        apply: true,
        journal: args.journal.clone(),
        json: args.json,
        view: args.view,
        progress: args.progress,
        ..MigrateArgs::default()
    });
    if matches!(done, Err(_) | Ok(ExitCode::Stopped(_))) {
        drop(directory.keep());
        print_way_on(&plan);
    }
    done
}

fn print_way_on(plan: &Path) {
    let plan = ShellWord::of(plan);
    print_note(&format!("to go on: utf8fs migrate --plan {plan} --apply"));
}

/// Asks whether the editor is opened again, which is the answer of an empty line.
fn asks_to_edit_again() -> Result<bool, CommandError> {
    print_note("Enter opens the editor again; q keeps the plan and ends");
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer).doing("read the answer")?;
    Ok(read > 0 && !answer.trim_start().starts_with(['q', 'Q']))
}

/// Has a person edit the plan, from a line on where the editor is one that takes `+LINE`.
fn edit(plan: &Path, line: Option<usize>) -> Result<(), CommandError> {
    let editors = ["VISUAL", "EDITOR"].into_iter();
    let mut editors = editors.filter_map(std::env::var_os);
    let editor = editors.find(|editor| !editor.is_empty());
    let mut command = editor.unwrap_or_else(|| "vi".into());
    let program = program_name(&command);
    if let Some(line) = line.filter(|_| WITH_LINE.contains(&program.as_slice())) {
        command.push(format!(" +{line}"));
    }
    // The editor may come with options, as for git.
    command.push(" \"$1\"");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&command).arg("sh").arg(plan);
    if shell.status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let error = CommandError::failure("the editor failed; nothing was changed");
    Err(error.hint("set VISUAL or EDITOR to the command of an editor"))
}

/// Returns the name of the program in the command of an editor.
fn program_name(command: &OsStr) -> Vec<u8> {
    let mut words = command
        .as_bytes()
        .split(|octet| octet.is_ascii_whitespace());
    let program = words.find(|word| !word.is_empty()).unwrap_or_default();
    let name = program.rsplit(|octet| *octet == b'/').next();
    name.unwrap_or_default().to_vec()
}
