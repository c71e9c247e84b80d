//! A mount with everything decided: what is to be served where, and how.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::auditor::{Auditor, Sink, SinkKind};
use super::command_error::{CommandError, Doing, reason};
use super::mount_paths;
use super::mount_policy::{PolicySource, ResolvedPolicy};
use crate::fs::LocksAt;
use crate::fuse::mounting::MountFlags;
use crate::fuse::{Passthrough, Uring};
use crate::names::Quoted;
use crate::names::rules::Mode;
use crate::os::log_file::is_unsafe_log;
use crate::os::{Privilege, Sandbox};
use crate::records::{AuditConfig, CacheMode, MountOptions, Name, PolicyFile, PolicyStatus, Time};

/// The words of `-o` that open the mount to other users, and close it.
pub const ALLOW: [&str; 2] = ["allow_other", "noallow_other"];

/// A mount. The directories were fit when it was made.
#[derive(Debug, Clone)]
pub struct MountConfig {
    /// The directories, the policy and the audit log.
    pub checked: Checked,
    /// The cache mode; `None` to choose by the backing filesystem.
    pub cache: Option<CacheMode>,
    /// The words of `-o` about the mount itself: those of its flags, `allow_other` and `noallow_other`. Later ones hold.
    pub words: Vec<&'static str>,
    /// The source that `/proc/mounts` shows.
    pub fsname: OsString,
    /// May the kernel read and write files by itself?
    pub passthrough: Passthrough,
    /// The place where locks are held.
    pub locks: LocksAt,
    /// Are mounts inside the backing directory entered?
    pub cross_mounts: bool,
    /// Most operations that are worked on at a time, 1 or more.
    pub threads: usize,
    /// The degree of confinement.
    pub sandbox: Sandbox,
    /// May requests come by rings?
    pub uring: Uring,
    /// Return once the mount answers?
    pub background: bool,
}

/// The settings that depend on the directories of a mount and on its policy.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The backing directory: absolute, without symlinks.
    pub backing: PathBuf,
    /// The mount point: absolute, without symlinks. A dead mount of ours may lie on it.
    pub mountpoint: PathBuf,
    /// Which names conform, what is visible as what, and what holds for new names.
    pub resolved: ResolvedPolicy,
    /// The policy file, if there is one.
    pub policy: Option<PolicySource>,
    /// The audit log.
    pub audit: AuditConfig,
}

impl MountConfig {
    /// May users use the mount other than the one who mounts? By default they may if root mounts.
    pub(super) fn allows_others(&self) -> bool {
        let mut words = self.words.iter();
        let last = words.rfind(|word| ALLOW.contains(word));
        last.map_or_else(
            || Privilege::of_thread() == Privilege::Root,
            |last| *last == ALLOW[0],
        )
    }

    /// Returns the flags of the mount.
    pub(super) fn flags(&self) -> MountFlags {
        MountFlags::of(&self.words)
    }

    /// Returns the options in force.
    pub(super) fn options(&self) -> MountOptions {
        fn word(value: impl Into<&'static str>) -> Cow<'static, str> {
            Cow::Borrowed(value.into())
        }
        let ResolvedPolicy { map, rules, .. } = &self.checked.resolved;
        let (policy, all) = (&map.policy, &rules.all);
        let file = self.checked.policy.as_ref();
        MountOptions {
            policy: file.map(|source| Name::of_path(&source.path)),
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
            forbid: policy.forbid.clone(),
            max_bytes: policy.max_bytes,
            max_chars: policy.max_chars,
            max_utf16: policy.max_utf16,
            unique: all.unique,
            exempt_uid: rules.exempt.uids.iter().copied().collect(),
            exempt: rules.exempt.patterns.given.clone(),
            cache: self.cache,
            locks: word(self.locks),
            cross_mounts: self.cross_mounts,
            passthrough: word(self.passthrough),
            threads: self.threads,
            uring: word(self.uring),
            sandbox: word(self.sandbox),
            audit: self.checked.audit.clone(),
            background: self.background,
            fsname: self.fsname.as_bytes().to_vec().into(),
            allow_other: self.allows_others(),
            flags: self.flags().words().map(Cow::from).collect(),
        }
    }
}

impl Checked {
    /// Opens the audit log.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open_log(&self) -> Result<Arc<Auditor>, CommandError> {
        let kind = &self.audit.audit_log;
        let sink = Sink::open(kind.clone()).map_err(|error| {
            let SinkKind::File(path) = kind else {
                return CommandError::io("open the audit log", &error);
            };
            let (path, why) = (Quoted::of(path), reason(&error));
            let unfit = CommandError::usage(format!("audit log {path} cannot be opened: {why}"));
            unfit.hint(if is_unsafe_log(&error) {
                "name a file of your own that has one name, in a directory that nobody else may write to, or `-` for the standard error output"
            } else {
                "name a file that can be written, or one in a directory where it can be made"
            })
        })?;
        let mount = self.mountpoint.as_os_str().as_bytes().to_vec();
        Ok(Auditor::new(&self.audit, sink, mount))
    }

    /// Returns the status of the policy, which has come into force now; `None` without a file.
    pub fn policy_status(&self) -> Option<PolicyStatus> {
        self.policy.as_ref().map(|source| PolicyStatus {
            file: Name::of_path(&source.path),
            since: Time::now(),
            sections: self.resolved.rules.sections.len(),
            reloads: 0,
            failed_reloads: 0,
            fault: None,
        })
    }
}

/// Checks the options and the policy, then the directories, then that neither the log nor the policy lies in them.
///
/// # Errors
/// Options that are wrong or contradict each other, and directories that are unfit, in this order.
pub fn check(
    backing: &Path,
    mountpoint: &Path,
    policy: Option<&Path>,
    options: PolicyFile,
    is_background: bool,
) -> Result<Checked, CommandError> {
    if policy.is_none() {
        // Before the directories are looked at, which may clear a dead mount.
        let resolved = ResolvedPolicy::without_file(options.clone())?;
        resolved.audit(is_background)?;
    }
    let (backing, mountpoint) = mount_paths::check(backing, mountpoint)?;
    let ruled = mount_paths::ruled(&mountpoint, &backing);
    let policy = policy.map(|path| PolicySource::open(path, ruled.to_vec(), options.clone()));
    let policy = policy.transpose()?;
    let loaded = policy.as_ref().map(PolicySource::read).transpose();
    let loaded = loaded.doing("read the policy")?.unwrap_or_default();
    let resolved = ResolvedPolicy::new(options, &loaded)?;
    loaded.warn();
    let mut audit = resolved.audit(is_background)?;
    if let SinkKind::File(log) = &mut audit.audit_log {
        let remedy = "keep it outside of what it reports on";
        *log = mount_paths::check_file("audit log", log, &ruled, remedy)?;
    }
    if resolved.keys.audit_log.is_some()
        && let Some(socket) = audit.audit_log.socket()
        && let Err(error) = audit.audit_log.open()
    {
        let (socket, why) = (Quoted::of(socket), reason(&error));
        log::warn!(
            "cannot write to the audit log {socket}: {why}; records are lost until this is mended"
        );
    }
    Ok(Checked {
        backing,
        mountpoint,
        resolved,
        policy,
        audit,
    })
}
