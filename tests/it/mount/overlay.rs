//! Law F3: overlayfs takes the mount as its upper layer.

use std::path::Path;
use std::process::Command;

use crate::support::{Tree, needs};

/// Run by root in a mount namespace of its own, which takes the overlay with it. `$PLACE` has the upper layer, `$BELOW`
/// is where that lies, `$LOWER` the lower one. Prints what the overlay shows and what the upper layer was given for it.
const SCRIPT: &str = r#"
set -e
cd "$LOWER"
mkdir -p kept removed/in emptied deep/er; echo one > file; echo two > other; echo three > removed/in/file
echo four > emptied/file; echo five > deep/er/file; ln -s file link; chmod 640 other; chown 1001:2001 other
setfattr -n user.k -v v other
mkdir -p "$PLACE/upper" "$PLACE/work" "$LOWER/../merged"
cd "$LOWER/.."
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$PLACE/upper,workdir=$PLACE/work" merged
cd merged
rm file; mv other moved; rm -r removed; rm -r emptied; mkdir emptied; echo new > emptied/new
echo more >> deep/er/file; echo "café" > "café"; mv "café" file; mkdir fresh; mv fresh fresher; rm link; ln -s new link
chmod 600 deep/er/file; setfattr -n user.x -v y moved; mv deep/er/file kept/; ln kept/file kept/hard; mknod fifo p
list() { find . -printf '%P %y %m %U:%G %n %l %s\n' | sed 's/^\([^ ]* d .*\) [0-9]* [0-9]*$/\1/' | sort; }
list
find . -type f | sort | xargs -d '\n' cat
cd ..; umount merged
cd "$BELOW/upper"
list
find . -type c -printf '%P ' -exec stat -c '%t:%T' {} \; | sort
getfattr -h -R -d -m 'trusted.overlay.(opaque|redirect|metacopy)|user' . | sed '/^$/d'
"#;

fn lines(place: &Path, below: &Path, lower: &Path) -> Vec<String> {
    std::fs::create_dir(lower).unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "/bin/bash", "-c"])
        .arg(SCRIPT)
        .env("PLACE", place)
        .env("BELOW", below)
        .env("LOWER", lower)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Whiteouts (`RENAME_WHITEOUT`), opaque directories, copies up: what lies below is what a bare upper layer gets.
#[test]
fn overlayfs_does_on_the_mount_what_it_does_below_it() {
    if !needs::root("mounting an overlay") {
        return;
    }
    let beside = Tree::new();
    let expected = lines(
        &beside.backing(),
        &beside.backing(),
        &beside.parent().join("lower"),
    );
    assert!(
        expected.iter().any(|line| line == "removed 0:0"),
        "{expected:#?}"
    );
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let got = lines(
        &mount.point(),
        &tree.backing(),
        &tree.parent().join("lower"),
    );
    assert_eq!(got, expected);
    mount.stop();
}
