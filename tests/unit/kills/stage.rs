//! Trees, what is to become of them, and what they are, to the last byte.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags};
use tempfile::TempDir;

use super::manifest::{Manifest, manifest};
use super::plan::{name, plan};
use crate::backing::{Dir, SetTime, Stat, Time, file};
use crate::names::BackingName;
use crate::records::Unplanned;
use crate::tree::apply::{Observer, Outcome, apply};
use crate::tree::change::TreePath;
use crate::tree::plan::DirectoryPlan;
use crate::tree::rollback::{UndoScope, undo};
use crate::tree::undo_journal::{Draft, Journal, JournalError, JournalRequest, Skipped};

/// A tree, and a directory beside it for journals.
pub(in crate::tree) struct Stage {
    place: PathBuf,
    /// Removed at the end, where it was made for this.
    _temp: Option<TempDir>,
}

pub(in crate::tree) fn path(root: &Path, names: &[&[u8]]) -> PathBuf {
    names.iter().fold(root.to_owned(), |path, name| {
        path.join(std::ffi::OsStr::from_bytes(name))
    })
}

impl Stage {
    /// An empty tree, in memory where there is any: there each sync is quick.
    pub(in crate::tree) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        Self::below(&place)
    }

    pub(in crate::tree) fn below(place: &Path) -> Self {
        let temp = tempfile::Builder::new()
            .prefix("utf8fs-test-")
            .tempdir_in(place)
            .unwrap();
        fs::create_dir(temp.path().join("tree")).unwrap();
        Self {
            place: temp.path().to_owned(),
            _temp: Some(temp),
        }
    }

    /// One that somebody else has made.
    pub(in crate::tree) fn at(place: &Path) -> Self {
        Self {
            place: place.to_owned(),
            _temp: None,
        }
    }

    pub(in crate::tree) fn place(&self) -> &Path {
        &self.place
    }

    pub(in crate::tree) fn tree(&self) -> PathBuf {
        self.place.join("tree")
    }

    pub(in crate::tree) fn journal(&self) -> PathBuf {
        self.place.join("journal")
    }

    pub(in crate::tree) fn root(&self) -> OwnedFd {
        Dir::open_root(&self.tree()).unwrap().into_fd()
    }

    /// Makes a file with its own name in it.
    pub(in crate::tree) fn file(&self, names: &[&[u8]]) {
        fs::write(path(&self.tree(), names), names.concat()).unwrap();
    }

    pub(in crate::tree) fn dir(&self, names: &[&[u8]]) {
        fs::create_dir(path(&self.tree(), names)).unwrap();
    }

    pub(in crate::tree) fn link(&self, target: &[u8], names: &[&[u8]]) {
        symlink(
            std::ffi::OsStr::from_bytes(target),
            path(&self.tree(), names),
        )
        .unwrap();
    }

    /// Sets all times to some of long ago, each to another one, the deepest first.
    pub(in crate::tree) fn age(&self) {
        let mut paths: Vec<PathBuf> = manifest(&self.tree())
            .into_keys()
            .map(|path| self.tree().join(std::ffi::OsString::from_vec(path)))
            .collect();
        paths.reverse();
        for (number, path) in (0..).zip(&paths) {
            let time = |more: i64| Timespec {
                tv_sec: 1_000_000_000 + number * 1000 + more,
                tv_nsec: 123_456_789,
            };
            let times = Timestamps {
                last_access: time(7),
                last_modification: time(0),
            };
            rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        }
    }

    /// Drafts the journal of what [`plan`] says.
    pub(in crate::tree) fn draft(&self) -> Result<(Journal, Vec<Skipped>), JournalError> {
        self.draft_of(&plan(&self.root()))
    }

    pub(in crate::tree) fn draft_of(
        &self,
        plans: &[DirectoryPlan],
    ) -> Result<(Journal, Vec<Skipped>), JournalError> {
        let tree = self.tree();
        let tree = tree.as_os_str().as_bytes();
        let draft = Draft::create(
            &self.journal(),
            &self.root(),
            &JournalRequest::of_options(tree, "--from iso-8859-1"),
        )?;
        let mut left = Vec::new();
        for plan in plans {
            left.extend(draft.add(plan)?);
        }
        Ok((draft.commit(Unplanned::default())?, left))
    }

    pub(in crate::tree) fn apply(&self, journal: &mut Journal) -> (Outcome, BTreeSet<String>) {
        let seen = Seen::default();
        let outcome = apply(&self.root(), journal, 2, &seen).unwrap();
        (outcome, seen.left())
    }

    pub(in crate::tree) fn undo(
        &self,
        journal: &mut Journal,
        only: Option<&[&[u8]]>,
    ) -> (Outcome, BTreeSet<String>) {
        let seen = Seen::default();
        let only: Option<TreePath> =
            only.map(|only| only.iter().map(|octets| name(octets)).collect());
        let scope = UndoScope {
            only: only.as_deref(),
            ..UndoScope::default()
        };
        let outcome = undo(&self.root(), journal, scope, &seen).unwrap();
        (outcome, seen.left())
    }

    pub(in crate::tree) fn manifest(&self) -> Manifest {
        manifest(&self.tree())
    }
}

