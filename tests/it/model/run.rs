//! A case on a mount: each operation is done to the directory and to the model, and all that can be seen is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

use super::directory::{Kind, Model, Node, RenameMode};
use super::entries::{CHILD, add_below, describe, identify, remove_below, same_outcome, show_all};
use super::laws::Legacy;
use super::operations::{Bytes, Name, Operation, initial, operation};
use super::settings::{Setting, all_of};
use crate::support::{Tree, at, show};

/// Cases for each setting, where the environment does not say otherwise.
const CASES: u32 = 60;

/// How long the kernel keeps names and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caches {
    /// As it is by default.
    Usual,
    /// So long that whatever goes stale stays so.
    Longest,
    /// Not at all: what others change below is seen at once.
    None,
}

impl Caches {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Usual => &[],
            Self::Longest => &["--cache", "3600"],
            Self::None => &["--cache", "none"],
        }
    }

    /// The part of the cases that is run.
    fn share(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Longest | Self::None => 4,
        }
    }
}

fn number(variable: &str) -> Option<u32> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={value}")),
    )
}

/// One directory of the mount, seen from both sides, and what it should be.
pub(super) struct Case<'t> {
    tree: &'t Tree,
    label: String,
    below: OwnedFd,
    above: OwnedFd,
    mount: BorrowedFd<'t>,
    model: Model,
    token: u32,
    /// Are changes made below seen at once?
    sees_at_once: bool,
    /// Every spelling that ever was of interest.
    spellings: BTreeSet<Vec<u8>>,
}

type Outcome = Result<(), TestCaseError>;

macro_rules! check {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err(TestCaseError::fail(format!($($words)*)));
        }
    };
}

/// Numbers of the directories that cases live in: two cases never share one.
static DIRECTORIES: AtomicUsize = AtomicUsize::new(0);

fn new_label() -> String {
    format!("case{}", DIRECTORIES.fetch_add(1, Ordering::Relaxed))
}

impl<'t> Case<'t> {
    pub(super) fn new(
        tree: &'t Tree,
        mount: BorrowedFd<'t>,
        setting: &Setting,
        entries: &[(Bytes, Kind)],
    ) -> Self {
        let label = new_label();
        let below = tree.directory(label.as_bytes());
        let mut model = Model {
            settings: setting.meaning.clone(),
            directory: BTreeMap::new(),
        };
        let mut token = 1;
        add_below(&below, &mut model, &mut token, entries);
        let above = at::open_dir(mount, label.as_bytes()).unwrap();
        Self {
            tree,
            label,
            below,
            above,
            mount,
            model,
            token,
            sees_at_once: false,
            spellings: BTreeSet::new(),
        }
    }

    /// Does `operation` and compares everything.
    pub(super) fn step(&mut self, operation: &Operation) -> Outcome {
        let done = match operation {
            Operation::Below(added, removed) => {
                self.change_below(added, removed);
                format!("{operation:?}")
            }
            _ => self.operate(operation)?,
        };
        self.compare(&done)
    }

