//! Law F1: what a program may do below it may do above, and nothing more. And mounts by ordinary users.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, mount};
use rustix::process::{Signal, Uid};

use crate::support::mount::{binary, detach, mounted, wait_until_unmounted};
use crate::support::snapshot::{self, Times};
use crate::support::{Mount, Tree, at, needs, user};

/// A second ordinary user that every Debian has: `daemon`.
const DAEMON: u32 = 1;

/// Run by root in `$PLACE`: a place where users meet.
const PREPARE: &str = r#"
umask 022
cd "$PLACE"
mkdir open private sticky setgid && chmod 777 open && chmod 700 private && chmod 1777 sticky
chgrp 1 setgid && chmod 2777 setgid
echo secret > private/file; echo secret > secret; chmod 600 secret
echo public > public; chmod 644 public
echo theirs > sticky/theirs; chmod 666 sticky/theirs
echo acl > secret-acl; chmod 600 secret-acl; setfacl -m u:65534:rw secret-acl
setfacl -d -m u:1:rwx open
"#;

/// Run by an ordinary user in `$PLACE`: each line says what came of it.
const TRY: &str = r#"
cd "$PLACE"
try() { "$@" >/dev/null 2>&1; echo "$? $*"; }
umask 027
try cat public; try cat secret; try cat secret-acl; try cat private/file; try ls private
try sh -c 'echo more >> public'; try sh -c 'echo more >> secret-acl'
try touch new; try touch open/new; try mkdir open/directory; try mkdir setgid/directory; try touch setgid/file
try rm sticky/theirs; try mv sticky/theirs sticky/mine; try touch sticky/mine; try rm sticky/mine
try chmod 777 public; try chown 1 open/new; try chgrp 65534 open/new; try chmod 4755 open/new
try ln public open/link; try ln -s ../public open/symlink; try cat open/symlink
try mkfifo open/fifo; try mknod open/device c 1 3
try setfattr -n user.x -v y open/new; try getfattr -n user.x open/new; try setfattr -n user.x -v y public
try rmdir private; try rm -f secret; try truncate -s 0 public; try touch -d @1 open/new; try touch -d @1 public
try test -r secret; try test -w public; try test -x open; try test -w secret-acl
"#;

