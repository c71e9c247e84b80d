//! The guard of a directory: the policy of a mount, without a mount.
//!
//! Names are made at the speed of the filesystem, and nobody is refused any. The guard hears of each new name and
//! judges it by the policy. It reports the name, or renames the entry once it has been quiet for a while. `hearing`
//! reads the events (`name_events`), `scan` finds what was not heard, `mending` renames. Shared state is in `guarded`.

mod config;
mod directories;
mod guarded;
mod hearing;
mod judge;
mod maker;
mod mending;
mod name_events;
mod pending;
mod run;
mod scan;
mod scan_requests;
mod status;

pub use config::{Action, GuardOptions};
pub use run::run;
pub use status::find as find_status;
