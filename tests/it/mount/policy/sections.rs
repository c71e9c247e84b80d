//! Sections: where they hold and for whom, what they normalize and compare.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::io::Errno;

use super::{BAD, IN_FORCE, Policy};
use crate::support::user::NOBODY;
use crate::support::{Tree, at, needs};

/// A section for people who are unknown holds for nobody, and not for all. The mount and SIGHUP warn of it.
#[test]
fn unknown_users_and_groups_match_nobody_and_are_warned_of() {
    let tree = Tree::new();
    let text = "mode = \"enforce\"\nexempt_uid = \"no such user\"\n[[section]]\nusers = \"no such user\"\n\
        groups = \"no such group\"\nmode = \"off\"\n";
    let policy = Policy::new(&tree, text);
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("matches nobody");
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    assert_eq!(policy.reload(&mount), IN_FORCE);
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    let log = mount.stderr();
    for unknown in [
        "exempt_uid: unknown user",
        "users: unknown user",
        "groups: unknown group",
    ] {
        assert_eq!(log.matches(unknown).count(), 2, "{unknown}: {log}");
    }
    mount.stop();
}

/// By path, user and group, one of its own and a supplementary one; the first section that holds decides alone.
#[test]
fn sections_hold_where_and_for_whom_they_say_and_the_first_decides() {
    if !needs::root("several users and groups") {
        return;
    }
    let tree = Tree::new();
    for directory in ["free", "strict", "team"] {
        std::fs::create_dir(tree.backing().join(directory)).unwrap();
        let path = tree.backing().join(directory);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    let policy = Policy::new(
        &tree,
        r#"
        errno = "eperm"
        [[section]]
        path = "/strict/**"
        forbid = ["windows"]
        max_bytes = 24
        errno = "einval"
        [[section]]
        path = "/free/**"
        users = ["nobody"]
        mode = "off"
        [[section]]
        path = ["/team/**", "/strict/**"]
        groups = [12345]
        mode = "report"
        [[section]]
        users = 1
        mode = "report"
        "#,
    );
    let mount = tree.mount(&policy.option());
    // uid, supplementary groups, the name, whether it is made
    let rows: [(u32, &str, &str, bool); 14] = [
        (NOBODY, "7", "free/x\\351", true),
        (2, "7", "free/x2\\351", false),
        (1, "7", "free/x3\\351", true),
        (NOBODY, "7", "team/x\\351", false),
        (NOBODY, "7,12345", "team/x\\351", true),
        (12345, "7", "team/x2\\351", true),
        // Its first section holds for all.
        (12345, "7", "strict/x\\351", false),
        (1, "7", "strict/x\\351", false),
        (1, "7", "strict/a:b", false),
        (1, "7", "free/a:b", true),
        (2, "7", "team/a:b", true),
        (0, "7", "strict/aaaaaaaaaaaaaaaaaaaaaaaa", true),
        (0, "7", "strict/aaaaaaaaaaaaaaaaaaaaaaaaa", false),
        (0, "7", "team/aaaaaaaaaaaaaaaaaaaaaaaaa", true),
    ];
    for (uid, groups, name, is_made) in rows {
        let output = Command::new("setpriv")
            .args([&format!("--reuid={uid}"), &format!("--regid={uid}")])
            .args([&format!("--groups={groups}"), "--", "/bin/sh", "-c"])
            .arg(format!("mkdir \"$PLACE/$(printf '{name}')\""))
            .env("PLACE", mount.point())
            .env("LC_ALL", "C")
            .current_dir("/")
            .output()
            .unwrap();
        assert_eq!(
            output.status.success(),
            is_made,
            "{uid} {groups} {name}: {output:?}"
        );
    }
    // The errno is the section's; too long is too long; moved there, a name is a new one.
    let strict = mount.sub("strict");
    assert_eq!(at::mkdir(&strict, b"a:b"), Err(Errno::INVAL));
    assert_eq!(at::mkdir(&strict, &[b'a'; 25]), Err(Errno::NAMETOOLONG));
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::PERM));
    let team = mount.sub("team");
    let moved = rustix::fs::renameat(&team, "a:b", &strict, "a:b");
    assert_eq!(moved, Err(Errno::INVAL));
    // The directory that it lies in can go there, and what is in it is shown as it was.
    at::mkdir(&team, b"inner").unwrap();
    rustix::fs::renameat(&team, "a:b", at::open_dir(&team, b"inner").unwrap(), "a:b").unwrap();
    rustix::fs::renameat(&team, "inner", &strict, "inner").unwrap();
    assert_eq!(at::list(at::open_dir(&strict, b"inner").unwrap()), [b"a:b"]);
    drop((strict, team));
    let records = mount.stop();
    let of_free = |record: &&crate::support::audit::Record| {
        record.name("path").unwrap().starts_with(b"/free/x\xE9")
    };
    assert!(
        !records.iter().any(|record| of_free(&record)),
        "off is silent"
    );
    let accepted = records
        .iter()
        .find(|record| record.text("operation") == "rename");
    assert_eq!(
        accepted.unwrap().name("accepted").as_deref(),
        Some(&b"a%3Ab"[..])
    );
}

