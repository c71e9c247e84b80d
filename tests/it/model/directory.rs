//! The reference directory: what it shows, and what operations do to it.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::laws::{Legacy, OnViolation, Settings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Symlink,
    EmptyDirectory,
    FullDirectory,
}

/// An entry: its kind, and a number that tells it from all others; names of one file share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) token: u32,
}

impl Node {
    pub(crate) fn is_dir(self) -> bool {
        matches!(self.kind, Kind::EmptyDirectory | Kind::FullDirectory)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) settings: Settings,
    /// By backing name.
    pub(crate) directory: BTreeMap<Vec<u8>, Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenameMode {
    Replace,
    NoReplace,
    Exchange,
}

impl Model {
    /// Returns a directory of files with these backing names.
    pub(crate) fn of_files(settings: &Settings, names: &[Vec<u8>]) -> Self {
        let node = Node {
            kind: Kind::File,
            token: 0,
        };
        Self {
            settings: settings.clone(),
            directory: names.iter().map(|name| (name.clone(), node)).collect(),
        }
    }

    /// N1, N2, N4, N6: backing names by visible name.
    pub(crate) fn visible(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let names = self.directory.keys().cloned();
        let (conforming, mut left): (Vec<_>, Vec<_>) =
            names.partition(|name| self.settings.policy.conforms(name));
        let itself = |name: &Vec<u8>| (name.clone(), name.clone());
        let mut shown: BTreeMap<_, _> = conforming.iter().map(itself).collect();
        match self.settings.legacy {
            Legacy::Hide => return shown,
            Legacy::Raw => shown.extend(left.iter().map(itself)),
            Legacy::Decode | Legacy::Escape => {
                for way in 0.. {
                    left.retain(|name| match self.settings.way(name, way) {
                        Some(wanted) if !shown.contains_key(&wanted) => {
                            shown.insert(wanted, name.clone());
                            false
                        }
                        _ => true,
                    });
                    if left.is_empty() {
                        break;
                    }
                }
            }
        }
        shown
    }

    /// The backing name that a spelling reaches: the visible name, or what the spelling is an alias of (N10).
    pub(crate) fn find(&self, name: &[u8]) -> Option<Vec<u8>> {
        let shown = self.visible();
        let settings = &self.settings;
        let mut spellings = vec![name.to_vec()];
        if !settings.policy.conforms(name) {
            spellings.extend(std::str::from_utf8(name).map(|text| settings.in_form(text).into()));
            if settings.on_violation == OnViolation::Normalize {
                spellings.extend(settings.normalized(name));
                if settings.normalized(name).is_ok() {
                    spellings.extend(settings.way(name, 0));
                }
            }
        }
        if let Some(found) = spellings.iter().find_map(|name| shown.get(name)) {
            return Some(found.clone());
        }
        let is_escape_of = |below: &&Vec<u8>| settings.is_escape(below, name);
        if let Some(found) = self.directory.keys().find(is_escape_of) {
            return Some(found.clone());
        }
        let by_its_bytes = settings.on_violation == OnViolation::Report;
        (by_its_bytes && self.directory.contains_key(name)).then(|| name.to_vec())
    }

    fn existing(&self, name: &[u8]) -> Result<(Vec<u8>, Node), Errno> {
        let found = self.find(name).ok_or(Errno::NOENT)?;
        let node = self.directory[&found];
        Ok((found, node))
    }

    /// Opens without following links, or makes a file where `O_CREAT` is given and there is none.
    pub(crate) fn open(&mut self, name: &[u8], create: Option<u32>) -> Result<u32, Errno> {
        match (self.existing(name), create) {
            (Ok((_, node)), create) => match node.kind {
                Kind::File => Ok(node.token),
                Kind::Symlink => Err(Errno::LOOP),
                _ if create.is_some() => Err(Errno::ISDIR),
                _ => Ok(node.token),
            },
            (Err(error), None) => Err(error),
            (Err(_), Some(token)) => self.make(name, Kind::File, token).map(|()| token),
        }
    }

    /// `O_CREAT` with `O_EXCL`, mkdir, symlink (N9, N11).
    pub(crate) fn make(&mut self, name: &[u8], kind: Kind, token: u32) -> Result<(), Errno> {
        self.add(name, Node { kind, token })
    }

    fn add(&mut self, name: &[u8], node: Node) -> Result<(), Errno> {
        if self.find(name).is_some() {
            return Err(Errno::EXIST);
        }
        let stored = self.settings.stored(name)?;
        self.check_unique(name, None)?;
        self.directory.insert(stored, node);
        Ok(())
    }

    /// `--unique`: refuses a new name that is visible like a sibling, but for the one that leaves.
    fn check_unique(&self, name: &[u8], leaving: Option<&Vec<u8>>) -> Result<(), Errno> {
        let Some(alike) = self.settings.unique else {
            return Ok(());
        };
        if self.settings.on_violation == OnViolation::Report {
            return Ok(());
        }
        let visible = self.settings.normalized(name).unwrap_or(name.to_vec());
        let shown = self.visible();
        let mut siblings = shown.iter().filter(|(_, below)| Some(*below) != leaving);
        match siblings.find(|(sibling, _)| alike.key(sibling) == alike.key(&visible)) {
            Some(_) => Err(Errno::EXIST),
            None => Ok(()),
        }
    }

    pub(crate) fn link(&mut self, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        let (_, node) = self.existing(old)?;
        if self.find(new).is_some() {
            return Err(Errno::EXIST);
        }
        if node.is_dir() {
            return Err(Errno::PERM);
        }
        self.add(new, node)
    }

    pub(crate) fn unlink(&mut self, name: &[u8]) -> Result<(), Errno> {
        let (found, node) = self.existing(name)?;
        if node.is_dir() {
            return Err(Errno::ISDIR);
        }
        self.directory.remove(&found);
        Ok(())
    }

    pub(crate) fn rmdir(&mut self, name: &[u8]) -> Result<(), Errno> {
        let (found, node) = self.existing(name)?;
        match node.kind {
            Kind::File | Kind::Symlink => return Err(Errno::NOTDIR),
            Kind::FullDirectory => return Err(Errno::NOTEMPTY),
            Kind::EmptyDirectory => {}
        }
        self.directory.remove(&found);
        Ok(())
    }

    /// N11: a replaced entry keeps its backing name; two names of one file are left as they are (POSIX).
    pub(crate) fn rename(&mut self, old: &[u8], new: &[u8], mode: RenameMode) -> Result<(), Errno> {
        let (from, node) = self.existing(old)?;
        match (self.existing(new), mode) {
            (Ok(_), RenameMode::NoReplace) => return Err(Errno::EXIST),
            (Ok((_, target)), _) if target.token == node.token => {}
            (Ok((to, target)), RenameMode::Exchange) => {
                self.directory.insert(from, target);
                self.directory.insert(to, node);
            }
            (Ok((to, target)), RenameMode::Replace) => {
                match (node.is_dir(), target.is_dir()) {
                    (true, false) => return Err(Errno::NOTDIR),
                    (false, true) => return Err(Errno::ISDIR),
                    _ if target.kind == Kind::FullDirectory => return Err(Errno::NOTEMPTY),
                    _ => {}
                }
                self.directory.remove(&from);
                self.directory.insert(to, node);
            }
            (Err(error), RenameMode::Exchange) => return Err(error),
            (Err(_), _) => {
                let to = self.settings.stored(new)?;
                self.check_unique(new, Some(&from))?;
                self.directory.remove(&from);
                self.directory.insert(to, node);
            }
        }
        Ok(())
    }
}
