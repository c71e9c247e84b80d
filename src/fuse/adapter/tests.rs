//! Requests that panic.

use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;
use std::time::Duration;

use fuser::{Config, Session, SessionACL};

use super::*;
use crate::backing::Dir;
use crate::coherence::{Keeping, Times};
use crate::fs::ROOT;
use crate::fs::samples::{CALLER, config, map};
use crate::names::Legacy;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes errors, and panics where a lookup fails: after the operation, before the answer.
struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{}: {}", record.level(), record.args());
        assert!(!line.starts_with("TRACE: lookup: errno"), "a bug");
        if record.level() == log::Level::Error {
            SAID.lock().unwrap().push(line);
        }
    }
    fn flush(&self) {}
}

fn over(directory: &std::path::Path) -> Adapter {
    let root = Dir::open_root(directory).unwrap().into_fd();
    let fs = Arc::new(Utf8Fs::new(config(root, map(Legacy::Escape, &[]))).unwrap());
    let keeping = Keeping {
        times: Times {
            heard: Duration::ZERO,
            unheard: Duration::ZERO,
        },
        watcher: None,
        keeps_lists: false,
    };
    Adapter::new(
        Arc::new(Coherence::new(fs, keeping)),
        Passthrough::Off,
        (1, 1),
        std::fs::File::open(directory).unwrap().into(),
        About::default(),
    )
    .unwrap()
}

/// Speaks the protocol (linux/fuse.h) in place of the kernel.
struct Kernel(UnixDatagram);

const LOOKUP: u32 = 1;
const INIT: u32 = 26;
const DESTROY: u32 = 38;

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
    let adapter = over(below.path());
    let mkdirs = Arc::clone(&adapter.tally);
    adapter.serve(Operation::Mkdir, CALLER, |counted| {
        let made = adapter.run::<()>(counted, |fs| {
            // In the middle of a change, with what it holds.
            let _entry = fs.lookup(CALLER, ROOT, b"file")?;
            panic!("a bug");
        });
        made.unwrap();
    });
    // One for a thread of its own.
    let adapter = over(below.path());
    let lookups = Arc::clone(&adapter.tally);
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let kernel = Kernel(ours);
    let session = std::thread::spawn(move || {
        let session = Session::from_fd(adapter, theirs.into(), SessionACL::All, Config::default());
        session.unwrap().run().unwrap();
    });
    kernel.init();
    for (name, errno) in [
        (&b"file\0"[..], 0),
        (b"none\0", libc::EIO),
        (b"file\0", 0),
        (b"none\0", libc::EIO),
    ] {
        assert_eq!(kernel.ask(LOOKUP, name), errno);
    }
    assert_eq!(kernel.ask(DESTROY, b""), 0);
    session.join().unwrap();
    let said = SAID.lock().unwrap().clone();
    for operation in ["mkdir", "lookup"] {
        let wanted = format!("ERROR: {operation}: internal error");
        assert!(
            said.iter().any(|line| line.starts_with(&wanted)),
            "{said:?}"
        );
    }
    let count = |tally: &Tally, operation| {
        let count = tally.count(operation);
        (count.requests, count.errors, count.calls > 0)
    };
    assert_eq!(count(&mkdirs, Operation::Mkdir), (1, 1, true));
    assert_eq!(count(&lookups, Operation::Lookup), (4, 2, true));
}
