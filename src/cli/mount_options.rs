//! `-o`, as mount(8) and fstab have it. Words that are long options of `utf8fs mount` become those before clap reads the arguments;
//! what is left is about the mount itself. Of two options that contradict each other the later wins, as in mount(8).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::CommandError;
use super::args::{Cli, MountArgs};
use crate::codec::Charset;
use crate::daemon::fuse_mount::MountFlags;
use crate::names::Quoted;
use crate::policy::Class;
use crate::records::nearest;

/// Words without a value that do something, beside those of [`MountFlags`].
const ALLOW: [&str; 2] = ["allow_other", "noallow_other"];

/// Words of which the last holds, beside pairs such as `ro` and `rw`.
const ACCESS_TIMES: &[&str] = &["noatime", "relatime", "strictatime"];

/// Words that are for mount(8), systemd or libfuse, or say what is so anyway. They may have a value.
const IGNORED: &str = "defaults auto noauto user nouser users nousers owner noowner group nogroup nofail _netdev \
    default_permissions comment subtype sloppy";

/// The word of the mount that takes a value.
const FSNAME: &str = "fsname";

/// Long options without a form in `-o`, and why.
const NONE_OF_O: &[(&str, &str)] = &[
    (
        "background",
        "mount(8) always mounts in the background; else write --background",
    ),
    (
        "foreground",
        "mount(8) waits for the mount, not for its end; else write --foreground",
    ),
    ("help", "write 'utf8fs mount --help'"),
];

/// Puts long options of `utf8fs mount` in the place of the words of `-o` that stand for them: `--from=a,b` for `from=a:b`,
/// `--cross-mounts` for `cross_mounts`. Other words get an `-o` each. Arguments of other commands stay as they are.
pub(super) fn expand(args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_none_or(|command| command != "mount") {
        return args;
    }
    let command = mount_command();
    let mut expanded = Vec::with_capacity(args.len());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            expanded.push(arg);
            break;
        }
        let Some((flags, list)) = options_of(&arg) else {
            expanded.push(arg);
            continue;
        };
        if !flags.is_empty() {
            expanded.push(OsString::from_vec([b"-", flags].concat()));
        }
        let list = if list.is_empty() {
            args.next()
        } else {
            Some(OsString::from_vec(list.to_vec()))
        };
        match list {
            Some(list) => expanded.extend(split(&list).iter().flat_map(|word| one(&command, word))),
            None => expanded.push("-o".into()),
        }
    }
    expanded.extend(args);
    expanded
}

/// Returns the flags before an `o`, and what follows it, of an argument such as `-o`, `-vo` or `-oro`.
fn options_of(arg: &OsStr) -> Option<(&[u8], &[u8])> {
    let letters = arg.as_bytes().strip_prefix(b"-")?;
    let o = letters
        .iter()
        .position(|letter| !b"fnqv".contains(letter))?;
    let (flags, rest) = letters.split_at_checked(o)?;
    Some((flags, rest.strip_prefix(b"o")?))
}

/// Returns the arguments that stand for one word of `-o`.
fn one(command: &Command, word: &[u8]) -> Vec<OsString> {
    let (key, value) = parts(word);
    let Some(arg) = key.and_then(|key| find(command, key)) else {
        // In one argument, since it may begin with a dash.
        return vec![OsString::from_vec([b"-o=", word].concat())];
    };
    let long = arg.get_long().unwrap_or_default();
    let with = |value: &[u8]| OsString::from_vec([b"--", long.as_bytes(), b"=", value].concat());
    match value {
        None => vec![format!("--{long}").into()],
        // Lists add up.
        Some(values) if matches!(arg.get_action(), ArgAction::Append) => {
            values.split(|&octet| octet == b':').map(with).collect()
        }
        Some(value) => vec![with(value)],
    }
}

/// Finds the long option that a word stands for, with `_` or `-`.
fn find<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let word = word.replace('_', "-");
    let is_it = |arg: &&Arg| arg.get_long() == Some(&*word) && why_not(&word).is_none();
    command.get_arguments().find(is_it)
}

fn why_not(word: &str) -> Option<&'static str> {
    let found = NONE_OF_O.iter().find(|(none, _)| *none == word);
    found.map(|(_, why)| *why)
}

fn mount_command() -> Command {
    let mut all = Cli::command();
    // Options of all commands are then among its own.
    all.build();
    let command = all.find_subcommand_mut("mount").map(std::mem::take);
    command.unwrap_or_default()
}

/// The options of `-o` for the mount itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MountOptions {
    /// Flags of the mount.
    pub(super) flags: MountFlags,
    /// The words without a value.
    pub(super) words: Vec<&'static str>,
    /// May others use the mount? `None` if nothing is said.
    pub(super) allow_other: Option<bool>,
    /// The source to show.
    pub(super) fsname: Option<OsString>,
}

