//! The rules that a name is judged by, by itself.

use super::ascii_names::{AsciiBytes, ascii_key};
use crate::codec::guess::{Guesser, doubly_encoded};
use crate::codec::{Form, utf8};
use crate::policy::{Alike, Policy, Rule};
use crate::records::{Counts, Finding, Found, KindLabel};

/// Least likelihood of a name that is reported as encoded twice.
const LIKELY: f64 = 0.5;

/// The rules that names are judged by.
#[derive(Debug)]
pub struct Rules {
    /// The policy that names have to conform to.
    pub(super) policy: Policy,
    /// The findings that are offences, not only worth a remark.
    pub(super) offences: Vec<Finding>,
    bytes: AsciiBytes,
}

impl Rules {
    /// Returns the rules of `policy`; names that collide by `unique` offend as well, and with `doubled` those that were likely encoded twice.
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
            bytes: AsciiBytes::new(&policy),
            policy,
        }
    }

    /// Returns the key of an ASCII name that conforms: nothing more is done for most names.
    pub(super) fn plain_key(&self, name: &[u8]) -> Option<u64> {
        // ASCII is the same in every encoding and form.
        let Policy {
            encoding: _,
            max_bytes,
            max_chars,
            max_utf16,
            form: _,
            forbid,
        } = &self.policy;
        let limits = [Some(*max_bytes), *max_chars, *max_utf16];
        let mut limits = limits.into_iter().flatten();
        let is_short = limits.all(|limit| name.len() <= limit);
        let is_allowed = || forbid.is_empty() || self.bytes.allow(name);
        let conforms = || is_short && is_allowed() || self.policy.conforms(name);
        ascii_key(name).filter(|_| conforms())
    }

    /// Returns what is found in the name by itself, each kind once. Adds to `guesser` what there is to guess, and to `counts` whether
    /// it is ill-formed or beyond ASCII.
    pub(super) fn judge(
        &self,
        name: &[u8],
        guesser: &mut Option<Box<Guesser>>,
        counts: &mut Counts,
    ) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut offences = Vec::new();
        if !self.policy.conforms(name) {
            offences = self.policy.offences(name);
            offences.extend(self.policy.over_a_limit(name));
        }
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
            let kind = KindLabel(offence.rule.kind().unwrap_or_default());
            if !found
                .iter()
                .any(|old| (old.finding, old.kind) == (finding, kind))
            {
                found.push(Found {
                    finding,
                    kind,
                    offset: Some(offence.offset),
                    length: Some(offence.length),
                });
            }
        }
        if found
            .iter()
            .any(|found| found.finding == Finding::IllFormed)
        {
            counts.ill_formed += 1;
            guesser.get_or_insert_default().add(name);
        } else if !name.is_ascii() {
            counts.beyond_ascii += 1;
            let form = self.policy.form.unwrap_or(Form::Nfc);
            if utf8::validate(name).is_ok_and(|text| !form.holds(text)) {
                found.push(Found::whole(Finding::NotNormalized, form.into()));
            }
            if let Some(doubled) = doubly_encoded(name) {
                guesser.get_or_insert_default().add(name);
                if doubled.confidence >= LIKELY {
                    let taken_for = doubled.routes.first().map_or("", |route| route.label());
                    found.push(Found::whole(Finding::DoublyEncoded, taken_for));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Rules;
    use crate::policy::{Class, Policy, Profile};

    #[test]
    fn ascii_names_are_plain_if_they_conform_under_every_policy() {
        let profiles = [
            Profile::Utf8,
            Profile::Safe,
            Profile::Portable,
            Profile::Posix,
        ];
        let mut policies: Vec<Policy> = profiles.iter().map(|p| p.policy()).collect();
        policies.extend(Class::ALL.iter().map(|&class| {
            let mut policy = Policy::default();
            policy.forbid(&[class]);
            policy.max_bytes = 24;
            policy
        }));
        let mut plain = 0;
        for policy in &policies {
            let rules = Rules::new(policy.clone(), None, false);
            let mut check = |name: &[u8]| {
                let (is_plain, conforms) = (rules.plain_key(name).is_some(), policy.conforms(name));
                plain += usize::from(is_plain);
                assert_eq!(is_plain, conforms, "{policy:?} {}", name.escape_ascii());
            };
            for a in 1..0x80_u8 {
                for b in 1..0x80_u8 {
                    for name in [&[a, b][..], &[a, b'x', b], &[b'x', a, b], &[a, b, b'x']] {
                        let is_name = !name.contains(&b'/') && name != b"..";
                        is_name.then(|| check(name));
                    }
                }
            }
            for name in [
                "NUL",
                "nul.txt",
                "com1",
                "COM9.x",
                "LPT3",
                "aux ",
                "prn.",
                "CONOUT$",
                "conin$.a",
                "nulls",
                "-rf",
                " a",
                "a ",
                "a.",
                "plain.txt",
                "AUX .b",
                "a23456789012345678901234567",
            ] {
                check(name.as_bytes());
            }
        }
        assert!(plain > 100_000, "{plain}");
    }
}
