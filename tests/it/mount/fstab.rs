//! mount(8) itself, with options by hand, from a fstab, and as systemd passes those of a fstab to it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{MountFlags, mount};

use crate::support::mount::{binary, detach, mounted, wait_until_unmounted};
use crate::support::systemd::{UnitDirectory, value_of};
use crate::support::{Tree, needs, user};

/// The two programs through which mount(8) reaches utf8fs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Helper {
    /// `mount.fuse.utf8fs`, of our package.
    Ours,
    /// `mount.fuse` of libfuse, which looks for `utf8fs` on the path.
    OfLibfuse,
}

/// The directory in which mount(8) looks for helpers, with the program in it until this is dropped. The test's mount namespace
/// is its own.
struct Installed(PathBuf);

impl Drop for Installed {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

fn install(helper: Helper, tree: &Tree) -> Installed {
    let layer = tree.parent().join("sbin");
    std::fs::create_dir_all(&layer).unwrap();
    let name = match helper {
        Helper::Ours => "mount.fuse.utf8fs",
        Helper::OfLibfuse => "utf8fs",
    };
    symlink(binary(), layer.join(name)).unwrap();
    let sbin = std::fs::canonicalize("/sbin").unwrap();
    let layers = format!("lowerdir={}:{}", text(&layer), text(&sbin));
    let layers = std::ffi::CString::new(layers).unwrap();
    mount("overlay", &sbin, "overlay", MountFlags::RDONLY, &*layers).unwrap();
    Installed(sbin)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn mount_8(arguments: &[&str], operands: &[&Path]) -> Output {
    let mut command = Command::new("mount");
    command.args(arguments).args(operands);
    command.output().unwrap()
}

/// A mount that mount(8) made, until this is dropped.
struct MadeByMount8(PathBuf);

impl MadeByMount8 {
    fn new(tree: &Tree, output: &Output) -> Self {
        assert!(output.status.success(), "{output:?}");
        Self(tree.point())
    }

    /// What it forbids, of devices, set-user-ID programs and programs at all.
    fn forbids(&self) -> StatVfsMountFlags {
        let of_interest =
            StatVfsMountFlags::NOSUID | StatVfsMountFlags::NODEV | StatVfsMountFlags::NOEXEC;
        statvfs(&self.0).unwrap().f_flag & of_interest
    }
}

impl Drop for MadeByMount8 {
    fn drop(&mut self) {
        detach(&self.0);
        wait_until_unmounted(&self.0);
    }
}

/// A directory with a program that shows a file of root's to anybody, and a device that is /dev/null.
fn with_program_and_device(tree: &Tree) {
    tree.file(b"secret\xE9", b"content");
    let secret = tree.backing().join(OsStr::from_bytes(b"secret\xE9"));
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
    let program = tree.backing().join("cat");
    std::fs::copy("/bin/cat", &program).unwrap();
    std::fs::set_permissions(program, PermissionsExt::from_mode(0o4755)).unwrap();
    let made = Command::new("mknod")
        .args(["-m", "666"])
        .arg(tree.backing().join("null"))
        .args(["c", "1", "3"])
        .status();
    assert!(made.unwrap().success());
}

const NOSUID: StatVfsMountFlags = StatVfsMountFlags::NOSUID;
const NODEV: StatVfsMountFlags = StatVfsMountFlags::NODEV;
const NOEXEC: StatVfsMountFlags = StatVfsMountFlags::NOEXEC;

/// Options of a line, and what the mount forbids. `suid` and `dev` are not among those that mount(8) passes on.
const ROWS: [(&str, StatVfsMountFlags); 9] = [
    ("defaults", NOSUID.union(NODEV)),
    ("allow_suid", NODEV),
    ("allow_dev,ro", NOSUID),
    ("rw,allow_suid,allow_dev,exec", StatVfsMountFlags::empty()),
    ("allow_suid,nosuid,allow_dev", NOSUID),
    ("nosuid,nodev,allow_suid,allow_dev", NOSUID.union(NODEV)),
    ("noexec,allow_suid", NOEXEC.union(NODEV)),
    ("user,allow_suid", NOSUID.union(NODEV).union(NOEXEC)),
    ("user,exec,suid,allow_dev", NODEV),
];

#[test]
fn f1_set_user_id_programs_and_devices_work_where_the_options_of_mount_8_allow_them() {
    if !needs::root("mount(8)") {
        return;
    }
    for helper in [Helper::Ours, Helper::OfLibfuse] {
        let tree = Tree::new();
        with_program_and_device(&tree);
        let _installed = install(helper, &tree);
        let operands = [&*tree.backing(), &*tree.point()];
        for (options, forbidden) in ROWS {
            let options = format!("from=iso-8859-1,{options}");
            let done = mount_8(&["-t", "fuse.utf8fs", "-o", &options], &operands);
            let made = MadeByMount8::new(&tree, &done);
            assert_eq!(made.forbids(), forbidden, "{options} {helper:?}");
            let script = "\"$PLACE/cat\" \"$PLACE/secreté\"";
            let shown = user::script(user::NOBODY, &tree.point(), script).stdout;
            let runs = !forbidden.intersects(NOSUID | NOEXEC);
            assert_eq!(shown == b"content", runs, "{options} {helper:?}");
            let opened = std::fs::File::open(tree.point().join("null"));
            assert_eq!(opened.is_ok(), !forbidden.contains(NODEV), "{options}");
        }
    }
}

#[test]
fn f1_set_user_id_programs_and_devices_work_where_a_line_of_fstab_allows_them() {
    if !needs::root("mount(8)") {
        return;
    }
    let tree = Tree::new();
    with_program_and_device(&tree);
    let _installed = install(Helper::Ours, &tree);
    for (options, forbidden) in ROWS {
        let fstab = format!(
            "{} {} fuse.utf8fs {options},noauto,nofail,x-systemd.requires-mounts-for=/srv 0 0\n",
            text(&tree.backing()),
            text(&tree.point()),
        );
        let file = tree.parent().join("fstab");
        std::fs::write(&file, &fstab).unwrap();
        let done = mount_8(&["--fstab"], &[&file, &tree.point()]);
        let made = MadeByMount8::new(&tree, &done);
        assert_eq!(made.forbids(), forbidden, "{options} in fstab");
        drop(made);
        // systemd runs mount(8) with the options of the unit, without those that are for itself.
        let units = UnitDirectory::of_fstab(&fstab);
        let unit = units.mount_unit(&tree.point());
        let all = value_of(&unit, "Options");
        let own = ["auto", "noauto", "nofail"];
        let words: Vec<_> = all.split(',').filter(|word| !own.contains(word)).collect();
        let done = mount_8(
            &["-t", value_of(&unit, "Type"), "-o", &words.join(",")],
            &[&tree.backing(), &tree.point()],
        );
        let made = MadeByMount8::new(&tree, &done);
        assert_eq!(made.forbids(), forbidden, "{options} by systemd");
    }
}

/// Options of libfuse's `mount.fuse` for a program that it confines; ours confines itself.
#[test]
fn f7_options_by_which_mount_fuse_would_take_rights_away_are_refused_by_name() {
    if !needs::root("mount(8)") {
        return;
    }
    for (helper, words) in [
        (Helper::Ours, "unknown option in -o: \"drop_privileges\""),
        (Helper::OfLibfuse, "mount.fuse was given drop_privileges"),
    ] {
        let tree = Tree::new();
        let _installed = install(helper, &tree);
        let operands = [&*tree.backing(), &*tree.point()];
        let refused = mount_8(&["-t", "fuse.utf8fs", "-o", "drop_privileges"], &operands);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(words), "{said}");
        assert!(said.contains("utf8fs confines itself"), "{said}");
        // What libfuse leaves can be cleared by what the hint says.
        assert_eq!(
            mounted(&tree.point()).is_some(),
            helper == Helper::OfLibfuse
        );
        if helper == Helper::OfLibfuse {
            let mut umount = Command::new(binary());
            let cleared = umount.arg("umount").arg(tree.point()).output().unwrap();
            assert!(cleared.status.success(), "{cleared:?}");
            assert_eq!(mounted(&tree.point()), None);
        }
    }
}
