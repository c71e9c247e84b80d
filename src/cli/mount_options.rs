//! `-o`, as mount(8) and fstab have it. Words that are long options of `utf8fs mount` become those before clap reads the arguments;
//! what is left is about the mount itself. Of two options that contradict each other the later wins, as in mount(8).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::{Arg, ArgAction, Args, Command};

use super::CommandError;
use super::args::{CommonArgs, MountArgs};
use crate::codec::Charset;
use crate::daemon::command_error::nearest;
use crate::daemon::mount_config::ALLOW;
use crate::fuse::mounting::MountFlags;
use crate::names::Quoted;
use crate::policy::Class;

/// Words that are for mount(8), systemd or libfuse, or say what is so anyway. They may have a value.
const IGNORED: &str = "defaults auto noauto user nouser users nousers owner noowner group nogroup nofail _netdev \
    default_permissions comment subtype sloppy";

/// Puts long options of `utf8fs mount` in the place of the words of `-o` that stand for them: `--from=a,b` for `from=a:b`,
/// `--cross-mounts` for `cross_mounts`. Other words get an `-o` each. Arguments of other commands stay as they are.
pub(super) fn expand(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_none_or(|command| command != "mount") {
        return args;
    }
    let options = options();
    let mut expanded = Vec::with_capacity(args.len());
    let end = args.iter().position(|arg| arg == "--");
    let operands = args.split_off(end.unwrap_or(args.len()));
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
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
            Some(list) => expanded.extend(split(&list).iter().flat_map(|word| one(&options, word))),
            None => expanded.push("-o".into()),
        }
    }
    expanded.extend(operands);
    expanded
}

/// Returns the flags before an `o`, and what follows it, of an argument such as `-o`, `-vo` or `-oro`.
fn options_of(arg: &OsStr) -> Option<(&[u8], &[u8])> {
    let letters = arg.as_bytes().strip_prefix(b"-")?;
    let is_no_flag = |letter: &u8| !b"fnqv".contains(letter);
    let o = letters.iter().position(is_no_flag)?;
    let (flags, rest) = letters.split_at_checked(o)?;
    Some((flags, rest.strip_prefix(b"o")?))
}

/// Returns the arguments that stand for one word of `-o`.
fn one(options: &[Arg], word: &[u8]) -> Vec<OsString> {
    let (key, value) = parts(word);
    let key = key.unwrap_or_default().replace('_', "-");
    let Some(arg) = options.iter().find(|arg| arg.get_long() == Some(&*key)) else {
        // In one argument, since it may begin with a dash.
        return vec![OsString::from_vec([b"-o=", word].concat())];
    };
    let with = |value: &[u8]| OsString::from_vec([b"--", key.as_bytes(), b"=", value].concat());
    match value {
        // Else the next argument would be its value.
        None if arg.get_action().takes_values() => vec![with(b"")],
        None => vec![format!("--{key}").into()],
        // Lists add up.
        Some(values) if matches!(arg.get_action(), ArgAction::Append) => {
            values.split(|&octet| octet == b':').map(with).collect()
        }
        Some(value) => vec![with(value)],
    }
}

/// Returns what to write instead of a word that is no option here.
fn instead_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "background" => "mount(8) always mounts in the background; else write --background",
        "foreground" => "mount(8) waits for the mount, not for its end; else write --foreground",
        "help" => "write 'utf8fs mount --help'",
        "uid" | "gid" | "umask" | "fmask" | "dmask" => {
            "owners and modes are those of the backing directory"
        }
        "drop-privileges" => "leave it out: utf8fs confines itself, as sandbox says",
        "setuid" => "leave it out: to mount as another user, write user and let that user mount",
        "charset" | "codepage" | "iocharset" | "nls" => {
            "write from=CHARSET for the charset of the names on disk"
        }
        _ => return None,
    })
}

/// Returns the long options of `utf8fs mount` that have a form in `-o`, those of all commands among them.
fn options() -> Vec<Arg> {
    let command = CommonArgs::augment_args(MountArgs::augment_args(Command::default()));
    let options = command.get_arguments();
    let has_form = |long: &str| instead_of(long).is_none();
    let options = options.filter(|arg| arg.get_long().is_some_and(has_form));
    options.cloned().collect()
}

/// Returns the words that [`expand`] left and that do something.
///
/// # Errors
/// An unknown word, or `remount`.
pub(super) fn words(args: &MountArgs) -> Result<Vec<&'static str>, CommandError> {
    let is_sloppy = args.options.iter().any(|word| word == "sloppy");
    let mut words = Vec::new();
    for word in args.options.iter().map(|word| word.as_bytes()) {
        if let Some(known) = all_words().find(|known| known.as_bytes() == word) {
            words.push(known);
        } else if word == b"remount" {
            let message = "-o remount is not possible: the options of a mount are those that it was made with";
            return Err(CommandError::usage(message).hint("unmount it and mount it again; only ro, rw, nosuid, nodev, noexec can be changed, by the kernel alone, which drops what is left out: mount -i -o remount,bind,ro,nosuid,nodev MOUNTPOINT"));
        } else if !is_ignored(word) {
            if !is_sloppy {
                return Err(unknown(word));
            }
            log::warn!("unknown option in -o left out: {}", Quoted(word));
        }
    }
    Ok(words)
}

fn is_ignored(word: &[u8]) -> bool {
    let (key, _) = parts(word);
    key.is_some_and(|key| {
        key.is_empty()
            || key.starts_with("x-")
            || key.starts_with("X-")
            || IGNORED.split(' ').any(|word| word == key)
    })
}

/// Returns the words without a value that do something.
fn all_words() -> impl Iterator<Item = &'static str> {
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
    let text = str::from_utf8(word).unwrap_or_default();
    let key = parts(word).0.unwrap_or_default().replace('_', "-");
    let hint = if Charset::from_label(text).is_ok() || text.parse::<Class>().is_ok() {
        "in -o a colon stands between values: from=shift_jis:windows-1252".to_owned()
    } else if let Some(option) = text.strip_prefix("--") {
        format!("options in -o have no dashes: {option}")
    } else if let Some(instead) = instead_of(&key) {
        instead.to_owned()
    } else {
        let options = options();
        let mut words: Vec<&str> = all_words().chain(IGNORED.split(' ')).collect();
        words.extend(options.iter().filter_map(Arg::get_long));
        match nearest(&key, words.into_iter()) {
            Some(near) => format!("did you mean {near}?"),
            None => "'utf8fs mount --help' lists the options of -o".to_owned(),
        }
    };
    CommandError::usage(format!("unknown option in -o: {}", Quoted(word))).hint(hint)
}

#[cfg(test)]
mod tests;