    fn operate(&mut self, operation: &Operation) -> Result<String, TestCaseError> {
        self.token += 1;
        let token = self.token;
        let content = token.to_string().into_bytes();
        let before = self.model.clone();
        let mut resolve = |name: &Name| {
            let bytes = name.resolve(&before);
            self.spellings.insert(bytes.clone());
            bytes
        };
        let dir = &self.above;
        let model = &mut self.model;
        let (words, expected, got) = match operation {
            Operation::CreateNew(name) => {
                let name = resolve(name);
                let expected = model.make(&name, Kind::File, token);
                let got = at::write_new(dir, &name, &content);
                (format!("create new {}", show(&name)), expected, got)
            }
            Operation::Create(name) => {
                let name = resolve(name);
                let expected = model.open(&name, Some(token)).map(drop);
                let got = at::open(dir, &name, OFlags::RDWR | OFlags::CREATE).and_then(|file| {
                    match at::read_all(&file)? {
                        found if found.is_empty() => at::write_all(&file, &content),
                        _ => Ok(()),
                    }
                });
                (format!("create {}", show(&name)), expected, got)
            }
            Operation::Open(name) => {
                let name = resolve(name);
                let expected = model.open(&name, None).map(drop);
                let got = at::open(dir, &name, OFlags::RDONLY).map(drop);
                (format!("open {}", show(&name)), expected, got)
            }
            Operation::Mkdir(name, full) => {
                let name = resolve(name);
                let kind = if *full {
                    Kind::FullDirectory
                } else {
                    Kind::EmptyDirectory
                };
                let expected = model.make(&name, kind, token);
                let got = at::mkdir(dir, &name);
                if got.is_ok() {
                    if *full {
                        let new = at::open_dir(dir, &name).unwrap();
                        at::write_new(new, CHILD, b"").unwrap();
                    }
                    at::set_mtime(dir, &name, token.into()).unwrap();
                }
                (format!("mkdir {}", show(&name)), expected, got)
            }
            Operation::Symlink(name) => {
                let name = resolve(name);
                let expected = model.make(&name, Kind::Symlink, token);
                let got = at::symlink(&content, dir, &name);
                (format!("symlink {}", show(&name)), expected, got)
            }
            Operation::Link(old, new) => {
                let (old, new) = (resolve(old), resolve(new));
                let expected = model.link(&old, &new);
                let got = at::link(dir, &old, &new);
                (format!("link {} {}", show(&old), show(&new)), expected, got)
            }
            Operation::Rename(old, new, mode) => {
                let (old, new) = (resolve(old), resolve(new));
                let expected = model.rename(&old, &new, *mode);
                let flags = match mode {
                    RenameMode::Replace => RenameFlags::empty(),
                    RenameMode::NoReplace => RenameFlags::NOREPLACE,
                    RenameMode::Exchange => RenameFlags::EXCHANGE,
                };
                let got = at::rename_with(dir, &old, &new, flags);
                (
                    format!("rename {mode:?} {} {}", show(&old), show(&new)),
                    expected,
                    got,
                )
            }
            Operation::Unlink(name) => {
                let name = resolve(name);
                let got = at::unlink(dir, &name);
                (format!("unlink {}", show(&name)), model.unlink(&name), got)
            }
            Operation::Rmdir(name) => {
                let name = resolve(name);
                let got = at::rmdir(dir, &name);
                (format!("rmdir {}", show(&name)), model.rmdir(&name), got)
            }
            Operation::Below(..) => unreachable!("done elsewhere"),
        };
        let same = same_outcome(expected, got);
        check!(
            same,
            "{words}: expected {expected:?}, got {got:?}; the directory was {}",
            describe(&before)
        );
        Ok(words)
    }

    /// Others change the directory below. Where the kernel keeps names for a while (F5), the mount sees the change in a
    /// directory that is new to it, so that no cache is between.
    fn change_below(&mut self, added: &[(Bytes, Kind)], removed: &[usize]) {
        for number in removed {
            let nth = number.checked_rem(self.model.directory.len());
            if let Some(name) = nth.and_then(|nth| self.model.directory.keys().nth(nth).cloned()) {
                // Left behind in the old directory, if there is a new one.
                let node = self.model.directory.remove(&name);
                if self.sees_at_once {
                    remove_below(&self.below, &name, node.is_some_and(Node::is_dir));
                }
            }
        }
        if self.sees_at_once {
            add_below(&self.below, &mut self.model, &mut self.token, added);
            return;
        }
        let label = new_label();
        let fresh = self.tree.directory(label.as_bytes());
        for name in self.model.directory.keys() {
            rustix::fs::renameat(&self.below, &name[..], &fresh, &name[..]).unwrap();
        }
        add_below(&fresh, &mut self.model, &mut self.token, added);
        self.above = at::open_dir(self.mount, label.as_bytes()).unwrap();
        self.below = fresh;
        self.label = label;
    }

