//! Names that are taken from the kernel before their entries are changed by another spelling (law N10).
//!
//! The kernel keeps the name that an entry is listed under, as it keeps any other (law N14). Another spelling of it, an alias, is not
//! kept, so that whoever uses one asks for it first. But to the kernel alias and listed name are two names: if the entry is removed,
//! moved or replaced by its alias, the kernel would go on with the listed one.
//!
//! So such a change is first answered with `ESTALE`. The kernel lets go of the directory's lock, a thread of ours has it expire the
//! listed name meanwhile, and then the kernel asks again (`retry_estale` in `include/linux/namei.h`), as the same thread. On its way
//! it looks the directory up, or asks for its attributes, which it was told to forget, before it takes the lock again (`may_lookup`
//! in `fs/namei.c`). The answer to that waits until the name is expired.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::dentries::{Name, OwnedName};
use crate::fs::Caller;

/// Most changes that are to be asked for again. Where there are more, the oldest are taken for done.
const MOST: usize = 256;

/// The kernel asks again at once. Who comes later than this does not come again, but anew.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The longest time that the answer about a directory waits for a name in it to be expired: whoever works in the directory delays that.
const PATIENCE: Duration = Duration::from_secs(1);

/// A change by an alias that is to be asked for again.
#[derive(Debug)]
struct Withdrawal {
    caller: Caller,
    /// The name that the entry is listed under.
    listed: OwnedName,
    since: Instant,
    /// The kernel has expired the name.
    is_done: bool,
}

impl Withdrawal {
    fn is_recent(&self) -> bool {
        self.since.elapsed() < AT_ONCE
    }

    fn is_about(&self, (directory, name): Name<'_>) -> bool {
        self.listed.0 == directory && *self.listed.1 == *name
    }
}

/// The changes by aliases that are under way.
#[derive(Debug, Default)]
pub(super) struct Withdrawals {
    all: Mutex<Vec<Withdrawal>>,
    count: AtomicUsize,
    done: Condvar,
}

impl Withdrawals {
    /// Returns true if the kernel must not keep `name` for now.
    pub(super) fn bar(&self, name: Name<'_>) -> bool {
        self.is_any()
            && self
                .all
                .lock()
                .iter()
                .any(|own| own.is_recent() && own.is_about(name))
    }

    /// Begins to take `listed` from the kernel for `caller`. False if that was begun before: he asks again.
    pub(super) fn begin(&self, caller: Caller, listed: Name<'_>) -> bool {
        let mut all = self.all.lock();
        all.retain(Withdrawal::is_recent);
        let is_own = |own: &Withdrawal| own.caller == caller && own.is_about(listed);
        let is_new = !all.iter().any(is_own);
        if is_new {
            if all.len() >= MOST {
                all.remove(0);
            }
            all.push(Withdrawal {
                caller,
                listed: (listed.0, listed.1.into()),
                since: Instant::now(),
                is_done: false,
            });
        }
        self.count.store(all.len(), Ordering::Release);
        is_new
    }

    /// Notes that the kernel has expired a name.
    pub(super) fn is_expired(&self, listed: Name<'_>) {
        let mut all = self.all.lock();
        for own in all.iter_mut().filter(|own| own.is_about(listed)) {
            own.is_done = true;
        }
        drop(all);
        self.done.notify_all();
    }

    /// Waits until all names are expired that are being taken from the kernel for `caller`, but not for long. A lookup in the directory
    /// of such a name holds the directory's lock, so that it must not wait: it is `looking_in` that.
    pub(super) fn wait(&self, caller: Caller, looking_in: Option<u64>) {
        if !self.is_any() {
            return;
        }
        let is_own = |own: &&Withdrawal| own.caller == caller && own.is_recent();
        let mut all = self.all.lock();
        if all
            .iter()
            .filter(is_own)
            .any(|own| Some(own.listed.0) == looking_in)
        {
            return;
        }
        let is_pending = |all: &mut Vec<Withdrawal>| {
            let mut own = all.iter().filter(is_own);
            own.any(|own| !own.is_done)
        };
        let waited = self.done.wait_while_for(&mut all, is_pending, PATIENCE);
        if waited.timed_out() {
            log::debug!("a name is changed by another spelling before the kernel has let go of it");
        }
    }

    /// The change of `caller` is over.
    pub(super) fn end(&self, caller: Caller) {
        if self.is_any() {
            let mut all = self.all.lock();
            all.retain(|own| own.caller != caller && own.is_recent());
            self.count.store(all.len(), Ordering::Release);
        }
    }

    fn is_any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::samples::CALLER;

    const A: Caller = Caller { pid: 1, ..CALLER };
    const B: Caller = Caller { pid: 2, ..CALLER };
    const NAME: Name<'_> = (7, b"a");

    #[test]
    fn n10_a_change_by_an_alias_is_let_through_the_second_time() {
        let withdrawals = Withdrawals::default();
        assert!(!withdrawals.bar(NAME));
        assert!(withdrawals.begin(A, NAME));
        assert!(withdrawals.bar(NAME) && !withdrawals.bar((8, b"a")));
        assert!(withdrawals.begin(B, NAME), "another caller");
        assert!(!withdrawals.begin(A, NAME), "again");
        withdrawals.end(A);
        assert!(withdrawals.bar(NAME), "the other is to come");
        assert!(!withdrawals.begin(B, NAME));
        withdrawals.end(B);
        assert!(!withdrawals.bar(NAME));
        assert!(withdrawals.begin(A, NAME), "another change");
    }

    #[test]
    fn n10_who_asks_again_waits_for_his_names_alone_and_not_for_long() {
        let withdrawals = Withdrawals::default();
        withdrawals.wait(A, None);
        withdrawals.begin(A, NAME);
        withdrawals.begin(B, (8, b"b"));
        let since = Instant::now();
        withdrawals.wait(A, None);
        assert!(since.elapsed() >= PATIENCE, "it is not expired");
        // With the lock of the directory.
        withdrawals.wait(A, Some(NAME.0));
        assert!(since.elapsed() < 2 * PATIENCE);
        std::thread::scope(|scope| {
            scope.spawn(|| withdrawals.is_expired(NAME));
            withdrawals.wait(A, None);
        });
        let is_done = |own: &Withdrawal| own.is_about(NAME) == own.is_done;
        assert!(withdrawals.all.lock().iter().all(is_done));
    }

    #[test]
    fn as_many_are_known_as_there_is_room_for() {
        let withdrawals = Withdrawals::default();
        for directory in 0..=MOST as u64 {
            withdrawals.begin(A, (directory, b"a"));
        }
        assert!(!withdrawals.bar((0, b"a")));
        assert!(withdrawals.bar((MOST as u64, b"a")));
    }
}
