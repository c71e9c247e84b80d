//! A filesystem in memory that checks rights by the ids of each request and by nothing else, as servers of networks do. It
//! notes the ids of all requests.
//!
//! Its root has one directory for each of some users, named by the user's id. Nobody but that user can do anything in it, root
//! neither, and its modes forbid nothing: only the server does.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, RenameFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, ReplyXattr, Request, SessionACL, TimeOrNow, WriteFlags,
};

use super::tree::Tree;

const NOW: Duration = Duration::ZERO;
const NO_HANDLE: FileHandle = FileHandle(0);

/// A request that was answered: what was asked, by which user and group, and whether they may do that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) operation: &'static str,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) is_admitted: bool,
}

enum Content {
    Directory(BTreeMap<OsString, u64>),
    File(Vec<u8>),
    Link(Vec<u8>),
}

struct Node {
    /// Who may use it; `None` for all.
    user: Option<u32>,
    owner: (u32, u32),
    mode: u16,
    links: u32,
    mtime: SystemTime,
    content: Content,
    attributes: BTreeMap<OsString, Vec<u8>>,
}

#[derive(Default)]
struct State {
    nodes: BTreeMap<u64, Node>,
    asked: Vec<Asked>,
    /// The owner of the lock on a whole file, which shuts out all others.
    locks: BTreeMap<u64, LockOwner>,
    /// A name of which it says that it is there whenever it is to be made, and that it is not whenever it is looked for.
    contested: Option<OsString>,
    /// Are names that are not UTF-8 refused, also where they are looked for?
    is_utf8_only: bool,
}

struct Served(Arc<Mutex<State>>);

/// The filesystem, mounted on the backing directory of a [`Tree`] until this is dropped.
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    _session: BackgroundSession,
}

impl Server {
    /// With a directory for each of `users`, in which are the directory `inner` and the file `file` with the content `content`.
    pub(crate) fn start(tree: &Tree, users: &[u32]) -> Self {
        let mut state = State::default();
        let root = Content::Directory(BTreeMap::new());
        state.nodes.insert(1, Node::new(None, (0, 0), 0o777, root));
        for &user in users {
            let ids = (user, user);
            let mut add = |parent, name: &str, content| {
                let node = Node::new(Some(user), ids, 0o777, content);
                state.add(parent, OsStr::new(name), node)
            };
            let home = add(1, &user.to_string(), Content::Directory(BTreeMap::new()));
            add(home, "inner", Content::Directory(BTreeMap::new()));
            add(home, "file", Content::File(b"content".to_vec()));
        }
        let state = Arc::new(Mutex::new(state));
        let mut config = Config::default();
        config.acl = SessionACL::All;
        config.mount_options = vec![MountOption::FSName("served".to_owned())];
        let served = Served(Arc::clone(&state));
        let session = fuser::spawn_mount(served, tree.backing(), &config).unwrap();
        Self {
            state,
            _session: session,
        }
    }

    /// Refuses names that are not UTF-8 from now on, as ZFS with `utf8only` does.
    pub(crate) fn take_only_utf8(&self) {
        self.state.lock().unwrap().is_utf8_only = true;
    }

    /// Has no entry made by this name from now on, as if others made and removed it at each wrong moment.
    pub(crate) fn contest(&self, name: Option<&str>) {
        self.state.lock().unwrap().contested = name.map(OsString::from);
    }

    /// Makes a file of any name in the directory of `user`.
    pub(crate) fn file(&self, user: u32, name: &[u8], content: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let home = state.child(1, OsStr::new(&user.to_string())).unwrap();
        let content = Content::File(content.to_vec());
        let node = Node::new(Some(user), (user, user), 0o777, content);
        state.add(home, OsStr::from_bytes(name), node);
    }

    /// The requests since this was called last.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }
}

impl Node {
    fn new(user: Option<u32>, owner: (u32, u32), mode: u16, content: Content) -> Self {
        Self {
            user,
            owner,
            mode,
            links: 1,
            mtime: SystemTime::now(),
            content,
            attributes: BTreeMap::new(),
        }
    }

    fn kind(&self) -> FileType {
        match self.content {
            Content::Directory(_) => FileType::Directory,
            Content::File(_) => FileType::RegularFile,
            Content::Link(_) => FileType::Symlink,
        }
    }

