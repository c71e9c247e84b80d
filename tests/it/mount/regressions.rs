//! Faults that were found from outside, each mended, each by its name.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::RenameFlags;
use rustix::process::Signal;

use crate::support::mount::{binary, detach, mounted};
use crate::support::user::NOBODY;
use crate::support::{Mount, Tree, at, needs, user};

/// Filesystems mounted for a test, taken away with it.
#[derive(Default)]
struct Inner(Vec<PathBuf>);

impl Inner {
    fn tmpfs(&mut self, on: &Path) {
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "inner"])
            .arg(on)
            .status();
        assert!(status.unwrap().success());
        self.0.push(on.to_owned());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            detach(path);
        }
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// A copy of the program in a place that every user can reach.
fn for_everybody(tree: &Tree) -> PathBuf {
    let program = tree.parent().join("program");
    run(Command::new("cp").arg(binary()).arg(&program));
    fs::set_permissions(tree.parent(), fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Lookups showed another number than getattr for files of another device than the root's: cp and tar took files of two
/// devices for one, and lost links.
#[test]
fn a_file_has_one_number_whichever_request_tells_it() {
    if !needs::root("two filesystems inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    let mut inner = Inner::default();
    for name in ["one", "two"] {
        let directory = tree.backing().join(name);
        fs::create_dir(&directory).unwrap();
        inner.tmpfs(&directory);
        fs::write(directory.join("file"), name).unwrap();
        fs::hard_link(directory.join("file"), directory.join("link")).unwrap();
    }
    run(Command::new("chown")
        .args(["-R", "65534:65534"])
        .arg(tree.backing())
        .arg(tree.point()));
    let program = for_everybody(&tree);
    // An ordinary user's mount enters them.
    let mount = Mount::start_as(&tree, NOBODY, &program, &[]);
    let copy = tree.parent().join("copy");
    fs::create_dir(&copy).unwrap();
    run(Command::new("chown").arg("65534").arg(&copy));
    let script = "cp -a \"$PLACE/.\" \"$PLACE/../copy\" && for f in one two; do stat -c %i $PLACE/$f/file; \
                  stat -c %i - < $PLACE/$f/file; chmod 600 $PLACE/$f/file; stat -c %i $PLACE/$f/link; \
                  ls -iU $PLACE/$f | sed -n 's/ *\\([0-9]*\\) file/\\1/p'; done";
    let output = user::script(NOBODY, &tree.point(), script);
    assert!(output.status.success(), "{output:?}");
    let numbers: Vec<&str> = str::from_utf8(&output.stdout).unwrap().lines().collect();
    let (one, two) = numbers.split_at(numbers.len() / 2);
    assert_eq!((one.len(), two.len()), (4, 4), "{numbers:?}");
    assert!(
        one.iter().all(|number| *number == one[0]) && two.iter().all(|number| *number == two[0]),
        "{numbers:?}"
    );
    assert_ne!(one[0], two[0]);
    for name in ["one", "two"] {
        let [file, link] = ["file", "link"].map(|entry| copy.join(name).join(entry));
        assert_eq!(fs::read_to_string(&file).unwrap(), name);
        assert_eq!(
            fs::metadata(&file).unwrap().ino(),
            fs::metadata(&link).unwrap().ino()
        );
    }
    mount.stop();
}

/// The number in a directory's list is the one that stat shows.
#[test]
fn a_directory_lists_the_numbers_that_its_files_have() {
    let tree = Tree::new();
    for name in [&b"plain"[..], b"caf\xE9", "é".as_bytes()] {
        tree.file(name, name);
    }
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let listed: BTreeMap<_, _> = fs::read_dir(mount.point())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), entry.ino()))
        .collect();
    for (name, number) in &listed {
        assert_eq!(
            fs::metadata(mount.point().join(name)).unwrap().ino(),
            *number
        );
    }
    assert_eq!(listed.len(), 3);
    let root = |path: PathBuf| fs::metadata(path).unwrap().ino();
    assert_eq!(root(mount.point()), root(tree.backing()));
    mount.stop();
}

