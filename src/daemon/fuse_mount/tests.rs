use std::ffi::{CString, OsString};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;

use super::*;
use crate::backing::Dir;
use crate::fuse::mounting::{MountFlags, UnmountOutcome};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::mount as sys;
use rustix::mount::UnmountFlags;
use rustix::process::geteuid;
use std::os::unix::ffi::OsStrExt as _;
use tempfile::TempDir;

/// A directory to mount on; whatever is mounted there at the end is taken away.
pub(in crate::daemon) struct Place(TempDir);

impl Place {
    /// `None`, and a note, where this process may not mount by itself.
    pub(in crate::daemon) fn new() -> Option<Self> {
        let may = geteuid().is_root()
            && std::fs::File::options()
                .read(true)
                .write(true)
                .open("/dev/fuse")
                .is_ok();
        if !may {
            eprintln!("skipped: needs root and /dev/fuse");
        }
        may.then(|| {
            Self(
                tempfile::Builder::new()
                    .prefix("mount of ")
                    .tempdir()
                    .unwrap(),
            )
        })
    }

    pub(in crate::daemon) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(in crate::daemon) fn spec(&self) -> MountSpec {
        MountSpec {
            source: OsString::from_vec(b"/back, \xFF\\".to_vec()),
            mountpoint: self.path().to_owned(),
            flags: MountFlags::of(&[]),
            allow_other: false,
            checks_rights: true,
        }
    }

    /// The types of what is mounted here, the topmost last.
    pub(in crate::daemon) fn mounts(&self) -> Vec<String> {
        let path = self.path().as_os_str().as_bytes();
        let mounts = mountinfo::read()
            .unwrap()
            .into_iter()
            .filter(|mount| mount.mount_point == path);
        mounts
            .map(|mount| String::from_utf8(mount.fs_type).unwrap())
            .collect()
    }

    pub(in crate::daemon) fn cover(&self, path: &Path) {
        sys::mount("tmpfs", path, "tmpfs", sys::MountFlags::empty(), None).unwrap();
    }

    pub(in crate::daemon) fn uncover(&self, path: &Path) {
        sys::unmount(path, UnmountFlags::NOFOLLOW).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        while sys::unmount(self.path(), UnmountFlags::DETACH | UnmountFlags::NOFOLLOW).is_ok() {}
    }
}

/// A mount as a killed daemon leaves it.
fn leave_dead(spec: &MountSpec) {
    let Mounted {
        fuse_fd, attached, ..
    } = mount(spec).unwrap();
    drop(fuse_fd);
    std::mem::forget(attached);
    assert_eq!(
        std::fs::metadata(&spec.mountpoint)
            .unwrap_err()
            .raw_os_error(),
        Some(libc::ENOTCONN)
    );
}

#[test]
fn the_table_of_mounts_shows_type_source_and_flags_before_a_daemon_answers() {
    let Some(place) = Place::new() else { return };
    let mut spec = place.spec();
    spec.flags = MountFlags::of(&["ro", "noexec", "noatime"]);
    spec.allow_other = true;
    let mounted = mount(&spec).unwrap();
    assert!(!mounted.is_unprivileged);
    let (_, found) = already_mounted(place.path()).unwrap().unwrap();
    assert_eq!(
        (found.fs_type.as_slice(), found.source.as_slice()),
        (&b"fuse.utf8fs"[..], spec.source.as_bytes())
    );
    assert_eq!(found.id, mounted.attached.spot.id.number);
    let table = std::fs::read("/proc/self/mounts").unwrap();
    let name = place.path().to_str().unwrap().rsplit(' ').next().unwrap();
    let lines = table
        .split(|&b| b == b'\n')
        .map(|line| line.escape_ascii().to_string());
    let line = lines.into_iter().find(|line| line.contains(name)).unwrap();
    assert!(line.starts_with(r"/back,\\040\xff\\134 "), "{line}");
    assert!(
        line.contains(" fuse.utf8fs ro,nosuid,nodev,noexec,noatime,"),
        "{line}"
    );
    assert!(line.contains("default_permissions,allow_other"), "{line}");
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Done
    );
    assert!(already_mounted(place.path()).unwrap().is_none());
}

#[test]
fn a_mount_that_nobody_serves_is_taken_away_when_dropped() {
    let Some(place) = Place::new() else { return };
    drop(mount(&place.spec()).unwrap());
    assert!(place.mounts().is_empty());
}

#[test]
fn f7_dead_mounts_make_way() {
    let Some(place) = Place::new() else { return };
    leave_dead(&place.spec());
    let link = tempfile::tempdir().unwrap();
    let link = link.path().join("link");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let mounted = mount(&MountSpec {
        mountpoint: link,
        ..place.spec()
    })
    .unwrap();
    assert_eq!(mounted.attached.spot.path, place.path());
    assert_eq!(place.mounts(), ["fuse.utf8fs"]);
}

