//! `utf8fs status`: what was typed.

use std::path::PathBuf;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use clap::{Args, ValueHint};

use super::StatusFormatValue;

/// How a status is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum StatusFormat {
    /// A table for people (default)
    Text,
    /// One JSON object; docs/status.md has its fields
    Json,
    /// Metrics, for the textfile collector of a node exporter, say
    Prometheus,
}

/// `utf8fs status`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = "\
What is counted, for each kind of request of the FUSE protocol:
  requests  what the kernel asked; what it answers by itself from its caches does not appear
  errors    those answered by an error, or by that there is no such name
  calls     system calls made on the backing filesystem for them
  time      from reading a request to having sent the answer, waiting for the disk included

Examples:
  Where does the time go?
    utf8fs status /mnt/old
  Requests for names since the mount:
    utf8fs status --format json /mnt/old | jq .operations.lookup.requests
  Metrics, each minute from cron:
    utf8fs status --format prometheus /mnt/old >/var/lib/node_exporter/utf8fs.prom.new &&
      mv /var/lib/node_exporter/utf8fs.prom.new /var/lib/node_exporter/utf8fs.prom

  Are all mounts well? For a monitor, which goes by the exit status:
    utf8fs status --all

Exit status:
  0  answered, and all is well
  1  something is wrong: no mount of utf8fs, its daemon is gone or does not answer, you may
     not ask, or changes made below are followed no more; with --all, of any mount
  2  wrong arguments")]
pub struct StatusArgs {
    /// Where it is mounted
    #[arg(required_unless_present = "all", value_hint = ValueHint::DirPath)]
    pub mountpoint: Option<PathBuf>,

    /// Tell of all mounts of utf8fs: a line or an object for each, or the metrics of all
    #[arg(short, long, conflicts_with = "mountpoint")]
    pub all: bool,

    /// How it is told
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<StatusFormatValue>,

    /// Ask in this process, and print the answer as it comes: for the process that waits no longer than it has patience.
    #[arg(long, hide = true)]
    pub ask_only: bool,
}
