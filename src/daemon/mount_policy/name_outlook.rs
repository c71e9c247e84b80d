//! The prediction of a new name's fate, by the rules that the mount itself uses.

use std::collections::BTreeSet;

use super::ResolvedPolicy;
use crate::names::VisibleName;
use crate::names::rules::{Decision, Exempt};

/// The terms for a new name, and their result as far as the entries of its directory do not change it.
#[derive(Debug)]
pub struct Outlook {
    /// The section that holds, if one does.
    pub section: Option<usize>,
    /// Why it is only reported, if that makes a difference.
    pub exempt: Option<Exempt>,
    /// The decision.
    pub decision: Decision,
}

impl ResolvedPolicy {
    /// Predicts the result of making the new name `name` at the visible path `path`, by a member of `groups`.
    pub fn outlook(
        &self,
        uid: u32,
        groups: &BTreeSet<u32>,
        path: &[u8],
        name: &VisibleName,
    ) -> Outlook {
        let (asked, name) = (name.clone(), name.as_bytes());
        let path = || path.to_vec();
        let is_member = |of: &BTreeSet<u32>| !of.is_disjoint(groups);
        let section = self.rules.section(uid, name, path, is_member);
        let terms = self.rules.terms_of(section);
        let exempt = self.rules.exempt().of(uid, name, path);
        let is_exempt = || exempt.is_some();
        let whole = self.map.policy.check(name);
        let mut decision = terms.decide(&self.map, asked, whole, is_exempt);
        if let Decision::Create(new) = &decision
            && new.conforms
            && let Err(lacking) = self.map.stored(&new.visible)
        {
            decision = terms.unstorable(new.clone(), lacking, is_exempt);
        }
        let offends = !matches!(&decision, Decision::Create(new) if new.offence.is_none());
        Outlook {
            section,
            exempt: exempt.filter(|_| offends),
            decision,
        }
    }
}
