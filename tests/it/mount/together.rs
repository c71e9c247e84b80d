//! Law F3: many processes at one name, and trees as deep as paths can be.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::support::{Tree, at, show};

/// Makes, opens and removes one file, for so many rounds; each line that it prints is something that went wrong.
const PROGRAM: &str = r#"
use strict; use Fcntl;
my ($path, $rounds) = @ARGV;
for (1 .. $rounds) {
    for my $flags (O_CREAT | O_EXCL | O_WRONLY, O_CREAT | O_RDWR, O_CREAT | O_TRUNC | O_WRONLY, O_RDONLY) {
        if (sysopen my $file, $path, $flags, 0644) {
            print "write: $!\n" if $flags != O_RDONLY && !syswrite $file, 'x';
        } elsif (!($flags & O_EXCL ? $!{EEXIST} : $flags & O_CREAT ? 0 : $!{ENOENT})) {
            printf "open with flags %x: %s\n", $flags, $!;
        }
        print "unlink: $!\n" unless unlink($path) || $!{ENOENT};
    }
    print "mkdir: $!\n" unless mkdir("$path.d") || $!{EEXIST};
    print "rename: $!\n" unless rename("$path.d", "$path.e") || $!{ENOENT} || $!{ENOTEMPTY} || $!{EEXIST};
    print "rmdir: $!\n" unless rmdir("$path.e") || $!{ENOENT};
}
print "done\n";
"#;

/// Opens one file, made if it is not there, and removes it; each line that it prints is something that went wrong.
const CREATING: &str = r#"
use strict; use Fcntl;
my ($path, $rounds) = @ARGV;
for (1 .. $rounds) {
    for my $flags (O_RDWR, O_TRUNC | O_WRONLY, O_APPEND | O_WRONLY) {
        print "open with flags $flags: $!\n" unless sysopen my $file, $path, $flags | O_CREAT, 0644;
        print "unlink: $!\n" unless unlink($path) || $!{ENOENT};
    }
}
print "done\n";
"#;

fn start(program: &str, path: &Path, rounds: &str) -> Child {
    Command::new("perl")
        .args(["-e", program])
        .arg(path)
        .arg(rounds)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Eight processes create and remove one name: each is told of what is there and what is not, and of nothing else.
#[test]
fn eight_processes_at_one_name_see_it_there_or_not() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let path = mount.point().join("one");
    let programs: Vec<Child> = (0..8).map(|_| start(PROGRAM, &path, "250")).collect();
    for program in programs {
        let output = program.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "done\n");
    }
    assert!(at::list(mount.dir()).len() <= 1);
    mount.stop();
}

/// Programs that go on until the test ends.
struct Busy(Vec<Child>);

impl Drop for Busy {
    fn drop(&mut self) {
        for program in &mut self.0 {
            drop(program.kill());
            drop(program.wait());
        }
    }
}

/// `open` with `O_CREAT` above opens or makes the file, whatever programs below do with its name at the same time.
#[test]
fn open_with_o_creat_never_fails_while_programs_below_make_and_remove_the_name() {
    let tree = Tree::new();
    let mut mount = tree.mount(&[]);
    // They make more changes than a daemon can be told of that does not run for a while.
    mount.allow_warning("more changes in the backing directory than can be followed");
    let below = tree.backing().join("one");
    let forever = "1000000000";
    let busy = Busy((0..3).map(|_| start(CREATING, &below, forever)).collect());
    let path = mount.point().join("one");
    let above: Vec<Child> = (0..3).map(|_| start(CREATING, &path, "300")).collect();
    let outputs: Vec<_> = above
        .into_iter()
        .map(|program| program.wait_with_output().unwrap())
        .collect();
    drop(busy);
    for output in outputs {
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "done\n");
    }
    mount.stop();
}

/// A chain of `depth` directories below `root`; gives the last.
fn chain(root: OwnedFd, name: &[u8], depth: usize) -> OwnedFd {
    (0..depth).fold(root, |directory, _| {
        at::mkdir(&directory, name).unwrap();
        at::open_dir(&directory, name).unwrap()
    })
}

/// A tree of 600 levels is made, walked, renamed at its top, and removed by programs, and is the same below.
#[test]
fn a_tree_of_600_levels_is_made_walked_and_removed() {
    let tree = Tree::new();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let last = chain(at::open_dir_path(&mount.point()), "é".as_bytes(), 600);
    at::write_new(&last, b"file", b"deep").unwrap();
    at::rename(mount.dir(), "é".as_bytes(), b"top").unwrap();
    assert_eq!(at::read(&last, b"file").unwrap(), b"deep");
    drop(last);
    let run = |program: &str, arguments: &[&str], place: &Path| {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(place)
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        output.stdout
    };
    let counted = |place: &Path| {
        let listed = run("find", &[".", "-printf", "%d %y\\n"], place);
        let mut lines: Vec<Vec<u8>> = listed
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        lines.sort();
        lines
    };
    let found = counted(&mount.point());
    assert_eq!(found.len(), 603);
    assert_eq!(found, counted(&tree.backing()));
    run("rm", &["-r", "top"], &mount.point());
    assert!(at::list(tree.below_dir()).is_empty());
    mount.stop();
}

/// Paths of just `PATH_MAX` octets, and of one more, give what they give below.
#[test]
fn paths_of_path_max_are_taken_and_longer_ones_refused() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    let long = [b'd'; 255];
    // 15 times 256 octets lead to the last directory: 255 are left, with the NUL after them.
    drop(chain(at::open_dir_path(&mount.point()), &long, 15));
    for root in [mount.point(), tree.backing()] {
        let dir = at::open_dir_path(&root);
        let mut path = Vec::new();
        for _ in 0..15 {
            path.extend_from_slice(&long);
            path.push(b'/');
        }
        let deepest = path.clone();
        path.extend_from_slice(&[b'n'; 255]);
        assert_eq!(path.len(), 4095);
        let what = || show(root.as_os_str().as_encoded_bytes());
        assert_eq!(at::write_new(&dir, &path, b"x"), Ok(()), "{}", what());
        assert_eq!(at::read(&dir, &path).unwrap(), b"x");
        let renamed = [&deepest[..], &[b'm'; 255]].concat();
        assert_eq!(at::rename(&dir, &path, &renamed), Ok(()));
        assert_eq!(at::mkdir(&dir, &path), Ok(()));
        assert_eq!(at::rmdir(&dir, &path), Ok(()));
        assert_eq!(at::symlink(&path, &dir, &path), Ok(()));
        assert_eq!(at::readlink(&dir, &path).unwrap(), path);
        assert_eq!(at::unlink(&dir, &path), Ok(()));
        assert_eq!(at::unlink(&dir, &renamed), Ok(()));
        let longer = [&deepest[..], b"./", &[b'n'; 254]].concat();
        let opened = at::open(&dir, &longer, OFlags::RDONLY).err();
        assert_eq!(opened, Some(Errno::NAMETOOLONG), "{}", what());
    }
    mount.stop();
}
