//! Reading a policy file and those that it includes.
//!
//! The path of the directory that the file lies in is checked once, as the audit log's is: it must not lie in what the policy
//! rules, where users of the mount could change it. Each file is ours or root's, and nobody else can write to it. The directory is held open from the start. Later each file is opened beneath
//! it (openat2(2)), so that neither a link nor a mount diverts it.
//!
//! Where there is a helper process, that process reads, outside of the daemon's root. The daemon can name it no file: it reads
//! what the administrator's file includes, and hands the text over.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::{LoadedPolicy, ResolvedPolicy};
use crate::backing::{Dir, file};
use crate::daemon::command_error::{CommandError, Doing, reason};
use crate::daemon::mount_paths::{Ruled, ruled_by};
use crate::names::Quoted;
use crate::os::helper::{self, Errand};
use crate::os::log_file::{is_ours, know_ourselves};
use crate::os::user_tables::{GROUP, PASSWD, table};
use crate::records::{Name, PolicyFile, PolicyText, TextFile};

/// Most bytes of all files.
const MOST_BYTES: u64 = 1 << 20;

/// A policy file, and the options that override it.
#[derive(Debug, Clone)]
pub struct PolicySource {
    /// Its path, absolute, as it was named.
    pub path: PathBuf,
    /// The directory that it lies in, or why it cannot be read here.
    directory: Result<Arc<OwnedFd>, String>,
    /// The path of that directory, absolute and without symlinks.
    place: PathBuf,
    /// Its path within the directory.
    name: PathBuf,
    /// The directories that no file of the policy may lie in.
    ruled: Vec<Ruled>,
    /// The options of the command line.
    options: PolicyFile,
}

/// A policy that was read anew, or a line for each fault.
pub type Reading = Result<(LoadedPolicy, ResolvedPolicy), Vec<String>>;

impl PolicySource {
    /// Finds the policy file at `path`. None of its files may lie in `ruled`. A file that cannot be found is a fault of what is read.
    ///
    /// # Errors
    /// There is no current directory.
    pub fn open(path: &Path, ruled: Vec<Ruled>, options: PolicyFile) -> Result<Self, CommandError> {
        know_ourselves();
        // The daemon looks it up from elsewhere.
        let path = std::path::absolute(path).doing("find the policy")?;
        let (directory, place, name) = match find(&path, &ruled) {
            Ok((directory, place, name)) => (Ok(Arc::new(directory)), place, name),
            Err(why) => (Err(why), PathBuf::new(), path.clone()),
        };
        Ok(Self {
            path,
            directory,
            place,
            name,
            ruled,
            options,
        })
    }

    /// Reads the policy where it can be read: by the helper process if there is one.
    ///
    /// # Errors
    /// Those of the helper process.
    pub fn read(&self) -> io::Result<LoadedPolicy> {
        let text = match helper::open(Errand::ReadPolicy) {
            Some(text) => serde_json::from_str(&io::read_to_string(File::from(text?))?)?,
            None => self.text(),
        };
        Ok(LoadedPolicy::new(text, &self.ruled))
    }

    /// Reads the policy anew, and resolves it where the options do not override it.
    ///
    /// # Errors
    /// A line for each fault.
    pub fn reload(&self) -> Reading {
        let policy = self
            .read()
            .map_err(|error| vec![format!("cannot be read: {error}")])?;
        let errors = policy.errors().map(|fault| fault.line(&policy.text));
        let errors: Vec<String> = errors.collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        policy.warn();
        let resolved = ResolvedPolicy::new(self.options.clone(), &policy);
        let resolved = resolved.map_err(|error| vec![error.message])?;
        Ok((policy, resolved))
    }

