//! Policies that a mount refuses: at its start, and when they are read anew. The next start takes what a reload took.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{IN_FORCE, KEPT, Policy, everybody_may};
use crate::support::mount::binary;
use crate::support::user::{self, NOBODY};
use crate::support::{Mount, Tree, needs};

/// The exit status of a mount by this policy, which is refused before anything is mounted.
fn start(mut command: Command, tree: &Tree, policy: &Policy) -> Option<i32> {
    let mut command = command
        .args(["mount", "--dry-run"])
        .args(policy.option())
        .args([tree.backing(), tree.point()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    command.wait().unwrap().code()
}

#[test]
fn what_a_start_refuses_a_reload_refuses() {
    let tree = Tree::new();
    let good = "mode = 'report'\n";
    let policy = Policy::new(&tree, good);
    let mut mount = Mount::start(&tree, &policy.option());
    mount.allow_warning("policy");
    let other = Tree::new();
    let inside = format!(
        "audit_log = '{}'",
        other.backing().join("log").to_str().unwrap()
    );
    let rows = [
        "store_as = 'koi8-r'\nlegacy = 'raw'",
        "legacy = 'decode'",
        "max_bytes = 3",
        "max_chars = 3",
        "exempt = '['",
        "[[section]]\npath = '['",
        "[[section]]\nmax_bytes = 3",
        "mode = 'nonsense'",
        "no_such_key = 1",
        "audit_log = '/nowhere/at/all/log'",
        &inside,
        "include = 'missing.toml'",
        "[section]",
        "= 1",
    ];
    for row in rows {
        policy.replace(row);
        let code = start(Command::new(binary()), &other, &policy);
        assert_eq!(code, Some(2), "{row}");
        // The log is named by an option, which overrides it.
        if !row.contains("audit_log") {
            assert_eq!(policy.reload(&mount), KEPT, "{row}");
        }
    }
    policy.replace(good);
    assert_eq!(start(Command::new(binary()), &other, &policy), Some(0));
    assert_eq!(policy.reload(&mount), IN_FORCE);
    mount.stop();
}

/// As an audit log would be: who can write to it decides what holds on the mount.
#[test]
fn a_file_that_others_own_or_can_write_is_refused_by_start_and_reload() {
    if !needs::root("files of others") {
        return;
    }
    let other = Tree::new();
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        let policy = Policy::new(&tree, "mode = 'report'\n");
        let options = [&policy.option()[..], &["--sandbox", sandbox]].concat();
        let mut mount = tree.mount(&options);
        mount.allow_warning("policy");
        for (uid, mode) in [(NOBODY, 0o644), (0, 0o664), (0, 0o620), (0, 0o666)] {
            set(&policy.path, uid, mode);
            let code = start(Command::new(binary()), &other, &policy);
            assert_eq!(code, Some(2), "{uid} {mode:o}");
            assert_eq!(policy.reload(&mount), KEPT, "{uid} {mode:o}");
            let said = Command::new(binary())
                .args(["policy", "check"])
                .arg(&policy.path)
                .output()
                .unwrap();
            assert_eq!(said.status.code(), Some(1), "{said:?}");
        }
        set(&policy.path, 0, 0o644);
        assert_eq!(policy.reload(&mount), IN_FORCE);
        mount.stop();
    }
}

/// A user's own file and root's are taken.
#[test]
fn the_file_of_a_users_mount_is_the_users_or_roots() {
    if !needs::root("mounting as another user") {
        return;
    }
    let tree = Tree::new();
    everybody_may(&tree);
    let program = tree.parent().join("utf8fs");
    std::fs::copy(binary(), &program).unwrap();
    for directory in [tree.backing(), tree.point()] {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let policy = Policy::new(&tree, "mode = 'report'\n");
    let mut mount = Mount::start_as(&tree, NOBODY, &program, &policy.option());
    mount.allow_warning("policy");
    let other = Tree::new();
    for directory in [other.backing(), other.point()] {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for (uid, mode, is_taken) in [
        (NOBODY, 0o600, true),
        (0, 0o644, true),
        (1, 0o644, false),
        (NOBODY, 0o660, false),
    ] {
        set(&policy.path, uid, mode);
        let code = start(user::command(NOBODY, &program), &other, &policy);
        let expected = match is_taken {
            true => (Some(0), IN_FORCE),
            false => (Some(2), KEPT),
        };
        assert_eq!((code, policy.reload(&mount)), expected, "{uid} {mode:o}");
    }
    mount.stop();
}

fn set(path: &Path, uid: u32, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    chown(path, Some(uid), Some(uid)).unwrap();
}
