//! Laws C1 to C4 proved from outside the codec. What takes minutes is ignored here and run by `scripts/long exhaustive`.

mod diagnoses;
mod documents;
mod exhaustive;
mod iconv;
mod reference;
mod samples_1992;
mod stress;
mod systematic;
mod time;

use std::sync::atomic::{AtomicU32, Ordering};

/// Does `work` on each number below `end`, on every core that there is.
fn in_parallel(end: u32, work: impl Fn(u32) + Sync) {
    let next = AtomicU32::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let number @ 0.. = next.fetch_add(1, Ordering::Relaxed)
                    && number < end
                {
                    work(number);
                }
            });
        }
    });
}

/// Calls `check` with every string of `length` octets that starts with one of `first` and goes on with some of `more`.
fn for_each_string(first: &[u8], more: &[u8], length: usize, mut check: impl FnMut(&[u8])) {
    let count = first.len() * more.len().pow(u32::try_from(length - 1).unwrap());
    let mut bytes = vec![0; length];
    for number in 0..count {
        let mut left = number;
        for byte in bytes[1..].iter_mut().rev() {
            *byte = more[left % more.len()];
            left /= more.len();
        }
        bytes[0] = first[left];
        check(&bytes);
    }
}
