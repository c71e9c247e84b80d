//! What systemd makes of a fstab and of units, without a manager that runs: by its generator, and by `systemd --test`.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::user;

const GENERATORS: &str = "/usr/lib/systemd/system-generators";
const MANAGER: &str = "/usr/lib/systemd/systemd";

/// A directory of units, which the unprivileged manager can read.
pub(crate) struct UnitDirectory(tempfile::TempDir);

impl UnitDirectory {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Self(directory)
    }

    /// The units that systemd makes of the lines of a fstab.
    pub(crate) fn of_fstab(fstab: &str) -> Self {
        let units = Self::new();
        let file = units.path().join("fstab");
        std::fs::write(&file, fstab).unwrap();
        let mut generator = Command::new(Path::new(GENERATORS).join("systemd-fstab-generator"));
        generator.args([units.path(); 3]);
        generator.env("SYSTEMD_FSTAB", &file);
        // As at boot: what is mounted here must not matter.
        generator.env("SYSTEMD_LOG_TARGET", "console");
        let output = generator.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        units
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The text of the mount unit of a mount point.
    pub(crate) fn mount_unit(&self, point: &Path) -> String {
        std::fs::read_to_string(self.path().join(mount_unit(point))).unwrap()
    }
}

/// The name of the mount unit of a mount point.
pub(crate) fn mount_unit(point: &Path) -> String {
    let mut command = Command::new("systemd-escape");
    command.args(["--path", "--suffix=mount"]).arg(point);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The value of a key that a unit has once.
pub(crate) fn value_of<'u>(unit: &'u str, key: &str) -> &'u str {
    let mut values = unit
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let value = values.next().unwrap();
    assert_eq!(values.next(), None, "{unit}");
    value
}

/// What a manager would do that starts with these units, as `systemd --test` prints it. It does nothing.
pub(crate) struct Transaction(String);

impl Transaction {
    /// Starts `multi-user.target`, with the units of these directories and those of the system.
    pub(crate) fn of_boot(directories: &[&UnitDirectory]) -> Self {
        let mut path: Vec<PathBuf> = directories.iter().map(|dir| dir.path().into()).collect();
        path.push("/usr/lib/systemd/system".into());
        // It refuses to be root.
        let mut command = user::command(user::NOBODY, Path::new(MANAGER));
        command.args(["--test", "--system", "--unit=multi-user.target"]);
        command.env("SYSTEMD_UNIT_PATH", std::env::join_paths(path).unwrap());
        command.env("SYSTEMD_LOG_TARGET", "console");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("ordering cycle"), "{said}");
        Self(String::from_utf8(output.stdout).unwrap())
    }

    /// The units in a relation such as `Requires` or `After` to a unit.
    pub(crate) fn related(&self, unit: &str, relation: &str) -> BTreeSet<String> {
        let is_head = |line: &&str| line.strip_prefix("\t-> Unit ").is_some();
        let head = format!("\t-> Unit {unit}:");
        let mut lines = self.0.lines().skip_while(|line| *line != head);
        assert!(lines.next().is_some(), "{unit} is not loaded");
        let key = format!("\t\t{relation}: ");
        let lines = lines.take_while(|line| !is_head(line));
        let names = lines.filter_map(|line| line.strip_prefix(&*key)?.split(' ').next());
        names.map(str::to_owned).collect()
    }
}
