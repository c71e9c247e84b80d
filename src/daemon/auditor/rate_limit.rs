//! The rate limit of the audit log (law L3): a token bucket for each offender and directory.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::records::{LeftOutRecord, Name};

/// Number of pairs of offender and directory that are remembered.
pub(super) const PAIRS: usize = 4096;

/// The price of a record that no time pays for: longer than machines run.
const NEVER: Duration = Duration::from_secs(86_400 * 3650);

/// A user id, and the number of the directory in which that user offends.
pub(super) type Pair = (u32, u64);

/// The buckets of the [`PAIRS`] that offended last.
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    /// Cost of a record.
    price: Duration,
    /// Capacity of a bucket.
    full: Duration,
    buckets: HashMap<Pair, Bucket>,
}

/// Time saved up, to be spent on records.
#[derive(Debug)]
struct Bucket {
    saved: Duration,
    seen: Instant,
    left_out: u64,
    directory: Name,
}

impl RateLimit {
    /// A limit with no pairs yet.
    pub(super) fn new(burst: u32, per_minute: u32) -> Self {
        let minute = Duration::from_secs(60);
        let price = minute.checked_div(per_minute).unwrap_or(NEVER);
        Self {
            price,
            full: price.saturating_mul(burst),
            buckets: HashMap::new(),
        }
    }

    /// Makes room for `pair` where there is none: forgets the pair that has been quiet for longest. Returns what was left out of that,
    /// to be reported now.
    pub(super) fn make_room(&mut self, pair: Pair) -> Option<LeftOutRecord> {
        if self.buckets.len() < PAIRS || self.buckets.contains_key(&pair) {
            return None;
        }
        let oldest = self.buckets.iter().min_by_key(|(_, bucket)| bucket.seen);
        let oldest = oldest.map(|(pair, _)| *pair)?;
        left_out(self.buckets.remove_entry(&oldest)?)
    }

    /// Decides on a record of `pair` at the time `now`; `path` is the visible path of the name, in the pair's directory. Returns the
    /// number of records of the pair that were left out before this one; `None` if it is left out too.
    pub(super) fn admit(&mut self, pair: Pair, path: &Path, now: Instant) -> Option<u64> {
        let bucket = self.buckets.entry(pair).or_insert_with(|| Bucket {
            saved: self.full,
            seen: now,
            left_out: 0,
            directory: Name::default(),
        });
        let passed = now.saturating_duration_since(bucket.seen);
        bucket.saved = bucket.saved.saturating_add(passed).min(self.full);
        bucket.seen = bucket.seen.max(now);
        if let Some(rest) = bucket.saved.checked_sub(self.price) {
            bucket.saved = rest;
            return Some(std::mem::take(&mut bucket.left_out));
        }
        if bucket.left_out == 0 {
            bucket.directory = Name::of_path(path.parent().unwrap_or(path));
        }
        bucket.left_out += 1;
        None
    }

    /// Forgets every pair. Returns what was left out of them and not yet reported, in the order of user and directory.
    pub(super) fn drain(&mut self) -> Vec<LeftOutRecord> {
        let mut all: Vec<(Pair, Bucket)> = self.buckets.drain().collect();
        all.sort_unstable_by_key(|&(pair, _)| pair);
        all.into_iter().filter_map(left_out).collect()
    }
}

