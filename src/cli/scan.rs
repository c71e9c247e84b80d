//! `utf8fs scan`: the names of a tree, for people, programs and browsers.

mod charset_survey;
mod map_page;
mod next_commands;
mod summary_text;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::ScanArgs;
use super::output::{Output, grouped, open_input, print_warning, quoted};
use super::page::Page;
use super::progress::{per_second, with_progress};
use super::{CommandError, Doing, ExitCode, cannot_be, charset_map, config, reason, view};
use crate::backing::Dir;
use crate::daemon::mount_policy::name_map;
use crate::names::Quoted;
use crate::policy::Policy;
use crate::records::{Name, PolicyFile, ScanLine, ScanPart, json_line};
use crate::tree::scan::{Rules, Scan, ScanDone, Shard, Sink, merge};
use crate::tree::tree_walk::{Mounts, walk};
use next_commands::next_commands;

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
    // The directories, or reports to merge: each is a name, - too.
    let named = args.directories.iter();
    let named = named.map(|name| Path::new(".").join(name));
    let inputs: Vec<PathBuf> = named.chain(args.names_from.clone()).collect();
    let page = Page::create(args.html.as_deref(), &inputs)?;
    let out = Output::stdout();
    // JSON objects, or the paths of names that offend.
    let print = |line: &ScanLine| {
        if args.json {
            out.line(&json_line(line));
        } else if let ScanLine::Entry(entry) = line
            && entry.offends
        {
            out.bytes(&[entry.path.as_bytes(), b"\0"].concat());
        }
        !out.is_over()
    };
    let sink = (args.json || args.null).then_some(&print as Sink<'_>);
    let scan = match args.merge {
        true => merge(&args.directories, sink).map_err(|fault| {
            CommandError::usage(fault).hint("name the reports of all parts, each made once by 'utf8fs scan --shard I/N --json DIR >FILE', and with all typed alike but I")
        })?,
        false => scanned(args, policy, sink)?,
    };
    let mut done = ScanDone::new(scan);
    if proposal.is_none() && map.is_none() {
        done.next = next_commands(&done);
    }
    if let Some(page) = page {
        page.write(&map_page::page(&done))?;
    }
    if args.json {
        let last = done.last_lines(args.shard.is_some());
        out.lines(last.map(|line| json_line(&line)));
    } else if !args.null {
        out.line(&summary_text::text(&done));
    }
    out.finish()?;
    let exit = exit(&done);
    if let Some(file) = proposal {
        charset_survey::propose(file, args, &done)?;
    }
    if let Some(map) = map {
        charset_survey::judge(map, args)?;
    }
    Ok(exit)
}

/// Scans the directories or the list.
fn scanned(
    args: &ScanArgs,
    policy: Policy,
    sink: Option<Sink<'_>>,
) -> Result<ScanPart, CommandError> {
    let rules = Rules::new(policy, args.unique, args.doubled);
    let mut shard = args.shard.unwrap_or(Shard::WHOLE);
    shard.depth = args.shard_depth.unwrap_or(shard.depth);
    if let Some(list) = &args.names_from {
        let input = open_input(list).map_err(|error| {
            CommandError::usage(cannot_be("read", Quoted::of(list), &error))
                .hint("--names-from takes a file of paths, each ended by a NUL, or -")
        })?;
        let name = match list.as_os_str().as_bytes() {
            b"-" => &b"standard input"[..],
            name => name,
        };
        let scan = Scan::new(rules, shard, vec![Name::default()], sink);
        let line = |elapsed| progress_line(&scan, elapsed);
        with_progress(args.progress, false, line, || scan.read_list(input, name));
        return Ok(scan.part());
    }
    let (mut roots, mut names, mut unopened) = (Vec::new(), Vec::new(), Vec::new());
    for path in &args.directories {
        let name = Name::of_path(path);
        match Dir::open_root(path) {
            Ok(root) => {
                if !args.view {
                    view::refuse("scan", path, &root, args.cross_mounts)?;
                }
                roots.push(root.into_fd());
                names.push(name);
            }
            Err(error) => unopened.push((name, error)),
        }
    }
    if roots.is_empty() {
        let failed = unopened.iter();
        let failed = failed.map(|(name, error)| cannot_be("read", name, error));
        let failed: Vec<String> = failed.collect();
        return Err(CommandError::usage(failed.join("; ")));
    }
    names.extend(unopened.iter().map(|(name, _)| name.clone()));
    let scan = Scan::new(rules, shard, names, sink);
    for (name, error) in unopened {
        scan.add_unread(name, 0, &error);
    }
    let crossing = match args.cross_mounts {
        true => Mounts::Enter,
        false => Mounts::Stay,
    };
    let threads = args
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from) + WAITING);
    let line = |elapsed| progress_line(&scan, elapsed);
    let walked = with_progress(args.progress, false, line, || {
        walk(&roots, crossing, threads, &scan)
    });
    walked.doing("walk the directories")?;
    Ok(scan.part())
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

/// Returns how far a scan is. How much is still to come nobody knows before the end.
fn progress_line(scan: &Scan<'_>, elapsed: Duration) -> String {
    let tally = scan.tally.lock();
    format!(
        "{} names in {} directories, {} a second, {} offending; {}",
        grouped(tally.counts.entries),
        grouped(tally.directories),
        grouped(per_second(tally.counts.entries, elapsed)),
        grouped(tally.counts.offending),
        Quoted(&scan.place.lock())
    )
}
