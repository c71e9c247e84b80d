//! Laws F1, F3: calls with values at the edges (lengths, offsets, flags, names) give and do on the mount what they do on a
//! bare directory of the same filesystem.

use std::path::Path;
use std::process::Command;

use crate::support::{Tree, needs};

/// The calls, in an interpreter that every Debian has and that takes any number for any argument.
const ROWS: &str = include_str!("edges/rows.pl");

/// The numbers of the system calls on this machine.
const CALLS: &[(&str, libc::c_long)] = &[
    ("pread64", libc::SYS_pread64),
    ("pwrite64", libc::SYS_pwrite64),
    ("openat", libc::SYS_openat),
    ("ftruncate", libc::SYS_ftruncate),
    ("truncate", libc::SYS_truncate),
    ("fallocate", libc::SYS_fallocate),
    ("lseek", libc::SYS_lseek),
    ("renameat2", libc::SYS_renameat2),
    ("setxattr", libc::SYS_setxattr),
    ("fsetxattr", libc::SYS_fsetxattr),
    ("lsetxattr", libc::SYS_lsetxattr),
    ("getxattr", libc::SYS_getxattr),
    ("lgetxattr", libc::SYS_lgetxattr),
    ("removexattr", libc::SYS_removexattr),
    ("listxattr", libc::SYS_listxattr),
    ("symlinkat", libc::SYS_symlinkat),
    ("readlinkat", libc::SYS_readlinkat),
    ("linkat", libc::SYS_linkat),
    ("faccessat", libc::SYS_faccessat),
    ("mknodat", libc::SYS_mknodat),
    ("unlinkat", libc::SYS_unlinkat),
    ("mkdirat", libc::SYS_mkdirat),
    ("fchmodat", libc::SYS_fchmodat),
    ("fchownat", libc::SYS_fchownat),
    ("utimensat", libc::SYS_utimensat),
    ("copy_file_range", libc::SYS_copy_file_range),
    ("getdents64", libc::SYS_getdents64),
    ("fsync", libc::SYS_fsync),
    ("fdatasync", libc::SYS_fdatasync),
    ("sync_file_range", libc::SYS_sync_file_range),
    ("fadvise64", libc::SYS_fadvise64),
    ("flock", libc::SYS_flock),
    ("ioctl", libc::SYS_ioctl),
];

/// Runs the rows in a directory; each line is a row.
fn run(directory: &Path) -> Vec<String> {
    let numbers: Vec<String> = CALLS
        .iter()
        .map(|(name, number)| format!("{name} => {number}"))
        .collect();
    let program = format!("our %NR = ({});\n{ROWS}", numbers.join(", "));
    let output = Command::new("perl")
        .args(["-e", &program])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// What differs, by how the row begins and what it gives above. `docs/internals/semantics.md` says why.
const FORCED: &[(&str, &str)] = &[
    // The kernel's FUSE knows none of collapsing, inserting, unsharing and writing zeroes.
    ("fallocate mode 8 ", ": errno 95"),
    ("fallocate mode 20 ", ": errno 95"),
    ("fallocate mode 40 ", ": errno 95"),
    ("fallocate mode 80 ", ": errno 95"),
    // O_TMPFILE.
    ("open directory flags 410002", ": errno 95"),
    ("open directory/ flags 410002", ": errno 95"),
    ("open . flags 410002", ": errno 95"),
    // The kernel asks for data and holes only; all else it does by itself, with a limit of its own.
    ("lseek 17592186044416 whence ", ""),
    ("lseek 922337203685477", ""),
    ("lseek max whence 0", ""),
];

/// Is this what the kernel, or fuser, makes of it?
fn is_forced(found: &str) -> bool {
    FORCED
        .iter()
        .any(|(start, end)| found.starts_with(start) && found.contains(end))
}

#[test]
fn calls_at_the_edges_are_those_of_a_bare_directory() {
    if !needs::root("calls with any argument") {
        return;
    }
    for (bare, tree) in [
        (Tree::new(), Tree::new()),
        (Tree::in_memory(), Tree::in_memory()),
    ] {
        let mount = tree.mount(&[]);
        let expected = run(&bare.backing());
        let found = run(&mount.point());
        assert!(expected.len() > 900, "{}", expected.len());
        let different: Vec<String> = expected
            .iter()
            .zip(&found)
            .filter(|(expected, found)| expected != found && !is_forced(found))
            .map(|(expected, found)| format!("below: {expected}\nabove: {found}"))
            .collect();
        assert!(different.is_empty(), "{}", different.join("\n"));
        assert_eq!(expected.len(), found.len());
        mount.stop();
    }
}
