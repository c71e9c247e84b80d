//! The trees that are migrated.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use crate::backing::{Dir, Stat};
use crate::cli::args::MigrateArgs;
use crate::cli::view;
use crate::cli::{CommandError, cannot_be};
use crate::codec::Charset;
use crate::names::{Patterns, Quoted};
use crate::records::Name;
use crate::tree::plan::Filter;

/// A tree.
#[derive(Debug)]
pub(super) struct Root {
    /// Its path: absolute, without symlinks.
    pub(super) path: Name,
    /// Its root, held.
    pub(super) fd: OwnedFd,
    /// The entries that are in question.
    pub(super) filter: Filter,
    /// An entry that was given and is missing: a migration that was killed may have renamed it.
    pub(super) missing: Option<PathBuf>,
    /// The charset that its names are encoded in; `None` if they are made UTF-8.
    pub(super) to: Option<Charset>,
}

impl Root {
    /// Is that path in question as well, or the same?
    fn contains(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(self.path.as_path()) else {
            return false;
        };
        let entries = &self.filter.entries;
        let mut names = below.iter().map(OsStr::as_bytes);
        entries.is_empty() || names.next().is_none_or(|name| entries.contains(name))
    }
}

/// Opens the trees of the arguments. Entries of one directory that were given by name are one tree.
///
/// # Errors
/// None is given, one is missing, one lies in another, or one is shown by utf8fs without `--view`.
pub(super) fn open_all(args: &MigrateArgs) -> Result<Vec<Root>, CommandError> {
    if args.paths.is_empty() {
        return Err(CommandError::usage("no directory or file is given")
            .hint("see 'utf8fs migrate --help'"));
    }
    let filter = Filter {
        only: patterns("--only", args.only.as_deref())?,
        exclude: patterns("--exclude", args.exclude.as_deref())?,
        ..Filter::default()
    };
    let mut roots: Vec<Root> = Vec::new();
    for path in &args.paths {
        let missing = missing(path, args)?;
        let (directory, entry) = tree_of(path, args.own_name)?;
        let is_same =
            |root: &&mut Root| !root.filter.entries.is_empty() && root.path.as_path() == directory;
        let same = roots.iter_mut().find(is_same).filter(|_| entry.is_some());
        if let Some(same) = same {
            same.filter.entries.extend(entry);
            same.missing = same.missing.take().or(missing);
        } else {
            let mut root = open(&directory, args.view)?;
            root.to = args.to;
            root.filter = filter.clone();
            root.filter.entries.extend(entry);
            root.missing = missing;
            roots.push(root);
        }
    }
    for one in &roots {
        let mut others = roots.iter().filter(|other| !ptr::eq(*other, one));
        if let Some(other) = others.find(|other| other.contains(one.path.as_path())) {
            let (one, other) = (&one.path, &other.path);
            return Err(
                CommandError::usage(format!("{one} lies in {other}, or is the same"))
                    .hint("give the outer one only"),
            );
        }
    }
    Ok(roots)
}

fn patterns(option: &str, patterns: Option<&[String]>) -> Result<Patterns, CommandError> {
    Patterns::new(patterns.unwrap_or_default()).map_err(|error| {
        CommandError::usage(format!("{option} {error}")).hint(
            "a pattern is a path as /photos/** or a name as *.tmp, with * ? [a-z] {one,other}",
        )
    })
}

/// Returns the root of an argument's tree, and the name of the entry in it that alone is meant. A directory is a root itself.
/// A file, and a directory whose own name is in question (`has_own_name`), is an entry of the directory that it lies in.
fn tree_of(path: &Path, has_own_name: bool) -> Result<(PathBuf, Option<Vec<u8>>), CommandError> {
    let fault = fault(path);
    let is_dir = std::fs::metadata(path).is_ok_and(|stat| stat.is_dir());
    if is_dir && !has_own_name {
        return Ok((path.to_owned(), None));
    }
    // A link that is given is renamed itself, unless it leads to a directory.
    let absolute = if is_dir {
        path.canonicalize().map_err(&fault)?
    } else {
        let parent = Path::new(".").join(path);
        let parent = parent.parent().map(Path::canonicalize).transpose();
        let parent = parent.map_err(&fault)?.unwrap_or_default();
        parent.join(path.file_name().unwrap_or_default())
    };
    let mount = |path: &Path| Some(Stat::of(Dir::open_root(path).ok()?).ok()?.mnt_id);
    let is_renamable = |(parent, _): &(&Path, _)| !is_dir || mount(parent) == mount(&absolute);
    let entry = absolute.parent().zip(absolute.file_name());
    let (parent, name) = entry.filter(is_renamable).ok_or_else(|| {
        CommandError::usage(format!(
            "{} cannot be renamed itself: something is mounted on it",
            Quoted::of(path)
        ))
        .hint("leave --own-name out")
    })?;
    Ok((parent.to_owned(), Some(name.as_bytes().to_vec())))
}

/// Returns an argument that is missing where a migration may be gone on with that has renamed it.
///
/// # Errors
/// It is missing, or cannot be looked at.
fn missing(path: &Path, args: &MigrateArgs) -> Result<Option<PathBuf>, CommandError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(None),
        Err(error) if args.apply && error.kind() == ErrorKind::NotFound => {
            Ok(Some(path.to_owned()))
        }
        Err(error) => Err(fault(path)(error)),
    }
}

pub(super) fn fault(path: &Path) -> impl Fn(std::io::Error) -> CommandError {
    |error| CommandError::usage(cannot_be("migrated", Quoted::of(path), &error))
}

/// Opens a tree. One that utf8fs shows is refused unless `is_view` is set.
///
/// # Errors
/// It is no directory, or is shown by utf8fs.
pub(super) fn open(path: &Path, is_view: bool) -> Result<Root, CommandError> {
    let fault = fault(path);
    let absolute = std::fs::canonicalize(path).map_err(&fault)?;
    let fd = Dir::open_root(&absolute).map_err(&fault)?.into_fd();
    if !is_view {
        view::refuse("migrate", path, &fd, false)?;
    }
    Ok(Root {
        path: Name::of_path(&absolute),
        fd,
        filter: Filter::default(),
        missing: None,
        to: None,
    })
}
