use super::*;
use crate::wait::until;

/// A moment of a test, so many milliseconds after its start.
fn look(start: Look, millis: u64) -> Look {
    let later = Duration::from_millis(millis);
    Look {
        at: start.at + later,
        clock: start.clock + later,
    }
}

fn seen(ctime: i64, mtime: i64, size: u64) -> Seen {
    let time = |secs| Time { secs, nanos: 1 };
    Seen {
        ctime: time(ctime),
        is_settled: true,
        looks: Looks {
            mtime: time(mtime),
            size,
        },
    }
}

fn pages() -> (Pages, Look) {
    (Pages::looked_at(Duration::from_secs(1), true), Look::now())
}

#[test]
fn pages_are_kept_from_one_open_to_the_next_while_the_file_stays_as_it_was() {
    let (pages, start) = pages();
    let open = |now, millis| {
        let keeps = pages.open(1, now, look(start, millis));
        pages.close(1);
        keeps
    };
    assert!(!open(Some(seen(5, 5, 9)), 0));
    assert!(open(Some(seen(5, 5, 9)), 1));
    assert!(open(Some(seen(5, 5, 9)), 59_999));
    // A mapping below may have changed it.
    assert!(!open(Some(seen(5, 5, 9)), 60_000));
    assert!(open(Some(seen(5, 5, 9)), 61_000));
    // Only the ctime tells.
    assert!(!open(Some(seen(6, 5, 9)), 62_000));
    // The answer to that may be on its way.
    assert!(!open(Some(seen(6, 5, 9)), 62_999));
    assert!(open(Some(seen(6, 5, 9)), 63_000));
    assert!(!open(None, 64_000));
    assert!(!open(None, 66_000));
}

#[test]
fn pages_of_who_keeps_nothing_go_with_the_last_open() {
    let pages = Pages::looked_at(Duration::from_secs(1), false);
    let start = Look::now();
    for millis in [0, 2000] {
        assert!(!pages.open(1, Some(seen(5, 5, 9)), look(start, millis)));
        assert!(!pages.open(1, Some(seen(5, 5, 9)), look(start, millis)));
        assert!(pages.is_any());
        pages.close(1);
        assert!(pages.is_any());
        pages.close(1);
        assert!(!pages.is_any());
    }
}

#[test]
fn what_the_kernel_takes_no_notice_of_is_outdated() {
    let (pages, start) = pages();
    pages.open(1, Some(seen(5, 5, 9)), start);
    let outdated = |now| pages.outdated(1, now).is_some();
    assert!(!outdated(seen(5, 5, 9)));
    // It is not known yet which time the kernel was told.
    assert!(outdated(seen(6, 5, 9)));
    assert!(outdated(seen(6, 6, 9)));
    assert!(!outdated(seen(6, 5, 8)));
    assert!(pages.tell(1, seen(5, 5, 9)));
    assert!(outdated(seen(6, 5, 9)));
    assert!(!outdated(seen(6, 6, 9)));
    // Told by a lookup, it keeps its pages; so it must ask once more.
    assert!(!pages.tell(1, seen(6, 5, 9)));
    assert!(outdated(seen(6, 5, 9)));
    // With these it drops them, and then the time is put back to these.
    assert!(pages.tell(1, seen(7, 7, 9)));
    assert!(!outdated(seen(7, 7, 9)));
    assert!(outdated(seen(8, 7, 9)));
    assert!(!outdated(seen(8, 5, 9)));
    assert!(pages.outdated(2, seen(8, 7, 9)).is_none());
}

#[test]
fn what_was_dropped_is_right_unless_more_was_learned_meanwhile() {
    let (pages, start) = pages();
    pages.open(1, Some(seen(5, 5, 9)), start);
    let now = seen(6, 5, 9);
    let version = pages.outdated(1, now).unwrap();
    pages.renew(1, version, Some(now), start);
    assert!(pages.outdated(1, now).is_none());
    // Another open has them dropped, but others may read before that.
    assert!(!pages.open(1, Some(seen(8, 5, 9)), start));
    let version = pages.outdated(1, seen(8, 5, 9)).unwrap();
    assert!(pages.tell(1, seen(6, 5, 9)) && pages.tell(1, seen(9, 9, 8)));
    pages.renew(1, version, Some(seen(8, 5, 9)), start);
    assert!(pages.worn(1, Some(seen(9, 9, 8)), start).is_some());
}

