//! `utf8fs demo`.

use super::{CliError, ExitCode};

/// Runs the demo.
///
/// # Errors
/// It can't mount.
pub fn run() -> Result<ExitCode, CliError> {
    Err(CliError::failure("not built"))
}
