//! `utf8fs audit`: logs, summed up.

mod counter;
mod html;
mod json;
mod line;
mod plot;
mod text;
mod totals;
mod why;
mod words;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::args::AuditLogArgs;
use super::error::reason;
use super::output::{grouped, print_note};
use super::page::Page;
use super::{CliError, ExitCode};
use crate::names::Quoted;
pub use totals::Unit;
use totals::{Filter, Garbled, Totals};
pub use words::Offended;
use words::Verdict;

/// No record is longer: names and paths in it have limits.
const LONGEST: usize = 1 << 20;

/// So much is shown of a line that is no record.
const SHOWN: usize = 100;

/// Logs that were read.
struct Summed<'a> {
    args: &'a AuditLogArgs,
    totals: Totals,
    /// Files that could not be read.
    unread: u64,
}

/// Reads logs and tells what is in them.
///
/// # Errors
/// Wrong arguments; output that can't be written: exit code 3, since 1 says that there are offences. What cannot be read is told, and
/// ends it with exit code 3 as well.
pub(super) fn run(args: &AuditLogArgs) -> Result<ExitCode, CliError> {
    summed_up(args).map_err(CliError::of_what_judges)
}

fn summed_up(args: &AuditLogArgs) -> Result<ExitCode, CliError> {
    let filter = filter(args)?;
    let page = args.html.as_deref();
    let page = page.map(|page| Page::create_as_narrow(page, &args.files));
    let page = page.transpose()?;
    let mut read = Summed {
        args,
        totals: Totals {
            filter,
            ..Totals::default()
        },
        unread: 0,
    };
    for (index, file) in args.files.iter().enumerate() {
        if let Err(error) = read_log(&mut read.totals, index, file) {
            read.unread += 1;
            print_note(&format!(
                "{} cannot be read: {}",
                name_of(file),
                reason(&error)
            ));
        }
    }
    if let Some(page) = page {
        page.write(&html::page(&read))?;
    }
    match args.json {
        true => json::print(&read)?,
        false => text::print(&read)?,
    }
    Ok(exit(&read))
}

fn exit(read: &Summed<'_>) -> ExitCode {
    let totals = &read.totals;
    for (reason, count, first) in totals.reasons() {
        let more = match count - 1 {
            0 => String::new(),
            more => format!(", and {} more for it", grouped(more)),
        };
        print_note(&format!(
            "{}, line {}: {reason}: {}{more}",
            file_name(read, first),
            first.line,
            shown(first)
        ));
    }
    match (
        totals.garbled + read.unread,
        totals.offences().saturating_add(totals.left_out),
    ) {
        (0, 0) => ExitCode::Ok,
        (0, _) => ExitCode::NotConforming,
        _ => ExitCode::Incomplete,
    }
}

fn filter(args: &AuditLogArgs) -> Result<Filter, CliError> {
    if let (Some(since), Some(until)) = (args.since, args.until)
        && since >= until
    {
        let message = "--since is not before --until: there is no time in between";
        return Err(CliError::usage(message).hint("--until is the first moment that is left out"));
    }
    let below = match args
        .below
        .as_ref()
        .map(|below| below.as_os_str().as_bytes())
    {
        None => None,
        Some(below) if below.starts_with(b"/") => {
            let end = below.iter().rposition(|byte| *byte != b'/');
            let below = below.get(..end.map_or(0, |end| end + 1));
            Some(below.unwrap_or_default().to_vec())
        }
        Some(below) => {
            let message = format!("--below {}: it does not begin with /", Quoted(below));
            return Err(CliError::usage(message)
                .hint("it is a path as it is seen through the mount, mount point and all"));
        }
    };
    Ok(Filter {
        since: args.since,
        until: args.until,
        rules: args.rule.iter().map(|rule| rule.0).collect(),
        uids: args.uid.clone(),
        below,
    })
}

fn name_of(file: &Path) -> String {
    match file.as_os_str().as_bytes() {
        b"-" => "standard input".to_owned(),
        name => Quoted(name).to_string(),
    }
}

fn file_name(read: &Summed<'_>, garbled: &Garbled) -> String {
    let file = read.args.files.get(garbled.file);
    file.map_or_else(String::new, |file| name_of(file))
}

/// The beginning of a line that is no record, in quotes.
fn shown(garbled: &Garbled) -> String {
    let more = if garbled.is_cut { "..." } else { "" };
    format!("{}{more}", Quoted(&garbled.start))
}

fn read_log(totals: &mut Totals, index: usize, file: &Path) -> io::Result<()> {
    let input: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(file)?),
    };
    let mut input = BufReader::with_capacity(1 << 18, input);
    let mut text = Vec::new();
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    for number in 1.. {
        text.clear();
        if input.by_ref().take(most).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let is_whole = text.last() == Some(&b'\n');
        let read = match !is_whole && text.len() >= LONGEST {
            true => {
                skip_line(&mut input)?;
                Err(format!("it is longer than {LONGEST} bytes"))
            }
            false => match text.trim_ascii() {
                b"" => continue,
                record => line::read(record),
            },
        };
        let text = text.trim_ascii();
        totals.lines += 1;
        match read {
            Ok(record) => totals.add(&record),
            Err(reason) => totals.add_garbled(Garbled {
                file: index,
                line: number,
                reason,
                start: text.iter().copied().take(SHOWN).collect(),
                is_cut: text.len() > SHOWN,
            }),
        }
    }
    Ok(())
}

/// Reads on to the end of the line, and keeps nothing of it.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (used, is_over) = match end {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if is_over {
            return Ok(());
        }
    }
}
