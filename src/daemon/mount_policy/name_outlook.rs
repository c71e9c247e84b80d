//! The prediction of a new name's fate, by the rules that the mount itself uses.

use std::collections::BTreeSet;

use super::ResolvedPolicy;
use crate::daemon::start_error::StartError;
use crate::names::rules::{Exempt, Fate, Settled, Verdict};
use crate::names::{Quoted, VisibleName};
use crate::policy::Offence;

/// The terms for a new name, and their result as far as the entries of its directory do not change it.
#[derive(Debug)]
pub struct Outlook {
    /// The section that holds, if one does.
    pub section: Option<usize>,
    /// Why it is only reported, if that makes a difference.
    pub exempt: Option<Exempt>,
    /// The end of the attempt.
    pub end: End,
}

/// The end of an attempt to make a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The name is made, with a record if it offends.
    Made {
        /// The name that it is made as.
        visible: VisibleName,
        /// The record, if it offends.
        offence: Option<(Offence, Verdict)>,
    },
    /// The name is refused, without a record where there is no offence.
    Refused {
        /// The error.
        errno: i32,
        /// The offence, if there is one.
        offence: Option<Offence>,
    },
}

impl ResolvedPolicy {
    /// Predicts the result of making the new name `name` at the visible path `path`, by a member of `groups`.
    ///
    /// # Errors
    /// It is no name.
    pub fn outlook(
        &self,
        uid: u32,
        groups: &BTreeSet<u32>,
        path: &[u8],
        name: &[u8],
    ) -> Result<Outlook, StartError> {
        let asked = VisibleName::parse(name).map_err(|offence| {
            StartError::usage(format!("{} is {}", Quoted(name), offence.rule))
        })?;
        let path = || path.to_vec();
        let is_member = |of: &BTreeSet<u32>| !of.is_disjoint(groups);
        let section = self.rules.section(uid, name, path, is_member);
        let terms = self.rules.terms_of(section);
        let exempt = self.rules.exempt().of(uid, name, path);
        let is_exempt = || exempt.is_some();
        let whole = self.map.policy.check(name);
        let settled = match terms.fate(&self.map, asked, whole, is_exempt) {
            Fate::Settled(settled) => Err(settled),
            Fate::Conforms {
                visible, offence, ..
            } => match self.map.stored(&visible) {
                Ok(_) => Ok(End::Made { visible, offence }),
                Err(lacking) => {
                    Err(terms.unstorable(visible, offence.is_some(), lacking, is_exempt))
                }
            },
        };
        let end = settled.unwrap_or_else(|settled| match settled {
            Settled::AsAsked {
                visible, offence, ..
            } => End::Made { visible, offence },
            Settled::Refused(offence) => End::Refused {
                errno: terms.map.errno.errno(offence.rule),
                offence: Some(offence),
            },
            Settled::TooLong => End::Refused {
                errno: libc::ENAMETOOLONG,
                offence: None,
            },
        });
        let offends = !matches!(end, End::Made { offence: None, .. });
        Ok(Outlook {
            section,
            exempt: exempt.filter(|_| offends),
            end,
        })
    }
}
