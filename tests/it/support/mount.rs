//! A mount that ends with the test, whatever happens.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::wait::{PATIENCE, until_some};
use super::{Tree, at, audit, needs, user};

/// `FUSE_SUPER_MAGIC` of statfs(2).
const FUSE: rustix::fs::FsWord = 0x6573_5546;

/// A mount over a [`Tree`], held by a child in the foreground.
pub(crate) struct Mount<'t> {
    tree: &'t Tree,
    child: Child,
    process: OwnedFd,
    /// Pieces of warnings that the daemon may log.
    allowed: Vec<&'static str>,
    ended: bool,
    /// The root of the mount. A descriptor that is left open keeps the daemon serving, so ours go first.
    root: OnceLock<OwnedFd>,
}

impl<'t> Mount<'t> {
    /// Mounts as ourselves and waits until the mount answers.
    pub(crate) fn start(tree: &'t Tree, options: &[&str]) -> Self {
        let mount = Self::spawn(tree, command_of(Path::new(binary())), options);
        // The first request is answered when the daemon serves.
        mount.dir();
        mount
    }

    /// As [`Mount::start`], with at most `descriptors` of them for the daemon.
    pub(crate) fn start_limited(tree: &'t Tree, descriptors: usize, options: &[&str]) -> Self {
        let limit = format!("--nofile={descriptors}:{descriptors}");
        Self::start_under(tree, &["prlimit", &limit, "--"], options)
    }

    /// As [`Mount::start`], by a program that runs the daemon in its own place.
    pub(crate) fn start_under(tree: &'t Tree, program: &[&str], options: &[&str]) -> Self {
        let mut command = command_of(Path::new(program[0]));
        command.args(&program[1..]).arg(binary());
        let mount = Self::spawn(tree, command, options);
        mount.dir();
        mount
    }

    /// Mounts as the ordinary user `uid`, through fusermount3. `program` is a copy that the user can run.
    pub(crate) fn start_as(tree: &'t Tree, uid: u32, program: &Path, options: &[&str]) -> Self {
        let mount = Self::spawn(tree, user::command(uid, program), options);
        let output = user::script(uid, &tree.point(), "stat \"$PLACE\"");
        assert!(output.status.success(), "{output:?}\n{}", mount.stderr());
        mount
    }

