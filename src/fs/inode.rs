//! An inode that was looked up: what tells it from others, where it was last seen, and its descriptor.
//!
//! There can be ten million of them, so that each is small: what few have is boxed.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::dir_index::DirectoryIndex;
use super::number::Device;
use crate::backing::ticks::is_before_this_tick;
use crate::backing::{Dir, FileHandle, Kind, Stat, Time};
use crate::names::{BackingName, VisibleName};

/// Its number is given up: if it is there still, it gets another.
pub(super) const GIVEN_UP: u8 = 2;

/// Its handle may be that of another file than its number.
pub(super) const UNPROVEN: u8 = 4;

/// A regular file.
const REGULAR: u8 = 8;

/// Was open for reading and writing.
const MAPPABLE: u8 = 16;

/// Could not be opened: its file is gone, and another may have its number.
pub(super) const STALE: u8 = 32;

/// A symlink whose target is the same below and above. A target never changes.
pub(super) const PLAIN_TARGET: u8 = 64;

/// Was open for writing since the kernel was told of its attributes, which it then changed by itself.
const WRITTEN: u8 = 128;

/// The directory and name where an inode was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory's number.
    pub parent: u64,
    /// Its name in it.
    pub(super) backing: BackingName,
    /// The visible name of that.
    pub visible: VisibleName,
}

impl Place {
    pub(super) fn new(parent: u64, backing: BackingName, visible: VisibleName) -> Self {
        Self {
            parent,
            backing,
            visible,
        }
    }
}

/// A [`Place`] in one piece of memory: the parent's number, the backing name, and after a `/` the visible one where it differs. Each inode that has a name has one.
#[derive(Debug, PartialEq, Eq)]
struct PackedPlace(Box<[u8]>);

impl From<&Place> for PackedPlace {
    fn from(place: &Place) -> Self {
        let parent = place.parent.to_le_bytes();
        let (backing, visible) = (place.backing.as_bytes(), place.visible.as_bytes());
        let packed = match visible == backing {
            true => [&parent, backing].concat(),
            false => [&parent, backing, b"/", visible].concat(),
        };
        Self(packed.into())
    }
}

impl PackedPlace {
    /// The parent's number, and the names.
    fn split(&self) -> Option<(u64, &[u8])> {
        let (parent, names) = self.0.split_first_chunk()?;
        Some((u64::from_le_bytes(*parent), names))
    }

    /// Is it this visible name in the directory `parent`?
    fn is_named(&self, parent: u64, name: &[u8]) -> bool {
        self.split().is_some_and(|(own, names)| {
            let mut names = names.rsplitn(2, |&byte| byte == b'/');
            own == parent && names.next() == Some(name)
        })
    }

    fn unpack(&self) -> Option<Place> {
        let (parent, names) = self.split()?;
        let mut names = names.splitn(2, |&byte| byte == b'/');
        let backing = BackingName::parse(names.next()?).ok()?;
        let visible = match names.next() {
            Some(visible) => VisibleName::parse(visible).ok()?,
            None => backing.as_visible(),
        };
        Some(Place::new(parent, backing, visible))
    }
}

/// The kind of a handle that is inode number and generation, as of ext4 (`FILEID_INO32_GEN`). One of FUSE is another whenever the kernel
/// has forgotten the inode.
pub(super) const INODE_AND_GENERATION: i32 = 1;

/// The identity of a file among all others of its device, also one that gets its number later.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Its file handle, where it can be opened by that.
    Handle(FileHandle),
    /// The appearance, where there is no handle.
    Looks {
        /// Its inode number.
        ino: u64,
        /// When it was made, in nanoseconds; comes round every 584 years. A hash of its handle where the filesystem does not keep that, if
        /// the handle stays the same.
        born: i64,
        /// The kind of the file.
        kind: Kind,
        /// The mount that it was reached through, where that is not the root's; else 0.
        mount: u32,
    },
}

impl Identity {
    /// Returns the identity of a file by its attributes, and its handle where it has no time of birth; it was reached through `mount`, 0
    /// for the root's.
    pub(super) fn looks(stat: &Stat, mount: u32, handle: Option<&FileHandle>) -> Self {
        let lasting = handle.filter(|handle| handle.kind() == INODE_AND_GENERATION);
        let digest = || lasting.map_or(0, |handle| handle.digest().into());
        Self::Looks {
            ino: stat.ino,
            born: stat.btime.map_or_else(digest, nanoseconds),
            kind: stat.kind(),
            mount,
        }
    }

