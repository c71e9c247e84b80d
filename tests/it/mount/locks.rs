//! Law F3: locks of fcntl(2), of open file descriptions and of flock(2), among users of the mount (`--locks local`) and
//! beside those below (`--locks backing`): as on a bare directory.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::nested::Beside;
use crate::support::wait::until;
use crate::support::{Tree, user};

/// Runs one command a line, and answers each with a line: `ok`, `no` (another has it), an errno, or what getlk found.
/// Every Debian has this interpreter.
const PROGRAM: &str = r#"
use strict; use Fcntl qw(:flock :DEFAULT); use Errno; $| = 1;
my %files; my $signalled = 0; $SIG{USR1} = sub { $signalled = 1 };
my %kinds = (r => 0, w => 1, u => 2);
my %commands = (posix => [5, 6, 7], ofd => [36, 37, 38]);
sub outcome {
    return 'ok' if $_[0];
    return 'no' if $!{EAGAIN} || $!{EACCES};
    return 'interrupted' if $!{EINTR};
    return 'errno ' . ($! + 0);
}
sub run {
    my ($what, $number, @rest) = split ' ', $_[0];
    if ($what eq 'open') {
        my %modes = (r => O_RDONLY, w => O_WRONLY, rw => O_RDWR);
        sysopen(my $file, $rest[0], $modes{$rest[1]}) or return outcome(0);
        $files{$number} = $file;
        return 'ok';
    }
    if ($what eq 'dup') { open(my $file, '+<&', $files{$rest[0]}) or return outcome(0); $files{$number} = $file; return 'ok' }
    if ($what eq 'close') { return outcome(close(delete $files{$number})) }
    if ($what eq 'flock') {
        my %how = (r => LOCK_SH, w => LOCK_EX, u => LOCK_UN);
        return outcome(flock($files{$number}, $how{$rest[0]} | ($rest[1] ? 0 : LOCK_NB)));
    }
    if ($commands{$what}) {
        my ($kind, $start, $length, $how) = @rest;
        my $index = !$how ? 1 : $how eq 'wait' ? 2 : 0;
        my $lock = pack 's s x4 q q i x4', $kinds{$kind}, 0, $start, $length, 0;
        my $done = fcntl($files{$number}, $commands{$what}[$index], $lock);
        return outcome(0) unless $done;
        return 'ok' if $index;
        my ($found, undef, $from, $octets, $pid) = unpack 's s x4 q q i', $lock;
        return $found == 2 ? 'free' : "held $found $from $octets" . ($how eq 'who' ? " $pid" : '');
    }
    if ($what eq 'child') {
        pipe(my $reader, my $writer);
        my $child = fork;
        if (!$child) { close $reader; syswrite $writer, run(substr $_[0], 6); require POSIX; POSIX::_exit(0) }
        close $writer; my $answer = <$reader>; waitpid $child, 0;
        return $answer;
    }
    return "what is $what?";
}
while (my $line = <STDIN>) { chomp $line; my $answer = run($line); print "$answer\n" }
"#;

/// A process that locks on command; killed with the test.
pub(super) struct Locker {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: PathBuf,
}

impl Locker {
    pub(super) fn start(directory: &Path) -> Self {
        Self::spawn(Command::new("perl"), directory)
    }

    /// As [`Self::start`], as the user `uid`.
    pub(super) fn start_as(uid: u32, directory: &Path) -> Self {
        Self::spawn(user::command(uid, Path::new("perl")), directory)
    }

