//! `utf8fs scan`: the names of a tree, for people, programs and browsers.

mod charset_survey;
mod json_lines;
mod map_page;
mod merge;
mod name_guesses;
mod scan_done;
mod shard_report;
mod summary_text;

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{ScanArgs, ShardValue};
use super::error::reason;
use super::output::{grouped, print_warning, quoted};
use super::page::Page;
use super::progress::{Progress, per_second};
use super::{CliError, ExitCode, config, view};
use crate::backing::Dir;
use crate::codec::Encoding;
use crate::names::Quoted;
use crate::records::{ScanLine, ScanSource};
use crate::tree::scan::{Kept, PathList, Reached, Rules, Scan, Shard, Sink, Tally};
use crate::tree::tree_walk::{Mounts, walk};
use charset_survey::Task;
use json_lines::{Lines, Report, push_line};
use merge::Merged;
use scan_done::ScanDone;

/// Directories whose names are kept to guess from.
const WORST: usize = 100;

/// Failures that are printed one by one.
const FAILURES: usize = 100;

/// Default depth below a root at which directories are shared out: homes of users, say, by groups.
const SHARD_DEPTH: usize = 2;

/// Threads beside one for each CPU, since some wait for the disk.
const WAITING: usize = 2;

/// Scans, and prints what was found.
///
/// # Errors
/// Wrong arguments, no directory of those given; output that can't be written: exit code 3, since 1 says that names offend. What else
/// cannot be read is told, and ends it with exit code 3 as well.
pub(super) fn run(args: &ScanArgs) -> Result<ExitCode, CliError> {
    let done = match args.merge {
        true => merged(args),
        false => scanned(args),
    };
    done.map_err(CliError::of_what_judges)
}

fn scanned(args: &ScanArgs) -> Result<ExitCode, CliError> {
    let encoding = args.encoding.unwrap_or(Encoding::Utf8);
    let policy = config::policy(&args.conforming, encoding)?;
    let task = Task::of(args)?;
    let page = args.html.as_deref();
    let page = page.map(|page| Page::create(page, args.names_from.as_slice()));
    let page = page.transpose()?;
    let is_part = args.json && args.shard.is_some();
    let sink = Lines::new(report(args));
    let reached = Reached::default();
    let mut scan = Scan {
        rules: Rules::new(policy, args.unique, args.doubled),
        kept: kept(args),
        shard: shard(args)?,
        sink: &sink,
        reached: &reached,
        roots: Vec::new(),
    };
    let progress = Progress::start(args.progress, false);
    let mut tally = match &args.names_from {
        Some(list) => listed(&mut scan, list, progress)?,
        None => walked(&mut scan, args, progress)?,
    };
    sink.result()?;
    let part = is_part.then(|| {
        let source = match args.names_from {
            Some(_) => ScanSource::List,
            None => ScanSource::Walk,
        };
        let part = shard_report::part(&scan, source, &tally, sink.counts());
        let mut line = Vec::new();
        push_line(&mut line, &ScanLine::Part(Box::new(part)));
        line
    });
    tally.settle();
    let done = ScanDone {
        roots: &scan.roots,
        rules: &scan.rules,
        tally,
        part,
        has_map: args.propose_map.is_some() || args.charset_map.is_some(),
        charsets: OnceCell::new(),
    };
    let exit = print(args, page, &sink, &done)?;
    if let Some(task) = task {
        task.run(args)?;
    }
    Ok(exit)
}

/// Makes one report of many.
fn merged(args: &ScanArgs) -> Result<ExitCode, CliError> {
    let reports = &args.directories;
    // Each is the name of a file, - too.
    let inputs = reports.iter().map(|report| Path::new(".").join(report));
    let inputs: Vec<PathBuf> = inputs.collect();
    let page = args.html.as_deref();
    let page = page.map(|page| Page::create(page, &inputs)).transpose()?;
    let sink = Lines::new(report(args));
    let Merged {
        rules,
        roots,
        mut tally,
    } = merge::read(reports, kept(args))?;
    if sink.reports() {
        merge::pass_on(reports, &sink)?;
        sink.result()?;
    }
    tally.settle();
    let done = ScanDone {
        roots: &roots,
        rules: &rules,
        tally,
        part: None,
        has_map: false,
        charsets: OnceCell::new(),
    };
    print(args, page, &sink, &done)
}

/// Prints the whole, in each way that was asked for.
fn print(
    args: &ScanArgs,
    page: Option<Page>,
    sink: &Lines,
    done: &ScanDone<'_>,
) -> Result<ExitCode, CliError> {
    if let Some(page) = page {
        page.write(&map_page::page(done))?;
    }
    match (args.json, args.null) {
        (true, _) => sink.finish(done)?,
        (_, true) => {}
        _ => summary_text::print(done)?,
    }
    Ok(exit(done))
}

fn report(args: &ScanArgs) -> Report {
    match (args.json, args.null) {
        (true, _) => Report::Json,
        (_, true) => Report::Paths,
        _ => Report::Nothing,
    }
}

