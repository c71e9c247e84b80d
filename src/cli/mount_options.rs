//! `-o`, as mount(8) and fstab have it: the words that are its own. Those that are long options of `utf8fs mount` too
//! are for [`long`].

mod long;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::ValueEnum;

use super::CliError;
use super::args::{ForbidValue, MountArgs};
use crate::codec::Charset;
use crate::daemon::mount::MountFlags;
use crate::names::Quoted;
pub(super) use long::unfold;

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
];

/// Words that are for mount(8), systemd or libfuse, or say what is so anyway. They may have a value.
const IGNORED: &[&str] = &[
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "nousers",
    "owner",
    "noowner",
    "group",
    "nogroup",
    "nofail",
    "_netdev",
    "default_permissions",
    "comment",
    "subtype",
];

/// Words of the mount that take a value.
const KEYS: &[&str] = &["fsname"];

/// As mount(8) has it for its helpers: unknown options are left out, not refused.
const SLOPPY: &str = "sloppy";

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

/// What `-o` says of the mount itself.
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
}

impl MountOptions {
    /// Reads `-o`. Its words that are long options too were taken by [`unfold`].
    ///
    /// # Errors
    /// An unknown option, or two that contradict each other.
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
        };
        let words: Vec<Vec<u8>> = typed.options.iter().flat_map(|list| split(list)).collect();
        let is_sloppy = words.iter().any(|word| word == SLOPPY.as_bytes());
        for option in words {
            if !options.take(&option)? {
                if !is_sloppy {
                    return Err(unknown(&option));
                }
                log::warn!("unknown option in -o left out: {}", Quoted(&option));
            }
        }
        Ok(options)
    }

    /// Takes one option; false if it is unknown.
    fn take(&mut self, option: &[u8]) -> Result<bool, CliError> {
        let (word, value) = parts(option);
        let Some(word) = word else {
            return Ok(false);
        };
        if word.is_empty() && value.is_none()
            || IGNORED.contains(&word)
            || word == SLOPPY
            || word.starts_with("x-")
            || word.starts_with("X-")
            || long::find(word).is_some()
        {
            return Ok(true);
        }
        if word == "remount" {
            return Err(CliError::usage(
                "-o remount is not possible: the options of a mount are those that it was made with",
            )
            .hint("unmount it and mount it again; only ro, rw, nosuid, nodev, noexec can be changed, by the kernel alone: mount -i -o remount,bind,ro MOUNTPOINT"));
        }
        if let Some(&flag) = FLAGS.iter().find(|&&flag| flag == word) {
            return match value {
                None => self.flag(flag).map(|()| true),
                Some(_) => Err(no_value(flag)),
            };
        }
        let Some(&key) = KEYS.iter().find(|&&known| known == word) else {
            return Ok(false);
        };
        let value = needed(key, value)?;
        set(&mut self.fsname, OsString::from_vec(value.to_vec()), key)?;
        Ok(true)
    }

    fn flag(&mut self, flag: &'static str) -> Result<(), CliError> {
        let rival = self.said.iter().find(|&&other| {
            CONTRADICTIONS.contains(&(flag, other)) || CONTRADICTIONS.contains(&(other, flag))
        });
        if let Some(rival) = rival {
            return Err(
                CliError::usage(format!("-o {rival} and -o {flag} contradict each other"))
                    .hint("give one of them"),
            );
        }
        self.said.push(flag);
        match flag {
            "allow_other" => self.allow_other = Some(true),
            "noallow_other" => self.allow_other = Some(false),
            other => {
                let is_known = self.flags.set(other);
                debug_assert!(is_known, "invariant: FLAGS lists what MountFlags knows");
            }
        }
        Ok(())
    }
}

/// The word of an option, `None` where it is no text, and its value.
fn parts(option: &[u8]) -> (Option<&str>, Option<&[u8]>) {
    let mut parts = option.splitn(2, |&byte| byte == b'=');
    let word = parts.next().unwrap_or_default();
    (str::from_utf8(word).ok(), parts.next())
}

/// Cuts at commas; a backslash takes the character after it literally, as in libfuse.
fn split(list: &OsStr) -> Vec<Vec<u8>> {
    let mut options = vec![Vec::new()];
    let mut bytes = list.as_bytes().iter().copied();
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
        return Err(contradicts(key));
    }
    *slot = Some(value);
    Ok(())
}

fn contradicts(key: &str) -> CliError {
    CliError::usage(format!("-o {key}= contradicts another value of {key}"))
        .hint(format!("give {key} once, as an option of its own or in -o"))
}

fn no_value(word: &str) -> CliError {
    CliError::usage(format!("-o {word} takes no value")).hint(format!("write -o {word}"))
}

fn needed<'a>(key: &str, value: Option<&'a [u8]>) -> Result<&'a [u8], CliError> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        CliError::usage(format!("-o {key} needs a value")).hint(format!("write -o {key}=VALUE"))
    })
}

fn unknown(option: &[u8]) -> CliError {
    let error = CliError::usage(format!("unknown option in -o: {}", Quoted(option)));
    let text = OsStr::from_bytes(option).to_str().unwrap_or_default();
    if Charset::from_label(text).is_ok() || ForbidValue::from_str(text, false).is_ok() {
        return error.hint("in -o a colon stands between values: from=shift_jis:windows-1252");
    }
    let word = text.split('=').next().unwrap_or_default().replace('_', "-");
    if let Some(why) = long::why_not(&word) {
        return error.hint(why);
    }
    let own = [FLAGS, IGNORED, KEYS].concat();
    let long = long::words();
    let known = || own.iter().copied().chain(long.iter().map(String::as_str));
    match nearest(&word, known()).or_else(|| nearest(&word.replace('-', "_"), known())) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("'utf8fs mount --help' lists the options of -o"),
    }
}

/// The most similar of `words`, if it is similar enough to be what was meant.
pub(super) fn nearest<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words
        .map(|word| (strsim::jaro_winkler(text, word), word))
        .filter(|&(similarity, _)| similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests;
