//! What the arguments mean: defaults filled in, contradictions and unfit directories refused.

pub(super) mod directories;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use log::LevelFilter;

use super::CliError;
use super::args::{AuditArgs, MountArgs, NewNameArgs, PolicyArgs};
use super::caching::Cache;
use super::mount_options::MountOptions;
use super::policy::{self, Decided, Grounds, MountsInside, PolicySource, Said, absolute};
use crate::codec::{Charset, Coding, Encoding, UnknownCharset};
use crate::daemon::audit::{AuditOptions, Format, JOURNAL, SinkKind};
use crate::daemon::mount::MountFlags;
use crate::daemon::transport::Uring;
use crate::fs::LocksAt;
use crate::fuse::Passthrough;
use crate::names::rules::{Exemptions, Rules};
use crate::names::{Legacy, NameMap, OnViolation, Quoted};
use crate::os::{Privilege, Sandbox};
use crate::policy::{Alike, ErrnoChoice, Profile};

/// So many operations may be stalled before others wait for them, where nothing is said.
const THREADS: usize = 32;

/// A mount, decided on. The directories were fit when it was made.
#[derive(Debug, Clone)]
pub struct MountConfig {
    /// The backing directory: absolute, without symlinks.
    pub backing: PathBuf,
    /// The mount point: absolute, without symlinks. A dead mount of ours may lie on it.
    pub mountpoint: PathBuf,
    /// Which names conform, and what is visible as what.
    pub map: NameMap,
    /// In what a new name must not differ alone from a sibling.
    pub unique: Option<Alike>,
    /// How long a change made below may go unseen.
    pub cache: Option<Cache>,
    /// What holds for new names.
    pub rules: Rules,
    /// The policy file, if there is one, and the options that override it.
    pub policy: Option<PolicySource>,
    /// Flags of the mount.
    pub flags: MountFlags,
    /// The words of `-o` without a value that were said.
    pub said: Vec<&'static str>,
    /// May users other than the one who mounts use it? `None`: if root mounts it.
    pub allow_other: Option<bool>,
    /// The source that `/proc/mounts` shows; the backing directory unless told otherwise.
    pub fsname: OsString,
    /// Where offences are logged.
    pub audit: AuditConfig,
    /// May the kernel read and write files by itself?
    pub passthrough: Passthrough,
    /// Where locks are held.
    pub locks: LocksAt,
    /// Are mounts inside the backing directory entered?
    pub cross_mounts: bool,
    /// Most operations that are worked on at a time, 1 or more.
    pub threads: usize,
    /// How far the daemon confines itself.
    pub sandbox: Sandbox,
    /// May requests come by rings?
    pub uring: Uring,
    /// Return once the mount answers?
    pub background: bool,
    /// How much the program's own log says.
    pub verbosity: LevelFilter,
}

/// Where and how offences are logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// Where to; a file's path is absolute.
    pub sink: SinkKind,
    /// How.
    pub format: Format,
    /// How many.
    pub limit: AuditOptions,
}

/// Decides on a mount.
///
/// # Errors
/// Options that are wrong or contradict each other, and directories that are unfit, in this order.
pub fn mount(args: MountArgs) -> Result<MountConfig, CliError> {
    if args.foreground && args.background {
        return Err(
            CliError::usage("--foreground and --background contradict each other")
                .hint("give one of them; the foreground is the default"),
        );
    }
    let options = MountOptions::read(&args)?;
    let said = Said::of(&args);
    let mounts_inside = match Privilege::of_thread() {
        Privilege::Root if !args.cross_mounts => MountsInside::Left,
        Privilege::Root | Privilege::User => MountsInside::Entered,
    };
    let mut policy = match args.policy_file.policy.clone() {
        None => None,
        Some(path) => Some(PolicySource {
            path: absolute(path)?,
            said: said.clone(),
            merged: Said::default(),
            grounds: Grounds::of(&args.backing, &args.mountpoint, mounts_inside),
        }),
    };
    let mut decided = decide(policy.as_ref(), &said)?;
    let mut audit = audit(&decided.said.audit, args.background)?;
    let (backing, mountpoint) = directories::check(&args.backing, &args.mountpoint)?;
    if let Some(policy) = &mut policy {
        let grounds = Grounds::of(&backing, &mountpoint, mounts_inside);
        if grounds != policy.grounds {
            // A dead mount, which is gone now, may have covered the backing directory.
            policy.grounds = grounds;
            decided = decide(Some(policy), &said)?;
            audit = self::audit(&decided.said.audit, args.background)?;
        }
        policy.merged = decided.said;
    }
    let Decided {
        map, unique, rules, ..
    } = decided;
    if let SinkKind::File(log) = &mut audit.sink {
        *log = directories::check_log(log, &backing, &mountpoint)?;
    }
    Ok(MountConfig {
        fsname: options.fsname.unwrap_or_else(|| backing.clone().into()),
        backing,
        mountpoint,
        map,
        cache: args.cache,
        unique,
        rules,
        policy,
        flags: options.flags,
        said: options.said,
        allow_other: options.allow_other,
        audit,
        passthrough: args.passthrough.map_or(Passthrough::Auto, |how| how.0),
        locks: args.locks.map_or(LocksAt::Local, |locks| locks.0),
        cross_mounts: args.cross_mounts,
        threads: args.threads.unwrap_or(THREADS),
        uring: args.uring.map_or(Uring::Auto, |uring| uring.0),
        sandbox: args
            .sandbox
            .map_or_else(Sandbox::default, |sandbox| sandbox.0),
        background: args.background,
        verbosity: verbosity(&args),
    })
}