    /// The mount that it was reached through, where that is not the root's; else 0.
    pub(super) fn mount(&self) -> u32 {
        match self {
            Self::Handle(_) => 0,
            Self::Looks { mount, .. } => *mount,
        }
    }
}

fn nanoseconds(time: Time) -> i64 {
    let seconds = time.secs.wrapping_mul(1_000_000_000);
    seconds.wrapping_add(time.nanos.into())
}

/// Returns a hash of the time of birth and the kind of a file, which is never 0; or 0 where the filesystem keeps no time of birth. Two
/// files that have one inode number in turn differ in it, unless they were made within one tick of the filesystem's clock. One in four
/// thousand million does not.
fn birth(stat: &Stat) -> u32 {
    let digest = |born| {
        let mixed = nanoseconds(born)
            .cast_unsigned()
            .wrapping_add(u64::from(stat.mode & libc::S_IFMT) << 48)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        u32::try_from(mixed >> 32).unwrap_or_default().max(1)
    };
    stat.btime.map_or(0, digest)
}

/// Returns a hash of the size and the times of a file's content.
fn content_state(stat: &Stat) -> u32 {
    let times = nanoseconds(stat.ctime).wrapping_mul(31) ^ nanoseconds(stat.mtime);
    let mixed =
        (times.cast_unsigned() ^ stat.size.rotate_left(48)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    u32::try_from(mixed >> 32).unwrap_or_default()
}

/// Content is taken for that of another open for so many seconds: a mapping below can change it without any sign.
const LONGEST_CONTENT: u64 = 60;

/// Most places that are kept of a file beside the last.
const MOST_PLACES: usize = 16;

/// The number and generation of an inode, which tell it from every other.
pub type InodeId = (u64, u64);

/// Flags of an inode, each a bit.
#[derive(Debug, Default)]
pub struct Flags(AtomicU8);

impl Flags {
    /// Is the flag set? Of several, one of them?
    pub fn has(&self, flag: u8) -> bool {
        self.0.load(Ordering::Acquire) & flag != 0
    }

    /// Sets a flag, or takes it back.
    pub fn set(&self, flag: u8, is_set: bool) {
        if is_set && !self.has(flag) {
            self.0.fetch_or(flag, Ordering::Release);
        } else if !is_set && self.has(flag) {
            self.0.fetch_and(!flag, Ordering::Release);
        }
    }
}

/// An inode that was looked up and not forgotten.
#[derive(Debug)]
pub struct Inode {
    /// Its node id: its number towards the kernel.
    pub number: u64,
    /// The lookup count. Changed under the lock of its shard only.
    pub(super) lookups: AtomicU64,
    pub(super) identity: Identity,
    /// No other lock is taken while this one is held.
    state: Mutex<State>,
    /// The parts of a directory.
    directory: Option<Box<AsDirectory>>,
    pub(super) device: Device,
    /// Its [`birth`], once no other file of its number can have the same; else 0.
    born: AtomicU32,
    /// When the kernel was told of it last, in milliseconds of the clock of the table.
    pub(super) told_at: AtomicU32,
    /// A hash of the attributes that were told last, of those that change with the content.
    told: AtomicU32,
    /// Set on each use of the descriptor; it stays open a round longer.
    used: AtomicBool,
    /// [`GIVEN_UP`], [`UNPROVEN`], [`REGULAR`], [`MAPPABLE`], [`STALE`], [`PLAIN_TARGET`] and [`WRITTEN`].
    pub(super) marks: Flags,
    /// Flags to which the layer that sets them gives their meaning.
    pub notes: Flags,
}

/// The parts that only directories have.
#[derive(Debug, Default)]
pub(super) struct AsDirectory {
    /// The visible names. Taken after the lock of a directory stream, before `state`; never that of two directories at once.
    /// Where siblings are compared it is held while a name is made, never across a reply.
    pub(super) index: Mutex<Option<Box<DirectoryIndex>>>,
    /// Held while an entry is replaced that others may be giving its visible name: both could be seen until that is put right.
    /// Taken before `index`.
    pub(super) replacing: Mutex<()>,
    /// Did others change a name in it since the index was made? Its ctime does not tell where a change of ours came after theirs.
    pub(super) is_outdated: AtomicBool,
    /// The number of the last note of its index; 0 for none.
    pub(super) noted: AtomicU64,
    /// When it was last known to lie below the root, by the clock of the table; 0 for never.
    pub(super) confined: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Box<Held>>,
    place: Option<PackedPlace>,
}

/// Resources held for an inode; most have none.
#[derive(Debug, Default)]
struct Held {
    /// An `O_PATH` descriptor, if it is open.
    fd: Option<Arc<OwnedFd>>,
    /// The files of this inode that programs have open.
    files: Vec<FileInUse>,
    /// The ctime at an open, and the seconds of the table's clock then.
    opened_at: Option<(Time, u64)>,
    /// Places where a file was seen before, the last one first.
    places: Vec<EarlierPlace>,
    /// When the file was last seen elsewhere than at a place that was left out of these, since there were too many.
    forgot_place: Option<Instant>,
}

/// A file that a program has open.
#[derive(Debug)]
struct FileInUse {
    file: Weak<OwnedFd>,
    /// Can it be written to by a mapping?
    is_mappable: bool,
    /// Can it be written to?
    writes: bool,
    /// The thread that opened it.
    pid: u32,
}

/// A place where a file was seen before it was seen at another.
#[derive(Debug)]
struct EarlierPlace {
    place: PackedPlace,
    /// When it was seen elsewhere. The kernel was told of this place before.
    since: Instant,
}

impl State {
    /// Changes what is held.
    fn hold<T>(&mut self, change: impl FnOnce(&mut Held) -> T) -> T {
        let held = self.held.get_or_insert_default();
        let done = change(held);
        let has_file = held.fd.is_some() || !held.files.is_empty();
        if !has_file && held.opened_at.is_none() && held.places.is_empty() {
            self.held = None;
        }
        done
    }
}

impl Inode {
    /// The file that `stat` describes, with one lookup.
    pub(super) fn new(number: u64, identity: Identity, stat: &Stat) -> Self {
        let marks = Flags::default();
        marks.set(REGULAR, stat.is_file());
        Self {
            number,
            lookups: AtomicU64::new(1),
            identity,
            state: Mutex::default(),
            directory: stat.is_dir().then(Box::default),
            device: Device::new(stat.dev),
            born: AtomicU32::new(0),
            told_at: AtomicU32::new(0),
            told: AtomicU32::new(0),
            used: AtomicBool::new(true),
            marks,
            notes: Flags::default(),
        }
    }

    /// Returns its number and generation.
    pub(super) fn id(&self) -> InodeId {
        (self.number, self.generation())
    }

    /// Tells it from earlier files of that number, also under another daemon, and after it was forgotten. 0 where it has no handle.
    pub fn generation(&self) -> u64 {
        self.handle().map_or(0, |handle| handle.digest().into())
    }

    /// Notes a file of this inode that the thread `pid` has opened, and whether it can be written to by a mapping.
    pub(super) fn opened(&self, file: &Arc<OwnedFd>, pid: u32, access: i32) {
        let is_mappable = access == libc::O_RDWR;
        let writes = access != libc::O_RDONLY;
        if is_mappable {
            self.marks.set(MAPPABLE, true);
        }
        if writes {
            self.marks.set(WRITTEN, true);
        }
        let file = FileInUse {
            file: Arc::downgrade(file),
            is_mappable,
            writes,
            pid,
        };
        self.state.lock().hold(|held| held.files.push(file));
    }

    /// Returns true if the thread `pid` has opened the file, and it is still open. Threads of other PID namespaces have the number 0, and are
    /// not known.
    pub(super) fn is_opened_by(&self, pid: u32) -> bool {
        let state = self.state.lock();
        let held = state.held.as_ref();
        pid != 0 && held.is_some_and(|held| held.files.iter().any(|file| file.pid == pid))
    }

    /// Notes that a program has closed a file.
    pub(super) fn closed(&self, file: &Arc<OwnedFd>) {
        let gone = Arc::as_ptr(file);
        let is_gone = |open: &FileInUse| std::ptr::eq(open.file.as_ptr(), gone);
        self.state.lock().hold(|held| {
            if held.files.iter().any(|open| is_gone(open) && open.writes) {
                self.marks.set(WRITTEN, true);
            }
            held.files.retain(|open| !is_gone(open));
        });
    }

    /// Returns true if somebody may have written to it above since the kernel was told of its attributes.
    pub fn may_be_written_above(&self) -> bool {
        let is_open = || {
            let state = self.state.lock();
            let held = state.held.as_ref();
            held.is_some_and(|held| held.files.iter().any(|file| file.writes))
        };
        self.marks.has(WRITTEN) || is_open()
    }

    /// Is it open for reading and writing? Then it can be written to by a mapping, which nobody hears of (mmap(2), `MAP_SHARED`).
    pub fn is_mappable(&self) -> bool {
        let state = self.state.lock();
        let held = state.held.as_ref();
        held.is_some_and(|held| held.files.iter().any(|file| file.is_mappable))
    }

    /// Was it ever open for reading and writing, so that there may be mappings of it, which outlive the open file?
    pub fn was_mappable(&self) -> bool {
        self.marks.has(MAPPABLE)
    }

    /// A file of this inode that a program has open.
    pub(super) fn open_file(&self) -> Option<Arc<OwnedFd>> {
        let state = self.state.lock();
        let files = &state.held.as_ref()?.files;
        files.iter().find_map(|open| open.file.upgrade())
    }

    /// Its descriptor, if it is open; that counts as a use.
    pub(super) fn held(&self) -> Option<Arc<OwnedFd>> {
        self.used.store(true, Ordering::Relaxed);
        self.state.lock().held.as_ref()?.fd.clone()
    }

    /// Holds it by `fd`, unless it is held already; returns what it is held by, and whether that is `fd`. That counts as a use.
    pub(super) fn hold(&self, fd: OwnedFd) -> (Arc<OwnedFd>, bool) {
        self.used.store(true, Ordering::Relaxed);
        self.state.lock().hold(|held| match &held.fd {
            Some(fd) => (Arc::clone(fd), false),
            None => (Arc::clone(held.fd.insert(Arc::new(fd))), true),
        })
    }

    /// Gives its descriptor up if no operation uses it, and none has since the last time. `None` if it keeps one; the descriptor that it had
    /// is in it otherwise.
    pub(super) fn let_go(&self) -> Option<Option<Arc<OwnedFd>>> {
        let mut state = self.state.lock();
        if state.held.as_ref().is_none_or(|held| held.fd.is_none()) {
            return Some(None);
        }
        if self.used.swap(false, Ordering::Relaxed) {
            return None;
        }
        state.hold(take_unused).map(Some)
    }

    /// Gives the descriptor of a file up if no operation uses it, so that the filesystem can free the space of one without a name. It is opened
    /// again when it is needed.
    pub(super) fn give_up_descriptor(&self) -> Option<Arc<OwnedFd>> {
        if !self.is_regular() && self.handle().is_none() {
            return None;
        }
        let mut state = self.state.lock();
        state.held.as_ref()?.fd.as_ref()?;
        state.hold(take_unused)
    }

    /// Returns the parts of a directory.
    ///
    /// # Errors
    /// `ENOTDIR`.
    pub(super) fn as_directory(&self) -> io::Result<&AsDirectory> {
        let not_one = || io::Error::from_raw_os_error(libc::ENOTDIR);
        self.directory.as_deref().ok_or_else(not_one)
    }

    /// Does it lie in another mount than the root? It must not be held there, so that it can be unmounted.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.identity.mount() != 0
    }

    /// Its file handle, where it can be opened by that.
    pub fn handle(&self) -> Option<&FileHandle> {
        match &self.identity {
            Identity::Handle(handle) => Some(handle),
            Identity::Looks { .. } => None,
        }
    }

    /// Notes that the file is there, which `stat` describes, and its birth.
    pub(super) fn found(&self, stat: &Stat) {
        self.marks.set(STALE, false);
        if self.born.load(Ordering::Relaxed) == 0 && stat.btime.is_some_and(is_before_this_tick) {
            self.born.store(birth(stat), Ordering::Relaxed);
        }
    }

    /// Notes that the kernel is told these attributes.
    pub fn tell(&self, stat: &Stat) {
        self.marks.set(WRITTEN, false);
        self.told.store(content_state(stat), Ordering::Relaxed);
    }

    /// Returns true if the size and times of the content are those that the kernel was told last.
    pub fn is_as_told(&self, stat: &Stat) -> bool {
        self.told.load(Ordering::Relaxed) == content_state(stat)
    }

    /// Gives the number of a directory up: if it is there still, it gets another when it is looked up next.
    pub fn give_up_number(&self) {
        self.marks.set(GIVEN_UP, self.is_directory());
    }

    /// Is it a directory?
    pub fn is_directory(&self) -> bool {
        self.as_directory().is_ok()
    }

    /// Is it known by its number as the file of this identity?
    pub(super) fn is(&self, device: Device, identity: &Identity) -> bool {
        !self.marks.has(GIVEN_UP) && self.device == device && self.identity == *identity
    }

    /// Is the file that `stat` describes, which has its number, the same by its birth?
    pub(super) fn is_born_as(&self, stat: &Stat) -> bool {
        let born = self.born.load(Ordering::Relaxed);
        !self.marks.has(STALE | GIVEN_UP) && born != 0 && born == birth(stat)
    }

    /// Notes that the file is opened at this ctime and time. Says whether it has the content of an open that was
    /// noted before, a second to a minute ago.
    pub(super) fn is_as_opened_before(&self, ctime: Time, seconds: u64) -> bool {
        // Another change can have the same ctime where the clock of the filesystem has not gone on since.
        let now = is_before_this_tick(ctime).then_some((ctime, seconds));
        self.state.lock().hold(|held| {
            let before = held.opened_at.filter(|(before, _)| *before == ctime);
            let age = before.map(|(_, before)| seconds.saturating_sub(before));
            if now.is_none() || age.is_none_or(|age| age > LONGEST_CONTENT) {
                held.opened_at = now;
            }
            // Two, as both moments are whole seconds: the answer to that open has arrived.
            age.is_some_and(|age| (2..=LONGEST_CONTENT).contains(&age))
        })
    }

    /// Is it a regular file?
    pub(super) fn is_regular(&self) -> bool {
        self.marks.has(REGULAR)
    }

    /// Returns where it was last seen; `None` if it has no name.
    pub fn place(&self) -> Option<Place> {
        self.state.lock().place.as_ref()?.unpack()
    }

    /// Keeps a place where a file was seen before, which it may have left or not.
    pub(super) fn keep_place(&self, place: &Place) {
        let earlier = EarlierPlace {
            place: PackedPlace::from(place),
            since: Instant::now(),
        };
        self.state.lock().hold(|held| {
            held.places.retain(|other| other.place != earlier.place);
            if let Some(forgotten) = held.places.get(MOST_PLACES - 1) {
                held.forgot_place = held.forgot_place.max(Some(forgotten.since));
            }
            held.places.truncate(MOST_PLACES - 1);
            held.places.insert(0, earlier);
        });
    }

    /// Returns true if the kernel, which keeps a name for `kept` at most, may know the inode by more names than are kept here.
    pub(super) fn has_forgotten_places(&self, kept: Duration) -> bool {
        let state = self.state.lock();
        let since = state.held.as_ref().and_then(|held| held.forgot_place);
        since.is_some_and(|since| since.elapsed() <= kept)
    }

    /// Notes a place of a file that has several names: the first one stays the one where it was last seen.
    pub(super) fn add_place(&self, place: &Place) {
        let mut state = self.state.lock();
        let packed = PackedPlace::from(place);
        let first = state.place.get_or_insert_with(|| PackedPlace::from(place));
        let is_first = *first == packed;
        drop(state);
        if !is_first {
            self.keep_place(place);
        }
    }

    /// Notes that a visible name does not lead to it any more.
    pub(super) fn lose_place(&self, parent: u64, name: &[u8]) {
        let mut state = self.state.lock();
        if state.held.is_some() {
            state.hold(|held| {
                held.places
                    .retain(|earlier| !earlier.place.is_named(parent, name));
            });
        }
        let is_lost = |place: &mut PackedPlace| place.is_named(parent, name);
        if state.place.take_if(is_lost).is_some() && state.held.is_some() {
            state.place = state.hold(|held| match held.places.is_empty() {
                true => None,
                false => Some(held.places.remove(0).place),
            });
        }
    }

    /// Returns all places where it was seen that are kept, the last one first.
    pub(super) fn all_places(&self) -> Vec<Place> {
        self.kernel_places(Duration::MAX)
    }

    /// Returns the places by which the kernel may know it, the last one first, where it keeps a name for `kept` at most.
    pub(super) fn kernel_places(&self, kept: Duration) -> Vec<Place> {
        let state = self.state.lock();
        let earlier = state.held.iter().flat_map(|held| &held.places);
        let earlier = earlier.filter(|earlier| earlier.since.elapsed() <= kept);
        let all = state
            .place
            .iter()
            .chain(earlier.map(|earlier| &earlier.place));
        all.filter_map(PackedPlace::unpack).collect()
    }

    /// The number of the directory where it was last seen, if that is kept.
    pub fn parent(&self) -> Option<u64> {
        let state = self.state.lock();
        Some(state.place.as_ref()?.split()?.0)
    }

    /// Is it the last that was seen under this name, which lies below as it is shown?
    pub fn is_at(&self, parent: u64, name: &[u8]) -> bool {
        let state = self.state.lock();
        let place = state.place.as_ref().and_then(PackedPlace::split);
        place == Some((parent, name))
    }

    /// Notes where it was seen; returns where it was before, if that is another place.
    pub(super) fn set_place(&self, place: &Place) -> Option<Place> {
        let place = PackedPlace::from(place);
        let mut state = self.state.lock();
        if state.held.is_some() {
            state.hold(|held| held.places.retain(|earlier| earlier.place != place));
        }
        let left = state.place.take().filter(|left| *left != place);
        state.place = Some(place);
        drop(state);
        left?.unpack()
    }
}

