//! Policies that lie where users of the mount could change them: never taken, however they are reached.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, mount_bind, unmount};
use serde_json::json;

use super::{BAD, IN_FORCE, KEPT, Policy, told};
use crate::support::mount::binary;
use crate::support::{Mount, Tree, at, needs};

const MINE: &str = "mode = \"off\"\n";

/// Something bound elsewhere, until the test ends.
struct Bound(PathBuf);

impl Bound {
    fn new(what: &Path, place: PathBuf) -> Self {
        mount_bind(what, &place).unwrap();
        Self(place)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// Replaces the policy file by a link.
fn lead(policy: &Policy, target: &Path) {
    let new = policy.path.with_extension("link");
    symlink(target, &new).unwrap();
    rustix::fs::rename(&new, &policy.path).unwrap();
}

fn include(policy: &Policy, file: &Path) {
    policy.replace(&format!("include = [{file:?}]\n"));
}

/// Has it read anew, and expects the old policy to stay, with a fault that says where the file lies.
fn refuses(policy: &Policy, mount: &Mount<'_>, what: &str, file: &Path, case: &str) {
    let failed = |told: serde_json::Value| told["failed_reloads"].as_u64().unwrap();
    let before = failed(told(mount));
    assert_eq!(policy.reload(mount), KEPT, "{case}");
    let now = told(mount);
    assert_eq!(now["reloads"], json!(0), "{case}");
    let fault = now["fault"]["lines"][0].as_str().unwrap().to_owned();
    assert_eq!(failed(now), before + 1, "{case}");
    assert!(
        fault.contains(&format!("is inside the {what}")),
        "{case}: {fault}"
    );
    assert!(fault.contains(&format!("{file:?}")), "{case}: {fault}");
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ), "{case}");
}

fn start(tree: &Tree, policy: &Policy, options: &[&str]) -> Output {
    Command::new(binary())
        .args(["mount", "--background"])
        .args(options)
        .args(policy.option())
        .args([tree.backing(), tree.point()])
        .output()
        .unwrap()
}

#[test]
fn a_policy_from_inside_the_mount_or_the_backing_directory_is_never_taken_on_a_signal() {
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        std::fs::create_dir(tree.backing().join("sub")).unwrap();
        for file in ["p", "sub/p"] {
            std::fs::write(tree.backing().join(file), MINE).unwrap();
        }
        let outside = tree.parent().join("outside.toml");
        std::fs::write(&outside, "mode = \"report\"\n").unwrap();
        let policy = Policy::new(&tree, "mode = \"enforce\"\n");
        let mut mount = tree.mount(&[&policy.option()[..], &["--sandbox", sandbox]].concat());
        mount.allow_warning("policy");
        let places = [
            ("mount point", tree.point()),
            ("backing directory", tree.backing()),
        ];
        for (what, place) in &places {
            for file in ["p", "sub/p"] {
                let file = place.join(file);
                let path = place.join(file.strip_prefix(place).unwrap().iter().next().unwrap());
                lead(&policy, &file);
                refuses(&policy, &mount, what, &path, "link");
                std::fs::remove_file(&policy.path).unwrap();
                include(&policy, &file);
                refuses(&policy, &mount, what, &path, "include");
            }
            // A link on the way, of the file that is included.
            let way = tree.parent().join("way");
            symlink(place, &way).unwrap();
            include(&policy, Path::new("way/sub/p"));
            refuses(&policy, &mount, what, &place.join("sub"), "parent");
            std::fs::remove_file(&way).unwrap();
            // Out again by a link that is theirs.
            let out = tree.backing().join("out");
            symlink(&outside, &out).unwrap();
            lead(&policy, &place.join("out"));
            refuses(&policy, &mount, what, &place.join("out"), "by their link");
            std::fs::remove_file(out).unwrap();
        }
        // Out again by `..`, from however deep.
        std::fs::remove_file(&policy.path).unwrap();
        for (what, place) in places {
            let out = place.join("..");
            include(&policy, &out.join("outside.toml"));
            refuses(&policy, &mount, what, &out, "..");
            include(&policy, &place.join("sub/../../outside.toml"));
            refuses(&policy, &mount, what, &place.join("sub"), "sub/../..");
        }
        include(&policy, Path::new("outside.toml"));
        assert_eq!(policy.reload(&mount), IN_FORCE);
        at::mkdir(mount.dir(), BAD).unwrap();
        mount.stop();
    }
}

