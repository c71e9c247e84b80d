//! Which sections are never reached, as one before them holds wherever they do.

use std::collections::{BTreeSet, HashMap};

use super::document::SectionText;
use super::fault::At;

/// The sections so far that can be reached, found by their words: each new one is compared with few of them.
#[derive(Debug, Default)]
pub(super) struct Reached<'a> {
    /// Each with its number.
    sections: Vec<(usize, &'a SectionText)>,
    everywhere: Vec<usize>,
    by_path: HashMap<&'a str, Vec<usize>>,
    for_all: Vec<usize>,
    by_user: HashMap<u32, Vec<usize>>,
    by_group: HashMap<u32, Vec<usize>>,
}

impl<'a> Reached<'a> {
    /// Takes the next section. Gives the number of the first that holds wherever it does, as far as their words tell.
    pub(super) fn take(&mut self, number: usize, section: &'a SectionText) -> Option<usize> {
        if let Some(earlier) = self.first(section) {
            // What it would hold for, that one holds for.
            return Some(earlier);
        }
        let index = self.sections.len();
        self.sections.push((number, section));
        if is_everywhere(section) {
            self.everywhere.push(index);
        }
        for path in paths(section) {
            self.by_path.entry(path).or_default().push(index);
        }
        if is_for_all(section) {
            self.for_all.push(index);
        }
        for &user in ids(section.users.as_ref()) {
            self.by_user.entry(user).or_default().push(index);
        }
        for &group in ids(section.groups.as_ref()) {
            self.by_group.entry(group).or_default().push(index);
        }
        None
    }

    fn first(&self, later: &SectionText) -> Option<usize> {
        let holds = |index: &&usize| {
            let earlier = self.sections.get(**index);
            earlier.is_some_and(|(_, earlier)| covers(earlier, later))
        };
        let first = self.like(later).into_iter().flatten().filter(holds).min()?;
        self.sections.get(*first).map(|(number, _)| *number)
    }

    /// Those that may hold wherever `later` does.
    fn like(&self, later: &SectionText) -> [&[usize]; 2] {
        // Only those can that have all of its words, the rarest among them.
        let of_path = paths(later).map(|path| listed(self.by_path.get(path)));
        let of_user = ids(later.users.as_ref()).iter();
        let of_user = of_user.map(|user| listed(self.by_user.get(user)));
        let of_group = ids(later.groups.as_ref()).iter();
        let of_group = of_group.map(|group| listed(self.by_group.get(group)));
        let places = [self.everywhere.as_slice(), rarest(of_path)];
        let people = [self.for_all.as_slice(), rarest(of_user.chain(of_group))];
        let length = |lists: &[&[usize]; 2]| lists.iter().map(|list| list.len()).sum::<usize>();
        match length(&places) <= length(&people) {
            true => places,
            false => people,
        }
    }
}

fn listed(list: Option<&Vec<usize>>) -> &[usize] {
    list.map(Vec::as_slice).unwrap_or_default()
}

fn rarest<'l>(lists: impl Iterator<Item = &'l [usize]>) -> &'l [usize] {
    lists.min_by_key(|list| list.len()).unwrap_or_default()
}

fn paths(section: &SectionText) -> impl Iterator<Item = &str> {
    let paths = section.path.iter().flat_map(|paths| &paths.value);
    paths.map(String::as_str)
}

fn ids(list: Option<&At<Vec<u32>>>) -> &[u32] {
    list.map(|list| list.value.as_slice()).unwrap_or_default()
}

fn is_everywhere(section: &SectionText) -> bool {
    section.path.is_none() || paths(section).any(|path| path == "*" || path == "/**")
}

fn is_for_all(section: &SectionText) -> bool {
    section.users.is_none() && section.groups.is_none()
}

