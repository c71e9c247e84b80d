//! Who is let into a directory of the kernel's: it takes a directory that was moved below from where it knew it only if nobody
//! works there at that moment, and else fails the lookup with `ESTALE`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fs::inode::lock;

/// So long after it was told of a directory that was moved, the kernel has taken it over, or asks once more.
const TAKES: Duration = Duration::from_millis(20);

/// No longer than this somebody is made to wait: what one waits for may wait for the other.
const PATIENCE: Duration = Duration::from_millis(100);

/// A directory that the kernel is being told of in another place.
#[derive(Debug)]
struct Leaving {
    inode: u64,
    from: u64,
    until: Instant,
}

#[derive(Debug, Default)]
struct State {
    /// The directory in which the kernel is being told to forget a name.
    inside: Option<u64>,
    leaving: Vec<Leaving>,
}

/// Keeps forgetting names in a directory, and answering that something of it was moved elsewhere, apart.
#[derive(Debug)]
pub(super) struct Gate {
    /// No other lock is taken while this one is held.
    state: Mutex<State>,
    /// How many are leaving, at least.
    count: AtomicUsize,
    changed: Condvar,
    /// [`TAKES`] and [`PATIENCE`], but in tests.
    takes: Duration,
    patience: Duration,
}

impl Default for Gate {
    fn default() -> Self {
        Self::of(TAKES, PATIENCE)
    }
}

impl Gate {
    fn of(takes: Duration, patience: Duration) -> Self {
        Self {
            state: Mutex::default(),
            count: AtomicUsize::new(0),
            changed: Condvar::new(),
            takes,
            patience,
        }
    }

    /// To be called before it is answered that the directory `inode` is not in `from` any more. Waits until the kernel is not
    /// being told of a name there, but not for long.
    pub(super) fn leave(&self, inode: u64, from: u64) {
        let mut state = lock(&self.state);
        state.leaving.retain(|leaving| leaving.inode != inode);
        state.leaving.push(Leaving {
            inode,
            from,
            until: Instant::now() + self.patience + self.takes,
        });
        self.count.store(state.leaving.len(), Ordering::Release);
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, self.patience, |state| state.inside == Some(from))
            .unwrap_or_else(PoisonError::into_inner);
        self.extend(&mut state, inode);
    }

    /// To be called before the directory `inode` is answered where it was before: the kernel may ask once more.
    pub(super) fn stay(&self, inode: u64) {
        if self.count.load(Ordering::Acquire) > 0 {
            self.extend(&mut lock(&self.state), inode);
        }
    }

    fn extend(&self, state: &mut State, inode: u64) {
        let until = Instant::now() + self.takes;
        for leaving in &mut state.leaving {
            if leaving.inode == inode {
                leaving.until = until;
            }
        }
    }

    /// Is nothing being taken out of this directory?
    pub(super) fn is_free(&self, directory: u64) -> bool {
        self.count.load(Ordering::Acquire) == 0 || !Self::is_left(&mut lock(&self.state), directory)
    }

    fn is_left(state: &mut State, directory: u64) -> bool {
        let now = Instant::now();
        state.leaving.retain(|leaving| leaving.until > now);
        state
            .leaving
            .iter()
            .any(|leaving| leaving.from == directory)
    }

    /// Has the kernel forget a name in `directory`, once nothing is being taken out of that; waits for it, but not for long.
    pub(super) fn enter(&self, directory: u64, forget: impl FnOnce()) {
        let start = Instant::now();
        let mut state = lock(&self.state);
        while Self::is_left(&mut state, directory) && start.elapsed() < self.patience {
            (state, _) = self
                .changed
                .wait_timeout(state, self.takes / 4)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.count.store(state.leaving.len(), Ordering::Release);
        state.inside = Some(directory);
        drop(state);
        forget();
        lock(&self.state).inside = None;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;
    use crate::wait::until;

    /// Longer than a thread of a test is kept from a busy processor: nothing ends by itself meanwhile.
    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn whoever_takes_a_directory_out_waits_for_a_name_being_forgotten_there() {
        let gate = Gate::of(LONG, LONG);
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            gate.enter(7, || {
                // Another directory is another matter.
                gate.leave(1, 8);
                scope.spawn(|| {
                    gate.leave(2, 7);
                    is_done.store(true, Ordering::Release);
                });
                until(|| !gate.is_free(7));
                assert!(!is_done.load(Ordering::Acquire));
            });
        });
        assert!(is_done.load(Ordering::Acquire));
    }

    #[test]
    fn nobody_waits_for_ever() {
        let gate = Gate::default();
        // Who forgets the name waits for this one.
        gate.enter(7, || gate.leave(2, 7));
    }

    #[test]
    fn what_is_being_taken_out_of_is_not_free() {
        let gate = Gate::of(LONG, LONG);
        assert!(gate.is_free(7));
        gate.leave(2, 7);
        assert!(!gate.is_free(7));
        assert!(gate.is_free(2));
    }

    #[test]
    fn a_name_is_forgotten_when_nothing_is_being_taken_out_any_more() {
        let gate = Gate::default();
        gate.leave(2, 7);
        let mut is_free = false;
        gate.enter(7, || is_free = gate.is_free(7));
        assert!(is_free);
    }
}