/// Takes the descriptor if no operation uses it.
fn take_unused(held: &mut Held) -> Option<Arc<OwnedFd>> {
    held.fd.take_if(|fd| Arc::strong_count(fd) == 1)
}

/// An inode, and a descriptor of it.
#[derive(Debug, Clone)]
pub(super) struct OpenInode {
    pub(super) inode: Arc<Inode>,
    pub(super) fd: Arc<OwnedFd>,
    /// Its names are not read again if they were read at this time or later.
    pub(super) read_since: Option<Instant>,
}

impl OpenInode {
    /// Returns the directory that it is.
    pub(super) fn dir(&self) -> Dir<&OwnedFd> {
        Dir::new(&self.fd)
    }
}

/// An inode in a table by its number.
#[derive(Debug)]
pub(super) struct ByNumber(pub(super) Arc<Inode>);

impl Borrow<u64> for ByNumber {
    fn borrow(&self) -> &u64 {
        &self.0.number
    }
}

impl Hash for ByNumber {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

impl PartialEq for ByNumber {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for ByNumber {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inode_takes_144_bytes_of_memory() {
        // Two counts of the Arc before it, and 8 bytes of the C library's, rounded up to 16.
        assert!(size_of::<Identity>() <= 32, "{}", size_of::<Identity>());
        assert!(size_of::<Inode>() + 16 + 8 <= 144, "{}", size_of::<Inode>());
        assert_eq!(size_of::<ByNumber>(), 8);
    }

