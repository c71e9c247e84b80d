//! `utf8fs audit`.

use std::path::PathBuf;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use clap::{ArgAction, Args};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::OffenceValue;

/// What is counted together over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum TimeUnit {
    /// Hours of UTC
    Hour,
    /// Days of UTC
    Day,
}

impl TimeUnit {
    /// Returns the word for it.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Returns its length in hours.
    #[must_use]
    pub fn hours(self) -> i64 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
        }
    }
}

/// `utf8fs audit`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = "\
Logs are what mounts with --audit-format json write; docs/audit.md has their fields. A time is a
day or a moment of UTC, or has an offset: 2026-11-21, 2026-11-21T10:30, 2026-11-21T11:30:00+01:00.

Examples:
  Who broke which rule last week, and where?
    utf8fs audit /var/log/utf8fs/share.json.1
  The same to look at, of logs that were rotated and compressed as well:
    zcat -f /var/log/utf8fs/share.json* | utf8fs audit --html report.html -
  Of the journal:
    journalctl UTF8FS_EVENT=offence -o cat --output-fields=UTF8FS_RECORD | utf8fs audit -
  What one user did below one directory since Monday:
    utf8fs audit --uid 1000 --below /mnt/share/photos --since 2026-11-16 /var/log/utf8fs/share.json

Exit status:
  0  there is no offence
  1  there are some
  2  wrong arguments; nothing was read
  3  not everything could be read, or some lines are no records; the rest is told.
     Or not all could be written")]
pub struct AuditLogArgs {
    /// Logs; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Print one JSON object; docs/audit.md has its fields
    #[arg(long)]
    pub json: bool,

    /// Write a report to look at: one file, with plots, without scripts
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Only what was asked for at this time or later
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Which records")]
    pub since: Option<Timestamp>,

    /// Only what was asked for before this time
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Which records")]
    pub until: Option<Timestamp>,

    /// Only offences against these rules
    #[arg(long, value_name = "RULE,...", value_enum, value_delimiter = ',', action = ArgAction::Append, help_heading = "Which records")]
    pub rule: Vec<OffenceValue>,

    /// Only what these users asked for
    #[arg(long, value_name = "UID,...", value_delimiter = ',', action = ArgAction::Append, help_heading = "Which records")]
    pub uid: Vec<u32>,

    /// Only what was asked for at this path or below it; it starts with the mount point
    #[arg(long, value_name = "PATH", help_heading = "Which records")]
    pub below: Option<PathBuf>,

    /// Most rows of each table
    ///
    /// [default: 10; 25 on a page, 100 with --json]
    #[arg(long, value_name = "N", value_parser = super::threads, allow_negative_numbers = true, verbatim_doc_comment, help_heading = "How it is told")]
    pub top: Option<usize>,

    /// What is counted together over time
    ///
    /// [default: hours up to three days, else days]
    #[arg(
        long,
        value_name = "UNIT",
        value_enum,
        verbatim_doc_comment,
        help_heading = "How it is told"
    )]
    pub by: Option<super::UnitValue>,
}

/// A time, or the first moment of a day; without an offset in UTC.
fn time(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let civil = text.parse::<DateTime>().ok();
    let time = civil.and_then(|civil| TimeZone::UTC.to_timestamp(civil).ok());
    time.ok_or_else(|| {
        "it must be as 2026-11-21, 2026-11-21T10:30 or 2026-11-21T10:30:00Z".to_owned()
    })
}
