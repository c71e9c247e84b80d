//! Exit codes: part of the interface (law L4).

/// How the program ended. Codes are never given another meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// 0: done; for `explain`, every name conforms.
    Ok,
    /// 1: done, and some names do not conform.
    NotConforming,
    /// 1: the command was understood, but could not be carried out.
    Failure,
    /// 2: wrong or contradictory arguments, or directories that cannot be mounted; nothing was done.
    Usage,
    /// What the daemon in the background ended with, or 128 plus the signal that killed it; 0 if it serves.
    Daemon(u8),
}

impl ExitCode {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::NotConforming | Self::Failure => 1,
            Self::Usage => 2,
            Self::Daemon(code) => code,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(exit: ExitCode) -> Self {
        Self::from(exit.code())
    }
}
