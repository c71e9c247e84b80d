//! `utf8fs completion`: scripts that complete what is typed in a shell.

use clap::CommandFactory;
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
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "utf8fs", &mut script);
    script
}
