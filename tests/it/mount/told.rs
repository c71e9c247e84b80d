//! Names that others have given to something else below, while the kernel takes them for what they were.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::RenameFlags;

use crate::support::user::{NOBODY, script};
use crate::support::wait::within;
use crate::support::{Tree, at, needs};

/// Ten times what law F5 promises of a directory that is being changed, and less than what names are kept for.
const SOON: Duration = Duration::from_secs(10);

/// Law F3: the kernel marks the directory that it takes the name for as removed. That one lives on under its new name.
#[test]
fn f3_a_directory_outlives_the_removal_of_another_that_has_got_its_name() {
    needs::fuse();
    for is_replaced in [false, true] {
        let tree = Tree::new();
        at::write_new(tree.directory(b"d"), b"file", b"").unwrap();
        drop(tree.directory(b"empty"));
        let mount = tree.mount(&["--cache=60"]);
        let (above, below) = (mount.dir(), tree.below_dir());
        at::stat(above, b"empty").unwrap();
        let used = mount.sub("d");
        at::rename(&below, b"d", b"e").unwrap();
        at::mkdir(&below, b"d").unwrap();
        let removed = match is_replaced {
            true => at::rename(above, b"empty", b"d"),
            false => at::rmdir(above, b"d"),
        };
        removed.unwrap();
        assert_eq!(at::list(mount.sub("e")), [b"file"], "{is_replaced}");
        assert_eq!(at::list(&used), [b"file"], "{is_replaced}");
        drop(used);
        mount.stop();
    }
}

/// Runs Perl as an ordinary user in `place`.
fn perl(place: &Path, expression: &str) -> String {
    perl_by("", place, expression)
}

fn perl_by(run: &str, place: &Path, expression: &str) -> String {
    let text = format!("cd \"$PLACE\" && {run}perl -e '{expression} or print 0 + $!'");
    let output = script(NOBODY, place, &text);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Law F1: in a sticky directory a user removes, renames and replaces what is his own, not what has got its name or a name that
/// nothing had.
#[test]
fn f1_nobody_takes_what_has_got_the_name_of_his_own_from_a_sticky_directory() {
    if !needs::root("other users") {
        return;
    }
    let rows = [
        (r#"unlink "sticky/file""#, "sticky/file"),
        (r#"rename "sticky/file", "own/taken""#, "sticky/file"),
        (r#"rename "own/file", "sticky/file""#, "sticky/file"),
        (r#"rename "own/file", "sticky/absent""#, "sticky/absent"),
        (r#"rmdir "sticky/directory""#, "sticky/directory"),
    ];
    // On a disk a new file has the number of one that was just removed.
    let rows = rows.into_iter().flat_map(|row| [(row, false), (row, true)]);
    // In a user namespace of his own he has all capabilities, which are good for nothing here.
    for (((act, name), is_gone), run) in rows.flat_map(|row| [(row, ""), (row, "unshare --user ")])
    {
        let tree = Tree::new();
        let backing = tree.backing();
        let (sticky, own) = (tree.directory(b"sticky"), tree.directory(b"own"));
        for (directory, mode) in [("sticky", 0o1777), ("own", 0o777)] {
            let mode = PermissionsExt::from_mode(mode);
            std::fs::set_permissions(backing.join(directory), mode).unwrap();
        }
        at::write_new(&sticky, b"file", b"").unwrap();
        at::write_new(&own, b"file", b"").unwrap();
        at::mkdir(&sticky, b"directory").unwrap();
        for name in ["sticky/file", "own/file", "sticky/directory"] {
            std::os::unix::fs::chown(backing.join(name), Some(NOBODY), None).unwrap();
        }
        let mount = tree.mount(&["--cache=60"]);
        let look = r#"grep({ -l } <sticky/*>, "sticky/absent"), 1"#;
        assert_eq!(perl(&mount.point(), look), "");
        let removed = match (is_gone, name) {
            (false, _) => at::rename(tree.below_dir(), name.as_bytes(), b"away"),
            (true, "sticky/directory") => at::rmdir(tree.below_dir(), name.as_bytes()),
            (true, _) => at::unlink(tree.below_dir(), name.as_bytes()),
        };
        match removed {
            Ok(()) => {}
            Err(errno) => assert_eq!((name, errno), ("sticky/absent", rustix::io::Errno::NOENT)),
        }
        let theirs = backing.join(name);
        match name {
            "sticky/directory" => std::fs::create_dir(&theirs).unwrap(),
            _ => std::fs::write(&theirs, "theirs").unwrap(),
        }
        let errno = perl_by(run, &mount.point(), act);
        assert_eq!(errno, libc::EPERM.to_string(), "{run}{act}, {is_gone}");
        assert_eq!(theirs.metadata().unwrap().uid(), 0, "{act}");
        mount.stop();
    }
}

/// Law F1: a user is not asked again for ever where numbers are used again at once, and where names are not kept.
#[test]
fn f1_a_user_makes_renames_and_removes_his_own_in_a_sticky_directory() {
    if !needs::root("other users") {
        return;
    }
    for cache in ["--cache=none", "--cache=1", "--cache=watch"] {
        let tree = Tree::new();
        drop(tree.directory(b"sticky"));
        let mode = PermissionsExt::from_mode(0o1777);
        std::fs::set_permissions(tree.backing().join("sticky"), mode).unwrap();
        let mount = tree.mount(&[cache]);
        let act = r#"400 == grep { open(F, ">", "sticky/a") && close(F) && -e "sticky/a"
            && rename("sticky/a", "sticky/b") && unlink("sticky/b") } 1..400"#;
        assert_eq!(perl(&mount.point(), act), "", "{cache}");
        mount.stop();
    }
}

/// Law F5: the kernel moves its dentry with the time that is left of it.
#[test]
fn f5_a_name_that_is_renamed_just_after_others_gave_it_away_leads_to_what_was_renamed() {
    if !needs::root("fanotify") {
        return;
    }
    let tree = Tree::new();
    let rows: Vec<String> = (0..20).map(|row| row.to_string()).collect();
    for row in &rows {
        let directory = tree.directory(row.as_bytes());
        for name in [&b"a"[..], b"b", b"x"] {
            at::write_new(&directory, name, name).unwrap();
        }
    }
    tree.until_idle();
    let mount = tree.mount(&[]);
    let flags = |row: usize| match row % 2 {
        0 => (RenameFlags::empty(), &b"c"[..]),
        _ => (RenameFlags::EXCHANGE, &b"x"[..]),
    };
    for (number, row) in rows.iter().enumerate() {
        let (above, below) = (
            mount.sub(row),
            at::open_dir(tree.below_dir(), row.as_bytes()),
        );
        for name in [&b"a"[..], b"b", b"x"] {
            assert_eq!(at::read(&above, name).unwrap(), name);
        }
        let below = below.unwrap();
        at::rename(&below, b"a", b"z").unwrap();
        at::rename(&below, b"b", b"a").unwrap();
        let (flags, new) = flags(number);
        at::rename_with(&above, b"a", new, flags).unwrap();
    }
    for (number, row) in rows.iter().enumerate() {
        let (above, (_, new)) = (mount.sub(row), flags(number));
        within(SOON, || at::read(&above, new).unwrap() == b"b");
        assert_eq!(at::read(&above, b"z").unwrap(), b"a", "{row}");
    }
    mount.stop();
}
