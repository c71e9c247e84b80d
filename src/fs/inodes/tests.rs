//! The table alone, with files that are made up: their attributes say which they are.

use std::collections::BTreeSet;

use rustix::fs::makedev;

use super::*;
use crate::backing::file;
use crate::fs::inode::{INODE_AND_GENERATION, UNPROVEN};
use crate::names::BackingName;

struct Table {
    inodes: Inodes,
    fd: OwnedFd,
    stat: Stat,
    _below: tempfile::TempDir,
}

impl Table {
    fn new(limit: usize) -> Self {
        let below = tempfile::tempdir().unwrap();
        std::fs::write(below.path().join("file"), "").unwrap();
        let root = Dir::open_root(below.path()).unwrap();
        let fd = root.child(&BackingName::parse(b"file").unwrap()).unwrap();
        let stat = Stat::of(&fd).unwrap();
        Self {
            inodes: Inodes::new(root.into_fd(), None, limit).unwrap(),
            fd,
            stat,
            _below: below,
        }
    }

    fn enter(&self, stat: &Stat) -> Arc<Inode> {
        let name = BackingName::parse(b"file").unwrap();
        let place = Place::new(ROOT, name.clone(), name.as_visible());
        let fd = self.fd.try_clone().unwrap();
        let (stat, by) = (*stat, By::Fd(fd));
        let entered = self
            .inodes
            .enter(Looked { stat, by }, Some(&place))
            .unwrap();
        entered.unwrap().inode
    }

    /// A file of another device.
    fn elsewhere(&self, minor: u32, ino: u64) -> Stat {
        Stat {
            dev: makedev(4000, minor),
            ino,
            ..self.stat
        }
    }

    /// How many inodes there is room for.
    fn room(&self) -> usize {
        self.inodes
            .shards
            .iter()
            .map(|shard| shard.lock().capacity())
            .sum()
    }
}

#[test]
fn an_inode_goes_with_its_last_lookup_and_its_memory_with_it() {
    let table = Table::new(64);
    let most = 100_000;
    for ino in 0..most {
        let stat = table.elsewhere(1, ino);
        table.enter(&stat);
        table.enter(&stat);
    }
    assert_eq!(table.inodes.count.load(Ordering::Relaxed), 100_000);
    assert!(table.room() >= 100_000);
    let numbers: Vec<u64> = (0..most)
        .map(|ino| table.inodes.known(&table.elsewhere(1, ino)).unwrap().number)
        .collect();
    for &number in &numbers {
        table.inodes.forget(number, 1);
        assert!(table.inodes.get(number).is_ok());
    }
    for &number in &numbers {
        table.inodes.forget(number, 1);
        assert!(table.inodes.get(number).is_err());
    }
    assert_eq!(table.inodes.count.load(Ordering::Relaxed), 0);
    // Half of them were gone often enough for memory to be given back until only few were left.
    assert!(table.inodes.peak.load(Ordering::Relaxed) < MANY);
    assert!(table.room() <= SHARDS * 4 * SMALL_SHARD, "{}", table.room());
}

/// Law F1, where there is neither a time of birth nor opening by handle, as on ext4 with inodes of 128 bytes mounted inside.
#[test]
fn f1_a_number_is_no_other_files_where_no_time_of_birth_is_kept() {
    let table = Table::new(64);
    let handle = FileHandle::of(&table.fd).unwrap();
    if handle.is_none_or(|handle| handle.kind() != INODE_AND_GENERATION) {
        return;
    }
    let enter = |fd: OwnedFd| {
        let (btime, by) = (None, By::Fd(fd));
        let stat = Stat {
            btime,
            ..table.elsewhere(1, 7)
        };
        let entered = table.inodes.enter(Looked { stat, by }, None).unwrap();
        entered.unwrap().inode
    };
    let old = enter(table.fd.try_clone().unwrap());
    let other = tempfile::tempfile().unwrap();
    let new = enter(other.into());
    assert_ne!(old.number, new.number);
    assert!(Arc::ptr_eq(&enter(table.fd.try_clone().unwrap()), &old));
}

