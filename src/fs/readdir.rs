//! Reading directories: opendir, readdir, readdirplus, releasedir, fsyncdir.

use std::os::fd::AsFd;

use parking_lot::Mutex;

use super::descriptors::Use;
use super::directory::Directory;
use super::handle::OpenDirectory;
use super::listed_names::ListedNames;
use super::resolve::Resolved;
use super::{Call, Caller, Entry, FsError, Utf8Fs};
use crate::backing::{Entries, Kind, Stat, file, if_there};
use crate::codec::charset::is_meaningless;
use crate::names::{BackingName, Quoted, VisibleName};

/// An entry of a directory as it is listed.
#[derive(Debug)]
pub struct Listed<'a> {
    /// Its inode number, as stat(2) shows it.
    pub number: u64,
    /// The cookie at which the stream goes on after it.
    pub cookie: u64,
    /// Its kind; [`Kind::Unknown`] where the filesystem does not say.
    pub kind: Kind,
    /// Its visible name.
    pub name: &'a [u8],
    /// Its attributes, where they were asked for; never for `.` and `..`.
    pub entry: Option<Entry>,
}

/// Are entries to be looked up as they are listed?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plus {
    /// Names only.
    No,
    /// With attributes; each entry given out counts as one lookup, but for `.` and `..`.
    Yes,
}

impl Utf8Fs {
    /// Opens a directory for reading, with the flags of open(2); returns its handle.
    ///
    /// # Errors
    /// The inode is gone, or the system's error.
    pub fn opendir(&self, caller: Caller, number: u64, flags: i32) -> Result<u64, FsError> {
        let pool = &self.inodes.descriptors.pool;
        let taken = pool.take(caller.uid, Use::Directory)?;
        let at = self.open_directory(number)?;
        self.check_names(caller, Call::Open, &at.inode)?;
        let open = || match self.settings.reads_quietly {
            true => Entries::open_quietly(&*at.fd),
            false => Entries::open(&*at.fd, flags),
        };
        let entries = self.inodes.with_descriptors(open)?;
        Ok(self.directories.add(OpenDirectory {
            stream: Mutex::new(entries),
            listed: Mutex::default(),
            at,
            pid: caller.pid,
            _taken: taken,
        }))
    }

