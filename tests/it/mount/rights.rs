//! Law F1, and what suites of others found: modes, owners, ACLs, capabilities and flags are on the mount as below it.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use rustix::fs::{AtFlags, CWD, OFlags, StatxFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::support::{Tree, at, needs};

/// What two users of three groups do in `$PLACE`, which lies in `$BELOW`; each line says what came of a step.
const SCRIPT: &str = include_str!("rights/script.sh");

fn lines_of(script: &str, place: &Path, below: &Path) -> Vec<String> {
    // Other users have to get there.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(below, open).unwrap();
    let output = Command::new("/bin/bash")
        .args(["-c", script])
        .env("PLACE", place)
        .env("BELOW", below)
        .env("LC_ALL", "C")
        .current_dir("/")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let complaints = output.stderr.escape_ascii().to_string();
    assert_eq!(complaints, "");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn assert_same_lines(beside: &[String], above: &[String]) {
    for (number, (beside, above)) in beside.iter().zip(above).enumerate() {
        assert_eq!(above, beside, "line {number}, on the mount and beside it");
    }
    assert_eq!(above.len(), beside.len());
}

/// Law F1: owners, groups, modes, umasks, sticky and setgid directories, ACLs, set-id bits, capabilities, extended
/// attributes, immutable and append-only files.
#[test]
fn rights_are_the_same_above_and_below() {
    if !needs::root("users, groups and capabilities") {
        return;
    }
    for (beside, tree) in [
        (Tree::new(), Tree::new()),
        (Tree::in_memory(), Tree::in_memory()),
    ] {
        let expected = lines_of(SCRIPT, &beside.backing(), &beside.backing());
        let mount = tree.mount(&[]);
        let got = lines_of(SCRIPT, &mount.point(), &tree.backing());
        assert_same_lines(&expected, &got);
        if !expected.iter().any(|line| line == "1 sh -c echo x > im") {
            eprintln!("NOT TESTED, the filesystem has no flags: chattr +i, +a");
        }
        mount.stop();
    }
}

/// Law F1: nobody keeps set-group-id by an ACL, a new owner or a new size for a group that he is not in.
#[test]
fn set_group_id_without_group_execute_is_cleared_for_who_is_not_in_the_group() {
    if !needs::root("another user's files") {
        return;
    }
    let script = r#"cd "$PLACE"
        for step in 'setfacl -m u:1002:r f' 'chgrp 1001 f' 'truncate -s 1 f'; do
            for group in 2001 2002; do
                echo content > f; chown 1001:$group f; chmod 2766 f
                setpriv --reuid=1001 --regid=1001 --groups=1001,2001 -- sh -c "$step" || echo failed
                stat -c '%A' f; rm f
            done
        done"#;
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let modes = lines_of(script, &mount.point(), &tree.backing());
    let member = "-rwxrwSrw-";
    // A user in the new group's; then one in the file's, and one who is not.
    let expected = [
        member,
        "-rwxrw-rw-",
        member,
        "-rwxrw-rw-",
        member,
        "-rwxrw-rw-",
    ];
    assert_eq!(modes, expected);
    mount.stop();
}

/// Laws N9 and F1: as natively, a name that no file can have is too long for whatever is done with it, and not just
/// absent; each attempt is in the audit log.
#[test]
fn a_name_too_long_for_any_file_is_too_long_for_every_operation() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mount = tree.mount(&[]);
    let long = [b'n'; 256];
    let dir = mount.dir();
    let too_long = Some(Errno::NAMETOOLONG);
    assert_eq!(at::stat(dir, &long).err(), too_long);
    assert_eq!(at::unlink(dir, &long).err(), too_long);
    assert_eq!(at::rmdir(dir, &long).err(), too_long);
    assert_eq!(at::read(dir, &long).err(), too_long);
    assert_eq!(at::rename(dir, &long, b"new").err(), too_long);
    assert_eq!(at::rename(dir, b"file", &long).err(), too_long);
    assert_eq!(at::link(dir, &long, b"new").err(), too_long);
    assert_eq!(at::mkdir(dir, &long).err(), too_long);
    assert_eq!(at::list(dir), [b"file"]);
    let records = mount.stop();
    assert_eq!(records.len(), 8);
    for record in &records {
        assert_eq!(record.text("operation"), "lookup");
        assert_eq!(record.text("errno"), "ENAMETOOLONG");
        assert_eq!(record.name("name").as_deref(), Some(&long[..]));
    }
    // One that stands for a shorter name is absent.
    let mount = tree.mount(&["--on-violation", "normalize"]);
    assert_eq!(at::stat(mount.dir(), &long).err(), Some(Errno::NOENT));
    at::write_new(mount.dir(), &long, b"content").unwrap();
    assert_eq!(at::read(mount.dir(), &long).unwrap(), b"content");
    mount.stop();
}

