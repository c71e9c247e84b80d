//! Where a policy must not lie: in what it rules, where users of the mount could change it.
//!
//! A file is looked for component by component, by descriptors, and no name is ever looked up in the mount or in the backing
//! directory: whoever may write there could put a link in its place. So what is refused is what would really be opened, and
//! the daemon asks its own mount nothing, not even for attributes.

mod places;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, openat, readlinkat, statx};
use rustix::io::Errno;

use crate::daemon::mountinfo::{self, MountInfo};
use crate::names::Quoted;
use places::OnFilesystem;

/// Most links on the way to a file, as in the kernel.
const MOST_LINKS: usize = 40;

/// Most octets of a path that the kernel takes, but for the NUL at its end.
const MOST_OCTETS: usize = 4095;

/// What identifies a file on a mount, by whatever name: device and inode.
type Identity = (u64, u64);

/// What becomes of mounts inside the backing directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountsInside {
    /// Users of the mount get into them.
    Entered,
    /// They are not seen.
    Left,
}

/// Which of them it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    Mount,
    Backing,
}

impl Ground {
    fn label(self) -> &'static str {
        match self {
            Self::Mount => "mount point",
            Self::Backing => "backing directory",
        }
    }
}

/// Why a file was not found.
#[derive(Debug)]
pub(super) enum Lost {
    /// The system's error.
    Io(io::Error),
    /// It lies in one of these; the path is that of what would have been looked up there.
    Inside(Ground, Vec<u8>),
}

impl From<Errno> for Lost {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {}", crate::cli::error::reason(error)),
            Self::Inside(ground, path) => {
                let path = Quoted(path);
                let what = ground.label();
                write!(
                    f,
                    "is inside the {what}, as {path}: keep it outside of what it rules"
                )
            }
        }
    }
}

/// The mount and the backing directory, by what identifies them wherever they are bound to; neither where there is no mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grounds {
    /// The user who reads.
    uid: u32,
    /// The directory that is mounted over.
    point: Option<Identity>,
    /// The device of the mount, once it is mounted.
    device: Option<u64>,
    backing: Option<Identity>,
    /// Where the backing directory lies on its filesystem, and the number of the mount that it is on. What is bound from inside
    /// of it to elsewhere is known by that, and what is mounted inside of it.
    within: Option<(OnFilesystem, u64)>,
    mounts_inside: MountsInside,
}

impl Grounds {
    /// A policy that rules nothing yet may lie anywhere.
    pub(super) fn none() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
            point: None,
            device: None,
            backing: None,
            within: None,
            mounts_inside: MountsInside::Left,
        }
    }

    /// Those of a mount that is to be made. A directory that cannot be opened is none.
    pub(crate) fn of(backing: &Path, mountpoint: &Path, mounts_inside: MountsInside) -> Self {
        let node = |path: &Path| -> io::Result<Node> {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Node::of(openat(CWD, path, flags, Mode::empty())?)?)
        };
        let backing = node(backing).ok();
        Self {
            point: node(mountpoint).ok().map(|node| node.identity),
            within: backing.as_ref().and_then(|node| {
                let table = mountinfo::read().ok()?;
                Some((node.on_filesystem(&table)?, node.mount))
            }),
            backing: backing.map(|node| node.identity),
            mounts_inside,
            ..Self::none()
        }
    }

    /// Takes the device of the mount, now that it is mounted.
    pub(crate) fn mounted_as(&mut self, device: u64) {
        self.device = Some(device);
    }

    /// Looks for the file at `path`, which is absolute.
    ///
    /// # Errors
    /// It lies in the mount or the backing directory, or cannot be found.
    pub(super) fn find(&self, path: &Path) -> Result<Found<'_>, Lost> {
        let path = path.as_os_str().as_bytes();
        if path.len() > MOST_OCTETS {
            return Err(Errno::NAMETOOLONG.into());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = Node::of(openat(CWD, "/", flags, Mode::empty())?)?;
        let ground = self.ground(&root, None);
        let mut walk = Walk {
            grounds: self,
            way: vec![(Vec::new(), root, ground)],
            left: Vec::new(),
            links: 0,
        };
        walk.push(path);
        walk.go()
    }

    /// Which of them a file or directory is, or is the first of on the way down.
    fn ground(&self, node: &Node, above: Option<&Node>) -> Option<Ground> {
        let identity = Some(node.identity);
        if Some(node.identity.0) == self.device || identity == self.point {
            return Some(Ground::Mount);
        }
        let is_entered = above.is_none_or(|above| above.mount != node.mount);
        let is_bound = || match self.mounts_inside {
            MountsInside::Entered => self.is_part_of_backing(node),
            // What it shares a mount with was looked at before.
            MountsInside::Left => is_entered && self.is_part_of_backing(node),
        };
        (identity == self.backing || is_bound()).then_some(Ground::Backing)
    }

    /// Does it lie on a filesystem where the backing directory does, or what is mounted in there now and entered?
    fn is_part_of_backing(&self, node: &Node) -> bool {
        let (Some((backing, mount)), Ok(table)) = (&self.within, mountinfo::read()) else {
            return false;
        };
        let Some(place) = node.on_filesystem(&table) else {
            return false;
        };
        let inside = match self.mounts_inside {
            MountsInside::Entered => places::inside(backing, *mount, &table),
            MountsInside::Left => Vec::new(),
        };
        place.is_in(backing) || inside.iter().any(|inside| place.is_in(inside))
    }
}

