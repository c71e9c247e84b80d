//! Law F3: what Linux programs do works, and a copy through the mount equals the original: content, modes, owners,
//! times, extended attributes, hard links.

use std::path::Path;
use std::process::Command;

use rustix::fs::OFlags;

use crate::support::random::Random;
use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Mount, Tree, at, needs};

/// Fills `$PLACE` with one of everything. Names conform.
const EVERYTHING: &str = r#"
umask 022
cd "$PLACE"
mkdir -p plain/deep/deeper empty modes links special attributes "with space" "日本語" "e-é-ö"
echo content > plain/file; : > plain/empty; echo x > plain/deep/deeper/file
echo "é" > "e-é-ö/ñandú"; echo y > "日本語/漢字.txt"; echo z > "with space/a b  c"; echo w > "%E9"; echo v > "100% ~x"
for mode in 0400 0644 0755 4755 2755 1644; do echo $mode > modes/$mode; chmod $mode modes/$mode; done
mkdir modes/setgid modes/sticky; chmod 2770 modes/setgid; chmod 1777 modes/sticky
echo linked > links/one; ln links/one links/two; ln links/one plain/three
ln -s one links/symlink; ln -s missing links/dangling; ln -s /absolute/nowhere links/absolute; ln -s ../plain links/directory
mkfifo special/fifo
truncate -s 3M plain/sparse; printf end >> plain/sparse
setfattr -n user.text -v "value é" attributes; echo a > attributes/file; setfattr -n user.empty attributes/file
setfattr -n user.binary -v 0x00ff00fe attributes/file
touch -d '1999-12-31 23:59:59.123456789' plain/file; touch -d '2038-01-19 03:14:08.5' "日本語/漢字.txt"
touch -h -d @1000000000 links/symlink
if [ "$(id -u)" = 0 ]; then
  echo unreadable > modes/0000; chmod 0 modes/0000
  mknod special/null c 1 3; mknod special/disk b 7 99
  chown 65534:1 plain/deep/deeper/file; chown -h 1:65534 links/dangling; chown 65534 empty
  setfacl -m u:1:rx,g:65534:r plain/empty; setfacl -d -m u:65534:rwx attributes
fi
touch -d '2001-02-03 04:05:06.789' plain/deep empty modes links attributes
"#;

fn run(directory: &Path, script: &str) {
    let output = Command::new("/bin/bash")
        .args(["-e", "-o", "pipefail", "-c", script])
        .env("PLACE", directory)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", directory.parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir("/")
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}\n{output:?}");
}

/// A tree of one of everything in `tree`'s backing directory, with a file of random content.
fn everything(tree: &Tree) -> Snapshot {
    run(&tree.backing(), EVERYTHING);
    let mut random = Random::new(7);
    let content: Vec<u8> = (0..1_000_000).map(|_| random.octet()).collect();
    tree.file(b"random", &content);
    snapshot::take(&tree.backing(), Times::Kept)
}

/// The options of a mount on which everything can be made.
const OPTIONS: [&str; 2] = ["-o", "dev,suid"];

fn mount_for_all(tree: &Tree) -> Mount<'_> {
    if needs::is_root() {
        tree.mount(&OPTIONS)
    } else {
        tree.mount(&[])
    }
}

/// What is seen through the mount is what lies below.
#[test]
fn the_mount_shows_the_tree_as_it_is() {
    let tree = Tree::new();
    let original = everything(&tree);
    let mount = mount_for_all(&tree);
    snapshot::assert_same(&original, &snapshot::take(&mount.point(), Times::Kept));
    mount.stop();
}

/// A copy from the mount, and one onto it, equal the original.
fn assert_copies(copy: &str) {
    let tree = Tree::new();
    let original = everything(&tree);
    let mount = mount_for_all(&tree);
    let out = Tree::new();
    let from_to = |from: &Path, to: &Path| {
        let script = format!("FROM={from:?} TO={to:?}\n{copy}");
        run(to, &script);
    };
    from_to(&mount.point(), &out.backing());
    snapshot::assert_same(&original, &snapshot::take(&out.backing(), Times::Kept));
    mount.stop();
    let back = Tree::new();
    let mount = mount_for_all(&back);
    from_to(&tree.backing(), &mount.point());
    snapshot::assert_same(&original, &snapshot::take(&mount.point(), Times::Kept));
    let records = mount.stop();
    assert!(records.is_empty(), "{records:?}");
    snapshot::assert_same(&original, &snapshot::take(&back.backing(), Times::Kept));
}

