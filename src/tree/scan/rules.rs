//! How a name is judged by itself.

use super::finding::{Finding, Findings, Found};
use super::plain::Plain;
use crate::codec::guess::{Guesser, doubly_encoded};
use crate::codec::{Form, utf8};
use crate::policy::{Alike, Policy, Rule};

/// A name that is less likely than this to have been encoded twice is not told of.
const LIKELY: f64 = 0.5;

/// How names are judged.
#[derive(Debug)]
pub struct Rules {
    policy: Policy,
    offences: Findings,
    plain: Plain,
}

/// What a name is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Ascii,
    BeyondAscii,
    IllFormed,
}

impl Rules {
    /// By `policy`; names that collide by `unique` offend as well, and with `doubled` those that were likely encoded twice.
    #[must_use]
    pub fn new(policy: Policy, unique: Option<Alike>, doubled: bool) -> Self {
        let also = [
            (Finding::NotNormalized, policy.form.is_some()),
            (Finding::DoublyEncoded, doubled),
            (Finding::CollidesInCase, unique == Some(Alike::Casefold)),
            (Finding::CollidesInForm, unique.is_some()),
        ];
        let always = Findings::default()
            .with(Finding::IllFormed)
            .with(Finding::TooLong)
            .with(Finding::Forbidden);
        let also = also.into_iter().filter(|(_, is_asked_for)| *is_asked_for);
        Self {
            offences: also.fold(always, |all, (finding, _)| all.with(finding)),
            plain: Plain::new(&policy),
            policy,
        }
    }

    /// By what names have to conform.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Is it an offence, not only worth a remark?
    #[must_use]
    pub fn is_offence(&self, finding: Finding) -> bool {
        self.offences.contains(finding)
    }

    /// The key of an ASCII name that surely conforms.
    pub(super) fn plain_key(&self, name: &[u8]) -> Option<u64> {
        self.plain.key(name)
    }

    /// Adds to `found` what is found in the name by itself, each kind once, and to `guesser` what there is to guess.
    pub(super) fn judge(
        &self,
        name: &[u8],
        found: &mut Vec<Found>,
        guesser: &mut Option<Box<Guesser>>,
    ) -> Written {
        let mut add = |new: Found| {
            let is_there = |old: &Found| (old.finding, old.kind) == (new.finding, new.kind);
            if !found.iter().any(is_there) {
                found.push(new);
            }
        };
        let offences = match self.policy.check(name) {
            Ok(()) => Vec::new(),
            Err(_first) => {
                let mut all = self.policy.offences(name);
                all.extend(self.policy.over_a_limit(name));
                all
            }
        };
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
                kind: offence.rule.kind().unwrap_or_default(),
                place: Some((offence.offset, offence.length)),
            });
        }
        if name.is_ascii() {
            return Written::Ascii;
        }
        if is_ill_formed {
            guesser.get_or_insert_default().add(name);
            return Written::IllFormed;
        }
        if let Ok(text) = utf8::validate(name) {
            let form = self.policy.form.unwrap_or(Form::Nfc);
            if !form.holds(text) {
                add(Found {
                    finding: Finding::NotNormalized,
                    kind: form.label(),
                    place: None,
                });
            }
            if let Some(doubled) = doubly_encoded(name) {
                guesser.get_or_insert_default().add(name);
                if doubled.confidence >= LIKELY {
                    add(Found {
                        finding: Finding::DoublyEncoded,
                        kind: doubled.route.label(),
                        place: None,
                    });
                }
            }
        }
        Written::BeyondAscii
    }
}
