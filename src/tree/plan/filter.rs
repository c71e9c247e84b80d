//! The entries of a tree that are in question: those given by name, and those that patterns match (`--only`, `--exclude`).

use std::collections::BTreeSet;

use crate::names::{BackingName, Patterns};

/// Patterns of names, and of paths from the root of the tree, by the bytes that lie on disk.
///
/// What matches a pattern of `exclude` is left out, with all that lies below it. Where there are patterns of `only`, only
/// what matches one of them is taken, with all that lies below it.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The names in the root that are in question, with all that lies below them; all where it is empty. Otherwise paths start
    /// in the entries of these names.
    pub entries: BTreeSet<Vec<u8>>,
    /// Patterns of what is taken; all where it is empty.
    pub only: Patterns,
    /// Patterns of what is left out.
    pub exclude: Patterns,
    /// The file that is never in question, as it is ours, by device and inode number: the journal, or the plan itself.
    pub own: Option<(u64, u64)>,
}

/// A directory, and the entries of it that are in question.
#[derive(Debug, Clone)]
pub(super) struct Scope<'f> {
    filter: &'f Filter,
    /// The path from the root, with a `/` in front and behind.
    path: Vec<u8>,
    /// Is it the root, of which only the entries given by name are in question?
    is_above: bool,
    is_excluded: bool,
    /// Is all of it taken, because it, or what it lies in, is?
    is_taken: bool,
}

impl Filter {
    /// Is everything in question?
    pub fn takes_all(&self) -> bool {
        self.entries.is_empty() && self.only.is_empty() && self.exclude.is_empty()
    }

    /// Returns the scope of the directory to which these names lead from the root.
    pub(super) fn scope(&self, names: &[BackingName]) -> Scope<'_> {
        let mut scope = Scope {
            filter: self,
            path: vec![b'/'],
            is_above: !self.entries.is_empty(),
            is_excluded: false,
            is_taken: self.only.is_empty(),
        };
        for name in names.iter().map(BackingName::as_bytes) {
            scope.is_excluded = !scope.enters(name);
            scope.is_taken |= self.only.has(name, || scope.path_of(name));
            if !std::mem::take(&mut scope.is_above) {
                scope.path.extend_from_slice(name);
                scope.path.push(b'/');
            }
        }
        scope
    }

    /// Returns the names on the way to a directory from where paths start, of those that lead to it from the root.
    pub(super) fn path<'n>(&self, names: &'n [BackingName]) -> impl Iterator<Item = &'n [u8]> {
        let above = usize::from(!self.entries.is_empty());
        names.iter().skip(above).map(BackingName::as_bytes)
    }
}

impl Scope<'_> {
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        match self.is_above {
            true => self.path.clone(),
            false => [self.path.as_slice(), name].concat(),
        }
    }

    /// Is the entry in question?
    pub(super) fn includes(&self, name: &[u8]) -> bool {
        let is_taken = || self.is_taken || self.filter.only.has(name, || self.path_of(name));
        self.enters(name) && is_taken()
    }

    /// Is nothing in the directory in question, nor below it?
    pub(super) fn is_left_out(&self) -> bool {
        self.is_excluded
    }

    /// Can something in the directory of that name be in question?
    pub(super) fn enters(&self, name: &[u8]) -> bool {
        let is_other = self.is_above && !self.filter.entries.contains(name);
        let is_excluded = || self.filter.exclude.has(name, || self.path_of(name));
        !self.is_excluded && !is_other && !is_excluded()
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, BackingName, Filter, Patterns};

    fn names(path: &str) -> Vec<BackingName> {
        let names = path.split('/').map(str::as_bytes);
        names
            .map(|name| BackingName::parse(name).unwrap())
            .collect()
    }

    fn filter(only: &[&str], exclude: &[&str]) -> Filter {
        let patterns = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|&one| one.to_owned()).collect();
            Patterns::new(&all).unwrap()
        };
        Filter {
            entries: BTreeSet::new(),
            only: patterns(only),
            exclude: patterns(exclude),
            own: None,
        }
    }

    fn includes(filter: &Filter, path: &str) -> bool {
        let mut names = names(path);
        let name = names.pop().unwrap();
        filter.scope(&names).includes(name.as_bytes())
    }

    #[test]
    fn patterns_take_and_leave_out_as_the_rows_say() {
        // only, exclude, path, is it in question?
        let rows: [(&[&str], &[&str], &str, bool); 14] = [
            (&[], &[], "a/b", true),
            (&[], &["b"], "a/b", false),
            (&[], &["b"], "b/c/d", false),
            (&[], &["/b"], "a/b", true),
            (&[], &["*.tmp"], "a/x.tmp", false),
            (&["photos"], &[], "photos", true),
            (&["photos"], &[], "photos/a/b", true),
            (&["photos"], &[], "other/a", false),
            (&["/photos/**"], &[], "photos", false),
            (&["/photos/**"], &[], "photos/x", true),
            (&["/photos/*"], &[], "photos/x/y", true),
            (&["*.jpg"], &[], "a/b.jpg", true),
            (&["*.jpg"], &["a"], "a/b.jpg", false),
            (&["/a/b", "/c"], &[], "a/d", false),
        ];
        for (only, exclude, path, expected) in rows {
            let filter = filter(only, exclude);
            assert_eq!(
                includes(&filter, path),
                expected,
                "{only:?} {exclude:?} {path}"
            );
        }
    }

    #[test]
    fn of_entries_given_by_name_no_others_are_in_question_and_paths_start_in_them() {
        let mut filter = filter(&[], &["/b"]);
        filter.entries = [b"a".to_vec(), b"b".to_vec()].into();
        for (path, expected) in [
            ("a", true),
            ("a/x", true),
            ("c", false),
            ("c/a", false),
            ("b", true),
            ("a/b", false),
            ("b/b/c", false),
            ("a/x/b", true),
        ] {
            assert_eq!(includes(&filter, path), expected, "{path}");
        }
        assert!(filter.scope(&[]).enters(b"a") && !filter.scope(&[]).enters(b"c"));
        assert!(filter.path(&names("a/b")).eq([b"b"]));
    }

    #[test]
    fn what_is_left_out_is_not_entered() {
        let filter = filter(&["*.jpg"], &["/a/cache"]);
        assert!(filter.scope(&names("a")).enters(b"photos"));
        assert!(!filter.scope(&names("a")).enters(b"cache"));
        assert!(filter.scope(&[]).enters(b"cache"));
    }
}
