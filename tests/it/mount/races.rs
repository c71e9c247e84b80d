//! Law F2: an enemy who swaps directories, files and symlinks, below and above, while root works on the mount. Nothing
//! outside the backing directory is read, made, changed or removed.
//!
//! `scripts/long races` runs it for ten minutes.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::RenameFlags;

use crate::support::snapshot::{self, Snapshot, Times};
use crate::support::{Tree, at, needs};

/// Rounds of the work where no time is given.
const ROUNDS: &str = "60";

/// In no file but those outside.
const SECRET: &str = "SECRET";

/// Root's work, for `$ROUNDS` rounds or `$SECONDS`: any of it may fail, and none of it may reach what is outside. It has
/// its root in the mount, so that links lead it nowhere else: what gets out gets out through the daemon.
const WORK: &str = r#"
use strict; use Fcntl;
my ($setxattr, $place, $rounds, $seconds) = @ARGV;
chroot $place or die "chroot: $!"; chdir '/' or die;
my $done = 0; my $read = 0; my $end = time + $seconds;
sub contents {
    my ($path) = @_;
    open my $in, '<:raw', $path or return; local $/; my $text = <$in> // '';
    $read++; die "read what is outside by $path" if $text =~ /SECRET/;
    return $text;
}
sub entries { opendir my $dir, $_[0] or return; return grep { !/^\.\.?$/ } readdir $dir }
sub copy {
    my ($from, $to, $depth) = @_;
    return if $depth > 6;
    my @stat = lstat $from or return;
    if (-l _) { my $target = readlink $from; symlink $target, $to if defined $target }
    elsif (-d _) { mkdir $to; copy("$from/$_", "$to/$_", $depth + 1) for entries($from) }
    else { my $text = contents($from); if (open my $out, '>:raw', $to) { print $out $text // '' } chmod $stat[2] & 07777, $to; utime $stat[8], $stat[9], $to }
}
sub remove {
    my ($path, $depth) = @_;
    lstat $path or return;
    if (-d _ && !-l _) { remove("$path/$_", $depth + 1) for $depth > 8 ? () : entries($path); rmdir $path } else { unlink $path }
}
while ($seconds ? time < $end : $done < $rounds) {
    $done++;
    for my $dir ('d', 'e', 'd/sub', 'e/sub', "d/caf\xc3\xa9") {
        mkdir $dir;
        for my $name ('f', 'lf', 'new', 'secret', 'file') {
            my $path = "$dir/$name";
            if (sysopen my $file, $path, O_WRONLY | O_CREAT, 0644) { syswrite $file, 'work'; truncate $file, 4 }
            if (sysopen my $file, $path, O_WRONLY | O_APPEND) { syswrite $file, 'more' }
            truncate $path, 3; chmod 0640, $path; chown 1, 1, $path; utime 5, 5, $path;
            my ($attribute, $value) = ('user.mark', 'work');
            syscall $setxattr + 0, $path, $attribute, $value, 4, 0;
            contents($path); readlink $path;
        }
        mkdir "$dir/made"; symlink '../outside', "$dir/made/link"; link "$dir/f", "$dir/made/hard";
        rename "$dir/new", "$dir/newer"; rename "$dir/made", "$dir/sub/made"; rename "$dir/newer", "$dir/secret";
        unlink "$dir/newer"; unlink "$dir/file"; rmdir "$dir/directory";
        chmod 0755, $dir; chown 0, 0, $dir; readlink "$dir/l"; readlink $_ for 'l', 'lf', 'walk';
    }
    copy('d', 'copy', 0); remove('copy', 0);
    remove('d/sub', 0) if $done % 3 == 0; remove('e', 0) if $done % 7 == 0;
}
print "$done rounds, $read files read\n";
"#;

/// Files that must not be touched, and links to them that lie in the backing directory.
fn prepare(tree: &Tree) {
    let outside = tree.parent().join("outside");
    for directory in ["", "sub", "directory", "café", "made"] {
        let directory = outside.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        for file in ["f", "lf", "new", "newer", "secret", "file"] {
            std::fs::write(directory.join(file), SECRET).unwrap();
        }
    }
    let below = tree.below_dir();
    for directory in [b"d", b"e"] {
        let directory = tree.directory(directory);
        at::mkdir(&directory, b"sub").unwrap();
        at::mkdir(&directory, b"caf\xE9").unwrap();
        at::write_new(&directory, b"f", b"inside").unwrap();
        at::symlink(b"../../outside/secret", &directory, b"lf").unwrap();
        at::symlink(b"../../outside", &directory, b"l").unwrap();
    }
    let absolute = outside.as_os_str().as_encoded_bytes().to_vec();
    at::symlink(b"../outside", &below, b"l").unwrap();
    at::symlink(&absolute, &below, b"labs").unwrap();
    at::symlink(b"../outside/secret", &below, b"lf").unwrap();
    // Its components are sought, one by one, in what is swapped meanwhile.
    at::symlink(b"d/caf\xE9/../sub/../../e/caf\xE9", &below, b"walk").unwrap();
}

/// One turn of the enemy in `root`: directories and links change places, and come again where they were removed. He
/// follows no link himself.
fn swap(root: &Path, turn: usize) {
    let root = at::open_dir_path(root);
    let directory = |name: &[u8]| at::open_dir(&root, name);
    let (Ok(d), Ok(e)) = (directory(b"d"), directory(b"e")) else {
        // One of them is swapped: back with it, or a new one.
        for (one, link) in [(b"d", &b"l"[..]), (b"e", b"labs")] {
            if at::stat(&root, one).is_err() {
                _ = at::mkdir(&root, one);
            }
            _ = at::rename_with(&root, one, link, RenameFlags::EXCHANGE);
        }
        return;
    };
    let exchange = |one: (&OwnedFd, &[u8]), other: (&OwnedFd, &[u8])| {
        let flags = RenameFlags::EXCHANGE;
        _ = rustix::fs::renameat_with(one.0, one.1, other.0, other.1, flags);
    };
    match turn % 8 {
        0 => exchange((&root, b"d"), (&root, b"l")),
        1 => exchange((&root, b"e"), (&root, b"labs")),
        2 => exchange((&d, b"f"), (&d, b"lf")),
        3 => exchange((&d, b"sub"), (&d, b"l")),
        4 => exchange((&d, b"sub"), (&e, b"sub")),
        5 => exchange((&root, b"l"), (&root, b"labs")),
        6 => exchange((&d, b"caf\xE9"), (&e, b"l")),
        _ => {
            _ = at::mkdir(&d, b"sub");
            _ = at::symlink(b"../outside", &root, b"l");
            for directory in [&d, &e] {
                _ = at::symlink(b"../../outside", directory, b"l");
                _ = at::symlink(b"../../outside/secret", directory, b"lf");
            }
        }
    }
}

/// What is outside; the swapped links themselves are inside.
fn outside(tree: &Tree) -> Snapshot {
    snapshot::take(&tree.parent().join("outside"), Times::Kept)
}

fn race(options: &[&str], seconds: &str) {
    let tree = Tree::in_memory();
    prepare(&tree);
    let before = outside(&tree);
    let mut mount = tree.mount(options);
    if options.contains(&"--cross-mounts") {
        mount.allow_warning("the sandbox is weaker with --cross-mounts");
    }
    mount.dir();
    let done = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        for place in [tree.backing(), mount.point()] {
            let done = &done;
            scope.spawn(move || {
                let mut turn = 0;
                while !done.load(Ordering::Relaxed) {
                    swap(&place, turn);
                    turn += 1;
                }
            });
        }
        let output = Command::new("perl")
            .args(["-e", WORK, &libc::SYS_setxattr.to_string()])
            .arg(mount.point())
            .args([ROUNDS, seconds])
            .stderr(Stdio::piped())
            .output();
        done.store(true, Ordering::Relaxed);
        output.unwrap()
    });
    let told = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}{complaint}");
    assert!(
        !told.starts_with("0 ") && !told.contains(" 0 files"),
        "{told}"
    );
    print!("{options:?}: {told}");
    mount.stop();
    snapshot::assert_same(&before, &outside(&tree));
}

#[test]
fn an_enemy_who_swaps_links_and_directories_gets_nothing_outside_touched() {
    if !needs::root("work with root's rights") {
        return;
    }
    let seconds = std::env::var("UTF8FS_RACES_SECONDS").unwrap_or_else(|_unset| "0".to_owned());
    let settings: [&[&str]; 3] = [
        &["--from", "iso-8859-1"],
        &["--from", "iso-8859-1", "--cache", "none"],
        &["--cross-mounts", "--locks", "backing", "--threads", "1"],
    ];
    std::thread::scope(|scope| {
        for options in settings {
            let seconds = &seconds;
            scope.spawn(move || race(options, seconds));
        }
    });
}
