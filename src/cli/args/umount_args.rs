//! `utf8fs umount`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `utf8fs umount`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/umount.txt"))]
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

    /// Say what would be unmounted, and unmount nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Print one JSON object for each mount
    #[arg(long)]
    pub json: bool,

    /// With --all: do not ask. Required where standard input or output is no terminal
    #[arg(short, long, requires = "all")]
    pub yes: bool,
}