/// Law F1: a request for the old file that is on its way must not reach the new one.
#[test]
fn f1_a_number_is_no_other_files_until_all_its_lookups_are_taken_back() {
    let table = Table::new(64);
    let files: Vec<Stat> = (1..=40)
        .map(|secs| Stat {
            btime: Some(crate::backing::Time { secs, nanos: 2 }),
            ..table.elsewhere(1, 7)
        })
        .collect();
    // Each has the inode number of the one before, which is gone.
    let inodes: Vec<_> = files.iter().map(|stat| table.enter(stat)).collect();
    let numbers: BTreeSet<u64> = inodes.iter().map(|inode| inode.number).collect();
    assert_eq!(numbers.len(), 40);
    for inode in &inodes {
        assert!(Arc::ptr_eq(&table.inodes.get(inode.number).unwrap(), inode));
    }
    let last = files.last().unwrap();
    assert!(Arc::ptr_eq(&table.enter(last), inodes.last().unwrap()));
    let known = table.inodes.known(last).unwrap();
    assert!(Arc::ptr_eq(&known, inodes.last().unwrap()));
    // The next one has its own number again once all are forgotten.
    for inode in &inodes {
        table.inodes.forget(inode.number, 2);
    }
    assert!(!table.inodes.is_any_renumbered.load(Ordering::Relaxed));
    assert_eq!(table.enter(last).number, table.inodes.number(last));
}

#[test]
fn two_files_whose_devices_give_them_one_number_have_two() {
    let table = Table::new(64);
    let on_top = |minor: u32| u64::from(((4000 & 0xFFF) << 20 | minor).reverse_bits()) << 32;
    let first = table.elsewhere(1, 7);
    // Inode numbers of 64 bits.
    let second = table.elsewhere(2, 7 ^ on_top(1) ^ on_top(2));
    assert_eq!(table.inodes.number(&first), table.inodes.number(&second));
    let held = [table.enter(&first), table.enter(&second)];
    assert_ne!(held[0].number, held[1].number);
    // Each keeps its number when it is seen again, also when the other is forgotten.
    assert!(Arc::ptr_eq(&held[0], &table.enter(&first)));
    assert!(Arc::ptr_eq(&held[1], &table.enter(&second)));
    table.inodes.forget(held[0].number, 2);
    assert!(Arc::ptr_eq(&held[1], &table.enter(&second)));
    assert!(Arc::ptr_eq(&held[1], &table.inodes.known(&second).unwrap()));
    // The number that another file has is the same whenever it is given.
    let number = held[1].number;
    table.inodes.forget(number, 3);
    assert!(table.inodes.get(number).is_err());
    table.enter(&first);
    assert_eq!(table.enter(&second).number, number);
}

#[test]
fn no_more_inodes_are_held_than_there_are_descriptors_for() {
    let table = Table::new(64);
    let count = || {
        std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .filter(|path| path.starts_with(table._below.path()))
            .count()
    };
    let inodes: Vec<_> = (0..1000)
        .map(|ino| table.enter(&table.elsewhere(1, ino)))
        .collect();
    // The root, our own, and the sixteenth part that is for inodes.
    assert!(count() <= 2 + 16, "{}", count());
    let numbers: BTreeSet<_> = inodes.iter().map(|inode| inode.number).collect();
    assert_eq!(numbers.len(), 1000);
    // Idle ones go for whoever needs a descriptor.
    let failed = std::cell::Cell::new(false);
    let done = table.inodes.with_descriptors(|| {
        if failed.replace(true) {
            return Ok(());
        }
        Err(io::Error::from_raw_os_error(libc::EMFILE))
    });
    assert!(done.is_ok());
    assert_eq!(count(), 2);
}

/// A file's attributes and its handle.
type Known = (Stat, FileHandle);

