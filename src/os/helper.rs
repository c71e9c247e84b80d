//! The helper process: stays outside when the daemon confines itself, and runs a few errands for the daemon.
//!
//! The daemon forks the helper process after mounting and before it enters a root of its own, and a second one that
//! stands by: once the first is killed, nobody else could unmount. The helper can unmount this one mount, reopen the
//! audit log, reread the policy, and connect to the system's log. It also reads the command name and status of a
//! process. It takes no paths and no descriptors, so that an attacker in the daemon gains nothing else.
//!
//! Each kind of errand has a socket and a thread of its own. So an errand that hangs, such as opening the log on a
//! filesystem that does not answer, delays no errand of another kind. Nor does it delay the end of the helper process
//! (laws F6, F7).
//!
//! The helper process acts on no signal: it leads a session of its own, away from the terminal, and blocks what can
//! be blocked. It ends when the daemon does, however that ends. It unmounts nothing then: a dead mount keeps programs
//! from writing to the directory below it (law F7). But it aborts the connection of a daemon that was killed. The
//! kernel does so itself only when all threads of the daemon are gone. A thread that invalidates a dentry may wait
//! for a program that waits for the daemon.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use parking_lot::Mutex;
use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};
use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recv, recvmsg, send,
    sendmsg, socketpair,
};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, waitpid};
use strum::FromRepr;

use super::{Privilege, credentials, sandbox};
use crate::backing::sys::{self, Forked};

/// The longest answer.
const LONGEST: usize = 4096;

/// The number of helper processes.
const HELPERS: usize = 2;
/// The number of sockets to each.
const LINES: usize = 5;

/// The signal that tells the helper process that the daemon died.
const DIED: i32 = libc::SIGUSR1;

/// First bytes of an answer: success, failure with an errno in four bytes, failure with a text.
const DONE: u8 = 0;
const ERRNO: u8 = 1;
const TEXT: u8 = 2;

/// A request to the helper process: one byte, and for [`Errand::Command`] and [`Errand::Status`] a process id in four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub enum Errand {
    /// Unmounts the mount if it is free; answers with the outcome as a number of the caller's choice.
    Unmount,
    /// Takes the mount out of the tree; answers likewise.
    Detach,
    /// Opens the audit log at its path: the file, or a datagram socket that is connected to the journal.
    OpenLog,
    /// Makes a datagram socket that is connected to the system's log.
    ConnectSyslog,
    /// Reads the policy, in whatever form the daemon takes it.
    ReadPolicy,
    /// Looks for the command name of a process.
    Command,
    /// Reads the status of a process.
    Status,
}

/// The answer to an errand: a text, a descriptor, or both.
pub type Answer = (Vec<u8>, Option<OwnedFd>);

/// Runs the errands that are not about processes. The implementation must hold no descriptor but those that it returns: others
/// are closed in the helper process.
pub trait Errands: Sync {
    /// Runs an errand.
    ///
    /// # Errors
    /// The implementation's; those of the system get their errno through, others their text.
    fn run(&self, errand: Errand) -> io::Result<Answer>;