/// What a policy and the options come to.
fn decide(policy: Option<&PolicySource>, said: &Said) -> Result<Decided, CliError> {
    let Some(policy) = policy else {
        return Decided::without_file(said.clone());
    };
    let text = policy.read();
    let decided = Decided::with_file(said.clone(), &text)?;
    policy::warn(&text);
    Ok(decided)
}

/// Decides how much the program's own log says.
#[must_use]
pub fn verbosity(args: &MountArgs) -> LevelFilter {
    match (args.quiet, args.verbose) {
        (true, _) => LevelFilter::Warn,
        (false, 0) => LevelFilter::Info,
        (false, 1) => LevelFilter::Debug,
        (false, _) => LevelFilter::Trace,
    }
}

/// Decides which names conform, being well-formed by `encoding`, and what becomes of the others.
///
/// # Errors
/// A charset that is not on offer, or options that contradict each other.
pub fn name_map(args: &PolicyArgs, encoding: Encoding) -> Result<NameMap, CliError> {
    let store_as = args
        .store_as
        .as_deref()
        .map(|label| charset("--store-as", label))
        .transpose()?;
    let from = args
        .from
        .iter()
        .flatten()
        .map(|label| charset("--from", label));
    let mut from: Vec<Charset> = from.collect::<Result<_, _>>()?;
    if let Some(charset) = store_as {
        // What is stored must be read back, and by the charset that it was stored in.
        from.retain(|other| *other != charset);
        from.insert(0, charset);
    }
    let default = if from.is_empty() {
        Legacy::Escape
    } else {
        Legacy::Decode
    };
    let legacy = args.legacy.map_or(default, |legacy| legacy.0);
    let on_violation = args.on_violation.map_or(OnViolation::Reject, |what| what.0);
    if legacy == Legacy::Decode && from.is_empty() {
        return Err(CliError::usage(
            "--legacy decode without --from: there is no charset to decode from",
        )
        .hint("name it, as in --from iso-8859-1, or use --legacy escape"));
    }
    if let Some(charset) = store_as.filter(|_| legacy != Legacy::Decode) {
        return Err(CliError::usage(format!(
            "--store-as {} needs names to be decoded, and --legacy says otherwise",
            charset.label()
        ))
        .hint("leave --legacy out"));
    }
    let mut policy = args
        .profile
        .map_or(Profile::Utf8, |profile| profile.0)
        .policy();
    policy.encoding = encoding;
    policy.max_bytes = args.max_bytes.unwrap_or(policy.max_bytes);
    policy.max_chars = args.max_chars.or(policy.max_chars);
    policy.form = args.normalization.map_or(policy.form, |form| form.0);
    policy.forbid = args
        .forbid
        .iter()
        .flatten()
        .fold(policy.forbid, |classes, class| classes.with(class.0));
    Ok(NameMap {
        policy,
        legacy,
        from,
        store_as,
        on_violation,
        errno: args.errno.map_or(ErrnoChoice::default(), |errno| errno.0),
    })
}

