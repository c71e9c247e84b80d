//! The options that a mount was made with, defaults filled in.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::mount_config::MountConfig;
use super::mount_policy::{PolicySource, ResolvedPolicy};
use crate::fuse::status::{About, Told};
use crate::names::rules::Mode;
use crate::records::{MountOptions, Name, PolicyStatus, Time};

/// Returns the fixed part of a mount's status.
pub(super) fn about(config: &MountConfig) -> About {
    About {
        owner: rustix::process::getuid().as_raw(),
        backing: config.checked.backing.as_os_str().as_bytes().to_vec(),
        mountpoint: config.checked.mountpoint.as_os_str().as_bytes().to_vec(),
        told: Arc::new(Mutex::new(Told {
            options: Some(options(config)),
            policy: policy_status(config.checked.policy.as_ref(), &config.checked.resolved),
        })),
    }
}

/// Returns the options in force.
pub(super) fn options(config: &MountConfig) -> MountOptions {
    fn word(value: impl Into<&'static str>) -> Cow<'static, str> {
        Cow::Borrowed(value.into())
    }
    let checked = &config.checked;
    let resolved = &checked.resolved;
    let (map, policy) = (&resolved.map, &resolved.map.policy);
    let (rules, all) = (&resolved.rules, resolved.rules.all());
    let file = |path: &std::path::Path| Name::of_path(path).into_owned();
    MountOptions {
        policy: checked.policy.as_ref().map(|source| file(&source.path)),
        encoding: policy.encoding,
        from: map.from.clone(),
        legacy: map.legacy,
        store_as: map.store_as,
        on_violation: match all.mode {
            Mode::Enforce => "reject".into(),
            mode @ (Mode::Normalize | Mode::Report | Mode::Off) => word(mode),
        },
        errno: all.map.errno,
        normalization: policy.form.into(),
        forbid: policy.forbid.iter().collect(),
        max_bytes: policy.max_bytes,
        max_chars: policy.max_chars,
        max_utf16: policy.max_utf16,
        unique: all.unique,
        exempt_uid: rules.exempt().uids().collect(),
        exempt: rules.exempt().patterns().to_vec(),
        cache: config.cache,
        locks: word(config.locks),
        cross_mounts: config.cross_mounts,
        passthrough: word(config.passthrough),
        threads: config.threads,
        uring: word(config.uring),
        sandbox: word(config.sandbox),
        audit: checked.audit.clone(),
        background: config.background,
        fsname: config.fsname.as_bytes().to_vec().into(),
        allow_other: config.allows_others(),
        flags: config.flags.words().map(Cow::from).collect(),
    }
}

/// Returns the status of a policy that has come into force now; `None` without a file.
#[must_use]
pub fn policy_status(
    source: Option<&PolicySource>,
    resolved: &ResolvedPolicy,
) -> Option<PolicyStatus> {
    source.map(|source| PolicyStatus {
        file: Name::of_path(&source.path).into_owned(),
        since: Time::now(),
        sections: resolved.rules.sections().len(),
        reloads: 0,
        failed_reloads: 0,
        fault: None,
    })
}