    /// Returns the directory that the policy is read from, which stays open in the helper process.
    fn policy_directory(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the descriptor that cuts the connection to the kernel when it is written to, if there is one.
    fn cutter(&self) -> Option<BorrowedFd<'_>>;
}

/// Sockets to the helper processes, for one request at a time and its answer.
#[derive(Debug, Default)]
struct Line {
    sockets: Vec<OwnedFd>,
    /// The number of helper processes that are gone, whose sockets come first. Held until the request is answered.
    turn: Mutex<usize>,
}

/// The helper processes, and the daemon's lines to them.
#[derive(Debug)]
struct Helper {
    pids: Vec<Pid>,
    /// Requests wait for this one. Its errands only read /proc.
    processes: Line,
    mount: Line,
    policy: Line,
    log: Line,
    syslog: Line,
}

/// The helper process of this process, once it has one.
static HELPER: OnceLock<Helper> = OnceLock::new();

/// Time that [`dismiss`] waits. The helper process ends at once unless an errand cannot be killed, as in a write to a
/// broken disk.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Ends the helper processes, whatever their errands wait for, and reaps each that ends within a second. Does nothing
/// without them. Errands fail afterwards.
///
/// # Errors
/// Those of the system calls; the helper processes end with this one all the same.
pub fn dismiss() -> io::Result<()> {
    let Some(helper) = HELPER.get() else {
        return Ok(());
    };
    // Not the line's turn: whoever has it may wait for the helper process.
    for socket in &helper.processes.sockets {
        rustix::net::shutdown(socket, Shutdown::Write)?;
    }
    for (pid, socket) in helper.pids.iter().zip(&helper.processes.sockets) {
        // An answer that is on its way is no event here, only the closed end is.
        let end = &mut [PollFd::new(socket, PollFlags::empty())];
        if poll(end, Some(&PATIENCE))? == 1 {
            retry_on_intr(|| waitpid(Some(*pid), WaitOptions::empty()))?;
        }
    }
    Ok(())
}

/// The outcome of [`Errand::Unmount`]; `None` without a helper process.
///
/// # Errors
/// Those of the errand; `BrokenPipe` if the helper processes are gone.
#[must_use]
pub fn unmount() -> Option<io::Result<u8>> {
    outcome(Errand::Unmount)
}

/// The outcome of [`Errand::Detach`]; `None` without a helper process.
///
/// # Errors
/// As for [`unmount`].
#[must_use]
pub fn detach() -> Option<io::Result<u8>> {
    outcome(Errand::Detach)
}

fn outcome(errand: Errand) -> Option<io::Result<u8>> {
    let answer = HELPER.get()?.mount.ask(&[errand as u8]);
    Some(answer.and_then(|(outcome, _none)| outcome.first().copied().ok_or_else(garbled)))
}

/// The audit log, reopened by the helper process; `None` without one.
#[must_use]
pub fn open_log() -> Option<io::Result<OwnedFd>> {
    Some(HELPER.get()?.log.fetch(Errand::OpenLog))
}

/// A socket that the helper process has connected to the system's log; `None` without one.
#[must_use]
pub fn connect_syslog() -> Option<io::Result<OwnedFd>> {
    Some(HELPER.get()?.syslog.fetch(Errand::ConnectSyslog))
}

/// The policy as [`Errand::ReadPolicy`] reads it now; `None` without a helper process.
///
/// # Errors
/// `BrokenPipe` if the helper processes are gone; those of reading.
pub fn read_policy() -> Option<io::Result<Vec<u8>>> {
    let text = HELPER.get()?.policy.fetch(Errand::ReadPolicy);
    Some(text.and_then(|text| {
        let mut whole = Vec::new();
        File::from(text).read_to_end(&mut whole)?;
        Ok(whole)
    }))
}

/// The command name of a process, as the helper process sees it; `None` without one.
pub(super) fn command_of(pid: u32) -> Option<Vec<u8>> {
    Some(of_process(Errand::Command, pid)?.unwrap_or_default())
}

/// The status of a process, as the helper process sees it; `None` without one.
pub(super) fn status_of(pid: u32) -> Option<io::Result<Vec<u8>>> {
    of_process(Errand::Status, pid)
}

fn of_process(errand: Errand, pid: u32) -> Option<io::Result<Vec<u8>>> {
    let mut request = vec![errand as u8];
    request.extend(pid.to_le_bytes());
    let answer = HELPER.get()?.processes.ask(&request);
    Some(answer.map(|(text, _none)| text))
}

/// Starts the helper processes of this process; once, and before there are threads. Returns in this process only.
///
/// The helper of a privileged daemon keeps the capabilities to unmount and to open the log, under a seccomp filter.
/// That of a user keeps what lets it run fusermount3.
///
/// # Errors
/// `EBUSY` if there are threads or helper processes; one could not be started or could not give up what it is to.
pub fn start(errands: &impl Errands, privilege: Privilege) -> io::Result<()> {
    let mut lines: [Line; LINES] = Default::default();
    let mut pids = Vec::new();
    for _ in 0..HELPERS {
        let (pid, ours) = start_one(errands, privilege)?;
        pids.push(pid);
        for (line, socket) in lines.iter_mut().zip(ours) {
            line.sockets.push(socket);
        }
    }
    let [processes, mount, policy, log, syslog] = lines;
    let helper = Helper {
        pids,
        processes,
        mount,
        policy,
        log,
        syslog,
    };
    let set = HELPER.set(helper);
    set.map_err(|_another| io::Error::from_raw_os_error(libc::EBUSY))
}

/// Starts a helper process; returns its number and our end of each socket.
fn start_one(errands: &impl Errands, privilege: Privilege) -> io::Result<(Pid, Vec<OwnedFd>)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..LINES {
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let (end, other) = socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
        ours.push(end);
        theirs.push(other);
    }
    let daemon = rustix::process::getpid();
    let pid = match sys::fork()? {
        Forked::Child => {
            // It must not unwind into what the parent was doing, nor drop what the parent owns.
            let done = catch_unwind(AssertUnwindSafe(|| {
                live(errands, privilege, daemon, &theirs)
            }));
            sys::exit_now(i32::from(!matches!(done, Ok(Ok(())))))
        }
        Forked::Parent(pid) => pid,
    };
    drop(theirs);
    // It says that it is there, or why not.
    answer(ours.first().ok_or_else(garbled)?.as_fd())?;
    Ok((pid, ours))
}

