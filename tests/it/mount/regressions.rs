//! Faults that were found from outside, each mended, each by its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::process::{Gid, Pid, PidfdFlags, Signal, Uid, pidfd_open, pidfd_send_signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::support::mount::{binary, detach, mounted};
use crate::support::snapshot::{self, Times};
use crate::support::user::{self, NOBODY};
use crate::support::wait::until;
use crate::support::{Mount, Tree, at, needs, status};

/// No test waits longer than this for anything; reaching it is a failure.
const PATIENCE: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// Mounts that a test needs or makes beside [`Mount`], taken away with it.
#[derive(Default)]
struct Others(Vec<PathBuf>);

impl Others {
    /// mount(8) of a filesystem of that kind on a new directory or an old one.
    fn mount(&mut self, kind: &str, options: &str, on: &Path) {
        fs::create_dir_all(on).unwrap();
        run(Command::new("mount")
            .args(["-t", kind, "-o", options, "inner"])
            .arg(on));
        self.0.push(on.to_owned());
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            detach(path);
        }
    }
}

fn run(command: &mut Command) {
    let output = command.env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// A copy of the program in a place that every user can reach.
fn for_everybody(tree: &Tree) -> PathBuf {
    let program = tree.parent().join("program");
    // By cp: while we have it open for writing ourselves, it can't be run.
    run(Command::new("cp").arg(binary()).arg(&program));
    program
}

/// Runs `act` in a thread with the rights of an ordinary user.
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(gid, gid, gid).unwrap();
            set_thread_res_uid(uid, uid, uid).unwrap();
            act()
        });
        thread.join().unwrap()
    })
}

/// The names of a directory and the numbers that it lists them with.
fn listed(dir: impl AsFd) -> BTreeMap<Vec<u8>, u64> {
    Dir::read_from(dir)
        .unwrap()
        .map(Result::unwrap)
        .map(|entry| (entry.file_name().to_bytes().to_vec(), entry.ino()))
        .filter(|(name, _)| name != b"." && name != b"..")
        .collect()
}

/// Everything that tells the number of a file, in the order in which programs ask.
fn numbers(dir: impl AsFd, name: &[u8]) -> Vec<u64> {
    let lstat = || at::stat(&dir, name).unwrap().st_ino;
    let mut told = vec![listed(&dir)[name], lstat()];
    let file = at::open(&dir, name, OFlags::RDONLY).unwrap();
    at::read_all(&file).unwrap();
    told.push(rustix::fs::fstat(&file).unwrap().st_ino);
    rustix::fs::fchmod(&file, Mode::from_raw_mode(0o640)).unwrap();
    told.extend([rustix::fs::fstat(&file).unwrap().st_ino, lstat()]);
    told.push(listed(&dir)[name]);
    told
}

/// A tree whose backing directory has two filesystems in it that number alike, all an ordinary user's.
fn of_two_devices() -> (Tree, Others) {
    let tree = Tree::new();
    let mut others = Others::default();
    for name in ["one", "two"] {
        let directory = tree.backing().join(name);
        others.mount("tmpfs", "mode=0755", &directory);
        fs::write(directory.join("f"), name).unwrap();
        fs::hard_link(directory.join("f"), directory.join("h")).unwrap();
    }
    let [one, two] =
        ["one/f", "two/f"].map(|path| fs::metadata(tree.backing().join(path)).unwrap());
    let alike = one.ino() == two.ino() && one.dev() != two.dev();
    assert!(alike, "a test of nothing: {one:?} {two:?}");
    for place in [tree.backing(), tree.point()] {
        run(Command::new("chown").args(["-R", "65534:65534"]).arg(place));
    }
    (tree, others)
}

/// Lookups gave a file of another device a number that no other request gave it.
#[test]
fn files_of_two_devices_have_one_number_each_by_every_request() {
    if !needs::root("two filesystems inside the backing directory") {
        return;
    }
    let (tree, _others) = of_two_devices();
    let mount = Mount::start_as(&tree, NOBODY, &for_everybody(&tree), &[]);
    let told: Vec<BTreeSet<u64>> = as_nobody(|| {
        let told = ["one", "two"].map(|device| {
            let dir = at::open_dir_path(&mount.point().join(device));
            let both = [numbers(&dir, b"f"), numbers(&dir, b"h")];
            both.concat().into_iter().collect()
        });
        told.to_vec()
    });
    assert!(told.iter().all(|numbers| numbers.len() == 1), "{told:?}");
    assert_ne!(told[0], told[1]);
    mount.stop();
}

