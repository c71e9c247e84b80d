//! The plan of a directory, by the planner or from a file.

use crate::names::BackingName;
use crate::records::{Destination, Kind, Name, PlanLine, Reason, TreePath, join_path};

/// The plan of a directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectoryPlan {
    /// The number of its entries, or of those that the plan's file speaks of.
    pub entries: usize,
    /// The entries that change, or with which something is amiss.
    pub lines: Vec<PlanLine>,
}

impl DirectoryPlan {
    /// Returns the directory; the root where there are no lines.
    pub fn directory(&self) -> TreePath {
        let first = self.lines.first();
        first.map_or_else(TreePath::default, |line| line.directory.clone())
    }

    /// Returns its path from the root of the tree.
    pub fn path(&self) -> Vec<u8> {
        join_path(&*self.directory())
    }
}

impl PlanLine {
    /// Returns a line that leaves an entry of the root as it is. Another directory is left to the caller.
    pub fn new(old: BackingName, kind: Kind, inode: u64, reason: Reason) -> Self {
        Self {
            number: 0,
            directory: TreePath::default(),
            directory_inode: 0,
            old,
            new: None,
            kind,
            inode,
            reason,
            charset: None,
            confidence: None,
            candidates: Vec::new(),
            warning: None,
            same_as: None,
            target: None,
            new_target: None,
        }
    }

    /// Returns the destination of the entry; `None` if it keeps its name.
    pub(in crate::tree) fn destination(&self) -> Option<Destination> {
        let new = self.new.clone().filter(|new| *new != self.old);
        let aside = self.same_as.as_ref().map(|_| Destination::Aside);
        aside.or(new.map(Destination::Name))
    }

    /// Returns the target that the link gets; `None` if it keeps its own.
    pub(in crate::tree) fn retarget(&self) -> Option<&Name> {
        let new = self.new_target.as_ref();
        new.filter(|new| self.target.as_ref() != Some(new))
    }

    /// Does it ask for anything?
    pub fn is_change(&self) -> bool {
        self.destination().is_some() || self.retarget().is_some()
    }

    /// Does the entry, or the target of the link, stay as it is although something is amiss with it?
    pub fn is_left(&self) -> bool {
        self.what_stays().is_some()
    }

    /// Returns what of the entry stays as it is although something is amiss with it, as the start of a sentence. A link may get
    /// a name but keep its target, and the other way round.
    pub fn what_stays(&self) -> Option<&'static str> {
        let keeps_name = self.new.is_none() && self.same_as.is_none();
        match (keeps_name, self.new_target.is_none()) {
            (false, true) if self.reason.is_of_target() => Some("its target stays"),
            (true, true) => Some("stays"),
            (true, false) if self.reason.is_of_what_stays() && !self.reason.is_of_target() => {
                Some("its name stays")
            }
            _ => None,
        }
    }
}

/// The part of an entry that a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReasonSubject {
    /// A change of the name or the target.
    Change,
    /// A name that stays.
    NameStays,
    /// The target of a link that stays; the link may get a name all the same.
    TargetStays,
}

impl Reason {
    /// Returns the part of an entry that it is about. A reason for which something stays counts as left, and for the exit status.
    fn subject(self) -> ReasonSubject {
        match self {
            Self::Decoded
            | Self::Doubled
            | Self::Escaped
            | Self::Mapped
            | Self::Encoded
            | Self::Form
            | Self::Forbidden
            | Self::TooLong
            | Self::Target
            | Self::Mended
            | Self::BytesEscaped
            | Self::Same => ReasonSubject::Change,
            Self::Unreadable
            | Self::Unsure
            | Self::Control
            | Self::WouldBeTooLong
            | Self::NoSpelling
            | Self::Unmappable
            | Self::Taken
            | Self::MountPoint => ReasonSubject::NameStays,
            Self::HardLinked | Self::TargetTooLong | Self::TargetSetAside => {
                ReasonSubject::TargetStays
            }
        }
    }

    /// Returns true if it is why the target of a link is left.
    pub fn is_of_target(self) -> bool {
        self.subject() == ReasonSubject::TargetStays
    }

    /// Returns true if it is why something is left.
    pub fn is_of_what_stays(self) -> bool {
        self.subject() != ReasonSubject::Change
    }
}
