//! Who waits for a lock.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::inode::lock;
use super::{Answer, no_locks};
use crate::os::signals::is_interrupted;

/// More than this wait for nothing: what they want is refused.
const MOST: usize = 4096;

/// How long it takes at least, and at most, until those who wait are tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// How long somebody waits of whom it can't be told whether a signal has come.
const UNSEEN: Duration = Duration::from_secs(30);

/// Somebody who waits for a lock.
pub(super) struct Waiting {
    /// Tries to get it.
    pub(super) attempt: Box<dyn FnMut() -> io::Result<bool> + Send>,
    /// The thread that waits.
    pub(super) tid: u32,
    /// Where the answer goes.
    pub(super) answer: Answer,
}

#[derive(Default)]
struct State {
    /// Those who came, and since when they wait.
    waiting: Vec<(Instant, Waiting)>,
    /// Has something become free?
    woken: bool,
    /// Is there a thread that tries for them?
    served: bool,
}

/// All who wait, and one thread that tries for them in the order in which they came, as long as there are any.
#[derive(Default)]
pub(super) struct Waiters {
    state: Mutex<State>,
    bell: Condvar,
}

impl std::fmt::Debug for Waiters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiters").finish_non_exhaustive()
    }
}

/// What is to be answered; `None` to go on waiting.
fn outcome(since: Instant, waiting: &mut Waiting) -> Option<Result<(), super::FsError>> {
    let error = |errno| Some(Err(io::Error::from_raw_os_error(errno).into()));
    match (waiting.attempt)() {
        Ok(true) => Some(Ok(())),
        Err(error) => Some(Err(no_locks(error))),
        Ok(false) => match is_interrupted(waiting.tid) {
            Some(false) => None,
            // The kernel starts the call anew after a signal that is handled so.
            Some(true) => error(libc::EINTR),
            None if since.elapsed() < UNSEEN => None,
            None => error(libc::EDEADLK),
        },
    }
}

impl Waiters {
    /// Takes somebody in.
    pub(super) fn add(self: &Arc<Self>, waiting: Waiting) {
        let mut state = lock(&self.state);
        if state.waiting.len() >= MOST {
            drop(state);
            return (waiting.answer)(Err(io::Error::from_raw_os_error(libc::ENOLCK).into()));
        }
        state.waiting.push((Instant::now(), waiting));
        state.woken = true;
        if !state.served {
            let waiters = Arc::clone(self);
            let thread = std::thread::Builder::new().name("locks".to_owned());
            state.served = thread.spawn(move || waiters.serve()).is_ok();
        }
        let refused = match state.served {
            true => None,
            false => state.waiting.pop(),
        };
        drop(state);
        self.bell.notify_one();
        if let Some((_, refused)) = refused {
            (refused.answer)(Err(io::Error::from_raw_os_error(libc::ENOLCK).into()));
        }
    }

    /// Something became free.
    pub(super) fn wake(&self) {
        let mut state = lock(&self.state);
        if !state.waiting.is_empty() || state.served {
            state.woken = true;
            self.bell.notify_one();
        }
    }

    /// Tries for all in turn, until nobody waits.
    fn serve(&self) {
        let mut pause = PAUSES.0;
        loop {
            let trying = std::mem::take(&mut lock(&self.state).waiting);
            let mut still = Vec::with_capacity(trying.len());
            for (since, mut waiting) in trying {
                match outcome(since, &mut waiting) {
                    Some(outcome) => (waiting.answer)(outcome),
                    None => still.push((since, waiting)),
                }
            }
            let mut state = lock(&self.state);
            still.append(&mut state.waiting);
            state.waiting = still;
            if state.waiting.is_empty() {
                state.served = false;
                return;
            }
            if !state.woken {
                state = self
                    .bell
                    .wait_timeout(state, pause)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            pause = match std::mem::take(&mut state.woken) {
                true => PAUSES.0,
                false => (pause * 2).min(PAUSES.1),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn f3_who_cannot_be_seen_waits_for_thirty_seconds_at_most() {
        let mut unseen = Waiting {
            attempt: Box::new(|| Ok(false)),
            tid: 0,
            answer: Box::new(drop),
        };
        let mut after = |waited| {
            let since = Instant::now().checked_sub(Duration::from_secs(waited));
            let outcome = outcome(since.unwrap(), &mut unseen);
            outcome.map(|answer| answer.unwrap_err().errno())
        };
        assert_eq!(after(0), None);
        assert_eq!(after(30), Some(libc::EDEADLK));
    }

    #[test]
    fn f3_who_waits_for_long_is_tried_for_every_fifty_milliseconds() {
        const TRIES: usize = 30;
        let (tried, tries) = channel();
        let (answered, answer) = channel();
        let mut left = TRIES;
        Arc::new(Waiters::default()).add(Waiting {
            attempt: Box::new(move || {
                tried.send(Instant::now()).unwrap();
                left -= 1;
                Ok(left == 0)
            }),
            tid: rustix::thread::gettid()
                .as_raw_nonzero()
                .get()
                .cast_unsigned(),
            answer: Box::new(move |outcome| answered.send(outcome).unwrap()),
        });
        answer.recv().unwrap().unwrap();
        let times: Vec<Instant> = tries.iter().collect();
        assert_eq!(times.len(), TRIES);
        // A pause never ends early, and late on a busy machine: the shortest is what the program waits. Each is twice as long as the one
        // before, so that the next longer one would be 64 ms.
        let pauses = times
            .windows(2)
            .skip(TRIES / 2)
            .map(|pair| pair[1] - pair[0]);
        let shortest = pauses.min().unwrap();
        assert!(shortest < Duration::from_millis(64), "{shortest:?}");
    }
}
