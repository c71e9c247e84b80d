//! Real servers over a mount, and containers: the configurations and rows of docs/serving.md.

/// Bind mounts in other namespaces (laws F1, F7, L2).
mod container;
/// What docs/serving.md says.
mod document;
/// smbd and smbclient (laws N1 to N3, N6, N9, L2).
mod samba;
/// sftp-server and rsync (laws N6, N9, N10, L2).
mod sftp_rsync;

use std::os::fd::AsFd;

use crate::support::at;

/// A directory for each row, with what the row says is in it already, that servers may write in for anybody.
fn prepare(below: impl AsFd, directory: &str, beside: &[Vec<u8>]) {
    at::mkdir(&below, directory.as_bytes()).unwrap();
    let dir = at::open_dir(&below, directory.as_bytes()).unwrap();
    rustix::fs::fchmod(&dir, rustix::fs::Mode::from_raw_mode(0o777)).unwrap();
    for name in beside {
        let file = at::create_new(&dir, name).unwrap();
        rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
        at::write_all(&file, b"beside").unwrap();
    }
}

/// The names of a directory below, sorted.
fn names(below: impl AsFd, directory: &str) -> Vec<Vec<u8>> {
    at::sorted(at::open_dir(below, directory.as_bytes()).unwrap())
}
