//! fuser as the judge of our protocol code. Both get the same request bytes and must take the same arguments from them, and both
//! must make the same bytes of the same results. A kernel is not needed: it is the other end of a pair of sockets.
//!
//! What fuser cannot carry is checked here by other means: [`NOT_CARRIED`]. Where we mean to differ: [`Difference`].

mod answers;
mod conversions;
mod not_carried;
mod recorder;
mod requests;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fuser::{Config, FopenFlags, Session, SessionACL};
use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustix::fs::{StatVfs, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use strum::VariantArray;
use zerocopy::IntoBytes;

use super::fuse_call::FuseCall;
use super::layout::{ForgetOne, InHeader, OutHeader};
use super::operation::Operation;
use super::reply::{InodeNumbers, Reply, entry_out};
use super::request::{Arguments, Request};
use crate::backing::{LockRange, Stat, Time, xattr};
use crate::coherence::Kept;
use crate::fs::Listed;
use conversions::asked;
use recorder::Recorder;
use requests::{Asked, REQUESTS, Values};

/// The operations that we serve and that fuser 0.18 cannot carry, and how they are checked.
const NOT_CARRIED: &[(Operation, &str)] = &[
    (
        Operation::Tmpfile,
        "unknown to fuser; it is a CREATE under another number (`fuse_tmpfile` in `fs/fuse/dir.c`), and judged as one",
    ),
    (
        Operation::Statx,
        "unknown to fuser; it has no arguments that we use, and its answer is compared with `struct statx` of the C library",
    ),
    (
        Operation::Interrupt,
        "fuser answers it without its filesystem; it has one argument, which is compared with the bytes of the request",
    ),
];

/// A field of an answer in which we differ from fuser on purpose.
struct Difference {
    offset: usize,
    ours: Vec<u8>,
}

/// In the attributes of an entry: fuser has one number for the inode and for what stat(2) shows. Ours are two, since the number
/// below may be that of an inode that the kernel knows already (law F10).
fn shown_number(results: &Results, entry: usize) -> Difference {
    Difference {
        offset: entry + 40,
        ours: results.numbers.shown.to_ne_bytes().to_vec(),
    }
}

/// In an entry of CREATE and READDIRPLUS: fuser has one timeout for the name and for the attributes. Ours are two: whoever
/// changes a file changes no name (law F5).
fn attribute_timeout(results: &Results, entry: usize) -> [Difference; 2] {
    let kept = results.kept.attributes;
    [
        Difference {
            offset: entry + 24,
            ours: kept.as_secs().to_ne_bytes().to_vec(),
        },
        Difference {
            offset: entry + 36,
            ours: kept.subsec_nanos().to_ne_bytes().to_vec(),
        },
    ]
}

/// Behind the entry of READDIRPLUS: fuser takes the number of the inode for the one that getdents(2) shows.
fn listed_number(results: &Results, entry: usize) -> Difference {
    Difference {
        offset: entry + 128,
        ours: results.numbers.shown.to_ne_bytes().to_vec(),
    }
}

/// Returns all fields in which the answer to `call` differs on purpose; it has `length` bytes behind its header.
fn differences(call: &FuseCall<'_>, results: &Results, length: usize) -> Vec<Difference> {
    let is_entry = matches!(
        call,
        FuseCall::Lookup(_)
            | FuseCall::Symlink { .. }
            | FuseCall::Mknod { .. }
            | FuseCall::Mkdir(_)
            | FuseCall::Link { .. }
    );
    if length == 0 {
        return Vec::new();
    }
    if is_entry {
        return vec![shown_number(results, 0)];
    }
    if matches!(call, FuseCall::Create(_) | FuseCall::Tmpfile(_)) {
        let mut all = vec![shown_number(results, 0)];
        all.extend(attribute_timeout(results, 0));
        return all;
    }
    if !matches!(call, FuseCall::Readdirplus(_)) {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut entry = 0;
    for (_cookie, name) in &results.listed {
        if entry >= length {
            break;
        }
        all.extend([shown_number(results, entry), listed_number(results, entry)]);
        all.extend(attribute_timeout(results, entry));
        entry += (128 + 24 + name.len()).next_multiple_of(8);
    }
    all
}

/// The results of an operation, whichever it is.
#[derive(Debug, Clone)]
struct Results {
    errno: Option<i32>,
    numbers: InodeNumbers,
    stat: Stat,
    kept: Kept,
    handle: u64,
    open_flags: FopenFlags,
    written: u32,
    offset: u64,
    lock: (LockRange, i32, u32),
    /// Blocks in all, free and available, inodes in all and free; size of a block, longest name, size of a fragment.
    sizes: ([u64; 5], [u32; 3]),
    /// What is read, a target, or the value of an attribute.
    data: Vec<u8>,
    /// Cookies and names.
    listed: Vec<(u64, Vec<u8>)>,
    /// The size that the request has for a list.
    list_size: u32,
}

/// Types of inodes. fuser does not know that of an entry that the filesystem does not tell (`DT_UNKNOWN`).
const TYPES: [u32; 7] = [
    libc::S_IFREG,
    libc::S_IFDIR,
    libc::S_IFLNK,
    libc::S_IFIFO,
    libc::S_IFSOCK,
    libc::S_IFCHR,
    libc::S_IFBLK,
];

impl Results {
    fn new(values: &mut Values) -> Self {
        let has_failed = values.int().is_multiple_of(4);
        let errno = i32::try_from(1 + values.int() % 133).unwrap();
        let mut duration = || Duration::new(values.long(), values.nanos());
        let kept = Kept {
            name: duration(),
            attributes: duration(),
        };
        let numbers = InodeNumbers {
            node: values.long(),
            generation: values.long(),
            shown: values.long(),
        };
        let passthrough = FopenFlags::FOPEN_PASSTHROUGH;
        let range = LockRange {
            start: values.long(),
            end: values.long(),
        };
        Self {
            errno: has_failed.then_some(errno),
            numbers,
            stat: stat(values),
            kept,
            handle: values.long(),
            // fuser asks for a `BackingId` of its own for that one.
            open_flags: FopenFlags::from_bits_retain(values.int()) - passthrough,
            written: values.int(),
            offset: values.long(),
            lock: (range, values.int().cast_signed(), values.int()),
            sizes: (
                [(); 5].map(|()| values.long()),
                [(); 3].map(|()| values.int()),
            ),
            data: values.data.clone(),
            listed: (0..values.int() % 6)
                .map(|_| (values.long(), values.name()))
                .collect(),
            list_size: 0,
        }
    }

    /// The bytes that a READ of this size gets.
    fn data_of(&self, size: u32) -> &[u8] {
        let size = usize::try_from(size).unwrap();
        self.data.get(..size).unwrap_or(&self.data)
    }

    fn statvfs(&self) -> StatVfs {
        let ([blocks, bfree, bavail, files, ffree], [bsize, namelen, frsize]) = self.sizes;
        StatVfs {
            f_bsize: bsize.into(),
            f_frsize: frsize.into(),
            f_blocks: blocks,
            f_bfree: bfree,
            f_bavail: bavail,
            f_files: files,
            f_ffree: ffree,
            f_favail: 1,
            f_fsid: 2,
            f_flag: StatVfsMountFlags::RDONLY,
            f_namemax: namelen.into(),
        }
    }
}

fn stat(values: &mut Values) -> Stat {
    let type_of = usize::try_from(values.int()).unwrap() % TYPES.len();
    let mode = TYPES[type_of] | values.int() & 0o7777;
    let mut time = || Time {
        secs: values.long().cast_signed(),
        nanos: values.nanos(),
    };
    let (atime, mtime, ctime, btime) = (time(), time(), time(), time());
    Stat {
        dev: values.long(),
        ino: values.long(),
        mode,
        nlink: values.int(),
        uid: values.int(),
        gid: values.int(),
        rdev: values.int().into(),
        size: values.long(),
        blocks: values.long(),
        blksize: values.int(),
        atime,
        mtime,
        ctime,
        btime: Some(btime),
        is_append_only: false,
        mnt_id: 0,
    }
}

/// A session of fuser, with us in the kernel's place.
struct Judge {
    kernel: OwnedFd,
    asked: Receiver<String>,
    results: Arc<Mutex<Option<Results>>>,
    session: JoinHandle<std::io::Result<()>>,
}

const PATIENCE: Duration = Duration::from_secs(60);
const INIT: u32 = 26;
const DESTROY: u32 = 38;

impl Judge {
    fn new() -> Self {
        let (kernel, daemon) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        sockopt::set_socket_timeout(&kernel, sockopt::Timeout::Recv, Some(PATIENCE)).unwrap();
        let (sender, asked) = channel();
        let results = Arc::default();
        let recorder = Recorder {
            asked: sender,
            results: Arc::clone(&results),
        };
        let session = std::thread::spawn(move || {
            let acl = SessionACL::All;
            Session::from_fd(recorder, daemon, acl, Config::default())?.run()
        });
        let judge = Self {
            kernel,
            asked,
            results,
            session,
        };
        let version: Vec<u8> = [7_u32, 40, 0, 0]
            .iter()
            .flat_map(|int| int.to_ne_bytes())
            .collect();
        judge.send(&request_of(INIT, &version));
        assert_eq!(errno(&judge.answer()), 0);
        judge
    }

    fn send(&self, request: &[u8]) {
        assert_eq!(rustix::io::write(&self.kernel, request), Ok(request.len()));
    }

    /// Returns the next answer.
    fn answer(&self) -> Vec<u8> {
        let mut answer = vec![0; 1 << 18];
        let length = rustix::io::read(&self.kernel, &mut answer).expect("fuser does not answer");
        assert!(length >= 16, "fuser has ended");
        answer.truncate(length);
        answer
    }

    /// Returns what the filesystem under fuser was asked next.
    fn asked(&self) -> String {
        self.asked
            .recv_timeout(PATIENCE)
            .expect("fuser asks nothing")
    }

    fn end(self) {
        self.send(&request_of(DESTROY, &[]));
        self.answer();
        self.session.join().unwrap().unwrap();
        assert_eq!(self.asked.try_iter().next(), None);
    }
}

/// The bytes of a request about nothing.
fn request_of(opcode: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(40 + body.len()).unwrap();
    let mut octets = [length.to_ne_bytes(), opcode.to_ne_bytes()].concat();
    octets.extend([0; 32]);
    octets.extend(body);
    octets
}

fn errno(answer: &[u8]) -> i32 {
    -i32::from_ne_bytes(answer[4..8].try_into().unwrap())
}

/// Takes a request apart as `device.rs` does.
fn parse(octets: &[u8]) -> Request<'_> {
    let mut arguments = Arguments::new(octets);
    let header: InHeader = arguments.record().unwrap();
    Request::new(header, arguments, None)
}

/// Takes a request apart as `ring.rs` does: its first record lies apart from the rest, with room behind it.
fn parse_apart<'a>(octets: &'a [u8], first: &'a mut [u8; 128], first_length: usize) -> Request<'a> {
    let mut arguments = Arguments::new(octets);
    let header: InHeader = arguments.record().unwrap();
    let (record, rest) = octets[40..].split_at(first_length);
    first[..first_length].copy_from_slice(record);
    Request::new(header, Arguments::apart(first, rest), None)
}

/// Says what our parser takes from a request, as [`Recorder`] says what fuser does.
fn said(request: Request<'_>, call: &FuseCall<'_>) -> String {
    asked(request.unique, request.node, request.caller, call)
}

/// Puts the results of `call` together as `operations.rs` does.
fn put(call: &FuseCall<'_>, results: &Results, reply: &mut Reply<'_>) -> Result<(), i32> {
    let entry = entry_out(results.numbers, &results.stat, results.kept);
    let attributes = (results.stat, results.kept.attributes);
    let (handle, open_flags) = (results.handle, results.open_flags);
    let refused = |errno: Errno| Err(errno.raw_os_error());
    let put = match call {
        FuseCall::Ioctl => return refused(Errno::NOTTY),
        FuseCall::Bmap | FuseCall::Poll => return refused(Errno::NOSYS),
        _ if results.errno.is_some() => return results.errno.map_or(Ok(()), Err),
        FuseCall::Getxattr { size, .. } | FuseCall::Listxattr(size) => {
            let fill = |room: &mut [u8]| Ok(xattr::answer(&results.data, room)?);
            return reply.sized(*size, fill).map_err(|error| error.errno());
        }
        FuseCall::Lookup(_)
        | FuseCall::Symlink { .. }
        | FuseCall::Mknod { .. }
        | FuseCall::Mkdir(_)
        | FuseCall::Link { .. } => reply.record(&entry),
        FuseCall::Create(_) | FuseCall::Tmpfile(_) => reply
            .record(&entry)
            .and_then(|()| reply.opened(handle, open_flags, 0)),
        FuseCall::Getattr | FuseCall::Setattr { .. } => {
            reply.attributes(results.numbers.shown, attributes)
        }
        FuseCall::Statx => reply.statx(results.numbers.shown, attributes),
        FuseCall::Readlink => reply.data(&results.data),
        FuseCall::Open(_) | FuseCall::Opendir(_) => reply.opened(handle, open_flags, 0),
        FuseCall::Read(read) => {
            reply.limit(read.size);
            reply.filled(|room| {
                let length = room.len().min(results.data.len());
                room[..length].copy_from_slice(&results.data[..length]);
                Ok(length)
            })
        }
        FuseCall::Write(_) | FuseCall::CopyFileRange(_) => {
            reply.written(usize::try_from(results.written).unwrap())
        }
        FuseCall::Lseek(_) => reply.offset(results.offset),
        FuseCall::Getlk(_) => reply.lock(results.lock.0, results.lock.1, results.lock.2),
        FuseCall::Statfs => reply.statfs(&results.statvfs()),
        FuseCall::Readdir(read) | FuseCall::Readdirplus(read) => {
            reply.limit(read.size);
            let is_plus = matches!(call, FuseCall::Readdirplus(_));
            for (cookie, name) in &results.listed {
                let listed = Listed {
                    number: results.numbers.shown,
                    cookie: *cookie,
                    kind: results.stat.kind(),
                    name,
                    entry: None,
                };
                if reply.listed(&listed, is_plus.then_some(entry)) {
                    break;
                }
            }
            Ok(())
        }
        FuseCall::Forget(_)
        | FuseCall::Unlink(_)
        | FuseCall::Rmdir(_)
        | FuseCall::Rename(_)
        | FuseCall::Flush { .. }
        | FuseCall::Release(_)
        | FuseCall::Releasedir(_)
        | FuseCall::Fsync(_)
        | FuseCall::Fsyncdir(_)
        | FuseCall::Fallocate(_)
        | FuseCall::Setlk(_)
        | FuseCall::Access(_)
        | FuseCall::Setxattr { .. }
        | FuseCall::Removexattr(_)
        | FuseCall::Interrupt(_) => Ok(()),
    };
    put.map_err(Errno::raw_os_error)
}

/// Returns our whole answer, with its header, as `device.rs` sends it.
fn our_answer(unique: u64, put: impl FnOnce(&mut Reply<'_>) -> Result<(), i32>) -> Vec<u8> {
    let mut room = vec![0; 1 << 18];
    let mut reply = Reply::new(&mut room);
    let (error, length) = match put(&mut reply) {
        Ok(()) => (0, reply.length),
        Err(errno) => (-errno, 0),
    };
    let header = OutHeader::new(unique, error, length);
    [header.as_bytes(), &room[..length]].concat()
}

/// Returns what fuser is to take from the same bytes: it tells no flock(2) from fcntl(2), and calls its filesystem for each inode of
/// a FORGET of several.
fn expected_of_fuser(request: Request<'_>, call: &FuseCall<'_>) -> Vec<String> {
    if let FuseCall::Forget(forgets) = call {
        let said = |forget: &ForgetOne| {
            let call = FuseCall::Forget(vec![*forget]);
            asked(request.unique, forget.node, request.caller, &call)
        };
        return forgets.iter().map(said).collect();
    }
    if let FuseCall::Tmpfile(create) = call {
        return vec![said(request, &FuseCall::Create(*create))];
    }
    vec![said(request, call).replace("call: Flock", "call: Fcntl")]
}

fn int_at(octets: &[u8], offset: usize) -> u32 {
    u32::from_ne_bytes(octets[offset..offset + 4].try_into().unwrap())
}

fn long_at(octets: &[u8], offset: usize) -> u64 {
    u64::from_ne_bytes(octets[offset..offset + 8].try_into().unwrap())
}

/// Checks what fuser does not tell.
fn check_by_hand(octets: &[u8], call: &FuseCall<'_>) {
    if let FuseCall::Getlk(lock) | FuseCall::Setlk(lock) = call {
        let is_flock = int_at(octets, 40 + 40) & 1 != 0;
        let call = ["Fcntl", "Flock"][usize::from(is_flock)];
        assert_eq!(format!("{:?}", lock.call), call);
    }
    if let FuseCall::Interrupt(unique) = call {
        assert_eq!(*unique, long_at(octets, 40));
    }
}

/// Has one request taken apart and answered by both.
fn compare(judge: &Judge, operation: Operation, asked: &Asked, mut results: Results) {
    const CREATE: u32 = 35;
    let request = parse(&asked.octets);
    let call = FuseCall::of(operation, request).expect("the request is whole");
    if let Some(first_length) = asked.first_record {
        let mut first = [0xEE; 128];
        let by_ring = parse_apart(&asked.octets, &mut first, first_length);
        let call_by_ring = FuseCall::of(operation, by_ring).expect("the request is whole");
        assert_eq!(said(by_ring, &call_by_ring), said(request, &call));
    }
    check_by_hand(&asked.octets, &call);
    if NOT_CARRIED.iter().any(|not| not.0 == operation) {
        judge.send(&asked.octets);
        assert_eq!(
            errno(&judge.answer()),
            libc::ENOSYS,
            "fuser carries {operation:?}"
        );
    }
    if matches!(operation, Operation::Statx | Operation::Interrupt) {
        return;
    }
    if let FuseCall::Readdir(_) | FuseCall::Readdirplus(_) = call {
        results.list_size = int_at(&asked.octets, 40 + 16);
    }
    *judge.results.lock() = Some(results.clone());
    if operation == Operation::Tmpfile {
        judge.send(&asked.with_opcode(CREATE).octets);
    } else {
        judge.send(&asked.octets);
    }
    for expected in expected_of_fuser(request, &call) {
        assert_eq!(
            judge.asked(),
            expected,
            "{operation:?}: fuser takes other arguments"
        );
    }
    // A FORGET is not answered: what was would be the answer to the next request.
    if operation == Operation::Forget {
        return;
    }
    let mut theirs = judge.answer();
    let ours = our_answer(asked.unique, |reply| put(&call, &results, reply));
    for difference in differences(&call, &results, theirs.len() - 16) {
        let offset = 16 + difference.offset;
        let field = theirs.get_mut(offset..offset + difference.ours.len());
        field.unwrap().copy_from_slice(&difference.ours);
    }
    assert_eq!(ours, theirs, "{operation:?}: fuser answers otherwise");
}

#[test]
fn fuser_takes_the_same_arguments_from_requests_and_makes_the_same_answers() {
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        // The session is in the middle of a request then.
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    });
    let judge = Judge::new();
    runner
        .run(&Values::any(), |mut values| {
            for (operation, opcode, parts) in REQUESTS {
                let asked = Asked::new(*opcode, parts, &mut values);
                compare(&judge, *operation, &asked, Results::new(&mut values));
            }
            Ok(())
        })
        .unwrap();
    judge.end();
}

#[test]
fn every_operation_is_judged() {
    for (operation, opcode, _) in REQUESTS {
        assert_eq!(Operation::of(*opcode), Some(*operation));
    }
    for operation in Operation::VARIANTS {
        let is_judged = REQUESTS.iter().any(|request| request.0 == *operation);
        assert!(is_judged, "{operation:?}");
    }
    for (operation, reason) in NOT_CARRIED {
        assert!(!reason.is_empty(), "{operation:?}");
    }
}
