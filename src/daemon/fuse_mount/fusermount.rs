//! The setuid helper that mounts and unmounts for ordinary users: fusermount3, or fusermount of older systems.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::{MountSpec, SUBTYPE, UnmountOutcome, no_device};
use crate::daemon::command_error::{CommandError, Doing};
use crate::names::Quoted;
use crate::os::helper::receive;

/// Tried in this order; found by `PATH`.
const PROGRAMS: [&str; 2] = ["fusermount3", "fusermount"];
/// The variable by which the helper learns the socket that takes the descriptor.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";
/// The fault where none of the programs is there.
const NO_HELPER: &str = "an ordinary user needs fusermount3 to mount, and it is not installed";

/// Mounts on `path` and returns the connection.
pub(super) fn mount(spec: &MountSpec, path: &Path) -> Result<OwnedFd, CommandError> {
    let options = options(spec);
    let doing = "run fusermount3";
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let pair = socketpair(family, kind, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.doing(doing)?;
    let words: [&OsStr; 4] = ["-o".as_ref(), &options, "--".as_ref(), path.as_ref()];
    let child = spawn(&words, Some(&theirs)).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            CommandError::failure(NO_HELPER).hint("install the package fuse3, or run as root")
        } else {
            CommandError::io(doing, &error)
        }
    })?;
    drop(theirs);
    // It hangs up without a descriptor if it refuses.
    let received = receive(ours.as_fd(), &mut [0]);
    let output = child.wait_with_output();
    let (_, fuse_fd) = received.doing(doing)?;
    match fuse_fd {
        Some(fuse_fd) => Ok(fuse_fd),
        None => Err(refusal(&output.doing(doing)?.stderr)),
    }
}

/// Unmounts what is mounted at `path`, or takes it out of the tree while it is in use, if `lazily`.
pub(super) fn unmount(path: &Path, lazily: bool) -> io::Result<UnmountOutcome> {
    let action = if lazily { "-uz" } else { "-u" };
    let child = spawn(&[action.as_ref(), "--".as_ref(), path.as_ref()], None)?;
    let output = child.wait_with_output()?;
    let message = refused(&output.stderr);
    if output.status.success() {
        Ok(UnmountOutcome::Done)
    } else if !lazily && message.contains("busy") {
        Ok(UnmountOutcome::Busy)
    } else if message.contains(" not found in /etc/mtab") {
        let denied = io::ErrorKind::PermissionDenied;
        Err(io::Error::new(denied, "another user mounted it"))
    } else {
        Err(io::Error::other(message))
    }
}

/// Starts the first program that there is, with its error output piped.
fn spawn(arguments: &[&OsStr], input: Option<&OwnedFd>) -> io::Result<Child> {
    for program in PROGRAMS {
        let input = input.map(OwnedFd::try_clone).transpose()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            // Its messages are looked into, so they must not be translated.
            .env("LC_ALL", "C")
            // As its standard input the socket gets past exec without being open to other programs that we may run.
            .env(SOCKET_VARIABLE, "0")
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            started => return started,
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, NO_HELPER))
}

fn options(spec: &MountSpec) -> OsString {
    let mut options = b"fsname=".to_vec();
    options.extend(escape(spec.source.as_bytes()));
    options.extend(format!(",subtype={SUBTYPE}{}", spec.words()).bytes());
    for word in spec.flags.to_helper() {
        options.push(b',');
        options.extend(word.bytes());
    }
    OsString::from_vec(options)
}

/// Escapes what separates options, as fusermount3 takes it back.
fn escape(value: &[u8]) -> impl Iterator<Item = u8> {
    value.iter().flat_map(|&octet| {
        let sign = matches!(octet, b',' | b'\\').then_some(b'\\');
        sign.into_iter().chain([octet])
    })
}

fn refusal(stderr: &[u8]) -> CommandError {
    let message = refused(stderr);
    if message.contains("user_allow_other") {
        CommandError::usage("ordinary users may not mount with allow_other on this machine")
            .hint("leave allow_other out, or have the administrator write user_allow_other into /etc/fuse.conf")
    } else if message.contains("modprobe fuse") {
        no_device()
    } else if message.contains("open /dev/fuse: Permission denied") {
        CommandError::failure("ordinary users may not open /dev/fuse on this machine")
            .hint("run as root, or have the administrator set its mode to 0666, as udev does")
    } else {
        CommandError::usage(message)
    }
}

/// Says what fusermount3 said on its error output.
fn refused(stderr: &[u8]) -> String {
    let message = Quoted(stderr.trim_ascii());
    format!("fusermount3 refused: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::fuse_mount::MountFlags;

    #[test]
    fn the_source_cannot_add_options() {
        let mut flags = MountFlags::default();
        for word in ["ro", "nosuid", "relatime", "noatime"] {
            assert!(flags.set(word));
        }
        let spec = MountSpec {
            source: OsString::from_vec(b"/a,allow_other\\\xFF".to_vec()),
            mountpoint: "/m".into(),
            flags,
            allow_other: true,
            checks_rights: true,
        };
        let expected = b"fsname=/a\\,allow_other\\\\\xFF,subtype=utf8fs,default_permissions,allow_other,ro,nosuid,noatime";
        assert_eq!(options(&spec).as_bytes(), expected);
    }

    #[test]
    fn refusals_get_their_hints() {
        let rows: [(&[u8], Option<&str>); 4] = [
            (b"fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n", Some("user_allow_other")),
            (b"fusermount3: fuse device not found, try 'modprobe fuse' first\n", Some("modprobe fuse")),
            (b"fusermount3: failed to open /dev/fuse: Permission denied\n", Some("0666")),
            (b"fusermount3: user has no write access to mountpoint /m\n", None),
        ];
        for (stderr, hint) in rows {
            let error = refusal(stderr);
            assert_eq!(error.hint.is_some(), hint.is_some(), "{error:?}");
            let told = error.hint.unwrap_or_default();
            assert!(told.contains(hint.unwrap_or_default()));
        }
        let refused = refusal(b"no\x1b[2J\n").message;
        assert!(refused.ends_with("\"no\\x1B[2J\""), "{refused}");
    }
}