/// Returns the record of what was left out of a pair, if anything was.
fn left_out(((uid, _), bucket): (Pair, Bucket)) -> Option<LeftOutRecord> {
    (bucket.left_out > 0).then_some(LeftOutRecord {
        directory: bucket.directory,
        uid,
        left_out: bucket.left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(limit: &mut RateLimit, pair: (u32, u64), now: Instant) -> Option<u64> {
        assert_eq!(limit.make_room(pair), None);
        limit.admit(pair, Path::new("/d/x"), now)
    }

    /// Law L3: a burst passes, then one a second; the next that passes says how many did not.
    #[test]
    fn a_burst_passes_and_then_what_time_fills_in() {
        let mut limit = RateLimit::new(3, 60);
        let start = Instant::now();
        let rows = [
            // milliseconds, passes with this many left out
            (0, Some(0)),
            (0, Some(0)),
            (10, Some(0)),
            (10, None),
            (900, None),
            (1000, Some(2)),
            (1500, None),
            (1999, None),
            (2000, Some(2)),
            (60_000, Some(0)),
            (60_000, Some(0)),
            (60_000, Some(0)),
            (60_000, None),
        ];
        for (at, expected) in rows {
            let now = start + Duration::from_millis(at);
            assert_eq!(passes(&mut limit, (7, 1), now), expected, "at {at} ms");
        }
    }

    #[test]
    fn the_directory_of_what_is_left_out_is_that_of_its_path() {
        for (path, directory) in [("/a", "/"), ("/d/link", "/d"), ("/a/a", "/a")] {
            let mut limit = RateLimit::new(0, 0);
            limit.admit((1, 1), Path::new(path), Instant::now());
            assert_eq!(limit.drain()[0].directory, Name::from(directory));
        }
    }

    #[test]
    fn users_and_directories_have_buckets_of_their_own() {
        let mut limit = RateLimit::new(3, 60);
        let now = Instant::now();
        for pair in [(1, 1), (1, 2), (2, 1)] {
            for _ in 0..3 {
                assert_eq!(passes(&mut limit, pair, now), Some(0));
            }
            assert_eq!(passes(&mut limit, pair, now), None);
        }
    }

    #[test]
    fn a_clock_read_out_of_order_takes_nothing_and_gives_nothing() {
        let mut limit = RateLimit::new(3, 60);
        let start = Instant::now();
        let later = start + Duration::from_millis(500);
        for now in [later, start, later] {
            assert_eq!(passes(&mut limit, (1, 1), now), Some(0));
        }
        for now in [start, later, start, later] {
            assert_eq!(passes(&mut limit, (1, 1), now), None);
        }
    }

    #[test]
    fn zero_means_none() {
        let now = Instant::now();
        let mut never = RateLimit::new(0, 60);
        let hour = now + Duration::from_secs(3600);
        assert_eq!(passes(&mut never, (1, 1), now), None);
        assert_eq!(passes(&mut never, (1, 1), hour), None);
        let mut once = RateLimit::new(1, 0);
        assert_eq!(passes(&mut once, (1, 1), now), Some(0));
        assert_eq!(passes(&mut once, (1, 1), hour), None);
    }

    #[test]
    fn a_full_table_forgets_the_oldest_and_tells_what_was_left_out() {
        let mut limit = RateLimit::new(1, 0);
        let start = Instant::now();
        let pairs = u64::try_from(PAIRS).unwrap();
        for directory in 0..pairs {
            let now = start + Duration::from_millis(directory);
            assert_eq!(passes(&mut limit, (1, directory), now), Some(0));
            if directory < 2 {
                assert_eq!(passes(&mut limit, (1, directory), now), None);
            }
        }
        let hour = start + Duration::from_secs(3600);
        for directory in 0..2 {
            let told = limit.make_room((2, directory)).unwrap();
            assert_eq!((told.uid, told.left_out), (1, 1));
            assert_eq!(told.directory.as_bytes(), b"/d");
            assert_eq!(
                limit.admit((2, directory), Path::new("/new/x"), hour),
                Some(0)
            );
        }
        assert_eq!(limit.make_room((2, 2)), None);
        assert_eq!(limit.admit((2, 2), Path::new("/new/x"), hour), Some(0));
        assert_eq!(limit.buckets.len(), PAIRS);
        // The youngest are still known.
        assert_eq!(passes(&mut limit, (1, pairs - 1), hour), None);
        let told: Vec<u64> = limit.drain().iter().map(|told| told.left_out).collect();
        assert_eq!(told, [1]);
        assert_eq!(limit.drain(), []);
    }
}
