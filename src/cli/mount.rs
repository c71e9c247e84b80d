//! `utf8fs mount`.

use log::LevelFilter;

use super::args::MountArgs;
use super::invocation::Invocation;
use super::{CommandError, ExitCode, config};
use crate::daemon::background;
use crate::daemon::mount_config::MountConfig;
use crate::daemon::mount_life;
use crate::daemon::program_log;
use crate::daemon::session::Ended;
use crate::names::Quoted;
use crate::records::SinkKind;

/// Mounts, and serves until the mount is taken away.
///
/// # Errors
/// What stands in the way of the mount, or ended it.
pub(super) fn run(args: MountArgs, invocation: &Invocation) -> Result<ExitCode, CommandError> {
    program_log::queue(args.background);
    let is_dry_run = args.dry_run;
    if let Some(SinkKind::File(log)) = &args.audit.audit_log
        && invocation.by_mount
        && log.is_relative()
    {
        let message = format!("the audit log {} is relative", Quoted::of(log));
        return Err(
            CommandError::usage(message).hint("mount(8) runs anywhere: begin the path with /")
        );
    }
    let config = decide(args)?;
    if is_dry_run {
        mount_life::check_backing(&config)?;
        return Ok(ExitCode::Ok);
    }
    Ok(match mount_life::run(config)? {
        Ended::Unmounted => ExitCode::Ok,
        Ended::Aborted => ExitCode::Failure,
        Ended::Started(code) => ExitCode::Passed(code),
    })
}

/// Decides on a mount. Warnings are logged once: the process that started this one in the background has decided on the same, and
/// logged them.
fn decide(args: MountArgs) -> Result<MountConfig, CommandError> {
    let level = log::max_level();
    if args.background && background::is_daemon().unwrap_or_default() {
        log::set_max_level(LevelFilter::Off);
    }
    let config = config::mount(args);
    log::set_max_level(level);
    config
}
