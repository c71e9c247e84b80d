//! (to come)
/// Runs the program.
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
