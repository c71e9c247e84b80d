//! Laws F1, F3: the content of files, read and written by the kernel itself (`--passthrough auto`) and by the daemon
//! (`off`): both as below.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::support::strace::Strace;
use crate::support::{Mount, Tree, at, needs, user};

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

/// A mount whose daemon works on one request at a time, in their order.
fn in_order<'t>(tree: &'t Tree, options: &[&str]) -> Mount<'t> {
    tree.mount(&[&["--threads", "1"], options].concat())
}

/// Options by which the kernel keeps names and attributes, so that no request is made for them.
const KEPT: &[&str] = &["--cache", "3600", "--legacy", "raw"];

/// How many requests the daemon answers to while `act` runs.
fn requests(mount: &Mount<'_>, act: impl FnOnce()) -> usize {
    let log = mount.point().parent().unwrap().join("answers");
    let arguments = ["-e", "trace=writev", "-o", log.to_str().unwrap()];
    let tracer = Strace::attach(mount, &arguments);
    act();
    // Closing a file is not waited for; what comes after it, is.
    rustix::fs::fstatfs(mount.dir()).unwrap();
    tracer.detach();
    let calls = std::fs::read(&log).unwrap().escape_ascii().to_string();
    calls.matches("writev(").count() - 1
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
    assert_eq!(native.len(), 480);
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

/// The kernel answers reads and writes by itself: no request is made for them, no question for `security.capability` and
/// no flush.
#[test]
fn reads_and_rewrites_make_no_request() {
    if !has_passthrough() {
        return;
    }
    for tree in [Tree::new(), Tree::in_memory()] {
        tree.file(b"file", &[b'x'; 1 << 20]);
        let mount = in_order(&tree, KEPT);
        let file = at::open(mount.dir(), b"file", OFlags::RDWR).unwrap();
        // The first write of all asks once whether there are capabilities.
        rustix::io::pwrite(&file, b"first", 0).unwrap();
        let made = requests(&mount, || {
            for block in 0..200 {
                rustix::io::pwrite(&file, &[b'y'; 4096], block * 4096).unwrap();
            }
        });
        assert_eq!(made, 0, "rewriting");
        let made = requests(&mount, || {
            let mut buffer = [0; 4096];
            for block in 0..200 {
                rustix::io::pread(&file, &mut buffer, block * 4096).unwrap();
                assert_eq!(buffer, [b'y'; 4096]);
            }
        });
        assert_eq!(made, 0, "reading");
        let end = at::open(mount.dir(), b"file", OFlags::WRONLY | OFlags::APPEND).unwrap();
        at::write_all(&end, b"first").unwrap();
        let made = requests(&mount, || {
            for _ in 0..200 {
                at::write_all(&end, &[b'z'; 4096]).unwrap();
            }
        });
        assert_eq!(made, 0, "appending");
        drop((file, end));
        mount.stop();
    }
}

/// OPEN and RELEASE, in every way: closing asks nothing where it cannot fail below, and `O_TRUNC` is part of opening.
#[test]
fn opening_and_closing_are_a_request_each() {
    if !needs::root("tracing the daemon") {
        return;
    }
    for options in &WAYS[..2] {
        let tree = Tree::in_memory();
        tree.file(b"file", b"content");
        let options = [KEPT, options].concat();
        let mount = in_order(&tree, &options);
        // The kernel asks for capabilities when it truncates what it has not seen written to.
        let file = at::open(mount.dir(), b"file", OFlags::WRONLY).unwrap();
        at::write_all(&file, b"first").unwrap();
        drop(file);
        for flags in [
            OFlags::RDONLY,
            OFlags::RDWR,
            OFlags::WRONLY | OFlags::TRUNC,
            OFlags::WRONLY | OFlags::APPEND,
        ] {
            drop(at::open(mount.dir(), b"file", flags).unwrap());
            let made = requests(&mount, || {
                for _ in 0..10 {
                    drop(at::open(mount.dir(), b"file", flags).unwrap());
                }
            });
            assert_eq!(made, 20, "{flags:?} {options:?}");
        }
        mount.stop();
    }
}

/// Without passthrough, what was read stays with the kernel from one open to the next, for as long as `--cache` says.
#[test]
fn what_was_read_is_kept_and_dropped_as_the_cache_option_says() {
    if !needs::root("tracing the daemon") {
        return;
    }
    let tree = Tree::in_memory();
    tree.file(b"file", b"content");
    let mount = in_order(&tree, &[KEPT, &["--passthrough", "off"]].concat());
    let content = || at::read(mount.dir(), b"file").unwrap();
    assert_eq!(content(), b"content");
    let made = requests(&mount, || assert_eq!(content(), b"content"));
    assert_eq!(made, 2, "opened and closed only");
    mount.stop();

    let mount = in_order(&tree, &["--passthrough", "off", "--cache", "none"]);
    let read = |expected: &[u8]| {
        let open = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
        assert_eq!(at::read_all(&open).unwrap(), expected);
        open
    };
    let open = read(b"content");
    let below = at::open(tree.below_dir(), b"file", OFlags::WRONLY).unwrap();
    for version in [&b"changed"[..], b"grown below", b"shrunk"] {
        rustix::fs::ftruncate(&below, 0).unwrap();
        rustix::io::pwrite(&below, version, 0).unwrap();
        drop(read(version));
        // Also by who has it open all the time.
        let mut buffer = [0; 20];
        let count = rustix::io::pread(&open, &mut buffer, 0).unwrap();
        assert_eq!(&buffer[..count], version);
    }
    drop(open);
    mount.stop();
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

/// Who takes `O_APPEND` away from an open file by fcntl writes where it says then; but where the kernel serves the file it
/// goes on appending, since the kernel opened the backing file so.
#[test]
fn what_was_opened_to_append_and_is_no_more_is_written_to_as_documented() {
    let start = |options| {
        let tree = Tree::new();
        tree.file(b"file", b"start");
        let mount = tree.mount(options);
        let file = at::open(mount.dir(), b"file", OFlags::WRONLY | OFlags::APPEND).unwrap();
        rustix::fs::fcntl_setfl(&file, OFlags::empty()).unwrap();
        rustix::io::pwrite(&file, b"END", 0).unwrap();
        drop(file);
        mount.stop();
        at::read(tree.below_dir(), b"file").unwrap()
    };
    assert_eq!(start(WAYS[1]), b"ENDrt");
    if has_passthrough() {
        assert_eq!(start(WAYS[0]), b"startEND");
    }
}

/// A file that may only be appended to is not changed otherwise, in any way that a program may try.
#[test]
fn f1_what_may_only_be_appended_to_is_only_appended_to() {
    if !needs::root("chattr +a") {
        return;
    }
    struct Attribute<'t>(&'t Path);
    impl Attribute<'_> {
        fn set(&self, attribute: &str) {
            let status = Command::new("chattr").arg(attribute).arg(self.0).status();
            assert!(status.unwrap().success());
        }
    }
    impl Drop for Attribute<'_> {
        fn drop(&mut self) {
            self.set("-a");
            self.set("-i");
        }
    }
    let script = r#"
