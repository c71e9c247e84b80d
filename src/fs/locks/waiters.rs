//! Requests that wait for a lock.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::super::FsError;
use super::{Answer, no_locks};

/// More than this wait for nothing: what they want is refused.
const MOST: usize = 4096;

/// Shortest and longest pause between tries for those who wait.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// The kernel may interrupt a request before its waiting has begun; so many such are remembered.
const MOST_EARLY: usize = 64;

/// Somebody who waits for a lock.
pub(super) struct Waiting {
    /// The kernel's id of the request.
    pub(super) unique: u64,
    /// Tries to get it.
    pub(super) attempt: Box<dyn FnMut() -> io::Result<bool> + Send>,
    /// The receiver of the answer.
    pub(super) answer: Answer,
}

impl Waiting {
    /// Answers, once the open file is not in use for it any more: whoever hears of it may close that, which is to close the
    /// backing file.
    fn end(self, outcome: Result<(), FsError>) {
        drop(self.attempt);
        (self.answer)(outcome);
    }
}

#[derive(Default)]
struct State {
    /// Requests in the order in which they came.
    waiting: Vec<Waiting>,
    /// The requests that were interrupted, of whoever waits or not, since the thread that tries looked last.
    interrupted: Vec<u64>,
    /// Has something become free?
    woken: bool,
    /// Is there a thread that tries for them?
    served: bool,
}

impl State {
    /// Takes all who wait: those who go on, and those who were interrupted.
    fn take(&mut self) -> (Vec<Waiting>, Vec<Waiting>) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut interrupted: HashSet<u64> = self.interrupted.iter().copied().collect();
        let waiting = waiting.into_iter();
        let parted = waiting.partition(|waiting| !interrupted.remove(&waiting.unique));
        self.interrupted
            .retain(|unique| interrupted.contains(unique));
        self.forget_early();
        parted
    }

    /// Forgets most of the interrupted requests of which none waits.
    fn forget_early(&mut self) {
        let excess = self.interrupted.len().saturating_sub(MOST_EARLY);
        self.interrupted.drain(..excess);
    }
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

impl Waiters {
    /// Takes somebody in.
    ///
    /// # Errors
    /// `ENOLCK`: too many wait.
    pub(super) fn add(self: &Arc<Self>, waiting: Waiting) -> Result<(), FsError> {
        let mut state = self.state.lock();
        if state.waiting.len() >= MOST {
            return Err(Errno::NOLCK.into());
        }
        if !state.served {
            let waiters = Arc::clone(self);
            let thread = std::thread::Builder::new().name("locks".to_owned());
            let served = thread.spawn(move || waiters.serve());
            served.map_err(|_no_thread| Errno::NOLCK)?;
            state.served = true;
        }
        state.waiting.push(waiting);
        state.woken = true;
        drop(state);
        self.bell.notify_one();
        Ok(())
    }

    /// Ends the wait of this request.
    pub(super) fn interrupt(&self, unique: u64) {
        let mut state = self.state.lock();
        state.interrupted.push(unique);
        if !state.served {
            state.forget_early();
        }
        state.woken = true;
        self.bell.notify_one();
    }

    /// Something became free.
    pub(super) fn wake(&self) {
        let mut state = self.state.lock();
        if !state.waiting.is_empty() || state.served {
            state.woken = true;
            self.bell.notify_one();
        }
    }

    /// Tries for all in turn, until nobody waits.
    fn serve(&self) {
        let mut pause = PAUSES.0;
        loop {
            let (trying, interrupted) = self.state.lock().take();
            for waiting in interrupted {
                // The kernel starts the call anew after a signal that is handled so.
                waiting.end(Err(Errno::INTR.into()));
            }
            let mut still = Vec::with_capacity(trying.len());
            for mut waiting in trying {
                match (waiting.attempt)() {
                    Ok(true) => waiting.end(Ok(())),
                    Err(error) => waiting.end(Err(no_locks(error))),
                    Ok(false) => still.push(waiting),
                }
            }
            let mut state = self.state.lock();
            still.append(&mut state.waiting);
            state.waiting = still;
            if state.waiting.is_empty() {
                state.served = false;
                return;
            }
            if !state.woken {
                self.bell.wait_for(&mut state, pause);
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
    use std::time::Instant;

    use super::*;

    #[test]
    fn f3_who_is_interrupted_waits_no_more_whichever_is_heard_of_first() {
        let waiters = Arc::new(Waiters::default());
        let (answered, answer) = channel();
        let waiting = |unique| {
            let answered = answered.clone();
            Waiting {
                unique,
                attempt: Box::new(|| Ok(false)),
                answer: Box::new(move |outcome: Result<(), FsError>| {
                    answered
                        .send((unique, outcome.unwrap_err().errno()))
                        .unwrap();
                }),
            }
        };
        waiters.interrupt(1);
        waiters.add(waiting(1)).unwrap();
        assert_eq!(answer.recv(), Ok((1, libc::EINTR)));
        waiters.add(waiting(2)).unwrap();
        waiters.add(waiting(3)).unwrap();
        waiters.interrupt(3);
        assert_eq!(answer.recv(), Ok((3, libc::EINTR)));
        waiters.interrupt(2);
        assert_eq!(answer.recv(), Ok((2, libc::EINTR)));
        let many: Vec<u64> = (10..310).collect();
        for &unique in &many {
            waiters.add(waiting(unique)).unwrap();
        }
        for &unique in &many {
            waiters.interrupt(unique);
        }
        let mut answered: Vec<u64> = (0..many.len()).map(|_| answer.recv().unwrap().0).collect();
        answered.sort_unstable();
        assert_eq!(answered, many);
    }

    #[test]
    fn f3_who_waits_for_long_is_tried_for_every_fifty_milliseconds() {
        const TRIES: usize = 30;
        let (tried, tries) = channel();
        let (answered, answer) = channel();
        let mut left = TRIES;
        let waiters = Arc::new(Waiters::default());
        let waiting = Waiting {
            unique: 1,
            attempt: Box::new(move || {
                tried.send(Instant::now()).unwrap();
                left -= 1;
                Ok(left == 0)
            }),
            answer: Box::new(move |outcome| answered.send(outcome).unwrap()),
        };
        waiters.add(waiting).unwrap();
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
