//! Why a mount could not be made.

use std::io;

use thiserror::Error;

use crate::names::Quoted;

/// Why nothing was mounted. None of these names the mount point: the caller knows it.
#[derive(Debug, Error)]
pub enum MountError {
    /// A system call failed.
    #[error("cannot {doing}: {error}")]
    Io {
        /// The purpose, as it goes after "cannot".
        doing: &'static str,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The mount point is the root of a live mount of ours.
    #[error("already mounted: {} is shown there", Quoted(backing))]
    AlreadyMounted {
        /// The source of that mount, which is its backing directory.
        backing: Vec<u8>,
    },
    /// `/dev/fuse` or the kernel's filesystem is missing.
    #[error("this kernel offers no FUSE: /dev/fuse is missing")]
    NoDevice,
    /// The mount is for an ordinary user, and those may not open `/dev/fuse`, not even by fusermount3.
    #[error("ordinary users may not open /dev/fuse on this machine")]
    DeviceDenied,
    /// The mount is for an ordinary user, and fusermount3 is not there.
    #[error("an ordinary user needs fusermount3 to mount, and it is not installed")]
    NoHelper,
    /// fusermount3 lets ordinary users have no `allow_other`.
    #[error("ordinary users may not mount with allow_other on this machine")]
    AllowOther,
    /// fusermount3 refused for another reason.
    #[error("fusermount3 refused: {}", Quoted(message))]
    Helper {
        /// The text that it wrote, in one line.
        message: Vec<u8>,
    },
}

impl MountError {
    /// Makes an error of what the system says about `doing`.
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }

    /// Returns advice for the user.
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
            Self::AlreadyMounted { .. } => Some("unmount it first, by utf8fs umount"),
            Self::Io { doing, .. } if *doing == super::TAKE_AWAY => {
                Some("run as the user who mounted it, or as root")
            }
            Self::Io { .. } | Self::Helper { .. } => None,
        }
    }
}