fn root_script(directory: &Path, script: &str) {
    let output = Command::new("/bin/sh")
        .args(["-e", "-c", script])
        .env("PLACE", directory)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8(output.to_vec()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The same script as an ordinary user beside the mount and on it has the same results and leaves the same tree.
fn same_as_below(beside: &Tree, tree: &Tree, prepare: &str) {
    root_script(&beside.backing(), prepare);
    let mount = tree.mount(&[]);
    root_script(&mount.point(), prepare);
    for uid in [user::NOBODY, DAEMON] {
        let native = user::script(uid, &beside.backing(), TRY);
        let above = user::script(uid, &mount.point(), TRY);
        assert_eq!(lines(&native.stdout), lines(&above.stdout), "as {uid}");
        let expected = snapshot::take(&beside.backing(), Times::Ignored);
        snapshot::assert_same(&expected, &snapshot::take(&tree.backing(), Times::Ignored));
        snapshot::assert_same(&expected, &snapshot::take(&mount.point(), Times::Ignored));
    }
    mount.stop();
}

#[test]
fn an_ordinary_user_can_do_above_what_it_can_do_below_and_no_more() {
    if !needs::root("several users on one mount") {
        return;
    }
    same_as_below(&Tree::new(), &Tree::new(), PREPARE);
}

/// Nobody else gets in, so that the backing filesystem checks that user's rights, and the kernel does not.
#[test]
fn f1_an_ordinary_user_can_do_on_its_own_mount_what_it_can_do_below_and_no_more() {
    if !needs::root("files of several users") {
        return;
    }
    let script = [
        TRY,
        r#"
        try cp /bin/true open/run; try chmod 641 open/run; try open/run; try chmod 700 open/run; try open/run
        try test -x open/run; try mkdir open/closed; try touch open/closed/inside; try chmod 600 open/closed
        try ls open/closed/absent; try touch open/closed/new; try sh -c 'cd open/closed'; try chmod 700 open/closed
        try setfacl -m u:1:rw open/run; try stat -c %A open/run; stat -c %A open/run; try getfacl -c open/run
        try setfacl -d -m u:1:rw open/closed; try touch open/closed/inherits; getfacl -c open/closed/inherits
        try setfacl -b open/run; stat -c %A open/run; try chgrp 1 open/run; try cat open/closed/inside/
        "#,
    ]
    .concat();
    let (beside, tree) = (Tree::new(), Tree::new());
    let program = prepare_for_user(&tree);
    let nobody = Some(user::NOBODY);
    std::os::unix::fs::chown(beside.backing(), nobody, nobody).unwrap();
    for tree in [&beside, &tree] {
        root_script(&tree.backing(), PREPARE);
    }
    let mount = Mount::start_as(&tree, user::NOBODY, &program, &[]);
    let native = user::script(user::NOBODY, &beside.backing(), &script);
    let above = user::script(user::NOBODY, &mount.point(), &script);
    assert_eq!(lines(&native.stdout), lines(&above.stdout));
    let expected = snapshot::take(&beside.backing(), Times::Ignored);
    snapshot::assert_same(&expected, &snapshot::take(&tree.backing(), Times::Ignored));
    mount.stop();
}

/// Where the backing filesystem has no ACLs, as on NFS version 4, FAT and most volumes of `GlusterFS`.
#[test]
fn f1_users_share_directories_of_a_filesystem_without_acls() {
    if !needs::root("several users on one mount") {
        return;
    }
    let trees = [Tree::new(), Tree::new()];
    for tree in &trees {
        let flags = MountFlags::empty();
        mount("none", tree.backing(), "ramfs", flags, c"mode=0755").unwrap();
    }
    let prepare: Vec<&str> = PREPARE
        .lines()
        .filter(|line| !line.contains("acl"))
        .collect();
    same_as_below(&trees[0], &trees[1], &prepare.join("\n"));
}

/// -o `noallow_other` keeps other users out of root's mount.
#[test]
fn other_users_can_be_kept_out() {
    if !needs::root("several users on one mount") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mount = tree.mount(&["-o", "noallow_other"]);
    let seen = user::script(user::NOBODY, &mount.point(), "cat \"$PLACE/file\"");
    assert!(!seen.status.success());
    assert_eq!(at::read(mount.dir(), b"file").unwrap(), b"content");
    mount.stop();
    let mount = tree.mount(&[]);
    let seen = user::script(user::NOBODY, &mount.point(), "cat \"$PLACE/file\"");
    assert_eq!(seen.stdout, b"content");
    mount.stop();
}

/// A copy of the program where any user can run it, and the tree given to that user.
pub(super) fn prepare_for_user(tree: &Tree) -> PathBuf {
    let program = tree.parent().join("utf8fs");
    std::fs::copy(binary(), &program).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    if needs::is_root() {
        for directory in [tree.backing(), tree.point()] {
            std::os::unix::fs::chown(directory, Some(user::NOBODY), Some(user::NOBODY)).unwrap();
        }
    }
    program
}

/// An ordinary user mounts through fusermount3, sees legacy names as UTF-8, is refused what does not conform, and
/// unmounts by SIGTERM.
#[test]
fn an_ordinary_user_can_mount() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"content");
    let program = prepare_for_user(&tree);
    let options = ["--from", "iso-8859-1"];
    let mount = Mount::start_as(&tree, user::NOBODY, &program, &options);
    assert_eq!(mounted(&tree.point()).as_deref(), Some("fuse.utf8fs"));
    let script = r#"
        cd "$PLACE" && ls && cat café && mkdir "né" && mv café né/thé && echo new > né/x
        touch "$(printf 'bad\351')" 2>&1; echo "$?"
        ls né
    "#;
    let output = user::script(user::NOBODY, &tree.point(), script);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("caf"), "{text}");
    assert!(text.contains("content"), "{text}");
    assert!(text.contains("\n1\n"), "refused: {text}");
    assert!(
        text.ends_with("thé\nx\n") || text.ends_with("x\n"),
        "{text}"
    );
    let below = tree.below_dir();
    assert_eq!(at::list(&below), ["né".as_bytes()]);
    let below = at::open_dir(&below, "né".as_bytes()).unwrap();
    // The file of before keeps its backing name only where it is not renamed.
    assert_eq!(at::sorted(&below), ["thé".as_bytes(), b"x"]);
    let records = mount.stop();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].name("name"), Some(b"bad\xE9".to_vec()));
}

/// An ordinary user's mount over its own backing directory: above the directories in it lies the mount itself, which one
/// thread that asks it would wait for.
#[test]
fn an_ordinary_user_can_mount_over_the_backing_directory() {
    let tree = Tree::new();
    at::mkdir(tree.directory(b"dir"), b"deep").unwrap();
    let program = prepare_for_user(&tree);
    for path in ["dir", "dir/deep"] {
        let owner = needs::is_root().then(|| Uid::from_raw(user::NOBODY));
        rustix::fs::chown(tree.backing().join(path), owner, None).unwrap();
    }
    let held = tree.below_dir();
    let real = tree.backing();
    let status = user::command(user::NOBODY, &program)
        .args(["mount", "--background", "--threads", "1"])
        .args([&real, &real])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let script = r#"cd "$PLACE" && timeout 20 mkdir dir/new dir/deep/new && ls dir dir/deep"#;
    let output = user::script(user::NOBODY, &real, script);
    detach(&real);
    wait_until_unmounted(&real);
    assert!(status.success());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        at::sorted(at::open_dir(&held, b"dir").unwrap()),
        [b"deep".as_slice(), b"new"]
    );
}

