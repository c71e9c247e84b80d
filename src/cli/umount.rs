//! `utf8fs umount`: takes mounts of utf8fs away, and nothing else.

mod confirm_all;
mod holders;

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::args::UmountArgs;
use super::error::reason;
use super::output::{Output, print_error};
use super::status_client::{self, Answer};
use super::{CliError, ExitCode};
use crate::backing::fanotify;
use crate::daemon::fuse_mount::reachable_mounts::{self, Found};
use crate::daemon::fuse_mount::{Spot, UnmountOutcome};
use crate::names::{Quoted, ShellWord};
use crate::records::{Name, json_line};

/// Time for which a busy mount is tried again: a process that ends, or asks for the status, holds it for a moment.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time that a daemon has to end: one whose log hangs takes two seconds (law F6).
const END: Duration = Duration::from_secs(3);

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

const LIST: &str = "'utf8fs status --all' lists the mounts of utf8fs";

/// Unmounts what was asked for; one that stays does not keep the others.
///
/// # Errors
/// The table of mounts cannot be read, or `--all` is not confirmed.
pub(super) fn run(args: &UmountArgs) -> Result<ExitCode, CliError> {
    let points = if args.all {
        confirm_all::confirmed(args)?
    } else {
        args.mountpoint.clone()
    };
    let mut out = Output::stdout();
    let mut exit = ExitCode::Ok;
    for point in points {
        let done = find(&point).and_then(|spot| match args.dry_run {
            true if matches!(spot.is_covered(), Ok(true)) => Err(covered(&point)),
            true if args.lazy || holders::of(spot.path()).is_empty() => Ok(()),
            true => clear(&point, &spot, true),
            false => unmount(&point, &spot, args.lazy),
        });
        if args.json {
            let error = done.as_ref().err().map(|error| &error.message);
            out.line(&json_line(&json!({
                "mountpoint": Name::of_path(&point),
                "unmounted": done.is_ok() && !args.dry_run,
                "error": error,
            })))?;
        } else if done.is_ok() && (args.all || args.dry_run) {
            let verb = if args.dry_run { "would be" } else { "is" };
            let shown = Quoted(point.as_os_str().as_bytes());
            out.line(&format!("{shown} {verb} unmounted"))?;
        }
        out.flush()?;
        if let Err(error) = done {
            print_error(&error);
            exit = ExitCode::Failure;
        }
    }
    Ok(exit)
}

/// Finds the mount of utf8fs on `point`.
fn find(point: &Path) -> Result<Spot, CliError> {
    let shown = Quoted(point.as_os_str().as_bytes());
    let found = reachable_mounts::find(point).map_err(|error| {
        CliError::failure(format!("{shown} cannot be looked at: {}", reason(&error))).hint(LIST)
    })?;
    Err(match found {
        Found::Ours(spot) => return Ok(spot),
        Found::Other(fs_type) => CliError::failure(format!(
            "{shown} is not a utf8fs mount, but of {}",
            Quoted(&fs_type)
        ))
        .hint("umount(8) unmounts any filesystem"),
        Found::Nothing => CliError::failure(format!("nothing is mounted on {shown}")).hint(LIST),
    })
}

fn unmount(point: &Path, spot: &Spot, lazy: bool) -> Result<(), CliError> {
    let shown = Quoted(point.as_os_str().as_bytes());
    let failed = |error: std::io::Error| {
        CliError::failure(format!("{shown} cannot be unmounted: {}", reason(&error)))
            .hint("unmount it as the user who mounted it, or as root")
    };
    let attempt = || if lazy { spot.detach() } else { spot.unmount() };
    // The users of a detached mount are served on.
    let daemon = (!lazy).then(|| holders::daemon(spot));
    let until = Instant::now() + PATIENCE;
    let mut outcome = attempt();
    while matches!(outcome, Ok(UnmountOutcome::Busy)) && Instant::now() < until {
        thread::sleep(PAUSE);
        outcome = attempt();
    }
    match outcome.map_err(failed)? {
        UnmountOutcome::Done | UnmountOutcome::Gone => {
            wait_for_end(spot, &daemon.unwrap_or_default());
            Ok(())
        }
        UnmountOutcome::Covered => Err(covered(point)),
        UnmountOutcome::Busy => clear(point, spot, false),
    }
}

/// No path leads through a dead mount, so that what is mounted in it cannot be unmounted first.
fn covered(point: &Path) -> CliError {
    let path = point.as_os_str().as_bytes();
    let error = CliError::failure(format!(
        "{} has another filesystem mounted on it or in it",
        Quoted(path)
    ));
    match status_client::ask(point) {
        Ok(Answer::Dead) => error.hint(format!(
            "its daemon is gone, and no path leads to what is mounted in it: umount --lazy {} takes all of it away",
            ShellWord(path)
        )),
        Ok(_) | Err(_) => error.hint("unmount that first; findmnt(8) shows it"),
    }
}

/// Waits until the daemon has ended, and so its audit log is complete. One that serves the mount elsewhere, as in a container, goes on.
fn wait_for_end(spot: &Spot, daemon: &[OwnedFd]) {
    let until = Instant::now() + END;
    for process in daemon.iter().filter(|_| !spot.is_connected()) {
        let rest = until.saturating_duration_since(Instant::now());
        // The mount is gone, whatever becomes of the daemon.
        fanotify::pause(process, rest).ok();
    }
}

/// Nobody can be served by a daemon that is gone, so that whoever uses such a mount is not waited for. A dry run leaves it.
fn clear(point: &Path, spot: &Spot, is_dry: bool) -> Result<(), CliError> {
    let answer = status_client::ask(point);
    if matches!(answer, Ok(Answer::Dead)) {
        if is_dry {
            return Ok(());
        }
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
    Err(match &*holders::of(path) {
        [] if matches!(answer, Ok(Answer::Silent)) => {
            busy.hint("its daemon does not answer: whoever asks it something holds it; --lazy unmounts all the same")
        }
        [] if rustix::process::geteuid().is_root() => {
            busy.hint("no process holds a file of it, maybe the kernel does: a loop device, an NFS export, a mount elsewhere; --lazy unmounts all the same")
        }
        [] => busy.hint("root sees who uses it; --lazy unmounts it anyway"),
        shown => busy.hint(format!("it is held by {}; --lazy unmounts all the same", shown.join(", "))),
    })
}
