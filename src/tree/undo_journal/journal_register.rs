//! The register of journals: which there are, where, and of which trees.
//!
//! It is a directory with a small file for each journal, wherever that lies. So it knows of a journal whose file is gone, too. Journals
//! are found by the identity of their tree, and stand in the order of their times. Where a journal lies beside others that the
//! register lost, these count as well.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tempfile::NamedTempFile;

use super::journal_builder::sha256_of;
use super::journal_content::JournalPart;
use super::journal_error::JournalError;
use super::journal_file::Journal;
use super::journal_state::Status;
use crate::backing::if_there;
use crate::records::{JournalHeader, JournalOrigin, Name, RegisterEntry, TreeIdentity, json_line};

/// The directory of the entries, in that of the journals.
const ENTRIES: &str = "register";

/// The end of the name of a journal without a path of its own.
const EXTENSION: &str = "journal";

/// The register of journals.
#[derive(Debug)]
pub struct JournalRegister {
    /// The directory of the journals to which nobody gave a path; `None` if there is none for this user.
    directory: Option<PathBuf>,
}

/// A journal that the register knows.
#[derive(Debug, Clone)]
pub struct KnownJournal {
    /// Its path.
    pub path: PathBuf,
    /// Its header.
    pub header: JournalHeader,
    /// The state of its file.
    pub file: JournalFile,
    /// Was it undone, as the register knows?
    is_undone: bool,
}

/// The state of the file of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalFile {
    /// It is there.
    Present,
    /// It is not there, or another one is.
    Missing,
    /// It cannot be read.
    Unreadable,
}

impl JournalRegister {
    /// Returns the register of this user: in `$STATE_DIRECTORY`, which a service manager may set; else for root in `/var/lib/utf8fs`, for
    /// others in `$XDG_STATE_HOME/utf8fs` or `~/.local/state/utf8fs`.
    pub fn usual() -> Self {
        Self {
            directory: usual_directory(),
        }
    }

    /// Returns the register in that directory, which need not be there.
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            directory: Some(directory.to_owned()),
        }
    }

    /// Returns a path for a new journal of the tree at this path; `None` if there is no directory for it.
    pub fn new_path(&self, root: &Path) -> Option<PathBuf> {
        let now = Timestamp::now().as_nanosecond().to_le_bytes();
        let hash = sha256_of(&[root.as_os_str().as_bytes(), &now].concat());
        let name = harmless_name(root);
        let number = hash.get(..12).unwrap_or(&hash);
        let file = format!("{name}-{number}.{EXTENSION}");
        Some(self.directory.as_ref()?.join(file))
    }

    /// Enters a journal, or its new path or state.
    ///
    /// # Errors
    /// The register cannot be written.
    pub fn record(&self, journal: &Journal) -> io::Result<()> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let entry = RegisterEntry {
            journal: Name::of_path(&std::path::absolute(&journal.path)?),
            header: journal.header.clone(),
            is_undone: journal.state().status == Status::Undone,
        };
        let entries = directory.join(ENTRIES);
        fs::create_dir_all(&entries)?;
        let mut file = NamedTempFile::new_in(&entries)?;
        file.write_all(json_line(&entry).as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(entries.join(&entry.header.id))?;
        File::open(&entries)?.sync_all()
    }

    /// Returns all journals, the oldest first.
    ///
    /// # Errors
    /// The register cannot be read.
    pub fn all(&self) -> io::Result<Vec<KnownJournal>> {
        let mut known = Vec::new();
        if let Some(directory) = &self.directory {
            for path in paths_in(&directory.join(ENTRIES))? {
                known.extend(read_entry(&path));
            }
            add_found(&mut known, &paths_in(directory)?);
        }
        sort_by_time(&mut known);
        Ok(known)
    }

    /// Returns the journals of a tree, the oldest first.
    ///
    /// # Errors
    /// As for [`JournalRegister::all`].
    pub fn of_tree(&self, tree: &TreeIdentity) -> io::Result<Vec<KnownJournal>> {
        let mut known = self.all()?;
        known.retain(|known| known.header.tree.is_same_tree(tree));
        Ok(known)
    }

    /// Returns the journal of the last migration of the same tree after this one that is not undone, as far as is known; also of
    /// those that lie beside it. Guards are no migrations: what they rename is looked at name by name.
    ///
    /// # Errors
    /// As for [`JournalRegister::all`].
    pub fn later_migration(&self, journal: &Journal) -> io::Result<Option<KnownJournal>> {
        if journal.is_of_guard() {
            return Ok(None);
        }
        let header = &journal.header;
        let mut known = self.all()?;
        let path = std::path::absolute(&journal.path)?;
        if let Some(directory) = path.parent() {
            add_found(&mut known, &paths_in(directory)?);
        }
        known.retain(|known| {
            known.header.tree.is_same_tree(&header.tree)
                && known.header.origin != JournalOrigin::Guard
                && known.header.created > header.created
        });
        sort_by_time(&mut known);
        let mut latest_first = known.into_iter().rev();
        Ok(latest_first.find(|known| !known.is_undone()))
    }
}

