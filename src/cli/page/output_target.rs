//! Where a page goes, by the name that was given for it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use rustix::io::Errno;

/// As many links are followed as the kernel follows (`path_resolution(7)`).
const LINKS: usize = 40;

/// Where a page goes.
#[derive(Debug)]
pub(super) enum Place {
    /// A regular file, or nothing yet; no link.
    At(PathBuf),
    /// What is not to be replaced.
    Through(File),
}

/// Finds the place. Devices and FIFOs are not to be replaced, nor what is open already: by a name below /proc/self/fd, as
/// /dev/stdout is, or as this program's own output.
///
/// # Errors
/// What is there cannot be looked at, or not be written.
pub(super) fn place(path: &Path) -> io::Result<Place> {
    match fs::metadata(path) {
        Ok(there) => {
            if let Some(file) = own_output(&there) {
                return Ok(Place::Through(file));
            }
            if !there.is_file() {
                return through(path);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let is_link = fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink());
        if !is_link {
            return Ok(Place::At(path));
        }
        let above = path.parent().unwrap_or(Path::new("/"));
        let above = match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        };
        // Such links are no paths, whatever they read.
        if statfs(above)?.f_type == PROC_SUPER_MAGIC {
            return through(&path);
        }
        path = above.join(fs::read_link(&path)?);
    }
    Err(Errno::LOOP.into())
}

/// Whoever opened it before decides what is to become of what it has: nothing of that is lost here.
fn through(path: &Path) -> io::Result<Place> {
    let file = OpenOptions::new().append(true).open(path)?;
    Ok(Place::Through(file))
}

/// Standard output or standard error, if that is it: they go on where this ends.
fn own_output(there: &Metadata) -> Option<File> {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    [stdout.as_fd(), stderr.as_fd()]
        .into_iter()
        .filter_map(opened)
        .find(|file| file.metadata().is_ok_and(|open| is_one(&open, there)))
}

fn opened(of: BorrowedFd<'_>) -> Option<File> {
    of.try_clone_to_owned().ok().map(File::from)
}

/// What an input is; `-` is standard input.
pub(super) fn input(path: &Path) -> Option<Metadata> {
    match path.as_os_str() == "-" {
        true => opened(io::stdin().as_fd())?.metadata().ok(),
        false => fs::metadata(path).ok(),
    }
}

/// Would writing to `path` write to the input? Not to a terminal or to /dev/null.
pub(super) fn is_same_file(path: &Path, of_input: &Path) -> bool {
    let there = fs::metadata(path).ok().zip(input(of_input));
    there.is_some_and(|(path, input)| !path.file_type().is_char_device() && is_one(&path, &input))
}

fn is_one(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}
