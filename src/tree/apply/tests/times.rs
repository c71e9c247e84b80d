//! Times of directories that others change, right before, right after and while a migration does (law T6). The time of such a
//! change is never set back.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use super::*;
use crate::backing::{Dir, Time};
use crate::names::BackingName;
use crate::tree::change::TreePath;
use crate::tree::kills::plan::latin;
use crate::tree::kills::stage::line;

/// The directory of the files, by whichever names it has.
fn directory(stage: &Stage) -> PathBuf {
    let old = at(stage, &[]);
    match old.is_dir() {
        true => old,
        false => stage.tree().join("\u{FC}ber/alt\u{E9}"),
    }
}

/// The time that the directory has.
fn now(stage: &Stage) -> Time {
    mtime(&directory(stage))
}

/// Changes that somebody makes in a directory.
const CHANGES: [fn(&Path); 4] = [
    |place| fs::write(place.join("new"), "").unwrap(),
    |place| fs::remove_file(place.join("foreign-2")).unwrap(),
    |place| rustix::fs::rename(place.join("foreign"), place.join("moved")).unwrap(),
    |place| fs::create_dir(place.join("made")).unwrap(),
];

fn with_foreign() -> Stage {
    let stage = Stage::new();
    fill(&stage);
    for name in [&b"foreign"[..], b"foreign-2"] {
        stage.file(&[DIR, &[name]].concat());
    }
    stage.age();
    stage
}

/// Waits until what is done is not of that moment any more.
fn let_pass(moment: Time) {
    let secs = u64::try_from(moment.secs).unwrap();
    let moment = SystemTime::UNIX_EPOCH + Duration::new(secs, moment.nanos);
    while SystemTime::now() < moment + Duration::from_millis(250) {
        std::thread::yield_now();
    }
}

/// The time of the last change to an entry.
fn time_of(path: &Path) -> Time {
    let metadata = path.symlink_metadata().unwrap();
    Time {
        secs: metadata.ctime(),
        nanos: u32::try_from(metadata.ctime_nsec()).unwrap(),
    }
}

/// Undone at once after somebody has changed something.
#[test]
fn t6_a_change_right_after_a_migration_keeps_its_time_when_that_is_undone() {
    for change in CHANGES {
        let stage = with_foreign();
        let (mut journal, _) = stage.draft().unwrap();
        stage.apply(&mut journal);
        let renamed = directory(&stage).join(std::ffi::OsStr::from_bytes(&latin(FILES[0])));
        let_pass(time_of(&renamed));
        change(&directory(&stage));
        let changed = now(&stage);
        stage.undo(&mut journal, None);
        assert_eq!(now(&stage), changed);
    }
}

/// Changes the directory of the files after so many steps in it.
struct Meddler<'m> {
    stage: &'m Stage,
    change: fn(&Path),
    after: u64,
    steps: AtomicU64,
    /// The time of the change.
    time: Mutex<Option<Time>>,
}

impl<'m> Meddler<'m> {
    fn new(stage: &'m Stage, change: fn(&Path), after: u64) -> Self {
        Self {
            stage,
            change,
            after,
            steps: AtomicU64::default(),
            time: Mutex::default(),
        }
    }

    #[track_caller]
    fn assert_not_set_back(self) {
        let changed = self.time.into_inner().unwrap();
        let now = now(self.stage);
        assert!(now >= changed, "{now:?} {changed:?}");
    }
}

impl Observer for Meddler<'_> {
    fn step(&self, place: &TreePath, _: &BackingName, _: Movement<'_>) {
        let is_there = place.len() == DIR.len();
        if is_there && self.steps.fetch_add(1, Ordering::Relaxed) + 1 == self.after {
            (self.change)(&directory(self.stage));
            *self.time.lock() = Some(now(self.stage));
        }
    }

    fn skipped(&self, left: &Skipped) {
        panic!("{}", line(left));
    }
}

#[test]
fn t6_a_change_while_a_directory_is_worked_on_is_not_set_back() {
    for change in CHANGES {
        for after in 1..=3 {
            let stage = with_foreign();
            let (mut journal, _) = stage.draft().unwrap();
            let seen = Meddler::new(&stage, change, after);
            apply(&stage.root(), &mut journal, 1, &seen).unwrap();
            seen.assert_not_set_back();
            // That of another directory is what it was.
            let above = stage.tree().join("\u{FC}ber");
            assert!(mtime(&above).secs < 1_500_000_000);
            // And on the way back.
            let again = |place: &Path| fs::write(place.join("again"), "").unwrap();
            let back = Meddler::new(&stage, again, after);
            undo(&stage.root(), &mut journal, UndoScope::default(), &back).unwrap();
            back.assert_not_set_back();
        }
    }
}

/// Stopped after a rename as by a kill, which leaves the time of the directory. Going on and undoing put it back, but not if somebody
/// has changed something since.
#[test]
fn t6_a_change_after_a_kill_keeps_its_time() {
    for change in [None, Some(0), Some(1), Some(2), Some(3)] {
        for goes_on in [true, false] {
            let stage = with_foreign();
            let before = now(&stage);
            let (mut journal, _) = stage.draft().unwrap();
            let_pass(time_of(&directory(&stage).join("foreign")));
            // As the killed run does it.
            let dir = Dir::open_root(&directory(&stage)).unwrap();
            let new = name(&latin(FILES[0]));
            dir.rename(&name(FILES[0]), &dir, &new, libc::RENAME_NOREPLACE)
                .unwrap();
            let mut expected = before;
            if let Some(change) = change {
                if change == 1 {
                    // Of what is removed nothing else tells the time.
                    let_pass(now(&stage));
                }
                CHANGES[change](&directory(&stage));
                expected = now(&stage);
            }
            match goes_on {
                true => stage.apply(&mut journal),
                false => stage.undo(&mut journal, None),
            };
            assert_eq!(now(&stage), expected, "{change:?} {goes_on}");
        }
    }
}
