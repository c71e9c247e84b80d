//! Requests that panic.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::fs::{Answer, ROOT};
use crate::fuse::layout::InHeader;
use crate::fuse::request::Arguments;
use crate::fuse::samples::{connect, service};

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes errors, and panics where an operation fails: after it, before its answer.
struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{}: {}", record.level(), record.args());
        assert!(!line.ends_with(": errno 2"), "a bug");
        if record.level() == log::Level::Error {
            SAID.lock().push(line);
        }
    }
    fn flush(&self) {}
}

/// Speaks the protocol (linux/fuse.h) in place of the kernel.
struct Kernel(UnixDatagram);

const LOOKUP: u32 = 1;
const UNLINK: u32 = 10;
const INIT: u32 = 26;
const DESTROY: u32 = 38;
/// Of no operation.
const UNKNOWN: u32 = 1000;

impl Kernel {
    /// Sends a request about the root, and returns the errno of the answer.
    fn ask(&self, opcode: u32, body: &[u8]) -> i32 {
        let length = u32::try_from(40 + body.len()).unwrap();
        let mut request = [length.to_ne_bytes(), opcode.to_ne_bytes()].concat();
        // The request's number, and the inode's; its caller is root.
        request.extend([7_u64.to_ne_bytes(), ROOT.to_ne_bytes()].concat());
        request.extend([0; 16]);
        request.extend(body);
        self.0.send(&request).unwrap();
        let mut answer = [0; 4096];
        let length = self.0.recv(&mut answer).expect("nobody answers");
        assert!(length >= 16);
        -i32::from_ne_bytes(answer[4..8].try_into().unwrap())
    }

    fn init(&self) {
        let mut body = [7_u32.to_ne_bytes(), 40_u32.to_ne_bytes()].concat();
        body.resize(64, 0);
        assert_eq!(self.ask(INIT, &body), 0);
    }
}

/// Law F7.
#[test]
fn f7_a_panic_anywhere_in_a_request_costs_that_request_and_is_logged_with_its_name() {
    log::set_boxed_logger(Box::new(Listener)).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let below = tempfile::tempdir().unwrap();
    std::fs::write(below.path().join("file"), "").unwrap();
    let service = service(below.path(), 1);
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let kernel = Kernel(ours);
    let (tell, told) = std::sync::mpsc::channel();
    let session = std::thread::spawn(move || {
        let connection = connect(service, Err(NoRings::Off), theirs.into()).unwrap();
        tell.send(connection.metrics()).unwrap();
        connection.run(drop).unwrap();
    });
    kernel.init();
    let metrics = told.recv().unwrap();
    for (opcode, name, errno) in [
        (LOOKUP, &b"file\0"[..], 0),
        (LOOKUP, b"none\0", libc::EIO),
        (UNLINK, b"none\0", libc::EIO),
        (LOOKUP, b"file\0", 0),
        (UNKNOWN, b"", libc::ENOSYS),
        (LOOKUP, b"no NUL", libc::EIO),
        (UNLINK, b"file\0", 0),
    ] {
        assert_eq!(kernel.ask(opcode, name), errno, "{opcode}");
    }
    assert_eq!(kernel.ask(DESTROY, b""), libc::ENOSYS);
    session.join().unwrap();
    let said = SAID.lock().clone();
    for operation in ["unlink", "lookup"] {
        let wanted = format!("ERROR: {operation}: internal error");
        let times = said.iter().filter(|line| line.starts_with(&wanted));
        assert_eq!(times.count(), 1, "{said:?}");
    }
    let count = |operation| {
        let count = metrics.count(operation);
        (count.requests, count.errors, count.backing_calls > 0)
    };
    assert_eq!(count(Operation::Unlink), (2, 1, true));
    assert_eq!(count(Operation::Lookup), (4, 2, true));
}

proptest! {
    /// The kernel is trusted, and yet no bytes of a request make the daemon fail.
    #[test]
    fn no_request_panics(
        operation in proptest::sample::select(<Operation as strum::VariantArray>::VARIANTS),
        number in 0..60_u32,
        node in prop_oneof![Just(ROOT), any::<u64>()],
        octets in proptest::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..200),
        room in 0..300_usize,
    ) {
        let below = tempfile::tempdir().unwrap();
        let device = std::fs::File::open("/dev/null").unwrap();
        let adapter = Adapter::new(
            service(below.path(), 1),
            false,
            Arc::new(device.into()),
            Err(NoRings::Off),
        );
        let header = InHeader {
            opcode: number,
            node,
            ..InHeader::default()
        };
        let later = || -> Answer { Box::new(|_| ()) };
        let request = Request::new(header, Arguments::new(&octets), Some(&later));
        let mut buffer = vec![0; room];
        let mut reply = Reply::new(&mut buffer);
        if let Ok(call) = FuseCall::of(operation, request) {
            let _answer = adapter.answer(request, call, &mut reply);
        }
        prop_assert!(reply.length <= room);
        let _answer = adapter.answer_status(request, number, &mut Reply::new(&mut buffer));
    }
}
