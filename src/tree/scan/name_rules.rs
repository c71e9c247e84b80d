//! The rules that a name is judged by, by itself.

use super::ascii_names::ascii_key;
use crate::codec::guess::{Guesser, doubly_encoded};
use crate::codec::{Form, utf8};
use crate::policy::{Alike, Policy, Rule};
use crate::records::{Counts, Finding, Found, KindLabel};

/// Least likelihood of a name that is reported as encoded twice.
const LIKELY: f64 = 0.5;

/// The rules that names are judged by.
#[derive(Debug)]
pub struct Rules {
    policy: Policy,
    offences: Vec<Finding>,
}

impl Rules {
    /// Returns the rules of `policy`; names that collide by `unique` offend as well, and with `doubled` those that were likely encoded twice.
    #[must_use]
    pub fn new(policy: Policy, unique: Option<Alike>, doubled: bool) -> Self {
        let offences = [
            (Finding::IllFormed, true),
            (Finding::TooLong, true),
            (Finding::Forbidden, true),
            (Finding::NotNormalized, policy.form.is_some()),
            (Finding::DoublyEncoded, doubled),
            (Finding::CollidesInCase, unique == Some(Alike::Casefold)),
            (Finding::CollidesInForm, unique.is_some()),
        ];
        let offences = offences.into_iter().filter(|(_, is_offence)| *is_offence);
        Self {
            offences: offences.map(|(finding, _)| finding).collect(),
            policy,
        }
    }

    /// Returns the policy that names have to conform to.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the findings that are offences, not only worth a remark.
    #[must_use]
    pub fn offences(&self) -> &[Finding] {
        &self.offences
    }

    /// Returns the key of an ASCII name that conforms: nothing more is done for most names.
    pub(super) fn plain_key(&self, name: &[u8]) -> Option<u64> {
        ascii_key(name).filter(|_| self.policy.conforms(name))
    }

    /// Adds to `found` what is found in the name by itself, each kind once, to `guesser` what there is to guess, and to `counts`
    /// whether it is ill-formed or beyond ASCII.
    pub(super) fn judge(
        &self,
        name: &[u8],
        found: &mut Vec<Found>,
        guesser: &mut Option<Box<Guesser>>,
        counts: &mut Counts,
    ) {
        let mut add = |new: Found| {
            let is_there = |old: &Found| (old.finding, old.kind) == (new.finding, new.kind);
            if !found.iter().any(is_there) {
                found.push(new);
            }
        };
        let mut offences = Vec::new();
        if !self.policy.conforms(name) {
            offences = self.policy.offences(name);
            offences.extend(self.policy.over_a_limit(name));
        }
        let mut is_ill_formed = false;
        for offence in offences {
            let finding = match offence.rule {
                Rule::IllFormed(..) => Finding::IllFormed,
                Rule::TooLong { .. } => Finding::TooLong,
                Rule::Forbidden(_) => Finding::Forbidden,
                // Looked for below, or not to be found in a name by itself.
                Rule::NotNormalized(_)
                | Rule::Unmappable(_)
                | Rule::NotUnique(_)
                | Rule::NotAComponent => continue,
            };
            is_ill_formed |= finding == Finding::IllFormed;
            add(Found {
                finding,
                kind: KindLabel(offence.rule.kind().unwrap_or_default()),
                offset: Some(offence.offset),
                length: Some(offence.length),
            });
        }
        if name.is_ascii() {
            return;
        }
        if is_ill_formed {
            counts.ill_formed += 1;
            guesser.get_or_insert_default().add(name);
            return;
        }
        counts.beyond_ascii += 1;
        if let Ok(text) = utf8::validate(name) {
            let form = self.policy.form.unwrap_or(Form::Nfc);
            if !form.holds(text) {
                add(Found::whole(Finding::NotNormalized, form.label()));
            }
            if let Some(doubled) = doubly_encoded(name) {
                guesser.get_or_insert_default().add(name);
                if doubled.confidence >= LIKELY {
                    add(Found::whole(Finding::DoublyEncoded, doubled.label()));
                }
            }
        }
    }
}
