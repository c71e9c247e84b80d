//! `utf8fs demo`: the program at work, on a directory made for the purpose.
//!
//! The script is a text that is printed. `$` mounts, as a user would, by this program's own `mount`. `@show` lists
//! the files of a directory, `@try` makes names that are refused, and `@normalize` one that is normalized.

mod old_names;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tempfile::TempDir;

use super::error::reason;
use super::output::Output;
use super::text_table::padded;
use super::{CliError, ExitCode};
use crate::names::Quoted;
use crate::policy::errno::symbol;
use old_names::{OldName, old_names};

const SCRIPT: &str = include_str!("demo/script.txt");

/// The audit log of the latest mount, in the demo's directory.
const LOG: &str = "audit.log";

/// Time in which a daemon writes the end of its log.
const PATIENCE: Duration = Duration::from_secs(10);

const HINT: &str = "mounting takes /dev/fuse, and root or fusermount3; a container needs --device /dev/fuse --cap-add SYS_ADMIN";

/// The name of the file that may be made.
const PLAIN: &str = "plain.txt";

/// Runs the demo. Whatever happens, nothing that it made or mounted is left.
///
/// # Errors
/// It cannot mount or make its directory, or a signal ended it.
pub(super) fn run() -> Result<ExitCode, CliError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| failed("catch signals", &error))?;
    }
    let mut demo = Demo::new(Arc::clone(&interrupted))?;
    let shown = demo.play();
    let is_read = !demo.out.is_closed();
    drop(demo.mount);
    let removed = demo.directory.close();
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    if shown.is_ok() || !is_read || is_interrupted {
        removed.map_err(|error| failed("remove the demo's directory", &error))?;
    }
    if is_interrupted {
        let message = "interrupted; all that was made is removed";
        return Err(CliError::failure(message));
    }
    // Whoever reads no further has seen enough.
    if is_read {
        shown?;
    }
    Ok(ExitCode::Ok)
}

struct Demo {
    out: Output,
    interrupted: Arc<AtomicBool>,
    /// The latest mount.
    mount: Option<Mount>,
    directory: TempDir,
    /// Its path, without symlinks.
    root: PathBuf,
    names: Vec<OldName>,
}

/// A mount in the background, unmounted when it is dropped.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        for options in [&["umount"][..], &["umount", "--lazy"]] {
            let done = utf8fs().args(options).arg(&self.0).output();
            if done.is_ok_and(|done| done.status.success()) {
                return;
            }
        }
        let path = Quoted(self.0.as_os_str().as_bytes());
        log::warn!("{path} stays mounted");
    }
}

impl Demo {
    /// Makes the directory, with files of old names in it.
    fn new(interrupted: Arc<AtomicBool>) -> Result<Self, CliError> {
        let not_made = |error: io::Error| {
            failed("make a temporary directory", &error).hint(
                "set TMPDIR to a directory on ext4, xfs, btrfs or tmpfs that you may write to",
            )
        };
        let directory = tempfile::Builder::new().prefix("utf8fs-demo-").tempdir();
        let directory = directory.map_err(not_made)?;
        let root = directory.path().canonicalize().map_err(not_made)?;
        for name in ["mnt", "new"] {
            fs::create_dir(root.join(name)).map_err(not_made)?;
        }
        let names = old_names();
        for name in &names {
            let directory = root.join("old").join(name.directory);
            fs::create_dir_all(&directory).map_err(not_made)?;
            let file = directory.join(OsStr::from_bytes(&name.bytes));
            fs::write(file, name.content()).map_err(not_made)?;
        }
        Ok(Self {
            out: Output::stdout(),
            interrupted,
            mount: None,
            directory,
            root,
            names,
        })
    }

