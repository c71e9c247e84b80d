//! The options that a mount was made with, defaults filled in, as `utf8fs status` tells them.

use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::MountConfig;
use super::args::{
    AuditFormatValue, EncodingValue, ErrnoValue, LegacyValue, LocksValue, ModeValue,
    NormalizationValue, PassthroughValue, SandboxValue, UniqueValue, UringValue,
};
use super::caching::Cache;
use super::policy;
use crate::daemon::audit::{JOURNAL, SinkKind};
use crate::fuse::status::{About, Told};
use crate::names::json::json_name;
use crate::names::rules::Mode;
use crate::os::credentials;
use crate::policy::Class;

/// What a mount tells of itself that does not change.
pub(super) fn about(config: &MountConfig) -> About {
    About {
        owner: rustix::process::getuid().as_raw(),
        backing: config.backing.as_os_str().as_bytes().to_vec(),
        mountpoint: config.mountpoint.as_os_str().as_bytes().to_vec(),
        told: Arc::new(Mutex::new(Told {
            options: options(config),
            policy: policy::told(config),
        })),
    }
}

/// By the long options' names. What can be set once is a value, what can be set many times a list; `null` is no limit, none, or
/// what is decided by where it is mounted.
pub(super) fn options(config: &MountConfig) -> Map<String, Value> {
    let (map, policy, audit) = (&config.map, &config.map.policy, &config.audit);
    let charsets: Vec<&str> = map.from.iter().map(|charset| charset.label()).collect();
    let classes: Vec<&str> = policy.forbid.iter().map(Class::label).collect();
    let (rules, all) = (&config.rules, config.rules.all());
    let uids: Vec<u32> = rules.exempt().uids().collect();
    let mode = match all.mode {
        Mode::Enforce => "reject",
        mode @ (Mode::Normalize | Mode::Report | Mode::Off) => ModeValue(mode).word(),
    };
    let log = match &audit.sink {
        SinkKind::Stderr => json!("-"),
        SinkKind::Syslog => json!("syslog"),
        SinkKind::Journal(path) if path.as_os_str() == JOURNAL => json!("journald"),
        SinkKind::Journal(path) => json_name(&[b"journald:", path.as_os_str().as_bytes()].concat()),
        SinkKind::File(path) => json_name(path.as_os_str().as_bytes()),
    };
    let file = config.policy.as_ref();
    let file = file.map_or(Value::Null, |source| {
        json_name(source.path.as_os_str().as_bytes())
    });
    let cache = match config.cache {
        Some(Cache::Seconds(time)) => json!(time.as_secs_f64()),
        Some(Cache::Watch) => json!("watch"),
        Some(Cache::Exclusive) => json!("exclusive"),
        None => Value::Null,
    };
    let all = [
        ("policy", file),
        ("encoding", json!(EncodingValue(policy.encoding).word())),
        ("from", json!(charsets)),
        ("legacy", json!(LegacyValue(map.legacy).word())),
        (
            "store-as",
            json!(map.store_as.map(|charset| charset.label())),
        ),
        ("on-violation", json!(mode)),
        ("errno", json!(ErrnoValue(all.map.errno).word())),
        (
            "normalization",
            json!(NormalizationValue(policy.form).word()),
        ),
        ("forbid", json!(classes)),
        ("max-bytes", json!(policy.max_bytes)),
        ("max-chars", json!(policy.max_chars)),
        ("max-utf16", json!(policy.max_utf16)),
        (
            "unique",
            json!(all.unique.map(|alike| UniqueValue(alike).word())),
        ),
        ("exempt-uid", json!(uids)),
        ("exempt", json!(rules.exempt().patterns())),
        ("cache", cache),
        ("locks", json!(LocksValue(config.locks).word())),
        ("cross-mounts", json!(config.cross_mounts)),
        (
            "passthrough",
            json!(PassthroughValue(config.passthrough).word()),
        ),
        ("threads", json!(config.threads)),
        ("uring", json!(UringValue(config.uring).word())),
        ("sandbox", json!(SandboxValue(config.sandbox).word())),
        ("audit-log", log),
        ("audit-format", json!(AuditFormatValue(audit.format).word())),
        ("audit-burst", json!(audit.limit.burst)),
        ("audit-per-minute", json!(audit.limit.per_minute)),
        ("background", json!(config.background)),
        ("fsname", json_name(config.fsname.as_bytes())),
        (
            "allow-other",
            json!(
                config
                    .allow_other
                    .unwrap_or_else(credentials::is_privileged)
            ),
        ),
        // Of each pair of words the one that restricts.
        ("flags", config.flags.words().collect()),
    ];
    Map::from_iter(all.map(|(name, value)| (name.to_owned(), value)))
}
