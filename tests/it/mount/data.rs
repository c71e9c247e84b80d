//! Laws F1, F3: the content of files, read and written by the kernel itself (`--passthrough auto`) and by the daemon
//! (`off`): both as below.

mod refusals;
mod requests;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;

use crate::support::{Tree, at, needs};

/// Both ways to serve a file, and the plain one with nothing kept either.
const WAYS: [&[&str]; 3] = [
    &["--passthrough", "auto"],
    &["--passthrough", "off"],
    &["-o", "passthrough=off,cache=none"],
];

/// What the script says about `place`, which lies over `below`.
fn said(script: &str, place: &Path, below: &Path) -> Vec<String> {
    let output = Command::new("python3")
        .args(["-c", script])
        .env("PLACE", place)
        .env("BELOW", below)
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .output()
        .unwrap();
    let errors = output.stderr.escape_ascii().to_string();
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Can the kernel of this machine read and write files by itself, for us?
fn has_passthrough() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().unwrap().parse::<u32>().unwrap();
    let is_new = (number(), number()) >= (6, 9);
    if !is_new {
        eprintln!("NOT TESTED, needs Linux 6.9: kernel passthrough");
    }
    is_new && needs::root("kernel passthrough")
}

#[test]
fn f3_content_is_read_and_written_as_below_in_every_way() {
    for tree in [Tree::new, Tree::in_memory] {
        let beside = tree();
        let script = include_str!("data/operations.py");
        let native = said(script, &beside.backing(), &beside.backing());
        assert_eq!(native.len(), 67, "{native:?}");
        for options in WAYS {
            let tree = tree();
            let mount = tree.mount(options);
            let above = said(script, &mount.point(), &tree.backing());
            for (native, above) in native.iter().zip(&above) {
                assert_eq!(native, above, "{options:?}");
            }
            mount.stop();
        }
    }
}

/// Set-user-ID, set-group-ID and file capabilities go and stay as they do below, whoever writes in whatever way.
#[test]
fn f1_writing_takes_set_id_bits_and_capabilities_as_below_in_every_way() {
    if !needs::root("several users on one mount") {
        return;
    }
    let prepare = |tree: &Tree| {
        std::fs::set_permissions(tree.backing(), PermissionsExt::from_mode(0o777)).unwrap();
    };
    let beside = Tree::new();
    prepare(&beside);
    let script = include_str!("data/set_ids.py");
    let native = said(script, &beside.backing(), &beside.backing());
    assert_eq!(native.len(), 720);
    for options in WAYS {
        let tree = Tree::new();
        prepare(&tree);
        let mount = tree.mount(&[&["-o", "suid"], options].concat());
        let above = said(script, &mount.point(), &tree.backing());
        for (native, above) in native.iter().zip(&above) {
            assert_eq!(native, above, "{options:?}");
        }
        mount.stop();
    }
}

/// Reads and mappings by the kernel are those of the file below: there is one cache, whatever `--cache` says.
#[test]
fn what_the_kernel_reads_by_itself_is_never_stale() {
    if !has_passthrough() {
        return;
    }
    let script = r#"
import mmap, os, signal
above, below = (os.open(os.environ[where] + "/file", os.O_RDWR) for where in ("PLACE", "BELOW"))
mapped = mmap.mmap(above, 2 * mmap.PAGESIZE)
print(mapped[:3])
os.pwrite(below, b"new", 0)
print(mapped[:3], os.pread(above, 3, 0))
mapped[0:3] = b"up!"
print(os.pread(below, 3, 0))
os.pwrite(below, b"grown", 2 * mmap.PAGESIZE)
print(os.pread(above, 10, 2 * mmap.PAGESIZE))
os.ftruncate(below, mmap.PAGESIZE)
child = os.fork()
if child == 0:
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
    print(mapped[mmap.PAGESIZE])
    os._exit(0)
print(os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGBUS)
print(os.pread(above, 10, mmap.PAGESIZE), mapped[:3])
os.ftruncate(below, 2 * mmap.PAGESIZE)
print(mapped[mmap.PAGESIZE])
"#;
    let expected = [
        "b'old'",
        "b'new' b'new'",
        "b'up!'",
        "b'grown'",
        "True",
        "b'' b'up!'",
        "0",
    ];
    for tree in [Tree::new(), Tree::in_memory()] {
        tree.file(b"file", &b"old.".repeat(2048));
        let mount = tree.mount(&["--cache", "3600"]);
        let above = said(script, &mount.point(), &tree.backing());
        assert_eq!(above, expected);
        mount.stop();
    }
}