fn garbled() -> io::Error {
    io::Error::other("the helper process gives a malformed answer")
}

impl Line {
    fn ask(&self, request: &[u8]) -> io::Result<Answer> {
        let mut gone = self.turn.lock();
        while let Some(socket) = self.sockets.get(*gone) {
            let sent = retry_on_intr(|| send(socket, request, SendFlags::NOSIGNAL));
            let sent = sent.map_err(io::Error::from);
            match sent.and_then(|_all| answer(socket.as_fd())) {
                // The helper process was killed, maybe with the request unread: no errand fails so.
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET)) =>
                {
                    *gone += 1;
                }
                answered => return answered,
            }
        }
        let all = "the helper processes were killed";
        Err(io::Error::new(io::ErrorKind::BrokenPipe, all))
    }

    fn fetch(&self, errand: Errand) -> io::Result<OwnedFd> {
        let (_empty, fd) = self.ask(&[errand as u8])?;
        fd.ok_or_else(garbled)
    }
}

/// Receives a message, and the descriptor that comes with it.
///
/// # Errors
/// Those of `recvmsg(2)`.
pub fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> rustix::io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let heard = retry_on_intr(|| {
        let parts = &mut [IoSliceMut::new(buffer)];
        recvmsg(socket, parts, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fd = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            fd = descriptors.next();
        }
    }
    Ok((heard.bytes, fd))
}

fn answer(socket: BorrowedFd<'_>) -> io::Result<Answer> {
    let mut buffer = vec![0; LONGEST];
    let (length, fd) = receive(socket, &mut buffer)?;
    buffer.truncate(length);
    match buffer.split_first() {
        Some((&DONE, rest)) => Ok((rest.to_vec(), fd)),
        Some((&ERRNO, rest)) => {
            let errno = rest.try_into().map(i32::from_le_bytes);
            Err(errno.map_or_else(|_short| garbled(), io::Error::from_raw_os_error))
        }
        Some((&TEXT, rest)) => Err(io::Error::other(
            String::from_utf8(rest.to_vec()).map_err(|_not_text| garbled())?,
        )),
        Some(_) => Err(garbled()),
        // Nobody else closes the other end.
        None => Err(io::Error::from_raw_os_error(libc::EPIPE)),
    }
}

/// Runs the helper process: gives up what it does not need, says so, and runs errands until the daemon closes the first of
/// `lines`.
fn live(
    errands: &impl Errands,
    privilege: Privilege,
    daemon: Pid,
    lines: &[OwnedFd],
) -> io::Result<()> {
    log::set_max_level(log::LevelFilter::Off);
    let (processes, others) = lines.split_first().ok_or_else(garbled)?;
    let cutter = errands.cutter();
    let kept = lines.iter().map(AsFd::as_fd).chain(cutter);
    let kept = kept.chain(errands.policy_directory());
    if let Err(error) = settle(privilege, daemon, kept) {
        return reply(processes.as_fd(), Err(error));
    }
    reply(processes.as_fd(), Ok((Vec::new(), None)))?;
    std::thread::scope(|scope| {
        for line in others {
            scope.spawn(|| attend(line, errands));
        }
        scope.spawn(|| -> io::Result<()> {
            sys::wait_for_signal_of(DIED, daemon)?;
            if let Some(cutter) = cutter {
                rustix::io::write(cutter, b"1")?;
            }
            // The rest ends with the sockets, which are the daemon's until the last of it is gone.
            Ok(())
        });
        attend(processes, errands);
        // The daemon is gone, and nobody waits for the end of an errand.
        sys::exit_now(0);
    })
}

