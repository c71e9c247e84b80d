//! `utf8fs demo`: the program at work, on a directory made for the purpose.
//!
//! What is shown is the product itself: each scene runs this program's own `mount`, with the very options it prints.

mod attempt;
mod old_names;
mod page;
mod stage;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::error::reason;
use super::{CliError, ExitCode};
use crate::names::Quoted;
use crate::policy::errno::symbol;
use attempt::Attempt;
use old_names::{OldName, old_names};
use page::{Page, shown};
use stage::{AUDIT_LOG, Mount, Stage};

/// Runs the demo. Whatever happens, nothing that it made or mounted is left.
///
/// # Errors
/// It cannot mount or make its directory, a signal ended it, or something was not as it should be.
pub fn run() -> Result<ExitCode, CliError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| failed("catch signals", &error))?;
    }
    let mut page = Page::stdout(Arc::clone(&interrupted));
    let stage = Stage::set()?;
    let shown = show(&stage, &mut page);
    let cleared = stage.clear();
    if interrupted.load(Ordering::Relaxed) {
        cleared?;
        return Err(CliError::failure(
            "interrupted; all that was made is removed",
        ));
    }
    // Whoever reads no further has seen enough.
    if !page.is_closed() {
        shown?;
    }
    cleared?;
    Ok(ExitCode::Ok)
}

fn show(stage: &Stage, page: &mut Page) -> Result<(), CliError> {
    let names = old_names();
    stage.make(&names)?;
    for line in [
        "utf8fs shows a directory so that every file name in it is well-formed UTF-8.",
        "",
        "For this demo there is a directory \"old\", as it comes from old disks: names in four",
        "charsets, in a sub-directory each, names that broken programs left, and hostile ones.",
        "It is mounted at \"mnt\". Both are in a temporary directory, removed at the end.",
        "Names are printed quoted: \\xE9 stands for an octet E9 that is not UTF-8.",
    ] {
        page.text(line)?;
    }
    every_name(stage, page, &names)?;
    decoded(stage, page, &names)?;
    refused(stage, page, &names)?;
    normalized(stage, page)?;
    page.heading("What to do next (Ctrl-C or umount ends a mount)")?;
    for (command, what) in [
        (
            "utf8fs mount --from iso-8859-1 OLD MOUNTPOINT",
            "use your own old tree",
        ),
        (
            r"utf8fs explain --profile safe $'caf\xE9.txt'",
            "ask why a name is refused",
        ),
        ("utf8fs mount --help", "see every option"),
    ] {
        page.next_step(command, what)?;
    }
    page.flush()
}

fn every_name(stage: &Stage, page: &mut Page, names: &[OldName]) -> Result<(), CliError> {
    page.heading("1. Whatever its bytes, every name can be used")?;
    let mount = raise(stage, page, &["old", "mnt"])?;
    page.columns("on disk", "in the mount", "what it is")?;
    let mut total = 0;
    for directory in old_names::directories(names) {
        let seen = look(&stage.mountpoint().join(directory))?;
        total += seen.len();
        for name in names.iter().filter(|name| name.directory == directory) {
            page.row(&name.bytes, paired(name, &seen)?, name.what)?;
        }
    }
    mount.end()?;
    expect(
        total == names.len(),
        "a file is missing in the mount, or doubled",
    )?;
    page.text("")?;
    page.text(&format!(
        "  {total} files on disk, {total} in the mount; each was opened by its visible name, and read the"
    ))?;
    page.text("  same as on disk. Names that are UTF-8 stay as they are. On disk nothing changes.")
}

