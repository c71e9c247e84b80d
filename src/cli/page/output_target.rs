//! The target of a page, by the name that was given for it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use rustix::io::Errno;

/// Number of links that are followed, as the kernel does (`path_resolution(7)`).
const LINKS: usize = 40;

/// The target of a page.
#[derive(Debug)]
pub(super) enum Place {
    /// A regular file, or nothing yet; no link.
    At(PathBuf),
    /// A file that is not to be replaced.
    Through(File),
}

/// Finds the target. Devices and FIFOs are not to be replaced, nor what is open already. That is a name below
/// /proc/self/fd, as /dev/stdout is, or this program's own output.
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

/// Opens a file in place. Whoever opened it before decides on its content: nothing of that is lost here.
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

/// Returns the metadata of an input; `-` is standard input.
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