import fcntl, mmap, os
path = os.environ["PLACE"] + "/file"
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND | os.O_TRUNC):
    try:
        os.open(path, flags)
        print("opened")
    except PermissionError:
        print("refused")
end = os.open(path, os.O_RDWR | os.O_APPEND)
os.write(end, b"+")
try:
    mmap.mmap(end, 4)[0:4] = b"BAD!"
except OSError:
    pass
try:
    fcntl.fcntl(end, fcntl.F_SETFL, 0)
    os.pwrite(end, b"-", 0)
except OSError:
    pass
"#;
    for options in WAYS {
        for is_read in [false, true] {
            let tree = Tree::new();
            tree.file(b"file", b"start");
            let path = tree.backing().join("file");
            let attribute = Attribute(&path);
            attribute.set("+a");
            let mount = tree.mount(options);
            let reader = is_read.then(|| at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap());
            assert_eq!(
                said(script, &mount.point(), &tree.backing()),
                ["refused"; 3]
            );
            let content = std::fs::read(&path).unwrap();
            assert!(content.starts_with(b"start+"), "{content:?}");
            attribute.set("-a");
            attribute.set("+i");
            let write = at::open(mount.dir(), b"file", OFlags::WRONLY);
            assert_eq!(write.unwrap_err(), Errno::PERM, "{options:?}");
            drop(reader);
            mount.stop();
        }
    }
}