/// A table that opens by handles, and two files with their attributes and handles; `None` where handles can't be opened.
fn with_handles() -> Option<(tempfile::TempDir, Inodes, [Known; 2])> {
    let below = tempfile::tempdir().unwrap();
    let files = [b"a", b"b"].map(|name| {
        std::fs::write(below.path().join(std::str::from_utf8(name).unwrap()), name).unwrap();
        BackingName::parse(name).unwrap()
    });
    let root = Dir::open_root(below.path()).unwrap();
    let mount = file::reopen(&root, libc::O_RDONLY).unwrap();
    let known = files.map(|name| {
        let fd = root.child(&name).unwrap();
        let handle = FileHandle::of(&fd).ok().flatten();
        assert_eq!(handle, FileHandle::of_child(&root, &name).ok().flatten());
        handle.map(|handle| (Stat::of(&fd).unwrap(), handle))
    });
    let [Some(a), Some(b)] = known else {
        return None;
    };
    let inodes = Inodes::new(root.into_fd(), Some(mount), 64).unwrap();
    inodes.uses_handles().then_some((below, inodes, [a, b]))
}

fn by_handle(stat: &Stat, handle: &FileHandle) -> Looked {
    Looked {
        stat: *stat,
        by: By::Handle(handle.clone()),
    }
}

/// Between the two questions that tell attributes and handle, another file can come under the name.
#[test]
fn a_handle_that_is_another_file_s_opens_nothing_under_the_number() {
    let Some((_below, inodes, [(a, handle_a), (b, handle_b)])) = with_handles() else {
        return;
    };
    let name = BackingName::parse(b"a").unwrap();
    let place = Place::new(ROOT, name.clone(), name.as_visible());
    let entered = inodes
        .enter(by_handle(&a, &handle_b), Some(&place))
        .unwrap();
    let mixed = entered.unwrap().inode;
    let errno = |error: io::Error| error.raw_os_error();
    assert_eq!(errno(inodes.fd(&mixed).unwrap_err()), Some(libc::ESTALE));
    let opened = inodes.open(&mixed, libc::O_RDONLY);
    assert_eq!(errno(opened.unwrap_err()), Some(libc::ESTALE));
    // The file itself is not taken for it, and is not taken by a number alone.
    let own = inodes
        .enter(by_handle(&a, &handle_a), Some(&place))
        .unwrap();
    assert!(own.is_none());
    let fd = inodes.open_handle(&handle_a).unwrap();
    let looked = Looked {
        stat: a,
        by: By::Fd(fd),
    };
    let right = inodes.enter(looked, Some(&place)).unwrap().unwrap().inode;
    assert_ne!(right.number, mixed.number);
    let fd = inodes.open(&right, libc::O_RDONLY).unwrap();
    assert_eq!(Stat::of(&fd).unwrap().ino, a.ino);
    // What is known stands, whatever handle comes with its attributes.
    let again = inodes
        .enter(by_handle(&a, &handle_b), Some(&place))
        .unwrap();
    assert!(Arc::ptr_eq(&again.unwrap().inode, &mixed));
    assert!(Arc::ptr_eq(&inodes.get(right.number).unwrap(), &right));
    // One that is right is proven when it is opened.
    let entered = inodes
        .enter(by_handle(&b, &handle_b), Some(&place))
        .unwrap();
    let other = entered.unwrap().inode;
    assert!(other.marks.has(UNPROVEN));
    let fd = inodes.fd(&other).unwrap();
    assert_eq!(Stat::of(&*fd).unwrap().ino, b.ino);
    assert!(!other.marks.has(UNPROVEN));
}

