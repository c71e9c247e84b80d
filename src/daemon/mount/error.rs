//! Why a mount could not be made.

use std::fmt;
use std::io;

use crate::names::Quoted;

/// Why nothing was mounted. None of these names the mount point: the caller knows it.
#[derive(Debug)]
pub enum MountError {
    /// A system call failed.
    Io {
        /// What it was for, as it goes after "cannot".
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The mount point is the root of a live mount of ours.
    AlreadyMounted {
        /// The source of that mount, which is its backing directory.
        source: Vec<u8>,
    },
    /// `/dev/fuse` or the kernel's filesystem is missing.
    NoDevice,
    /// The mount is for an ordinary user, and those may not open `/dev/fuse`, not even by fusermount3.
    DeviceDenied,
    /// The mount is for an ordinary user, and fusermount3 is not there.
    NoHelper,
    /// fusermount3 lets ordinary users have no `allow_other`.
    AllowOther,
    /// fusermount3 refused for another reason.
    Helper {
        /// What it wrote, in one line.
        message: Vec<u8>,
    },
}

impl MountError {
    /// Makes an error of what the system says about `doing`.
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }

    /// What the user may do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoDevice => Some("load the kernel's module: modprobe fuse"),
            Self::DeviceDenied => {
                Some("run as root, or have the administrator set its mode to 0666, as udev does")
            }
            Self::NoHelper => Some("install the package fuse3, or run as root"),
            Self::AllowOther => Some(
                "leave allow_other out, or have the administrator write user_allow_other into /etc/fuse.conf",
            ),
            Self::AlreadyMounted { .. } => Some("unmount it first: umount, or fusermount3 -u"),
            Self::Io { doing, .. } if *doing == super::TAKE_AWAY => {
                Some("run as the user who mounted it, or as root")
            }
            Self::Io { .. } | Self::Helper { .. } => None,
        }
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, error } => write!(f, "cannot {doing}: {error}"),
            Self::AlreadyMounted { source } => {
                write!(f, "already mounted: {} is shown there", Quoted(source))
            }
            Self::NoDevice => f.write_str("this kernel offers no FUSE: /dev/fuse is missing"),
            Self::DeviceDenied => {
                f.write_str("ordinary users may not open /dev/fuse on this machine")
            }
            Self::NoHelper => {
                f.write_str("an ordinary user needs fusermount3 to mount, and it is not installed")
            }
            Self::AllowOther => {
                f.write_str("ordinary users may not mount with allow_other on this machine")
            }
            Self::Helper { message } => write!(f, "fusermount3 refused: {}", Quoted(message)),
        }
    }
}

impl std::error::Error for MountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::AlreadyMounted { .. }
            | Self::NoDevice
            | Self::DeviceDenied
            | Self::NoHelper
            | Self::AllowOther
            | Self::Helper { .. } => None,
        }
    }
}
