//! The judgement of a name, by the rules of a mount.

use std::sync::Arc;

use super::maker::Maker;
use crate::daemon::mount_policy::ResolvedPolicy;
use crate::names::rules::{Mode, Terms};
use crate::names::{CharsetMap, CharsetSource};
use crate::policy::{Alike, Offence, Rule};
use crate::tree::plan::PlanOptions;

/// The policy in force.
#[derive(Debug)]
pub(super) struct Judge {
    resolved: ResolvedPolicy,
    /// Plans for putting names right: outside of sections, and for each section.
    plans: Vec<PlanOptions>,
}

/// An offence, and what holds for it.
#[derive(Debug, Clone)]
pub(super) struct Judgement {
    pub(super) offence: Offence,
    pub(super) terms: Arc<Terms>,
    /// The number of the options by which it is put right; `None` if it is only reported.
    pub(super) plan: Option<usize>,
}

impl Judge {
    /// Takes a policy. Names that are not UTF-8 are read in the charsets that the map has for their directory, else in those of the
    /// policy, else in the likeliest one.
    pub(super) fn new(resolved: ResolvedPolicy, charset_map: &Arc<CharsetMap>) -> Self {
        let from = match resolved.map.from.as_slice() {
            [] => CharsetSource::Auto,
            charsets => CharsetSource::Charsets(charsets.to_vec()),
        };
        let rules = &resolved.rules;
        let sections = rules.sections().iter().map(|section| &*section.terms);
        let terms = std::iter::once(rules.all()).chain(sections);
        let plans = terms.map(|terms| {
            let mut options = PlanOptions::new(terms.map.policy.clone(), from.clone());
            options.charset_map = Arc::clone(charset_map);
            options
        });
        Self {
            plans: plans.collect(),
            resolved,
        }
    }

    /// Conforms the name, whoever made it, wherever, and whatever siblings it has?
    pub(super) fn is_clean(&self, name: &[u8]) -> bool {
        self.unique().is_none() && self.conforms(name)
    }

    /// Conforms the name, whoever made it and wherever, if it is alike to no sibling?
    pub(super) fn conforms(&self, name: &[u8]) -> bool {
        let offends = !self.resolved.map.policy.conforms(name);
        self.resolved.rules.is_one_for_all(offends)
    }

    /// Returns how siblings are compared, if they are anywhere.
    pub(super) fn unique(&self) -> Option<Alike> {
        self.resolved.unique
    }

    /// Judges a name at the path that `path` makes; `None` if it conforms or is exempt. One that may offend only by being alike to a
    /// sibling gets that offence, at no bytes.
    pub(super) fn judge(
        &self,
        maker: &Maker,
        name: &[u8],
        path: impl Fn() -> Vec<u8>,
    ) -> Option<Judgement> {
        let rules = &self.resolved.rules;
        let is_member = |groups: &_| {
            let listed = self.resolved.members.get(&maker.uid);
            let listed = listed.filter(|_| maker.pid == 0);
            let mut known = std::iter::once(&maker.groups).chain(listed);
            known.any(|known| !known.is_disjoint(groups))
        };
        let section = rules.section(maker.uid, name, &path, is_member);
        let terms = rules.terms_of(section);
        let alike = terms.unique;
        let alike = alike.map(|alike| Offence::new(Rule::NotUnique(alike), 0, 0));
        let offence = terms.check(&self.resolved.map, name).err().or(alike)?;
        if terms.mode == Mode::Off || rules.exempt().of(maker.uid, name, path).is_some() {
            return None;
        }
        let plan = section.map_or(0, |section| section + 1);
        Some(Judgement {
            offence,
            terms: Arc::clone(terms),
            // What offends here only has no name that it stands for, as on a mount.
            plan: (terms.mode == Mode::Normalize && !self.resolved.map.policy.conforms(name))
                .then_some(plan),
        })
    }

    /// Returns the options by which names are put right.
    pub(super) fn plan(&self, number: usize) -> &PlanOptions {
        let options = self.plans.get(number);
        options.expect("invariant: it is the number of a judgement of this policy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::PolicyFile;

    fn judge(policy: &str) -> Judge {
        let keys = PolicyFile::parse(policy).unwrap();
        Judge::new(ResolvedPolicy::without_file(keys).unwrap(), &Arc::default())
    }

    #[test]
    fn a_name_is_judged_by_section_maker_and_path() {
        let judge = judge(
            "mode = 'normalize'\nexempt = '/old/**'\nexempt_uid = 7\n\
             [[section]]\nname = 'win'\npath = '/win/**'\nforbid = 'windows'\nmode = 'report'\n\
             [[section]]\ngroups = 50\nmode = 'off'\n\
             [[section]]\npath = '/sub/**'\nforbid = 'windows'",
        );
        // The name, the user, the path; the plan, the section.
        type Expected = Option<(Option<usize>, bool)>;
        let rows: [(&[u8], u32, &str, Expected); 9] = [
            (b"a\xE9", 1, "/a", Some((Some(0), false))),
            (b"a", 1, "/a", None),
            (b"a\xE9", 7, "/a", None),
            (b"a\xE9", 1, "/old/a", None),
            (b"a?", 1, "/a", None),
            (b"a?", 1, "/win/a", Some((None, true))),
            (b"a\xE9", 5, "/a", None),
            (b"a?", 1, "/sub/a", Some((None, true))),
            (b"a\xE9", 1, "/sub/a", Some((Some(3), true))),
        ];
        for (name, uid, path, expected) in rows {
            let maker = Maker {
                uid,
                groups: [uid * 10].into(),
                ..Maker::default()
            };
            let judged = judge.judge(&maker, name, || path.as_bytes().to_vec());
            let judged = judged.map(|judged| (judged.plan, judged.terms.section.is_some()));
            assert_eq!(judged, expected, "{} {uid} {path}", name.escape_ascii());
        }
    }
}