    fn play(&mut self) -> Result<(), CliError> {
        for line in SCRIPT.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("$", command) => self.mount(command)?,
                ("@show", directory) => self.show(directory)?,
                ("@try", _) => self.show_refusals()?,
                ("@normalize", _) => self.show_normalized()?,
                _ => self.text(line)?,
            }
        }
        self.out.flush()
    }

    /// Prints the command that a user would type, and runs it in the background.
    fn mount(&mut self, command: &str) -> Result<(), CliError> {
        self.mount = None;
        self.text(&format!("$ {command}"))?;
        self.out.flush()?;
        // A daemon that is still at its end has its own log open.
        drop(fs::remove_file(self.root.join(LOG)));
        let mut mount = utf8fs();
        mount.args(["mount", "--quiet", "--background", "--audit-log", LOG]);
        let args = command.split(' ').skip(2);
        let started = mount.args(args).current_dir(&self.root).output();
        let started = started.map_err(|error| failed("run utf8fs mount", &error))?;
        if !started.status.success() {
            let said = std::str::from_utf8(&started.stderr).unwrap_or_default();
            let line = |start| said.lines().find_map(|line| line.strip_prefix(start));
            let error = line("error: ").unwrap_or("utf8fs mount ended and did not say why");
            return Err(CliError::failure(error).hint(line("hint: ").unwrap_or(HINT)));
        }
        self.mount = Some(Mount(self.root.join("mnt")));
        self.go_on()
    }

    /// Shows the files of a directory: each is opened and read by the name that it is listed with.
    fn show(&mut self, directory: &str) -> Result<(), CliError> {
        let mounted = self.root.join("mnt");
        let below = mounted.join(directory);
        let mounted = if below.is_dir() { below } else { mounted };
        let mut seen = HashMap::new();
        for name in entries(&mounted)? {
            let content = fs::read(mounted.join(&name));
            let content = content.map_err(|error| failed("read through the mount", &error))?;
            seen.insert(content, name);
        }
        let names = self.names.iter().filter(|name| name.directory == directory);
        let rows = names.map(|name| {
            let visible = seen.get(name.content().as_bytes());
            let visible =
                visible.ok_or_else(|| CliError::failure("a file is missing in the mount"))?;
            let (on_disk, visible) = (shown(&name.bytes), shown(visible.as_bytes()));
            Ok(format!(
                "  {}{}{}",
                padded(&on_disk, 28),
                padded(&visible, 25),
                name.what
            ))
        });
        let rows: Vec<String> = rows.collect::<Result<_, CliError>>()?;
        rows.iter().try_for_each(|row| self.text(row))
    }

    /// Tries to make names, and shows what the log says of each.
    fn show_refusals(&mut self) -> Result<(), CliError> {
        let attempts = attempts();
        let mounted = self.root.join("mnt");
        let tried = attempts.iter().map(|(act, name)| make(act, name, &mounted));
        let tried: Vec<io::Result<()>> = tried.collect();
        self.mount = None;
        let records = self.records()?;
        let mut refusals = records.iter();
        for ((act, name), made) in attempts.iter().zip(&tried) {
            let errno = made.as_ref().err().and_then(io::Error::raw_os_error);
            let result = errno.map_or("made", symbol);
            self.text(&format!(
                "  {}{}{result}",
                padded(act, 9),
                padded(&shown(name), 32)
            ))?;
            let record = errno.and_then(|_| refusals.next());
            if let Some(reason) = record.and_then(|record| reason_in(record)) {
                self.text(&format!("           {reason}"))?;
            }
        }
        self.text("\n  On disk nothing was made but \"plain.txt\". One of the records in full:")?;
        self.text(&format!("  {}", records.get(1).map_or("", String::as_str)))
    }

    fn show_normalized(&mut self) -> Result<(), CliError> {
        const ASKED: &[u8] = b"caf\xE9.txt";
        let asked = self.root.join("mnt").join(OsStr::from_bytes(ASKED));
        fs::write(&asked, "made by an old program\n")
            .and_then(|()| fs::read(&asked))
            .map_err(|error| failed(&format!("make and read {}", Quoted(ASKED)), &error))?;
        let made = entries(&self.root.join("new"))?;
        let made = made.first().map_or(&[][..], |name| name.as_bytes());
        self.text(&format!(
            "  create {} made {}, on disk too; both spellings open it.",
            Quoted(ASKED),
            Quoted(made)
        ))
    }

    /// Returns the records of the audit log, which is complete when its summary is there.
    fn records(&self) -> Result<Vec<String>, CliError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.root.join(LOG))
                .map_err(|error| failed("read the audit log", &error))?;
            if log.contains(" summary of mount ") || Instant::now() > until {
                let records = log.lines().filter(|line| !line.starts_with("utf8fs: "));
                return Ok(records.map(str::to_owned).collect());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Writes text, unless nobody wants to read on; [`run`] knows why, so that the message is never seen.
    fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.out.line(text)?;
        self.go_on()
    }

    fn go_on(&self) -> Result<(), CliError> {
        if self.out.is_closed() || self.interrupted.load(Ordering::Relaxed) {
            return Err(CliError::failure("nobody reads on"));
        }
        Ok(())
    }
}

/// Returns a plain name, which may be made, and then one of each kind that may not, with the way to make it.
fn attempts() -> [(&'static str, Vec<u8>); 9] {
    let long = [&[b'x'; 252][..], b".txt"].concat();
    let rows: [(&str, &[u8]); 9] = [
        ("create", PLAIN.as_bytes()),
        ("create", b"caf\xE9.txt"),
        ("mkdir", b"\xC0\xAE\xC0\xAE\xC0\xAFetc"),
        ("symlink", b"\xED\xA0\x80.txt"),
        ("create", &long),
        ("rename", b"one\ntwo.txt"),
        ("mkdir", b"\x1B[2J"),
        ("create", b"-rf"),
        ("rename", b"song\xE2\x80\xAE3pm.exe"),
    ];
    rows.map(|(act, name)| (act, name.to_vec()))
}

fn make(act: &str, name: &[u8], directory: &Path) -> io::Result<()> {
    let path = directory.join(OsStr::from_bytes(name));
    match act {
        "mkdir" => fs::create_dir(&path),
        "symlink" => symlink(PLAIN, &path),
        "rename" => Ok(rustix::fs::rename(directory.join(PLAIN), &path)?),
        _ => fs::File::create_new(&path).map(drop),
    }
}

/// Returns what an audit record says of the name: the rule and where it is broken, without who, when and what instead.
fn reason_in(record: &str) -> Option<&str> {
    let (_, refusal) = record.split_once(": refused with ")?;
    let (_, reason) = refusal.split_once(": ")?;
    let (reason, _) = reason.split_once("; by uid ")?;
    reason.split("; would be accepted: ").next()
}

/// Quotes a name; of a long one its two ends.
fn shown(name: &[u8]) -> String {
    let quoted = Quoted(name).to_string();
    let characters: Vec<char> = quoted.chars().collect();
    match (characters.get(..9), characters.last_chunk::<22>()) {
        (Some(head), Some(tail)) if characters.len() > 40 => {
            let [head, tail] = [head, tail].map(|part| part.iter().collect::<String>());
            format!("{head} ... {tail}")
        }
        _ => quoted,
    }
}

fn entries(directory: &Path) -> Result<Vec<OsString>, CliError> {
    fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .map_err(|error| failed("list a directory", &error))
}

/// Returns the command of this program.
fn utf8fs() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env_remove("UTF8FS_LOG").stdin(Stdio::null());
    command
}

fn failed(doing: &str, error: &io::Error) -> CliError {
    CliError::failure(format!("cannot {doing}: {}", reason(error)))
}
