//! `utf8fs umount`: what was typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `utf8fs umount`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/umount.txt"))]
pub struct UmountArgs {
    /// Mount points
    #[arg(required_unless_present = "all", value_hint = ValueHint::DirPath)]
    pub mountpoint: Vec<PathBuf>,

    /// Detach a mount that is in use; its users are served until they close it; whoever comes later is in the directory below, without rules
    #[arg(short, long)]
    pub lazy: bool,

    /// List all utf8fs mounts, ask, and unmount them, the youngest first; without root, your own
    #[arg(short, long, conflicts_with = "mountpoint")]
    pub all: bool,

    /// Print what would be unmounted, and unmount nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Print one JSON object for each mount
    #[arg(long)]
    pub json: bool,

    /// With --all: do not ask. Required if standard input or output is not a terminal
    #[arg(short, long, requires = "all")]
    pub yes: bool,
}
