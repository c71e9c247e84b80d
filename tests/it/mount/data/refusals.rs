//! Law F1: what is refused below is refused above, whoever serves the file.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{WAYS, has_passthrough, said};
use crate::support::{Tree, at, needs, user};

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
            // Nor is it cut by who opens it to read.
            let open = at::open(mount.dir(), b"cat", OFlags::RDONLY | OFlags::TRUNC);
            assert_eq!(open.unwrap_err(), Errno::TXTBSY, "{options:?} {is_above}");
            let size = at::stat(tree.below_dir(), b"cat").unwrap().st_size;
            assert_ne!(size, 0, "{options:?} {is_above}");
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