    /// Returns the descriptor that the helper process needs.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.directory.as_ref().ok()?.as_fd())
    }

    /// Leaves reading to the helper process, which has the descriptor by now.
    pub fn release(&mut self) {
        self.directory = Err("is read by the helper process alone".to_owned());
    }

    /// Reads the file and all that it includes, each once. What is wrong is in what is returned.
    pub(in crate::daemon) fn text(&self) -> PolicyText {
        let mut text = PolicyText {
            files: Vec::new(),
            passwd: table(PASSWD).into(),
            group: table(GROUP).into(),
        };
        // Device and inode of each file that was read.
        let mut known = HashSet::new();
        let mut left = MOST_BYTES;
        let mut waiting = vec![(self.name.clone(), None)];
        while let Some((name, included_by)) = waiting.pop() {
            let content = match self.open_file(&name) {
                Ok((_, identity)) if !known.insert(identity) => continue,
                opened => opened.and_then(|(file, _)| read(file, &mut left)),
            };
            let keys = content.as_ref().ok();
            let keys = keys.and_then(|text| PolicyFile::parse(text).ok());
            let index = text.files.len();
            let beside = name.parent().unwrap_or(Path::new(""));
            let includes = keys.and_then(|keys| keys.include);
            let includes = includes.into_iter().flat_map(|list| list.0).rev();
            waiting.extend(includes.map(|include| (beside.join(include), Some(index))));
            text.files.push(TextFile {
                path: Name::of_path(&self.place.join(&name)),
                text: content,
                included_by,
            });
        }
        text
    }

    /// Opens the file that is `name`, an absolute path or one within the directory, without waiting for the writer of a FIFO. Returns
    /// its device and inode as well.
    fn open_file(&self, name: &Path) -> Result<(File, (u64, u64)), String> {
        let within = name.strip_prefix(&self.place).unwrap_or(name);
        let opened = open_beneath(self.directory.as_ref()?, within);
        let opened = opened.map_err(|errno| match errno {
            Errno::XDEV => format!(
                "leads out of {}: all files of a policy lie in one directory, or below it, on one filesystem",
                Quoted::of(&self.place)
            ),
            errno => unreadable(errno),
        })?;
        if let Ok(path) = file::path_of(&opened) {
            check_place(Path::new(OsStr::from_bytes(&path)), &self.ruled)?;
        }
        let file = File::from(opened);
        let metadata = file.metadata().map_err(unreadable)?;
        let what = match metadata.file_type() {
            kind if kind.is_dir() => "is a directory",
            kind if kind.is_fifo() => "is a FIFO",
            kind if !kind.is_file() => "is not a file",
            _ if metadata.mode() & 0o002 != 0 => "can be written by everybody",
            _ if metadata.mode() & 0o020 != 0 => {
                "can be written by its group: take that away with chmod g-w"
            }
            _ if !is_ours(metadata.uid()) => {
                let uid = metadata.uid();
                return Err(format!(
                    "is another user's (uid {uid}): give it to root, or to who mounts"
                ));
            }
            _ => return Ok((file, (metadata.dev(), metadata.ino()))),
        };
        Err(what.to_owned())
    }
}

/// Opens the directory of the policy file at `path`. Returns it, its path, and the path of the file within it. A file that is a link
/// to another directory lies in that one.
fn find(path: &Path, ruled: &[Ruled]) -> Result<(OwnedFd, PathBuf, PathBuf), String> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err("is a directory".to_owned());
    };
    let parent = parent.canonicalize().map_err(unreadable)?;
    let directory = Dir::open_root(&parent).map_err(unreadable)?.into_fd();
    check_place(&parent.join(name), ruled)?;
    let opened = open_beneath(&directory, name.as_ref());
    if matches!(opened, Err(Errno::XDEV)) && path.is_symlink() {
        return find(&path.canonicalize().map_err(unreadable)?, ruled);
    }
    Ok((directory, parent, name.into()))
}

fn open_beneath(directory: impl AsFd, name: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
    openat2(directory, name, flags, Mode::empty(), within)
}

/// Refuses a file in a directory that the policy rules.
fn check_place(file: &Path, ruled: &[Ruled]) -> Result<(), String> {
    match ruled_by(file, ruled) {
        None => Ok(()),
        Some(what) => Err(format!(
            "is inside the {what}: keep it outside of what it rules"
        )),
    }
}

fn unreadable(error: impl Into<io::Error>) -> String {
    format!("cannot be read: {}", reason(&error.into()))
}

/// Reads a file, of which `left` bytes may be read.
fn read(file: File, left: &mut u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = file.take(left.saturating_add(1)).read_to_end(&mut bytes);
    let length = u64::try_from(read.map_err(unreadable)?).unwrap_or(u64::MAX);
    *left = left.checked_sub(length).ok_or_else(|| {
        format!(
            "is too large: a policy has at most {} KiB, with all that it includes",
            MOST_BYTES >> 10
        )
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let (line, column) = line_and_column(error.as_bytes(), at);
        format!("is not well-formed UTF-8 from line {line}, column {column} on (byte {at})")
    })
}

/// Returns line and column, each from 1, the column in characters, behind the first `before` bytes, which are UTF-8.
pub fn line_and_column(octets: &[u8], before: usize) -> (usize, usize) {
    let before = octets.get(..before).unwrap_or(octets);
    let mut lines = before.split(|&octet| octet == b'\n');
    let last = lines.next_back().unwrap_or_default();
    // Each character has one byte that continues none.
    let column = last.iter().filter(|&octet| octet & 0xC0 != 0x80).count() + 1;
    (lines.count() + 1, column)
}

/// Returns the message of a fault in a file whose only array of tables is of that name.
pub fn table_fault(fault: &toml::de::Error, table: &str) -> String {
    match fault.message() {
        "invalid type: map, expected a sequence" => {
            format!("write [[{table}]] with two brackets")
        }
        message => message.to_owned(),
    }
}
