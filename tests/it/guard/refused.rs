//! Policies that a guard refuses: at its start, and when they are read anew. A reload that took what the next start refuses would
//! leave the directory unguarded after a reboot.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::Guard;
use crate::support::mount::binary;
use crate::support::wait::until_some;
use crate::support::{Tree, needs, user};

const IN_FORCE: &str = "was reloaded and is in force";
const KEPT: &str = "the previous one stays in force";

/// Has a guard read its policy anew. Returns what it says of that.
fn reload(guard: &Guard<'_>) -> &'static str {
    let said = |what: &str| guard.stderr().matches(what).count();
    let before = [IN_FORCE, KEPT].map(said);
    guard.signal(Signal::HUP);
    until_some(|| {
        let mut all = [IN_FORCE, KEPT].into_iter().zip(before);
        all.find(|(what, before)| said(what) > *before)
    })
    .0
}

fn start(tree: &Tree, policy: &Path) -> Option<i32> {
    let output = Command::new("timeout")
        .arg("5")
        .arg(binary())
        .args(["guard", "--policy"])
        .arg(policy)
        .arg(tree.backing())
        .current_dir("/")
        .output()
        .unwrap();
    output.status.code()
}

#[test]
fn what_a_start_refuses_a_reload_refuses() {
    if !needs::root("guards") {
        return;
    }
    let tree = Tree::in_memory();
    let guarded = Tree::in_memory();
    let policy = tree.logs().join("policy.toml");
    let good = "mode = 'report'\nfrom = 'latin1'\n";
    let inside = format!(
        "audit_log = '{}'",
        tree.backing().join("log").to_str().unwrap()
    );
    let to_link = tree.logs().join("link");
    std::os::unix::fs::symlink("elsewhere", &to_link).unwrap();
    let to_link = format!("audit_log = '{}'", to_link.to_str().unwrap());
    let rows = [
        "store_as = 'koi8-r'",
        "store_as = 'koi8-r'\nlegacy = 'raw'",
        "mode = 'normalize'",
        "[[section]]\nmode = 'normalize'\npath = '/x/**'",
        "legacy = 'decode'",
        "max_bytes = 3",
        "exempt = '['",
        "[[section]]\npath = '['",
        "mode = 'nonsense'",
        "no_such_key = 1",
        "audit_log = '/nowhere/at/all/log'",
        &inside,
        &to_link,
        "include = 'missing.toml'",
    ];
    std::fs::write(&policy, good).unwrap();
    // The log is the policy's to name. It lies elsewhere than that of the other.
    let guard = Guard::start(&guarded, &["--policy", policy.to_str().unwrap()]);
    let log = guarded.logs().join("own.jsonl");
    let own = Tree::in_memory();
    let own_policy = own.logs().join("policy.toml");
    let good_with_log = format!("{good}audit_log = '{}'\n", log.to_str().unwrap());
    std::fs::write(&own_policy, &good_with_log).unwrap();
    for row in rows {
        std::fs::write(&policy, row).unwrap();
        assert_eq!(start(&tree, &policy), Some(2), "{row}");
        if !row.contains("audit_log") {
            assert_eq!(reload(&guard), KEPT, "{row}");
        }
    }
    std::fs::write(&policy, good).unwrap();
    assert_eq!(reload(&guard), IN_FORCE);
    drop(guard);
    // Where no option names the log.
    let own_guard = Guard::start_without_log(&own, &["--policy", own_policy.to_str().unwrap()]);
    for row in [&inside, &to_link, "audit_log = '/nowhere/at/all/log'"] {
        std::fs::write(&own_policy, row).unwrap();
        assert_eq!(reload(&own_guard), KEPT, "{row}");
    }
    let more = format!("{good_with_log}audit_burst = 7\n");
    std::fs::write(&own_policy, more).unwrap();
    assert_eq!(reload(&own_guard), IN_FORCE);
}

/// As an audit log would be: who can write to it decides what root's guard does.
#[test]
fn a_policy_that_others_own_or_can_write_is_refused_by_start_and_reload() {
    if !needs::root("guards, and files of others") {
        return;
    }
    let tree = Tree::in_memory();
    let policy = tree.logs().join("policy.toml");
    let included = tree.logs().join("included.toml");
    let set = |path: &Path, uid: u32, mode: u32| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        chown(path, Some(uid), Some(uid)).unwrap();
    };
    std::fs::write(&policy, "include = 'included.toml'\n").unwrap();
    std::fs::write(&included, "mode = 'report'\n").unwrap();
    let guard = Guard::start(&tree, &["--policy", policy.to_str().unwrap()]);
    let other = Tree::in_memory();
    for path in [&policy, &included] {
        for (uid, mode) in [(user::NOBODY, 0o644), (0, 0o664), (0, 0o646), (0, 0o620)] {
            set(path, uid, mode);
            assert_eq!(start(&other, &policy), Some(2), "{path:?} {uid} {mode:o}");
            assert_eq!(reload(&guard), KEPT, "{path:?} {uid} {mode:o}");
        }
        set(path, 0, 0o640);
        assert_eq!(reload(&guard), IN_FORCE);
    }
}
