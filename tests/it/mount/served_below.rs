//! Law F1 on a backing filesystem that checks rights itself: every operation runs with its caller's credentials.

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::fs::{FlockOperation, Gid, Mode, OFlags, Uid, flock};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Signal, kill_process};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use super::locks::Locker;
use crate::support::server::{Asked, Server};
use crate::support::wait::until;
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

/// Collects what the server was asked, by nobody but users, until each of them has asked it to set a lock that many times.
fn asked_until_tried(server: &Server, tries: usize) -> Vec<Asked> {
    let mut all = Vec::new();
    until(|| {
        all.extend(server.asked());
        assert_of_users(&all);
        [ONE, OTHER].iter().all(|&uid| {
            let tried = |asked: &&Asked| asked.operation == "setlk" && asked.uid == uid;
            all.iter().filter(tried).count() >= tries
        })
    });
    all
}

/// Asserts that nothing was asked but by users with the group of the same number, each about his own files.
fn assert_of_users(asked: &[Asked]) {
    let is_of_user = |asked: &&Asked| match asked.uid {
        ONE | OTHER => asked.gid == asked.uid && asked.is_admitted,
        // As above.
        uid => (asked.operation, uid) == ("getattr", 0),
    };
    let of_others: Vec<_> = asked.iter().filter(|asked| !is_of_user(asked)).collect();
    assert!(of_others.is_empty(), "{of_others:?}");
}

/// All waits are served by one thread, which the first of them starts. It acts as each of those who wait, and tries again by
/// the descriptor by which it tried before.
#[test]
fn f1_a_lock_is_waited_for_with_the_credentials_of_who_waits() {
    if !needs::root("users") {
        return;
    }
    let tree = Tree::new();
    let server = Server::start(&tree, &[ONE, OTHER]);
    let mount = tree.mount(&["--locks", "backing", "--from", "iso-8859-1"]);
    drop(server.asked());
    // Each has files of its own: those before may be closed a moment after their processes have ended.
    for (name, take, free, call) in [
        ("\u{e4}", "flock 1 w", "flock 1 u", libc::SYS_flock),
        ("\u{f6}", "ofd 1 w 0 0", "ofd 1 u 0 0", libc::SYS_fcntl),
        ("\u{fc}", "posix 1 w 0 0", "posix 1 u 0 0", libc::SYS_fcntl),
    ] {
        for uid in [ONE, OTHER] {
            let octet = u8::try_from(name.chars().next().unwrap()).unwrap();
            server.file(uid, &[octet], b"legacy");
        }
        let start = |uid| {
            let mut locker = Locker::start_as(uid, &mount.point());
            assert_eq!(locker.ask(&format!("open 1 @{uid}/{name} rw")), "ok");
            locker
        };
        let mut holders = [ONE, OTHER].map(start);
        for holder in &mut holders {
            assert_eq!(holder.ask(take), "ok", "{take}");
        }
        let mut waiting = [ONE, OTHER].map(start);
        waiting[0].tell(&format!("{take} wait"));
        waiting[0].wait_until_in(call);
        waiting[1].tell(&format!("{take} wait"));
        asked_until_tried(&server, 3);
        let asked = asked_until_tried(&server, 3);
        let opened = asked.iter().filter(|asked| asked.operation == "open");
        assert_eq!(opened.count(), 0, "{take}: {asked:?}");
        // Who waits no more gives up what he waited by.
        kill_process(waiting[0].pid(), Signal::USR1).unwrap();
        assert_eq!(waiting[0].answer(), "interrupted", "{take}");
        waiting[0].tell(&format!("{take} wait"));
        for (holder, waiting) in holders.iter_mut().zip(&mut waiting) {
            assert_eq!(holder.ask(free), "ok", "{take}");
            assert_eq!(waiting.answer(), "ok", "{take}");
        }
        drop((holders, waiting));
        assert_of_users(&server.asked());
    }
    mount.stop();
}

/// Opens a file as the user `uid`, locks it by flock(2), and closes it while a socket has it still.
fn lock_and_leave_to(socket: &UnixStream, uid: u32, path: &std::path::Path) {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    let act = || {
        set_thread_res_gid(group, group, group).unwrap();
        set_thread_res_uid(user, user, user).unwrap();
        let file = rustix::fs::open(path, OFlags::RDWR, Mode::empty()).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        let fds = [file.as_fd()];
        assert!(with.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(socket, &[IoSlice::new(b"x")], &mut with, SendFlags::empty()).unwrap();
    };
    std::thread::scope(|scope| scope.spawn(act).join().unwrap());
}

/// The kernel sends the release of a file as nobody, to whatever thread there is.
#[test]
fn f1_locks_go_with_their_file_by_the_credentials_of_who_opened_it() {
    if !needs::root("users") {
        return;
    }
    let tree = Tree::new();
    let server = Server::start(&tree, &[ONE, OTHER]);
    server.file(ONE, b"caf\xE9", b"legacy");
    let mount = tree.mount(&[
        "--locks",
        "backing",
        "--from",
        "iso-8859-1",
        "--threads",
        "1",
    ]);
    drop(server.asked());
    let (near, far) = UnixStream::pair().unwrap();
    let path = mount.point().join(ONE.to_string()).join("café");
    lock_and_leave_to(&near, ONE, &path);
    let output = user::script(OTHER, &mount.point(), &format!("cat $PLACE/{OTHER}/file"));
    assert_eq!(output.stdout, b"content");
    drop((near, far));
    let mut locker = Locker::start_as(ONE, &mount.point());
    assert_eq!(locker.ask(&format!("open 1 @{ONE}/café rw")), "ok");
    assert_eq!(locker.ask("flock 1 w wait"), "ok");
    assert_of_users(&server.asked());
    drop(locker);
    mount.stop();
}

/// Where siblings are compared, the names of a directory are locked while one is made; not while others keep that name from being
/// free.
#[test]
fn a_name_that_is_waited_for_keeps_nobody_from_the_names_of_its_directory() {
    if !needs::root("users") {
        return;
    }
    let tree = Tree::new();
    let server = Server::start(&tree, &[ONE]);
    // So long that it is shown cut: what it leads to is told by the names of the directory.
    server.file(ONE, &[0xE9; 200], b"legacy");
    let mount = tree.mount(&["--unique", "casefold", "--from", "iso-8859-1"]);
    let act =
        |script: &str| user::script(ONE, &mount.point(), &format!("cd $PLACE/{ONE}; {script}"));
    let cut = String::from_utf8(act("cat é*; printf %s é*").stdout).unwrap();
    let cut = cut.strip_prefix("legacy").unwrap();
    server.contest(Some("contested"));
    drop(server.asked());
    std::thread::scope(|scope| {
        let making = scope.spawn(|| act("echo made > contested"));
        let mut tries = 0;
        until(|| {
            let asked = server.asked();
            tries += asked
                .iter()
                .filter(|asked| asked.operation == "create")
                .count();
            tries > 2
        });
        assert_eq!(act(&format!("cat {cut}")).stdout, b"legacy");
        server.contest(None);
        let made = making.join().unwrap();
        assert!(made.status.success(), "{made:?}");
    });
    assert_eq!(act("cat contested").stdout, b"made\n");
    mount.stop();
}
