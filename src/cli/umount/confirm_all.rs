//! `utf8fs umount --all`: the mounts to unmount, and the question before it.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use super::holders;
use crate::cli::args::UmountArgs;
use crate::cli::output::{Output, harmless};
use crate::cli::{CommandError, Doing};
use crate::names::Quoted;
use crate::os::mountinfo::{self, MountInfo};
use crate::os::user_tables::user_names;

/// Returns the mount points that this user may unmount, the youngest first: it may be inside another. Root may unmount all, others
/// their own. Lists them and asks, unless that is not wanted.
///
/// # Errors
/// The table of mounts cannot be read, there is nobody to ask, or the answer is not yes.
pub(super) fn confirmed(args: &UmountArgs) -> Result<Vec<PathBuf>, CommandError> {
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
        let why = if is_json {
            "--json takes no answer"
        } else {
            "there is no terminal"
        };
        return Err(CommandError::usage(format!(
            "nothing is unmounted: --all asks first, and {why}"
        ))
        .hint("add --yes to unmount all of these, or name the mount points"));
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
