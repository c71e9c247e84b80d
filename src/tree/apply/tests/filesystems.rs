//! Filesystems that will not. These tests need root; without it they do nothing.

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::*;
use crate::records::Unplanned;
use crate::tree::undo_journal::{Draft, JournalRequest};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A tmpfs, unmounted at the end.
struct Mounted(PathBuf);

impl Mounted {
    fn new(place: &Path, options: &str) -> Self {
        let options = std::ffi::CString::new(options).unwrap();
        mount(
            "utf8fs-test",
            place,
            "tmpfs",
            MountFlags::empty(),
            Some(options.as_c_str()),
        )
        .unwrap();
        Self(place.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn a_disk_that_is_full_while_the_journal_is_written_leaves_the_tree_alone() {
    if !is_root() {
        return;
    }
    let stage = Stage::new();
    mixed(&stage);
    let before = stage.manifest();
    let place = stage.place().join("small");
    fs::create_dir(&place).unwrap();
    let mut enough = None;
    // From nothing to what is enough, page by page: the journal and what it is sorted in take 48 KiB each.
    for pages in 1..40 {
        let _mounted = Mounted::new(&place, &format!("size={}k", pages * 4));
        let root = stage.root();
        let draft = Draft::create(
            &place.join("journal"),
            &root,
            &JournalRequest::of_options(b"", ""),
        );
        let committed = draft.and_then(|draft| {
            for plan in plan(&root) {
                draft.add(&plan)?;
            }
            draft.commit(Unplanned::default())
        });
        match committed {
            Ok(_) => {
                enough.get_or_insert(pages);
            }
            Err(JournalError::Io { error, .. }) => {
                assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
                assert_eq!(enough, None);
                assert_eq!(
                    fs::read_dir(&place).unwrap().count(),
                    0,
                    "nothing is left behind"
                );
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(enough.is_some_and(|pages| pages > 4), "{enough:?}");
    assert_same(&stage.manifest(), &before, "disk full");
}

#[test]
fn a_read_only_filesystem_is_refused() {
    if !is_root() {
        return;
    }
    let stage = Stage::new();
    let _mounted = Mounted::new(&stage.tree(), "size=1m");
    fill(&stage);
    let (mut journal, _) = stage.draft().unwrap();
    let read_only = MountFlags::RDONLY | MountFlags::BIND;
    rustix::mount::mount_remount(stage.tree(), read_only, c"").unwrap();
    let root = stage.root();
    let error = apply(&root, &mut journal, 1, &Seen::default()).unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly), "{error}");
    let error = undo(&root, &mut journal, UndoScope::default(), &Seen::default()).unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly), "{error}");
    drop(journal);
    fs::remove_file(stage.journal()).unwrap();
    let error = stage.draft().unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly), "{error}");
    assert!(!stage.journal().is_file());
}

#[test]
fn an_immutable_directory_is_left_and_the_rest_done() {
    if !is_root() {
        return;
    }
    // Not every filesystem has such directories.
    let stage = Stage::below(&std::env::temp_dir());
    fill(&stage);
    let (mut journal, _) = stage.draft().unwrap();
    let chattr = |how: &str, path: &Path| {
        let output = Command::new("chattr").arg(how).arg(path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    chattr("+i", &at(&stage, &[]));
    let (outcome, left) = stage.apply(&mut journal);
    // It cannot be renamed itself, either.
    let refused = path(&stage.tree(), &["\u{FC}ber".as_bytes(), DIR[1]]);
    chattr("-i", &refused);
    assert_eq!((outcome.done, outcome.left), (2, 4));
    let reason = "Operation not permitted";
    assert!(left.iter().all(|line| line.ends_with(reason)), "{left:?}");
    let (_, left) = stage.undo(&mut journal, None);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_mounted_inside_is_left() {
    if !is_root() {
        return;
    }
    let stage = small();
    let plans = plan(&stage.root());
    let place = at(&stage, &[]);
    let mut mounted = Mounted::new(&place, "size=1m");
    for file in FILES {
        fs::write(path(&place, &[file]), "").unwrap();
    }
    let (mut journal, left) = stage.draft_of(&plans).unwrap();
    let told: Vec<SkipReason> = left.iter().map(|left| left.reason).collect();
    assert_eq!(told, [SkipReason::MountPoint; 4], "{left:?}");
    let (outcome, left) = stage.apply(&mut journal);
    assert_eq!((outcome.done, left.len()), (2, 0), "{left:?}");
    // It has moved with the directory that it lies in.
    mounted.0 = path(&stage.tree(), &["\u{FC}ber".as_bytes(), DIR[1]]);
    assert!(path(&mounted.0, &[FILES[0]]).is_file());
}
