//! `-o`, as mount(8) and fstab have it, and our long options in its clothes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::ValueEnum;

use super::CliError;
use super::args::{
    self, AuditArgs, ForbidValue, LocksValue, MountArgs, MountEncodingValue, NewNameArgs,
    PassthroughValue, PolicyArgs, SandboxValue, new_names,
};
use super::caching::Cache;
use crate::codec::Charset;
use crate::fuse::mount::MountFlags;
use crate::names::Quoted;

/// Words without a value that do something.
const FLAGS: &[&str] = &[
    "ro",
    "rw",
    "suid",
    "nosuid",
    "dev",
    "nodev",
    "exec",
    "noexec",
    "sync",
    "async",
    "dirsync",
    "atime",
    "noatime",
    "diratime",
    "nodiratime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "allow_other",
    "noallow_other",
    "cross_mounts",
];

/// Words that are for mount(8), systemd or libfuse, or say what is so anyway. They may have a value.
const IGNORED: &[&str] = &[
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "nofail",
    "_netdev",
    "default_permissions",
    "comment",
    "subtype",
];

/// Words with a value, with `-` for the `_` that is taken as well.
const KEYS: &[&str] = &[
    "fsname",
    "from",
    "store-as",
    "legacy",
    "on-violation",
    "errno",
    "profile",
    "normalization",
    "encoding",
    "forbid",
    "max-bytes",
    "max-chars",
    "unique",
    "exempt-uid",
    "exempt",
    "audit-log",
    "audit-format",
    "audit-burst",
    "audit-per-minute",
    "cache",
    "passthrough",
    "locks",
    "threads",
    "sandbox",
];

/// Pairs of which only one can be meant.
const CONTRADICTIONS: &[(&str, &str)] = &[
    ("ro", "rw"),
    ("suid", "nosuid"),
    ("dev", "nodev"),
    ("exec", "noexec"),
    ("sync", "async"),
    ("atime", "noatime"),
    ("diratime", "nodiratime"),
    ("relatime", "norelatime"),
    ("strictatime", "nostrictatime"),
    ("strictatime", "relatime"),
    ("strictatime", "noatime"),
    ("relatime", "noatime"),
    ("allow_other", "noallow_other"),
];

/// What can be said both by long options and by `-o`, from both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MountOptions {
    /// Flags of the mount.
    pub(super) flags: MountFlags,
    /// The words without a value that were said.
    pub(super) said: Vec<&'static str>,
    /// May others use it? `None` if nothing was said.
    pub(super) allow_other: Option<bool>,
    /// The source to show.
    pub(super) fsname: Option<OsString>,
    /// Which names conform.
    pub(super) policy: PolicyArgs,
    /// Which new names are refused or let through besides.
    pub(super) new_names: NewNameArgs,
    /// By which definition of UTF-8 they are well-formed.
    pub(super) encoding: Option<MountEncodingValue>,
    /// Where offences are logged.
    pub(super) audit: AuditArgs,
    /// How long a change made below may go unseen.
    pub(super) cache: Option<Cache>,
    /// May the kernel read and write files by itself?
    pub(super) passthrough: Option<PassthroughValue>,
    /// Where locks are held.
    pub(super) locks: Option<LocksValue>,
    /// Are mounts inside the backing directory entered?
    pub(super) cross_mounts: bool,
    /// Threads that serve requests.
    pub(super) threads: Option<usize>,
    /// How far the daemon confines itself.
    pub(super) sandbox: Option<SandboxValue>,
}

impl MountOptions {
    /// Reads `-o` on top of the long options of `typed`.
    ///
    /// # Errors
    /// An unknown option, a value that is none, or two that contradict each other, here or there.
    pub(super) fn read(typed: &MountArgs) -> Result<Self, CliError> {
        let mut options = Self {
            flags: MountFlags {
                nosuid: true,
                nodev: true,
                ..MountFlags::default()
            },
            said: Vec::new(),
            allow_other: None,
            fsname: None,
            policy: typed.policy.clone(),
            new_names: typed.new_names.clone(),
            encoding: typed.encoding,
            audit: typed.audit.clone(),
            cache: typed.cache,
            passthrough: typed.passthrough,
            locks: typed.locks,
            cross_mounts: typed.cross_mounts,
            threads: typed.threads,
            sandbox: typed.sandbox,
        };
        let mut seen = Vec::new();
        for option in typed.options.iter().flat_map(|list| split(list.as_bytes())) {
            options.take(&option, &mut seen)?;
        }
        options.said = seen;
        Ok(options)
    }

