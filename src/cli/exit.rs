//! Exit codes: part of the interface (law L4).

/// The end of the program. Codes are never given another meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// 0: done; for `explain` and `scan`, every name conforms.
    Ok,
    /// 1: done, and some names do not conform.
    NotConforming,
    /// 1: the command was understood, but could not be carried out.
    Failure,
    /// 2: wrong or contradictory arguments, or directories that cannot be mounted; nothing was done.
    Usage,
    /// 3: not everything could be read; the rest was done, whatever came of it. Of `scan` and `audit` also: not everything could be
    /// written.
    Incomplete,
    /// 128 plus the signal that it stopped for, as 130 for SIGINT; what was begun can be gone on with.
    Stopped(u8),
    /// The exit code of the daemon in the background, or 128 plus the signal that killed it; 0 if it serves.
    Passed(u8),
}

impl ExitCode {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::NotConforming | Self::Failure => 1,
            Self::Usage => 2,
            Self::Incomplete => 3,
            Self::Stopped(signal) => signal.saturating_add(128),
            Self::Passed(code) => code,
        }
    }
}