    /// Gives the entries after `cookie` to `give` until it returns true, which means that it had no room for that one. The lookup that
    /// was counted for that is for `give` to take back, as all others are. Says whether the directory was read once to its end.
    ///
    /// Entries pass one to one, in the order and with the cookies of the backing directory. Those without a visible
    /// name are left out (law F4). An error after the first entry ends the reply, since an error would lose the
    /// entries given and their lookup counts. The next call meets it again.
    ///
    /// # Errors
    /// The handle is gone, or the system's error, before any entry was given.
    pub fn readdir(
        &self,
        handle: u64,
        cookie: u64,
        plus: Plus,
        give: impl FnMut(Listed<'_>) -> bool,
    ) -> Result<bool, FsError> {
        let mut is_given = false;
        let listed = self.list(handle, cookie, plus, give, &mut is_given);
        if let Err(error) = &listed
            && is_given
        {
            log::debug!("a listing ends early: errno {}", error.errno());
            return Ok(false);
        }
        listed
    }

    /// [`readdir`](Self::readdir) with its error; `is_given` becomes true with the first entry that was given.
    fn list(
        &self,
        handle: u64,
        cookie: u64,
        plus: Plus,
        mut give: impl FnMut(Listed<'_>) -> bool,
        is_given: &mut bool,
    ) -> Result<bool, FsError> {
        let open = self.directories.get(handle)?;
        self.confine(&open.at)?;
        let mut stream = open.stream.lock();
        let mut given = open.listed.lock();
        let ctime = || Stat::of(&*open.at.fd).map(|stat| stat.ctime);
        let mut is_second = given.goes_on(cookie);
        match given.is_in_order {
            true => stream.seek(cookie)?,
            false => stream.seek_anew(cookie)?,
        }
        if cookie == 0 {
            given.start(self.map.maps().then(ctime).transpose()?);
        }
        // Locked when the first name that does not conform comes, and until the end: one check serves all.
        let mut directory = None;
        loop {
            let Some(raw) = stream.next()? else {
                if is_second || *is_given || !given.is_outdated(ctime)? {
                    break;
                }
                directory = None;
                stream.seek(0)?;
                is_second = true;
                continue;
            };
            let (ino, cookie, kind) = (raw.ino, raw.cookie, raw.kind);
            let mut listed = Listed {
                number: self.inodes.listed_number(&open.at.inode, ino),
                cookie,
                kind,
                name: raw.name,
                entry: None,
            };
            if raw.is_dot() {
                if is_second {
                    continue;
                }
                if give(listed) {
                    return Ok(false);
                }
                *is_given = true;
                given.gave(cookie, None, is_second);
                continue;
            }
            let Some((backing, mut visible)) = self.visible_in(&open, &mut directory, raw.name)?
            else {
                continue;
            };
            let mut noted = None;
            if self.map.may_be_mapped(visible.as_bytes()) {
                let is_free = !given.has_name(visible.as_bytes());
                // It is conforming, and was given by its old name.
                let is_renamed = !is_free && backing.as_bytes() == visible.as_bytes();
                if given.has_entry(backing.as_bytes(), ino) || is_renamed || is_second && !is_free {
                    continue;
                }
                // Or it is visible as an escape because a sibling has the name that it would be visible as.
                let is_contested = !is_free
                    || visible.as_bytes().contains(&b'%')
                        && self.map.visible_alone(&backing).as_ref() != Some(&visible);
                if is_contested {
                    let replacing = &open.at.inode.as_directory()?.replacing;
                    if replacing.try_lock().is_none() {
                        directory = None;
                        drop(replacing.lock());
                    }
                    let Some(stat) = if_there(open.at.dir().stat_child(&backing))? else {
                        // It has its first choice by now, which it was just renamed to.
                        continue;
                    };
                    // Renamed back, from the name that it was given by.
                    let is_one = stat.nlink == 1 || stat.is_dir();
                    if !is_free && is_one && given.is_of(visible.as_bytes(), ino) {
                        continue;
                    }
                }
                if !is_free {
                    directory = None;
                    visible = self.other_name(&open, &given, &backing)?.unwrap_or(visible);
                }
                noted = Some(given.note(visible.as_bytes(), backing.as_bytes(), ino));
            } else if is_second {
                continue;
            }
            listed.name = visible.as_bytes();
            if plus == Plus::Yes {
                let entry = Resolved {
                    backing,
                    visible: visible.clone(),
                    alias: false,
                };
                let sight = self.look_by_name(&open.at.dir(), &entry.backing);
                match sight
                    .map_err(FsError::from)
                    .and_then(|sight| self.enter(sight, &open.at, entry))
                {
                    Ok(entry) => {
                        listed.number = self.inodes.shown_number(&entry.stat);
                        listed.kind = entry.stat.kind();
                        listed.entry = Some(entry);
                    }
                    Err(error) if error.errno() == libc::ENOENT => continue,
                    // It is there, as readdir(3) says. Whoever asks for it is told what is wrong with it.
                    Err(_) => {}
                }
            }
            if give(listed) {
                return Ok(false);
            }
            *is_given = true;
            given.gave(cookie, noted, is_second);
        }
        Ok(!is_second)
    }

    /// The visible name of a listed entry; `None` if it has none.
    fn visible_in<'a>(
        &'a self,
        open: &'a OpenDirectory,
        directory: &mut Option<Directory<'a>>,
        name: &[u8],
    ) -> Result<Option<(BackingName, VisibleName)>, FsError> {
        let Ok(backing) = BackingName::parse(name) else {
            return Ok(None);
        };
        if let Some(visible) = self.map.itself(&backing) {
            return Ok(Some((backing, visible)));
        }
        if !self.map.maps() {
            return Ok(None);
        }
        let directory = match directory {
            Some(locked) => locked,
            None => directory.insert(self.directory(&open.at)?),
        };
        let Some(visible) = directory.visible(&backing)? else {
            return Ok(None);
        };
        self.warn_of_control(&backing, &visible);
        Ok(Some((backing, visible)))
    }

    /// Warns of the first name that is shown with control characters: likely it is text of another charset.
    fn warn_of_control(&self, backing: &BackingName, visible: &VisibleName) {
        let text = std::str::from_utf8(visible.as_bytes()).unwrap_or_default();
        let is_meant = std::str::from_utf8(backing.as_bytes()).is_ok();
        if !is_meant && text.chars().any(|c| !c.is_ascii() && is_meaningless(c)) {
            let (backing, visible) = (Quoted(backing.as_bytes()), Quoted(visible.as_bytes()));
            self.control_shown.call_once(|| {
                log::warn!(
                    "{backing} is shown with control characters, as {visible}: probably its charset is none of --from; \
                     `utf8fs explain --guess` says which it may be. Other such names are not reported",
                );
            });
        }
    }

    /// Returns another name by which an entry can be reached, and which was not given yet: an escape. It is a
    /// spelling even where the entry has a better name by now (law N10). `None` where there is none with up to eight
    /// signs.
    fn other_name(
        &self,
        open: &OpenDirectory,
        given: &ListedNames,
        backing: &BackingName,
    ) -> Result<Option<VisibleName>, FsError> {
        for signs in 1..=8 {
            let escape = self.map.escape_candidate(backing.as_bytes(), signs);
            if given.has_name(escape.as_bytes()) {
                continue;
            }
            let found = self.existing(&open.at, escape.as_bytes())?;
            if found.is_some_and(|found| found.backing == *backing) {
                return Ok(Some(escape));
            }
        }
        Ok(None)
    }

    /// Closes a directory.
    pub fn releasedir(&self, handle: u64) {
        drop(self.directories.remove(handle));
    }

    /// Brings the names in a directory to the disk.
    ///
    /// # Errors
    /// The handle is gone, or the system's error.
    pub fn fsyncdir(&self, handle: u64, what: file::Sync) -> Result<(), FsError> {
        let open = self.directories.get(handle)?;
        // Not under the stream's lock, which a listing needs.
        let duplicate = || open.stream.lock().as_fd().try_clone_to_owned();
        let fd = self.inodes.with_descriptors(duplicate)?;
        Ok(file::fsync(fd, what)?)
    }
}
