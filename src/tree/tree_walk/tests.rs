//! Walks of real trees.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::*;

/// Everything that a walk met: paths of directories that were read to the end, names in them, and what failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Met {
    names: BTreeSet<(Vec<u8>, Vec<u8>)>,
    directories: BTreeSet<Vec<u8>>,
    failed: BTreeSet<(Vec<u8>, i32)>,
}

struct Collector;

impl Visitor for Collector {
    type State = Met;

    fn visit(&self, met: &mut Met, directory: &Listed<'_>) {
        let (place, here) = (directory.place, directory.place.path());
        assert_eq!(place.names().len(), place.depth);
        for entry in directory.entries.iter() {
            assert!(met.names.insert((here.clone(), entry.name.to_vec())));
        }
        assert!(directory.is_whole && met.directories.insert(here));
    }

    fn failed(&self, met: &mut Met, place: &Place, error: io::Error) {
        let errno = error.raw_os_error().unwrap_or(0);
        met.failed.insert((place.path(), errno));
    }

    fn left_out(&self, _met: &mut Met, place: &Place) {
        panic!("{place:?} is on no other mount");
    }
}

fn met(below: &Path, threads: usize, most_held: usize) -> Met {
    let roots = [Dir::open_root(below).unwrap().into_fd()];
    let states = walk_holding(&roots, Mounts::Stay, threads, most_held, &Collector).unwrap();
    let mut all = Met::default();
    for state in states {
        for name in state.names {
            assert!(all.names.insert(name));
        }
        for directory in state.directories {
            assert!(all.directories.insert(directory));
        }
        all.failed.extend(state.failed);
    }
    all
}

#[test]
fn every_name_is_met_once_however_many_threads_walk_and_directories_are_held() {
    let scratch = tempfile::tempdir().unwrap();
    let mut names = BTreeSet::new();
    for outer in 0..20 {
        let directory = format!("d{outer}");
        std::fs::create_dir(scratch.path().join(&directory)).unwrap();
        names.insert((Vec::new(), directory.clone().into_bytes()));
        for inner in 0..outer {
            let path = scratch.path().join(&directory).join(format!("e{inner}"));
            std::fs::create_dir(&path).unwrap();
            names.insert((directory.clone().into_bytes(), format!("e{inner}").into()));
            // A name of Latin-1, and a link that leads up.
            let file = path.join(std::ffi::OsStr::from_bytes(b"caf\xE9"));
            std::fs::write(file, "").unwrap();
            std::os::unix::fs::symlink("../..", path.join("link")).unwrap();
            let here = format!("{directory}/e{inner}").into_bytes();
            names.insert((here.clone(), b"caf\xE9".to_vec()));
            names.insert((here, b"link".to_vec()));
        }
    }
    for (threads, most_held) in [(1, 0), (1, 256), (2, 1), (8, 256), (8, 3)] {
        let met = met(scratch.path(), threads, most_held);
        assert_eq!(met.names, names, "{threads} {most_held}");
        assert_eq!(met.directories.len(), 1 + 20 + 190);
        assert_eq!(met.failed, BTreeSet::new());
    }
}

#[test]
fn access_times_stay() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir(scratch.path().join("in")).unwrap();
    let directories = [scratch.path().to_owned(), scratch.path().join("in")];
    // So old that it is told of each reading, whatever the mount says of access times but that it keeps none.
    for directory in &directories {
        std::fs::write(directory.join("file"), "").unwrap();
        let times = std::fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
        std::fs::File::open(directory)
            .unwrap()
            .set_times(times)
            .unwrap();
    }
    assert_eq!(met(scratch.path(), 2, 0).names.len(), 3);
    for directory in &directories {
        let accessed = std::fs::metadata(directory).unwrap().accessed().unwrap();
        assert_eq!(accessed, std::time::UNIX_EPOCH);
    }
}

#[test]
fn a_tree_deeper_than_a_path_is_walked_with_few_descriptors() {
    const DEPTH: usize = 700;
    let scratch = tempfile::tempdir().unwrap();
    let mut dir = Dir::open_root(scratch.path()).unwrap().into_fd();
    let name = BackingName::parse(b"quite a long name").unwrap();
    for _ in 0..DEPTH {
        Dir::new(&dir).mkdir(&name, 0o755).unwrap();
        dir = Dir::new(&dir).child(&name).unwrap();
    }
    for most_held in [2, 256] {
        let met = met(scratch.path(), 2, most_held);
        assert_eq!(met.directories.len(), DEPTH + 1);
        let longest = met.directories.iter().map(Vec::len).max();
        assert_eq!(longest, Some(DEPTH * 18 - 1));
        assert_eq!(met.failed, BTreeSet::new());
    }
}

/// Law T3: what cannot be read is told, and the rest is walked.
#[test]
fn what_went_away_is_told() {
    struct Remover<'a>(&'a Path);
    impl Visitor for Remover<'_> {
        type State = (Vec<i32>, usize);
        fn visit(&self, state: &mut Self::State, directory: &Listed<'_>) {
            state.1 += directory.entries.len();
            if directory.place.depth == 0 {
                std::fs::remove_dir(self.0.join("gone")).unwrap();
                std::fs::remove_dir(self.0.join("swapped")).unwrap();
                std::os::unix::fs::symlink("/", self.0.join("swapped")).unwrap();
            }
        }
        fn failed(&self, state: &mut Self::State, _: &Place, error: io::Error) {
            state.0.push(error.raw_os_error().unwrap());
        }
        fn left_out(&self, _: &mut Self::State, _: &Place) {}
    }
    let scratch = tempfile::tempdir().unwrap();
    for name in ["gone", "swapped", "stays"] {
        std::fs::create_dir(scratch.path().join(name)).unwrap();
    }
    std::fs::write(scratch.path().join("stays/file"), "").unwrap();
    let roots = [Dir::open_root(scratch.path()).unwrap().into_fd()];
    let mut states = walk(&roots, Mounts::Stay, 1, &Remover(scratch.path())).unwrap();
    let (mut errors, names) = states.pop().unwrap();
    errors.sort_unstable();
    assert_eq!(errors, [libc::ENOENT, libc::ENOTDIR]);
    assert_eq!(names, 4);
}
