//! `utf8fs audit`.

use std::path::PathBuf;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use clap::{ArgAction, Args};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::values::word;
use super::{id, number};
use crate::names::rules::Verdict;
use crate::os::user_tables::PASSWD;
use crate::policy::RuleName;

/// The unit of time for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum TimeUnit {
    /// Hours of UTC
    Hour = 1,
    /// Days of UTC
    Day = 24,
}

impl TimeUnit {
    /// Returns its length in hours.
    pub fn hours(self) -> i64 {
        self as i64
    }
}

/// `utf8fs audit`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("help/audit.txt"))]
pub struct AuditLogArgs {
    /// Logs; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Print one JSON object; docs/audit.md has its fields
    #[arg(long)]
    pub json: bool,

    /// Write a page with plots: one file, without scripts
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Only records of this time or later
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Which records")]
    pub since: Option<Timestamp>,

    /// Only records before this time
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Which records")]
    pub until: Option<Timestamp>,

    /// Only offences against these rules
    #[arg(long, value_name = "RULE,...", value_parser = word::<RuleName>(), value_delimiter = ',', action = ArgAction::Append, help_heading = "Which records")]
    pub rule: Vec<RuleName>,

    /// Only offences with these results
    #[arg(long, value_name = "VERDICT,...", value_parser = word::<Verdict>(), value_delimiter = ',', action = ArgAction::Append, help_heading = "Which records")]
    pub verdict: Vec<Verdict>,

    /// Only offences of these users, by name or number
    #[arg(long, value_name = "USER,...", value_parser = |text: &str| id(PASSWD, text), value_delimiter = ',', action = ArgAction::Append, help_heading = "Which records")]
    pub uid: Vec<u32>,

    /// Only offences at this path or below it; it starts with the mount point
    #[arg(long, value_name = "PATH", help_heading = "Which records")]
    pub below: Option<PathBuf>,

    /// Most rows of each table
    ///
    /// [default: 10; 25 on a page, 100 with --json]
    #[arg(long, value_name = "N", value_parser = number::<1, 1024>, allow_negative_numbers = true, verbatim_doc_comment, help_heading = "Output")]
    pub top: Option<usize>,

    /// Unit of the counts over time
    ///
    /// [default: hours up to three days, else days]
    #[arg(
        long,
        value_name = "UNIT",
        value_parser = word::<TimeUnit>(),
        verbatim_doc_comment,
        help_heading = "Output"
    )]
    pub by: Option<TimeUnit>,
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
