//! What becomes of an operation that panics.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::backing::Dir;
use crate::fs::ROOT;
use crate::fs::samples::{CALLER, config, map};
use crate::names::Legacy;

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
    let root = Dir::open_root(directory).unwrap().into_fd();
    Utf8Fs::new(config(root, map(Legacy::Escape, &[]))).unwrap()
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
