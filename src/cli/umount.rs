//! `utf8fs umount`: takes mounts of utf8fs away, and nothing else.

mod all;
mod askers;
mod holders;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::args::UmountArgs;
use super::error::reason;
use super::output::{Output, print_error};
use super::status::ask::{self, Answer};
use super::{CliError, ExitCode};
use crate::daemon::mount::away::{self, Found};
use crate::daemon::mount::{Spot, UnmountOutcome};
use crate::names::Quoted;

/// How long those who are soon gone are waited for. A process that asks is given up after five seconds by who started it.
const PATIENCE: Duration = Duration::from_secs(6);

const LIST: &str = "'utf8fs status --all' lists the mounts of utf8fs";

/// Unmounts what was asked for; one that stays does not keep the others.
///
/// # Errors
/// The table of mounts cannot be read, or `--all` is not confirmed.
pub(super) fn run(args: &UmountArgs) -> Result<ExitCode, CliError> {
    let points = match args.all {
        true => all::confirmed(args.yes)?,
        false => args.mountpoint.clone(),
    };
    let mut out = Output::stdout();
    let mut exit = ExitCode::Ok;
    for point in points {
        match unmount(&point, args.lazy) {
            Ok(()) if args.all => {
                let shown = Quoted(point.as_os_str().as_bytes());
                out.line(&format!("{shown} is unmounted"))?;
                out.flush()?;
            }
            Ok(()) => {}
            Err(error) => {
                print_error(&error);
                exit = ExitCode::Failure;
            }
        }
    }
    Ok(exit)
}

fn unmount(point: &Path, lazy: bool) -> Result<(), CliError> {
    let shown = Quoted(point.as_os_str().as_bytes());
    let found = away::find(point).map_err(|error| {
        CliError::failure(format!("{shown} cannot be looked at: {}", reason(&error))).hint(LIST)
    })?;
    let spot = match found {
        Found::Ours(spot) => spot,
        Found::Other(fs_type) => {
            return Err(CliError::failure(format!(
                "{shown} is no mount of utf8fs, but of {}",
                Quoted(&fs_type)
            ))
            .hint("umount(8) unmounts any filesystem"));
        }
        Found::Nothing => {
            return Err(CliError::failure(format!("nothing is mounted on {shown}")).hint(LIST));
        }
    };
    let failed = |error: std::io::Error| {
        CliError::failure(format!("{shown} cannot be unmounted: {}", reason(&error)))
            .hint("unmount it as the user who mounted it, or as root")
    };
    let mut outcome = match lazy {
        true => spot.detach(),
        false => spot.unmount(),
    };
    // Who only asks how it does, or is ending, is soon gone; another may have come meanwhile.
    let until = Instant::now() + PATIENCE;
    let mut unseen = 0;
    while matches!(outcome, Ok(UnmountOutcome::Busy)) {
        let Some(those) = holders::of(spot.path()).soon_gone() else {
            break;
        };
        // Gone since, or the kernel holds it.
        unseen = if those.is_empty() { unseen + 1 } else { 0 };
        if unseen > 1 || !askers::wait(&those, until) {
            break;
        }
        outcome = spot.unmount();
    }
    match outcome.map_err(failed)? {
        UnmountOutcome::Done | UnmountOutcome::Gone => Ok(()),
        UnmountOutcome::Covered => Err(CliError::failure(format!(
            "{shown} has another filesystem mounted on it or in it"
        ))
        .hint("unmount that first; findmnt(8) shows it")),
        UnmountOutcome::Busy => clear(point, &spot),
    }
}

/// Nobody can be served by a daemon that is gone, so that whoever uses such a mount is not waited for.
fn clear(point: &Path, spot: &Spot) -> Result<(), CliError> {
    let answer = ask::quietly(point);
    if matches!(answer, Ok(Answer::Dead)) {
        let detached = spot.detach();
        return detached.map(drop).map_err(|error| {
            let shown = Quoted(point.as_os_str().as_bytes());
            CliError::failure(format!(
                "the dead mount on {shown} cannot be taken away: {}",
                reason(&error)
            ))
        });
    }
    let path = spot.path();
    let shown = Quoted(path.as_os_str().as_bytes());
    let busy = CliError::failure(format!("{shown} is in use"));
    let holders = holders::of(path);
    Err(match &*holders.shown() {
        [] if matches!(answer, Ok(Answer::Silent)) => {
            busy.hint("its daemon does not answer: whoever asks it something holds it; --lazy unmounts all the same")
        }
        [] if rustix::process::geteuid().is_root() => {
            busy.hint("no process holds a file of it, maybe the kernel does: a loop device, an NFS export, a mount elsewhere; --lazy unmounts all the same")
        }
        [] => busy.hint("who holds it is told to root; --lazy unmounts all the same"),
        shown => busy.hint(format!("it is held by {}; --lazy unmounts all the same", shown.join(", "))),
    })
}
