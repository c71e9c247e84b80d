//! Law F7: what a daemon inherits of who starts it does not end it, nor keep it from ending.

use std::fs::{File, OpenOptions};

use rustix::io::Errno;

use crate::support::{Mount, Tree, at};

/// Soft limits that whoever starts the daemon happens to have are not the daemon's.
#[test]
fn f7_soft_limits_are_raised_to_the_hard_ones() {
    let tree = Tree::new();
    let soft = [
        "--fsize=4096:",
        "--cpu=100:",
        "--as=8000000000:",
        "--data=4000000000:",
    ];
    let mount = Mount::start_under(&tree, &[&["prlimit"], &soft[..], &["--"]].concat(), &[]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", mount.id())).unwrap();
    for what in [
        "Max file size",
        "Max cpu time",
        "Max address space",
        "Max data size",
    ] {
        let line = limits.lines().find(|line| line.starts_with(what)).unwrap();
        let mut fields = line[what.len()..].split_whitespace();
        assert_eq!(fields.next(), fields.next(), "{line}");
    }
    at::write_new(mount.dir(), b"file", &[b'x'; 100_000]).unwrap();
    let file = OpenOptions::new()
        .write(true)
        .open(mount.point().join("file"))
        .unwrap();
    file.set_len(1_000_000).unwrap();
    drop(file);
    mount.stop();
}

/// A hard limit of file sizes that the daemon cannot raise is an error of one operation.
#[test]
fn f7_a_limit_of_file_sizes_does_not_kill_the_daemon() {
    for passthrough in ["auto", "off"] {
        let tree = Tree::new();
        let limit = ["prlimit", "--fsize=4096:4096", "--"];
        let mount = Mount::start_under(&tree, &limit, &["--passthrough", passthrough]);
        let file = File::create_new(mount.point().join("file")).unwrap();
        let fits = |done: std::io::Result<()>| match done {
            Ok(()) => {}
            Err(error) => assert_eq!(Errno::from_io_error(&error), Some(Errno::FBIG)),
        };
        fits(file.set_len(1_000_000));
        fits(std::os::unix::fs::FileExt::write_all_at(
            &file, b"far", 100_000,
        ));
        fits(std::os::unix::fs::FileExt::write_all_at(&file, b"near", 10));
        drop(file);
        assert_eq!(at::list(mount.dir()), [b"file"]);
        mount.stop();
    }
}

/// The program that starts the daemon may have blocked the signals that end it.
#[test]
fn f7_signals_that_were_blocked_end_the_daemon() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let tree = Tree::new();
        let blocking = ["env", "--block-signal=TERM", "--block-signal=INT"];
        let mount = Mount::start_under(&tree, &blocking, &[]);
        mount.signal(signal);
        mount.finish();
    }
}