    fn spawn(mut perl: Command, directory: &Path) -> Self {
        let mut child = perl
            .args(["-e", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            commands: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
            directory: directory.to_owned(),
        }
    }

    /// Gives a command; a file's path is relative to the directory.
    pub(super) fn tell(&mut self, command: &str) {
        let words: Vec<String> = command
            .split(' ')
            .map(|word| match word.strip_prefix('@') {
                Some(name) => self
                    .directory
                    .join(name)
                    .into_os_string()
                    .into_string()
                    .unwrap(),
                None => word.to_owned(),
            })
            .collect();
        let commands = self.commands.as_mut().unwrap();
        writeln!(commands, "{}", words.join(" ")).unwrap();
    }

    pub(super) fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(super) fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        self.answer()
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    /// Waits until it is inside this system call, and so waits for a lock.
    pub(super) fn wait_until_in(&self, call: libc::c_long) {
        let path = format!("/proc/{}/syscall", self.child.id());
        let wanted = format!("{call} ");
        until(|| std::fs::read_to_string(&path).unwrap().starts_with(&wanted));
    }

    /// Ends it by SIGKILL and waits for it.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        drop(self.commands.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What the processes `a` and `b` do in turn; the answers are compared, place by place.
///
/// A file that is closed for good gives its locks up a moment after close(2) returns, above: who wants them waits.
const SCENES: &[(&str, &[&str])] = &[
    (
        "ranges shut each other out where they meet",
        &[
            "a open 1 @file rw",
            "b open 1 @file rw",
            "a posix 1 w 10 10",
            "b posix 1 w 0 10",
            "b posix 1 w 20 0",
            "b posix 1 r 19 1",
            "b posix 1 w 10 1 get",
            "a posix 1 r 0 0 get",
            "a posix 1 u 12 3",
            "b posix 1 w 12 3",
            "b posix 1 w 11 1",
            "b posix 1 r 0 0 get",
            "a posix 1 u 0 0",
            "b posix 1 w 0 0",
            "a posix 1 r 5 1 get",
        ],
    ),
    (
        "readers share, and one upgrades when it is alone",
        &[
            "a open 1 @file rw",
            "b open 1 @file rw",
            "a posix 1 r 0 100",
            "b posix 1 r 50 100",
            "a posix 1 w 0 100",
            "a posix 1 w 0 50",
            "b posix 1 w 100 50",
            "b posix 1 u 0 0",
            "a posix 1 w 0 100",
            "b posix 1 r 0 1",
            "a posix 1 r 0 100",
            "b posix 1 r 0 1",
        ],
    ),
    (
        "a reader's descriptor cannot write, and another of the same process can",
        &[
            "a open 1 @file r",
            "b open 1 @file rw",
            "a posix 1 r 0 10",
            "a posix 1 w 0 10",
            "a open 2 @file rw",
            "a posix 2 w 5 5",
            "b posix 1 r 0 5",
            "b posix 1 r 5 5",
            "b posix 1 w 0 5",
            "a open 3 @file w",
            "a posix 3 w 20 5",
            "a posix 3 r 20 5",
            "b posix 1 r 22 1",
        ],
    ),
    (
        "closing any descriptor of the file gives up all of a process's own locks",
        &[
            "a open 1 @file rw",
            "a open 2 @file r",
            "b open 1 @file rw",
            "a posix 1 w 0 10",
            "b posix 1 w 0 10",
            "a close 2",
            "b posix 1 w 0 10",
            "a posix 1 w 0 10",
        ],
    ),
    (
        "the locks of an open file stay until it is closed for good",
        &[
            "a open 1 @file rw",
            "a open 2 @file rw",
            "b open 1 @file rw",
            "a ofd 1 w 0 10",
            "a ofd 2 w 5 10",
            "a ofd 2 w 10 10",
            "b ofd 1 w 0 1",
            "b posix 1 w 0 1",
            "b posix 1 r 10 1 get",
            "a dup 3 1",
            "a close 1",
            "b ofd 1 w 0 1",
            "a close 2",
            "b ofd 1 w 10 1 wait",
            "b ofd 1 w 0 1",
            "a close 3",
            "b ofd 1 w 0 1 wait",
            "b posix 1 w 0 1",
        ],
    ),
    (
        "flock is of the open file, and does not mind how it was opened",
        &[
            "a open 1 @file r",
            "a open 2 @file w",
            "b open 1 @file r",
            "a flock 1 w",
            "b flock 1 r",
            "a flock 2 r",
            "a flock 1 r",
            "b flock 1 r",
            "b flock 1 w",
            "a flock 2 r",
            "a flock 1 u",
            "a close 2",
            "b flock 1 w wait",
            "b dup 2 1",
            "b close 1",
            "a flock 1 r",
            "b close 2",
            "a flock 1 w wait",
        ],
    ),
    (
        "a child has its parent's open files, and none of its own locks",
        &[
            "a open 1 @file rw",
            "b open 1 @file rw",
            "a posix 1 w 0 10",
            "a child posix 1 w 0 10",
            "a child posix 1 u 0 10",
            "a child close 1",
            "b posix 1 w 0 10",
            "a ofd 1 w 20 10",
            "a child ofd 1 w 20 5",
            "a child ofd 1 u 20 5",
            "b ofd 1 w 20 5",
            "b ofd 1 w 25 5",
            "a child ofd 1 u 25 5",
            "b ofd 1 w 25 5",
        ],
    ),
    (
        "a child unlocks the flock that it shares",
        &[
            "a open 1 @file rw",
            "b open 1 @file rw",
            "a flock 1 w",
            "a child flock 1 w",
            "b flock 1 w",
            "a child flock 1 u",
            "b flock 1 w",
        ],
    ),
    (
        "the whole file by one call is free for the other",
        &[
            "a open 1 @file rw",
            "b open 1 @file rw",
            "a posix 1 w 0 0",
            "b flock 1 w",
            "a flock 1 r",
            "b posix 1 r 0 0",
            "b flock 1 u",
            "a flock 1 w",
            "a posix 1 u 0 5",
            "b flock 1 r",
            "b posix 1 w 0 5",
            "a flock 1 u",
            "b posix 1 w 0 0",
            "b flock 1 w",
        ],
    ),
    (
        "files and links to them are one, and other files are others",
        &[
            "a open 1 @file rw",
            "b open 1 @link rw",
            "b open 2 @other rw",
            "a posix 1 w 0 0",
            "b posix 1 r 0 1",
            "b posix 2 w 0 0",
            "b flock 2 w",
            "a open 3 @directory r",
            "b open 3 @directory r",
            "a flock 3 w",
            "a flock 3 u",
        ],
    ),
    (
        "the last octet that there can be",
        &[
            "a open 1 @file rw",
            "b open 1 @file rw",
            "a posix 1 w 9223372036854775807 1",
            "b posix 1 w 9223372036854775807 1",
            "b posix 1 w 9223372036854775806 1",
            "b posix 1 w 9223372036854775806 2",
            "b posix 1 w 1 9223372036854775807",
            "b posix 1 w 0 9223372036854775807",
            "b posix 1 w 9223372036854775807 2",
            "b posix 1 w 5 -3",
            "b posix 1 w 5 -6",
            "b posix 1 w -1 1",
            "a posix 1 r 0 0 get",
        ],
    ),
];

/// A tree with the files of the scenes.
fn tree() -> Tree {
    let tree = Tree::new();
    fill(&tree.backing());
    tree
}

fn fill(directory: &Path) {
    let [file, other, link, inside] =
        ["file", "other", "link", "directory"].map(|name| directory.join(name));
    std::fs::write(&file, "content").unwrap();
    std::fs::write(other, "").unwrap();
    std::fs::hard_link(file, link).unwrap();
    std::fs::create_dir(inside).unwrap();
}

/// Plays a scene with `a` and `b` in these directories.
fn play(scene: &[&str], a: &Path, b: &Path) -> Vec<String> {
    let mut lockers = BTreeMap::from([('a', Locker::start(a)), ('b', Locker::start(b))]);
    let mut act = |line: &&str| {
        let (who, command) = line.split_at(1);
        let answer = lockers
            .get_mut(&who.chars().next().unwrap())
            .unwrap()
            .ask(command.trim());
        format!("{line}: {answer}")
    };
    scene.iter().map(&mut act).collect()
}

/// Every scene on the mount as on a bare directory; with `--locks backing` also with one of the two below.
#[test]
fn locks_are_those_of_a_bare_directory() {
    let bare = tree();
    for options in [&[][..], &["--locks", "backing"]] {
        let tree = tree();
        let mount = tree.mount(options);
        let (above, below) = (mount.point(), tree.backing());
        for (number, (what, scene)) in SCENES.iter().enumerate() {
            let expected = play(scene, &bare.backing(), &bare.backing());
            assert!(expected.iter().any(|line| line.ends_with("ok")), "{what}");
            // Each has files of its own: those who played before may be told of as ended before their files are closed.
            let anew = |who: &str, a: &Path, b: &Path| {
                let name = format!("{number}-{who}");
                let directory = below.join(&name);
                std::fs::create_dir(&directory).unwrap();
                fill(&directory);
                play(scene, &a.join(&name), &b.join(&name))
            };
            let both = anew("both", &above, &above);
            assert_eq!(both, expected, "{what}, {options:?}");
            if options.is_empty() {
                continue;
            }
            // What an open directory is locked by, the kernel keeps to itself.
            assert_eq!(anew("a", &above, &below), expected, "{what}, a above");
            assert_eq!(anew("b", &below, &above), expected, "{what}, b above");
        }
        mount.stop();
    }
}

/// A process that ends, in whatever way, holds nothing any more.
#[test]
fn a_process_that_is_killed_gives_its_locks_up() {
    for options in [&[][..], &["--locks", "backing"]] {
        let tree = tree();
        let mount = tree.mount(options);
        let takes = ["posix 1 w 0 10", "ofd 1 w 0 10", "flock 1 w"];
        for (number, take) in takes.into_iter().enumerate() {
            // As above, a file of its own for each.
            tree.file(format!("file{number}").as_bytes(), b"content");
            let mut holder = Locker::start(&mount.point());
            let mut other = Locker::start(&mount.point());
            for locker in [&mut holder, &mut other] {
                let open = format!("open 1 @file{number} rw");
                assert_eq!(locker.ask(&open), "ok");
            }
            assert_eq!(holder.ask(take), "ok");
            assert_eq!(other.ask(take), "no", "{options:?}");
            let call = if take.starts_with("flock") {
                libc::SYS_flock
            } else {
                libc::SYS_fcntl
            };
            other.tell(&format!("{take} wait"));
            other.wait_until_in(call);
            holder.kill();
            assert_eq!(other.answer(), "ok", "{take} {options:?}");
        }
        mount.stop();
    }
}

/// Who waits gets the lock when it is free, is interrupted by a signal, and can be killed.
#[test]
fn waiting_ends_with_the_lock_or_with_a_signal() {
    for (options, is_below) in [
        (&[][..], false),
        (&["--locks", "backing", "--threads", "1"], false),
        (&["--locks", "backing", "--threads", "1"], true),
    ] {
        let tree = tree();
        let mount = tree.mount(options);
        let place = if is_below {
            tree.backing()
        } else {
            mount.point()
        };
        let rows = [
            ("posix 1 w 0 10", "posix 1 u 0 10", libc::SYS_fcntl),
            ("ofd 1 w 0 0", "ofd 1 u 0 0", libc::SYS_fcntl),
            ("flock 1 w", "flock 1 u", libc::SYS_flock),
        ];
        for (number, (take, free, call)) in rows.into_iter().enumerate() {
            // As above, a file of its own for each.
            tree.file(format!("file{number}").as_bytes(), b"content");
            let mut holder = Locker::start(&place);
            let mut first = Locker::start(&mount.point());
            let mut killed = Locker::start(&mount.point());
            for locker in [&mut holder, &mut first, &mut killed] {
                let open = format!("open 1 @file{number} rw");
                assert_eq!(locker.ask(&open), "ok");
            }
            assert_eq!(holder.ask(take), "ok");
            let wait = format!("{take} wait");
            // Several wait, and the one thread of the daemon serves others meanwhile.
            killed.tell(&wait);
            killed.wait_until_in(call);
            first.tell(&wait);
            first.wait_until_in(call);
            assert_eq!(holder.ask("open 2 @other rw"), "ok");
            kill_process(first.pid(), Signal::USR1).unwrap();
            assert_eq!(first.answer(), "interrupted", "{take} {options:?}");
            first.tell(&wait);
            first.wait_until_in(call);
            killed.kill();
            assert_eq!(holder.ask(free), "ok");
            assert_eq!(first.answer(), "ok", "{take} {options:?} {is_below}");
            assert_eq!(holder.ask(take), "no");
        }
        mount.stop();
    }
}

/// `F_GETLK` tells who holds a lock, also below.
#[test]
fn the_holder_of_a_lock_is_told() {
    let tree = tree();
    let mount = tree.mount(&["--locks", "backing"]);
    let mut above = Locker::start(&mount.point());
    let mut below = Locker::start(&tree.backing());
    let mut asker = Locker::start(&mount.point());
    for locker in [&mut above, &mut below, &mut asker] {
        assert_eq!(locker.ask("open 1 @file rw"), "ok");
    }
    assert_eq!(above.ask("posix 1 w 0 10"), "ok");
    assert_eq!(below.ask("posix 1 r 10 10"), "ok");
    let pid = above.child.id();
    assert_eq!(asker.ask("posix 1 w 0 5 who"), format!("held 1 0 10 {pid}"));
    let pid = below.child.id();
    assert_eq!(
        asker.ask("posix 1 w 15 0 who"),
        format!("held 0 10 10 {pid}")
    );
    assert_eq!(asker.ask("posix 1 r 15 1 who"), "free");
    // From below, a lock above is one of an open file, that of the daemon.
    assert_eq!(below.ask("posix 1 w 0 5 who"), "held 1 0 10 -1");
    drop((above, below, asker));
    mount.stop();
}

/// Where the filesystem below carries locks to another in its turn, as NFS and `GlusterFS` do (here a mount of ours does it), a
/// lock of the whole file is granted, shared, raised and given back, above as below.
#[test]
fn locks_are_carried_through_one_mount_and_another() {
    let lower = tree();
    let shared = lower.mount(&["--locks", "backing"]);
    let hosts = [Tree::new(), Tree::new()];
    let views = hosts
        .each_ref()
        .map(|host| Beside::start(&shared.point(), &host.point(), &["--locks", "backing"]));
    for take in ["posix 1 w 0 0", "flock 1 w", "ofd 1 w 0 0"] {
        let mut lockers = [hosts[0].point(), hosts[1].point(), lower.backing()]
            .map(|directory| Locker::start(&directory));
        for locker in &mut lockers {
            assert_eq!(locker.ask("open 1 @file rw"), "ok");
        }
        let [one, other, below] = &mut lockers;
        let (share, free) = (take.replace(" w", " r"), take.replace(" w", " u"));
        assert_eq!(one.ask(take), "ok", "{take}");
        assert_eq!(other.ask(take), "no", "{take}");
        assert_eq!(below.ask(take), "no", "{take}");
        assert_eq!(one.ask(&share), "ok", "{take}");
        assert_eq!(other.ask(&share), "ok", "{take}");
        assert_eq!(one.ask(take), "no", "{take}");
        assert_eq!(other.ask(&free), "ok", "{take}");
        assert_eq!(one.ask(take), "ok", "{take} is raised");
        other.tell(&format!("{take} wait"));
        one.kill();
        assert_eq!(other.answer(), "ok", "{take} of who was killed");
        assert_eq!(other.ask(&free), "ok", "{take}");
        assert_eq!(below.ask(take), "ok", "{take}");
    }
    for view in views {
        view.stop();
    }
    shared.stop();
}
