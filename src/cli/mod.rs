//! The command line: arguments in, text and exit codes out.
//!
//! [`args`] is what was typed, `config` what it means; each command has a file of its own. Options, JSON fields and
//! exit codes are a documented interface (law L4).

pub mod args;
mod audit;
mod charset_map;
mod config;
mod convert;
mod demo;
mod error;
mod exit;
mod explain;
mod guard;
mod guess_report;
mod invocation;
mod journal;
mod journal_list;
mod migrate;
mod mount;
mod mount_options;
mod output;
mod page;
mod policy;
mod progress;
mod scan;
mod status;
mod stop;
mod text_table;
mod tree_location;
mod umount;
mod undo;
mod view;

use std::ffi::OsString;
use std::io;

use clap::{ColorChoice, CommandFactory, FromArgMatches};
use clap_complete::Shell;
use env_logger::Target;
use log::LevelFilter;

use crate::codec::{caseless, normalize};
pub use crate::daemon::command_error::CommandError;
use crate::daemon::command_error::{Doing, reason};
use crate::daemon::program_log;
use args::{Cli, Command, CommonArgs};
use error::{cannot_be, print_clap};
pub use exit::ExitCode;
use invocation::{Invocation, MountHelper};
use output::{Output, harmless, print_error, print_lines, print_warning};

/// Runs the program on the arguments of the process.
pub fn run() -> std::process::ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let invocation = match Invocation::read(typed.clone()) {
        Ok(invocation) => invocation,
        Err(mut error) => {
            print_clap::<MountHelper>(&mut error, &typed, ColorChoice::Auto)
                .unwrap_or_else(|error| print_error(&error));
            return invocation::MOUNT_USAGE.into();
        }
    };
    let args = mount_options::expand(invocation.args.clone());
    let command = Cli::command().color(color(&args));
    let parsed = command
        .try_get_matches_from(&args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let mut failure = ExitCode::Failure;
    let done = match parsed {
        Ok(cli) => {
            // An exit code of 1 says that names do not conform.
            if let Some(Command::Scan(_) | Command::Audit(_)) = cli.command {
                failure = ExitCode::Incomplete;
            }
            dispatch(cli, &invocation)
        }
        Err(mut error) => {
            if let Some(mountpoint) = invocation.mountpoint() {
                print_warning(&format!("cannot mount on {mountpoint}"));
            }
            print_clap::<Cli>(&mut error, &args, color(&args)).map(|()| {
                migrate::convmv::print_hint(&error, &args);
                if error.use_stderr() {
                    ExitCode::Usage
                } else {
                    ExitCode::Ok
                }
            })
        }
    };
    let exit = done.unwrap_or_else(|mut error| {
        if let Some(mountpoint) = invocation.mountpoint() {
            error.message = format!("mount.utf8fs: {mountpoint}: {}", error.message);
        }
        print_error(&error);
        if error.is_usage {
            ExitCode::Usage
        } else {
            failure
        }
    });
    program_log::flush();
    invocation.code(exit).into()
}

/// Returns the value of `--color`, which also holds for the help and for errors of arguments.
fn color(args: &[OsString]) -> ColorChoice {
    let mut words = args.iter().filter_map(|arg| arg.to_str());
    let word = match words.find_map(|word| word.strip_prefix("--color")) {
        Some("") => words.next(),
        Some(value) => value.strip_prefix('='),
        None => None,
    };
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn dispatch(cli: Cli, invocation: &Invocation) -> Result<ExitCode, CommandError> {
    if cli.version {
        return version(cli.common.verbose > 0).map(|()| ExitCode::Ok);
    }
    let Some(command) = cli.command else {
        let error = CommandError::usage("neither a command nor --version is given");
        return Err(error.hint("'utf8fs --help' lists the commands"));
    };
    init_log(&cli.common);
    match command {
        Command::Mount(args) => mount::run(*args, invocation),
        Command::Explain(args) => explain::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Migrate(args) => migrate::run(&args),
        Command::Convert(args) => convert::run(&args).map(|()| ExitCode::Ok),
        Command::Status(args) => status::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Guard(args) => guard::run(*args).map(|()| ExitCode::Ok),
        Command::Undo(args) => undo::run(&args),
        Command::Journal(args) => journal::run(&args),
        Command::Policy(action) => policy::run(action),
        Command::Umount(args) => umount::run(&args),
        Command::Completion { shell } => {
            let out = Output::stdout();
            out.bytes(&completion(shell));
            out.finish().map(|()| ExitCode::Ok)
        }
        Command::Demo => demo::run().map(|()| ExitCode::Ok),
    }
}

/// Returns the script that completes commands and options in a shell.
pub fn completion(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "utf8fs", &mut script);
    script
}

fn version(is_verbose: bool) -> Result<(), CommandError> {
    let mut lines = vec![concat!("utf8fs ", env!("CARGO_PKG_VERSION")).to_owned()];
    let unicode =
        |what: &str, (major, minor, update)| format!("{what}: Unicode {major}.{minor}.{update}");
    if is_verbose {
        lines.push(unicode("normalization", normalize::UNICODE_VERSION));
        lines.push(unicode("case folding", caseless::UNICODE_VERSION));
    }
    print_lines(lines)
}

/// Starts the program's own log, on standard error: `utf8fs: LEVEL: message`, and the time in front with `--verbose`.
/// `UTF8FS_LOG` overrides the level, in the syntax of `env_logger`.
fn init_log(common: &CommonArgs) {
    let verbosity = common.verbosity();
    let mut builder = env_logger::Builder::new();
    builder
        .filter_level(LevelFilter::Warn)
        .filter_module("utf8fs", verbosity)
        .parse_env(env_logger::Env::new().filter("UTF8FS_LOG"))
        .format(move |out, record| {
            let time = if verbosity > LevelFilter::Info {
                format!("{} ", out.timestamp_millis())
            } else {
                String::new()
            };
            program_log::log(record.level(), &time, &harmless(&record.args().to_string()));
            Ok(())
        })
        .target(Target::Pipe(Box::new(io::sink())));
    // Somebody who embeds the crate may have started a log already; it is the better one.
    builder.try_init().ok();
}
