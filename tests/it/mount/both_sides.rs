//! Law F9: programs above and below work on the same files, and nothing that was accepted is lost.
//!
//! Each case is done twice: by somebody above and somebody below, and by both in a bare directory. Afterwards the trees are the same.

mod names;
mod repeated;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{AtFlags, CWD, Mode, Timestamps, XattrFlags};
use rustix::io::Errno;

use crate::support::{Mount, Tree, at, needs, user};

/// What the mounts are made with. A case has names that are decoded too.
const OPTIONS: &[&[&str]] = &[
    &[],
    &["--cache", "1"],
    &["--cache", "none"],
    &["--cache", "exclusive"],
    &["--cross-mounts"],
    &["--locks", "backing"],
    &["--passthrough", "off"],
];

/// The names of the file at issue: as it is stored, and as it is shown.
const NAMES: &[(&[u8], &str)] = &[(b"plain", "plain"), (b"caf\xE9", "caf\u{e9}")];

fn rename(old: impl AsRef<Path>, new: impl AsRef<Path>) -> std::io::Result<()> {
    Ok(rustix::fs::rename(old.as_ref(), new.as_ref())?)
}

fn named(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(OsStr::from_bytes(name))
}

/// A tree in which the same is done as in a mount and below it.
struct Case {
    above: PathBuf,
    below: PathBuf,
    stored: &'static [u8],
    shown: &'static str,
}

impl Case {
    /// The file at issue as somebody above reaches it, in the directory `d`.
    fn file_above(&self) -> PathBuf {
        self.above.join("d").join(self.shown)
    }

    fn file_below(&self) -> PathBuf {
        named(&self.below.join("d"), self.stored)
    }

    /// Prepares the tree below.
    fn prepare(&self) {
        std::fs::create_dir(self.below.join("d")).unwrap();
        std::fs::write(self.file_below(), "one").unwrap();
        std::fs::set_permissions(self.file_below(), PermissionsExt::from_mode(0o640)).unwrap();
        symlink("d", self.below.join("way")).unwrap();
    }
}