    fn spawn(tree: &'t Tree, mut command: Command, options: &[&str]) -> Self {
        needs::fuse();
        let log = tree.audit_log();
        let stderr = File::create(tree.parent().join("stderr")).unwrap();
        // A mount by another user writes its own log.
        if !log.is_file() {
            drop(File::create(&log).unwrap());
            std::fs::set_permissions(&log, std::os::unix::fs::PermissionsExt::from_mode(0o666))
                .unwrap();
        }
        let mounts = File::open("/proc/self/mountinfo").unwrap();
        command.arg("mount").args(["--audit-format", "json"]);
        // Unless the test wants it elsewhere.
        if !options.contains(&"--audit-log") {
            command.arg("--audit-log").arg(&log);
        }
        if by_device() && !options.contains(&"--uring") {
            command.args(["--uring", "off"]);
        }
        command
            .args(options)
            .arg(tree.backing())
            .arg(tree.point())
            .env_remove("RUST_LOG")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr);
        let child = command.spawn().unwrap();
        let process = pidfd_open(pid(&child), PidfdFlags::empty()).unwrap();
        let mut mount = Self {
            tree,
            child,
            process,
            // Raw bytes as `--from iso-8859-1` reads them.
            allowed: vec!["is shown with control characters"],
            ended: false,
            root: OnceLock::new(),
        };
        mount.wait_until_mounted(&mounts);
        mount
    }

    /// Waits for the kernel to say that the mount is there, or for the child to end, which is a failure.
    fn wait_until_mounted(&mut self, mounts: &File) {
        while !self.answers() {
            let mut fds = [
                PollFd::new(mounts, PollFlags::PRI | PollFlags::ERR),
                PollFd::new(&self.process, PollFlags::IN),
            ];
            poll(&mut fds, None).unwrap();
            if fds[1].revents().contains(PollFlags::IN) {
                let status = self.child.wait().unwrap();
                panic!("nothing was mounted ({status}):\n{}", self.stderr());
            }
        }
    }

    /// Is there a mount, and not a dead one that an earlier daemon left?
    fn answers(&self) -> bool {
        let point = self.tree.point();
        // Only opening asks the daemon; what the kernel knows of a root outlives it. Where a dead mount is taken away, it is
        // the bare directory that is opened for a moment.
        let opened = rustix::fs::open(&point, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        mounted(&point).is_some()
            && match opened {
                Ok(root) => rustix::fs::fstatfs(root).is_ok_and(|fs| fs.f_type == FUSE),
                Err(error) => !means_dead(error),
            }
    }

    /// Closes what we have open ourselves, so that the mount is not busy.
    pub(crate) fn close(&mut self) {
        drop(self.root.take());
    }

    /// Allows the daemon to log warnings with this text in them.
    pub(crate) fn allow_warning(&mut self, text: &'static str) {
        self.allowed.push(text);
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.tree.point()
    }

    /// The root of the mount, open until the mount ends.
    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.root
            .get_or_init(|| at::open_dir_path(&self.tree.point()))
            .as_fd()
    }

    /// A directory below the root of the mount, opened. It has to be closed before the mount ends.
    pub(crate) fn sub(&self, name: &str) -> Sub<'_> {
        let fd = at::open_dir(self.dir(), name.as_bytes()).unwrap();
        Sub { fd, _mount: self }
    }

    /// What the daemon has written to stderr.
    pub(crate) fn stderr(&self) -> String {
        let bytes = std::fs::read(self.tree.parent().join("stderr")).unwrap();
        let lines = bytes.split(|&octet| octet == b'\n');
        let lines: Vec<_> = lines.map(|line| line.escape_ascii().to_string()).collect();
        lines.join("\n")
    }

    /// The daemon's process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The directory in `/proc` of the daemon's thread of this name. A thread takes its name when it first runs, which may be
    /// after the mount answers; until then it has that of the process.
    pub(crate) fn thread(&self, name: &str) -> PathBuf {
        until_some(|| {
            self.assert_alive();
            let mut threads = self.threads().into_iter();
            let named = threads.find(|(comm, _)| comm == name.as_bytes());
            named.map(|(_, task)| task)
        })
    }

    /// The names of the daemon's threads, and their directories in `/proc`.
    pub(crate) fn threads(&self) -> Vec<(Vec<u8>, PathBuf)> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let tasks = tasks.filter_map(Result::ok).map(|task| task.path());
        tasks
            .filter_map(|task| {
                let comm = std::fs::read(task.join("comm")).ok()?;
                Some((comm.trim_ascii_end().to_owned(), task))
            })
            .collect()
    }

    fn assert_alive(&self) {
        assert!(
            !ready(&self.process, Some(Duration::ZERO)),
            "the daemon ended:\n{}",
            self.stderr()
        );
    }

    pub(crate) fn signal(&self, signal: Signal) {
        pidfd_send_signal(&self.process, signal).unwrap();
    }

    /// Stops the daemon until [`Mount::go_on`]. The signal stops one thread after the other: until all are, requests are answered.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        let process = WaitId::PidFd(self.process.as_fd());
        let until = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = retry_on_intr(|| waitid(process.clone(), until)).unwrap();
        assert!(status.is_some_and(|status| status.stopped()), "it ended");
    }

    /// Lets a daemon go on that [`Mount::pause`] stopped.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Waits for the daemon to end by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        assert!(
            ready(&self.process, Some(PATIENCE)),
            "the daemon does not end:\n{}",
            self.stderr()
        );
        self.child.wait().unwrap()
    }

    /// Ends the mount in the orderly way and returns the offences of its audit log.
    pub(crate) fn stop(mut self) -> Vec<audit::Record> {
        // Before the signal: who still has it in use when the daemon's patience ends is warned of.
        self.close();
        self.signal(Signal::TERM);
        self.finish()
    }

    /// Expects an orderly end that something else has begun: exit code 0, no mount left, nothing to complain of.
    pub(crate) fn finish(mut self) -> Vec<audit::Record> {
        drop(self.root.take());
        let status = self.wait();
        let log = self.stderr();
        assert!(status.success(), "the daemon ended with {status}:\n{log}");
        assert_eq!(mounted(&self.tree.point()), None, "the mount is left");
        self.ended = true;
        for line in log.lines() {
            let bad = ["utf8fs: warn:", "utf8fs: error:", "panicked"];
            assert!(
                !bad.iter().any(|word| line.contains(word))
                    || self.allowed.iter().any(|text| line.contains(text)),
                "the daemon complained: {line}\n(all of it:\n{log})"
            );
        }
        audit::offences(&self.tree.audit_log())
    }

    /// Kills the daemon and leaves the dead mount behind, for the next daemon to find.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        let status = self.wait();
        assert!(!status.success());
        self.ended = true;
    }
}

