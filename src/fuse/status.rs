//! The status of a mount, for root and its owner: the value of an extended attribute of the root that no listing
//! names.
//!
//! The attribute is in a namespace of its own, as Ceph's `ceph.*` is. Other filesystems know `user`, `trusted`,
//! `security` and `system`, so that it hides nothing below, and nobody can set it. The question is a request like any
//! other: it takes no socket, no file and no name in the tree, and passes the sandbox.

use super::layout::GetxattrIn;
use super::request::Request;
use crate::fs::ROOT;
use crate::records::{MountOptions, PolicyStatus};

/// The extended attribute of the root.
pub const ATTRIBUTE: &[u8] = b"utf8fs.status";

/// The part of the status that is known outside. Options and policy change when the policy is reloaded.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The user who mounted, who may ask besides root.
    pub owner: u32,
    /// The backing directory.
    pub backing: Vec<u8>,
    /// The mount point.
    pub mountpoint: Vec<u8>,
    /// The options in force.
    pub options: Option<MountOptions>,
    /// The policy file in force, if there is one.
    pub policy: Option<PolicyStatus>,
}

/// Does this getxattr(2) ask for the status of the mount?
pub(super) fn asks_status(mut request: Request<'_>) -> bool {
    request.node == ROOT
        && request.arguments.record::<GetxattrIn>().is_ok()
        && request.arguments.text() == Ok(ATTRIBUTE)
}
