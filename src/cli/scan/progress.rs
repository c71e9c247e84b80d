//! How far a scan is.

use std::time::Duration;

use crate::cli::output::grouped;
use crate::cli::progress::per_second;
use crate::names::Quoted;
use crate::tree::scan::Reached;

/// How much is still to come nobody knows before the end.
pub(super) fn line(reached: &Reached, elapsed: Duration) -> String {
    let names = reached.entries();
    format!(
        "{} names in {} directories, {} a second, {} offending; {}",
        grouped(names),
        grouped(reached.directories()),
        grouped(per_second(names, elapsed)),
        grouped(reached.offending()),
        Quoted(&reached.place())
    )
}
