//! The entries of a tree that are in question (`--only`, `--exclude`).

use crate::names::Patterns;

/// Patterns of names, and of paths from the root of the tree, by the bytes that lie on disk.
///
/// What matches a pattern of `exclude` is left out, with all that lies below it. Where there are patterns of `only`, only
/// what matches one of them is taken, with all that lies below it.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Patterns of what is taken; all where it is empty.
    pub only: Patterns,
    /// Patterns of what is left out.
    pub exclude: Patterns,
    /// Files that are never in question, as they are ours, by device and inode number: the journal, the plan itself.
    pub own: Vec<(u64, u64)>,
}

/// A directory, and the entries of it that are in question.
#[derive(Debug, Clone)]
pub(super) struct Scope<'f> {
    filter: &'f Filter,
    /// The path from the root, with a `/` in front and behind.
    path: Vec<u8>,
    is_excluded: bool,
    /// Is all of it taken, because it, or what it lies in, is?
    is_taken: bool,
}

impl Filter {
    /// Returns the scope of the directory to which these names lead from the root.
    pub(super) fn scope<'n>(&self, names: impl IntoIterator<Item = &'n [u8]>) -> Scope<'_> {
        let mut scope = Scope {
            filter: self,
            path: vec![b'/'],
            is_excluded: false,
            is_taken: self.only.is_empty(),
        };
        for name in names {
            scope.is_excluded |= scope.excludes(name);
            scope.is_taken |= self.only.has(name, || scope.path_of(name));
            scope.path.extend_from_slice(name);
            scope.path.push(b'/');
        }
        scope
    }
}

impl<'f> Scope<'f> {
    /// The files that are never in question.
    pub(super) fn own(&self) -> &'f [(u64, u64)] {
        &self.filter.own
    }

    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        [self.path.as_slice(), name].concat()
    }

    fn excludes(&self, name: &[u8]) -> bool {
        self.filter.exclude.has(name, || self.path_of(name))
    }

    /// Is the entry in question?
    pub(super) fn includes(&self, name: &[u8]) -> bool {
        let is_taken = || self.is_taken || self.filter.only.has(name, || self.path_of(name));
        !self.is_excluded && !self.excludes(name) && is_taken()
    }

    /// Can something in the directory of that name be in question?
    pub(super) fn enters(&self, name: &[u8]) -> bool {
        !self.is_excluded && !self.excludes(name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, Patterns};

    fn filter(only: &[&str], exclude: &[&str]) -> Filter {
        let patterns = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|&one| one.to_owned()).collect();
            Patterns::new(&all).unwrap()
        };
        Filter {
            only: patterns(only),
            exclude: patterns(exclude),
            own: Vec::new(),
        }
    }

    fn includes(filter: &Filter, path: &str) -> bool {
        let mut names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let name = names.pop().unwrap();
        filter.scope(names).includes(name)
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
    fn what_is_left_out_is_not_entered() {
        let filter = filter(&["*.jpg"], &["/a/cache"]);
        assert!(filter.scope([b"a".as_slice()]).enters(b"photos"));
        assert!(!filter.scope([b"a".as_slice()]).enters(b"cache"));
        assert!(filter.scope([]).enters(b"cache"));
    }
}