/// An open file stays the one that was opened, when its name is removed or given to another below; who opens the name
/// then gets the other.
#[test]
fn an_open_file_is_never_taken_for_the_one_that_replaced_it() {
    for options in [WAYS[0], WAYS[1]] {
        let tree = Tree::new();
        tree.file(b"file", b"old");
        let mount = tree.mount(&[options, &["--cache", "none"]].concat());
        let old = at::open(mount.dir(), b"file", OFlags::RDWR).unwrap();
        for (round, replace) in [true, false, true, false].into_iter().enumerate() {
            let below = tree.below_dir();
            if replace {
                tree.file(b"new", b"new");
                at::rename(&below, b"new", b"file").unwrap();
            } else {
                at::unlink(&below, b"file").unwrap();
                tree.file(b"file", b"new");
            }
            let new = at::open(mount.dir(), b"file", OFlags::RDWR).unwrap();
            rustix::io::pwrite(&old, b"OLD", 0).unwrap();
            rustix::io::pwrite(&new, b"NEW", 0).unwrap();
            let mut buffer = [0; 10];
            assert_eq!(rustix::io::pread(&old, &mut buffer, 0).unwrap(), 3);
            assert_eq!(&buffer[..3], b"OLD", "{round}");
            assert_eq!(at::read(&below, b"file").unwrap(), b"NEW", "{round}");
            assert_eq!(rustix::fs::fstat(&old).unwrap().st_nlink, 0);
        }
        drop(old);
        mount.stop();
    }
}

/// Opening and closing one file by many, in every manner, while what decides how it is served changes, never fails.
#[test]
fn no_open_fails_while_the_way_changes_in_which_a_file_is_served() {
    if !needs::root("set-user-ID bits of another user's file") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", &[b'x'; 8192]);
    let mount = tree.mount(&["-o", "suid"]);
    let dir = mount.dir();
    let is_over = AtomicBool::new(false);
    let path = mount.point().join("file");
    std::thread::scope(|scope| {
        let opener = |flags: OFlags| {
            move || {
                for round in 0..400 {
                    let file = at::open(dir, b"file", flags)
                        .unwrap_or_else(|error| panic!("{flags:?}, {round}: {error}"));
                    if flags.contains(OFlags::RDWR) {
                        rustix::io::pwrite(&file, b"y", 4096).unwrap();
                    } else {
                        rustix::io::pread(&file, &mut [0; 10], 0).unwrap();
                    }
                }
            }
        };
        let openers = [
            scope.spawn(opener(OFlags::RDONLY)),
            scope.spawn(opener(OFlags::RDWR)),
            scope.spawn(opener(OFlags::RDWR | OFlags::APPEND)),
        ];
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for mode in [0o4755, 0o644] {
                    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
                }
            }
        });
        let results = openers.map(|opener| opener.join().is_ok());
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(results, [true; 3]);
    });
    mount.stop();
}

/// A mount on which the kernel serves files can be the lower and the upper layer of an overlay.
#[test]
fn f3_an_overlay_lies_on_a_mount_whose_files_the_kernel_serves() {
    if !needs::root("mounting an overlay") {
        return;
    }
    let tree = Tree::in_memory();
    for directory in ["lower", "upper", "work", "merged"] {
        std::fs::create_dir(tree.backing().join(directory)).unwrap();
    }
    std::fs::write(tree.backing().join("lower/file"), "below").unwrap();
    let mount = tree.mount(&["-o", "dev,suid"]);
    // In a mount namespace of its own, which takes the overlay with it.
    let script = r#"
        cd "$PLACE" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
        cat merged/file && echo above >> merged/file && cat merged/file && cat lower/file
    "#;
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-e", "-c", script])
        .env("PLACE", mount.point())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(text, "belowbelowabove\nbelow");
    mount.stop();
}

/// What a mapping writes changes the times of the file below, which the kernel serves by itself, and nobody is told.
#[test]
fn f3_times_are_right_after_a_write_by_a_mapping() {
    const SCRIPT: &str = r#"
import mmap, os
above, below = (os.environ[place] + "/file" for place in ("PLACE", "BELOW"))
def times(path):
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_ctime_ns
def compare(what):
    if times(above) != times(below):
        print(what, times(above), times(below))
file = os.open(above, os.O_RDWR)
mapping = mmap.mmap(file, 4096)
for round in range(3):
    before = times(below)
    compare("before")
    while times(below) == before:
        mapping[round] ^= 1
        mapping.flush()
    compare("after msync")
before = times(below)
while times(below) == before:
    mapping[0] ^= 1
    os.fsync(file)
compare("after fsync")
before = times(below)
compare("before close")
while times(below) == before:
    mapping[0] ^= 1
    mapping.flush()
os.close(file)
compare("after close")
"#;
    if !has_passthrough() {
        return;
    }
    for cache in ["watch", "1", "3600", "exclusive"] {
        let tree = Tree::new();
        tree.file(b"file", &[0; 4096]);
        let mount = tree.mount(&["--cache", cache]);
        at::stat(mount.dir(), b"file").unwrap();
        let wrong = said(SCRIPT, &mount.point(), &tree.backing());
        assert_eq!(wrong, Vec::<String>::new(), "{cache}");
        mount.stop();
    }
}
