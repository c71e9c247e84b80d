//! The order in which the steps of a directory are done, so that each name is free before it is taken.

use std::collections::{HashMap, HashSet};

use super::line::Line;
use crate::backing::Kind;
use crate::names::BackingName;
use crate::tree::step::{Action, Step};

/// What is to be done to one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) old: BackingName,
    pub(super) inode: u64,
    pub(super) kind: Kind,
    pub(super) new: Option<BackingName>,
    pub(super) new_target: Option<Vec<u8>>,
    pub(super) is_set_aside: bool,
}

impl From<&Line> for Wanted {
    fn from(line: &Line) -> Self {
        Self {
            old: line.old.clone(),
            inode: line.inode,
            kind: line.kind,
            new: line.new.clone(),
            new_target: line.new_target.clone(),
            is_set_aside: line.same_as.is_some(),
        }
    }
}

impl Wanted {
    fn step(&self, name: &BackingName, action: Action) -> Step {
        Step {
            name: name.clone(),
            inode: self.inode,
            kind: self.kind,
            action,
        }
    }

    fn retarget(&self) -> Option<Step> {
        let target = self.new_target.clone()?;
        let name = self.new.as_ref().unwrap_or(&self.old);
        Some(self.step(name, Action::Retarget(target)))
    }
}

/// The steps of a directory of which no new name is the old one of another entry.
pub(super) fn independent(lines: &[Line]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(lines.len());
    for wanted in lines.iter().map(Wanted::from) {
        if wanted.is_set_aside {
            steps.push(wanted.step(&wanted.old, Action::SetAside));
        } else if let Some(new) = &wanted.new {
            steps.push(wanted.step(&wanted.old, Action::Rename(new.clone())));
        }
        steps.extend(wanted.retarget());
    }
    steps
}

/// The steps of a directory in which names may follow each other or be exchanged. No two have one old name, and no two one
/// new name. `is_listed` says what names there are, so that a name for the meantime is found that nobody has.
pub(super) fn chained(all: &[Wanted], is_listed: impl Fn(&BackingName) -> bool) -> Vec<Step> {
    let mut steps = Vec::with_capacity(all.len());
    for wanted in all.iter().filter(|wanted| wanted.is_set_aside) {
        steps.push(wanted.step(&wanted.old, Action::SetAside));
    }
    let renamed = |wanted: &&Wanted| wanted.new.is_some() && !wanted.is_set_aside;
    let renames: Vec<&Wanted> = all.iter().filter(renamed).collect();
    let by_old: HashMap<&BackingName, usize> = renames
        .iter()
        .enumerate()
        .map(|(index, wanted)| (&wanted.old, index))
        .collect();
    let mut done = vec![false; renames.len()];
    let mut meantime = 0_u32;
    for start in 0..renames.len() {
        // From here along those whose names are taken, up to one whose new name is free, or back to the start.
        let mut path: Vec<&Wanted> = Vec::new();
        let mut next = Some(start);
        while let Some(index) = next
            && let Some(is_done) = done.get_mut(index)
            && !*is_done
            && let Some(wanted) = renames.get(index)
        {
            *is_done = true;
            path.push(wanted);
            next = wanted.new.as_ref().and_then(|new| by_old.get(new)).copied();
        }
        let Some((last, others)) = path.split_last() else {
            continue;
        };
        let Some(new) = &last.new else {
            continue;
        };
        let is_cycle = next == Some(start);
        let aside = is_cycle
            .then(|| free_name(&mut meantime, &renames, &is_listed))
            .flatten();
        let first = aside.as_ref().unwrap_or(new);
        steps.push(last.step(&last.old, Action::Rename(first.clone())));
        for wanted in others.iter().rev() {
            if let Some(new) = &wanted.new {
                steps.push(wanted.step(&wanted.old, Action::Rename(new.clone())));
            }
        }
        if let Some(aside) = aside {
            steps.push(last.step(&aside, Action::Rename(new.clone())));
        }
    }
    steps.extend(all.iter().filter_map(Wanted::retarget));
    steps
}

/// A name for the meantime.
fn free_name(
    number: &mut u32,
    renames: &[&Wanted],
    is_listed: impl Fn(&BackingName) -> bool,
) -> Option<BackingName> {
    let new: HashSet<&BackingName> = renames.iter().filter_map(|one| one.new.as_ref()).collect();
    loop {
        *number = number.checked_add(1)?;
        let name = format!(".utf8fs-meantime-{number}");
        let name = BackingName::parse(name.as_bytes()).ok()?;
        if !is_listed(&name) && !new.contains(&name) {
            return Some(name);
        }
    }
}