fn decoded(stage: &Stage, page: &mut Page, names: &[OldName]) -> Result<(), CliError> {
    page.heading("2. Say which charset they are in, and they read as text")?;
    for (charset, directory) in [
        ("iso-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
        ("shift_jis", "shift_jis"),
        ("koi8-r", "koi8-r"),
    ] {
        let backing = format!("old/{directory}");
        let mount = raise(stage, page, &["--from", charset, &backing, "mnt"])?;
        let seen = look(stage.mountpoint())?;
        for name in names.iter().filter(|name| name.directory == directory) {
            let visible = paired(name, &seen)?;
            let is_cut = visible.contains(&b'~');
            let what = if is_cut { "over 255 bytes, so cut" } else { "" };
            page.row(&name.bytes, visible, what)?;
        }
        mount.end()?;
    }
    expect(stage.is_unchanged(names), "something has changed on disk")
}

fn refused(stage: &Stage, page: &mut Page, names: &[OldName]) -> Result<(), CliError> {
    page.heading("3. Nobody can make such names any more, and the log says who tried")?;
    let args = [
        "--profile",
        "safe",
        "--audit-log",
        AUDIT_LOG,
        "old/hostile",
        "mnt",
    ];
    let mount = raise(stage, page, &args)?;
    page.text(
        "  Profile \"safe\" is stricter than UTF-8. What is there already is shown escaped:",
    )?;
    let seen = look(stage.mountpoint())?;
    for name in names.iter().filter(|name| name.directory == "hostile") {
        page.row(&name.bytes, paired(name, &seen)?, name.what)?;
    }
    let before = entries(&stage.old().join("hostile"))?;
    let attempts: Vec<Attempt> = attempt::forbidden()
        .into_iter()
        .map(|(act, name)| Attempt::make(act, &name, stage.mountpoint()))
        .collect();
    mount.end()?;
    let after = entries(&stage.old().join("hostile"))?;
    let log = stage.audit_log()?;
    let records = records(&log);
    page.text("")?;
    page.text(
        "  A program that tries to make new ones gets an error, and leaves a record in the log:",
    )?;
    let (mut refusals, mut meanings) = (0, Vec::new());
    for attempt in &attempts {
        match &attempt.outcome {
            Ok(()) => page.attempt(attempt, "made", None)?,
            Err(error) => {
                let errno = error.raw_os_error().map_or("EIO", symbol);
                let record = records.get(refusals).copied().unwrap_or_default();
                page.attempt(attempt, errno, attempt::reason_in(record))?;
                refusals += 1;
                let meaning = format!("  {errno} reads \"{}\".", reason(error));
                if !meanings.contains(&meaning) {
                    meanings.push(meaning);
                }
            }
        }
    }
    expect(
        attempts.iter().all(Attempt::is_as_it_should),
        "a name was made that should have been refused, or with another error",
    )?;
    expect(
        records.len() == refusals && attempts.len() == refusals + 1,
        "the audit log does not have one record for each refusal",
    )?;
    expect(
        after.len() == before.len() + 1,
        "a refusal left something behind",
    )?;
    page.text("")?;
    for meaning in meanings {
        page.text(&meaning)?;
    }
    page.text("  On disk nothing was made but \"plain.txt\". One of the records in full:")?;
    page.quiet(&format!(
        "  {}",
        records.get(1).copied().unwrap_or_default()
    ))
}

fn normalized(stage: &Stage, page: &mut Page) -> Result<(), CliError> {
    const ASKED: &[u8] = b"caf\xE9.txt";
    page.heading("4. Or old programs go on as they did, and what they make is UTF-8")?;
    let args = [
        "--from",
        "iso-8859-1",
        "--on-violation",
        "normalize",
        "new",
        "mnt",
    ];
    let mount = raise(stage, page, &args)?;
    let asked = stage.mountpoint().join(OsStr::from_bytes(ASKED));
    fs::write(&asked, "made by an old program\n")
        .map_err(|error| failed(&format!("make {}", Quoted(ASKED)), &error))?;
    let seen = look(stage.mountpoint())?;
    let visible = seen.values().next().map_or(&[][..], |name| name.as_bytes());
    let inode = |path: &Path| fs::metadata(path).map(|metadata| metadata.ino());
    let same = [&asked, &stage.mountpoint().join(OsStr::from_bytes(visible))]
        .map(|path| inode(path).map_err(|error| failed("find what was made", &error)));
    mount.end()?;
    let [by_asked, by_visible] = same;
    expect(by_asked? == by_visible?, "the old spelling leads elsewhere")?;
    let backing = entries(&stage.new_files())?;
    let backing = backing.first().map_or(&[][..], |name| name.as_bytes());
    expect(
        backing == "café.txt".as_bytes(),
        "the name was not normalized",
    )?;
    page.text(&format!(
        "  create {} made {}, on disk too; both spellings open it.",
        shown(ASKED),
        shown(backing)
    ))
}

/// Prints the command that a user would type, and runs it.
fn raise<'a>(stage: &'a Stage, page: &mut Page, args: &[&str]) -> Result<Mount<'a>, CliError> {
    page.command(&format!("utf8fs mount {}", args.join(" ")))?;
    page.flush()?;
    stage.mount(args)
}

/// The names in a directory.
fn entries(directory: &Path) -> Result<Vec<OsString>, CliError> {
    fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .map_err(|error| failed("list a directory", &error))
}

/// The files of a directory by what is in them: opened and read, each by the name it was listed with.
fn look(directory: &Path) -> Result<HashMap<Vec<u8>, OsString>, CliError> {
    let mut seen = HashMap::new();
    for name in entries(directory)? {
        expect(
            name.to_str().is_some(),
            "a visible name is not well-formed UTF-8",
        )?;
        let content = fs::read(directory.join(&name)).map_err(|error| {
            let name = Quoted(name.as_bytes());
            failed(&format!("read {name} through the mount"), &error)
        })?;
        expect(
            seen.insert(content, name).is_none(),
            "one file has two visible names",
        )?;
    }
    Ok(seen)
}

/// The visible name of the file whose content is that of `name` on disk.
fn paired<'a>(name: &OldName, seen: &'a HashMap<Vec<u8>, OsString>) -> Result<&'a [u8], CliError> {
    match seen.get(name.content().as_bytes()) {
        Some(visible) => Ok(visible.as_bytes()),
        None => Err(at_fault(&format!(
            "no file in the mount has the content of {}",
            Quoted(&name.bytes)
        ))),
    }
}

/// The records of offences in an audit log, without its summary.
fn records(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| !line.starts_with("utf8fs: "))
        .collect()
}

fn expect(is_so: bool, otherwise: &str) -> Result<(), CliError> {
    if is_so {
        Ok(())
    } else {
        Err(at_fault(otherwise))
    }
}

fn at_fault(what: &str) -> CliError {
    CliError::failure(format!("utf8fs is at fault here: {what}"))
        .hint("please report it, with your kernel's version and the filesystem of the temporary directory")
}

fn failed(doing: &str, error: &io::Error) -> CliError {
    CliError::failure(format!("cannot {doing}: {}", reason(error)))
}
