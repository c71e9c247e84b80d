//! The command line: arguments in, text and exit codes out.
//!
//! [`args`] is what was typed, `config` what it means; each command has a file of its own. Options, JSON fields and
//! exit codes are a documented interface (law L4).

pub mod args;
mod audit;
mod config;
mod convert;
mod demo;
mod error;
mod exit;
mod explain;
mod guess_report;
mod invocation;
mod journal;
mod migrate;
mod mount;
mod mount_options;
mod output;
mod page;
mod policy;
mod progress;
mod scan;
mod status;
mod status_client;
mod stop;
mod text_table;
mod umount;
mod undo;
mod view;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;
use log::LevelFilter;

use crate::codec::{caseless, normalize};
use crate::daemon::daemon_log::DaemonLog;
use args::{Cli, Command};
pub use error::CliError;
use error::print_clap;
pub use exit::ExitCode;
use invocation::{Invocation, MountHelper};
use output::{Output, harmless, print_error};

/// Runs the program on the arguments of the process.
#[must_use]
pub fn run() -> std::process::ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let invocation = match Invocation::read(typed.clone()) {
        Ok(invocation) => invocation,
        Err(error) => {
            print_clap::<MountHelper>(&error, &typed).unwrap_or_else(|error| print_error(&error));
            return invocation::MOUNT_USAGE.into();
        }
    };
    let args = mount_options::expand(invocation.args.clone());
    let done = match Cli::try_parse_from(&args) {
        Ok(cli) => dispatch(cli, invocation.fake),
        Err(error) => print_clap::<Cli>(&error, &args).map(|()| {
            if error.use_stderr() {
                ExitCode::Usage
            } else {
                ExitCode::Ok
            }
        }),
    };
    let exit = done.unwrap_or_else(|error| {
        print_error(&error);
        error.code
    });
    invocation.code(exit).into()
}

fn dispatch(cli: Cli, fake: bool) -> Result<ExitCode, CliError> {
    match cli.command {
        Some(Command::Mount(args)) => mount::run(*args, fake),
        Some(Command::Explain(args)) => explain::run(&args),
        Some(Command::Scan(args)) => scan::run(&args),
        Some(Command::Migrate(args)) => migrate::run(&args),
        Some(Command::Convert(args)) => convert::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Audit(args)) => audit::run(&args),
        Some(Command::Undo(args)) => undo::run(&args),
        Some(Command::Journal(args)) => journal::run(&args),
        Some(Command::Policy(args)) => policy::run(args.action),
        Some(Command::Umount(args)) => {
            init_log(LevelFilter::Warn, false);
            umount::run(&args)
        }
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
    if is_background && let Ok(log) = DaemonLog::new() {
        builder.target(env_logger::Target::Pipe(Box::new(log)));
    }
    builder
        .filter_level(LevelFilter::Warn)
        .filter_module("utf8fs", verbosity)
        .parse_env(env_logger::Env::new().filter("UTF8FS_LOG"))
        .format(move |out, record| {
            let message = record.args().to_string();
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
