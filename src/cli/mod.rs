//! The command line: arguments in, text and exit codes out.
//!
//! [`args`] is what was typed, [`config`] what it means; each command has a file of its own. Options, JSON fields and
//! exit codes are a documented interface (law L4).

pub mod args;
pub mod background;
pub mod caching;
pub mod config;
mod convert;
mod daemon_log;
pub mod demo;
mod error;
mod exit;
mod explain;
mod in_force;
pub mod mount;
mod mount_options;
mod opened;
pub mod output;
mod status;
mod strictness;
mod unfit;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use clap::{CommandFactory, Parser};
use log::LevelFilter;

use crate::codec::{caseless, normalize};
use crate::fuse;
use args::{Cli, Command};
pub use config::{AuditConfig, MountConfig};
pub use error::CliError;
pub use exit::ExitCode;
use output::{Output, harmless, print_error};

/// Runs the program on the arguments of the process.
#[must_use]
pub fn run() -> std::process::ExitCode {
    let args = as_command(std::env::args_os().collect());
    let done = match Cli::try_parse_from(&args) {
        Ok(cli) => dispatch(cli),
        Err(error) => help_or_error(error, &args),
    };
    done.unwrap_or_else(|error| {
        print_error(&error);
        error.code
    })
    .into()
}

/// Makes the way in which mount(8) calls a program of type `fuse.utf8fs`, `utf8fs BACKING MOUNTPOINT -o OPTIONS`, the
/// command that it stands for: a mount in the background.
fn as_command(args: Vec<OsString>) -> Vec<OsString> {
    let is_operand = |arg: &OsString| !arg.as_bytes().starts_with(b"-");
    match args.as_slice() {
        [program, backing, mountpoint, option, _]
            if option == "-o"
                && is_operand(backing)
                && is_operand(mountpoint)
                && !Cli::command()
                    .get_subcommands()
                    .any(|command| backing == command.get_name()) =>
        {
            let rest = args.iter().skip(1).cloned();
            let command = ["mount".into(), "--background".into()];
            std::iter::once(program.clone())
                .chain(command)
                .chain(rest)
                .collect()
        }
        _ => args,
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, CliError> {
    match cli.command {
        Some(Command::Mount(args)) => {
            // What is found in the way is told as it is cleared away.
            init_log(config::verbosity(&args), args.background);
            let config = config::mount(*args)?;
            mount::run(config)
        }
        Some(Command::Explain(args)) => explain::run(&args),
        Some(Command::Convert(args)) => convert::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Demo) => {
            init_log(LevelFilter::Warn, false);
            demo::run()
        }
        None => {
            debug_assert!(
                cli.version,
                "invariant: clap shows the help where nothing is given"
            );
            version(cli.verbose)
        }
    }
}

/// clap gives the help as an error; the help that nobody asked for is one.
fn help_or_error(error: clap::Error, args: &[OsString]) -> Result<ExitCode, CliError> {
    use clap::error::ErrorKind;
    let asked = error.kind() == ErrorKind::DisplayHelp;
    let unasked = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !asked && !unasked {
        return Err(CliError::from_clap(error, args));
    }
    // A reader who has gone needs no help.
    drop(error.print());
    Ok(if asked { ExitCode::Ok } else { ExitCode::Usage })
}

fn version(is_verbose: bool) -> Result<ExitCode, CliError> {
    let mut out = Output::stdout();
    out.line(concat!("utf8fs ", env!("CARGO_PKG_VERSION")))?;
    if is_verbose {
        for (what, (major, minor, update)) in [
            ("normalization", normalize::UNICODE_VERSION),
            ("case folding", caseless::UNICODE_VERSION),
        ] {
            out.line(&format!("{what}: Unicode {major}.{minor}.{update}"))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::Ok)
}

/// Starts the program's own log, on standard error: `utf8fs: LEVEL: message`, and the time in front where
/// `verbosity` is beyond the usual; in the background also in the system's log. `UTF8FS_LOG` overrides it, in the syntax of `env_logger`.
fn init_log(verbosity: LevelFilter, is_background: bool) {
    let mut builder = env_logger::Builder::new();
    if is_background && let Ok(log) = daemon_log::DaemonLog::new() {
        builder.target(env_logger::Target::Pipe(Box::new(log)));
    }
    builder
        .filter_level(LevelFilter::Warn)
        .filter_module("utf8fs", verbosity)
        .parse_env(env_logger::Env::new().filter("UTF8FS_LOG"))
        .format(move |out, record| {
            let message = record.args().to_string();
            if fuse::is_late_reply(record.target(), &message) && verbosity <= LevelFilter::Info {
                return Ok(());
            }
            if verbosity > LevelFilter::Info {
                write!(out, "{} ", out.timestamp_millis())?;
            }
            let level = record.level().as_str().to_ascii_lowercase();
            writeln!(out, "utf8fs: {level}: {}", harmless(&message))
        });
    if builder.try_init().is_err() {
        // Somebody who embeds the crate has started a log already; it is the better one.
        log::debug!("the log was started before");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(args: &[&str]) -> Vec<OsString> {
        as_command(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn mount_8_calls_without_a_command() {
        assert_eq!(
            command(&["utf8fs", "/old", "/mnt", "-o", "rw,from=koi8-r"]),
            [
                "utf8fs",
                "mount",
                "--background",
                "/old",
                "/mnt",
                "-o",
                "rw,from=koi8-r"
            ]
        );
        for others in [
            &["utf8fs", "mount", "/mnt", "-o", "rw"][..],
            &["utf8fs", "/old", "/mnt"],
            &["utf8fs", "--version", "/mnt", "-o", "rw"],
            &["utf8fs"],
            &[],
        ] {
            assert_eq!(command(others), others);
        }
    }
}
