//! Law N11: at every instant exactly one entry has a visible name, also when many want it at once. No kernel holds them back here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use rustix::io::Errno;

use super::{Scratch, map};
use crate::at;
use crate::codec::Form;
use crate::names::{Legacy, NameMap, OnViolation};

const THREADS: usize = 8;
const SPELLINGS: [&[u8]; 3] = [b"\xE9", b"\xC3\xA9", b"e\xCC\x81"];

/// Under `normalize`, legacy names are those of ISO 8859-1.
fn normalizing(form: Option<Form>) -> Scratch {
    let mut map = NameMap {
        on_violation: OnViolation::Normalize,
        ..map(Legacy::Decode, &["iso-8859-1"])
    };
    map.policy.form = form;
    Scratch::new(map, &[])
}

/// Many create one name in all its spellings: one succeeds; many remove it: one succeeds.
#[test]
fn of_many_that_create_or_remove_a_name_one_succeeds() {
    let scratch = normalizing(Some(Form::Nfc));
    let dir = scratch.root();
    let barrier = Barrier::new(THREADS);
    let counts: Vec<(AtomicUsize, AtomicUsize)> = (0..100).map(|_| Default::default()).collect();
    // Collected, since a thread that panics would leave the others at the barrier.
    let surprises = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, counts, surprises) = (&barrier, &counts, &surprises);
            scope.spawn(move || {
                for (round, (made, removed)) in counts.iter().enumerate() {
                    let spelling = SPELLINGS[(thread + round) % SPELLINGS.len()];
                    barrier.wait();
                    match dir.create_new(spelling) {
                        Ok(()) => _ = made.fetch_add(1, Ordering::Relaxed),
                        Err(Errno::EXIST) => {}
                        Err(error) => surprises.lock().unwrap().push(error),
                    }
                    barrier.wait();
                    match dir.unlink(spelling) {
                        Ok(()) => _ = removed.fetch_add(1, Ordering::Relaxed),
                        Err(Errno::NOENT) => {}
                        Err(error) => surprises.lock().unwrap().push(error),
                    }
                }
            });
        }
    });
    assert_eq!(surprises.into_inner().unwrap(), []);
    for (made, removed) in &counts {
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!(removed.load(Ordering::Relaxed), 1);
    }
    assert!(at::list(scratch.below_dir()).is_empty());
}

/// Many in one directory, each with names of its own: nothing is lost.
#[test]
fn many_that_work_side_by_side_lose_nothing() {
    let scratch = normalizing(None);
    let dir = scratch.root();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..200 {
                    let name = [format!("{thread}-{number}-").as_bytes(), b"\xE9"].concat();
                    let shown = format!("{thread}-{number}-é").into_bytes();
                    dir.write_new(&name, &shown).unwrap();
                    assert_eq!(dir.read(&shown).unwrap(), shown);
                    if number % 2 == 0 {
                        dir.unlink(&shown).unwrap();
                        assert_eq!(dir.stat(&name), Err(Errno::NOENT));
                    }
                }
            });
        }
    });
    assert_eq!(scratch.list().len(), THREADS * 100);
    assert_eq!(scratch.list(), at::sorted(scratch.below_dir()));
}
