//! The trees that are migrated.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::backing::Dir;
use crate::cli::CliError;
use crate::cli::error::reason;
use crate::cli::view;
use crate::names::Quoted;

/// A tree.
#[derive(Debug)]
pub(super) struct Root {
    /// Its path: absolute, without symlinks.
    pub(super) path: PathBuf,
    /// Its root, held.
    pub(super) fd: OwnedFd,
}

impl Root {
    /// Returns its path as bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }
}

/// Opens the trees.
///
/// # Errors
/// None is given, one is no directory, one lies in another, or one is shown by utf8fs and `is_view` is not set.
pub(super) fn open_all(paths: &[PathBuf], is_view: bool) -> Result<Vec<Root>, CliError> {
    if paths.is_empty() {
        return Err(CliError::usage("no directory is given").hint("see 'utf8fs migrate --help'"));
    }
    let roots: Vec<Root> = paths
        .iter()
        .map(|path| open(path, is_view))
        .collect::<Result<_, _>>()?;
    for (index, one) in roots.iter().enumerate() {
        let others = roots
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        if let Some((_, other)) = others
            .into_iter()
            .find(|(_, other)| one.path.starts_with(&other.path))
        {
            let (one, other) = (Quoted(one.bytes()), Quoted(other.bytes()));
            return Err(
                CliError::usage(format!("{one} lies in {other}, or is the same"))
                    .hint("give the outer one only"),
            );
        }
    }
    Ok(roots)
}

/// Opens a tree. One that utf8fs shows is refused unless `is_view` is set.
///
/// # Errors
/// It is no directory, or is shown by utf8fs.
pub(super) fn open(path: &Path, is_view: bool) -> Result<Root, CliError> {
    let fault = |error: std::io::Error| {
        let path = Quoted(path.as_os_str().as_bytes());
        CliError::usage(format!("{path} cannot be migrated: {}", reason(&error)))
    };
    let absolute = std::fs::canonicalize(path).map_err(fault)?;
    let fd = Dir::open_root(&absolute).map_err(fault)?.into_fd();
    if !is_view {
        view::refuse("migrate", path, &fd)?;
    }
    Ok(Root { path: absolute, fd })
}
