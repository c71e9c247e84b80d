//! Progress of long work, on standard error.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use log::LevelFilter;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{counted, print_note};
use crate::names::Quoted;

/// Interval between drawings on a terminal, and between lines elsewhere.
const DRAWN: Duration = Duration::from_millis(200);
const WRITTEN: Duration = Duration::from_secs(10);

/// Work that is over before this is not told of.
const PATIENCE: Duration = Duration::from_millis(500);

/// The place where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// On a terminal, one line that changes.
    Drawn,
    /// A line now and then.
    Written,
    /// Not at all.
    None,
}

impl Progress {
    /// Tells it where standard error is a terminal, unless that `is_busy` with what is printed meanwhile, or elsewhere where it
    /// `is_asked_for`.
    pub(super) fn start(is_asked_for: bool, is_busy: bool) -> Self {
        match stderr().is_terminal() {
            _ if log::max_level() < LevelFilter::Info => Self::None,
            true if !is_busy => Self::Drawn,
            false if is_asked_for => Self::Written,
            _ => Self::None,
        }
    }

    /// Does `work`, and tells meanwhile how far it is: `line` says so, of the time since it began.
    pub(super) fn during<R>(
        self,
        line: impl Fn(Duration) -> String + Send,
        work: impl FnOnce() -> R,
    ) -> R {
        let every = match self {
            Self::Drawn => DRAWN,
            Self::Written => WRITTEN,
            Self::None => return work(),
        };
        let (done, is_done) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let start = Instant::now();
                let mut bar = None;
                while is_done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    let elapsed = start.elapsed();
                    if self == Self::Written {
                        print_note(&line(elapsed));
                    } else if elapsed >= PATIENCE {
                        let bar: &mut ProgressBar = bar.get_or_insert_with(new_bar);
                        bar.set_message(line(elapsed));
                        bar.tick();
                    }
                }
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
            });
            let result = work();
            drop(done);
            result
        })
    }
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

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // Cut to the terminal's width.
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    bar.with_style(style.unwrap_or_else(|_no_template| ProgressStyle::default_spinner()))
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
        for progress in [Progress::Drawn, Progress::Written, Progress::None] {
            assert_eq!(progress.during(|_elapsed| String::new(), || 7), 7);
        }
    }
}
