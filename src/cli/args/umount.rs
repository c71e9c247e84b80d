//! `utf8fs umount`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `utf8fs umount`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = "\
umount(8) and, for users, fusermount3 -u do the same, but for any filesystem. What this
does besides: it says who is in the way, and clears a mount whose daemon was killed.

Examples:
  Unmount, or say who uses it:
    utf8fs umount /mnt/old
  Take it out of the tree at once; who uses it goes on until it is closed:
    utf8fs umount --lazy /mnt/old
  See what is mounted and by whom, and unmount all of it if you say yes:
    utf8fs umount --all

Exit status:
  0  all are unmounted
  1  one is still there, or no mount of utf8fs is there, or the answer was not yes
  2  wrong arguments, or --all without --yes and nobody to ask")]
pub struct UmountArgs {
    /// Where it is mounted
    #[arg(required_unless_present = "all", value_hint = ValueHint::DirPath)]
    pub mountpoint: Vec<PathBuf>,

    /// Take it out of the tree of mounts also while it is used; who uses it is served until the end
    #[arg(short, long)]
    pub lazy: bool,

    /// List all mounts of utf8fs, ask, and unmount them, the youngest first; as an ordinary user, your own
    #[arg(short, long, conflicts_with = "mountpoint")]
    pub all: bool,

    /// With --all: do not ask. Required where standard input or output is no terminal
    #[arg(short, long, requires = "all")]
    pub yes: bool,
}
