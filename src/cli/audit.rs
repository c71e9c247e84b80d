//! `utf8fs audit`: logs, summed up.

mod audit_text;
mod log_summary;
mod plot;
mod summary_json;
mod summary_page;

use std::io::{self, BufRead, Read};
use std::path::Path;

use super::args::AuditLogArgs;
use super::output::{grouped, input_name, open_input, print_lines, print_warning};
use super::page::Page;
use super::{CommandError, ExitCode, cannot_be};
use crate::names::Quoted;
use crate::records::{AuditRecord, Name, json_line};
use log_summary::{InvalidLine, LogSummary};

/// Longest line that is read, in bytes: names and paths in a record have limits.
const LONGEST_LINE: u64 = 1 << 20;

/// Most bytes that are shown of a line that is no record.
const SHOWN: usize = 100;

/// Reads logs and prints what is in them.
///
/// # Errors
/// Wrong arguments; output that can't be written. A log that cannot be read is reported, and makes the summary incomplete.
pub(super) fn run(args: &AuditLogArgs) -> Result<ExitCode, CommandError> {
    check(args)?;
    let page = Page::create(args.html.as_deref(), &args.files)?;
    let mut summary = LogSummary::default();
    for file in &args.files {
        if let Err(error) = read_log(args, file, &mut summary) {
            summary.unread += 1;
            print_warning(&cannot_be("read", input_name(file), &error));
        }
    }
    if let Some(below) = &args.below
        && summary.records == 0
        && summary.lines > summary.invalid
    {
        let below = Name::of_path(below);
        print_warning(&format!(
            "no record at or below {below} is selected; paths begin with the mount point"
        ));
    }
    if let Some(page) = page {
        page.write(&summary_page::page(args, &summary))?;
    }
    print_lines(if args.json {
        vec![json_line(&summary_json::document(args, &summary))]
    } else {
        audit_text::lines(args, &summary)
    })?;
    for (count, first) in summary.reasons() {
        let InvalidLine { line, reason, .. } = first;
        let (file, shown) = (input_name(&first.file), first.shown());
        let more = match count - 1 {
            0 => String::new(),
            more => format!(", and {} more for it", grouped(more)),
        };
        print_warning(&format!("{file}, line {line}: {reason}: {shown}{more}"));
    }
    let offences = summary.offences().saturating_add(summary.left_out);
    Ok(match (summary.invalid + summary.unread, offences) {
        (0, 0) => ExitCode::Ok,
        (0, _) => ExitCode::NotConforming,
        _ => ExitCode::Incomplete,
    })
}

fn read_log(args: &AuditLogArgs, file: &Path, summary: &mut LogSummary) -> io::Result<()> {
    let mut input = open_input(file)?;
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut start = input.by_ref().take(LONGEST_LINE);
        if start.read_until(b'\n', &mut text)? == 0 {
            break;
        }
        if number == 1 && text.starts_with(b"\x1F\x8B") {
            let remedy = "it is compressed; try zcat FILE | utf8fs audit -";
            return Err(io::Error::other(remedy));
        }
        let line = text.trim_ascii();
        let record = if !text.ends_with(b"\n") && input.skip_until(b'\n')? > 0 {
            Err(format!("it is longer than {LONGEST_LINE} bytes"))
        } else if line.is_empty() {
            continue;
        } else {
            parse(line)
        };
        summary.lines += 1;
        match record {
            Ok(record) => summary.add(args, record),
            Err(reason) => summary.add_invalid(InvalidLine {
                file: file.to_owned(),
                line: number,
                reason,
                start: line.iter().copied().take(SHOWN).collect(),
                is_cut: line.len() > SHOWN,
            }),
        }
    }
    Ok(())
}

impl InvalidLine {
    /// Returns the beginning of the line, quoted.
    fn shown(&self) -> String {
        let more = if self.is_cut { "..." } else { "" };
        format!("{}{more}", Quoted(&self.start))
    }
}

/// Checks the arguments that select records.
fn check(args: &AuditLogArgs) -> Result<(), CommandError> {
    if let (Some(since), Some(until)) = (args.since, args.until)
        && since >= until
    {
        let message = "--since is not before --until: there is no time in between";
        return Err(
            CommandError::usage(message).hint("--until is the first moment that is left out")
        );
    }
    if let Some(below) = args.below.as_ref().filter(|below| !below.is_absolute()) {
        let message = format!("--below {}: it does not begin with /", Name::of_path(below));
        return Err(CommandError::usage(message)
            .hint("it is a path as it is seen through the mount, mount point and all"));
    }
    Ok(())
}

/// Returns the record of a line of either `--audit-format`, or why it is none, in few different texts: without the place in the line.
fn parse(line: &[u8]) -> Result<AuditRecord, String> {
    use serde_json::error::Category;
    if line.first().is_some_and(u8::is_ascii_digit) {
        let text = std::str::from_utf8(line).ok();
        let record = text.and_then(AuditRecord::from_text);
        return record.ok_or_else(|| "it is cut off or altered".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| match error.classify() {
        Category::Eof => "it is cut off".to_owned(),
        Category::Syntax | Category::Io => "not JSON".to_owned(),
        Category::Data => {
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            text.chars().take(SHOWN).collect()
        }
    })
}
