//! `utf8fs mount`.

use log::LevelFilter;

use super::args::MountArgs;
use super::{CliError, ExitCode, config};
use crate::daemon::background;
use crate::daemon::mount_config::MountConfig;
use crate::daemon::mount_life::{self, MountEnd};

/// Mounts, unless it `is_fake`, and serves until the mount is taken away.
///
/// # Errors
/// What stands in the way of the mount, or ended it.
pub(super) fn run(args: MountArgs, is_fake: bool) -> Result<ExitCode, CliError> {
    let is_fake = is_fake || args.dry_run;
    let config = decide(args)?;
    if is_fake {
        return Ok(ExitCode::Ok);
    }
    Ok(match mount_life::run(config)? {
        MountEnd::Unmounted => ExitCode::Ok,
        MountEnd::Aborted => ExitCode::Failure,
        MountEnd::Started(code) => ExitCode::Daemon(code),
    })
}

/// Decides on a mount. Warnings are logged once: the process that started this one in the background has decided on the same, and
/// logged them.
fn decide(args: MountArgs) -> Result<MountConfig, CliError> {
    let level = log::max_level();
    if args.background && background::is_daemon().unwrap_or_default() {
        log::set_max_level(LevelFilter::Off);
    }
    let config = config::mount(args);
    log::set_max_level(level);
    config
}