impl KnownJournal {
    /// Is the migration undone? Where the file cannot be read, the register tells it.
    pub fn is_undone(&self) -> bool {
        match self.view() {
            Ok(journal) => journal.state().status == Status::Undone,
            Err(_) => self.is_undone,
        }
    }

    /// Reads the journal.
    ///
    /// # Errors
    /// As for [`Journal::view`]; [`JournalError::NotAJournal`] if another one is there.
    pub fn view(&self) -> Result<Journal, JournalError> {
        let journal = Journal::view(&self.path, JournalPart::AllSound, &mut |_| ())?;
        match journal.header.id == self.header.id {
            true => Ok(journal),
            false => Err(JournalError::NotAJournal),
        }
    }
}

/// Returns the directory of the journals to which nobody gave a path.
fn usual_directory() -> Option<PathBuf> {
    if let Some(directory) = absolute_path_in("STATE_DIRECTORY") {
        return Some(directory);
    }
    if rustix::process::geteuid().is_root() {
        return Some("/var/lib/utf8fs".into());
    }
    let state = absolute_path_in("XDG_STATE_HOME")
        .or_else(|| Some(absolute_path_in("HOME")?.join(".local/state")));
    Some(state?.join("utf8fs"))
}

/// Returns the first of the paths in a variable of the environment; `None` if that is not absolute.
fn absolute_path_in(variable: &str) -> Option<PathBuf> {
    let paths = std::env::var_os(variable)?;
    let path = std::env::split_paths(&paths).next()?;
    path.is_absolute().then_some(path)
}

/// Returns the paths of what is in a directory, which need not be there.
fn paths_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = if_there(fs::read_dir(directory))? else {
        return Ok(Vec::new());
    };
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Reads an entry of the register; `None` for one that is none, as a killed run may leave.
fn read_entry(path: &Path) -> Option<KnownJournal> {
    let entry: RegisterEntry = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let path = entry.journal.as_path().to_owned();
    let file = match Journal::header_of(&path) {
        Ok(header) if header.id == entry.header.id => JournalFile::Present,
        Ok(_) => JournalFile::Missing,
        Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            JournalFile::Missing
        }
        Err(_) => JournalFile::Unreadable,
    };
    Some(KnownJournal {
        path,
        header: entry.header,
        file,
        is_undone: entry.is_undone,
    })
}

/// Adds the journals among these files that are not known, and takes the paths of those whose files were missing.
fn add_found(known: &mut Vec<KnownJournal>, paths: &[PathBuf]) {
    let regular_files = paths.iter().filter(|path| {
        let is_known = known.iter().any(|known| known.path == **path);
        !is_known && path.symlink_metadata().is_ok_and(|found| found.is_file())
    });
    let found: Vec<(PathBuf, JournalHeader)> = regular_files
        .filter_map(|path| Some((path.clone(), Journal::header_of(path).ok()?)))
        .collect();
    for (path, header) in found {
        match known.iter_mut().find(|known| known.header.id == header.id) {
            Some(known) if known.file == JournalFile::Present => {}
            Some(known) => (known.path, known.file) = (path, JournalFile::Present),
            None => known.push(KnownJournal {
                path,
                header,
                file: JournalFile::Present,
                is_undone: false,
            }),
        }
    }
}

fn sort_by_time(known: &mut [KnownJournal]) {
    known.sort_by_cached_key(|known| (known.header.created, known.header.id.clone()));
}

/// Returns the last name of a tree's path, as far as it is harmless.
fn harmless_name(root: &Path) -> String {
    let name = root
        .file_name()
        .map_or(b"root".as_slice(), OsStrExt::as_bytes);
    let characters = name.iter().copied().map(char::from);
    let harmless = characters.filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    harmless.take(40).collect()
}
