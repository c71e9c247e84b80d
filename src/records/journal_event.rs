//! The events of an undo journal, as `utf8fs journal --json` prints them.

use std::borrow::Cow;

use serde::Serialize;

use super::backing_name::{TreePath, tree_path};
use super::{Kind, Name};
use crate::names::BackingName;

/// An event of an undo journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum JournalEvent {
    /// The start of the journal.
    Journal {
        /// The version of the format.
        version: u32,
        /// Tells it from all other journals, in hex digits.
        id: String,
        /// When it was made, RFC 3339.
        created: String,
        /// The absolute path of the root of the tree.
        root: Name<'static>,
        /// The options that the tree was migrated with, for people.
        options: String,
    },
    /// A step of the migration.
    Step(JournalStep),
    /// The status at the end of the journal.
    Status {
        /// The progress of the migration; `broken` if the journal was cut or altered.
        status: Cow<'static, str>,
    },
    /// The planning, the migration or the undo got to a point.
    #[serde(untagged)]
    Mark(JournalMark),
}

/// A step: one thing that is done to one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalStep {
    /// The directory of the entry.
    #[serde(with = "tree_path")]
    pub directory: TreePath,
    /// Its name before the migration.
    pub name: BackingName,
    /// Its inode number.
    pub inode: u64,
    /// The kind of the entry.
    pub kind: Kind,
    /// The action.
    #[serde(flatten)]
    pub action: StepAction,
}

/// An action on an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum StepAction {
    /// A symbolic link gets another target.
    Retarget {
        /// The old target.
        target: Name<'static>,
        /// The new target.
        new_target: Name<'static>,
    },
    /// The entry gets another name in its directory.
    Rename {
        /// The new name.
        new: BackingName,
    },
    /// The file is put into the directory of what is set aside.
    SetAside,
}

/// A point that a migration, or undoing it, got to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum JournalMark {
    /// The journal is whole: nothing was changed before.
    Complete {
        /// Directories with steps.
        directories: u64,
        /// Steps.
        steps: u64,
        /// Entries that stay as they are although something is amiss with them.
        planning_left: u64,
        /// Directories that could not be read.
        planning_unread: u64,
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
    Finished {
        /// Steps that the last run did.
        done: u64,
        /// Steps that it found done.
        before: u64,
        /// Steps that were left.
        left: u64,
        /// Entries that planning left.
        planning_left: u64,
        /// Directories that planning could not read.
        planning_unread: u64,
    },
    /// Undoing all of it was begun.
    Undoing,
    /// All is undone, but for what was left.
    Undone {
        /// Steps that the last run undid.
        done: u64,
        /// Steps that it found undone.
        before: u64,
        /// Steps that were left.
        left: u64,
    },
    /// From here on names may have been changed by linking and unlinking.
    Linking,
    /// The journal is a guard's: from here on steps are added as names are made.
    Growing,
}