    fn take(&mut self, option: &[u8], seen: &mut Vec<&'static str>) -> Result<(), CliError> {
        let mut parts = option.splitn(2, |&byte| byte == b'=');
        let word = parts.next().unwrap_or_default();
        let value = parts.next();
        let Ok(word) = core::str::from_utf8(word) else {
            return Err(unknown(option));
        };
        if word.is_empty() && value.is_none()
            || IGNORED.contains(&word)
            || word.starts_with("x-")
            || word.starts_with("X-")
        {
            return Ok(());
        }
        if let Some(&flag) = FLAGS.iter().find(|&&flag| flag == word) {
            return match value {
                None => self.flag(flag, seen),
                Some(_) => Err(CliError::usage(format!("-o {flag} takes no value"))
                    .hint(format!("write -o {flag}"))),
            };
        }
        let key = word.replace('_', "-");
        let Some(&key) = KEYS.iter().find(|&&known| known == key) else {
            return Err(unknown(option));
        };
        let value = value.filter(|value| !value.is_empty()).ok_or_else(|| {
            CliError::usage(format!("-o {key} needs a value")).hint(format!("write -o {key}=VALUE"))
        })?;
        self.value(key, value)
    }

    fn flag(&mut self, flag: &'static str, seen: &mut Vec<&'static str>) -> Result<(), CliError> {
        let rival = seen.iter().find(|&&other| {
            CONTRADICTIONS.contains(&(flag, other)) || CONTRADICTIONS.contains(&(other, flag))
        });
        if let Some(rival) = rival {
            return Err(
                CliError::usage(format!("-o {rival} and -o {flag} contradict each other"))
                    .hint("give one of them"),
            );
        }
        seen.push(flag);
        match flag {
            "allow_other" => self.allow_other = Some(true),
            "noallow_other" => self.allow_other = Some(false),
            "cross_mounts" => self.cross_mounts = true,
            other => {
                let is_known = self.flags.set(other);
                debug_assert!(is_known, "invariant: FLAGS lists what MountFlags knows");
            }
        }
        Ok(())
    }

    fn value(&mut self, key: &'static str, value: &[u8]) -> Result<(), CliError> {
        let bytes = || OsString::from_vec(value.to_vec());
        match key {
            "fsname" => return set(&mut self.fsname, bytes(), key),
            "audit-log" => return set(&mut self.audit.audit_log, bytes(), key),
            _ => {}
        }
        let text = core::str::from_utf8(value)
            .map_err(|_not_utf8| wrong(key, value).hint("it has to be text in UTF-8"))?;
        let policy = &mut self.policy;
        let new_names = &mut self.new_names;
        let audit = &mut self.audit;
        match key {
            "from" => set(
                &mut policy.from,
                text.split(':').map(str::to_owned).collect(),
                key,
            ),
            "store-as" => set(&mut policy.store_as, text.to_owned(), key),
            "legacy" => set(&mut policy.legacy, word(key, text)?, key),
            "on-violation" => set(&mut policy.on_violation, word(key, text)?, key),
            "errno" => set(&mut policy.errno, word(key, text)?, key),
            "profile" => set(&mut policy.profile, word(key, text)?, key),
            "normalization" => set(&mut policy.normalization, word(key, text)?, key),
            "encoding" => set(&mut self.encoding, word(key, text)?, key),
            "forbid" => {
                let classes: Result<Vec<ForbidValue>, CliError> =
                    text.split(':').map(|class| word(key, class)).collect();
                set(&mut policy.forbid, classes?, key)
            }
            "max-bytes" => set(
                &mut policy.max_bytes,
                number(key, args::max_bytes(text), text)?,
                key,
            ),
            "max-chars" => set(
                &mut policy.max_chars,
                number(key, args::max_chars(text), text)?,
                key,
            ),
            "unique" => set(&mut new_names.unique, word(key, text)?, key),
            "exempt-uid" => {
                let uids: Result<Vec<u32>, CliError> = text
                    .split(':')
                    .map(|uid| number(key, new_names::uid(uid), uid))
                    .collect();
                set(&mut new_names.exempt_uid, uids?, key)
            }
            // As the long option, it adds to those before.
            "exempt" => {
                let patterns = new_names.exempt.get_or_insert_default();
                patterns.push(text.to_owned());
                Ok(())
            }
            "audit-format" => set(&mut audit.audit_format, word(key, text)?, key),
            "audit-burst" => set(
                &mut audit.audit_burst,
                number(key, text.parse(), text)?,
                key,
            ),
            "audit-per-minute" => set(
                &mut audit.audit_per_minute,
                number(key, text.parse(), text)?,
                key,
            ),
            "cache" => set(&mut self.cache, number(key, args::cache(text), text)?, key),
            "passthrough" => set(&mut self.passthrough, word(key, text)?, key),
            "locks" => set(&mut self.locks, word(key, text)?, key),
            "threads" => set(
                &mut self.threads,
                number(key, args::threads(text), text)?,
                key,
            ),
            "sandbox" => set(&mut self.sandbox, word(key, text)?, key),
            other => Err(unknown(other.as_bytes())),
        }
    }
}