impl MountOptions {
    /// Reads the words that [`expand`] left.
    ///
    /// # Errors
    /// An unknown word, or one with a value too much or too few.
    pub(super) fn read(args: &MountArgs) -> Result<Self, CommandError> {
        let mut options = Self::default();
        options.flags.set("nosuid");
        options.flags.set("nodev");
        let is_sloppy = args.options.iter().any(|word| word == "sloppy");
        for word in &args.options {
            if !options.take(word.as_bytes())? {
                if !is_sloppy {
                    return Err(unknown(word.as_bytes()));
                }
                log::warn!("unknown option in -o left out: {}", Quoted(word.as_bytes()));
            }
        }
        Ok(options)
    }

    /// Takes one word; returns whether it is known.
    fn take(&mut self, word: &[u8]) -> Result<bool, CommandError> {
        let (Some(key), value) = parts(word) else {
            return Ok(false);
        };
        let is_ignored = key.is_empty() || IGNORED.split(' ').any(|word| word == key);
        if is_ignored || key.starts_with("x-") || key.starts_with("X-") {
            return Ok(true);
        }
        if key == "remount" {
            return Err(CommandError::usage(
                "-o remount is not possible: the options of a mount are those that it was made with",
            )
            .hint("unmount it and mount it again; only ro, rw, nosuid, nodev, noexec can be changed, by the kernel alone, which drops what is left out: mount -i -o remount,bind,ro,nosuid,nodev MOUNTPOINT"));
        }
        if key == FSNAME {
            let Some(value @ [_, ..]) = value else {
                let error = CommandError::usage("-o fsname needs a value");
                return Err(error.hint("write -o fsname=VALUE"));
            };
            self.fsname = Some(OsString::from_vec(value.to_vec()));
            return Ok(true);
        }
        let Some(flag) = flags().find(|flag| *flag == key) else {
            return Ok(false);
        };
        if value.is_some() {
            let error = CommandError::usage(format!("-o {flag} takes no value"));
            return Err(error.hint(format!("write -o {flag}")));
        }
        self.words.push(flag);
        if ALLOW.contains(&flag) {
            self.allow_other = Some(flag == "allow_other");
        } else if ACCESS_TIMES.contains(&flag) {
            for other in ["atime", "norelatime", "nostrictatime"] {
                self.flags.set(other);
            }
        }
        self.flags.set(flag);
        Ok(true)
    }
}

/// Returns the words without a value that do something.
fn flags() -> impl Iterator<Item = &'static str> {
    MountFlags::all_words().chain(ALLOW)
}

/// Returns the key of a word, `None` where it is no text, and its value.
fn parts(word: &[u8]) -> (Option<&str>, Option<&[u8]>) {
    let mut parts = word.splitn(2, |&byte| byte == b'=');
    let key = parts.next().unwrap_or_default();
    (str::from_utf8(key).ok(), parts.next())
}

/// Cuts at commas; a backslash takes the character after it literally, as in libfuse.
fn split(list: &OsStr) -> Vec<Vec<u8>> {
    let mut words = vec![Vec::new()];
    let mut bytes = list.as_bytes().iter().copied();
    while let Some(byte) = bytes.next() {
        let literal = match byte {
            b',' => {
                words.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next().unwrap_or(b'\\'),
            other => other,
        };
        if let Some(word) = words.last_mut() {
            word.push(literal);
        }
    }
    words
}

fn unknown(word: &[u8]) -> CommandError {
    let error = CommandError::usage(format!("unknown option in -o: {}", Quoted(word)));
    let text = str::from_utf8(word).unwrap_or_default();
    if Charset::from_label(text).is_ok() || text.parse::<Class>().is_ok() {
        return error.hint("in -o a colon stands between values: from=shift_jis:windows-1252");
    }
    if let Some(option) = text.strip_prefix("--") {
        return error.hint(format!("options in -o have no dashes: {option}"));
    }
    let key = text.split('=').next().unwrap_or_default().replace('_', "-");
    let hint = match &*key {
        "uid" | "gid" | "umask" | "fmask" | "dmask" => {
            Some("owners and modes are those of the backing directory")
        }
        "charset" | "codepage" | "iocharset" | "nls" => {
            Some("write from=CHARSET for the charset of the names on disk")
        }
        key => why_not(key),
    };
    if let Some(hint) = hint {
        return error.hint(hint);
    }
    let command = mount_command();
    let mut words: Vec<&str> = flags().chain(IGNORED.split(' ')).chain([FSNAME]).collect();
    let long = command.get_arguments().filter_map(Arg::get_long);
    words.extend(long.filter(|word| why_not(word).is_none()));
    error.hint(match nearest(&key, words.into_iter()) {
        Some(near) => format!("did you mean {near}?"),
        None => "'utf8fs mount --help' lists the options of -o".to_owned(),
    })
}

#[cfg(test)]
mod tests;