#[test]
fn open_files_are_dropped_that_changed_or_got_old_or_are_in_doubt() {
    let (pages, start) = pages();
    let worn = |now, millis| pages.worn(1, now, look(start, millis));
    pages.open(1, Some(seen(5, 5, 9)), start);
    assert_eq!(pages.opens(), [1]);
    assert!(worn(Some(seen(5, 5, 9)), 59_999).is_none());
    assert!(worn(Some(seen(5, 5, 9)), 60_000).is_some());
    assert!(worn(None, 0).is_some());
    let version = worn(Some(seen(6, 6, 9)), 1).unwrap();
    pages.renew(1, version, Some(seen(6, 6, 9)), look(start, 1));
    assert!(worn(Some(seen(6, 6, 9)), 60_000).is_none());
    // It may not have taken what it was told.
    assert!(pages.tell(1, seen(6, 6, 9)) && pages.tell(1, seen(7, 7, 9)));
    let version = worn(Some(seen(7, 7, 9)), 2).unwrap();
    pages.renew(1, version, Some(seen(7, 7, 9)), look(start, 2));
    assert!(worn(Some(seen(7, 7, 9)), 3).is_none());
    pages.close(1);
    assert!(pages.opens().is_empty());
    assert!(worn(Some(seen(8, 8, 9)), 4).is_none());
}

#[test]
fn a_change_within_a_tick_of_the_clock_is_not_taken_for_none() {
    let time = |secs, nanos| Time { secs, nanos };
    let clock = UNIX_EPOCH + Duration::from_secs(1000);
    let at = Instant::now();
    let is_settled = |changed| Look { at, clock }.is_settled(changed);
    assert!(!is_settled(time(999, 999_999_999)));
    assert!(!is_settled(time(999, 990_000_001)));
    assert!(is_settled(time(999, 990_000_000)));
    assert!(!is_settled(time(1000, 9_999_999)));
    assert!(is_settled(time(1000, 10_000_000)));
    // A filesystem that counts in seconds.
    assert!(!is_settled(time(999, 0)));
    assert!(is_settled(time(998, 0)));
    assert!(is_settled(time(-5, 0)) && is_settled(time(i64::MAX, 0)));

    let (pages, start) = pages();
    let fresh = Seen {
        is_settled: false,
        ..seen(5, 5, 9)
    };
    pages.open(1, Some(fresh), start);
    assert!(pages.tell(1, seen(5, 5, 9)));
    assert!(pages.worn(1, Some(seen(5, 5, 9)), start).is_some());
    pages.close(1);
    assert!(!pages.open(1, Some(seen(5, 5, 9)), look(start, 2000)));
    pages.close(1);
    assert!(pages.open(1, Some(seen(5, 5, 9)), look(start, 3000)));
}

#[test]
fn what_the_kernel_has_forgotten_takes_no_memory() {
    let (pages, start) = pages();
    for number in 0..10_000 {
        pages.open(number, Some(seen(5, 5, 9)), start);
        pages.close(number);
    }
    assert!(pages.is_any());
    for number in 0..10_000 {
        pages.forget(number);
    }
    assert!(!pages.is_any());
    for shard in &pages.shards {
        assert!(lock(shard).known.capacity() <= 4 * SMALL_SHARD);
    }
    // The file is closed only then.
    pages.open(1, Some(seen(5, 5, 9)), start);
    pages.forget(1);
    assert_eq!(pages.opens(), [1]);
    pages.close(1);
    assert!(!pages.is_any() && pages.opens().is_empty());
    pages.close(1);
    // There is nothing to keep of an empty one.
    pages.open(1, Some(seen(5, 5, 0)), start);
    pages.close(1);
    assert!(!pages.is_any());
}

#[test]
fn who_looks_is_woken_by_an_open_and_by_the_end() {
    let pages = Pages::looked_at(Duration::from_millis(1), true);
    std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut looks = 0;
            while pages.wait() {
                looks += usize::from(!pages.opens().is_empty());
                if looks == 3 {
                    pages.close(1);
                }
            }
            looks
        });
        pages.open(1, Some(seen(5, 5, 9)), Look::now());
        until(|| pages.open.load(Ordering::SeqCst) == 0 && lock(&pages.sleep).is_deep);
        pages.end();
        assert_eq!(looker.join().unwrap(), 3);
    });
}
