//! The meaning of the arguments of `utf8fs mount`, and of those on names of other commands.

use super::args::{ConformingArgs, MountArgs, PolicyArgs, SharedArgs};
use super::{CommandError, mount_options};
use crate::daemon::mount_config::{MountConfig, check};
use crate::fuse::Passthrough;
use crate::records::{Comparison, List, PolicyFile};

/// Most operations that are worked on at a time, by default.
const THREADS: usize = 32;

/// Decides on a mount.
///
/// # Errors
/// Options that are wrong or contradict each other, and directories that are unfit, in this order.
pub(super) fn mount(args: MountArgs) -> Result<MountConfig, CommandError> {
    let words = mount_options::words(&args)?;
    let (policy, background) = (args.shared.policy.as_deref(), args.background);
    let keys = PolicyFile {
        encoding: args.encoding,
        ..with_shared(policy_keys(&args.policy), &args.shared)
    };
    let checked = check(&args.backing, &args.mountpoint, policy, keys, background)?;
    let fsname = args.fsname.unwrap_or_else(|| checked.backing.clone());
    Ok(MountConfig {
        fsname: fsname.into_os_string(),
        checked,
        cache: args.cache,
        words,
        passthrough: args.passthrough.unwrap_or(Passthrough::Auto),
        locks: args.locks.unwrap_or_default(),
        cross_mounts: args.cross_mounts,
        threads: args.threads.unwrap_or(THREADS),
        uring: args.uring.unwrap_or_default(),
        sandbox: args.sandbox.unwrap_or_default(),
        background,
    })
}

/// Adds the options that a mount and a guard share to keys of a policy.
pub(super) fn with_shared(keys: PolicyFile, shared: &SharedArgs) -> PolicyFile {
    PolicyFile {
        unique: shared.unique.map(|alike| Comparison(Some(alike))),
        exempt: shared.exempt.clone().map(List),
        exempt_uid: shared.exempt_uid.clone().map(List),
        audit_log: shared.audit_log.clone(),
        audit_format: shared.audit_format,
        audit_burst: shared.audit_burst,
        audit_per_minute: shared.audit_per_minute,
        ..keys
    }
}

pub(super) fn policy_keys(args: &PolicyArgs) -> PolicyFile {
    PolicyFile {
        from: args.from.clone().map(List),
        legacy: args.legacy,
        store_as: args.store_as,
        mode: args.on_violation.map(Into::into),
        errno: args.errno,
        ..conforming_keys(&args.conforming)
    }
}

pub(super) fn conforming_keys(args: &ConformingArgs) -> PolicyFile {
    PolicyFile {
        profile: args.profile,
        normalization: args.normalization,
        forbid: args.forbid.clone().map(List),
        max_bytes: args.max_bytes,
        max_chars: args.max_chars,
        ..PolicyFile::default()
    }
}

#[cfg(test)]
mod tests;
