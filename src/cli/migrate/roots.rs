//! The trees that are migrated.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::backing::{Dir, Stat};
use crate::cli::CliError;
use crate::cli::args::MigrateArgs;
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
    /// The names in it that are in question, with all that lies below them; empty for all.
    pub(super) entries: BTreeSet<Vec<u8>>,
}

impl Root {
    /// Returns its path as bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }

    /// Is that path in question as well, or the same?
    fn contains(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.path).ok();
        let first = below.map(|below| below.components().next());
        first.is_some_and(|first| {
            self.entries.is_empty()
                || first.is_none_or(|first| self.entries.contains(first.as_os_str().as_bytes()))
        })
    }
}

/// Opens the trees of the arguments. Entries of one directory that were given by name are one tree.
///
/// # Errors
/// None is given, one is missing, one lies in another, or one is shown by utf8fs without `--view`.
pub(super) fn open_all(args: &MigrateArgs) -> Result<Vec<Root>, CliError> {
    if args.paths.is_empty() {
        return Err(
            CliError::usage("no directory or file is given").hint("see 'utf8fs migrate --help'")
        );
    }
    let mut roots: Vec<Root> = Vec::new();
    for path in &args.paths {
        let root = open_given(path, args)?;
        let is_same = |other: &&mut Root| {
            other.path == root.path && !other.entries.is_empty() && !root.entries.is_empty()
        };
        match roots.iter_mut().find(is_same) {
            Some(other) => other.entries.extend(root.entries),
            None => roots.push(root),
        }
    }
    for (index, one) in roots.iter().enumerate() {
        let mut others = roots.iter().enumerate();
        if let Some((_, other)) =
            others.find(|(other, root)| *other != index && root.contains(&one.path))
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

/// Opens the tree of an argument. It is the directory itself; for a file, and for a directory with `--own-name`, it is the
/// directory that the entry lies in.
fn open_given(path: &Path, args: &MigrateArgs) -> Result<Root, CliError> {
    let fault = |error: std::io::Error| fault(path, &error);
    let is_dir = std::fs::metadata(path).is_ok_and(|stat| stat.is_dir());
    if is_dir && !args.own_name {
        return open(path, args.view);
    }
    std::fs::symlink_metadata(path).map_err(fault)?;
    // A link that is given is renamed itself, unless it leads to a directory.
    let absolute = if is_dir {
        path.canonicalize().map_err(fault)?
    } else {
        let parent = Path::new(".").join(path);
        let parent = parent.parent().map(Path::canonicalize).transpose();
        let parent = parent.map_err(fault)?.unwrap_or_default();
        parent.join(path.file_name().unwrap_or_default())
    };
    let own = || {
        CliError::usage(format!(
            "{} cannot be renamed itself",
            Quoted(path.as_os_str().as_bytes())
        ))
    };
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(own().hint("leave --own-name out"));
    };
    let mut root = open(parent, args.view)?;
    if is_dir {
        let stat = Dir::open_root(&absolute)
            .and_then(Stat::of)
            .map_err(fault)?;
        if stat.mnt_id != Stat::of(&root.fd).map_err(fault)?.mnt_id {
            return Err(own().hint("something is mounted there: leave --own-name out"));
        }
    }
    root.entries.insert(name.as_bytes().to_vec());
    Ok(root)
}

fn fault(path: &Path, error: &std::io::Error) -> CliError {
    let path = Quoted(path.as_os_str().as_bytes());
    CliError::usage(format!("{path} cannot be migrated: {}", reason(error)))
}

/// Opens a tree. One that utf8fs shows is refused unless `is_view` is set.
///
/// # Errors
/// It is no directory, or is shown by utf8fs.
pub(super) fn open(path: &Path, is_view: bool) -> Result<Root, CliError> {
    let fault = |error: std::io::Error| fault(path, &error);
    let absolute = std::fs::canonicalize(path).map_err(fault)?;
    let fd = Dir::open_root(&absolute).map_err(fault)?.into_fd();
    if !is_view {
        view::refuse("migrate", path, &fd)?;
    }
    Ok(Root {
        path: absolute,
        fd,
        entries: BTreeSet::new(),
    })
}
