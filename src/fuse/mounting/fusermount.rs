//! The setuid helper that mounts and unmounts for ordinary users: fusermount3, or fusermount of older systems.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::{MountSpec, UnmountOutcome};
use crate::names::Quoted;
use crate::os::helper::receive;

/// Tried in this order; found by `PATH`.
const PROGRAMS: [&str; 2] = ["fusermount3", "fusermount"];
/// The variable by which the helper learns the socket that takes the descriptor.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";

/// Mounts on `path` and returns the connection.
pub(super) fn mount(spec: &MountSpec, path: &Path) -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let (ours, theirs) = socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
    let options = options(spec);
    let words: [&OsStr; 4] = ["-o".as_ref(), &options, "--".as_ref(), path.as_ref()];
    let child = spawn(&words, Some(&theirs))?;
    drop(theirs);
    // It hangs up without a descriptor if it refuses.
    let received = receive(ours.as_fd(), &mut [0]);
    let output = child.wait_with_output()?;
    let (_, fuse_fd) = received?;
    fuse_fd.ok_or_else(|| io::Error::other(refused(&output.stderr)))
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
    let missing = "an ordinary user needs fusermount3 to mount, and it is not installed";
    Err(io::Error::new(io::ErrorKind::NotFound, missing))
}

/// Returns the options of a mount. It always sets `nosuid` and `nodev` for an ordinary user.
fn options(spec: &MountSpec) -> OsString {
    let mut options = b"fsname=".to_vec();
    for &octet in spec.source.as_bytes() {
        // What separates options is escaped.
        if matches!(octet, b',' | b'\\') {
            options.push(b'\\');
        }
        options.push(octet);
    }
    options.extend(format!(",subtype=utf8fs{}", spec.words()).bytes());
    for word in spec.flags.words() {
        // It does not know these: FUSE leaves access times to the daemon.
        if !["nodiratime", "relatime", "strictatime"].contains(&word) {
            options.extend(format!(",{word}").bytes());
        }
    }
    OsString::from_vec(options)
}

/// Says what fusermount3 said on its error output.
fn refused(stderr: &[u8]) -> String {
    let message = Quoted(stderr.trim_ascii());
    format!("fusermount3 refused: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::mounting::MountFlags;

    #[test]
    fn the_source_cannot_add_options() {
        let spec = MountSpec {
            source: OsString::from_vec(b"/a,allow_other\\\xFF".to_vec()),
            mountpoint: "/m".into(),
            flags: MountFlags::of(&["ro", "dev", "nodiratime", "noatime"]),
            allow_other: true,
            checks_rights: true,
        };
        let expected = b"fsname=/a\\,allow_other\\\\\xFF,subtype=utf8fs,default_permissions,allow_other,ro,nosuid,noatime";
        assert_eq!(options(&spec).as_bytes(), expected);
    }

    #[test]
    fn what_it_says_cannot_move_the_cursor() {
        let said = refused(b"no\x1b[2J\n");
        assert!(said.ends_with("\"no\\x1B[2J\""), "{said}");
    }
}
