//! `utf8fs completion`: scripts that complete what is typed in a shell.

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;
use super::output::Output;
use super::{CommandError, ExitCode};

/// Prints the script for a shell.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn run(shell: Shell) -> Result<ExitCode, CommandError> {
    let out = Output::stdout();
    out.bytes(&script(shell));
    out.finish()?;
    Ok(ExitCode::Ok)
}

/// Returns the script for a shell.
#[must_use]
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut plain(Cli::command()), "utf8fs", &mut script);
    script
}

/// Removes quotes and backslashes from the help of values: the script for fish puts that in quotes as it is.
fn plain(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let values = arg.get_possible_values();
        if !arg.get_action().takes_values() || values.is_empty() {
            return arg;
        }
        let values = values.into_iter().map(|value| {
            let help = value.get_help().map(ToString::to_string);
            value.help(
                help.unwrap_or_default()
                    .replace(['"', '\\', '\'', '$', '`'], ""),
            )
        });
        arg.value_parser(PossibleValuesParser::new(values))
    });
    command.mut_subcommands(plain)
}