pub(super) fn exemptions(args: &NewNameArgs) -> Result<Exemptions, CliError> {
    let uids = args.exempt_uid.iter().flatten().copied();
    let patterns = args.exempt.as_deref().unwrap_or_default();
    Exemptions::new(uids, patterns).map_err(|error| {
        let pattern = Quoted(error.pattern.as_bytes());
        CliError::usage(format!(
            "--exempt {pattern} is no pattern: {}",
            error.reason
        ))
        .hint("a pattern is a path as /backups/** or a name as *.tmp, with * ? [a-z] {one,other}")
    })
}

/// Decides on a charset; `option` is the one that names it.
///
/// # Errors
/// A label that is not on offer.
pub(super) fn charset(option: &str, label: &str) -> Result<Charset, CliError> {
    let offer = format!(
        "{option} takes IANA's names of stateless charsets, such as iso-8859-1, windows-1252, shift_jis, koi8-r"
    );
    Charset::from_label(label).map_err(|unknown| not_on_offer(&unknown, &offer))
}

/// Decides what `convert` reads or writes; `option` is the one that says so.
///
/// # Errors
/// A label that is not on offer.
pub fn coding(option: &str, label: &str) -> Result<Coding, CliError> {
    Coding::from_label(label).map_err(|mut unknown| {
        let key = |label: &str| label.to_ascii_lowercase().replace(['-', '_'], "");
        let like: Vec<&str> = Encoding::ALL
            .iter()
            .map(|encoding| encoding.label())
            .filter(|form| key(form).starts_with(&key(label)) && key(label).len() > 3)
            .collect();
        if !like.is_empty() {
            // It is one of a few that differ in the order of octets, say.
            (unknown.reason, unknown.near) = (None, like);
        }
        let offer = format!("'utf8fs convert --list' lists what {option} takes");
        not_on_offer(&unknown, &offer)
    })
}

fn not_on_offer(unknown: &UnknownCharset, offer: &str) -> CliError {
    let label = Quoted(unknown.label.as_bytes());
    let error = match unknown.reason {
        Some(reason) => CliError::usage(format!("charset {label} is not on offer: {reason}")),
        None => CliError::usage(format!("unknown charset {label}")),
    };
    error.hint(match unknown.near.split_last() {
        None => offer.to_owned(),
        Some((only, [])) => format!("did you mean {only}?"),
        Some((last, others)) => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// Decides where offences are logged, by what was said.
///
/// # Errors
/// It contradicts itself, or names what can be no log.
pub(super) fn audit(args: &AuditArgs, is_background: bool) -> Result<AuditConfig, CliError> {
    let sink = match args.audit_log.as_deref() {
        Some(log) if log == "-" && is_background => {
            return Err(CliError::usage(
                "--audit-log - contradicts --background: nobody reads its standard error",
            )
            .hint("log to a file, to syslog or to journald, or stay in the foreground"));
        }
        Some(log) => log_sink(log)?,
        None if is_background => SinkKind::Syslog,
        None => SinkKind::Stderr,
    };
    let default = AuditOptions::default();
    Ok(AuditConfig {
        sink,
        format: args.audit_format.map_or(Format::Text, |format| format.0),
        limit: AuditOptions {
            burst: args.audit_burst.unwrap_or(default.burst),
            per_minute: args.audit_per_minute.unwrap_or(default.per_minute),
        },
    })
}

/// Decides where a log is that was named so.
///
/// # Errors
/// It is on no system.
pub(super) fn log_sink(log: &OsStr) -> Result<SinkKind, CliError> {
    Ok(match log.as_bytes() {
        b"-" => SinkKind::Stderr,
        b"syslog" => SinkKind::Syslog,
        b"journald" => SinkKind::Journal(JOURNAL.into()),
        octets => match octets.strip_prefix(b"journald:") {
            Some(socket) if socket.starts_with(b"/") => {
                SinkKind::Journal(OsStr::from_bytes(socket).into())
            }
            Some(_) => {
                return Err(CliError::usage(format!(
                    "the audit log {}: the socket has no path that begins with /",
                    Quoted(octets)
                ))
                .hint("a file of such a name is written as ./journald:...; the journal of the namespace NAME is journald:/run/systemd/journal.NAME/socket"));
            }
            None => {
                directories::log_name(log.as_ref())?;
                SinkKind::File(log.into())
            }
        },
    })
}

#[cfg(test)]
mod tests;