/// What was left, as lines.
#[derive(Default)]
pub(in crate::tree) struct Seen(Mutex<BTreeSet<String>>);

impl Seen {
    pub(in crate::tree) fn left(self) -> BTreeSet<String> {
        self.0.into_inner().unwrap()
    }
}

/// `directory/name: why`.
pub(in crate::tree) fn line(left: &Skipped) -> String {
    let mut path: Vec<&[u8]> = left.directory.iter().map(BackingName::as_bytes).collect();
    path.push(left.name.as_bytes());
    format!("{}: {}", path.join(&b'/').escape_ascii(), left.reason)
}

impl Observer for Seen {
    fn skipped(&self, left: &Skipped) {
        assert!(
            self.0.lock().unwrap().insert(line(left)),
            "told twice: {left:?}"
        );
    }

    fn time_lost(&self, directory: &TreePath, errno: i32) {
        panic!("the time of {directory:?} was lost: {errno}");
    }
}

/// A tree of 500 entries of all kinds, three quarters of which are concerned.
pub(in crate::tree) fn mixed(stage: &Stage) {
    let is_root = rustix::process::geteuid().is_root();
    let mut places: Vec<Vec<Vec<u8>>> = vec![Vec::new()];
    for place in [
        &[&b"B\xFCcher"[..]][..],
        &[b"B\xFCcher", b"\xC4lter"],
        &[b"B\xFCcher", b"plain"],
        &[b"B\xFCcher", b"plain", b"\xD6de"],
        &[b"plain"],
        &[b"1-ring-1"],
        &[b"1-ring-2"],
    ] {
        stage.dir(place);
        places.push(place.iter().map(|name| name.to_vec()).collect());
    }
    for (number, place) in places.iter().enumerate() {
        let at = |name: String| -> Vec<Vec<u8>> {
            let octets: Vec<u8> = name
                .chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap())
                .collect();
            place.iter().cloned().chain([octets]).collect()
        };
        let refs = |names: &[Vec<u8>]| -> PathBuf {
            path(
                &stage.tree(),
                &names.iter().map(Vec::as_slice).collect::<Vec<_>>(),
            )
        };
        for index in 0..28 {
            fs::write(
                refs(&at(format!("caf\u{E9}-{index}"))),
                format!("{number} {index}"),
            )
            .unwrap();
        }
        for index in 0..8 {
            let one = refs(&at(format!("caf\u{E9}-{index}")));
            fs::hard_link(one, refs(&at(format!("zw\u{F6}lf-{index}")))).unwrap();
        }
        for index in 0..6 {
            let link = refs(&at(format!("l\u{EF}nk-{index}")));
            symlink(std::ffi::OsStr::from_bytes(b"caf\xE9-1"), &link).unwrap();
            let plain = refs(&at(format!("link-{index}")));
            symlink(
                std::ffi::OsStr::from_bytes(
                    format!("../caf-{index}")
                        .replace("af", "\u{61}f")
                        .as_bytes(),
                ),
                &plain,
            )
            .unwrap();
            if is_root && index % 2 == 0 {
                rustix::fs::chownat(
                    CWD,
                    &link,
                    Some(rustix::fs::Uid::from_raw(1000)),
                    Some(rustix::fs::Gid::from_raw(1001)),
                    AtFlags::SYMLINK_NOFOLLOW,
                )
                .unwrap();
                rustix::fs::lsetxattr(&link, "trusted.utf8fs-test", b"kept", XattrFlags::empty())
                    .unwrap();
            }
        }
        for index in 1..4 {
            fs::write(
                refs(&at(format!("7-chain-{index}"))),
                format!("chain {index}"),
            )
            .unwrap();
            fs::write(
                refs(&at(format!("8-ring-{index}"))),
                format!("ring {index}"),
            )
            .unwrap();
        }
        fs::write(refs(&at("aside-1".to_owned())), "aside").unwrap();
        for index in 0..6 {
            fs::write(refs(&at(format!("plain-{index}"))), "").unwrap();
        }
    }
    for index in 0..5 {
        stage.file(&[format!("another-{index}").as_bytes()]);
    }
    stage.age();
}

pub(in crate::tree) fn set_mtime(path: &Path, secs: i64) {
    let dir = Dir::open_root(path).unwrap();
    file::set_times(dir, SetTime::Omit, SetTime::At(Time { secs, nanos: 0 })).unwrap();
}

pub(in crate::tree) fn mtime(path: &Path) -> Time {
    Stat::of(Dir::open_root(path).unwrap()).unwrap().mtime
}

/// Told to stop after so many questions.
pub(in crate::tree) struct Impatient(pub(in crate::tree) Arc<std::sync::atomic::AtomicU64>);

impl Observer for Impatient {
    fn skipped(&self, left: &Skipped) {
        panic!("{left:?}");
    }

    fn is_over(&self) -> bool {
        self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 0
    }
}