/// Does `earlier` hold wherever `later` does, as far as their words tell?
fn covers(earlier: &SectionText, later: &SectionText) -> bool {
    fn within<T: Ord>(few: impl Iterator<Item = T>, many: impl Iterator<Item = T>) -> bool {
        let many: BTreeSet<T> = many.collect();
        few.into_iter().all(|item| many.contains(&item))
    }
    let are_all_its = |of: fn(&SectionText) -> Option<&At<Vec<u32>>>| {
        within(ids(of(later)).iter(), ids(of(earlier)).iter())
    };
    let holds_there =
        is_everywhere(earlier) || later.path.is_some() && within(paths(later), paths(earlier));
    let holds_for_those = is_for_all(earlier)
        || !is_for_all(later)
            && are_all_its(|section| section.users.as_ref())
            && are_all_its(|section| section.groups.as_ref());
    holds_there && holds_for_those
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::policy::fault::Place;

    fn section(
        paths: Option<&[&str]>,
        users: Option<&[u32]>,
        groups: Option<&[u32]>,
    ) -> SectionText {
        fn at<T>(value: T) -> At<T> {
            let place = Place::default();
            At { value, place }
        }
        SectionText {
            path: paths.map(|paths| at(paths.iter().map(|&path| path.to_owned()).collect())),
            users: users.map(|users| at(users.to_vec())),
            groups: groups.map(|groups| at(groups.to_vec())),
            ..SectionText::default()
        }
    }

    fn taken(sections: &[SectionText]) -> Vec<Option<usize>> {
        let mut reached = Reached::default();
        let numbered = sections.iter().enumerate();
        numbered
            .map(|(n, section)| reached.take(n, section))
            .collect()
    }

    /// Each list of up to two of three words, for each of the three conditions, in many orders: as one by one finds it.
    #[test]
    fn the_first_section_that_holds_for_all_of_another_is_found() {
        let paths: [Option<&[&str]>; 6] = [
            None,
            Some(&["/a"]),
            Some(&["/b"]),
            Some(&["/a", "/b"]),
            Some(&["/b", "*"]),
            Some(&["/**"]),
        ];
        let ids: [Option<&[u32]>; 4] = [None, Some(&[1]), Some(&[2]), Some(&[2, 1])];
        let mut all = Vec::new();
        for path in paths {
            for users in ids {
                all.extend(ids.map(|groups| section(path, users, groups)));
            }
        }
        for step in [1, 5, 7, 11, 35, 49, 61, 95] {
            for start in 0..all.len() {
                let order = (0..20).map(|n| all[(start + n * step) % all.len()].clone());
                let order: Vec<SectionText> = order.collect();
                let one_by_one = |later: usize| {
                    (0..later).find(|&earlier| covers(&order[earlier], &order[later]))
                };
                let expected: Vec<Option<usize>> = (0..order.len()).map(one_by_one).collect();
                assert_eq!(taken(&order), expected, "{start} {step}");
            }
        }
    }

    /// Twenty thousand sections, of one place each, for one user each, or with a word that all have.
    #[test]
    fn a_section_is_compared_with_few_others() {
        let names: Vec<String> = (0..20_000).map(|number| format!("/d{number}/**")).collect();
        let shapes: [fn(&str, u32) -> SectionText; 4] = [
            |path, _| section(Some(&[path]), None, None),
            |_, user| section(None, Some(&[user]), None),
            |path, user| section(Some(&["/all/**", path]), Some(&[0, user]), None),
            |_, group| section(Some(&["/all/**"]), None, Some(&[group])),
        ];
        for shape in shapes {
            let sections: Vec<SectionText> =
                (1..).zip(&names).map(|(n, name)| shape(name, n)).collect();
            let mut reached = Reached::default();
            let mut compared = 0;
            for (number, section) in sections.iter().enumerate() {
                compared += reached.like(section).into_iter().flatten().count();
                assert_eq!(reached.take(number, section), None);
            }
            assert!(compared <= sections.len(), "{compared}");
        }
    }
}
