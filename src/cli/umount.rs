//! `utf8fs umount`: takes mounts of utf8fs away, and nothing else.

mod holders;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::args::UmountArgs;
use super::output::{Output, harmless, print_error};
use super::{CommandError, Doing, ExitCode, cannot_be};
use crate::backing::fanotify;
use crate::fuse::mounting::{Spot, UnmountOutcome};
use crate::fuse::status_query::{self, LIST};
use crate::names::{Quoted, ShellWord};
use crate::os::mountinfo::{self, MountInfo, already_mounted};
use crate::os::user_tables::user_names;
use crate::records::{Name, NoAnswer, json_line};

/// Time that a daemon has to end: one whose log hangs takes two seconds (law F6).
const END: Duration = Duration::from_secs(3);

/// Unmounts what was asked for; one that stays does not keep the others.
///
/// # Errors
/// The table of mounts cannot be read, or `--all` is not confirmed.
pub(super) fn run(args: &UmountArgs) -> Result<ExitCode, CommandError> {
    let points = match args.all {
        true => confirmed(args)?,
        false => args.mountpoint.clone(),
    };
    let out = Output::stdout();
    let mut exit = ExitCode::Ok;
    for point in &points {
        let done = find(point).and_then(|spot| match args.dry_run {
            true if matches!(spot.is_covered(), Ok(true)) => {
                let inside = mountinfo::read_inside(&spot.path).unwrap_or_default();
                if inside.iter().all(|mount| points.contains(&mount.path())) {
                    return Ok(());
                }
                clear(point, &spot, UnmountOutcome::Covered, args)
            }
            true if args.lazy || holders::of(&spot.path).is_empty() => Ok(()),
            true => clear(point, &spot, UnmountOutcome::Busy, args),
            false => unmount(point, &spot, args),
        });
        if args.json {
            let error = done.as_ref().err().map(|error| &error.message);
            out.line(&json_line(&json!({
                "mountpoint": Name::of_path(point),
                "unmounted": done.is_ok() && !args.dry_run,
                "error": error,
            })));
        } else if done.is_ok() && (args.all || args.dry_run) {
            let verb = if args.dry_run { "would be" } else { "is" };
            out.line(&format!("{} {verb} unmounted", Quoted::of(point)));
        }
        out.flush();
        if let Err(error) = done {
            print_error(&error);
            exit = ExitCode::Failure;
        }
    }
    out.finish()?;
    Ok(exit)
}

/// Returns the mount points that this user may unmount, the youngest first: it may be inside another. Root may unmount all, others
/// their own. Lists them and asks, unless that is not wanted.
///
/// # Errors
/// The table of mounts cannot be read, there is nobody to ask, or the answer is not yes.
fn confirmed(args: &UmountArgs) -> Result<Vec<PathBuf>, CommandError> {
    let mut mounts = mountinfo::ours().doing("read the table of mounts")?;
    let user = rustix::process::getuid();
    mounts.retain(|mount| user.is_root() || owner(mount) == user.as_raw());
    mounts.reverse();
    if !args.yes && !args.dry_run && !mounts.is_empty() {
        confirm(&mounts, args.json)?;
    }
    Ok(mounts.iter().map(MountInfo::path).collect())
}

/// Lists the mounts and asks whether to unmount them.
fn confirm(mounts: &[MountInfo], is_json: bool) -> Result<(), CommandError> {
    let users = user_names();
    let out = Output::stdout();
    for mount in mounts.iter().filter(|_| !is_json) {
        let held = holders::of(&mount.path());
        let held = held.iter().map(|holder| format!(", held by {holder}"));
        let owner = owner(mount);
        let name = users.get(&owner).map(|name| harmless(name).into_owned());
        out.line(&format!(
            "{} shows {}, mounted by {}{}",
            Quoted(&mount.mount_point),
            Quoted(&mount.source),
            name.unwrap_or_else(|| format!("user {owner}")),
            held.collect::<String>()
        ));
    }
    out.flush();
    if is_json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let why = match is_json {
            true => "--json takes no answer",
            false => "there is no terminal",
        };
        let message = format!("nothing is unmounted: --all asks first, and {why}");
        let hint = "add --yes to unmount all of these, or name the mount points";
        return Err(CommandError::usage(message).hint(hint));
    }
    let count = mounts.len();
    out.bytes(format!("Unmount these mounts ({count})? [y/N] ").as_bytes());
    out.finish()?;
    let mut answer = String::new();
    // What cannot be read is no yes.
    io::stdin().read_line(&mut answer).ok();
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::failure("nothing is unmounted: not confirmed")),
    }
}

