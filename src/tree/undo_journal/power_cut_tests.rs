//! What a power cut makes of an append to a journal (laws T4, T11): whatever is lost of it, undo restores each name that was changed.
//!
//! A guard's journal is taken after each of three appends. Names were changed by the first two. The third, of more than 64 KiB, was not
//! on the medium when the power failed, so nothing of it was done.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::{Journal, JournalPart, Status, open_guard_journal};
use crate::backing::{Dir, Entries};
use crate::names::BackingName;
use crate::tree::apply::apply_live;
use crate::tree::kills::plan::plan;
use crate::tree::kills::stage::{Seen, Stage};
use crate::tree::plan::DirectoryPlan;
use crate::tree::rollback::{UndoScope, undo};

/// Number of cases; with this variable all positions are tried.
const CASES: usize = 2000;
const ALL: &str = "UTF8FS_TEST_ALL_POSITIONS";

const PAGE: usize = 4096;

/// What is left of the last append.
#[derive(Debug, Clone)]
enum Left {
    /// The file ends there.
    Cut(usize),
    /// The file has its size, or another one, and NULs from there on.
    Nuls { from: usize, count: usize },
    /// One page is NULs.
    LostPage(usize),
    /// Pages are NULs by the bits of a number, over and over.
    LostPages(u64),
    /// Bytes of something else stand from there on.
    Others { from: usize, count: usize },
}

/// A tree of which two appends are done.
struct HalfDone {
    stage: Stage,
    /// All names before anything was done.
    original: BTreeSet<Vec<u8>>,
    /// The renames of the two appends in their order, by path.
    renames: Vec<(PathBuf, PathBuf)>,
    /// The journal with three appends, and the offset of the third.
    octets: Vec<u8>,
    synced: usize,
}

impl HalfDone {
    fn new() -> Self {
        let stage = Stage::new();
        stage.dir(&[b"2-\xE9"]);
        let long = "x".repeat(180);
        for directory in [&[][..], &[&b"2-\xE9"[..]]] {
            for (batch, count) in [(1, 6), (2, 6), (3, 70)] {
                for number in 0..count {
                    let name = [format!("{batch}-{number}-{long}").as_bytes(), b"\xE9"].concat();
                    stage.file(&[directory, &[&name]].concat());
                }
            }
        }
        let original = names(&stage);
        let root = stage.root();
        let journal = open_guard_journal(&stage.journal(), &root, b"/tree").unwrap();
        let mut sizes = Vec::new();
        let mut done: Vec<BTreeSet<Vec<u8>>> = vec![original.clone()];
        for batch in *b"123" {
            let mut plans = plan(&root);
            plans.iter_mut().for_each(|plan| keep_batch(plan, batch));
            plans.retain(|plan| !plan.lines.is_empty());
            plans.reverse();
            apply_live(&root, &journal, &plans, &Seen::default()).unwrap();
            sizes.push(fs::read(stage.journal()).unwrap().len());
            done.push(names(&stage));
        }
        drop(journal);
        let octets = fs::read(stage.journal()).unwrap();
        assert!(octets.len() - sizes[1] > 64 << 10, "{sizes:?}");
        let half_done = Self {
            renames: Vec::new(),
            synced: sizes[1],
            original,
            octets,
            stage,
        };
        half_done.undo("all three");
        let tree = half_done.stage.tree();
        let path = |name: &[u8]| crate::tree::kills::stage::path(&tree, &[name]);
        let of_batch = |batch: u8| move |name: &&[u8]| name.first() == Some(&batch);
        let mut renames = Vec::new();
        for (batch, parent) in [
            (b'1', &b"2-\xE9/"[..]),
            (b'1', b""),
            (b'2', b"2-\xE9/"),
            (b'2', b""),
        ] {
            let own = half_done
                .original
                .iter()
                .filter_map(|path| path.strip_prefix(parent));
            let own = own
                .filter(|name| !name.contains(&b'/'))
                .filter(of_batch(batch));
            for name in own {
                let new = crate::tree::kills::plan::latin(name);
                renames.push((
                    path(&[parent, name].concat()),
                    path(&[parent, &new].concat()),
                ));
            }
        }
        Self {
            renames,
            ..half_done
        }
    }

    /// Undoes what the journal says, and expects the names of before.
    fn undo(&self, case: &str) {
        let stage = &self.stage;
        let mut journal = Journal::open(&stage.journal(), JournalPart::BeforeDamage)
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(journal.damage, None, "{case}");
        let seen = Seen::default();
        undo(&stage.root(), &mut journal, UndoScope::default(), &seen).unwrap();
        assert_eq!(names(stage), self.original, "{case}");
        drop(journal);
        let journal = Journal::open(&stage.journal(), JournalPart::BeforeDamage).unwrap();
        let state = (journal.damage, journal.torn_at, journal.state().status);
        assert_eq!(state, (None, None, Status::Undone), "{case}");
    }

