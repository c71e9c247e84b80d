//! `utf8fs guard`.

use std::sync::Arc;

use super::args::GuardArgs;
use super::{CommandError, charset_map, config};
use crate::daemon::program_log;
use crate::guard::{self, GuardOptions};
use crate::records::{List, PolicyFile};

/// Guards a directory until a signal ends it.
///
/// # Errors
/// What stands in the way of the guard, or ended it.
pub(super) fn run(args: GuardArgs) -> Result<(), CommandError> {
    program_log::queue(false);
    let keys = PolicyFile {
        from: args.from.map(List),
        mode: args.on_violation.map(Into::into),
        ..config::with_shared(config::conforming_keys(&args.conforming), &args.shared)
    };
    let charset_map = args.charset_map.as_deref().map(charset_map::read);
    let charset_map = Arc::new(charset_map.transpose()?.unwrap_or_default());
    guard::run(GuardOptions {
        directory: args.directory,
        policy: args.shared.policy,
        keys,
        charset_map,
        grace: args.grace,
        journal: args.journal,
        initial_scan: !args.no_initial_scan,
        sandbox: args.sandbox.unwrap_or_default(),
    })
}
