//! Callers whose request was answered with `ESTALE`, which the kernel then repeats.
//!
//! The kernel keeps names for as long as it was told, and asks by inode: an OPEN says which file, not by which name. Where a name that it
//! may have used leads elsewhere by now, the request is answered with `ESTALE`. The kernel then looks each name of the path up anew
//! and asks once more, as the same thread (`retry_estale` in `include/linux/namei.h`, `do_filp_open` in `fs/namei.c`). What it asks for
//! then is right: either the names lead there, or it was reached without them, by `/proc/self/fd` or from a working directory. If
//! the second request fails too, the program sees the error.
//!
//! A call that ends with `ESTALE` for good, as fchmod(2) may, is not asked for again, and nothing tells so. So what is let pass is only the
//! same call, and whatever else the thread asks for ends the matter.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Caller, Place};

/// Most callers that are expected to ask again.
const MOST: usize = 256;

/// The kernel asks again at once. Who comes later than this does not come again, but anew.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Longest time for which an answer to a LOOKUP is on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// A system call that the kernel repeats after `ESTALE`, by what is asked for at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Opens a file or directory, which may make the file.
    Open,
    /// Changes owner, mode, times or size.
    Attributes,
    /// Sets or removes an extended attribute.
    ExtendedAttributes,
    /// Makes, removes or renames an entry.
    Names,
    /// Any: what was asked for is a step on the way, such as the target of a link.
    Any,
}

impl Call {
    /// Returns true if both may belong to one system call.
    fn may_be(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }
}

/// A visible name in the directory of this number, as the kernel may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KernelName {
    /// The node id of the directory.
    pub(super) directory: u64,
    /// The visible name.
    pub(super) name: Box<[u8]>,
}

impl KernelName {
    /// The name by which the kernel may know what was seen at a place.
    pub(super) fn of(place: &Place) -> Self {
        Self {
            directory: place.parent,
            name: place.visible.as_bytes().into(),
        }
    }
}

/// A request that was answered with `ESTALE`.
#[derive(Debug)]
struct Refused {
    caller: Caller,
    call: Call,
    since: Instant,
    /// The name that led elsewhere, if that was why.
    stale: Option<KernelName>,
    /// Has the caller looked that name up since?
    is_looked_up: bool,
}

impl Refused {
    fn is_recent(&self) -> bool {
        self.since.elapsed() < AT_ONCE
    }

    /// Returns true if an inode of which the kernel was told at `told_at` was looked up after this refusal: an answer that was on its way then
    /// counts too.
    fn is_before(&self, told_at: Instant) -> bool {
        told_at + ON_ITS_WAY >= self.since
    }

    fn is_about(&self, (directory, name): (u64, &[u8])) -> bool {
        let is_it = |stale: &KernelName| stale.directory == directory && *stale.name == *name;
        self.stale.as_ref().is_some_and(is_it)
    }
}

/// The requests that were answered with `ESTALE`, one of each caller at most, the last one first.
#[derive(Debug, Default)]
pub(super) struct Retries {
    refused: Mutex<VecDeque<Refused>>,
    is_any: AtomicBool,
}

impl Retries {
    /// Notes that `caller` was answered with `ESTALE`, because a name leads elsewhere if one is given.
    pub(super) fn note(&self, caller: Caller, call: Call, stale: Option<KernelName>) {
        let mut refused = self.refused.lock();
        refused.retain(|other| other.caller != caller && other.is_recent());
        refused.truncate(MOST - 1);
        refused.push_front(Refused {
            caller,
            call,
            since: Instant::now(),
            stale,
            is_looked_up: false,
        });
        self.is_any.store(true, Ordering::Release);
    }

    /// Returns true if `caller` is expected to ask again.
    pub(super) fn has(&self, caller: Caller) -> bool {
        self.of(caller, |_| true)
    }

    /// Returns true if a caller is expected to ask for an inode that the kernel was told of at `told_at`.
    pub(super) fn expects(&self, told_at: Instant) -> bool {
        let is_expected = |refused: &Refused| refused.is_recent() && refused.is_before(told_at);
        self.is_any.load(Ordering::Acquire) && self.refused.lock().iter().any(is_expected)
    }

