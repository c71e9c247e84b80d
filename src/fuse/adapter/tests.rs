//! What becomes of an operation that panics.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::backing::{Dir, Privilege};
use crate::fs::audit::{AuditOptions, Auditor, Format, SinkKind};
use crate::fs::{Config, Exemptions, ROOT};
use crate::names::{Legacy, NameMap, OnViolation};
use crate::policy::{ErrnoChoice, Policy};

const CALLER: Caller = Caller {
    uid: 0,
    gid: 0,
    pid: 0,
};

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{}: {}", record.level(), record.args());
        SAID.lock().unwrap().push(line);
    }
    fn flush(&self) {}
}

fn over(directory: &std::path::Path) -> Utf8Fs {
    let log = SinkKind::File("/dev/null".into());
    Utf8Fs::new(Config {
        map: NameMap {
            policy: Policy::default(),
            legacy: Legacy::Escape,
            from: Vec::new(),
            store_as: None,
            on_violation: OnViolation::Reject,
            errno: ErrnoChoice::default(),
        },
        unique: None,
        unseen: Duration::from_secs(1),
        exempt: Exemptions::default(),
        root: Dir::open_root(directory).unwrap().into_fd(),
        by_handle: None,
        watcher: None,
        keeps_lists: false,
        locks: crate::fs::LocksAt::Local,
        waits: crate::fs::Waits::None,
        privilege: Privilege::User,
        most_descriptors: 64,
        auditor: Auditor::new(AuditOptions::default(), log, Format::Text, Vec::new()).unwrap(),
        mountpoint: Vec::new(),
        covers_backing: false,
    })
    .unwrap()
}

#[test]
fn a_panic_costs_one_operation_and_is_logged_with_its_name() {
    log::set_boxed_logger(Box::new(Listener)).unwrap();
    log::set_max_level(log::LevelFilter::Error);
    let below = tempfile::tempdir().unwrap();
    std::fs::write(below.path().join("file"), "").unwrap();
    let adapter = Adapter::new(
        Arc::new(over(below.path())),
        Kept {
            heard: Duration::ZERO,
            unheard: Duration::ZERO,
        },
        Passthrough::Off,
        (1, 1),
        std::fs::File::open(below.path()).unwrap().into(),
        About::default(),
    )
    .unwrap();
    let failed = adapter.run::<()>(&adapter.begin(Operation::Mkdir), |fs| {
        // In the middle of a change, with what it holds.
        let _entry = fs.lookup(CALLER, ROOT, b"file")?;
        panic!("a bug");
    });
    assert_eq!(failed.map_err(|errno| errno.code()), Err(libc::EIO));
    let said = SAID.lock().unwrap().clone();
    assert!(
        said.iter()
            .any(|line| line.starts_with("ERROR: mkdir: internal error")),
        "{said:?}"
    );
    for (name, is_found) in [(&b"file"[..], true), (b"none", false)] {
        let counted = adapter.begin(Operation::Lookup);
        let found = adapter.run(&counted, |fs| fs.lookup(CALLER, ROOT, name));
        assert_eq!(found.is_ok(), is_found);
    }
    let count = |operation| {
        let count = adapter.tally.count(operation);
        (count.requests, count.errors, count.calls > 0)
    };
    assert_eq!(count(Operation::Mkdir), (1, 1, true));
    assert_eq!(count(Operation::Lookup), (2, 1, true));
}