/// A file or directory, opened with `O_PATH` or more, and what is known of it without asking its filesystem.
#[derive(Debug)]
struct Node {
    fd: OwnedFd,
    identity: Identity,
    /// The number of the mount that it is on; 0 before Linux 5.8.
    mount: u64,
    mode: u32,
    uid: u32,
}

impl Node {
    fn of(fd: OwnedFd) -> Result<Self, Errno> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let asked = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let told = statx(&fd, c"", flags, asked)?;
        let device = rustix::fs::makedev(told.stx_dev_major, told.stx_dev_minor);
        Ok(Self {
            fd,
            identity: (device, told.stx_ino),
            mount: told.stx_mnt_id,
            mode: told.stx_mode.into(),
            uid: told.stx_uid,
        })
    }

    fn on_filesystem(&self, table: &[MountInfo]) -> Option<OnFilesystem> {
        OnFilesystem::of(self.fd.as_fd(), self.mount, table)
    }

    fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

/// A file that was found: no directory and no link.
#[derive(Debug)]
pub(super) struct Found<'a> {
    grounds: &'a Grounds,
    directory: Node,
    name: Vec<u8>,
    path: Vec<u8>,
    file: Node,
}

impl Found<'_> {
    /// The file, opened for nothing but looking at it.
    pub(super) fn looked_at(&self) -> io::Result<File> {
        self.file.fd.try_clone().map(File::from)
    }

    /// Opens it for reading, without waiting for anybody.
    ///
    /// # Errors
    /// It is not to be read, or another file has taken its place that is not to be.
    pub(super) fn open(self) -> Result<File, Lost> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(
            &self.directory.fd,
            self.name.as_slice(),
            flags,
            Mode::empty(),
        )?;
        let opened = Node::of(fd)?;
        match self.grounds.ground(&opened, Some(&self.directory)) {
            Some(ground) => Err(Lost::Inside(ground, self.path)),
            None => Ok(opened.fd.into()),
        }
    }
}

/// The way to a file, as far as it was gone.
struct Walk<'a> {
    grounds: &'a Grounds,
    /// The directories from the root down to where it stands, never none: the name of each, and what it is.
    way: Vec<(Vec<u8>, Node, Option<Ground>)>,
    /// The components that are left, last to first.
    left: Vec<Vec<u8>>,
    links: usize,
}

impl<'a> Walk<'a> {
    /// Puts the components of `path` before those that are left.
    fn push(&mut self, path: &[u8]) {
        let parts = path.rsplit(|&octet| octet == b'/');
        let parts = parts.filter(|part| !matches!(*part, b"" | b"."));
        self.left.extend(parts.map(<[u8]>::to_vec));
    }

    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let names = self.way.iter().skip(1).map(|(name, ..)| name.as_slice());
        names
            .chain([name])
            .flat_map(|name| [b"/", name].concat())
            .collect()
    }

    fn go(mut self) -> Result<Found<'a>, Lost> {
        while let Some(name) = self.left.pop() {
            let Some((_, directory, ground)) = self.way.last() else {
                break;
            };
            if let Some(ground) = ground {
                return Err(Lost::Inside(*ground, self.path_of(&name)));
            }
            if name == b".." {
                // Not by the entry of that name: nobody is asked.
                if self.way.len() > 1 {
                    self.way.pop();
                }
                continue;
            }
            let node = self.step(directory, &name)?;
            match node.file_type() {
                FileType::Directory => {
                    let ground = self.grounds.ground(&node, Some(directory));
                    self.way.push((name, node, ground));
                }
                FileType::Symlink => self.follow(&node)?,
                FileType::RegularFile
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => {
                    if !self.left.is_empty() {
                        return Err(Errno::NOTDIR.into());
                    }
                    let path = self.path_of(&name);
                    if let Some(ground) = self.grounds.ground(&node, Some(directory)) {
                        return Err(Lost::Inside(ground, path));
                    }
                    let Some((_, directory, _)) = self.way.pop() else {
                        break;
                    };
                    return Ok(Found {
                        grounds: self.grounds,
                        directory,
                        name,
                        path,
                        file: node,
                    });
                }
            }
        }
        Err(Errno::ISDIR.into())
    }

    /// Opens what `name` is in `directory`.
    fn step(&self, directory: &Node, name: &[u8]) -> Result<Node, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |flags| openat(&directory.fd, name, flags, Mode::empty());
        if !self.left.is_empty() {
            // It has what is to be mounted there on demand mounted.
            match open(flags | OFlags::DIRECTORY) {
                Err(Errno::NOTDIR) => {}
                opened => return Node::of(opened?),
            }
        }
        Node::of(open(flags)?)
    }

    fn follow(&mut self, link: &Node) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let Some((_, directory, _)) = self.way.last() else {
            return Ok(());
        };
        // As the kernel protects links (sysctl fs.protected_symlinks): who may only add to a directory leads nobody away.
        let for_all = libc::S_ISVTX | libc::S_IWOTH;
        let is_trusted = [directory.uid, self.grounds.uid].contains(&link.uid);
        if directory.mode & for_all == for_all && !is_trusted {
            return Err(Errno::ACCESS);
        }
        let target = readlinkat(&link.fd, c"", Vec::new())?.into_bytes();
        if target.starts_with(b"/") {
            self.way.truncate(1);
        }
        self.push(&target);
        Ok(())
    }
}