    /// Returns true if `caller` may reach an inode for the same `call` though `stale` leads elsewhere: he did not use that name, since he was answered with
    /// `ESTALE` for it and has not looked it up; or the kernel was told of the inode after that, at `told_at`, so that a name led there
    /// since the call began. Not the caller need have been told: of several who look one name up at once one asks
    /// (`d_alloc_parallel` in fs/dcache.c).
    pub(super) fn lets_pass(
        &self,
        (caller, call): (Caller, Call),
        told_at: Instant,
        stale: &KernelName,
    ) -> bool {
        self.of(caller, |refused| {
            let is_unused = refused.stale.as_ref() == Some(stale) && !refused.is_looked_up;
            refused.call.may_be(call) && (refused.is_before(told_at) || is_unused)
        })
    }

    /// Notes that `caller` has looked a name up.
    pub(super) fn looked_up(&self, caller: Caller, name: (u64, &[u8])) {
        if self.is_any.load(Ordering::Acquire) {
            let mut refused = self.refused.lock();
            let own = refused.iter_mut().find(|refused| refused.caller == caller);
            if let Some(own) = own {
                own.is_looked_up |= own.is_about(name);
            }
        }
    }

    /// Forgets `caller`, whose request is done.
    pub(super) fn end(&self, caller: Caller) {
        if self.is_any.load(Ordering::Acquire) {
            let mut refused = self.refused.lock();
            refused.retain(|other| other.caller != caller && other.is_recent());
            self.is_any.store(!refused.is_empty(), Ordering::Release);
        }
    }

    /// Asks `test` about the request of `caller`, if there is one; else false.
    fn of(&self, caller: Caller, test: impl FnOnce(&Refused) -> bool) -> bool {
        if !self.is_any.load(Ordering::Acquire) {
            return false;
        }
        let refused = self.refused.lock();
        let own = refused
            .iter()
            .find(|refused| refused.caller == caller && refused.is_recent());
        own.is_some_and(test)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Caller = Caller {
        uid: 7,
        gid: 7,
        pid: 1,
    };
    const B: Caller = Caller { pid: 2, ..A };

    fn name(name: &[u8]) -> KernelName {
        KernelName {
            directory: 1,
            name: name.into(),
        }
    }

    #[test]
    fn f9_who_used_a_stale_name_is_let_pass_only_where_it_led_since() {
        let retries = Retries::default();
        let f = name(b"f");
        let before = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        assert!(!retries.lets_pass((A, Call::Open), before, &f));
        retries.note(A, Call::Open, Some(f.clone()));
        assert!(
            !retries.lets_pass((B, Call::Open), before, &f),
            "another caller"
        );
        assert!(
            !retries.lets_pass((A, Call::Open), before, &name(b"g")),
            "another name"
        );
        assert!(
            retries.lets_pass((A, Call::Open), before, &f),
            "not used: it was not looked up"
        );
        assert!(
            !retries.lets_pass((A, Call::Names), before, &f),
            "another call"
        );
        assert!(
            retries.lets_pass((A, Call::Any), before, &f),
            "a step on the way"
        );
        retries.looked_up(B, (1, b"f"));
        retries.looked_up(A, (1, b"g"));
        retries.looked_up(A, (2, b"f"));
        assert!(
            retries.lets_pass((A, Call::Open), before, &f),
            "still not looked up"
        );
        retries.looked_up(A, (1, b"f"));
        assert!(
            !retries.lets_pass((A, Call::Open), before, &f),
            "used, and it leads elsewhere"
        );
        assert!(!retries.expects(before));
        let since = Instant::now();
        assert!(
            retries.lets_pass((A, Call::Open), since, &f),
            "it led there when it was looked up"
        );
        assert!(retries.expects(since));
        retries.end(A);
        assert!(!retries.lets_pass((A, Call::Open), since, &f));
        assert!(!retries.has(A) && !retries.expects(since));
    }

    #[test]
    fn as_many_callers_are_known_as_there_is_room_for() {
        let retries = Retries::default();
        for pid in 0..=300 {
            retries.note(Caller { pid, ..A }, Call::Names, None);
        }
        assert!(!retries.has(Caller { pid: 0, ..A }));
        assert!(retries.has(Caller { pid: 300, ..A }));
    }
}
