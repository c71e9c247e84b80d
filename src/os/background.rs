//! Going to the background, without fork: a process with threads cannot fork safely.
//!
//! The program that was started runs itself once more and waits, and does nothing else. The second one, the daemon, mounts, says
//! `ready` on its standard output, which is a pipe to the first, and lets go of the terminal. The first then exits; if the daemon
//! ends without that word, with the daemon's own exit code.

use std::env;
use std::io::{self, BufRead, BufReader, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

use rustix::fs::{FileType, Mode, OFlags, fstat};

use super::close_on_exec_from;

/// Holds the inode number of the pipe that is the daemon's standard output. A variable that was only inherited, by a
/// program that the daemon runs for instance, does not fit the standard output there.
const MARK: &str = "UTF8FS_BACKGROUND";
const READY: &str = "ready";

/// Runs this program again as the daemon, with the same arguments, and waits until it is ready or has ended.
///
/// Returns the exit code for this process: 0 if the mount answers, else the daemon's, or 128 plus the number of the
/// signal that killed it.
///
/// # Errors
/// The daemon cannot be started or waited for.
pub fn start() -> io::Result<u8> {
    // A lock or a pipe of the shell's must not live as long as the mount.
    if let Err(error) = close_on_exec_from(3) {
        log::warn!("open files of the shell stay open: {error}");
    }
    let mut args = env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    command.args(args);
    start_daemon(command)
}

fn start_daemon(mut command: Command) -> io::Result<u8> {
    let (ours, theirs) = io::pipe()?;
    command.env(MARK, fstat(&theirs)?.st_ino.to_string());
    command.stdout(Stdio::from(theirs));
    let mut daemon = command.spawn()?;
    // It holds the pipe's other end, and would keep us from seeing that the daemon let go.
    drop(command);
    for line in BufReader::new(ours).split(b'\n') {
        if line? == READY.as_bytes() {
            return Ok(0);
        }
    }
    Ok(exit_code(daemon.wait()?))
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Is this the process that [`start`] started?
///
/// # Errors
/// There is no standard output.
pub fn is_daemon() -> io::Result<bool> {
    let stdout = fstat(rustix::stdio::stdout())?;
    let is_marked = env::var_os(MARK).is_some_and(|mark| mark == *stdout.st_ino.to_string());
    Ok(is_marked && FileType::from_raw_mode(stdout.st_mode) == FileType::Fifo)
}

/// The daemon's duty to say that it is ready.
#[derive(Debug)]
pub struct Daemon {
    pub(crate) null: OwnedFd,
    /// The pipe to the process that waits.
    pub(crate) starter: PipeWriter,
}

impl Daemon {
    /// Returns the duty of this process, which [`start`] started.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn new() -> io::Result<Self> {
        // It would be `exe`, by the path that was run.
        rustix::thread::set_name(c"utf8fs")?;
        // Opened here so that nothing can fail later for want of a descriptor.
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let starter = io::stdout().as_fd().try_clone_to_owned()?.into();
        Ok(Self { null, starter })
    }

    /// Lets go of the terminal, the session, standard error and the current directory, and lets the waiting process exit.
    ///
    /// Relative paths mean nothing any more after this, so all must have been made absolute.
    ///
    /// # Errors
    /// The waiting process is gone: nobody expects this mount any more.
    pub fn ready(mut self) -> io::Result<()> {
        // Not earlier: until here an interrupt at the terminal ends both processes. It fails only where this process
        // leads its group already, which has the same effect.
        if let Err(errno) = rustix::process::setsid() {
            log::debug!("no session of our own: {errno}");
        }
        env::set_current_dir("/")?;
        rustix::stdio::dup2_stdin(&self.null)?;
        rustix::stdio::dup2_stderr(&self.null)?;
        writeln!(self.starter, "{READY}")?;
        Ok(rustix::stdio::dup2_stdout(&self.null)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{getpid, getsid};

    /// Not a test: what the tests below run as the daemon.
    #[test]
    #[ignore = "run by other tests"]
    #[expect(clippy::exit, reason = "the exit code is what is tested")]
    fn daemon() {
        if !is_daemon().unwrap() {
            return;
        }
        let daemon = Daemon::new().unwrap();
        if env::var_os("FAIL").is_some() {
            io::stderr().write_all(b"no such mount\n").unwrap();
            std::process::exit(3);
        }
        let report = env::var_os("REPORT").unwrap();
        daemon.ready().unwrap();
        let state = [
            getsid(None) == Ok(getpid()),
            env::current_dir().unwrap() == *"/",
            [0, 1, 2]
                .iter()
                .all(|n| std::fs::read_link(format!("/proc/self/fd/{n}")).unwrap() == *"/dev/null"),
        ];
        std::fs::write(report, format!("{state:?}")).unwrap();
    }

    fn command() -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.args([
            "--exact",
            "--ignored",
            "--nocapture",
            "os::background::tests::daemon",
        ]);
        command
    }

    #[test]
    fn a_daemon_that_is_ready_has_let_go_and_its_starter_ends_well() {
        let dir = tempfile::tempdir().unwrap();
        let report = dir.path().join("report");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &report,
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let mut command = command();
        command.env("REPORT", &report);
        assert_eq!(start_daemon(command).unwrap(), 0);
        assert_eq!(
            std::fs::read_to_string(report).unwrap(),
            "[true, true, true]"
        );
    }

    #[test]
    fn a_daemon_that_fails_hands_its_exit_code_on() {
        let mut command = command();
        command.env("FAIL", "1").stderr(Stdio::null());
        assert_eq!(start_daemon(command).unwrap(), 3);
    }

    #[test]
    fn an_inherited_mark_makes_no_daemon() {
        let mut command = command();
        command
            .env(MARK, "1")
            .env("FAIL", "1")
            .stdout(Stdio::null());
        assert_eq!(exit_code(command.status().unwrap()), 0);
    }

    #[test]
    fn death_by_a_signal_is_an_exit_code_too() {
        assert_eq!(exit_code(ExitStatus::from_raw(libc::SIGKILL)), 137);
        assert_eq!(exit_code(ExitStatus::from_raw(2 << 8)), 2);
    }
}