/// One that becomes append-only while the kernel serves it is written to through the daemon, which appends.
#[test]
fn f1_what_becomes_append_only_while_it_is_open_is_appended_to() {
    if !needs::root("chattr +a") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"start");
    let path = tree.backing().join("file");
    let chattr = |attribute: &str| {
        let status = Command::new("chattr").arg(attribute).arg(&path).status();
        assert!(status.unwrap().success());
    };
    let mount = tree.mount(&[]);
    let reader = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
    chattr("+a");
    let end = at::open(mount.dir(), b"file", OFlags::RDWR | OFlags::APPEND);
    rustix::fs::fcntl_setfl(end.as_ref().unwrap(), OFlags::empty()).unwrap();
    let written = rustix::io::pwrite(end.as_ref().unwrap(), b"+", 0);
    let refused = at::open(mount.dir(), b"file", OFlags::RDWR);
    chattr("-a");
    assert_eq!(written.unwrap(), 1);
    assert_eq!(refused.unwrap_err(), Errno::PERM);
    assert_eq!(at::read_all(&reader).unwrap(), b"start+");
    drop((reader, end));
    mount.stop();
}

/// A program that runs is not written to, whether it runs from above or from below.
#[test]
fn f1_a_running_program_is_not_written_to() {
    for options in WAYS {
        for is_above in [false, true] {
            let tree = Tree::new();
            let copied = Command::new("cp")
                .args(["--preserve=mode", "/bin/cat"])
                .arg(tree.backing().join("cat"))
                .status();
            assert!(copied.unwrap().success());
            let mount = tree.mount(options);
            let place = if is_above {
                mount.point()
            } else {
                tree.backing()
            };
            let mut running = Command::new(place.join("cat"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let open = at::open(mount.dir(), b"cat", OFlags::WRONLY);
            assert_eq!(open.unwrap_err(), Errno::TXTBSY, "{options:?} {is_above}");
            let below = at::open(tree.below_dir(), b"cat", OFlags::RDONLY).unwrap();
            let above = at::open(mount.dir(), b"cat", OFlags::RDONLY).unwrap();
            assert!(at::read_all(&below).unwrap() == at::read_all(&above).unwrap());
            drop(above);
            drop(running.stdin.take());
            assert!(running.wait().unwrap().success());
            drop(at::open(mount.dir(), b"cat", OFlags::WRONLY).unwrap());
            mount.stop();
        }
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

/// Users who write to one file at once, root among them, all write to it, and it stays its owner's.
#[test]
fn users_share_a_file_that_the_kernel_serves() {
    if !needs::root("several users on one mount") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"");
    let mount = tree.mount(&[]);
    let path = mount.point().join("file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    let root = at::open(mount.dir(), b"file", OFlags::WRONLY | OFlags::APPEND).unwrap();
    at::write_all(&root, b"root\n").unwrap();
    let script = "exec 3>>\"$PLACE/file\"; echo user >&3; cat \"$PLACE/file\"; echo again >&3";
    let output = user::script(user::NOBODY, &mount.point(), script);
    assert_eq!(output.stdout, b"root\nuser\n", "{output:?}");
    at::write_all(&root, b"end\n").unwrap();
    drop(root);
    assert_eq!(
        at::read(tree.below_dir(), b"file").unwrap(),
        b"root\nuser\nagain\nend\n"
    );
    assert_eq!(std::fs::metadata(&path).unwrap().uid(), 0);
    mount.stop();
}

/// What a write may not exceed for the program, it does not exceed: `RLIMIT_FSIZE` is that of the caller.
#[test]
fn f1_the_callers_limit_of_file_sizes_holds() {
    for options in WAYS {
        let tree = Tree::new();
        let mount = tree.mount(options);
        let script = "trap '' XFSZ; ulimit -f 8; head -c 65536 /dev/zero > \"$PLACE/file\"";
        let output = Command::new("bash")
            .args(["-c", script])
            .env("PLACE", mount.point())
            .output()
            .unwrap();
        assert!(!output.status.success());
        let below = at::stat(tree.below_dir(), b"file").unwrap();
        assert_eq!(below.st_size, 8192, "{options:?}");
        assert_eq!(at::stat(mount.dir(), b"file").unwrap().st_size, 8192);
        mount.stop();
    }
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