/// Cuts at commas; a backslash takes the character after it literally, as in libfuse.
fn split(list: &[u8]) -> Vec<Vec<u8>> {
    let mut options = vec![Vec::new()];
    let mut bytes = list.iter().copied();
    while let Some(byte) = bytes.next() {
        let literal = match byte {
            b',' => {
                options.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next().unwrap_or(b'\\'),
            other => other,
        };
        if let Some(option) = options.last_mut() {
            option.push(literal);
        }
    }
    options
}

fn set<T: PartialEq>(slot: &mut Option<T>, value: T, key: &str) -> Result<(), CliError> {
    if slot.as_ref().is_some_and(|before| *before != value) {
        let message = format!("-o {key}= contradicts another value of {key}");
        return Err(CliError::usage(message)
            .hint(format!("give {key} once, as an option of its own or in -o")));
    }
    *slot = Some(value);
    Ok(())
}

fn word<T: ValueEnum>(key: &str, text: &str) -> Result<T, CliError> {
    T::from_str(text, false).map_err(|_no_such_value| {
        let words: Vec<String> = T::value_variants()
            .iter()
            .filter_map(|value| Some(value.to_possible_value()?.get_name().to_owned()))
            .collect();
        let near = nearest(text, words.iter().map(String::as_str));
        let hint = match near {
            Some(near) => format!("did you mean {key}={near}?"),
            None => format!("it takes {}", words.join(", ")),
        };
        wrong(key, text.as_bytes()).hint(hint)
    })
}

fn number<T, E: ToString>(key: &str, parsed: Result<T, E>, text: &str) -> Result<T, CliError> {
    parsed.map_err(|error| wrong(key, text.as_bytes()).hint(error.to_string()))
}

fn wrong(key: &str, value: &[u8]) -> CliError {
    CliError::usage(format!("-o {key}={} is not possible", Quoted(value)))
}

fn unknown(option: &[u8]) -> CliError {
    let error = CliError::usage(format!("unknown option in -o: {}", Quoted(option)));
    let text = OsStr::from_bytes(option).to_str().unwrap_or_default();
    if Charset::from_label(text).is_ok() || ForbidValue::from_str(text, false).is_ok() {
        return error.hint("in -o a colon stands between values: from=shift_jis:windows-1252");
    }
    let word = text.split('=').next().unwrap_or_default().replace('_', "-");
    let known = || [FLAGS, IGNORED, KEYS].concat().into_iter();
    match nearest(&word, known()).or_else(|| nearest(&word.replace('-', "_"), known())) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("'utf8fs mount --help' lists the options of -o"),
    }
}

/// The most similar of `words`, if it is similar enough to be what was meant.
fn nearest<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words
        .map(|word| (strsim::jaro_winkler(text, word), word))
        .filter(|&(similarity, _)| similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests;
