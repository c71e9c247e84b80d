//! `utf8fs scan`: the names of a tree, for people, programs and browsers.

mod charset_survey;
mod json_lines;
mod map_page;
mod merge;
mod scan_done;
mod summary_text;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::args::ScanArgs;
use super::error::{cannot_be, reason};
use super::output::{Output, grouped, open_input, print_lines, print_warning, quoted};
use super::page::Page;
use super::progress::{Progress, per_second};
use super::{CommandError, ExitCode, charset_map, config, view};
use crate::backing::Dir;
use crate::daemon::command_error::Doing;
use crate::daemon::mount_policy::name_map;
use crate::names::Quoted;
use crate::policy::Policy;
use crate::records::{PolicyFile, ScanPart};
use crate::tree::scan::{Kept, Reached, Rules, Scan, Shard, Sink, Tally};
use crate::tree::tree_walk::Mounts;
use json_lines::Lines;
use scan_done::ScanDone;

/// Threads beside one for each CPU, since some wait for the disk.
const WAITING: usize = 2;

/// Scans, and prints what was found.
///
/// # Errors
/// Wrong arguments, no directory of those given; output that can't be written. What else cannot be read is told, and makes the scan
/// incomplete.
pub(super) fn run(args: &ScanArgs) -> Result<ExitCode, CommandError> {
    let policy = name_map(&PolicyFile {
        encoding: args.encoding,
        ..config::conforming_keys(&args.conforming)
    });
    let policy = policy?.policy;
    let map = args.charset_map.as_deref().map(charset_map::read);
    let map = map.transpose()?;
    let proposal = charset_survey::create_map(args)?;
    // Each report to merge is the name of a file, - too.
    let reports = args.directories.iter().filter(|_| args.merge);
    let reports = reports.map(|report| Path::new(".").join(report));
    let inputs: Vec<PathBuf> = reports.chain(args.names_from.clone()).collect();
    let page = Page::create(args.html.as_deref(), &inputs)?;
    let lines = (args.json || args.null).then(|| Lines {
        is_json: args.json,
        out: Output::stdout(),
    });
    let scan = match args.merge {
        true => merge::merged(&args.directories, kept(args), lines.as_ref())?,
        false => scanned(args, policy, lines.as_ref())?,
    };
    let done = ScanDone::new(scan, proposal.is_some() || map.is_some());
    if let Some(page) = page {
        page.write(&map_page::page(&done))?;
    }
    match lines {
        Some(lines) => lines.finish(&done, args.shard.is_some())?,
        None => print_lines([summary_text::text(&done)])?,
    }
    let exit = exit(&done);
    if let Some(file) = proposal {
        charset_survey::propose(file, args, &done)?;
    }
    if let Some(map) = map {
        charset_survey::judge(map, args)?;
    }
    Ok(exit)
}

fn scanned(
    args: &ScanArgs,
    policy: Policy,
    lines: Option<&Lines>,
) -> Result<ScanPart, CommandError> {
    let reached = Reached::default();
    let mut scan = Scan {
        rules: Rules::new(policy, args.unique, args.doubled),
        kept: kept(args),
        shard: args.shard.map_or(Shard::WHOLE, |shard| Shard {
            depth: args.shard_depth.unwrap_or(shard.depth),
            ..shard
        }),
        sink: lines.map(|lines| lines as &dyn Sink),
        reached: &reached,
        roots: Vec::new(),
    };
    let line = |elapsed| progress_line(&reached, elapsed);
    let tally = Progress::start(args.progress, false).during(line, || match &args.names_from {
        Some(list) => listed(&mut scan, list),
        None => walked(&mut scan, args),
    })?;
    Ok(scan.part(tally))
}

/// Prints on standard error what could not be read, and returns how it ends.
fn exit(done: &ScanDone) -> ExitCode {
    let unread = done.scan.tally.all_unread();
    for failure in &unread.first {
        let error = io::Error::from_raw_os_error(failure.errno);
        let path = quoted(failure.path.as_bytes());
        print_warning(&format!("{path} could not be read: {}", reason(&error)));
    }
    let told = u64::try_from(unread.first.len()).unwrap_or(u64::MAX);
    if unread.count > told {
        let more = grouped(unread.count - told);
        print_warning(&format!("{more} more could not be read"));
    }
    match (unread.count, done.scan.tally.counts.offending) {
        (0, 0) => ExitCode::Ok,
        (0, _) => ExitCode::NotConforming,
        _ => ExitCode::Incomplete,
    }
}

fn kept(args: &ScanArgs) -> Kept {
    // Whoever merges parts may want a page of them.
    let is_for_page = args.html.is_some() || (args.json && args.shard.is_some());
    Kept {
        worst: 100,
        on_map: if is_for_page { 20_000 } else { 0 },
        samples: 400,
        failures: 100,
    }
}

fn walked(scan: &mut Scan<'_>, args: &ScanArgs) -> Result<Tally, CommandError> {
    let (mut roots, mut unopened) = (Vec::new(), Vec::new());
    for path in &args.directories {
        let name = path.as_os_str().as_bytes().to_vec();
        match Dir::open_root(path) {
            Ok(root) => {
                if !args.view {
                    view::refuse("scan", path, &root, args.cross_mounts)?;
                }
                roots.push(root.into_fd());
                scan.roots.push(name);
            }
            Err(error) => unopened.push((name, error)),
        }
    }
    if roots.is_empty() {
        let failed = unopened.iter();
        let failed = failed.map(|(name, error)| cannot_be("read", Quoted(name), error));
        let failed: Vec<String> = failed.collect();
        return Err(CommandError::usage(failed.join("; ")));
    }
    let mut all = Tally::new(scan.kept);
    for (name, error) in unopened {
        scan.roots.push(name.clone());
        scan.add_unread(&mut all, name, 0, &error);
    }
    let crossing = match args.cross_mounts {
        true => Mounts::Enter,
        false => Mounts::Stay,
    };
    let threads = args
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from) + WAITING);
    let found = scan.walk(&roots, crossing, threads);
    all.merge(found.doing("walk the directories")?);
    Ok(all)
}

fn listed(scan: &mut Scan<'_>, list: &Path) -> Result<Tally, CommandError> {
    let input = open_input(list).map_err(|error| {
        CommandError::usage(cannot_be("read", Quoted::of(list), &error))
            .hint("--names-from takes a file of paths, each ended by a NUL, or -")
    })?;
    let name = match list.as_os_str().as_bytes() {
        b"-" => &b"standard input"[..],
        name => name,
    };
    scan.roots.push(Vec::new());
    Ok(scan.read_list(input, name))
}

/// Returns how far a scan is. How much is still to come nobody knows before the end.
fn progress_line(reached: &Reached, elapsed: Duration) -> String {
    let names = reached.entries.load(Ordering::Relaxed);
    format!(
        "{} names in {} directories, {} a second, {} offending; {}",
        grouped(names),
        grouped(reached.directories.load(Ordering::Relaxed)),
        grouped(per_second(names, elapsed)),
        grouped(reached.offending.load(Ordering::Relaxed)),
        Quoted(&reached.place())
    )
}