    fn attr(&self, number: u64) -> FileAttr {
        let size = match &self.content {
            Content::Directory(_) => 0,
            Content::File(octets) | Content::Link(octets) => octets.len() as u64,
        };
        FileAttr {
            ino: INodeNo(number),
            size,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: self.mtime,
            ctime: self.mtime,
            crtime: UNIX_EPOCH,
            kind: self.kind(),
            perm: self.mode,
            nlink: self.links,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl State {
    fn names(&mut self, directory: u64) -> Result<&mut BTreeMap<OsString, u64>, Errno> {
        let node = self.nodes.get_mut(&directory).ok_or(Errno::ENOENT)?;
        node.mtime = SystemTime::now();
        match &mut node.content {
            Content::Directory(names) => Ok(names),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn child(&mut self, directory: u64, name: &OsStr) -> Result<u64, Errno> {
        if self.is_utf8_only && name.to_str().is_none() {
            return Err(Errno::EILSEQ);
        }
        let found = self.names(directory)?.get(name);
        found.copied().ok_or(Errno::ENOENT)
    }

    fn add(&mut self, directory: u64, name: &OsStr, node: Node) -> u64 {
        let number = self.nodes.keys().last().unwrap() + 1;
        self.nodes.insert(number, node);
        self.names(directory)
            .unwrap()
            .insert(name.to_owned(), number);
        number
    }

    fn octets(&mut self, number: u64) -> Result<&mut Vec<u8>, Errno> {
        match &mut self.nodes.get_mut(&number).ok_or(Errno::ENOENT)?.content {
            Content::File(octets) | Content::Link(octets) => Ok(octets),
            Content::Directory(_) => Err(Errno::EISDIR),
        }
    }

    /// Makes an entry that belongs to who asks.
    fn make(
        &mut self,
        request: &Request,
        (parent, name): (INodeNo, &OsStr),
        mode: u32,
        content: Content,
    ) -> Result<FileAttr, Errno> {
        let is_contested = self.contested.as_deref() == Some(name);
        if is_contested || self.child(parent.0, name).is_ok() {
            return Err(Errno::EEXIST);
        }
        let owner = (request.uid(), request.gid());
        let mode = u16::try_from(mode & 0o7777).unwrap();
        let node = Node::new(Some(request.uid()), owner, mode, content);
        let number = self.add(parent.0, name, node);
        Ok(self.nodes[&number].attr(number))
    }

    /// Gives the lock on a file up, if `owner` has it.
    fn unlock(&mut self, number: INodeNo, owner: LockOwner) {
        if self.locks.get(&number.0) == Some(&owner) {
            self.locks.remove(&number.0);
        }
    }

    fn remove(&mut self, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        let number = self.child(parent.0, name)?;
        if self.names(number).is_ok_and(|names| !names.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.names(parent.0)?.remove(name);
        Ok(())
    }
}

impl Served {
    /// Notes a request about `number`, and whether it may be done.
    fn admit(
        &self,
        operation: &'static str,
        request: &Request,
        number: INodeNo,
    ) -> Result<MutexGuard<'_, State>, Errno> {
        let mut state = self.0.lock().unwrap();
        let (uid, gid) = (request.uid(), request.gid());
        let user = state.nodes.get(&number.0).ok_or(Errno::ENOENT)?.user;
        let is_admitted = user.is_none_or(|user| user == uid);
        state.asked.push(Asked {
            operation,
            uid,
            gid,
            is_admitted,
        });
        match is_admitted {
            true => Ok(state),
            false => Err(Errno::EACCES),
        }
    }
}

fn result_of<T>(act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    act()
}

/// Answers with what a block gives, or by its error.
macro_rules! reply {
    ($reply:ident, $result:expr, $value:pat => $answer:expr) => {
        match result_of(|| $result) {
            Ok($value) => $answer,
            Err(errno) => $reply.error(errno),
        }
    };
}

impl Filesystem for Served {
    // Else the kernel keeps locks to itself.
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let locks = InitFlags::FUSE_POSIX_LOCKS | InitFlags::FUSE_FLOCK_LOCKS;
        config.add_capabilities(locks).unwrap();
        Ok(())
    }

    // Of a range it takes the whole file, and of each kind the one that shuts out all others.
    fn setlk(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        owner: LockOwner,
        _start: u64,
        _end: u64,
        kind: i32,
        _pid: u32,
        _sleep: bool,
        reply: ReplyEmpty,
    ) {
        reply!(reply, {
            let mut state = self.admit("setlk", request, ino)?;
            if kind == libc::F_UNLCK {
                state.unlock(ino, owner);
            } else if *state.locks.entry(ino.0).or_insert(owner) != owner {
                return Err(Errno::EAGAIN);
            }
            Ok(())
        }, () => reply.ok());
    }

    // The kernel sends it as nobody.
    fn release(
        &self,
        _request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _flags: OpenFlags,
        owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(owner) = owner {
            self.0.lock().unwrap().unlock(ino, owner);
        }
        reply.ok();
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        reply!(reply, {
            let mut state = self.admit("lookup", request, parent)?;
            let number = state.child(parent.0, name)?;
            Ok(state.nodes[&number].attr(number))
        }, attr => reply.entry(&NOW, &attr, Generation(0)));
    }

    // Everybody may look at what he found.
    fn getattr(&self, request: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        drop(self.admit("getattr", request, ino));
        match self.0.lock().unwrap().nodes.get(&ino.0) {
            Some(node) => reply.attr(&NOW, &node.attr(ino.0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply!(reply, {
            let mut state = self.admit("setattr", request, ino)?;
            if let Some(size) = size {
                state.octets(ino.0)?.resize(usize::try_from(size).unwrap(), 0);
            }
            let node = state.nodes.get_mut(&ino.0).ok_or(Errno::ENOENT)?;
            if let Some(mode) = mode {
                node.mode = u16::try_from(mode & 0o7777).unwrap();
            }
            Ok(node.attr(ino.0))
        }, attr => reply.attr(&NOW, &attr));
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        reply!(reply, {
            Ok(self.admit("readlink", request, ino)?.octets(ino.0)?.clone())
        }, target => reply.data(&target));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        reply!(reply, {
            let content = Content::File(Vec::new());
            self.admit("mknod", request, parent)?.make(request, (parent, name), mode, content)
        }, attr => reply.entry(&NOW, &attr, Generation(0)));
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        reply!(reply, {
            let content = Content::Directory(BTreeMap::new());
            self.admit("mkdir", request, parent)?.make(request, (parent, name), mode, content)
        }, attr => reply.entry(&NOW, &attr, Generation(0)));
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        reply!(reply, {
            let content = Content::Link(target.as_os_str().as_bytes().to_vec());
            self.admit("symlink", request, parent)?.make(request, (parent, name), 0o777, content)
        }, attr => reply.entry(&NOW, &attr, Generation(0)));
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply!(reply, {
            self.admit("unlink", request, parent)?.remove(parent, name)
        }, () => reply.ok());
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply!(reply, {
            self.admit("rmdir", request, parent)?.remove(parent, name)
        }, () => reply.ok());
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply!(reply, {
            drop(self.admit("rename", request, newparent)?);
            let mut state = self.admit("rename", request, parent)?;
            let number = state.child(parent.0, name)?;
            state.names(parent.0)?.remove(name);
            state.names(newparent.0)?.insert(newname.to_owned(), number);
            Ok(())
        }, () => reply.ok());
    }

    fn link(
        &self,
        request: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        reply!(reply, {
            let mut state = self.admit("link", request, newparent)?;
            state.names(newparent.0)?.insert(newname.to_owned(), ino.0);
            Ok(state.nodes[&ino.0].attr(ino.0))
        }, attr => reply.entry(&NOW, &attr, Generation(0)));
    }

    fn open(&self, request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply!(reply, {
            self.admit("open", request, ino).map(drop)
        }, () => reply.opened(NO_HANDLE, FopenFlags::empty()));
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        reply!(reply, {
            let content = Content::File(Vec::new());
            self.admit("create", request, parent)?.make(request, (parent, name), mode, content)
        }, attr => reply.created(&NOW, &attr, Generation(0), NO_HANDLE, FopenFlags::empty()));
    }

    fn read(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply!(reply, {
            let mut state = self.admit("read", request, ino)?;
            let rest = state.octets(ino.0)?.iter().skip(usize::try_from(offset).unwrap());
            Ok(rest.take(size as usize).copied().collect::<Vec<u8>>())
        }, octets => reply.data(&octets));
    }

    fn write(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply!(reply, {
            let mut state = self.admit("write", request, ino)?;
            let octets = state.octets(ino.0)?;
            octets.resize(usize::try_from(offset).unwrap(), 0);
            octets.extend_from_slice(data);
            Ok(())
        }, () => reply.written(u32::try_from(data.len()).unwrap()));
    }

    fn flush(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply!(reply, {
            self.admit("flush", request, ino)?.unlock(ino, owner);
            Ok(())
        }, () => reply.ok());
    }

    fn fsync(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        reply!(reply, self.admit("fsync", request, ino).map(drop), () => reply.ok());
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply!(reply, {
            self.admit("opendir", request, ino).map(drop)
        }, () => reply.opened(NO_HANDLE, FopenFlags::empty()));
    }

    fn readdir(
        &self,
        request: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        reply!(reply, {
            let mut state = self.admit("readdir", request, ino)?;
            let names = state.names(ino.0)?.clone();
            for (place, (name, number)) in (1..).zip(names).skip(usize::try_from(offset).unwrap()) {
                if reply.add(INodeNo(number), place, state.nodes[&number].kind(), name) {
                    break;
                }
            }
            Ok(())
        }, () => reply.ok());
    }

    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        _flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        reply!(reply, {
            let mut state = self.admit("setxattr", request, ino)?;
            let node = state.nodes.get_mut(&ino.0).ok_or(Errno::ENOENT)?;
            node.attributes.insert(name.to_owned(), value.to_vec());
            Ok(())
        }, () => reply.ok());
    }

    fn getxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        reply!(reply, {
            let state = self.admit("getxattr", request, ino)?;
            let value = state.nodes[&ino.0].attributes.get(name).cloned();
            value.ok_or(Errno::ENODATA)
        }, value => match size {
            0 => reply.size(u32::try_from(value.len()).unwrap()),
            _ => reply.data(&value),
        });
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply!(reply, {
            let mut state = self.admit("removexattr", request, ino)?;
            let node = state.nodes.get_mut(&ino.0).ok_or(Errno::ENOENT)?;
            node.attributes.remove(name).map(drop).ok_or(Errno::ENODATA)
        }, () => reply.ok());
    }
}
