//! Two trees at one path in turn, as two disks at one mount point (law T11): whatever was migrated, killed, exchanged and removed before,
//! undo gives each name back, or refuses and says which journal is missing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{PATIENCE, Run, utf8fs};
use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Tree, at};

const HISTORIES: u64 = 50;

/// With this variable there are so many, instead.
const MORE: &str = "UTF8FS_TEST_HISTORIES";

/// Steps of a history.
const STEPS: usize = 12;

/// Options of migrations, each of which changes names that the others give.
const OPTIONS: [&[&str]; 4] = [
    &["--from", "koi8-r"],
    &["--normalize", "nfd"],
    &["--normalize", "nfc"],
    &["--to", "koi8-r", "--normalize", "nfc"],
];

/// A migration of a tree.
struct Migration {
    journal: PathBuf,
    /// The tree before it.
    before: Snapshot,
    is_removed: bool,
}

/// One of the two trees.
#[derive(Default)]
struct Disk {
    /// The migrations that are not undone, the last one last.
    migrations: Vec<Migration>,
    /// The options of one that was killed, which is gone on with.
    killed: Option<usize>,
}

struct History {
    tree: Tree,
    disks: [Disk; 2],
    /// The one that is at the path; the other one is beside it.
    mounted: usize,
    random: u64,
    said: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let tree = Tree::new();
        let history = Self {
            tree,
            disks: Default::default(),
            mounted: 0,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            said: vec![format!("history {seed}")],
        };
        fill(&history.place(), "a");
        fs::create_dir(history.beside()).unwrap();
        fill(&history.beside(), "b");
        history
    }

    fn place(&self) -> PathBuf {
        self.tree.backing()
    }

    fn beside(&self) -> PathBuf {
        self.tree.parent().join("beside")
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % u64::try_from(limit).unwrap()).unwrap()
    }

    fn snapshot(&self) -> Snapshot {
        snapshot::take(&self.place(), Times::Ignored)
    }

    fn step(&mut self) {
        match self.below(10) {
            0..=2 => self.migrate(false),
            3 => self.migrate(true),
            4 | 5 => self.exchange(),
            6 => self.remove_journal(),
            7 => self.undo_any(),
            _ => self.undo_last(),
        }
    }

    fn migrate(&mut self, is_killed: bool) {
        let chosen = self.below(OPTIONS.len());
        let disk = &mut self.disks[self.mounted];
        let chosen = disk.killed.take().unwrap_or(chosen);
        let (before, known) = (self.snapshot(), journals());
        self.said.push(format!(
            "migrate {:?}, killed: {is_killed}",
            OPTIONS[chosen]
        ));
        let mut command = Command::new("timeout");
        command.arg(PATIENCE);
        if is_killed {
            let when = 2 + self.below(5);
            let inject = format!("inject=renameat2:signal=KILL:when={when}");
            command
                .args(["strace", "-f", "-qq", "-o", "/dev/null", "-e"])
                .arg(inject);
        }
        command
            .arg(env!("CARGO_BIN_EXE_utf8fs"))
            .arg("migrate")
            .args(OPTIONS[chosen]);
        command
            .arg("--apply")
            .arg(self.place())
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let has_ended = output.status.code().is_some_and(|code| code <= 1);
        assert!(has_ended || is_killed, "{:?}: {output:?}", self.said);
        let mut made: Vec<PathBuf> = journals().difference(&known).cloned().collect();
        assert!(made.len() <= 1, "{:?}: {made:?}", self.said);
        let disk = &mut self.disks[self.mounted];
        disk.migrations.extend(made.pop().map(|journal| Migration {
            journal,
            before,
            is_removed: false,
        }));
        if !has_ended {
            disk.killed = Some(chosen);
        }
    }

    fn exchange(&mut self) {
        let between = self.tree.parent().join("between");
        let (place, beside) = (self.place(), self.beside());
        for (from, to) in [(&place, &between), (&beside, &place), (&between, &beside)] {
            let here = rustix::fs::CWD;
            rustix::fs::renameat(here, from, here, to).unwrap();
        }
        self.mounted = 1 - self.mounted;
        self.said.push("exchange".to_owned());
    }

    fn remove_journal(&mut self) {
        let disk = self.below(2);
        let count = self.disks[disk].migrations.len();
        if count == 0 {
            return;
        }
        let chosen = self.below(count);
        let migration = &mut self.disks[disk].migrations[chosen];
        if !migration.is_removed {
            fs::remove_file(&migration.journal).unwrap();
            migration.is_removed = true;
            self.disks[disk].killed.take_if(|_| chosen + 1 == count);
            self.said
                .push(format!("remove journal {chosen} of disk {disk}"));
        }
    }

    fn run_undo(&mut self, target: &Path) -> Run {
        self.said.push(format!(
            "undo {}",
            target.as_os_str().as_bytes().escape_ascii()
        ));
        let target = target.as_os_str().as_bytes();
        utf8fs(self.tree.parent(), &[b"undo", b"--apply", target])
    }

    /// Undoes the last migration of the tree that is there, by the path of the tree.
    fn undo_last(&mut self) {
        let place = self.place();
        let before = self.snapshot();
        let run = self.run_undo(&place);
        let mounted = self.mounted;
        let Some(last) = self.disks[mounted].migrations.last() else {
            assert_eq!(run.code, Some(1), "{:?}: {run:?}", self.said);
            return;
        };
        if last.is_removed {
            self.expect_missing(&run, &last.journal);
            assert_eq!(self.snapshot(), before, "{:?}", self.said);
            return;
        }
        self.expect_undone(&run);
    }

    /// Undoes any migration of either tree, by its journal.
    fn undo_any(&mut self) {
        let disk = self.below(2);
        let count = self.disks[disk].migrations.len();
        if count == 0 {
            return;
        }
        let chosen = self.below(count);
        let journal = self.disks[disk].migrations[chosen].journal.clone();
        let before = self.snapshot();
        let run = self.run_undo(&journal);
        let migrations = &self.disks[disk].migrations;
        if migrations[chosen].is_removed {
            assert_eq!(run.code, Some(2), "{:?}: {run:?}", self.said);
        } else if chosen + 1 < count {
            let last = &migrations[count - 1];
            if last.is_removed {
                self.expect_missing(&run, &last.journal);
            } else {
                let name = last.journal.file_name().unwrap().to_str().unwrap();
                assert!(run.stderr.contains(name), "{:?}: {run:?}", self.said);
                assert_eq!(run.code, Some(1), "{:?}: {run:?}", self.said);
            }
        } else if disk == self.mounted {
            return self.expect_undone(&run);
        } else {
            assert!(
                run.stderr.contains("another tree"),
                "{:?}: {run:?}",
                self.said
            );
            assert_eq!(run.code, Some(1), "{:?}: {run:?}", self.said);
        }
        assert_eq!(self.snapshot(), before, "{:?}", self.said);
    }

    fn expect_missing(&self, run: &Run, journal: &Path) {
        let name = journal.file_name().unwrap().to_str().unwrap();
        let is_named = run.stderr.contains(name) && run.stderr.contains("is missing");
        assert!(run.code == Some(1) && is_named, "{:?}: {run:?}", self.said);
    }

    fn expect_undone(&mut self, run: &Run) {
        assert_eq!(run.code, Some(0), "{:?}: {run:?}", self.said);
        let disk = &mut self.disks[self.mounted];
        let undone = disk.migrations.pop().unwrap();
        disk.killed = None;
        assert_eq!(self.snapshot(), undone.before, "{:?}", self.said);
    }
}

