//! SIGINT and SIGTERM while `migrate` and `undo` work: the first stops cleanly, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::{CommandError, Doing};

/// Whether somebody asked to stop.
#[derive(Debug)]
pub(super) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// Watches from now on.
    pub(super) fn watch() -> Result<Self, CommandError> {
        let asked = Arc::new(AtomicUsize::new(0));
        let is_asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or(0);
            // In this order: the second one finds that there was a first. What was done by then is in the journal.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_asked))
                .and_then(|_| flag::register(signal, Arc::clone(&is_asked)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&asked), number))
                .doing("watch signals")?;
        }
        Ok(Self(asked))
    }

    /// The signal that asked to stop, if one did.
    pub(super) fn signal(&self) -> Option<u8> {
        let signal = self.0.load(Ordering::Relaxed);
        u8::try_from(signal).ok().filter(|&signal| signal != 0)
    }
}