fn shard(args: &ScanArgs) -> Result<Shard, CliError> {
    let Some(ShardValue { number, of }) = args.shard else {
        return Ok(Shard::WHOLE);
    };
    let shard = Shard::new(number, of, args.shard_depth.unwrap_or(SHARD_DEPTH));
    shard.ok_or_else(|| CliError::usage(format!("--shard {number}/{of}: there is no such part")))
}

/// Prints on standard error what could not be read, and returns how it ends.
fn exit(done: &ScanDone<'_>) -> ExitCode {
    let unread = &done.tally.unread;
    for failure in &unread.first {
        let error = io::Error::from_raw_os_error(failure.errno);
        let path = done.path(failure.root, &failure.path);
        print_warning(&format!(
            "{} could not be read: {}",
            quoted(&path),
            reason(&error)
        ));
    }
    let told = u64::try_from(unread.first.len()).unwrap_or(u64::MAX);
    if unread.count > told {
        print_warning(&format!(
            "{} more could not be read",
            grouped(unread.count - told)
        ));
    }
    match (unread.count, done.tally.counts.offending) {
        (0, 0) => ExitCode::Ok,
        (0, _) => ExitCode::NotConforming,
        _ => ExitCode::Incomplete,
    }
}

fn kept(args: &ScanArgs) -> Kept {
    // Whoever merges parts may want a page of them.
    let is_for_page = args.html.is_some() || (args.json && args.shard.is_some());
    let (on_map, samples) = match (is_for_page, args.json, args.null) {
        (true, ..) => (20_000, 400),
        (_, false, false) => (0, summary_text::SAMPLES),
        _ => (0, 0),
    };
    Kept {
        worst: if args.null && !is_for_page { 0 } else { WORST },
        on_map,
        samples,
        failures: FAILURES,
    }
}

fn walked(
    scan: &mut Scan<'_, Lines>,
    args: &ScanArgs,
    progress: Progress,
) -> Result<Tally, CliError> {
    let (mut roots, mut unopened) = (Vec::new(), Vec::new());
    for path in &args.directories {
        let name = path.as_os_str().as_bytes().to_vec();
        match Dir::open_root(path) {
            Ok(root) => {
                if !args.view {
                    view::refuse("scan", path, &root)?;
                }
                roots.push(root.into_fd());
                scan.roots.push(name);
            }
            Err(error) => unopened.push((name, error)),
        }
    }
    if roots.is_empty() {
        let failed = unopened
            .iter()
            .map(|(name, error)| format!("{} cannot be read: {}", Quoted(name), reason(error)));
        let failed: Vec<String> = failed.collect();
        return Err(CliError::usage(failed.join("; ")));
    }
    let mut state = scan.state();
    for (name, error) in unopened {
        let root = scan.roots.len();
        scan.roots.push(name);
        scan.add_unread(&mut state, (root, Vec::new()), 0, &error);
    }
    let mut all = state.done(scan);
    let crossing = match args.cross_mounts {
        true => Mounts::Enter,
        false => Mounts::Stay,
    };
    let threads = args
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from) + WAITING);
    let scan = &*scan;
    let work = |roots: &[OwnedFd]| walk(roots, crossing, threads, scan);
    let states = progress
        .during(
            |elapsed| progress_line(scan.reached, elapsed),
            || work(&roots),
        )
        .map_err(|error| CliError::failure(format!("the walk failed: {}", reason(&error))))?;
    for state in states {
        all.merge(state.done(scan));
    }
    Ok(all)
}

fn listed(scan: &mut Scan<'_, Lines>, list: &Path, progress: Progress) -> Result<Tally, CliError> {
    let is_stdin = list.as_os_str() == "-";
    let mut input: Box<dyn BufRead> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(list).map_err(|error| {
            let list = Quoted(list.as_os_str().as_bytes());
            CliError::usage(format!("{list} cannot be read: {}", reason(&error)))
                .hint("--names-from takes a file of paths, each ended by a NUL, or -")
        })?;
        Box::new(BufReader::with_capacity(1 << 18, file))
    };
    scan.roots.push(Vec::new());
    let scan = &*scan;
    let read = progress.during(
        |elapsed| progress_line(scan.reached, elapsed),
        || PathList::new(scan).read(&mut input),
    );
    read.or_else(|failed| {
        let mut state = scan.state();
        let name = match is_stdin {
            true => b"standard input".to_vec(),
            false => list.as_os_str().as_bytes().to_vec(),
        };
        scan.add_unread(&mut state, (0, name), 0, &failed.error);
        let mut tally = state.done(scan);
        tally.merge(*failed.tally);
        Ok(tally)
    })
}

/// Returns how far a scan is. How much is still to come nobody knows before the end.
fn progress_line(reached: &Reached, elapsed: Duration) -> String {
    let names = reached.entries();
    format!(
        "{} names in {} directories, {} a second, {} offending; {}",
        grouped(names),
        grouped(reached.directories()),
        grouped(per_second(names, elapsed)),
        grouped(reached.offending()),
        Quoted(&reached.place())
    )
}