fn settle<'a>(
    privilege: Privilege,
    daemon: Pid,
    kept: impl Iterator<Item = BorrowedFd<'a>>,
) -> io::Result<()> {
    // It fails nowhere: a child leads no group.
    rustix::process::setsid()?;
    rustix::thread::set_name(c"utf8fs-helper")?;
    std::env::set_current_dir("/")?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    drop(null);
    // The connection to the kernel among them: were it open here, a killed daemon would leave its callers waiting.
    let kept: Vec<RawFd> = kept.map(|fd| fd.as_raw_fd()).collect();
    sys::close_all_but(&kept)?;
    if privilege == Privilege::Root {
        credentials::lock_capabilities(credentials::KEPT_BY_HELPER)?;
        rustix::thread::set_no_new_privs(true)?;
    }
    // What runs as the same user must not get at it through /proc or by ptrace.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Of that of the daemon's first thread, which is the first that a killed process loses. After what drops rights, which
    // drops this as well.
    rustix::process::set_parent_process_death_signal(Signal::from_named_raw(DIED))?;
    if rustix::process::getppid() != Some(daemon) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    if privilege == Privilege::Root {
        // A kernel without seccomp has the daemon say so.
        sandbox::filter(sandbox::HELPER, privilege).or_else(sandbox::unless_missing)?;
    }
    Ok(())
}

/// Answers requests until there is nobody to ask.
fn attend(line: &OwnedFd, errands: &impl Errands) {
    let mut request = [0; 8];
    loop {
        let length = match retry_on_intr(|| recv(line, &mut request, RecvFlags::empty())) {
            Ok((length, _whole)) if length > 0 => length,
            _ => return,
        };
        let done = run(request.get(..length).unwrap_or_default(), errands);
        if reply(line.as_fd(), done).is_err() {
            return;
        }
    }
}

fn run(request: &[u8], errands: &impl Errands) -> io::Result<Answer> {
    let (&errand, pid) = request.split_first().ok_or_else(garbled)?;
    let pid = pid.try_into().map(u32::from_le_bytes);
    let pid = pid.map_err(|_none| garbled());
    match Errand::from_repr(errand).ok_or_else(garbled)? {
        Errand::Command => Ok((super::command_of(pid?), None)),
        Errand::Status => Ok((super::status_of(pid?)?, None)),
        Errand::ReadPolicy => {
            let (text, _none) = errands.run(Errand::ReadPolicy)?;
            Ok((Vec::new(), Some(in_memory(&text)?)))
        }
        errand @ (Errand::Unmount | Errand::Detach | Errand::OpenLog | Errand::ConnectSyslog) => {
            errands.run(errand)
        }
    }
}

/// A file in memory that holds `text`, which may be longer than an answer.
fn in_memory(text: &[u8]) -> io::Result<OwnedFd> {
    let file = File::from(memfd_create(c"policy", MemfdFlags::CLOEXEC)?);
    file.write_all_at(text, 0)?;
    Ok(file.into())
}

fn reply(line: BorrowedFd<'_>, done: io::Result<Answer>) -> io::Result<()> {
    let (mut message, fd) = match done {
        Ok((answer, fd)) => ([&[DONE], &*answer].concat(), fd),
        // By the two that are left out the daemon knows a helper process that is gone.
        Err(error) => match error
            .raw_os_error()
            .filter(|errno| ![libc::EPIPE, libc::ECONNRESET].contains(errno))
        {
            Some(errno) => ([&[ERRNO][..], &errno.to_le_bytes()].concat(), None),
            None => ([&[TEXT], error.to_string().as_bytes()].concat(), None),
        },
    };
    message.truncate(LONGEST);
    let descriptors: Vec<BorrowedFd<'_>> = fd.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let parts = [IoSlice::new(&message)];
    retry_on_intr(|| sendmsg(line, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}