/// Returns the number of the user who mounted.
fn owner(mount: &MountInfo) -> u32 {
    mount.owner().unwrap_or_default().0
}

/// Finds the mount of utf8fs on `point`. That waits for the daemon of a mount which `point` lies in.
fn find(point: &Path) -> Result<Spot, CommandError> {
    let shown = Quoted::of(point);
    if let Some(outer) = status_query::silent_outer(point) {
        let (shown_outer, word) = (Quoted::of(&outer), ShellWord::of(&outer));
        let message = format!("{shown} is inside {shown_outer}, which does not answer");
        let hint = format!("utf8fs umount --lazy {word} takes all of it away");
        return Err(CommandError::failure(message).hint(hint));
    }
    let unseen = |error: io::Error| CommandError::from(status_query::unseen(point, &error));
    match already_mounted(point).map_err(unseen)? {
        Some((root, mount)) if mount.is_ours() => Spot::of(&root, mount).map_err(unseen),
        Some((_, mount)) => {
            let fs_type = Quoted(&mount.fs_type);
            let message = format!("{shown} is not a utf8fs mount, but of {fs_type}");
            Err(CommandError::failure(message).hint("umount(8) unmounts any filesystem"))
        }
        None => Err(CommandError::failure(format!("nothing is mounted on {shown}")).hint(LIST)),
    }
}

fn unmount(point: &Path, spot: &Spot, args: &UmountArgs) -> Result<(), CommandError> {
    let (daemon, outcome) = match args.lazy {
        // Its users are served on.
        true => (Vec::new(), spot.detach()),
        false => (holders::daemon(spot), spot.unmount_patiently()),
    };
    match outcome.map_err(|error| failed(point, &error))? {
        UnmountOutcome::Done | UnmountOutcome::Gone => {
            // Its audit log is complete once it has ended. One that serves the mount elsewhere, as in a container, goes on.
            let until = Instant::now() + END;
            for process in daemon.iter().filter(|_| !spot.is_connected()) {
                let rest = until.saturating_duration_since(Instant::now());
                // The mount is gone, whatever becomes of the daemon.
                fanotify::pause(process, rest).ok();
            }
            Ok(())
        }
        stays @ (UnmountOutcome::Covered | UnmountOutcome::Busy) => clear(point, spot, stays, args),
    }
}

fn failed(point: &Path, error: &io::Error) -> CommandError {
    CommandError::failure(cannot_be("unmounted", Quoted::of(point), error))
        .hint("unmount it as the user who mounted it, or as root")
}

/// Takes a mount that is covered or busy away with what is mounted in it, if its daemon is gone, or does not answer and is not to be
/// waited for: no path leads to what is in it then, and nobody who uses it can be served. A dry run leaves it.
///
/// # Errors
/// Why it stays.
fn clear(
    point: &Path,
    spot: &Spot,
    stays: UnmountOutcome,
    args: &UmountArgs,
) -> Result<(), CommandError> {
    let state = status_query::ask(point).err().map(|none| none.state);
    let (shown, is_silent) = (Quoted::of(point), state == Some(NoAnswer::Silent));
    if state == Some(NoAnswer::Dead) || is_silent && args.lazy {
        for lost in mountinfo::read_inside(&spot.path).unwrap_or_default() {
            let lost = Quoted(&lost.mount_point);
            log::warn!("with {shown} goes {lost}, which is mounted in it");
        }
        let done = match args.dry_run {
            true => Ok(()),
            false => spot.detach_with_inside(),
        };
        return done.map_err(|error| failed(point, &error));
    }
    if stays == UnmountOutcome::Covered {
        let message = format!("{shown} has another filesystem mounted on it or in it");
        return Err(CommandError::failure(message).hint(match is_silent {
            true => "its daemon does not answer; --lazy takes all of it away",
            false => "unmount that first; findmnt(8) shows it",
        }));
    }
    let busy = CommandError::failure(format!("{} is in use", Quoted::of(&spot.path)));
    Err(match &*holders::of(&spot.path) {
        [] if is_silent => {
            busy.hint("its daemon does not answer: whoever asks it something holds it; --lazy unmounts all the same")
        }
        [] if rustix::process::geteuid().is_root() => {
            busy.hint("no process holds a file of it, maybe the kernel does: a loop device, an NFS export, a mount elsewhere; --lazy unmounts all the same")
        }
        [] => busy.hint("root sees who uses it; --lazy unmounts it anyway"),
        holders => busy.hint(format!("it is held by {}; --lazy unmounts all the same", holders.join(", "))),
    })
}
