//! The one table from a rule to an errno (law N9).

use super::Rule;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// The errno of a refusal, where it is a matter of choice: NFS servers and Samba do not know `EILSEQ`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum ErrnoChoice {
    /// Illegal byte sequence, as ZFS answers (default)
    #[default]
    Eilseq,
    /// Invalid argument, for NFS servers, which do not know EILSEQ
    Einval,
    /// Operation not permitted
    Eperm,
    /// File name too long, for Samba, whose clients are told then that the name is invalid
    Enametoolong,
}

impl ErrnoChoice {
    /// The errno for a name that breaks `rule`.
    pub fn errno(self, rule: Rule) -> i32 {
        match rule {
            Rule::TooLong { .. } => libc::ENAMETOOLONG,
            Rule::NotUnique(_) => libc::EEXIST,
            Rule::NotAComponent => libc::EINVAL,
            Rule::IllFormed(..)
            | Rule::Forbidden(_)
            | Rule::NotNormalized(_)
            | Rule::Unmappable(_) => match self {
                Self::Eilseq => libc::EILSEQ,
                Self::Einval => libc::EINVAL,
                Self::Eperm => libc::EPERM,
                Self::Enametoolong => libc::ENAMETOOLONG,
            },
        }
    }
}

/// The symbol of an errno that this crate refuses names with: `EILSEQ`.
pub fn symbol(errno: i32) -> &'static str {
    match errno {
        libc::EILSEQ => "EILSEQ",
        libc::EINVAL => "EINVAL",
        libc::EPERM => "EPERM",
        libc::ENAMETOOLONG => "ENAMETOOLONG",
        libc::EEXIST => "EEXIST",
        _ => "EIO",
    }
}