#[test]
fn cp_copies_faithfully() {
    assert_copies(r#"cp -a "$FROM/." "$TO""#);
}

#[test]
fn tar_copies_faithfully() {
    assert_copies(
        r#"cd "$FROM" && tar --xattrs --xattrs-include='*' --acls --format=pax -cf - -- * \
           | tar --xattrs --xattrs-include='*' --acls --same-owner -xpf - -C "$TO""#,
    );
}

#[test]
fn rsync_copies_faithfully() {
    assert_copies(r#"rsync -aHAX --modify-window=-1 --devices --specials "$FROM/" "$TO/""#);
}

/// rsync finds nothing to do between the mount and what lies below it.
#[test]
fn rsync_sees_no_difference() {
    let tree = Tree::new();
    everything(&tree);
    let mount = mount_for_all(&tree);
    let script = format!(
        r#"test -z "$(rsync -aHAXnic --modify-window=-1 --delete {:?}/ {:?}/)""#,
        mount.point(),
        tree.backing()
    );
    run(&tree.backing(), &script);
    mount.stop();
}

/// find sees each entry once, and rm -rf leaves nothing.
#[test]
fn find_and_rm_see_everything() {
    let tree = Tree::new();
    let original = everything(&tree);
    let legacy: [&[u8]; 4] = [b"caf\xE9", b"\x93x\x94", b"a\nb", b"\xFF"];
    for name in legacy {
        let dir = tree.directory(name);
        at::write_new(dir, name, b"x").unwrap();
    }
    let mount = mount_for_all(&tree);
    let output = Command::new("find")
        .arg(mount.point())
        .args(["-mindepth", "1", "-print0"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let found = output.stdout.iter().filter(|&&byte| byte == 0).count();
    assert_eq!(found, original.len() + 2 * legacy.len());
    assert!(std::str::from_utf8(&output.stdout).is_ok());
    run(&mount.point(), r#"rm -rf -- "$PLACE"/*"#);
    assert!(at::list(tree.below_dir()).is_empty());
    mount.stop();
}

/// A copy of a legacy tree through the mount is the same tree with conforming names.
#[test]
fn a_copy_of_a_legacy_tree_has_conforming_names_and_all_else() {
    let legacy = Tree::new();
    everything(&legacy);
    let modern = Tree::new();
    everything(&modern);
    let below = legacy.below_dir();
    at::rename(&below, "e-é-ö".as_bytes(), b"e-\xE9-\xF6").unwrap();
    let inner = at::open_dir(&below, b"e-\xE9-\xF6").unwrap();
    at::rename(&inner, "ñandú".as_bytes(), b"\xF1and\xFA").unwrap();
    let options = [&OPTIONS[..], &["--from", "iso-8859-1"]].concat();
    let mount = legacy.mount(if needs::is_root() {
        &options
    } else {
        &options[2..]
    });
    let out = Tree::new();
    let script = format!("cp -a {:?}/. {:?}", mount.point(), out.backing());
    run(&out.backing(), &script);
    mount.stop();
    let wanted = snapshot::take(&modern.backing(), Times::Ignored);
    snapshot::assert_same(&wanted, &snapshot::take(&out.backing(), Times::Ignored));
}

/// git makes, clones and checks a repository on the mount.
#[test]
fn git_works_on_the_mount() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    run(
        &mount.point(),
        r#"
        cd "$PLACE"; git() { command git -c user.name=n -c user.email=e -c init.defaultBranch=main -c safe.directory='*' "$@"; }
        mkdir one && cd one && git init -q
        for n in $(seq 200); do echo "content $n" > "file-é-$n"; done
        git add . && git commit -q -m first && git mv file-é-1 moved && git commit -q -m second
        git gc -q && git fsck --strict
        cd .. && git clone -q --no-local one two && diff -r -x .git one two
        cd two && test -z "$(git status --porcelain)" && git checkout -q HEAD~1 && test -f file-é-1
        "#,
    );
    mount.stop();
}

/// cargo builds and runs a program on the mount.
#[test]
fn cargo_works_on_the_mount() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    run_cargo(&mount.point());
    mount.stop();
}

fn run_cargo(point: &Path) {
    let project = point.join("projet-é");
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(
        project.join("Cargo.toml"),
        "[package]\nname = \"tiny\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    std::fs::write(
        project.join("src/main.rs"),
        "fn main() { println!(\"built\") }",
    )
    .unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--offline", "--quiet"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", project.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"built\n");
}

/// Appending is a matter of each write: of what the open file says by then, and of where the file ends by then, also
/// for those who write below.
#[test]
fn writes_go_to_the_end_just_where_they_are_asked_to() {
    needs::fuse();
    let tree = Tree::new();
    tree.file(b"file", b"start");
    let mount = tree.mount(&["--passthrough", "off"]);
    let below = at::open(tree.below_dir(), b"file", OFlags::WRONLY | OFlags::APPEND).unwrap();
    let above = at::open(mount.dir(), b"file", OFlags::RDWR | OFlags::APPEND).unwrap();
    at::write_all(&above, b" one").unwrap();
    at::write_all(&below, b" two").unwrap();
    at::write_all(&above, b" three").unwrap();
    rustix::fs::fcntl_setfl(&above, OFlags::empty()).unwrap();
    rustix::io::pwrite(&above, b"START", 0).unwrap();
    rustix::fs::fcntl_setfl(&above, OFlags::APPEND).unwrap();
    at::write_all(&above, b" four").unwrap();
    assert_eq!(
        at::read(tree.below_dir(), b"file").unwrap(),
        b"START one two three four"
    );
    drop(above);
    mount.stop();
}
