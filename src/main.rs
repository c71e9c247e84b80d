//! The `utf8fs` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    utf8fs::cli::run()
}
