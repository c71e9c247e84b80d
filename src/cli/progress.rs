//! Progress of long work, on standard error.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use log::LevelFilter;

use super::output::{counted, print_note};
use crate::names::Quoted;

/// Interval between drawings on a terminal, and between lines elsewhere.
const DRAWN: Duration = Duration::from_millis(200);
const WRITTEN: Duration = Duration::from_secs(10);

/// Work that is over before this is not told of.
const PATIENCE: Duration = Duration::from_millis(500);

/// Does `work`, and shows meanwhile how far it is, by a `line` for the time since it began: on a terminal one line that changes,
/// unless that `is_busy` with what is printed meanwhile; elsewhere a line now and then, if it `is_asked_for`.
pub(super) fn with_progress<R>(
    is_asked_for: bool,
    is_busy: bool,
    line: impl Fn(Duration) -> String + Send,
    work: impl FnOnce() -> R,
) -> R {
    let is_terminal = stderr().is_terminal();
    let is_shown = if is_terminal { !is_busy } else { is_asked_for };
    if !is_shown || log::max_level() < LevelFilter::Info {
        return work();
    }
    let every = if is_terminal { DRAWN } else { WRITTEN };
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let start = Instant::now();
            let bar = ProgressBar::new_spinner();
            // Cut to the terminal's width.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            while is_done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let elapsed = start.elapsed();
                if !is_terminal {
                    print_note(&line(elapsed));
                } else if elapsed >= PATIENCE {
                    bar.set_message(line(elapsed));
                    bar.tick();
                }
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}

/// Returns the rate per second; 0 where no time has passed.
pub(super) fn per_second(count: u64, elapsed: Duration) -> u64 {
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let rate = count.saturating_mul(1000).checked_div(milliseconds);
    rate.unwrap_or(0)
}

/// Formats a progress line: done, total, rate, remaining time, directory.
pub(super) fn steps(done: u64, all: u64, elapsed: Duration, here: &[u8]) -> String {
    let rate = per_second(done, elapsed);
    let left = all.saturating_sub(done).checked_div(rate);
    let left = left.map(|seconds| format!(", {} to go", counted(seconds, "second")));
    let left = left.unwrap_or_default();
    let inside = inside(here);
    format!("{done} of {all} steps, {rate} a second{left}{inside}")
}

/// In which directory it is; nothing of the root.
pub(super) fn inside(here: &[u8]) -> String {
    match here {
        [] => String::new(),
        here => format!(", in {}", Quoted(here)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_with_rate_rest_and_place() {
        let told =
            |done, seconds, here: &[u8]| steps(done, 1000, Duration::from_secs(seconds), here);
        assert_eq!(
            told(500, 10, b"a\xFF\n"),
            r#"500 of 1000 steps, 50 a second, 10 seconds to go, in "a\xFF\n""#
        );
        assert_eq!(
            told(980, 49, b""),
            "980 of 1000 steps, 20 a second, 1 second to go"
        );
        assert_eq!(told(0, 0, b""), "0 of 1000 steps, 0 a second");
    }

    #[test]
    fn work_gives_its_result_whether_it_is_told_of_or_not() {
        for is_shown in [false, true] {
            let line = |_elapsed| String::new();
            assert_eq!(with_progress(is_shown, !is_shown, line, || 7), 7);
        }
    }
}
