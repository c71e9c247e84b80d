//! `utf8fs mount`.

use super::args::MountArgs;
use super::invocation::Invocation;
use super::{CommandError, Doing, ExitCode, config};
use crate::daemon::mount_life;
use crate::daemon::mount_paths::check_proc;
use crate::daemon::program_log;
use crate::daemon::session::Ended;
use crate::names::Quoted;
use crate::os::background::{self, is_daemon};
use crate::records::SinkKind;

/// Mounts, and serves until the mount is taken away.
///
/// # Errors
/// What stands in the way of the mount, or ended it.
pub(super) fn run(args: MountArgs, invocation: &Invocation) -> Result<ExitCode, CommandError> {
    program_log::queue(args.background);
    // libfuse's mount.fuse has mounted by itself, and lacks the capability to take that away.
    if invocation.by_mount && args.mountpoint.starts_with("/dev/fd") {
        let message = "mount.fuse was given drop_privileges, by which it leaves a dead mount";
        let hint =
            "unmount that and leave drop_privileges out: utf8fs confines itself, as sandbox says";
        return Err(CommandError::usage(message).hint(hint));
    }
    if let Some(SinkKind::File(log)) = &args.shared.audit_log
        && invocation.by_mount
        && log.is_relative()
    {
        let message = format!("the audit log {} is relative", Quoted::of(log));
        let hint = "mount(8) runs anywhere: begin the path with /";
        return Err(CommandError::usage(message).hint(hint));
    }
    let is_dry_run = args.dry_run;
    if args.background && !is_dry_run && !is_daemon().doing("go to the background")? {
        check_proc()?;
        // The daemon's messages come after ours.
        program_log::flush();
        let code = background::start().doing("start the daemon")?;
        return Ok(ExitCode::Passed(code));
    }
    let config = config::mount(args)?;
    if is_dry_run {
        mount_life::check_backing(&config)?;
        return Ok(ExitCode::Ok);
    }
    Ok(match mount_life::run(config)? {
        Ended::Unmounted => ExitCode::Ok,
        Ended::Aborted => ExitCode::Failure,
    })
}