/// Makes names in KOI8-R, and in both forms of Unicode.
fn fill(directory: &Path, own: &str) {
    let dir = at::open_dir_path(directory);
    for (name, content) in [(&b"\xD0\xCF"[..], "1"), (b"\xC4\xC1", "2"), (b"plain", "3")] {
        at::write_new(&dir, name, format!("{own}{content}").as_bytes()).unwrap();
    }
    for (name, below) in [("й", "ё"), ("e\u{301}", "u\u{308}")] {
        fs::create_dir(directory.join(name)).unwrap();
        fs::write(directory.join(name).join(below), own).unwrap();
        fs::write(
            directory
                .join(name)
                .join(OsStr::from_bytes(b"\xCE\xC5\xD4")),
            own,
        )
        .unwrap();
    }
}

/// Returns the journals in the usual place, which the runner of the tests has set.
fn journals() -> BTreeSet<PathBuf> {
    let state = PathBuf::from(std::env::var_os("STATE_DIRECTORY").unwrap());
    let entries = fs::read_dir(state).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension() == Some(OsStr::new("journal")))
        .collect()
}

#[test]
fn t11_two_trees_at_one_path_are_taken_back_whatever_happened_in_between() {
    run_histories(1..=HISTORIES / 2);
}

#[test]
fn t11_two_trees_at_one_path_are_taken_back_in_more_histories() {
    let more = std::env::var(MORE).ok().and_then(|more| more.parse().ok());
    run_histories(HISTORIES / 2 + 1..=more.unwrap_or(HISTORIES));
}

fn run_histories(seeds: RangeInclusive<u64>) {
    for seed in seeds {
        let mut history = History::new(seed);
        let originals = [0, 1].map(|_| {
            let original = history.snapshot();
            history.exchange();
            original
        });
        for _ in 0..STEPS {
            history.step();
        }
        // To the end, as far as the journals are there.
        for original in [history.mounted, 1 - history.mounted].map(|disk| &originals[disk]) {
            loop {
                let migrations = &history.disks[history.mounted].migrations;
                let Some(last) = migrations.last() else {
                    assert_eq!(&history.snapshot(), original, "{:?}", history.said);
                    break;
                };
                let is_missing = last.is_removed;
                history.undo_last();
                if is_missing {
                    break;
                }
            }
            history.exchange();
        }
    }
}