#[test]
fn the_root_of_a_foreign_dead_mount_is_left_alone() {
    let Some(place) = Place::new() else { return };
    let fuse =
        rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let data = CString::new(format!(
        "fd={},rootmode=40000,user_id=0,group_id=0",
        fuse.as_raw_fd()
    ))
    .unwrap();
    sys::mount(
        "other",
        place.path(),
        "fuse.other",
        sys::MountFlags::empty(),
        data.as_c_str(),
    )
    .unwrap();
    drop(fuse);
    let mounted = mount(&place.spec()).unwrap();
    assert_eq!(place.mounts(), ["fuse.other", "fuse.utf8fs"]);
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Done
    );
    assert_eq!(place.mounts(), ["fuse.other"]);
}

#[test]
fn what_is_open_keeps_it_mounted_until_it_is_detached() {
    let Some(place) = Place::new() else { return };
    let mounted = mount(&place.spec()).unwrap();
    let open = Dir::open_root(place.path()).unwrap().into_fd();
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Busy
    );
    assert_eq!(
        mounted.attached.spot.detach().unwrap(),
        UnmountOutcome::Done
    );
    assert_eq!(
        mounted.attached.spot.detach().unwrap(),
        UnmountOutcome::Gone
    );
    assert!(place.mounts().is_empty());
    // Waits for the answer of a daemon until the connection is cut.
    let asking = std::thread::spawn(move || fstat(&open).unwrap_err());
    mounted.attached.abort().unwrap();
    assert!(matches!(
        asking.join().unwrap(),
        Errno::NOTCONN | Errno::CONNABORTED
    ));
}

#[test]
fn a_foreign_mount_on_ours_is_never_unmounted() {
    let Some(place) = Place::new() else { return };
    let mounted = mount(&place.spec()).unwrap();
    place.cover(place.path());
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Covered
    );
    assert_eq!(
        mounted.attached.spot.detach().unwrap(),
        UnmountOutcome::Covered
    );
    assert_eq!(place.mounts(), ["fuse.utf8fs", "tmpfs"]);
    place.uncover(place.path());
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Done
    );
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Gone
    );
}

#[test]
fn a_foreign_mount_in_the_place_of_ours_is_never_unmounted() {
    let Some(place) = Place::new() else { return };
    let mounted = mount(&place.spec()).unwrap();
    place.uncover(place.path());
    // The kernel gives the lowest free number, so mostly that of ours.
    place.cover(place.path());
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Gone
    );
    drop(mounted);
    assert_eq!(place.mounts(), ["tmpfs"]);
}

#[test]
fn another_mount_of_the_same_source_in_the_place_of_ours_is_never_unmounted() {
    let Some(place) = Place::new() else { return };
    let first = mount(&place.spec()).unwrap();
    if first.attached.spot.id.unique.is_none() {
        return;
    }
    place.uncover(place.path());
    let second = mount(&place.spec()).unwrap();
    assert_ne!(first.attached.spot.id, second.attached.spot.id);
    assert_ne!(first.attached.spot.unmount().unwrap(), UnmountOutcome::Done);
    assert_ne!(first.attached.spot.detach().unwrap(), UnmountOutcome::Done);
    // Nor does aborting the first hurt the second.
    first.attached.abort().unwrap();
    drop(first);
    assert_eq!(place.mounts(), ["fuse.utf8fs"]);
    drop(second.fuse_fd);
    assert_eq!(
        second.attached.spot.unmount().unwrap(),
        UnmountOutcome::Done
    );
}

#[test]
fn a_mount_is_found_again_where_a_directory_above_was_renamed() {
    let Some(place) = Place::new() else { return };
    let [before, after] = ["a", "b"].map(|name| place.path().join(name));
    std::fs::create_dir_all(before.join("m")).unwrap();
    let mounted = mount(&MountSpec {
        mountpoint: before.join("m"),
        ..place.spec()
    })
    .unwrap();
    rustix::fs::rename(&before, &after).unwrap();
    assert_eq!(
        mounted.attached.spot.unmount().unwrap(),
        UnmountOutcome::Done
    );
    assert!(already_mounted(&after.join("m")).unwrap().is_none());
}

#[test]
fn a_file_is_no_mount_point() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let spec = MountSpec {
        source: "s".into(),
        mountpoint: file.path().to_owned(),
        flags: MountFlags::of(&[]),
        allow_other: false,
        checks_rights: true,
    };
    let error = mount(&spec).unwrap_err();
    let end = ": cannot open the mount point: Not a directory";
    assert!(error.message.ends_with(end), "{error:?}");
}

#[test]
fn refusals_get_their_hints() {
    let rows = [
        (
            "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf",
            Some("user_allow_other"),
        ),
        (
            "fusermount3: fuse device not found, try 'modprobe fuse' first",
            Some("modprobe fuse"),
        ),
        (
            "fusermount3: failed to open /dev/fuse: Permission denied",
            Some("0666"),
        ),
        (
            "fusermount3: user has no write access to mountpoint /m",
            None,
        ),
    ];
    for (said, hint) in rows {
        let error = refusal(&io::Error::other(said));
        assert_eq!(error.hint.is_some(), hint.is_some(), "{error:?}");
        let told = error.hint.unwrap_or_default();
        assert!(told.contains(hint.unwrap_or_default()));
    }
    let missing = io::Error::new(ErrorKind::NotFound, "none");
    assert!(refusal(&missing).hint.unwrap().contains("fuse3"));
    let other = refusal(&Errno::NOENT.into());
    assert_eq!(other.message, "cannot mount: No such file or directory");
}