/// Names that a section normalizes have other spellings everywhere, and what offends by the section alone is refused.
#[test]
fn a_section_normalizes_and_spellings_never_go_stale() {
    let tree = Tree::new();
    std::fs::create_dir(tree.backing().join("in")).unwrap();
    let text = "from = \"iso-8859-1\"\n[[section]]\npath = \"/in/**\"\nmode = \"normalize\"\nforbid = \"windows\"\n";
    let policy = Policy::new(&tree, text);
    let options = [&policy.option()[..], &["--cache", "3600"]].concat();
    let mount = tree.mount(&options);
    let inside = mount.sub("in");
    for used in [BAD, "café".as_bytes()] {
        at::write_new(&inside, BAD, b"x").unwrap();
        assert_eq!(at::list(&inside), ["café".as_bytes()]);
        for spelling in [BAD, "café".as_bytes()] {
            assert_eq!(at::read(&inside, spelling).unwrap(), b"x");
        }
        at::unlink(&inside, used).unwrap();
        for spelling in [BAD, "café".as_bytes()] {
            assert_eq!(at::stat(&inside, spelling).err(), Some(Errno::NOENT));
        }
    }
    assert_eq!(at::mkdir(&inside, b"a:b"), Err(Errno::ILSEQ));
    assert_eq!(at::mkdir(&inside, b"a:\xE9"), Err(Errno::ILSEQ));
    at::mkdir(mount.dir(), b"a:b").unwrap();
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    drop(inside);
    mount.stop();
}

#[test]
fn siblings_are_compared_where_a_section_says_so() {
    let tree = Tree::new();
    for directory in ["share", "other"] {
        std::fs::create_dir(tree.backing().join(directory)).unwrap();
    }
    let text = "[[section]]\npath = \"/share/**\"\nunique = \"casefold\"\n";
    let policy = Policy::new(&tree, text);
    let mount = tree.mount(&policy.option());
    for (directory, second) in [("share", Err(Errno::EXIST)), ("other", Ok(()))] {
        let dir = mount.sub(directory);
        at::mkdir(&dir, b"readme").unwrap();
        assert_eq!(at::mkdir(&dir, b"README"), second, "{directory}");
        at::write_new(&dir, b"x", b"").unwrap();
        assert_eq!(at::rename(&dir, b"x", b"ReadMe"), second, "{directory}");
    }
    policy.replace("[[section]]\npath = \"/share/**\"\nunique = \"none\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    at::mkdir(mount.sub("share"), b"README").unwrap();
    policy.replace(text);
    assert_eq!(policy.reload(&mount), IN_FORCE);
    assert_eq!(at::mkdir(mount.sub("share"), b"rEADME"), Err(Errno::EXIST));
    mount.stop();
}

/// What is said of the whole mount holds in a section that does not say otherwise, also where the whole mount looks at nothing.
#[test]
fn siblings_are_compared_in_an_enforcing_section_of_a_mount_that_is_off() {
    let tree = Tree::new();
    std::fs::create_dir(tree.backing().join("share")).unwrap();
    let text = "mode = \"off\"\nunique = \"casefold\"\n[[section]]\npath = \"/share/**\"\nmode = \"enforce\"\n";
    let policy = Policy::new(&tree, text);
    let mount = tree.mount(&policy.option());
    for name in [b"readme", b"README"] {
        at::mkdir(mount.dir(), name).unwrap();
    }
    let share = mount.sub("share");
    at::mkdir(&share, b"readme").unwrap();
    assert_eq!(at::mkdir(&share, b"README"), Err(Errno::EXIST));
    assert_eq!(at::mkdir(&share, BAD), Err(Errno::ILSEQ));
    drop(share);
    mount.stop();
}