/// An open directory of a mount. That it borrows the mount, to the end, is how the compiler sees to it that none is
/// open when the mount is told to end.
pub(crate) struct Sub<'m> {
    fd: OwnedFd,
    _mount: &'m Mount<'m>,
}

impl AsFd for Sub<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Sub<'_> {
    fn drop(&mut self) {}
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        drop(self.root.take());
        detach(&self.tree.point());
        // Only our own child, and only while it is ours: it has not been waited for.
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.stderr());
        }
    }
}

/// Does a request that fails so say that the daemon is gone? By rings those that it was working on are cancelled.
pub(crate) fn means_dead(errno: Errno) -> bool {
    matches!(errno, Errno::NOTCONN | Errno::CONNABORTED | Errno::CANCELED)
}

/// The program under test.
pub(crate) fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_utf8fs")
}

/// Are requests of all mounts to come by the device, though there are rings?
pub(crate) fn by_device() -> bool {
    std::env::var_os("UTF8FS_TEST_TRANSPORT").is_some_and(|transport| transport == "device")
}

/// A command that gets SIGTERM, and so unmounts, should the test itself be killed.
fn command_of(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap()).unwrap()
}

/// Waits until `process` has ended; `false` if it has not in that time.
fn ready(process: impl AsFd, timeout: Option<Duration>) -> bool {
    let timeout = timeout.map(|time| Timespec::try_from(time).unwrap());
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut fds, timeout.as_ref()).unwrap() == 1
}

/// Takes every mount on `point` out of the tree of names, whatever still uses it.
pub(crate) fn detach(point: &Path) {
    while mounted(point).is_some() {
        let done = if needs::is_root() {
            unmount(point, UnmountFlags::DETACH).is_ok()
        } else {
            let status = Command::new("fusermount3").arg("-uz").arg(point).status();
            status.is_ok_and(|status| status.success())
        };
        if !done {
            eprintln!("{point:?} cannot be unmounted");
            return;
        }
    }
}

/// The type of the filesystem mounted on `point` (topmost), as the kernel knows it; `None` if there is none.
pub(crate) fn mounted(point: &Path) -> Option<String> {
    // Others may have mounts with names that are not UTF-8.
    let table = std::fs::read("/proc/self/mountinfo").unwrap();
    let point = point.as_os_str().as_bytes();
    let fields = |line: &[u8]| -> Vec<Vec<u8>> {
        line.split(|&byte| byte == b' ')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let line = table
        .split(|&byte| byte == b'\n')
        .map(fields)
        .rfind(|fields| fields.get(4).is_some_and(|field| field == point))?;
    let dash = line.iter().position(|field| field == b"-")?;
    line.get(dash + 1)
        .map(|kind| String::from_utf8(kind.clone()).unwrap())
}

/// Waits until nothing is mounted on `point`.
pub(crate) fn wait_until_unmounted(point: &Path) {
    let mounts = File::open("/proc/self/mountinfo").unwrap();
    let patience = Timespec::try_from(PATIENCE).unwrap();
    while mounted(point).is_some() {
        let mut fds = [PollFd::new(&mounts, PollFlags::PRI | PollFlags::ERR)];
        assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "still mounted");
    }
}
