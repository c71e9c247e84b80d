//! What the tests stand on.

pub(crate) mod at;
pub(crate) mod audit;
pub(crate) mod chromium;
pub(crate) mod cpu;
pub(crate) mod memory;
pub(crate) mod mount;
pub(crate) mod needs;
pub(crate) mod offending;
pub(crate) mod random;
pub(crate) mod server;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod strace;
pub(crate) mod systemd;
pub(crate) mod tree;
pub(crate) mod user;
pub(crate) mod wait;

pub(crate) use mount::Mount;
pub(crate) use tree::Tree;

/// A page of the documents, by its path in the repository. It is read when the test runs, so that no page is compiled in.
pub(crate) fn page(path: &str) -> &'static str {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).unwrap().leak()
}

/// Bytes for a failure message: ASCII as it is, the rest as `\xHH`.
pub(crate) fn show(name: &[u8]) -> String {
    format!("\"{}\"", name.escape_ascii())
}
