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

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use parking_lot::Mutex;
use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recv, recvmsg, send,
    sendmsg, socketpair,
};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, waitpid};
use strum::VariantArray;

use super::child::let_go;
use super::{Privilege, credentials, sandbox};
use crate::backing::sys;

/// The longest answer.
const LONGEST: usize = 4096;

/// The number of helper processes.
const COUNT: usize = 2;
/// The number of lines to each: of sockets for one request at a time and its answer, one for each kind of errand.
const LINES: usize = Errand::VARIANTS.len();

/// The signal that tells the helper process that the daemon died.
const DIED: i32 = libc::SIGUSR1;

/// The status in front of an answer: success, or failure with a text. Any other is the errno of a failure.
const DONE: i32 = 0;
const TEXT: i32 = -1;

/// An errand of the helper process. A request for it is the id of the process that it is about, or 0, in four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Errand {
    /// Looks for the command name of a process. Reads /proc alone, so that the thread of this line is there to end the helper process.
    Command,
    /// Reads the status of a process.
    Status,
    /// Unmounts the mount if it is free; answers with the outcome as a number of the caller's choice.
    Unmount,
    /// Takes the mount out of the tree; answers likewise. Of a guard, removes the file of its status.
    Detach,
    /// Opens the audit log at its path: the file, or a datagram socket that is connected to the journal.
    OpenLog,
    /// Makes a datagram socket that is connected to the system's log.
    ConnectSyslog,
    /// Reads the policy: a file in memory, in whatever form the daemon takes it.
    ReadPolicy,
}

/// The answer to an errand: a text of 4 KiB at most, or a descriptor.
#[derive(Debug, Default)]
pub struct Answer {
    /// The text.
    pub text: Vec<u8>,
    /// What was opened.
    pub opened: Option<OwnedFd>,
}

/// What the helper process is to do, and the descriptors of the daemon that it keeps for that. Others are closed in it.
#[expect(missing_debug_implementations, reason = "a function has no form")]
pub struct Errands<'a> {
    /// Runs an errand, about the process of this id. Errors of the system get their errno through, others their text.
    pub run: &'a (dyn Fn(Errand, u32) -> io::Result<Answer> + Sync),
    /// The directory that the policy is read from.
    pub policy_directory: Option<BorrowedFd<'a>>,
    /// The descriptor that cuts the connection to the kernel when it is written to.
    pub cutter: Option<BorrowedFd<'a>>,
}

/// A helper process, with a socket for each line.
#[derive(Debug)]
struct Helper {
    pid: Pid,
    sockets: Vec<OwnedFd>,
}

/// The helper processes of this process, once it has them.
static HELPERS: OnceLock<Vec<Helper>> = OnceLock::new();

/// The number of helper processes that are gone, which come first, as each line knows it. Held until a request is answered.
static GONE: [Mutex<usize>; LINES] = [const { Mutex::new(0) }; LINES];

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
    let helpers = HELPERS.get().into_iter().flatten();
    let first = helpers.filter_map(|helper| Some((helper.pid, helper.sockets.first()?)));
    // Whoever waits for an answer by it is not waited for.
    for (_, socket) in first.clone() {
        rustix::net::shutdown(socket, Shutdown::Write)?;
    }
    for (pid, socket) in first {
        // An answer that is on its way is no event here, only the closed end is.
        let end = &mut [PollFd::new(socket, PollFlags::empty())];
        if poll(end, Some(&PATIENCE))? == 1 {
            retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()))?;
        }
    }
    Ok(())
}

/// Has the helper process run an errand that answers with a text, about process `pid` or 0; `None` without one.
///
/// # Errors
/// Those of the errand; `BrokenPipe` if the helper processes are gone.
pub fn text(errand: Errand, pid: u32) -> Option<io::Result<Vec<u8>>> {
    Some(ask(errand, pid)?.map(|answer| answer.text))
}

/// Has the helper process run an errand that opens something; `None` without one.
///
/// # Errors
/// As for [`text`].
pub fn open(errand: Errand) -> Option<io::Result<OwnedFd>> {
    Some(ask(errand, 0)?.and_then(|answer| answer.opened.ok_or_else(garbled)))
}

fn ask(errand: Errand, pid: u32) -> Option<io::Result<Answer>> {
    let helpers = HELPERS.get()?.iter();
    let request = pid.to_le_bytes();
    let line = errand as usize;
    let mut gone = GONE.get(line)?.lock();
    let sockets = helpers.filter_map(|helper| helper.sockets.get(line));
    for socket in sockets.skip(*gone) {
        let sent = retry_on_intr(|| send(socket, &request, SendFlags::NOSIGNAL));
        let sent = sent.map_err(io::Error::from);
        match sent.and_then(|_all| answer(socket.as_fd())) {
            // The helper process was killed, maybe with the request unread: no errand fails so.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET)) => {
                *gone += 1;
            }
            answered => return Some(answered),
        }
    }
    let all = "the helper processes were killed";
    Some(Err(io::Error::new(io::ErrorKind::BrokenPipe, all)))
}