/// A parent of the file is replaced by a link.
#[test]
fn a_parent_that_comes_to_lead_into_the_mount_leads_to_no_policy() {
    let tree = Tree::new();
    let directory = tree.parent().join("etc");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(tree.backing().join("policy.toml"), MINE).unwrap();
    let policy = Policy::named(&tree, b"etc/policy.toml", "mode = \"enforce\"\n");
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("policy");
    let old = tree.parent().join("old");
    for place in [tree.point(), tree.backing()] {
        rustix::fs::rename(&directory, &old).unwrap();
        symlink(&place, &directory).unwrap();
        let what = if place == tree.point() {
            "mount point"
        } else {
            "backing directory"
        };
        refuses(&policy, &mount, what, &place.join("policy.toml"), "parent");
        std::fs::remove_file(&directory).unwrap();
        rustix::fs::rename(&old, &directory).unwrap();
    }
    mount.stop();
}

#[test]
fn what_was_bound_elsewhere_is_known_all_the_same() {
    if !needs::root("bind mounts") {
        return;
    }
    let tree = Tree::new();
    std::fs::create_dir_all(tree.backing().join("sub/deep")).unwrap();
    for file in ["p", "sub/p", "sub/deep/p"] {
        std::fs::write(tree.backing().join(file), MINE).unwrap();
    }
    let policy = Policy::new(&tree, "mode = \"enforce\"\n");
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("policy");
    let elsewhere = tree.parent().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let file = tree.parent().join("file");
    std::fs::write(&file, "").unwrap();
    for (what, place) in [
        ("mount point", tree.point()),
        ("backing directory", tree.backing()),
    ] {
        for part in ["", "sub", "sub/deep"] {
            let bound = Bound::new(&place.join(part), elsewhere.clone());
            lead(&policy, &elsewhere.join("p"));
            refuses(&policy, &mount, what, &elsewhere.join("p"), part);
            drop(bound);
        }
        // A file alone.
        let bound = Bound::new(&place.join("sub/p"), file.clone());
        lead(&policy, &file);
        refuses(&policy, &mount, what, &file, "file");
        drop(bound);
        // Another directory, bound to the same place, is none of that.
        let another = tree.parent().join("backing-too");
        std::fs::create_dir(&another).unwrap();
        std::fs::write(another.join("p"), "[[section").unwrap();
        let bound = Bound::new(&another, elsewhere.clone());
        lead(&policy, &elsewhere.join("p"));
        assert_eq!(policy.reload(&mount), KEPT);
        let fault = told(&mount)["fault"]["lines"][0].to_string();
        assert!(!fault.contains("is inside"), "{fault}");
        drop(bound);
        std::fs::remove_dir_all(another).unwrap();
    }
    mount.stop();
}

