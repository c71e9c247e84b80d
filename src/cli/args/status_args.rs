//! `utf8fs status`: what was typed.

use std::path::PathBuf;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use clap::{Args, ValueHint};

use super::values::word;

/// The format of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum StatusFormat {
    /// A table for people (default)
    Text,
    /// One JSON object; docs/status.md has its fields
    Json,
    /// Metrics, as for the textfile collector of a node exporter
    Prometheus,
}

/// `utf8fs status`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/status.txt"))]
pub struct StatusArgs {
    /// Mount point, or directory of a guard
    #[arg(required_unless_present = "all", value_hint = ValueHint::DirPath)]
    pub mountpoint: Option<PathBuf>,

    /// Show all utf8fs mounts: a line or an object for each, or the metrics of all
    #[arg(short, long, conflicts_with = "mountpoint")]
    pub all: bool,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_parser = word::<StatusFormat>())]
    pub format: Option<StatusFormat>,
}