/// Starts the helper processes of this process; once, and before there are threads. Returns in this process only.
///
/// The helper of a privileged daemon keeps the capabilities to unmount and to open the log, under a seccomp filter.
/// That of a user keeps what lets it run fusermount3.
///
/// # Errors
/// `EBUSY` if there are threads or helper processes; one could not be started or could not give up what it is to.
pub fn start(errands: &Errands<'_>, privilege: Privilege) -> io::Result<()> {
    let helpers: io::Result<_> = (0..COUNT).map(|_| start_one(errands, privilege)).collect();
    let set = HELPERS.set(helpers?);
    set.map_err(|_others| io::Error::from_raw_os_error(libc::EBUSY))
}

/// Starts a helper process.
fn start_one(errands: &Errands<'_>, privilege: Privilege) -> io::Result<Helper> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let pairs = (0..LINES).map(|_| socketpair(family, kind, SocketFlags::CLOEXEC, None));
    let (sockets, theirs) = pairs.collect::<rustix::io::Result<(Vec<_>, Vec<_>)>>()?;
    let daemon = rustix::process::getpid();
    let pid = sys::fork(|| live(errands, privilege, daemon, &theirs))?;
    drop(theirs);
    // It says that it is there, or why not.
    answer(sockets.first().ok_or_else(garbled)?.as_fd())?;
    Ok(Helper { pid, sockets })
}

fn garbled() -> io::Error {
    io::Error::other("the helper process gives a malformed answer")
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
    let mut text = vec![0; LONGEST];
    let (length, opened) = receive(socket, &mut text)?;
    text.truncate(length);
    let Some(status) = text.first_chunk().copied() else {
        // Nobody else closes the other end.
        return Err(io::Error::from_raw_os_error(libc::EPIPE));
    };
    text.drain(..size_of_val(&status));
    match i32::from_le_bytes(status) {
        DONE => Ok(Answer { text, opened }),
        TEXT => Err(io::Error::other(
            String::from_utf8(text).map_err(|_not_text| garbled())?,
        )),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Runs the helper process: gives up what it does not need, says so, and runs errands until the daemon closes the first of
/// `lines`.
fn live(
    errands: &Errands<'_>,
    privilege: Privilege,
    daemon: Pid,
    lines: &[OwnedFd],
) -> io::Result<()> {
    let mut others = lines.iter().zip(Errand::VARIANTS);
    let (processes, errand) = others.next().ok_or_else(garbled)?;
    let (run, cutter) = (errands.run, errands.cutter);
    let kept = lines.iter().map(AsFd::as_fd).chain(cutter);
    let kept = kept.chain(errands.policy_directory);
    let kept: Vec<RawFd> = kept.map(|fd| fd.as_raw_fd()).collect();
    if let Err(error) = settle(privilege, daemon, &kept) {
        return reply(processes.as_fd(), Err(error));
    }
    reply(processes.as_fd(), Ok(Answer::default()))?;
    std::thread::scope(|scope| {
        for (line, errand) in others {
            scope.spawn(move || attend(line, |pid| run(*errand, pid)));
        }
        scope.spawn(|| -> io::Result<()> {
            sys::wait_for_signal_of(DIED, daemon)?;
            if let Some(cutter) = cutter {
                rustix::io::write(cutter, b"1")?;
            }
            // The rest ends with the sockets, which are the daemon's until the last of it is gone.
            Ok(())
        });
        attend(processes, |pid| run(*errand, pid));
        // The daemon is gone, and nobody waits for the end of an errand.
        signal_hook::low_level::exit(0);
    })
}

/// Gives up what the helper process does not need: of its descriptors all but `kept`.
fn settle(privilege: Privilege, daemon: Pid, kept: &[RawFd]) -> io::Result<()> {
    // It fails nowhere: a child leads no group.
    rustix::process::setsid()?;
    std::env::set_current_dir("/")?;
    // The connection to the kernel is let go of: were it open here, a killed daemon would leave its callers waiting.
    let_go(c"utf8fs-helper", kept)?;
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
        match sandbox::filter(sandbox::HELPER, privilege) {
            // A kernel without seccomp has the daemon say so.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => {}
            filtered => filtered?,
        }
    }
    Ok(())
}

/// Answers requests until there is nobody to ask.
fn attend(line: &OwnedFd, run: impl Fn(u32) -> io::Result<Answer>) {
    let mut pid = [0; 4];
    while let Ok((4, _)) = retry_on_intr(|| recv(line, &mut pid, RecvFlags::empty())) {
        if reply(line.as_fd(), run(u32::from_le_bytes(pid))).is_err() {
            return;
        }
    }
}

fn reply(line: BorrowedFd<'_>, done: io::Result<Answer>) -> io::Result<()> {
    let (status, text, opened) = match done {
        Ok(Answer { text, opened }) => (DONE, text, opened),
        Err(error) => {
            // By these two the daemon knows a helper process that is gone.
            let errno = error.raw_os_error();
            let errno = errno.filter(|errno| ![libc::EPIPE, libc::ECONNRESET].contains(errno));
            (errno.unwrap_or(TEXT), error.to_string().into(), None)
        }
    };
    let mut message = [&status.to_le_bytes(), &*text].concat();
    message.truncate(LONGEST);
    let descriptors: Vec<BorrowedFd<'_>> = opened.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let parts = [IoSlice::new(&message)];
    retry_on_intr(|| sendmsg(line, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}