    /// Law F5.
    #[test]
    fn content_is_that_of_an_earlier_open_where_the_ctime_says_so() {
        let stat = Stat::of(tempfile::tempfile().unwrap()).unwrap();
        let inode = Inode::new(2, Identity::looks(&stat, 0, None), &stat);
        let time = |secs| Time { secs, nanos: 1 };
        let open = |ctime, seconds| inode.is_as_opened_before(time(ctime), seconds);
        assert!(!open(5, 100), "the first");
        assert!(!open(5, 101), "the answer to the first may be on its way");
        assert!(open(5, 102));
        assert!(open(5, 160));
        assert!(!open(5, 161), "a mapping may have changed it");
        assert!(open(5, 163));
        assert!(!open(6, 170), "it was changed");
        assert!(!open(6, 171));
        assert!(!open(5, 172), "and changed back");
        assert!(open(5, 174));
        assert!(!open(i64::MAX, 180), "it will be changed again");
        assert!(!open(i64::MAX, 190));
        assert!(!open(5, 200), "it was changed meanwhile");
    }

    #[test]
    fn a_place_is_unpacked_as_it_was() {
        let name = |name: &[u8]| BackingName::parse(name).unwrap();
        let visible = |name: &[u8]| VisibleName::parse(name).unwrap();
        for place in [
            Place::new(u64::MAX, name(b"a"), visible(b"a")),
            Place::new(7, name(b"caf\xE9"), visible("caf\u{E9}".as_bytes())),
            Place::new(7, name(&[0xFF; 255]), visible(&[b'%'; 255])),
            Place::new(0, name(b"a"), visible(b"a")),
            Place::new(0x0100, name(b"a"), visible(b"a")),
        ] {
            assert_eq!(PackedPlace::from(&place).unpack(), Some(place));
        }
    }
}
