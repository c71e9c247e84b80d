//! What a test needs of the machine. In CI and as root a lack is a failure; else it is said on stderr.

use rustix::fs::{Access, access};
use rustix::process::geteuid;

/// Are we root?
pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

/// A mount is possible; panics if not. No test runs without one and passes.
pub(crate) fn fuse() {
    if let Err(error) = access("/dev/fuse", Access::READ_OK | Access::WRITE_OK) {
        panic!("these tests mount for real and need /dev/fuse: {error}");
    }
}

/// True as root. Else a failure in CI, and elsewhere a note on stderr that `what` was not tested.
pub(crate) fn root(what: &str) -> bool {
    if is_root() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci.is_empty() || ci == "false"),
        "in CI the mount tests run as root; {what} needs it"
    );
    eprintln!("NOT TESTED, needs root: {what}");
    false
}

/// True where mounts are served by rings (FUSE over `io_uring`). Else a note on stderr that `what` was not tested.
pub(crate) fn rings(what: &str) -> bool {
    if super::mount::by_device() {
        eprintln!("NOT TESTED, the tests run by the device: {what}");
        return false;
    }
    let parameter = std::fs::read_to_string("/sys/module/fuse/parameters/enable_uring");
    let is_on = parameter.is_ok_and(|parameter| parameter.starts_with('Y'));
    if !is_on {
        eprintln!("NOT TESTED, needs the parameter enable_uring of the module fuse: {what}");
    }
    is_on
}

/// True where the program is installed, as `scripts/test` does. Else a failure in CI and as root, and elsewhere a note on
/// stderr that `what` was not tested.
pub(crate) fn program(program: &str, what: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |directory: std::path::PathBuf| access(directory.join(program), Access::EXEC_OK).is_ok();
    if std::env::split_paths(&path).any(is_there) {
        return true;
    }
    assert!(!is_root(), "{program} is not installed; {what} needs it");
    root(what)
}
