//! A line of a plan: what becomes of one entry, and why.

use crate::backing::Kind;
use crate::codec::Charset;
use crate::names::BackingName;

/// Why an entry gets another name, or stands in the plan without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Its bytes are text of a charset.
    Decoded,
    /// It is UTF-8 that was encoded again.
    Doubled,
    /// It is an escape of ours.
    Escaped,
    /// It is not in the wanted normalization form.
    Form,
    /// It has what the profile forbids.
    Forbidden,
    /// It is too long.
    TooLong,
    /// Only its target changes.
    Target,
    /// Left: no charset takes it.
    Unreadable,
    /// Left: it is not sure enough what it means.
    Unsure,
    /// Left: its text would have control characters, noncharacters or unassigned code points.
    Control,
    /// Left: its new name would be too long.
    WouldBeTooLong,
    /// Left: no name that conforms stands for it.
    NoSpelling,
    /// Left: another entry has its new name, or gets it.
    Taken,
    /// Left: a directory on which something is mounted.
    MountPoint,
    /// Left: a symbolic link with several names, of which none can be given another target.
    HardLinked,
    /// Left: the target would be longer than a target can be.
    TargetTooLong,
    /// Set aside: another file has its new name and its content.
    Same,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Decoded,
        Self::Doubled,
        Self::Escaped,
        Self::Form,
        Self::Forbidden,
        Self::TooLong,
        Self::Target,
        Self::Unreadable,
        Self::Unsure,
        Self::Control,
        Self::WouldBeTooLong,
        Self::NoSpelling,
        Self::Taken,
        Self::MountPoint,
        Self::HardLinked,
        Self::TargetTooLong,
        Self::Same,
    ];

    /// The stable name, as in a plan.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Decoded => "decoded",
            Self::Doubled => "doubly-encoded",
            Self::Escaped => "escaped",
            Self::Form => "normalized",
            Self::Forbidden => "forbidden",
            Self::TooLong => "too-long",
            Self::Target => "target",
            Self::Unreadable => "unreadable",
            Self::Unsure => "unsure",
            Self::Control => "control",
            Self::WouldBeTooLong => "would-be-too-long",
            Self::NoSpelling => "no-spelling",
            Self::Taken => "taken",
            Self::MountPoint => "mount-point",
            Self::HardLinked => "hard-linked",
            Self::TargetTooLong => "target-too-long",
            Self::Same => "same",
        }
    }

    /// Is it why the target of a link is left? The link may get a name all the same.
    #[must_use]
    pub fn is_of_target(self) -> bool {
        matches!(self, Self::HardLinked | Self::TargetTooLong)
    }

    /// Is it why something is left?
    #[must_use]
    pub fn is_of_what_stays(self) -> bool {
        match self {
            Self::Decoded
            | Self::Doubled
            | Self::Escaped
            | Self::Form
            | Self::Forbidden
            | Self::TooLong
            | Self::Target
            | Self::Same => false,
            Self::Unreadable
            | Self::Unsure
            | Self::Control
            | Self::WouldBeTooLong
            | Self::NoSpelling
            | Self::Taken
            | Self::MountPoint
            | Self::HardLinked
            | Self::TargetTooLong => true,
        }
    }

    /// Why it is so, for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Decoded => "decoded",
            Self::Doubled => "was encoded twice",
            Self::Escaped => "was escaped",
            Self::Form => "normalized",
            Self::Forbidden => "had what the profile forbids",
            Self::TooLong => "cut to length",
            Self::Target => "its target changes",
            Self::Unreadable => "no charset takes it",
            Self::Unsure => "it is not sure what it means",
            Self::Control => "its text would have control characters; is the charset right?",
            Self::WouldBeTooLong => "its new name would be too long",
            Self::NoSpelling => "no conforming name stands for it",
            Self::Taken => "another entry has its new name",
            Self::MountPoint => "something is mounted on it",
            Self::HardLinked => "it is a symbolic link with several names",
            Self::TargetTooLong => "its new target would be too long",
            Self::Same => "another file has its new name and the same content",
        }
    }
}

/// What somebody should look at before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Warning {
    /// The bytes are an overlong sequence of UTF-8 as well, by which checks are deceived: `C0 AF` for `/`.
    Overlong,
    /// The text has control characters, noncharacters or unassigned code points: likely another charset was meant.
    Control,
}

impl Warning {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Overlong, Self::Control];

    /// The stable name, as in a plan.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Overlong => "overlong",
            Self::Control => "control",
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Overlong => "its bytes may be an overlong sequence of UTF-8, made to deceive",
            Self::Control => "its text has control characters; is the charset right?",
        }
    }
}

/// A name that an entry could get as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The name.
    pub name: BackingName,
    /// The charset that it is the text of.
    pub charset: Option<Charset>,
    /// How likely that is, 0.0..=1.0; `None` where nothing was guessed.
    pub confidence: Option<f64>,
}

/// What becomes of one entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub old: BackingName,
    /// Its inode number as the directory tells it.
    pub inode: u64,
    /// What it is, as the directory tells it.
    pub kind: Kind,
    /// Its new name; `None`: it keeps its own.
    pub new: Option<BackingName>,
    /// A file of the same directory, by its name before the migration, that has the same content, so that this one is set
    /// aside. Then `new` is `None`.
    pub same_as: Option<BackingName>,
    /// What a symbolic link leads to; only where that was looked at.
    pub target: Option<Vec<u8>>,
    /// What it is to lead to; `None`: as before.
    pub new_target: Option<Vec<u8>>,
    /// Why.
    pub reason: Reason,
    /// What somebody should look at.
    pub warning: Option<Warning>,
    /// The charset whose text the new name is.
    pub charset: Option<Charset>,
    /// How likely that is, 0.0..=1.0; `None` where nothing was guessed.
    pub confidence: Option<f64>,
    /// Other names for it, the likeliest first.
    pub candidates: Vec<Candidate>,
}

impl Line {
    /// Does it stay as it is, although something is amiss with it?
    #[must_use]
    pub fn is_left(&self) -> bool {
        // A link whose target is left may get a name all the same.
        self.reason.is_of_target()
            || self.new.is_none() && self.new_target.is_none() && self.same_as.is_none()
    }
}
