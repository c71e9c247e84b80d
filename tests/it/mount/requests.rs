//! The table of docs/internals/performance.md: how many requests each operation costs at most.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Access, AtFlags, FileType, Gid, Mode, OFlags, RawDir, Uid, XattrFlags};
use rustix::io::Errno;
use strum::VariantArray as _;
use utf8fs::fuse::Operation;

use crate::support::mount::Sub;
use crate::support::{Mount, Tree, at, cpu, needs, page, status};

/// How often each operation is done.
const TIMES: usize = 100;

/// Files in a directory that is listed.
const FILES: usize = 1000;

/// Requests for lists: a few more or less, whatever happens.
const LISTING: [&str; 4] = ["opendir", "readdir", "readdirplus", "releasedir"];

/// What an operation finds: a directory of its own, with an open file in it.
struct Scene<'m> {
    dir: Sub<'m>,
    /// Open for reading and writing.
    file: OwnedFd,
    /// Another one, open for reading.
    read: OwnedFd,
    end: OwnedFd,
}

type Act = fn(&Scene<'_>, usize) -> at::Result<()>;

/// One operation. `prepare` is done for each number first; what it costs is not counted.
struct Row {
    operation: &'static str,
    prepare: Act,
    act: Act,
    /// How many files one time is for; then it is done once.
    files: usize,
}

const fn row(operation: &'static str, prepare: Act, act: Act) -> Row {
    let files = 1;
    Row {
        operation,
        prepare,
        act,
        files,
    }
}

const fn for_each_file(operation: &'static str, act: Act) -> Row {
    let (prepare, files): (Act, usize) = (nothing, FILES);
    Row {
        operation,
        prepare,
        act,
        files,
    }
}

fn name(kind: &str, number: usize) -> Vec<u8> {
    format!("{kind}-{number}").into_bytes()
}

fn nothing(_: &Scene<'_>, _: usize) -> at::Result<()> {
    Ok(())
}

fn create(scene: &Scene<'_>, number: usize) -> at::Result<()> {
    at::create_new(&scene.dir, &name("made", number)).map(drop)
}

fn make_directory(scene: &Scene<'_>, number: usize) -> at::Result<()> {
    at::mkdir(&scene.dir, &name("made", number))
}

fn is_absent(scene: &Scene<'_>, name: &[u8]) -> at::Result<()> {
    match at::stat(&scene.dir, name) {
        Err(Errno::NOENT) => Ok(()),
        other => panic!("{other:?}"),
    }
}

/// Reads a list as the C library does, and looks at what is in it.
fn list(scene: &Scene<'_>, look: bool) -> at::Result<()> {
    let dir = at::open_dir(&scene.dir, b"listed")?;
    let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
    let mut entries = RawDir::new(&dir, &mut buffer);
    let mut count = 0;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name.starts_with(b"file") {
            assert_eq!(entry.file_type(), FileType::RegularFile);
            count += 1;
            if look {
                at::stat(&dir, name)?;
            }
        }
    }
    assert_eq!(count, FILES);
    Ok(())
}