    fn check(&self, left: &Left) {
        let octets = self.journal_with(left);
        fs::write(self.stage.journal(), octets).unwrap();
        for (old, new) in &self.renames {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let here = rustix::fs::CWD;
            rustix::fs::renameat_with(here, old, here, new, flags).unwrap();
        }
        self.undo(&format!("{left:?}"));
    }

    /// Returns the bytes of the journal's file after the power cut.
    fn journal_with(&self, left: &Left) -> Vec<u8> {
        let mut octets = self.octets.clone();
        let lose = |octets: &mut Vec<u8>, page: usize| {
            let start = (page * PAGE).max(self.synced);
            let end = ((page + 1) * PAGE).min(octets.len());
            octets[start..end].fill(0);
        };
        match *left {
            Left::Cut(at) => octets.truncate(at),
            Left::Nuls { from, count } => {
                octets.truncate(from);
                octets.resize(from + count, 0);
            }
            Left::LostPage(page) => lose(&mut octets, page),
            Left::LostPages(bits) => {
                for page in self.pages().filter(|page| bits >> (page % 64) & 1 == 1) {
                    lose(&mut octets, page);
                }
            }
            Left::Others { from, count } => {
                octets.truncate(from);
                let others = (0..count).map(|at| u8::try_from(at * 31 % 256).unwrap());
                octets.extend(others);
            }
        }
        octets
    }

    fn pages(&self) -> std::ops::RangeInclusive<usize> {
        self.synced / PAGE..=(self.octets.len() - 1) / PAGE
    }

    /// Returns all cases, or a number of them that are spread over all.
    fn cases(&self, most: Option<usize>) -> Vec<Left> {
        let (start, end) = (self.synced, self.octets.len());
        let page = start.next_multiple_of(PAGE);
        let mut cases: Vec<Left> = self.pages().map(Left::LostPage).collect();
        cases.extend(
            (1..200_u64).map(|seed| {
                Left::LostPages(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17))
            }),
        );
        let tail_lengths = (1..=8192).map(|count| (start, count));
        let tails: Vec<(usize, usize)> = tail_lengths
            .chain((1..=8192).map(|count| (page + 700, count)))
            .chain((start..end).map(|from| (from, end - from)))
            .collect();
        let cuts = (start..=end).map(Left::Cut);
        let nuls = tails
            .iter()
            .map(|&(from, count)| Left::Nuls { from, count });
        let others = tails
            .iter()
            .map(|&(from, count)| Left::Others { from, count });
        let many: Vec<Left> = cuts.chain(nuls).chain(others).collect();
        let step = most.map_or(1, |most| {
            many.len() / most.saturating_sub(cases.len()).max(1)
        });
        // A step that shares no factor with a page meets all offsets in one.
        cases.extend(many.into_iter().step_by(step | 1));
        cases
    }
}

/// Leaves the lines of a plan whose names start with a digit.
fn keep_batch(plan: &mut DirectoryPlan, batch: u8) {
    plan.lines
        .retain(|line| line.old.as_bytes().first() == Some(&batch));
    plan.entries = plan.lines.len();
}

/// Returns the paths of all entries.
fn names(stage: &Stage) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    add_names(&Dir::open_root(&stage.tree()).unwrap(), &[], &mut all);
    all
}

fn add_names(dir: &Dir, parent: &[u8], all: &mut BTreeSet<Vec<u8>>) {
    let mut entries = Entries::open(dir, libc::O_NOATIME).unwrap();
    let mut children = Vec::new();
    while let Some(entry) = entries.next().unwrap() {
        if !entry.is_dot() {
            children.push((BackingName::parse(entry.name).unwrap(), entry.kind));
        }
    }
    for (name, kind) in children {
        let path = [parent, name.as_bytes()].concat();
        if kind == crate::backing::Kind::Dir {
            let child = Dir::new(dir.child(&name).unwrap());
            add_names(&child, &[&path[..], b"/"].concat(), all);
        }
        all.insert(path);
    }
}

#[test]
fn t11_whatever_a_power_cut_takes_of_an_append_undo_restores_each_name() {
    let half_done = HalfDone::new();
    let all = std::env::var_os(ALL).is_some();
    let cases = half_done.cases((!all).then_some(CASES));
    assert!(cases.len() > 1900, "{}", cases.len());
    for left in &cases {
        half_done.check(left);
    }
}