/// overlayfs has several devices in one directory: links were lost there, and files of its layers taken for each other.
#[test]
fn links_on_an_overlay_survive_a_copy() {
    if !needs::root("an overlay of two filesystems as backing directory") {
        return;
    }
    let tree = Tree::new();
    let mut others = Others::default();
    let [low, high, copy] = ["low", "high", "copy"].map(|name| tree.parent().join(name));
    for layer in [&low, &high] {
        others.mount("tmpfs", "mode=0755", layer);
    }
    let [upper, work] = ["upper", "work"].map(|name| high.join(name));
    for directory in [&upper, &work, &copy] {
        fs::create_dir(directory).unwrap();
    }
    for (layer, name) in [(&low, "low"), (&upper, "up")] {
        for n in 0..40 {
            let file = layer.join(format!("{name}{n}"));
            fs::write(&file, format!("{name} {n}")).unwrap();
            fs::hard_link(&file, layer.join(format!("{name}{n}-link"))).unwrap();
        }
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={},xino=off",
        low.to_str().unwrap(),
        upper.to_str().unwrap(),
        work.to_str().unwrap()
    );
    others.mount("overlay", &options, &tree.backing());
    let original = snapshot::take(&tree.backing(), Times::Kept);
    let raw: Vec<(u64, u64)> = fs::read_dir(tree.backing())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap())
        .map(|metadata| (metadata.dev(), metadata.ino()))
        .collect();
    let alike = |&(dev, ino): &(u64, u64)| raw.iter().any(|other| other.0 != dev && other.1 == ino);
    assert!(raw.iter().any(alike), "a test of nothing: {raw:?}");
    let mount = tree.mount(&[]);
    snapshot::assert_same(&original, &snapshot::take(&mount.point(), Times::Kept));
    run(Command::new("cp")
        .arg("-a")
        .arg(mount.point().join("."))
        .arg(&copy));
    mount.stop();
    snapshot::assert_same(&original, &snapshot::take(&copy, Times::Kept));
}

/// Descriptors that were kept for speed left none for the files that programs open, nor for closing them.
#[test]
fn many_files_are_open_at_once_and_closed_under_a_low_limit() {
    const FILES: usize = 3000;
    let tree = Tree::in_memory();
    let path = |n: usize| tree.point().join(format!("n{n}"));
    for n in 0..FILES {
        tree.file(format!("n{n}").as_bytes(), n.to_string().as_bytes());
    }
    let _others = Others(vec![tree.point()]);
    run(Command::new("prlimit")
        .args(["--nofile=328:328", "--", binary(), "mount", "--background"])
        .args([tree.backing(), tree.point()])
        .stdout(Stdio::null()));
    for n in 0..FILES {
        fs::metadata(path(n)).unwrap();
    }
    // RELEASE is not waited for.
    let wait_until_closed = || until(|| status::of(&tree.point())["open"]["files"] == 0);
    for most in [100, 180] {
        wait_until_closed();
        let open: Vec<File> = (0..most).map(|n| File::open(path(n)).unwrap()).collect();
        for (n, mut file) in open.into_iter().enumerate() {
            let mut content = String::new();
            file.read_to_string(&mut content).unwrap();
            assert!(content.starts_with(&n.to_string()), "{content}");
        }
        wait_until_closed();
        // tee has all of them open at once and complains of what fails, closing included.
        run(Command::new("/bin/sh")
            .args(["-c", "echo more | tee -a -- \"$@\" >/dev/null", "sh"])
            .args((0..most).map(path)));
    }
    assert_eq!(fs::read(path(7)).unwrap(), b"7more\nmore\n");
}

/// mount(8) calls a program of this type without a command.
#[test]
fn mount_8_can_call_it() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"");
    let _others = Others(vec![tree.point()]);
    run(Command::new(binary())
        .args([tree.backing(), tree.point()])
        .args(["-o", "rw,from=iso-8859-1"]));
    assert_eq!(
        at::list(at::open_dir_path(&tree.point())),
        ["café".as_bytes()]
    );
}

/// The error for an audit log that can't be opened did not say which file it was.
#[test]
fn an_audit_log_that_is_a_directory_is_named_in_quotes() {
    let tree = Tree::new();
    let log = tree.parent().join("a\nlog");
    fs::create_dir(&log).unwrap();
    let output = Command::new(binary())
        .args(["mount", "--audit-log"])
        .args([&log, &tree.backing(), &tree.point()])
        .output()
        .unwrap();
    let quoted = format!("\"{}/a\\nlog\"", tree.parent().to_str().unwrap());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let named = lines[0].starts_with("error: ") && lines[0].contains(&quoted);
    assert!(
        named && lines.len() == 2 && lines[1].starts_with("hint: "),
        "{said}"
    );
    assert_eq!(mounted(&tree.point()), None);
}