/// The names of the directory were kept as if the old name were gone, and the whiteout under it was not found.
#[test]
fn a_whiteout_is_seen_under_the_name_that_it_took() {
    if !needs::root("whiteouts") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let café = "café".as_bytes();
    at::stat(mount.dir(), café).unwrap();
    at::rename_with(mount.dir(), café, b"gone", RenameFlags::WHITEOUT).unwrap();
    assert_eq!(
        at::stat(mount.dir(), café).unwrap().st_mode & libc::S_IFMT,
        libc::S_IFCHR
    );
    assert_eq!(at::read(mount.dir(), b"gone").unwrap(), b"content");
    mount.stop();
}

/// Descriptors that are kept for speed did not give way to those that programs need.
#[test]
fn files_can_be_opened_however_many_were_looked_at() {
    let tree = Tree::in_memory();
    for n in 0..2000 {
        tree.file(format!("n{n}").as_bytes(), b"");
    }
    let status = Command::new("prlimit")
        .args(["--nofile=192:192", "--", binary(), "mount", "--background"])
        .args([tree.backing(), tree.point()])
        .stderr(Stdio::null())
        .status();
    let _guard = Inner(vec![tree.point()]);
    assert!(status.unwrap().success());
    for n in 0..2000 {
        fs::metadata(tree.point().join(format!("n{n}"))).unwrap();
    }
    let open: Vec<fs::File> = (0..60)
        .map(|n| fs::File::open(tree.point().join(format!("n{n}"))).unwrap())
        .collect();
    for file in open {
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
    assert_eq!(fs::read_dir(tree.point()).unwrap().count(), 2000);
}

/// The daemon kept what its caller had open: a lock was held, and a pipe never ended, as long as the mount lived.
#[test]
fn the_daemon_in_the_background_keeps_nothing_of_its_callers() {
    let tree = Tree::new();
    let script = "exec 9>\"$PLACE/lock\" && flock 9 && \"$PROGRAM\" mount --background \"$PLACE/backing\" \"$POINT\" 2>/dev/null";
    let _guard = Inner(vec![tree.point()]);
    let mut command = Command::new("/bin/sh");
    command
        .args(["-e", "-c", script])
        .env("PLACE", tree.parent())
        .env("POINT", tree.point())
        .env("PROGRAM", binary());
    // Its standard output is a pipe that ends here only when nobody has it.
    run(&mut command);
    run(Command::new("flock")
        .arg("-n")
        .arg(tree.parent().join("lock"))
        .arg("true"));
    assert_eq!(mounted(&tree.point()).as_deref(), Some("fuse.utf8fs"));
}

/// mount(8) calls a program of this type without a command.
#[test]
fn mount_8_can_call_it() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    let _guard = Inner(vec![tree.point()]);
    run(Command::new(binary())
        .args([tree.backing(), tree.point()])
        .args(["-o", "rw,from=iso-8859-1"]));
    assert_eq!(
        at::list(at::open_dir_path(&tree.point())),
        ["café".as_bytes()]
    );
}

/// An audit log that can't be opened is an error of the arguments, in two lines that name it.
#[test]
fn an_unfit_audit_log_is_named_and_nothing_is_mounted() {
    let tree = Tree::new();
    let output = Command::new(binary())
        .args(["mount", "--audit-log"])
        .args([tree.parent(), &tree.backing(), &tree.point()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        lines.len() == 2
            && lines[0].contains(tree.parent().to_str().unwrap())
            && lines[1].starts_with("hint: "),
        "{said}"
    );
    assert_eq!(mounted(&tree.point()), None);
}

/// Root's mount shows what the mounts inside cover, and said nothing of it.
#[test]
fn a_mount_inside_is_named_and_not_entered() {
    if !needs::root("a filesystem inside the backing directory") {
        return;
    }
    let tree = Tree::new();
    let directory = tree.backing().join("inside");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("covered"), "").unwrap();
    let mut inner = Inner::default();
    inner.tmpfs(&directory);
    let mut mount = tree.mount(&[]);
    mount.allow_warning("is mounted inside the backing directory");
    assert!(
        mount
            .stderr()
            .contains("is mounted inside the backing directory")
    );
    let shown = at::open_dir(mount.dir(), b"inside").unwrap();
    assert_eq!(at::list(&shown), [b"covered"]);
    drop(shown);
    mount.stop();
}

/// The daemon's own question whether the mount answers made it busy for a signal that came at once.
#[test]
fn a_signal_at_the_start_unmounts_without_complaint() {
    for _ in 0..20 {
        let tree = Tree::new();
        let mut mount = tree.mount(&[]);
        mount.close();
        mount.signal(Signal::TERM);
        mount.finish();
    }
}
