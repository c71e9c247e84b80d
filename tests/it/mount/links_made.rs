//! Law N13: symlinks made through the mount, and what programs make of those that lie below.

use std::path::Path;
use std::process::Command;

use super::links::{leads_to, legacy_tree, target_and_size};
use crate::support::{Tree, at, show};

const LATIN: [&str; 2] = ["--from", "iso-8859-1"];

/// What is made names below what it names above, and is read back as it was made.
#[test]
fn links_are_made_to_lead_to_the_same_file_below() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    let mount = tree.mount(&LATIN);
    let dir = mount.dir();
    let rows: [(&str, &[u8], bool); 12] = [
        ("café", b"caf\xE9", true),
        ("dé/fé", b"d\xE9/f\xE9", true),
        ("./dé//sub/../fé", b"./d\xE9//sub/../f\xE9", true),
        ("hop2/fé", b"hop2/f\xE9", true),
        ("hop/../café", b"hop/../caf\xE9", true),
        ("dé/hép/hép/", b"d\xE9/h\xE9p/h\xE9p/", true),
        ("plain/é", "plain/é".as_bytes(), true),
        ("nix/é", "nix/é".as_bytes(), false),
        ("nix/../dé/fé", b"nix/../d\xE9/f\xE9", false),
        ("plain/né", "plain/né".as_bytes(), false),
        ("../café", "../café".as_bytes(), false),
        ("/café", "/café".as_bytes(), false),
    ];
    for (number, (target, stored, leads)) in rows.into_iter().enumerate() {
        let link = format!("l{number}").into_bytes();
        at::symlink(target.as_bytes(), dir, &link).unwrap();
        assert_eq!(show(&at::readlink(&below, &link).unwrap()), show(stored));
        assert_eq!(show(&target_and_size(dir, &link)), show(target.as_bytes()));
        assert_eq!(leads_to(dir, &link), leads_to(&below, &link), "{target}");
        assert_eq!(leads_to(dir, &link).is_ok(), leads, "{target}");
    }
    assert!(mount.stop().is_empty());
}

/// A link that is renamed, linked or removed is what it was below, and is read as it leads from where it is.
#[test]
fn a_link_that_is_moved_keeps_its_target_below() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    at::write_new(&below, b"d\xE9/caf\xE9", b"").unwrap();
    at::write_new(&below, "plain/café".as_bytes(), b"").unwrap();
    at::write_new(&below, b"plain/caf\xE9", b"").unwrap();
    at::symlink(b"caf\xE9", &below, b"link").unwrap();
    let mount = tree.mount(&LATIN);
    let dir = mount.dir();
    let number = at::stat(dir, b"link").unwrap().st_ino;
    let names = ["link", "dé/l", "plain/é2", "lï", "link"];
    for (old, new) in names.iter().zip(&names[1..]) {
        at::rename(dir, old.as_bytes(), new.as_bytes()).unwrap();
        let target = target_and_size(dir, new.as_bytes());
        let is_doubled = new.starts_with("plain");
        let expected = if is_doubled { "caf%E9" } else { "café" };
        assert_eq!(show(&target), show(expected.as_bytes()), "{new}");
        assert_eq!(at::stat(dir, new.as_bytes()).unwrap().st_ino, number);
    }
    at::link(dir, b"link", "dé/linked".as_bytes()).unwrap();
    assert_eq!(at::readlink(&below, b"d\xE9/linked").unwrap(), b"caf\xE9");
    at::unlink(dir, b"link").unwrap();
    let linked = "dé/linked".as_bytes();
    assert_eq!(target_and_size(dir, linked), "café".as_bytes());
    assert_eq!(leads_to(dir, linked), leads_to(&below, b"d\xE9/caf\xE9"));
    mount.stop();
}

/// Directories whose links lead into each other can be listed by many at once.
#[test]
fn directories_that_lead_into_each_other_are_listed_at_once() {
    let tree = Tree::new();
    let pairs = [(&b"a"[..], &b"../b/"[..]), (b"b", b"../a/")];
    for (name, other) in pairs {
        let dir = tree.directory(name);
        for octet in 0x80..=0xFF_u8 {
            at::write_new(&dir, &[b'f', octet], b"").unwrap();
            at::symlink(&[other, &[b'f', octet]].concat(), &dir, &[b'l', octet]).unwrap();
        }
    }
    let mount = tree.mount(&[]);
    let script = r#"
        cd "$PLACE"
        for n in 1 2 3 4; do
            for d in a b; do (for r in 1 2 3; do touch $d/n$n$r; ls -lL $d | wc -l; done) & done
        done | sort -u | tail -n 1
        find . -type l ! -exec test -e {} \; -print
    "#;
    let listed: usize = run(&mount.point(), script).trim().parse().unwrap();
    // 256 and what was made meanwhile, after a line with the sum.
    assert!((258..=269).contains(&listed), "{listed}");
    mount.stop();
}

fn run(directory: &Path, script: &str) -> String {
    let output = Command::new("/bin/bash")
        .args(["-e", "-o", "pipefail", "-c", script])
        .env("PLACE", directory)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", directory.parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory.parent().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}\n{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Copies out of the view have links that lead somewhere, and none has another size than its target's length.
#[test]
fn programs_copy_links_that_lead_somewhere() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    for number in 0..50_u8 {
        at::symlink(
            b"../d\xE9/f\xE9",
            &below,
            &[b"plain/", &[200 + number][..]].concat(),
        )
        .unwrap();
    }
    at::symlink(b"plain/\xC9", &below, b"to-a-link").unwrap();
    let mount = tree.mount(&LATIN);
    let script = r#"
        cd "$PLACE"
        find . -type l -printf '%s %l\n' | LC_ALL=C awk '{ if ($1 != length($2)) print "size of " $2 }'
        cp -a . ../copied; mkdir ../tarred ../synced
        tar -cf - . | tar -xf - -C ../tarred
        rsync -a ./ ../synced/
        for copy in ../copied ../tarred ../synced; do
            (cd $copy; find . -type l ! -exec test -e {} \; -print; find . -type l | wc -l)
        done
        tar -cf - . | tar -df - -C .
        rsync -ai ./ ../synced/
    "#;
    assert_eq!(run(&mount.point(), script), "55\n55\n55\n");
    mount.stop();
}

/// A checkout through the mount, of links too, is clean afterwards, and its links lead somewhere below.
#[test]
fn git_sees_no_change_after_a_checkout_through_the_mount() {
    let tree = Tree::new();
    let below = legacy_tree(&tree);
    at::symlink(b"d\xE9/f\xE9", &below, b"link").unwrap();
    let mount = tree.mount(&LATIN);
    let script = r#"
        cd "$PLACE"
        git init -q .; git config user.email t@example.org; git config user.name t
        git add -A; git commit -q -m all
        git status --porcelain
        rm -r link hop hop2 dé/hép; git checkout -q -- .
        git status --porcelain
        git cat-file -p HEAD:link
    "#;
    assert_eq!(run(&mount.point(), script), "dé/fé");
    assert_eq!(at::readlink(&below, b"link").unwrap(), b"d\xE9/f\xE9");
    let (above, stored) = ("dé/hép", &b"d\xE9/h\xC3\xA9p"[..]);
    assert_eq!(
        leads_to(mount.dir(), above.as_bytes()),
        leads_to(&below, stored)
    );
    assert_eq!(
        at::readlink(&below, stored).unwrap(),
        b"s\xE9b/.././../hop2"
    );
    mount.stop();
}
