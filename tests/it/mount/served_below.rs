//! Law F1 on a backing filesystem that checks rights itself: every operation runs with its caller's credentials.

use std::collections::BTreeSet;

use crate::support::server::Server;
use crate::support::{Tree, needs, user};

const ONE: u32 = 1001;
const OTHER: u32 = 1002;

/// Run by a user in `$PLACE`, with `$OWN` and `$THEIRS` to try: each line says what came of it. Leaves what it found.
const TRY: &str = r#"
cd "$PLACE"
try() { "$@" 2>&1; echo "$? $*"; }
for home in "$OWN" "$THEIRS"; do
    try ls -A $home; try cat $home/file; try stat -c %u $home/file
    try sh -c "echo new > $home/new"; try sh -c "echo more >> $home/new"; try cat $home/new
    try mv $home/new $home/newer; try ln $home/newer $home/link; try ln -s file $home/symlink
    try readlink $home/symlink; try mkdir $home/inner/deep; try rmdir $home/inner/deep; try ls $home/inner
    try chmod 700 $home/newer; try touch $home/newer; try truncate -s 1 $home/newer
    try setfattr -n user.x -v y $home/file; try getfattr --only-values -n user.x $home/file
    try setfattr -x user.x $home/file
    try rm $home/link $home/symlink; try rm $home/newer; try mv $home/file $home/gone; try mv $home/gone $home/file
done
"#;

fn lines(uid: u32, place: &std::path::Path) -> Vec<String> {
    let theirs = if uid == ONE { OTHER } else { ONE };
    let script = format!("OWN={uid} THEIRS={theirs}; {TRY}");
    let output = user::script(uid, place, &script);
    let text = String::from_utf8(output.stdout).unwrap();
    // Errors name the path, which is the same in both places.
    text.lines().map(str::to_owned).collect()
}

/// Two users take turns on one thread, as do their requests below. Neither gets by the other's credentials what is not his,
/// or is refused what is his, and the daemon asks for nothing as somebody else.
#[test]
fn f1_every_operation_below_runs_with_the_credentials_of_its_caller() {
    if !needs::root("users") {
        return;
    }
    let tree = Tree::new();
    let server = Server::start(&tree, &[ONE, OTHER]);
    let native = [ONE, OTHER].map(|uid| lines(uid, &tree.backing()));
    let mount = tree.mount(&["--threads", "1", "--from", "iso-8859-1"]);
    drop(server.asked());
    for _ in 0..2 {
        for (uid, native) in [ONE, OTHER].into_iter().zip(&native) {
            assert_eq!(&lines(uid, &mount.point()), native, "as {uid}");
            let asked: BTreeSet<_> = server.asked().into_iter().collect();
            let others: Vec<_> = asked
                .iter()
                .filter(|asked| (asked.uid, asked.gid) != (uid, uid))
                // A thread of the daemon looks at open files of which the kernel keeps pages.
                .filter(|asked| (asked.operation, asked.uid) != ("getattr", 0))
                .collect();
            assert!(others.is_empty(), "as {uid}: {others:?}");
            for operation in [
                "lookup", "readdir", "open", "read", "write", "flush", "rename",
            ] {
                let mut of_all = asked.iter().map(|asked| asked.operation);
                assert!(of_all.any(|asked| asked == operation), "{operation}");
            }
        }
    }
    // The index of a directory is read with the caller's credentials too.
    for uid in [ONE, OTHER] {
        server.file(uid, b"caf\xE9", b"legacy");
    }
    for uid in [ONE, OTHER] {
        for (home, content) in [(ONE, &b"legacy"[..]), (OTHER, b"legacy")] {
            let content = if home == uid { content } else { b"" };
            let script = format!(r#"cat "$PLACE/{home}/café""#);
            assert_eq!(user::script(uid, &mount.point(), &script).stdout, content);
        }
    }
    mount.stop();
}

/// ZFS with `utf8only` and bindfs with iconv refuse other names where they are only looked for.
#[test]
fn f1_names_beyond_ascii_are_made_where_nothing_but_utf_8_may_be_looked_for() {
    if !needs::root("users") {
        return;
    }
    let tree = Tree::new();
    let server = Server::start(&tree, &[ONE]);
    server.take_only_utf8();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let script = format!(
        r#"cd "$PLACE/{ONE}" && ! test -e café && echo new > café && mkdir naïf && mv café ö && cat ö"#
    );
    let output = user::script(ONE, &mount.point(), &script);
    assert_eq!(output.stdout, b"new\n", "{output:?}");
    mount.stop();
}