    /// Compares both sides with the model.
    pub(super) fn compare(&mut self, done: &str) -> Outcome {
        let model = &self.model;
        let state = || {
            format!(
                "in {} after {done}; the model has {}",
                self.label,
                describe(model)
            )
        };
        // What lies below, to the byte.
        let mut below = BTreeMap::new();
        for name in at::list(&self.below) {
            let node = identify(&self.below, &name);
            below.insert(name, node.expect("below everything can be read"));
        }
        check!(
            below == model.directory,
            "the backing directory is {below:?} {}",
            state()
        );
        // N1, N2, N4, N5, N6: what is listed.
        let visible = model.visible();
        let listed: Vec<Vec<u8>> = at::sorted(&self.above);
        let expected: Vec<Vec<u8>> = visible.keys().cloned().collect();
        check!(
            listed == expected,
            "listed {}, expected {} {}",
            show_all(&listed),
            show_all(&expected),
            state()
        );
        // N3: each opens just its entry. N10: no other spelling reaches anything that it should not.
        self.spellings.extend(visible.into_keys());
        for name in &self.spellings {
            let expected = model.find(name).map(|found| model.directory[&found]);
            let got = match identify(&self.above, name) {
                Ok(node) => Some(node),
                Err(Errno::NOENT) => None,
                Err(Errno::NAMETOOLONG) if name.len() > 255 => None,
                Err(error) => {
                    check!(false, "{} gives {error} {}", show(name), state());
                    None
                }
            };
            check!(
                got == expected,
                "{} is {got:?}, expected {expected:?} {}",
                show(name),
                state()
            );
        }
        Ok(())
    }
}

/// Runs the cases of all settings of one `--legacy`.
fn compare_all(legacy: Legacy, caches: Caches) {
    let cases = number("UTF8FS_MODEL_CASES")
        .unwrap_or(CASES)
        .div_ceil(caches.share());
    let seed = number("UTF8FS_MODEL_SEED").unwrap_or(0);
    let mut failures = Vec::new();
    for (index, setting) in all_of(legacy).iter().enumerate() {
        let tree = Tree::in_memory();
        let mount = tree.mount(&[&setting.options(), caches.options()].concat());
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&seed.to_le_bytes());
        bytes[4] = index.try_into().unwrap();
        let config = Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 2000,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let result = runner.run(
            &(initial(), vec(operation(), 0..12)),
            |(entries, operations)| {
                let mut case = Case::new(&tree, mount.dir(), setting, &entries);
                case.sees_at_once = caches == Caches::None;
                case.compare("nothing")?;
                operations
                    .iter()
                    .try_for_each(|operation| case.step(operation))
            },
        );
        match result {
            Ok(()) => drop(mount.stop()),
            Err(TestError::Fail(reason, (entries, operations))) => failures.push(format!(
                "{} {caches:?}\n  {reason}\n  entries: {entries:?}\n  operations: {operations:?}",
                setting.options.join(" ")
            )),
            Err(error @ TestError::Abort(_)) => panic!("{error}"),
        }
    }
    assert!(
        failures.is_empty(),
        "{} settings fail:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn decoded_legacy_names_behave_as_the_reference_directory() {
    compare_all(Legacy::Decode, Caches::Usual);
}

#[test]
fn decoded_legacy_names_are_not_stale_in_caches_that_last() {
    compare_all(Legacy::Decode, Caches::Longest);
}

#[test]
fn decoded_legacy_names_are_as_others_leave_them_below() {
    compare_all(Legacy::Decode, Caches::None);
}

#[test]
fn escaped_legacy_names_behave_as_the_reference_directory() {
    compare_all(Legacy::Escape, Caches::Usual);
}

#[test]
fn escaped_legacy_names_are_not_stale_in_caches_that_last() {
    compare_all(Legacy::Escape, Caches::Longest);
}

#[test]
fn escaped_legacy_names_are_as_others_leave_them_below() {
    compare_all(Legacy::Escape, Caches::None);
}

#[test]
fn raw_legacy_names_behave_as_the_reference_directory() {
    compare_all(Legacy::Raw, Caches::Usual);
}

#[test]
fn raw_legacy_names_are_not_stale_in_caches_that_last() {
    compare_all(Legacy::Raw, Caches::Longest);
}

#[test]
fn raw_legacy_names_are_as_others_leave_them_below() {
    compare_all(Legacy::Raw, Caches::None);
}

#[test]
fn hidden_legacy_names_behave_as_the_reference_directory() {
    compare_all(Legacy::Hide, Caches::Usual);
}

#[test]
fn hidden_legacy_names_are_not_stale_in_caches_that_last() {
    compare_all(Legacy::Hide, Caches::Longest);
}

#[test]
fn hidden_legacy_names_are_as_others_leave_them_below() {
    compare_all(Legacy::Hide, Caches::None);
}