/// Law F1: looking at a link is not reading it, though its size is that of its target as it is shown.
#[test]
fn looking_at_a_link_leaves_its_access_time() {
    if !needs::root("links opened by file handle") {
        return;
    }
    let tree = Tree::new();
    let below = tree.below_dir();
    for (name, target) in [(&b"plain"[..], &b"file"[..]), (b"mapped", b"caf\xE9")] {
        at::symlink(target, &below, name).unwrap();
        // Older than its change: every reading sets it.
        let old = Timespec {
            tv_sec: 1_000_000_000,
            tv_nsec: 5,
        };
        let times = Timestamps {
            last_access: old,
            last_modification: old,
        };
        rustix::fs::utimensat(&below, name, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
    let mount = tree.mount(&["--from", "iso-8859-1", "--cache", "none"]);
    for _ in 0..2 {
        assert_eq!(at::stat(mount.dir(), b"plain").unwrap().st_size, 4);
        assert_eq!(at::stat(mount.dir(), b"mapped").unwrap().st_size, 5);
    }
    for name in [&b"plain"[..], b"mapped"] {
        for dir in [mount.dir(), std::os::fd::AsFd::as_fd(&below)] {
            assert_eq!(at::stat(dir, name).unwrap().st_atime, 1_000_000_000);
        }
    }
    mount.stop();
}

/// Law F3.
#[test]
fn f3_the_time_of_birth_is_that_below() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    std::fs::create_dir(tree.backing().join("directory")).unwrap();
    let mount = tree.mount(&[]);
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    for name in ["file", "directory", "."] {
        let told = |dir: &OwnedFd| rustix::fs::statx(dir, name, AtFlags::empty(), wanted).unwrap();
        let below = told(&std::fs::File::open(tree.backing()).unwrap().into());
        let above = told(&std::fs::File::open(mount.point()).unwrap().into());
        let of = |stat: &rustix::fs::Statx| {
            let times = [stat.stx_btime, stat.stx_mtime, stat.stx_ctime];
            let times = times.map(|time| (time.tv_sec, time.tv_nsec));
            let rest = (stat.stx_mode, stat.stx_nlink, stat.stx_size, stat.stx_ino);
            (stat.stx_mask & wanted.bits(), times, rest)
        };
        assert_eq!(of(&above), of(&below), "{name}");
    }
    let file = at::open(mount.dir(), b"file", OFlags::RDONLY).unwrap();
    let flags = rustix::fs::ioctl_getflags(&file);
    assert_eq!(flags.err(), Some(Errno::NOTTY), "ioctls are not carried");
    drop(file);
    mount.stop();
}

/// Files that users make without a name, in directories of all kinds, and then name.
const UNNAMED: &str = r#"cd "$PLACE"; umask 0; mkdir -m 777 plain acl; mkdir group; chgrp 1002 group; chmod 2777 group
    setfacl -d -m u:1003:rw,g::- acl
    cat > make <<'END'
use strict; use Fcntl; umask oct $ARGV[2];
sysopen(my $file, $ARGV[0], 020000000 | O_DIRECTORY | O_RDWR | $ARGV[3], oct $ARGV[1]) or die "open: $!
";
syswrite $file, 'content'; sub show { my @s = stat $_[0]; return "mode %o links @s[3..5] octets $s[7]" =~ s/%o/sprintf '%o', $s[2]/er }
my $unnamed = show($file); my $name = "$ARGV[0]/@ARGV[1..3]-$<";
my $failed = system 'ln', '-L', "/proc/$$/fd/" . fileno $file, $name;
chmod 0640, $file; truncate $file, 3;
print "$unnamed; ", $failed ? 'no name' : show($name), '; ', show($file), "
";
END
    for directory in plain group acl; do for mode in 666 2777 4755; do for uid in 0 1001; do
        setpriv --reuid=$uid --regid=$uid --clear-groups perl make $directory $mode 027 0 2>&1
        setpriv --reuid=$uid --regid=$uid --clear-groups perl make $directory $mode 0 128 2>/dev/null
    done; done; getfacl -cp $directory/*; ls $directory; done
    setpriv --reuid=1001 --regid=1001 --clear-groups perl make . 666 0 0 2>&1; ls"#;

/// Law F3: `O_TMPFILE`.
#[test]
fn f3_files_without_a_name_are_made_and_named_as_below() {
    if !needs::root("users") {
        return;
    }
    let bare = Tree::new();
    let expected = lines_of(UNNAMED, &bare.backing(), &bare.backing());
    let made = expected
        .iter()
        .filter(|line| line.contains("octets 7; mode"));
    assert_eq!(made.count(), 18, "{expected:#?}");
    for options in [&[][..], &["--passthrough", "off"], &["--cache", "none"]] {
        let tree = Tree::new();
        let mount = tree.mount(options);
        assert_same_lines(
            &expected,
            &lines_of(UNNAMED, &mount.point(), &tree.backing()),
        );
        mount.stop();
    }
}

/// Law F1: a daemon that serves one user after the other takes none for another.
#[test]
fn files_belong_to_who_made_them_when_users_take_turns() {
    if !needs::root("users") {
        return;
    }
    let tree = Tree::new();
    std::os::unix::fs::chown(tree.backing(), Some(1001), None).unwrap();
    let mount = tree.mount(&[]);
    let script = r#"cd "$PLACE"; chmod 777 .
        for n in 1 2 3 4 5; do for uid in 1001 1002 0; do
            setpriv --reuid=$uid --regid=$uid --clear-groups -- sh -c "umask 0$n$n; : > $n.$uid; mkdir $n.$uid.d"
        done; done"#;
    assert_eq!(lines_of(script, &mount.point(), &tree.backing()), [""; 0]);
    for turn in 1..=5_u32 {
        for uid in [1001, 1002, 0] {
            for (name, mode) in [
                (format!("{turn}.{uid}"), 0o666),
                (format!("{turn}.{uid}.d"), 0o777),
            ] {
                let path = tree.backing().join(&name);
                let stat = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
                assert_eq!((stat.st_uid, stat.st_gid), (uid, uid), "{name}");
                let expected = mode & !(turn * 0o11);
                assert_eq!(stat.st_mode & 0o777, expected, "{name}");
            }
        }
    }
    mount.stop();
}