/// A mount by an ordinary user ends in order on SIGINT too.
#[test]
fn an_ordinary_user_can_end_the_mount_by_interrupting() {
    let tree = Tree::new();
    let program = prepare_for_user(&tree);
    let mount = Mount::start_as(&tree, user::NOBODY, &program, &[]);
    mount.signal(Signal::INT);
    mount.finish();
    assert_eq!(mounted(&tree.point()), None);
}

/// The names of attributes that only the administrator may read are told to root alone.
#[test]
fn names_of_trusted_attributes_are_listed_to_root_alone() {
    if !needs::root("trusted attributes") {
        return;
    }
    let tree = Tree::new();
    tree.file(b"file", b"content");
    tree.file(b"bare", b"content");
    root_script(
        &tree.backing(),
        r#"cd "$PLACE" && chmod 644 file bare && setfattr -n trusted.a -v x file
        setfattr -n user.b -v y file && setfattr -n trusted.z -v x file && setfattr -n trusted.a -v x bare"#,
    );
    let mount = tree.mount(&[]);
    let script = r#"cd "$PLACE" && getfattr -m- file bare"#;
    for uid in [0, user::NOBODY, DAEMON] {
        let below = user::script(uid, &tree.backing(), script);
        let above = user::script(uid, &mount.point(), script);
        let above = String::from_utf8(above.stdout).unwrap();
        assert_eq!(above, String::from_utf8(below.stdout).unwrap(), "as {uid}");
        assert_eq!(above.contains("trusted."), uid == 0, "as {uid}: {above}");
        assert!(above.contains("user.b"), "as {uid}: {above}");
    }
    mount.stop();
}

/// Law F1: a directory that may be written and searched but not read takes every name, and gives every name that is asked
/// for. Mapped names cannot be told in it, and siblings cannot be compared.
#[test]
fn a_directory_that_may_be_written_but_not_read_takes_every_name() {
    let script = r#"
        cd "$PLACE"
        try() { "$@" >/dev/null 2>&1; echo "$? $*"; }
        for name in notes~ %41 é 'a%E9~b'; do
            try test -e "drop/$name"; try mkdir "drop/$name"; try rmdir "drop/$name"
            try touch "drop/$name"; try ln "drop/$name" "drop/$name 2"; try cat "drop/$name"
            try mv "drop/$name" "drop/$name 3"; try mv -T "drop/$name 3" "drop/$name 2"; try ln -s "$name" "drop/$name"
            try readlink "drop/$name"; try rm "drop/$name" "drop/$name 2"; try rm "drop/$name"
        done
        try ls drop
    "#;
    let lines = |output: Vec<u8>| -> Vec<String> {
        let text = String::from_utf8(output).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let tree = Tree::new();
    let program = prepare_for_user(&tree);
    root_script(
        &tree.backing(),
        r#"cd "$PLACE"; mkdir drop; chmod 300 drop"#,
    );
    if needs::is_root() {
        std::os::unix::fs::chown(tree.backing().join("drop"), Some(user::NOBODY), None).unwrap();
    }
    let expected = lines(user::script(user::NOBODY, &tree.backing(), script).stdout);
    assert_eq!(expected.len(), 4 * 12 + 1);
    for options in [
        &[][..],
        &["--from", "iso-8859-1"],
        &["--normalization", "nfc"],
        &["--from", "iso-8859-1", "--store-as", "iso-8859-1"],
        &["--on-violation", "normalize"],
        &["--on-violation", "report"],
    ] {
        let mount = Mount::start_as(&tree, user::NOBODY, &program, options);
        let above = lines(user::script(user::NOBODY, &tree.point(), script).stdout);
        assert_eq!(above, expected, "{options:?}");
        mount.stop();
    }
    // What is made is made, whatever the record of it would have to say.
    let mount = Mount::start_as(&tree, user::NOBODY, &program, &["--on-violation", "report"]);
    let script = r#"cd "$PLACE/drop" && name="$(printf 'caf\351')" && touch "$name" && cat caf%E9 && rm caf%E9"#;
    let output = user::script(user::NOBODY, &tree.point(), script);
    assert!(output.status.success(), "{output:?}");
    let records = mount.stop();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].name("visible"), Some(b"caf%E9".to_vec()));
    // Nobody can say that no sibling is like a new name; what is there is reached.
    std::fs::write(tree.backing().join("drop/notes~"), "content").unwrap();
    let mount = Mount::start_as(&tree, user::NOBODY, &program, &["--unique", "casefold"]);
    let script =
        r#"cd "$PLACE/drop" && cat notes~ && test ! -e absent~ && ! touch new && ! mkdir new~"#;
    let output = user::script(user::NOBODY, &tree.point(), script);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"content");
    mount.stop();
}