const ROWS: &[Row] = &[
    row("look at a name, first", nothing, |scene, number| {
        at::stat(&scene.dir, &name("below", number)).map(drop)
    }),
    row("look at a name again", nothing, |scene, _| {
        at::stat(&scene.dir, b"file").map(drop)
    }),
    row("look at an absent name, first", nothing, |scene, number| {
        is_absent(scene, &name("absent", number))
    }),
    row("look at an absent name again", nothing, |scene, _| {
        is_absent(scene, b"absent")
    }),
    row("access(2)", nothing, |scene, _| {
        rustix::fs::accessat(&scene.dir, "file", Access::READ_OK, AtFlags::empty())
    }),
    row("create a file and close it", nothing, create),
    row(
        "create a file, write to it and close it",
        nothing,
        |scene, number| at::write_new(&scene.dir, &name("written", number), &[b'x'; 4096]),
    ),
    row("open and close a file", nothing, |scene, _| {
        at::open(&scene.dir, b"file", OFlags::RDONLY).map(drop)
    }),
    row("read 4 KiB", nothing, |scene, _| {
        let read = rustix::io::pread(&scene.file, &mut [0; 4096], 0)?;
        assert_eq!(read, 4096);
        Ok(())
    }),
    row("rewrite 4 KiB", nothing, |scene, _| {
        rustix::io::pwrite(&scene.file, &[b'y'; 4096], 0).map(drop)
    }),
    row("append 4 KiB", nothing, |scene, _| {
        at::write_all(&scene.end, &[b'z'; 4096])
    }),
    row("fsync(2)", nothing, |scene, _| {
        rustix::fs::fsync(&scene.file)
    }),
    row("ftruncate(2)", nothing, |scene, number| {
        rustix::fs::ftruncate(&scene.file, 4096 + number as u64)
    }),
    row("unlink(2)", create, |scene, number| {
        at::unlink(&scene.dir, &name("made", number))
    }),
    row("rename(2)", create, |scene, number| {
        at::rename(&scene.dir, &name("made", number), &name("renamed", number))
    }),
    row("link(2)", nothing, |scene, number| {
        at::link(&scene.dir, b"file", &name("linked", number))
    }),
    row("symlink(2)", nothing, |scene, number| {
        at::symlink(b"file", &scene.dir, &name("symlink", number))
    }),
    row("readlink(2)", nothing, |scene, _| {
        at::readlink(&scene.dir, b"link").map(drop)
    }),
    row("mkdir(2)", nothing, make_directory),
    row("rmdir(2)", make_directory, |scene, number| {
        at::rmdir(&scene.dir, &name("made", number))
    }),
    row("mknod(2)", nothing, |scene, number| {
        let (fifo, mode) = (FileType::Fifo, Mode::RUSR);
        rustix::fs::mknodat(&scene.dir, &*name("fifo", number), fifo, mode, 0)
    }),
    row("chmod(2)", create, |scene, number| {
        let mode = Mode::RUSR;
        rustix::fs::chmodat(&scene.dir, &*name("made", number), mode, AtFlags::empty())
    }),
    row("chown(2)", create, |scene, number| {
        let (uid, gid) = (Some(Uid::from_raw(1)), Some(Gid::from_raw(1)));
        let name = name("made", number);
        rustix::fs::chownat(&scene.dir, &*name, uid, gid, AtFlags::empty())
    }),
    row("utimensat(2)", create, |scene, number| {
        at::set_mtime(&scene.dir, &name("made", number), 1)
    }),
    row("setxattr(2)", nothing, |scene, _| {
        rustix::fs::fsetxattr(&scene.read, "user.x", b"value", XattrFlags::empty())
    }),
    row("getxattr(2)", nothing, |scene, _| {
        rustix::fs::fgetxattr(&scene.read, "user.x", &mut [0; 10][..]).map(drop)
    }),
    row("getxattr(2) of an ACL again", nothing, |scene, _| {
        let none = rustix::fs::fgetxattr(&scene.read, "system.posix_acl_access", &mut [0; 100][..]);
        assert_eq!(none, Err(Errno::NODATA));
        Ok(())
    }),
    row("listxattr(2)", nothing, |scene, _| {
        rustix::fs::flistxattr(&scene.read, &mut [0; 100][..]).map(drop)
    }),
    row("statfs(2)", nothing, |scene, _| {
        rustix::fs::fstatfs(&scene.dir).map(drop)
    }),
    for_each_file("list a directory, for each file", |scene, _| {
        list(scene, false)
    }),
    for_each_file(
        "list a directory and look at each file, for each file",
        |scene, _| list(scene, true),
    ),
];

/// The requests that a cell of the table allows, each with how many files one is for.
fn cell(cell: &str) -> Vec<(String, usize)> {
    if cell == "none" {
        return Vec::new();
    }
    let kinds = cell.split(" + ").map(|kind| match kind.split_once(" / ") {
        Some((kind, files)) => (kind.to_lowercase(), files.parse().unwrap()),
        None => (kind.to_lowercase(), 1),
    });
    let kinds: Vec<_> = kinds.collect();
    for (kind, _) in &kinds {
        let is_kind = |operation: &&Operation| operation.name() == kind;
        assert!(
            Operation::VARIANTS.iter().any(|one| is_kind(&one)),
            "{cell}"
        );
    }
    kinds
}

/// The table: the requests of each operation.
fn table() -> BTreeMap<&'static str, &'static str> {
    let title = "## Requests per operation\n";
    let page = page("docs/internals/performance.md");
    let (_, section) = page.split_once(title).expect("the section is there");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        cells.split_once(" | ")
    });
    // The first line has the titles, and the one below it none.
    let rows: Vec<(&str, &str)> = rows.collect();
    assert_eq!(rows[0], ("operation", "requests"));
    rows.into_iter().skip(1).collect()
}

fn kernel() -> (u32, u32) {
    let release = rustix::system::uname()
        .release()
        .to_str()
        .unwrap()
        .to_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|digits| digits.parse().ok());
    (number().unwrap(), number().unwrap_or(0))
}

/// What `act` costs, by the daemon's own account.
fn counted(mount: &Mount<'_>, act: impl FnOnce()) -> BTreeMap<String, u64> {
    let before = status::requests(&mount.point());
    act();
    let mut after = status::requests(&mount.point());
    for (kind, count) in before {
        *after.get_mut(&kind).unwrap() -= count;
    }
    after
}

