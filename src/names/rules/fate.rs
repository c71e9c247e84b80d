//! What becomes of a new name by the rules alone, as far as the entries of its directory leave it alone. The mount goes by it
//! (`place.rs`), and `utf8fs policy show` tells it.

use super::{Mode, Terms};
use crate::names::{NameMap, VisibleName};
use crate::policy::{NAME_MAX, Offence, Rule, Unit};

/// What became of an operation on a name that does not conform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It failed, nothing was made.
    Refused,
    /// It went on under the conforming name that the asked one stands for.
    Normalized,
    /// It went on under the name as asked.
    Reported,
}

impl Verdict {
    /// The stable name, as in JSON: `refused`, `normalized`, `reported`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Normalized => "normalized",
            Self::Reported => "reported",
        }
    }
}

/// What becomes of a new name that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is made as a visible name that conforms on the whole mount, if that can be stored.
    Conforms {
        /// That name.
        visible: VisibleName,
        /// Is it another than was asked for?
        alias: bool,
        /// What is recorded when it is made.
        offence: Option<(Offence, Verdict)>,
    },
    /// It is settled without regard to what it would be visible as.
    Settled(Settled),
}

/// What becomes of a new name that does not conform, or cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It is made by the octets that were asked for.
    AsAsked {
        /// Those.
        visible: VisibleName,
        /// Will it be listed as another?
        alias: bool,
        /// What is recorded when it is made.
        offence: Option<(Offence, Verdict)>,
    },
    /// It is refused, and that is recorded.
    Refused(Offence),
    /// It is let through, and the system takes no name of its length: that is not recorded.
    TooLong,
}

impl Terms {
    /// What becomes of the new name `asked`, which by `whole` offends or not on the whole mount, whose names are `map`.
    pub fn fate(
        &self,
        map: &NameMap,
        asked: VisibleName,
        whole: Result<(), Offence>,
        is_exempt: impl Fn() -> bool,
    ) -> Fate {
        let name = asked.as_bytes();
        let offends_here_only = whole.is_ok();
        let Err(offence) = whole.and_then(|()| self.check_further(map, name)) else {
            return Fate::Conforms {
                visible: asked,
                alias: false,
                offence: None,
            };
        };
        let mode = match self.mode {
            Mode::Enforce | Mode::Normalize if is_exempt() => Mode::Report,
            mode @ (Mode::Enforce | Mode::Normalize | Mode::Report | Mode::Off) => mode,
        };
        Fate::Settled(match mode {
            Mode::Enforce => Settled::Refused(offence),
            // Of what conforms on the whole mount there are no other spellings.
            Mode::Normalize if offends_here_only => Settled::Refused(offence),
            Mode::Normalize => match map.normalized(name) {
                Ok(visible) if self.check_further(map, visible.as_bytes()).is_ok() => {
                    return Fate::Conforms {
                        visible,
                        alias: true,
                        offence: Some((offence, Verdict::Normalized)),
                    };
                }
                Ok(_) => Settled::Refused(offence),
                Err(offence) => Settled::Refused(offence),
            },
            Mode::Report | Mode::Off if offends_here_only => {
                return Fate::Conforms {
                    visible: asked,
                    alias: false,
                    offence: self.noted(offence),
                };
            }
            // Nothing can be made under such a name, so that there is nothing to let through: its length is why.
            Mode::Report if name.len() > NAME_MAX => Settled::Refused(Offence {
                rule: Rule::TooLong {
                    unit: Unit::Bytes,
                    actual: name.len(),
                    limit: NAME_MAX,
                },
                offset: NAME_MAX,
                length: name.len() - NAME_MAX,
                code_point: None,
            }),
            Mode::Off if name.len() > NAME_MAX => Settled::TooLong,
            Mode::Report | Mode::Off => Settled::AsAsked {
                offence: self.noted(offence),
                visible: asked,
                alias: true,
            },
        })
    }

    /// What becomes of the new name `visible`, which conforms and cannot be stored for `offence`. One that is to be made with
    /// another offence recorded, `is_offender`, is not let through for this one.
    pub fn unstorable(
        &self,
        visible: VisibleName,
        is_offender: bool,
        offence: Offence,
        is_exempt: impl Fn() -> bool,
    ) -> Settled {
        if is_offender || !self.lets_through() && !is_exempt() {
            return Settled::Refused(offence);
        }
        Settled::AsAsked {
            visible,
            alias: false,
            offence: self.noted(offence),
        }
    }

    fn noted(&self, offence: Offence) -> Option<(Offence, Verdict)> {
        (self.mode != Mode::Off).then_some((offence, Verdict::Reported))
    }
}
