//! `utf8fs status`: what was typed.

use std::path::PathBuf;

use clap::Args;

use super::StatusFormatValue;

/// How a status is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFormat {
    /// A table for people.
    Text,
    /// One object, on one line.
    Json,
    /// Prometheus' text format.
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

Exit status:
  0  answered
  1  no mount of utf8fs, it does not answer, or you may not ask
  2  wrong arguments")]
pub struct StatusArgs {
    /// Where it is mounted
    pub mountpoint: PathBuf,

    /// How it is told
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<StatusFormatValue>,

    /// Ask in this process, and print the answer as it comes: for the process that waits no longer than it has patience.
    #[arg(long, hide = true)]
    pub ask_only: bool,
}
