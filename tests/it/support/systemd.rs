//! What systemd makes of a fstab, without a manager that runs: by its generator.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const GENERATORS: &str = "/usr/lib/systemd/system-generators";

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
