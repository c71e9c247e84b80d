//! Policies that lie where users of the mount could change them: never taken. All files lie in one directory, held from the start.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::io::Errno;
use serde_json::json;

use super::{BAD, IN_FORCE, KEPT, Policy, told};
use crate::support::mount::binary;
use crate::support::{Mount, Tree, at};

const MINE: &str = "mode = \"off\"\n";

/// Replaces the policy file by a link.
fn lead(policy: &Policy, target: &Path) {
    let new = policy.path.with_extension("link");
    symlink(target, &new).unwrap();
    rustix::fs::rename(&new, &policy.path).unwrap();
}

fn include(policy: &Policy, file: &Path) {
    policy.replace(&format!("include = [{file:?}]\n"));
}

/// Has the policy read again, and expects the old one to stay.
fn refuses(policy: &Policy, mount: &Mount<'_>, case: &str) {
    assert_eq!(policy.reload(mount), KEPT, "{case}");
    let now = told(mount);
    assert_eq!(now["reloads"], json!(0), "{case}");
    let fault = now["fault"]["lines"][0].as_str().unwrap().to_owned();
    let is_told = fault.contains("is inside the ") || fault.contains("leads out of ");
    assert!(is_told, "{case}: {fault}");
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ), "{case}");
}

fn start(tree: &Tree, policy: &Path) -> Output {
    Command::new(binary())
        .args(["mount", "--background", "--policy"])
        .args([policy, &tree.backing(), &tree.point()])
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
        for place in [tree.point(), tree.backing()] {
            let within = place.strip_prefix(tree.parent()).unwrap().to_owned();
            for file in ["p", "sub/p"] {
                for path in [place.join(file), within.join(file)] {
                    lead(&policy, &path);
                    refuses(&policy, &mount, "link");
                    std::fs::remove_file(&policy.path).unwrap();
                    include(&policy, &path);
                    refuses(&policy, &mount, "include");
                }
            }
            // A link on the way.
            let way = tree.parent().join("way");
            symlink(&within, &way).unwrap();
            include(&policy, Path::new("way/sub/p"));
            refuses(&policy, &mount, "way");
            std::fs::remove_file(&way).unwrap();
        }
        // Elsewhere, by a link or not.
        for path in ["/etc/passwd", "../x", "/proc/self/cwd/outside.toml"] {
            include(&policy, Path::new(path));
            refuses(&policy, &mount, path);
        }
        include(&policy, &outside);
        assert_eq!(policy.reload(&mount), IN_FORCE);
        at::mkdir(mount.dir(), BAD).unwrap();
        mount.stop();
    }
}

/// The path of the directory comes to lead into the mount: its old directory is read.
#[test]
fn the_directory_that_was_there_at_start_is_the_one_that_is_read() {
    let tree = Tree::new();
    let directory = tree.parent().join("etc");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(tree.backing().join("policy.toml"), MINE).unwrap();
    let policy = Policy::named(&tree, b"etc/policy.toml", "mode = \"enforce\"\n");
    let mount = tree.mount(&policy.option());
    let old = tree.parent().join("old");
    for place in [tree.point(), tree.backing()] {
        rustix::fs::rename(&directory, &old).unwrap();
        symlink(&place, &directory).unwrap();
        assert_eq!(policy.reload(&mount), IN_FORCE);
        assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
        std::fs::remove_file(&directory).unwrap();
        rustix::fs::rename(&old, &directory).unwrap();
    }
    mount.stop();
}

/// As Kubernetes replaces a `ConfigMap`: a link to a directory, beside it, is renamed.
#[test]
fn links_within_the_directory_are_followed_each_time() {
    let tree = Tree::new();
    for (version, text) in [
        ("v1", "mode = \"enforce\"\n"),
        ("v2", "mode = \"report\"\n"),
    ] {
        std::fs::create_dir(tree.parent().join(version)).unwrap();
        std::fs::write(tree.parent().join(version).join("policy.toml"), text).unwrap();
    }
    let policy = Policy::new(&tree, "");
    let [data, new] = ["data", "data.new"].map(|name| tree.parent().join(name));
    symlink("v1", &data).unwrap();
    lead(&policy, &PathBuf::from("data/policy.toml"));
    let mount = tree.mount(&policy.option());
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    symlink("v2", &new).unwrap();
    rustix::fs::rename(&new, &data).unwrap();
    assert_eq!(policy.reload(&mount), IN_FORCE);
    at::mkdir(mount.dir(), BAD).unwrap();
    mount.stop();
}

/// A link to another directory is followed once.
#[test]
fn a_policy_that_is_a_link_to_elsewhere_lies_there() {
    let tree = Tree::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("real.toml");
    std::fs::write(&file, "mode = \"enforce\"\n").unwrap();
    let policy = Policy::new(&tree, "");
    lead(&policy, &file);
    let mount = tree.mount(&policy.option());
    std::fs::write(&file, "mode = \"report\"\n").unwrap();
    assert_eq!(policy.reload(&mount), IN_FORCE);
    at::mkdir(mount.dir(), BAD).unwrap();
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
        let ways: [(&Path, &dyn Fn()); 4] = [
            (&file, &|| ()),
            (&policy.path, &|| lead(&policy, &file)),
            (&policy.path, &|| lead(&policy, Path::new("way/p"))),
            (&policy.path, &|| include(&policy, &file)),
        ];
        for (number, (path, make)) in ways.into_iter().enumerate() {
            drop(std::fs::remove_file(&policy.path));
            make();
            let output = start(&tree, path);
            assert_eq!(output.status.code(), Some(2), "{what} {number}: {output:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains(&format!("is inside the {what}")), "{said}");
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_file(&way).unwrap();
    }
}