/// Does the operation in a directory of its own, and says what is over the allowed.
fn measure(tree: &Tree, mount: &Mount<'_>, index: usize, allowed: &str) -> Vec<String> {
    let row = &ROWS[index];
    let place = name("row", index);
    let below = tree.directory(&place);
    for number in 0..2 * TIMES {
        at::write_new(&below, &name("below", number), b"").unwrap();
    }
    let listed = {
        at::mkdir(&below, b"listed").unwrap();
        at::open_dir(&below, b"listed").unwrap()
    };
    for number in 0..if row.files > 1 { FILES } else { 0 } {
        at::write_new(&listed, format!("file-{number:05}").as_bytes(), b"").unwrap();
    }
    let dir = mount.sub(str::from_utf8(&place).unwrap());
    // What the kernel knows then.
    at::write_new(&dir, b"file", &[b'x'; 4096]).unwrap();
    at::symlink(b"file", &dir, b"link").unwrap();
    is_absent_in(&dir, b"absent");
    // Attributes of a file that a program may have a mapping of are not kept: another one is open.
    at::write_new(&dir, b"open", &[b'x'; 4096]).unwrap();
    let file = at::open(&dir, b"open", OFlags::RDWR).unwrap();
    let end = at::open(&dir, b"open", OFlags::WRONLY | OFlags::APPEND).unwrap();
    let read = at::open(&dir, b"file", OFlags::RDONLY).unwrap();
    let scene = Scene {
        dir,
        file,
        read,
        end,
    };
    rustix::fs::fsetxattr(&scene.read, "user.x", b"value", XattrFlags::empty()).unwrap();
    at::readlink(&scene.dir, b"link").unwrap();
    at::stat(&scene.dir, b"file").unwrap();
    rustix::io::pwrite(&scene.file, &[b'x'; 4096], 0).unwrap();
    // Once, for what is remembered after the first time.
    if row.files == 1 && row.operation.contains("again") {
        (row.act)(&scene, 0).unwrap();
    }

    let (times, units) = match row.files {
        1 => (TIMES, TIMES),
        files => (1, files),
    };
    let prepared = counted(mount, || {
        (0..times).for_each(|number| (row.prepare)(&scene, number).unwrap());
    });
    let both = counted(mount, || {
        for number in times..2 * times {
            (row.prepare)(&scene, number).unwrap();
            (row.act)(&scene, number).unwrap();
        }
    });
    let allowed = cell(allowed);
    let over = both.into_iter().filter_map(|(kind, count)| {
        let count = count.saturating_sub(prepared.get(&kind).copied().unwrap_or(0));
        let count = usize::try_from(count).unwrap();
        let rates = allowed.iter().filter(|(one, _)| *one == kind);
        let expected: usize = rates.map(|(_, files)| units / files).sum();
        // By default the kernel looks again at what it has known for a second, be it only once in so many.
        let more = if LISTING.contains(&&*kind) {
            4
        } else {
            units / 2
        };
        let is_over = kind != "forget" && count > expected + more;
        is_over.then(|| {
            let kind = kind.to_uppercase();
            format!(
                "{}: {kind}: {count} for {units}, not {expected}",
                row.operation
            )
        })
    });
    over.collect()
}

fn is_absent_in(dir: impl AsFd, name: &[u8]) {
    assert_eq!(at::stat(dir, name).map(drop), Err(Errno::NOENT));
}

/// Compares each row of the table with what a mount with these options asks.
fn compare(options: &[&str]) {
    if !needs::root("requests by operation, of a mount that leaves data to the kernel") {
        return;
    }
    let table = table();
    let rows: Vec<&str> = ROWS.iter().map(|row| row.operation).collect();
    for operation in table.keys() {
        assert!(rows.contains(operation), "{operation:?} is not tested");
    }
    let tree = Tree::in_memory();
    // One request at a time, in their order: closing a file is not waited for.
    cpu::stay();
    let mount = tree.mount(&[&["--threads", "1"], options].concat());
    let mut over = Vec::new();
    for (index, row) in ROWS.iter().enumerate() {
        let cell = table.get(row.operation);
        let cell = cell.unwrap_or_else(|| panic!("{:?} is not in the table", row.operation));
        if row.files == 1 || kernel() >= (6, 16) {
            over.extend(measure(&tree, &mount, index, cell));
        }
    }
    assert!(
        over.is_empty(),
        "more requests than docs/internals/performance.md allows:\n{}",
        over.join("\n")
    );
    mount.stop();
}

#[test]
fn no_operation_costs_more_requests_than_the_table_allows() {
    compare(&[]);
}

#[test]
fn no_operation_costs_more_requests_than_the_table_allows_where_nobody_else_changes_anything() {
    compare(&["--cache", "exclusive"]);
}

/// The table's own test: what it allows less of is found.
#[test]
fn one_request_more_is_found() {
    if !needs::root("requests by operation, of a mount that leaves data to the kernel") {
        return;
    }
    let tree = Tree::in_memory();
    cpu::stay();
    let mount = tree.mount(&["--threads", "1"]);
    let index = |operation| {
        ROWS.iter()
            .position(|row| row.operation == operation)
            .unwrap()
    };
    let found = measure(&tree, &mount, index("rename(2)"), "GETATTR + RENAME");
    assert!(
        found.len() == 1 && found[0].contains("LOOKUP: 100 for 100, not 0"),
        "{found:?}"
    );
    let found = measure(&tree, &mount, index("open and close a file"), "OPEN");
    assert!(
        found.len() == 1 && found[0].contains("RELEASE: 100 for 100, not 0"),
        "{found:?}"
    );
    mount.stop();
}