/// Whoever sees a number again sees by the generation whether it is the same file, also under another daemon.
#[test]
fn a_generation_is_that_of_the_file_whichever_table_it_is_in() {
    let Some((below, inodes, [(a, handle_a), (b, handle_b)])) = with_handles() else {
        return;
    };
    let name = BackingName::parse(b"a").unwrap();
    let place = Place::new(ROOT, name.clone(), name.as_visible());
    let generation = |inodes: &Inodes, stat: &Stat, handle: &FileHandle| {
        let entered = inodes.enter(by_handle(stat, handle), Some(&place)).unwrap();
        entered.unwrap().inode.generation()
    };
    let first = generation(&inodes, &a, &handle_a);
    assert_ne!(first, generation(&inodes, &b, &handle_b));
    inodes.forget(inodes.number(&a), 1);
    assert_eq!(first, generation(&inodes, &a, &handle_a));
    let root = Dir::open_root(below.path()).unwrap();
    let mount = file::reopen(&root, libc::O_RDONLY).unwrap();
    let again = Inodes::new(root.into_fd(), Some(mount), 64).unwrap();
    assert_eq!(first, generation(&again, &a, &handle_a));
}

/// Twenty files that had one name in turn, and often one number, are twenty.
#[test]
fn files_that_had_one_number_in_turn_have_each_a_generation() {
    let Some((below, inodes, _)) = with_handles() else {
        return;
    };
    let name = BackingName::parse(b"turn").unwrap();
    let place = Place::new(ROOT, name.clone(), name.as_visible());
    let root = Dir::open_root(below.path()).unwrap();
    let mut seen = HashSet::new();
    for _ in 0..20 {
        std::fs::write(below.path().join("turn"), "").unwrap();
        let fd = root.child(&name).unwrap();
        let stat = Stat::of(&fd).unwrap();
        let by = By::Fd(fd);
        let entered = inodes.enter(Looked { stat, by }, Some(&place)).unwrap();
        let inode = entered.unwrap().inode;
        assert!(seen.insert((inode.number, inode.generation())));
        inodes.forget(inode.number, 1);
        drop(inode);
        std::fs::remove_file(below.path().join("turn")).unwrap();
    }
}

/// Somebody exchanges names while one is looked at: the attributes are those of a file, the handle is that of a FIFO.
#[test]
fn a_fifo_is_not_opened_in_place_of_a_file() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let below = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::write(below.path().join("file"), "").unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = below.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let root = Dir::open_root(below.path()).unwrap();
    let child = |name: &[u8]| root.child(&BackingName::parse(name).unwrap()).unwrap();
    let (file, fifo) = (child(b"file"), child(b"fifo"));
    let handle_of = |fd: &OwnedFd| FileHandle::of(fd).unwrap().unwrap();
    let mount = std::fs::File::open(below.path()).unwrap().into();
    let inodes = Inodes::new(
        Dir::open_root(below.path()).unwrap().into_fd(),
        Some(mount),
        64,
    )
    .unwrap();
    let enter = |by| {
        let stat = Stat::of(&file).unwrap();
        inodes.enter(Looked { stat, by }, None).unwrap()
    };
    let wrong = enter(By::Handle(handle_of(&fifo))).unwrap().inode;
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| done.send(inodes.open(&wrong, libc::O_RDONLY)));
        let opened = is_done.recv_timeout(Duration::from_secs(5));
        // Whoever waits there goes on.
        drop(
            std::fs::File::options()
                .read(true)
                .write(true)
                .open(below.path().join("fifo")),
        );
        let error = opened.unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESTALE));
    });
    // It is looked at closely from now on.
    let stat = Stat::of(&file).unwrap();
    let name = BackingName::parse(b"file").unwrap();
    let place = Place::new(ROOT, name.clone(), name.as_visible());
    let by_name = Looked { stat, by: By::Name };
    assert!(inodes.enter(by_name, Some(&place)).unwrap().is_none());
    assert!(enter(By::Handle(handle_of(&file))).is_none());
    let right = enter(By::Fd(file.try_clone().unwrap())).unwrap().inode;
    assert!(inodes.open(&right, libc::O_RDONLY).is_ok());
}