/// A change that somebody makes below.
type Below = (&'static str, fn(&Case));

const BELOW: &[Below] = &[
    ("removed", |case| {
        std::fs::remove_file(case.file_below()).unwrap();
    }),
    ("replaced", |case| {
        let new = case.below.join("new");
        std::fs::write(&new, "replacement").unwrap();
        rename(new, case.file_below()).unwrap();
    }),
    ("renamed away", |case| {
        rename(case.file_below(), case.below.join("d/away")).unwrap();
    }),
    ("renamed away and replaced", |case| {
        rename(case.file_below(), case.below.join("d/away")).unwrap();
        std::fs::write(case.file_below(), "another").unwrap();
    }),
    ("replaced, with another name", |case| {
        std::fs::hard_link(case.file_below(), case.below.join("kept")).unwrap();
        std::fs::remove_file(case.file_below()).unwrap();
        std::fs::write(case.file_below(), "another").unwrap();
    }),
    ("directory replaced", |case| {
        rename(case.below.join("d"), case.below.join("old")).unwrap();
        std::fs::create_dir(case.below.join("d")).unwrap();
    }),
    ("directory replaced by one with such a file", |case| {
        rename(case.below.join("d"), case.below.join("old")).unwrap();
        std::fs::create_dir(case.below.join("d")).unwrap();
        std::fs::write(case.file_below(), "another").unwrap();
    }),
    ("link turned", |case| {
        std::fs::create_dir(case.below.join("e")).unwrap();
        symlink("e", case.below.join("turned")).unwrap();
        rename(case.below.join("turned"), case.below.join("way")).unwrap();
    }),
    ("nothing", |_| {}),
];

/// What somebody above does with the file then; the result is compared too.
type Above = (&'static str, fn(&Case) -> Result<(), i32>);

fn errno(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(-1)
}

fn done(result: std::io::Result<()>) -> Result<(), i32> {
    result.map_err(|error| errno(&error))
}

const ABOVE: &[Above] = &[
    ("written anew", |case| {
        done(std::fs::write(case.file_above(), "two"))
    }),
    ("appended to", |case| {
        let file = File::options()
            .append(true)
            .create(true)
            .open(case.file_above());
        done(file.and_then(|mut file| file.write_all(b"two")))
    }),
    ("written over", |case| {
        let file = File::options().write(true).open(case.file_above());
        done(file.and_then(|mut file| file.write_all(b"tw")))
    }),
    ("written by the link", |case| {
        done(std::fs::write(
            case.above.join("way").join(case.shown),
            "two",
        ))
    }),
    ("read", |case| {
        let read = std::fs::read(case.file_above()).map_err(|error| errno(&error))?;
        let expected = std::fs::read(case.file_below()).map_err(|error| errno(&error))?;
        assert_eq!(read, expected);
        Ok(())
    }),
    ("truncated", |case| {
        let path = std::ffi::CString::new(case.file_above().as_os_str().as_bytes()).unwrap();
        let file = File::options()
            .write(true)
            .open(OsStr::from_bytes(path.as_bytes()));
        done(file.and_then(|file| file.set_len(1)))
    }),
    ("chmod", |case| {
        let mode = PermissionsExt::from_mode(0o604);
        done(std::fs::set_permissions(case.file_above(), mode))
    }),
    ("times", |case| {
        let times = Timestamps {
            last_access: rustix::fs::Timespec {
                tv_sec: 1_000_000,
                tv_nsec: 0,
            },
            last_modification: rustix::fs::Timespec {
                tv_sec: 2_000_000,
                tv_nsec: 0,
            },
        };
        let set = rustix::fs::utimensat(CWD, case.file_above(), &times, AtFlags::empty());
        set.map_err(Errno::raw_os_error)
    }),
    ("attribute set", |case| {
        let set = rustix::fs::setxattr(case.file_above(), "user.a", b"1", XattrFlags::empty());
        set.map_err(Errno::raw_os_error)
    }),
    ("linked", |case| {
        done(std::fs::hard_link(
            case.file_above(),
            case.above.join("linked"),
        ))
    }),
    ("removed", |case| {
        done(std::fs::remove_file(case.file_above()))
    }),
    ("renamed", |case| {
        done(rename(case.file_above(), case.above.join("renamed")))
    }),
    ("renamed to itself, and written anew", |case| {
        // What is renamed to itself stays as it is, whether it is there or not.
        drop(rename(case.file_above(), case.file_above()));
        done(std::fs::write(case.file_above(), "two"))
    }),
    ("replaced", |case| {
        std::fs::write(case.above.join("d/fresh"), "two").map_err(|error| errno(&error))?;
        done(rename(case.above.join("d/fresh"), case.file_above()))
    }),
    ("made beside", |case| {
        std::fs::create_dir(case.above.join("d/dir")).map_err(|error| errno(&error))?;
        done(symlink("x", case.above.join("d/symlink")))
    }),
];

/// All that there is below: paths with kind, permissions, content, time and attribute. A name that is stored anew is stored as it is shown.
fn snapshot(case: &Case) -> Vec<String> {
    fn walk(case: &Case, directory: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let name = match entry.file_name().as_bytes() {
                name if name == case.stored => case.shown.as_bytes().to_vec(),
                name => name.to_vec(),
            };
            let path = directory.strip_prefix(&case.below).unwrap();
            let path = path.to_str().unwrap();
            let path = format!("{path}/{}", String::from_utf8(name).unwrap());
            if metadata.is_dir() {
                found.push(format!("{path}/"));
                walk(case, &entry.path(), found);
                continue;
            }
            let content = match metadata.is_symlink() {
                true => std::fs::read_link(entry.path())
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
                false => std::fs::read(entry.path()).unwrap(),
            };
            let time = Some(metadata.mtime()).filter(|time| *time == 2_000_000);
            let mut value = [0; 8];
            let attribute = rustix::fs::lgetxattr(entry.path(), "user.a", &mut value).ok();
            found.push(format!(
                "{path} {:o} {} {time:?} {attribute:?} links {}",
                metadata.mode(),
                content.escape_ascii(),
                metadata.nlink()
            ));
        }
    }
    let mut found = Vec::new();
    walk(case, &case.below, &mut found);
    found.sort();
    found
}

/// Makes a change below, and then does something above by names that are known there.
fn play(case: &Case, (_, below): Below, (_, above): Above, is_open: bool) -> Result<(), i32> {
    case.prepare();
    // All names are in the cache.
    std::fs::read(case.file_above()).unwrap();
    std::fs::read(case.above.join("way").join(case.shown)).unwrap();
    std::fs::write(case.file_above(), "one").unwrap();
    // Somebody else has it open.
    let mut holder = is_open.then(|| {
        let mut holder = Command::new("/bin/sh")
            .args(["-c", "exec 5<\"$FILE\"; echo; exec sleep 1000"])
            .env("FILE", case.file_above())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut is_opened = [0];
        holder
            .stdout
            .take()
            .unwrap()
            .read_exact(&mut is_opened)
            .unwrap();
        holder
    });
    below(case);
    let result = above(case);
    if let Some(holder) = &mut holder {
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
    result
}

fn compare(point: &Path, backing: &Path, bare: &Path, options: &[&str]) {
    let mut number = 0;
    for &(stored, shown) in NAMES {
        for below in BELOW {
            for above in ABOVE {
                // By the kernel's caches alone it makes no difference who has the file open.
                let is_kept = options.is_empty() || options.contains(&"1");
                for is_open in [false, true].into_iter().take(1 + usize::from(is_kept)) {
                    number += 1;
                    let place = format!("case{number}");
                    let there = Case {
                        above: point.join(&place),
                        below: backing.join(&place),
                        stored,
                        shown,
                    };
                    let alone = Case {
                        above: bare.join(&place),
                        below: bare.join(&place),
                        stored: shown.as_bytes(),
                        shown,
                    };
                    std::fs::create_dir(&there.below).unwrap();
                    std::fs::create_dir(&alone.below).unwrap();
                    let expected = play(&alone, *below, *above, is_open);
                    let result = play(&there, *below, *above, is_open);
                    let what = format!(
                        "{options:?} {shown:?} below {}, above {}, open {is_open}",
                        below.0, above.0
                    );
                    // The kernel links no file that it knows to have no name (`vfs_link` in fs/namei.c): it fails, and asks nobody.
                    if above.0 == "linked" && result == Err(libc::ENOENT) && is_open {
                        continue;
                    }
                    assert_eq!(result, expected, "{what}");
                    assert_eq!(snapshot(&there), snapshot(&alone), "{what}");
                }
            }
        }
    }
}

#[test]
fn f9_what_is_done_by_a_name_is_done_to_the_file_that_has_it() {
    for options in OPTIONS {
        let tree = Tree::new();
        let bare = tempfile::tempdir().unwrap();
        let mut all = vec!["--from", "iso-8859-1"];
        all.extend(*options);
        let mut mount = tree.mount(&all);
        if options.contains(&"--cross-mounts") {
            mount.allow_warning("the sandbox is weaker with --cross-mounts");
        }
        compare(&mount.point(), &tree.backing(), bare.path(), options);
        mount.stop();
    }
}

/// Laws F3 and F9: who has a file open, or works in a directory, reaches it whatever became of its name.
#[test]
fn f9_what_is_open_is_reached_whatever_became_of_its_name() {
    for options in OPTIONS {
        let tree = Tree::new();
        let mut mount = tree.mount(options);
        if options.contains(&"--cross-mounts") {
            mount.allow_warning("the sandbox is weaker with --cross-mounts");
        }
        let (above, below) = (mount.point(), tree.backing());
        for (number, lose) in ["removed", "replaced", "renamed away"]
            .into_iter()
            .enumerate()
        {
            let name = format!("file{number}");
            std::fs::write(above.join(&name), "one").unwrap();
            let file = File::options()
                .read(true)
                .write(true)
                .open(above.join(&name))
                .unwrap();
            match lose {
                "removed" => std::fs::remove_file(below.join(&name)).unwrap(),
                "replaced" => {
                    std::fs::write(below.join("new"), "another").unwrap();
                    rename(below.join("new"), below.join(&name)).unwrap();
                }
                _ => rename(below.join(&name), below.join("away")).unwrap(),
            }
            let again = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            let what = format!("{options:?} {lose}");
            assert_eq!(std::fs::read(&again).expect(&what), b"one", "{what}");
            std::fs::OpenOptions::new()
                .append(true)
                .open(&again)
                .and_then(|mut file| file.write_all(b"two"))
                .expect(&what);
            file.set_permissions(PermissionsExt::from_mode(0o600))
                .expect(&what);
            file.set_len(5).expect(&what);
            rustix::fs::fsetxattr(&file, "user.a", b"1", XattrFlags::empty()).expect(&what);
            let times = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
            file.set_times(times).expect(&what);
            assert_eq!(std::fs::read(&again).expect(&what), b"onetw", "{what}");
            assert_eq!(
                file.metadata().expect(&what).mode() & 0o777,
                0o600,
                "{what}"
            );
        }
        // An open directory.
        std::fs::create_dir(above.join("open")).unwrap();
        let open = File::open(above.join("open")).unwrap();
        rename(below.join("open"), below.join("moved open")).unwrap();
        rustix::fs::fsetxattr(&open, "user.a", b"1", XattrFlags::empty()).unwrap();
        open.set_permissions(PermissionsExt::from_mode(0o700))
            .unwrap();
        let times = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        open.set_times(times).unwrap();
        let group = open.metadata().unwrap().gid();
        std::os::unix::fs::fchown(&open, None, Some(group)).unwrap();
        let moved = below.join("moved open").metadata().unwrap();
        assert_eq!((moved.mode() & 0o777, moved.mtime()), (0o700, 0));
        drop(open);
        // A working directory.
        std::fs::create_dir_all(above.join("dir/sub")).unwrap();
        let held = at::open_dir_path(&above.join("dir/sub"));
        rename(below.join("dir"), below.join("moved")).unwrap();
        std::fs::create_dir(below.join("dir")).unwrap();
        at::write_new(&held, b"new", b"content").unwrap();
        at::mkdir(&held, b"newdir").unwrap();
        at::rename(&held, b"new", b"renamed").unwrap();
        assert_eq!(at::read(&held, b"renamed").unwrap(), b"content");
        rustix::fs::fchmod(held.as_fd(), Mode::from_raw_mode(0o700)).ok();
        assert_eq!(
            std::fs::read(below.join("moved/sub/renamed")).unwrap(),
            b"content"
        );
        at::unlink(&held, b"renamed").unwrap();
        drop(held);
        mount.stop();
    }
}

/// Programs of the kinds that people run on both sides, each with the rounds it has to do; it ends with 1 where something is lost.
const PROGRAMS: &str = include_str!("both_sides/programs.py");

/// Starts one of the programs in a directory, as `uid` if that is given.
fn start(uid: Option<u32>, program: &str, directory: &Path, arguments: &[&str]) -> Child {
    let python = Path::new("/usr/bin/python3");
    let mut command = match uid {
        Some(uid) => user::command(uid, python),
        None => Command::new(python),
    };
    command
        .args(["-c", PROGRAMS, program])
        .args(arguments)
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs two programs above and two below, and then one that verifies what they did below.
fn run_on_both_sides(
    mount: &Mount<'_>,
    tree: &Tree,
    uid: Option<u32>,
    program: &str,
    arguments: &[&str],
) {
    let directories = [mount.point(), tree.backing(), mount.point(), tree.backing()];
    let children: Vec<(usize, Child)> = directories
        .iter()
        .enumerate()
        .map(|(number, directory)| {
            let own = number.to_string();
            let mut all = vec![own.as_str()];
            all.extend(arguments);
            (number, start(uid, program, directory, &all))
        })
        .collect();
    let mut told = Vec::new();
    for (number, child) in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{program} {arguments:?} {number}: {output:?}"
        );
        told.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    let mut all = vec!["verify"];
    all.extend(arguments);
    all.extend(told.iter().map(String::as_str));
    let output = start(uid, program, &tree.backing(), &all)
        .wait_with_output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
}

/// Who has a lock sees what its last holder did.
#[test]
fn f9_databases_on_both_sides_are_sound_with_locks_of_the_backing_files() {
    if !needs::program("/usr/bin/python3", "a database on both sides") {
        return;
    }
    for passthrough in ["auto", "off"] {
        for journal in ["delete", "truncate", "persist", "wal"] {
            // Its shared memory is mapped, which the daemon refuses with --locks backing.
            if journal == "wal" && (passthrough == "off" || !needs::is_root()) {
                continue;
            }
            let tree = Tree::new();
            let options = ["--locks", "backing", "--passthrough", passthrough];
            let mount = tree.mount(&options);
            run_on_both_sides(&mount, &tree, None, "database", &[journal, "1.5"]);
            mount.stop();
        }
    }
}

#[test]
fn f9_a_mailbox_a_spool_and_a_marker_are_shared_by_both_sides() {
    if !needs::program("/usr/bin/python3", "programs on both sides") {
        return;
    }
    for options in OPTIONS {
        if options.contains(&"exclusive") {
            continue;
        }
        let tree = Tree::new();
        let mut mount = tree.mount(options);
        if options.contains(&"--cross-mounts") {
            mount.allow_warning("the sandbox is weaker with --cross-mounts");
        }
        run_on_both_sides(&mount, &tree, None, "mailbox", &["40"]);
        run_on_both_sides(&mount, &tree, None, "spool", &["40"]);
        run_on_both_sides(&mount, &tree, None, "replace", &["40"]);
        mount.stop();
    }
}