#[test]
fn a_policy_from_inside_is_refused_at_start_however_it_is_reached() {
    let tree = Tree::new();
    let way = tree.parent().join("way");
    for (what, place) in [
        ("mount point", tree.point()),
        ("backing directory", tree.backing()),
    ] {
        let file = place.join("p");
        std::fs::write(&file, MINE).unwrap();
        symlink(&place, &way).unwrap();
        let policy = Policy::new(&tree, "");
        let ways: [&dyn Fn(); 4] = [
            &|| lead(&policy, &file),
            &|| lead(&policy, Path::new("way/p")),
            &|| include(&policy, &file),
            &|| include(&policy, Path::new("./way/../way/p")),
        ];
        for (number, make) in ways.into_iter().enumerate() {
            drop(std::fs::remove_file(&policy.path));
            make();
            let output = start(&tree, &policy, &[]);
            assert_eq!(output.status.code(), Some(2), "{what} {number}: {output:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            let path = if number == 3 {
                place.join("..")
            } else {
                file.clone()
            };
            assert!(
                said.contains(&format!("is inside the {what}, as {path:?}")),
                "{said}"
            );
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_file(&way).unwrap();
    }
}

/// A filesystem in memory on `place`, until the test ends.
fn in_memory(place: PathBuf) -> Bound {
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("none", &place, "tmpfs", flags, None).unwrap();
    Bound(place)
}

/// With `--cross-mounts` users of the mount write to what is mounted inside, wherever else that or a part of it is bound.
#[test]
fn what_is_mounted_inside_counts_as_the_backing_directory_where_it_is_entered() {
    if !needs::root("bind mounts") {
        return;
    }
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        std::fs::create_dir(tree.backing().join("sub")).unwrap();
        let [whole, part] = ["whole", "part"].map(|name| tree.parent().join(name));
        let file = tree.parent().join("file");
        std::fs::write(&file, "").unwrap();
        for directory in [&whole, &part] {
            std::fs::create_dir(directory).unwrap();
        }
        let _whole = in_memory(whole.clone());
        for directory in ["in/deep", "in-not"] {
            std::fs::create_dir_all(whole.join(directory)).unwrap();
        }
        for name in ["p", "in/p", "in/deep/p", "in-not/p"] {
            std::fs::write(whole.join(name), "mode = \"report\"\n").unwrap();
        }
        let _part = Bound::new(&whole.join("in/deep"), part.clone());
        let _file = Bound::new(&whole.join("in/p"), file.clone());
        let policy = Policy::new(&tree, "mode = \"enforce\"\n");
        let options = ["--cross-mounts", "--sandbox", sandbox];
        let mut mount = tree.mount(&[&policy.option()[..], &options].concat());
        mount.allow_warning("policy");
        mount.allow_warning("sandbox");
        // It comes when all is mounted already.
        let inside = Bound::new(&whole.join("in"), tree.backing().join("sub"));
        let rows = [
            (whole.join("in/p"), whole.join("in/p")),
            (whole.join("in/deep/p"), whole.join("in/deep")),
            (part.join("p"), part.join("p")),
            (file.clone(), file.clone()),
        ];
        for (place, told) in rows {
            lead(&policy, &place);
            refuses(&policy, &mount, "backing directory", &told, "link");
            std::fs::remove_file(&policy.path).unwrap();
            include(&policy, &place);
            refuses(&policy, &mount, "backing directory", &told, "include");
        }
        // What is mounted inside of that in turn.
        let other = tree.parent().join("other");
        std::fs::create_dir(&other).unwrap();
        let _other = in_memory(other.clone());
        std::fs::write(other.join("p"), MINE).unwrap();
        let deeper = Bound::new(&other, tree.backing().join("sub/deep"));
        include(&policy, &other.join("p"));
        refuses(
            &policy,
            &mount,
            "backing directory",
            &other.join("p"),
            "deeper",
        );
        drop(deeper);
        // The rest of that filesystem is none of it.
        for place in [whole.join("p"), whole.join("in-not/p")] {
            include(&policy, &place);
            assert_eq!(policy.reload(&mount), IN_FORCE, "{place:?}");
        }
        drop(inside);
        include(&policy, &whole.join("in/p"));
        assert_eq!(policy.reload(&mount), IN_FORCE);
        mount.stop();
        // At start, too; and not where it is not entered.
        let _inside = Bound::new(&whole.join("in"), tree.backing().join("sub"));
        let output = start(&tree, &policy, &["--cross-mounts"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("is inside the backing directory"), "{said}");
        let mut mount = tree.mount(&[&policy.option()[..], &["--sandbox", sandbox]].concat());
        mount.allow_warning("is mounted inside the backing directory");
        assert_eq!(policy.reload(&mount), IN_FORCE);
        mount.stop();
    }
}

/// Whoever can only add to a directory, as to /tmp, leads nobody by a link in it.
#[test]
fn a_strangers_link_in_a_shared_directory_is_not_followed() {
    if !needs::root("another user's link") {
        return;
    }
    let tree = Tree::new();
    let shared = tree.parent().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(
        &shared,
        std::os::unix::fs::PermissionsExt::from_mode(0o1777),
    )
    .unwrap();
    std::fs::write(tree.parent().join("other.toml"), "").unwrap();
    let link = shared.join("p");
    symlink("../other.toml", &link).unwrap();
    let check = || {
        let output = Command::new(binary())
            .args(["policy", "check"])
            .arg(&link)
            .output();
        let output = output.unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    assert_eq!(check().0, Some(0));
    rustix::fs::chownat(
        CWD,
        &link,
        Some(rustix::fs::Uid::from_raw(1234)),
        None,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .unwrap();
    let (code, said) = check();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot be read: Permission denied"), "{said}");
}
