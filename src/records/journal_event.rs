//! The events of an undo journal: the lines of its file, and those of `utf8fs journal --json`
//! (docs/internals/formats.md).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::backing_name::{TreePath, tree_path};
use super::{Kind, Name, Time};
use crate::codec::Charset;
use crate::names::BackingName;

/// An event of an undo journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum JournalEvent<'a> {
    /// The start of the journal.
    Journal(JournalHeader),
    /// All changes of one directory.
    Job(Cow<'a, Job>),
    /// The journal is whole: nothing was changed before.
    Complete {
        /// Directories with steps.
        directories: u64,
        /// Steps.
        steps: u64,
        /// Entries and directories without steps.
        #[serde(flatten)]
        unplanned: Unplanned,
    },
    /// Some directories are done, and on the medium.
    Progress {
        /// The directories.
        directories: u64,
        /// Their steps.
        steps: u64,
        /// Steps of theirs that were left.
        left: u64,
    },
    /// All is done, but for what was left.
    Finished(Outcome),
    /// Undoing all of it was begun.
    Undoing,
    /// All is undone, but for what was left.
    Undone(Outcome),
    /// From here on names may have been changed by linking and unlinking.
    Linking,
    /// The end of what is printed; no line of the file.
    Status {
        /// The progress of the migration; `broken` if nothing of the journal can be read.
        status: Cow<'a, str>,
        /// The first frame that is missing, counted from 0; `None` if none is.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing_frame: Option<u64>,
    },
}

/// Entries and directories for which planning made no steps (law T3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unplanned {
    /// Entries with which something is amiss, and which stay as they are.
    #[serde(rename = "planning_left")]
    pub left: u64,
    /// Directories that could not be read.
    #[serde(rename = "planning_unread")]
    pub unread: u64,
}

/// The outcome of the last run of a migration, or of undoing it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Steps that it did.
    pub done: u64,
    /// Steps that it found done.
    pub before: u64,
    /// Steps that were left.
    pub left: u64,
    /// Was it stopped before its end? Then the journal has no such event.
    #[serde(skip)]
    pub is_stopped: bool,
}

/// The tree of a migration or a guard, and what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The version of the format.
    pub version: u32,
    /// Tells it from all other journals, in hex digits.
    pub id: String,
    /// The time of its making: later than that of any earlier journal of the tree that was known then.
    pub created: Time,
    /// The absolute path of the root of the tree, for people: it may be another tree's by now.
    pub root: Name,
    /// The options that the tree was migrated with, for people.
    pub options: String,
    /// The kind of request that the journal was made for.
    pub origin: JournalOrigin,
    /// The SHA-256 of the plan's file, or of the options where there was none, in hex digits.
    pub digest: String,
    /// The charset that names were encoded in; `None` if they were made UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Charset>,
    /// The identity of the tree.
    pub tree: TreeIdentity,
    /// The time of the root's last change.
    pub mtime: FileTime,
}

/// The kind of request that a journal was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalOrigin {
    /// A migration by options.
    Options,
    /// A migration by a plan that was read.
    Plan,
    /// A guard: jobs are added as names are made.
    Guard,
}

/// The identity of a tree, wherever it is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeIdentity {
    /// The root.
    pub inode: InodeId,
    /// The file handle of the root in hex digits, where its birth is unknown and the filesystem has handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The UUID of the filesystem, in hex digits and dashes as it is written elsewhere, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The `f_fsid` of statfs(2) in hex digits, unless it is zero. Some filesystems make it of a device number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
}

impl TreeIdentity {
    /// Returns true if both are of one tree, as far as both are known.
    ///
    /// The filesystem's own number counts only where nothing else tells one filesystem from another: a disk that is plugged in
    /// again may get another one.
    pub fn is_same_tree(&self, other: &Self) -> bool {
        let is_same_birth = match (self.inode.born, other.inode.born) {
            (Some(one), Some(other)) => Some(one == other),
            _ => None,
        };
        let evidence = [
            is_same_birth,
            are_equal(self.handle.as_ref(), other.handle.as_ref()),
            are_equal(self.uuid.as_ref(), other.uuid.as_ref()),
        ];
        let is_known = evidence.iter().any(Option::is_some);
        let is_same_filesystem = is_known
            || are_equal(self.filesystem.as_ref(), other.filesystem.as_ref()).unwrap_or(true);
        self.inode.ino == other.inode.ino
            && evidence.iter().all(|is_equal| *is_equal != Some(false))
            && is_same_filesystem
    }
}

/// Returns whether two facts are equal; `None` if one of them is unknown.
fn are_equal(one: Option<&String>, other: Option<&String>) -> Option<bool> {
    Some(one? == other?)
}

/// A journal in the register: the one thing that is still known of it if its file is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterEntry {
    /// The absolute path of the journal.
    pub journal: Name,
    /// The journal's header.
    pub header: JournalHeader,
    /// Is the migration undone?
    pub is_undone: bool,
}

/// All changes of one directory. First its links get other targets, under the names of before, as those of all directories
/// do; then names are changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The number of its line in the journal; 0 before it has one.
    #[serde(skip)]
    pub number: u64,
    /// The directory.
    #[serde(with = "tree_path")]
    pub directory: TreePath,
    /// The identity of the directory.
    pub inode: InodeId,
    /// The time of its last change.
    pub mtime: FileTime,
    /// The changes. A chain stands together, in its order.
    pub changes: Vec<Change>,
}

/// The change of one entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name before anything is done.
    pub name: BackingName,
    /// Its identity: another one at that name means that others have changed it since.
    #[serde(rename = "inode")]
    pub id: InodeId,
    /// The kind of the entry.
    pub kind: Kind,
    /// The destination; `None`: it keeps its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Destination>,
    /// A free name that it has until the rest of its chain is done, where names are exchanged in a ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meantime: Option<BackingName>,
    /// Does it take the name that the change before it gives up? Those of a chain stand together, in the order in which
    /// each name is free before it is taken.
    #[serde(
        rename = "chained",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_chained: bool,
    /// The targets of a symbolic link: the same one twice where it keeps its own, by which it is known again. Its owner, times and
    /// attributes stay (law T6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Retarget>,
}

/// The destination of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// To another name in its directory, which no entry has (law T2).
    Name(BackingName),
    /// Into the directory of what is set aside, in the root of the tree, from where undoing takes it back.
    Aside,
}

/// The targets of a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retarget {
    /// The target before anything is done.
    pub old: Name,
    /// The target that it gets.
    pub new: Name,
}

/// The identity of an inode: its number, and its birth, which tells it from another one that has got its number since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InodeId {
    /// The inode number.
    #[serde(rename = "number")]
    pub ino: u64,
    /// The time of its birth; `None` where it is not known, or the filesystem does not keep it.
    #[serde(rename = "birth", skip_serializing_if = "Option::is_none")]
    pub born: Option<FileTime>,
}

/// A point in time as the kernel keeps it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct FileTime {
    /// Seconds since 1970, negative before.
    pub secs: i64,
    /// Nanoseconds after that second, below 1,000,000,000.
    pub nanos: u32,
}
