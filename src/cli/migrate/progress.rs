//! How far a migration is.

use std::time::Duration;

use super::Tally;
use crate::cli::output::counted;
use crate::cli::progress::{inside, per_second, steps};

/// How far it is, how fast, how much longer, and where.
pub(super) fn line(tally: &Tally, elapsed: Duration) -> String {
    let (done, all) = (tally.done.get() + tally.failed.get(), tally.all.get());
    if all > 0 {
        return steps(done, all, elapsed, &tally.here());
    }
    let entries = tally.entries.get();
    let rate = per_second(entries, elapsed);
    let entries = counted(entries, "entry", "entries");
    format!(
        "planning: {entries}, {rate} a second{}",
        inside(&tally.here())
    )
}
