//! What a migration does: steps, grouped by the directory that they are done in.

use crate::backing::Kind;
use crate::names::BackingName;

/// The way from the root of a tree to a directory in it: backing names as they were before anything was done. Empty for the root.
pub type TreePath = Vec<BackingName>;

/// All that is done in one directory, in this order. No two groups of a migration have the same directory.
///
/// Groups are carried out from the deepest directories up, so that the names on the way to a directory are still the old ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The directory.
    pub directory: TreePath,
    /// Its inode number as it was found.
    pub inode: u64,
    /// Never empty. Where names are exchanged, or follow each other, the order makes each free before it is taken.
    pub steps: Vec<Step>,
}

/// What is done to one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name that it has when the steps before are done.
    pub name: BackingName,
    /// Its inode number as the directory tells it (`d_ino`): another one at that name means that others have changed it since.
    pub inode: u64,
    /// What it is, as the directory tells it (`d_type`).
    pub kind: Kind,
    /// What becomes of it.
    pub action: Action,
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It gets another name in the same directory, which no entry has (law T2).
    Rename(BackingName),
    /// A symbolic link gets another target. Its owner, times and attributes stay (law T6).
    Retarget(Vec<u8>),
    /// A file whose content another one has as well is put aside, into a directory of the migration's in the root of the tree,
    /// from where undoing takes it back.
    SetAside,
}
