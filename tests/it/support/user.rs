//! Running programs as another user.

use std::path::Path;
use std::process::{Command, Output};

use super::needs;

/// An ordinary user that every Debian has: `nobody`.
pub(crate) const NOBODY: u32 = 65534;

/// A command run as `uid` with the group of the same number and no others; as root only, else the command as we are.
pub(crate) fn command(uid: u32, program: &Path) -> Command {
    if !needs::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={uid}"))
        .arg(format!("--regid={uid}"))
        .arg("--clear-groups")
        .arg("--")
        .arg(program);
    command
}

/// Runs a script of `sh` as `uid` in `directory`.
pub(crate) fn script(uid: u32, directory: &Path, script: &str) -> Output {
    command(uid, Path::new("/bin/sh"))
        .arg("-c")
        .arg(script)
        .current_dir("/")
        .env("LC_ALL", "C")
        .env("PLACE", directory)
        .output()
        .unwrap()
}

/// A command of root's with the capabilities that the unit of that name leaves.
pub(crate) fn limited_by(unit: &str) -> [String; 4] {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts/package.d")
        .join(unit);
    let unit = std::fs::read_to_string(unit).unwrap();
    let find = |line: &'static str| unit.lines().find_map(|all| all.strip_prefix(line));
    let bounding = find("CapabilityBoundingSet=").unwrap().split(' ');
    let bounding = bounding.fold("--bounding-set=-all".to_owned(), |all, one| {
        all + ",+" + &one.strip_prefix("CAP_").unwrap().to_lowercase()
    });
    ["setpriv", "--no-new-privs", &bounding, "--"].map(str::to_owned)
}