/// Whose command line names this mount point: its daemon, and nobody else once the mount answers but the daemon's helper.
fn daemon_of(point: &Path) -> Vec<PathBuf> {
    let point = point.to_str().unwrap().as_bytes();
    fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|process| {
            // A process may end meanwhile.
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            let is_helper =
                fs::read(process.join("comm")).is_ok_and(|comm| comm == b"utf8fs-helper\n");
            !is_helper && line.split(|&byte| byte == 0).any(|word| word == point)
        })
        .collect()
}

/// The daemon kept what its caller had open, so that the reader of a pipe waited for ever, and locks were held; and was called `exe`.
#[test]
fn the_daemon_in_the_background_has_its_name_and_no_foreign_pipe() {
    let tree = Tree::new();
    let _others = Others(vec![tree.point()]);
    // The pipe is its standard output, and at a number that nobody chose.
    let script = r#"exec 9>&1 && "$0" mount --background "$1" "$2" 2>/dev/null"#;
    let mut shell = Command::new("/bin/sh")
        .args(["-c", script, binary()])
        .args([tree.backing(), tree.point()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = shell.stdout.take().unwrap();
    assert!(shell.wait().unwrap().success());
    wait_for(&mut [PollFd::new(&pipe, PollFlags::IN)], "end of the pipe");
    let daemons = daemon_of(&tree.point());
    assert_eq!(daemons.len(), 1, "{daemons:?}");
    let comm = fs::read_to_string(daemons[0].join("comm")).unwrap();
    assert_eq!(comm, "utf8fs\n");
}

/// A mount that never was had its summary.
#[test]
fn a_refused_mount_of_an_ordinary_user_is_one_error_and_nothing_else() {
    let tree = Tree::new();
    fs::set_permissions(tree.point(), fs::Permissions::from_mode(0o555)).unwrap();
    let output = user::command(NOBODY, &for_everybody(&tree))
        .arg("mount")
        .args([tree.backing(), tree.point()])
        .current_dir("/")
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8(output.stderr).unwrap();
    let (errors, others): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.starts_with("error: "));
    let quoted = format!("{:?}", tree.point());
    assert!(
        errors.len() == 1 && errors[0].contains(&quoted),
        "{errors:?}"
    );
    // Where such users may not open /dev/fuse either, what to do about that.
    assert!(
        others.iter().all(|line| line.starts_with("hint: ")),
        "{others:?}"
    );
    assert_eq!(mounted(&tree.point()), None);
}

/// A daemon in the foreground that nobody has asked anything yet; killed if the test ends before it.
struct Fresh(Child);

impl Drop for Fresh {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Waits until one of these has something to say; that none ever has is a failure.
fn wait_for(fds: &mut [PollFd<'_>], what: &str) {
    assert_ne!(poll(fds, Some(&PATIENCE)).unwrap(), 0, "no {what}");
}

/// The daemon's own question whether the mount answers kept it busy for a signal that came at once.
#[test]
fn a_signal_as_soon_as_the_mount_appears_unmounts_without_a_warning() {
    for round in 0..20 {
        let tree = Tree::new();
        let _others = Others(vec![tree.point()]);
        let mounts = File::open("/proc/self/mountinfo").unwrap();
        let log = tree.parent().join("stderr");
        let mut daemon = Fresh(
            Command::new("setpriv")
                .args(["--pdeathsig", "TERM", "--", binary(), "mount"])
                .args([tree.backing(), tree.point()])
                .stderr(File::create(&log).unwrap())
                .spawn()
                .unwrap(),
        );
        let pid = Pid::from_raw(daemon.0.id().try_into().unwrap()).unwrap();
        let process: OwnedFd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        while mounted(&tree.point()).is_none() {
            let mut fds = [
                PollFd::new(&mounts, PollFlags::PRI),
                PollFd::new(&process, PollFlags::IN),
            ];
            wait_for(&mut fds, "mount");
            assert!(!fds[1].revents().contains(PollFlags::IN), "no daemon");
        }
        pidfd_send_signal(&process, Signal::TERM).unwrap();
        wait_for(&mut [PollFd::new(&process, PollFlags::IN)], "end");
        let status = daemon.0.wait().unwrap();
        let said = fs::read_to_string(&log).unwrap();
        assert!(status.success(), "round {round}: {status}\n{said}");
        let bad = ["utf8fs: warn:", "utf8fs: error:", "panicked"];
        assert!(!bad.iter().any(|word| said.contains(word)), "{said}");
        assert_eq!(mounted(&tree.point()), None);
    }
}
