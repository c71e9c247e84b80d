//! The program's own log, on a standard error that takes nothing: a pipe whose reader sleeps.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::support::mount::{binary, mounted};
use crate::support::wait::until;
use crate::support::{Mount, Tree};

/// Longest time that the log may take from an operation or from the end; what would break it is for ever.
const SOON: Duration = Duration::from_secs(60);

/// Mounts with a FIFO as standard error; returns its other end.
fn mount<'t>(tree: &'t Tree, options: &[&str]) -> (Mount<'t>, File) {
    let path = tree.parent().join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut open = OpenOptions::new();
    open.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let pipe = open.open(&path).unwrap();
    let script = format!("exec \"$0\" \"$@\" 2>{}", path.to_str().unwrap());
    (
        Mount::start_under(tree, &["sh", "-c", &script], options),
        pipe,
    )
}

/// Writes until the pipe takes nothing more.
fn fill(mut pipe: &File) {
    for size in [4096, 1] {
        while pipe.write(&vec![b'.'; size]).is_ok() {}
    }
}

/// Returns what is in the pipe.
fn drain(mut pipe: &File) -> String {
    let mut text = Vec::new();
    let end = pipe.read_to_end(&mut text).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::WouldBlock);
    String::from_utf8(text).unwrap()
}

#[test]
fn f6_a_program_log_that_takes_nothing_stops_no_operation_and_not_the_end() {
    let tree = Tree::new();
    tree.file(b"bad\x85name", b"");
    let (mut mount, pipe) = mount(&tree, &["--from", "iso-8859-1"]);
    fill(&pipe);
    let (done, is_done) = channel();
    let point = mount.point();
    std::thread::spawn(move || done.send(std::fs::read_dir(point).unwrap().count()));
    // It is logged that the name is shown with a control character.
    let count = is_done.recv_timeout(SOON);
    assert_eq!(count.expect("a listing waits for the log"), 1);
    mount.close();
    let asked = Instant::now();
    mount.signal(Signal::TERM);
    assert!(mount.wait().success());
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!(mounted(&tree.point()), None);
}

#[test]
fn f6_what_the_program_log_left_out_is_counted_once_there_is_room() {
    const REFUSALS: usize = 5000;
    let tree = Tree::new();
    let (mut mount, pipe) = mount(&tree, &["-vv"]);
    let name = mount.point().join(OsStr::from_bytes(b"\xFF"));
    let refuse = move || std::fs::create_dir(&name).unwrap_err();
    refuse();
    const REFUSAL: &str = ": mkdir: errno 84\n";
    let mut text = String::new();
    until(|| {
        text += &drain(&pipe);
        text.contains(REFUSAL)
    });
    fill(&pipe);
    text.clear();
    let (done, is_done) = channel();
    std::thread::spawn(move || {
        (0..REFUSALS).for_each(|_| drop(refuse()));
        done.send(())
    });
    let all = is_done.recv_timeout(SOON);
    all.expect("an operation waits for the log");
    let is_notice = |line: &&str| line.contains("messages left out");
    until(|| {
        text += &drain(&pipe);
        text.ends_with('\n') && text.lines().any(|line| is_notice(&line))
    });
    let notice = text.lines().find(is_notice).unwrap();
    let mut words = notice.split(' ');
    let left_out: usize = words.find_map(|word| word.parse().ok()).unwrap();
    let written = text.matches(REFUSAL).count();
    assert!(left_out > 0 && written > 0, "{notice}");
    assert!(written + left_out >= REFUSALS, "{written}, {notice}");
    // From then on nothing is lost, to the end.
    mount.close();
    mount.signal(Signal::TERM);
    assert!(mount.wait().success());
    let end = drain(&pipe);
    assert!(end.contains("is unmounted\n"), "{end}");
    assert!(end.contains(" summary of "), "{end}");
}

#[test]
fn messages_come_before_the_error_that_ends_the_start() {
    let tree = Tree::new();
    for more in [&[][..], &["--background"]] {
        let output = Command::new(binary())
            .args(["mount", "-o", "sloppy,nonsense"])
            .args(more)
            .args([tree.backing(), tree.parent().join("missing")])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let mut lines = text.lines();
        for start in ["utf8fs: warn: unknown option", "error: ", "hint: "] {
            assert!(lines.next().unwrap().starts_with(start), "{text}");
        }
        assert_eq!(lines.next(), None, "{text}");
    }
}
