//! A mount that is bound into the namespaces of a container, made by bubblewrap.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::Signal;

use crate::support::mount::{detach, wait_until_unmounted};
use crate::support::{Tree, at, needs, user};

fn possible() -> bool {
    needs::root("mounts in containers") && needs::program("bwrap", "mounts in containers")
}

/// A container with `source` as `/data`, started by `uid`, that has namespaces as `options` say.
fn container(uid: u32, source: &Path, options: &[&str], script: &str) -> Command {
    let mut command = user::command(uid, Path::new("/usr/bin/bwrap"));
    command
        .args([
            "--die-with-parent",
            "--ro-bind",
            "/usr",
            "/usr",
            "--symlink",
            "usr/bin",
            "/bin",
        ])
        .args([
            "--symlink",
            "usr/lib",
            "/lib",
            "--symlink",
            "usr/lib64",
            "/lib64",
        ])
        .args(["--proc", "/proc", "--dev", "/dev", "--bind"])
        .arg(source)
        .arg("/data")
        .args(options)
        .args(["sh", "-c", script])
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/");
    command
}

fn run(uid: u32, source: &Path, options: &[&str], script: &str) -> Output {
    container(uid, source, options, script)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A container that runs one line of `sh` after the other.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn start(source: &Path) -> Self {
        let mut child = container(0, source, &[], "exec sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, lines };
        assert_eq!(running.line("echo begun"), "begun");
        running
    }

    /// Runs a command and returns the line that it writes.
    fn line(&mut self, command: &str) -> String {
        let mut stdin = self.child.stdin.as_ref().unwrap();
        writeln!(stdin, "{command}").unwrap();
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Our own child; nothing where it has been waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A directory that is a shared mount of its own, until the end of the test.
struct Shared(PathBuf);

impl Shared {
    fn new(directory: PathBuf) -> Self {
        mount_bind(&directory, &directory).unwrap();
        let shared = Self(directory);
        mount_change(&shared.0, MountPropagationFlags::SHARED).unwrap();
        shared
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

const TRY: &str = r#"
id -u; ls /data; cat /data/café; mkdir /data/né && stat -c %u /data/né && rmdir /data/né
touch "/data/$(printf 'na\357ve')" 2>/dev/null; echo "$?"
"#;

/// The same as outside for root, for root of a user namespace who is an ordinary user outside, and the other way round.
#[test]
fn f1_l2_a_container_sees_names_and_refusals_as_outside_and_is_logged_as_who_it_is_outside() {
    if !possible() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content\n");
    rustix::fs::chmod(tree.backing(), 0o777.into()).unwrap();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    for (outside, options, inside) in [
        (0, &[][..], 0),
        (0, &["--unshare-all", "--uid", "1000"], 1000),
        (user::NOBODY, &["--unshare-all", "--uid", "0"], 0),
    ] {
        let output = run(outside, &mount.point(), options, TRY);
        let said = String::from_utf8(output.stdout).unwrap();
        let wanted = format!("{inside}\ncafé\ncontent\n{inside}\n1\n");
        assert_eq!(
            said,
            wanted,
            "{options:?}: {}",
            output.stderr.escape_ascii()
        );
    }
    let records = mount.stop();
    let users: Vec<_> = records.iter().map(|record| record.number("uid")).collect();
    assert_eq!(users, [0, 0, u64::from(user::NOBODY)]);
    for record in records {
        assert_eq!(record.0["command"]["text"], "touch", "{record:?}");
        assert_eq!(record.name("name"), Some(b"na\xEFve".to_vec()));
    }
}

#[test]
fn f1_a_mount_for_one_user_is_for_that_user_in_containers_too() {
    if !possible() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"");
    let mount = tree.mount(&["-o", "noallow_other"]);
    let output = run(
        0,
        &mount.point(),
        &["--unshare-all", "--uid", "1000"],
        "ls /data",
    );
    assert_eq!(output.stdout, b"file\n", "{output:?}");
    let output = run(
        user::NOBODY,
        &mount.point(),
        &["--unshare-all", "--uid", "0"],
        "ls /data",
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("Permission denied"),
        "{said}"
    );
    mount.stop();
}

/// Unmounted on the host, it goes on for the container that has it, and ends with that.
#[test]
fn f7_a_container_goes_on_using_a_mount_that_the_host_has_unmounted() {
    if !possible() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content\n");
    let mut mount = tree.mount(&["--from", "iso-8859-1"]);
    let mut running = Running::start(&mount.point());
    mount.close();
    mount.signal(Signal::TERM);
    wait_until_unmounted(&tree.point());
    assert_eq!(running.line("cat /data/café"), "content");
    assert_eq!(running.line("echo new > /data/né; ls /data | wc -l"), "2");
    running.end();
    mount.finish();
    assert_eq!(
        at::sorted(tree.below_dir()),
        [&b"caf\xE9"[..], "né".as_bytes()]
    );
}

/// A container that has the directory above the mount point sees what is mounted there later; one that has the mount
/// itself is left with a dead one when the daemon is killed.
#[test]
fn f7_a_container_sees_a_mount_that_is_made_anew_if_it_has_the_directory_above() {
    if !possible() {
        return;
    }
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content\n");
    let _shared = Shared::new(tree.parent().to_path_buf());
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let mut above = Running::start(tree.parent());
    let mut itself = Running::start(&mount.point());
    assert_eq!(above.line("cat /data/mnt/café"), "content");
    mount.kill();
    // By rings, what was asked while the daemon died is cut off.
    let is_dead = |itself: &mut Running| {
        let said = itself.line("cat /data/café 2>&1 | sed 's/.*: //'");
        let all = [
            "Transport endpoint is not connected",
            "Software caused connection abort",
            "Operation canceled",
        ];
        assert!(all.contains(&said.as_str()), "{said}");
    };
    is_dead(&mut itself);
    let mut mount = tree.mount(&["--from", "iso-8859-1"]);
    mount.allow_warning("is dead: its daemon was killed");
    assert_eq!(above.line("cat /data/mnt/café"), "content");
    is_dead(&mut itself);
    above.end();
    itself.end();
    mount.stop();
}
