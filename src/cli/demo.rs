//! `utf8fs demo`: the program at work, on a directory made for the purpose.
//!
//! The script is a text that is printed. `$` mounts, as a user would, by this program's own `mount`. `@file` makes a file on
//! the old disk, with its description as content, and `@show` lists the files of a directory that is mounted. `@try` makes a
//! name that may be refused, and `@record` prints the last record of that.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead, BufReader, Lines, PipeReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::output::Output;
use super::text_table::padded;
use super::{CommandError, Doing};
use crate::names::Quoted;
use crate::names::quoted::unquote;
use crate::policy::errno::symbol;

/// The name of the file that may be made.
const PLAIN: &str = "plain.txt";

const HINT: &str = "mounting takes /dev/fuse, and root or fusermount3; a container needs --device /dev/fuse --cap-add SYS_ADMIN";

/// Runs the demo. Whatever happens, nothing that it made or mounted is left.
///
/// # Errors
/// It cannot mount or make its directory, or a signal ended it.
pub(super) fn run() -> Result<(), CommandError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).doing("catch signals")?;
    }
    let directory = tempfile::Builder::new().prefix("utf8fs-demo-").tempdir();
    let directory = directory.map_err(not_made)?;
    for name in ["mnt", "new"] {
        fs::create_dir(directory.path().join(name)).map_err(not_made)?;
    }
    let mut demo = Demo {
        out: Output::stdout(),
        interrupted: &interrupted,
        root: directory.path().to_owned(),
        mount: None,
        record: String::new(),
    };
    let shown = demo.play();
    let shown = demo.out.finish().and(shown);
    drop(demo.mount);
    let removed = directory.close().doing("remove the demo's directory");
    if interrupted.load(Ordering::Relaxed) {
        let message = "interrupted; all that was made is removed";
        return removed.and(Err(CommandError::failure(message)));
    }
    shown.and(removed)
}

/// A mount in the foreground, which ends when it is dropped.
struct Mount {
    daemon: Child,
    /// Its messages and audit log.
    log: Lines<BufReader<PipeReader>>,
}

impl Drop for Mount {
    fn drop(&mut self) {
        let ended = kill_process(Pid::from_child(&self.daemon), Signal::TERM);
        if let Err(error) = ended.map_err(io::Error::from).and(self.daemon.wait()) {
            log::warn!("the demo's mount did not end: {error}");
        }
    }
}

struct Demo<'a> {
    out: Output,
    interrupted: &'a AtomicBool,
    root: PathBuf,
    /// The latest mount.
    mount: Option<Mount>,
    /// The latest refusal in its audit log.
    record: String,
}

impl Demo<'_> {
    fn play(&mut self) -> Result<(), CommandError> {
        for line in include_str!("demo/script.txt").lines() {
            // Whoever reads no further has seen enough.
            if self.out.is_over() || self.interrupted.load(Ordering::Relaxed) {
                break;
            }
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (first, quoted) = rest.split_once(' ').unwrap_or_default();
            let (name, what) = unquote(quoted).unwrap_or_default();
            match verb {
                "$" => self.mount(rest)?,
                "@file" => self.make_old_file(first, &name, what).map_err(not_made)?,
                "@show" => self.show(first, quoted)?,
                "@try" => self.attempt(first, &name),
                "@record" => self.out.line(&format!("  {}", self.record)),
                _ => self.out.line(line),
            }
        }
        Ok(())
    }

    fn make_old_file(&self, directory: &str, name: &[u8], what: &str) -> io::Result<()> {
        let directory = self.root.join(directory);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(OsStr::from_bytes(name)), what.trim_start())
    }

    /// Prints the command that a user would type, and runs it.
    fn mount(&mut self, command: &str) -> Result<(), CommandError> {
        self.mount = None;
        self.out.line(&format!("$ {command}"));
        self.out.flush();
        let (log, stderr) = io::pipe().doing("make a pipe")?;
        let daemon = Command::new("/proc/self/exe")
            .env_remove("UTF8FS_LOG")
            .args(["mount", "--audit-log", "-"])
            .args(command.split(' ').skip(2))
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
            .doing("run utf8fs mount")?;
        let log = BufReader::new(log).lines();
        let mut mount = Mount { daemon, log };
        let mut said = Vec::new();
        for line in mount.log.by_ref().map_while(Result::ok) {
            if line.contains(" is shown at ") {
                self.mount = Some(mount);
                return Ok(());
            }
            said.push(line);
        }
        let line = |start| said.iter().find_map(|line| line.strip_prefix(start));
        let error = line("error: ").unwrap_or("utf8fs mount ended and did not say why");
        Err(CommandError::failure(error).hint(line("hint: ").unwrap_or(HINT)))
    }

    /// Shows the files of a directory on disk, and by which name each is listed and read in the mount. No two have the same content.
    fn show(&mut self, on_disk: &str, mounted: &str) -> Result<(), CommandError> {
        let [on_disk, mounted] = [on_disk, mounted].map(|directory| self.root.join(directory));
        let mut seen = HashMap::new();
        for name in entries(&mounted)? {
            let content = fs::read(mounted.join(&name)).doing("read through the mount")?;
            seen.insert(content, name);
        }
        for name in entries(&on_disk)? {
            let what = fs::read_to_string(on_disk.join(&name)).doing("read a file on disk")?;
            let visible = seen.get(what.as_bytes());
            let visible =
                visible.ok_or_else(|| CommandError::failure("a file is missing in the mount"))?;
            let name = padded(&shown(name.as_bytes()), 28);
            let visible = padded(&shown(visible.as_bytes()), 25);
            let line = format!("  {name}{visible}{what}");
            self.out.line(line.trim_end());
        }
        Ok(())
    }

    /// Tries to make a name, waits for the log to tell of a refusal, and shows it.
    fn attempt(&mut self, act: &str, name: &[u8]) {
        let made = make(act, name, &self.root.join("mnt"));
        let errno = made.err().and_then(|error| error.raw_os_error());
        let (act, name) = (padded(act, 9), padded(&shown(name), 32));
        let done = errno.map_or("made", symbol);
        self.out.line(&format!("  {act}{name}{done}"));
        if errno.is_some() {
            let log = self.mount.iter_mut().flat_map(|mount| mount.log.by_ref());
            let mut refusals = log
                .map_while(Result::ok)
                .filter(|line| line.contains(": refused with "));
            self.record = refusals.next().unwrap_or_default();
            let reason = reason_in(&self.record);
            self.out.line(&format!("           {reason}"));
        }
    }
}

/// Makes a name; the file that is linked to or renamed is the one that could be made.
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
fn reason_in(record: &str) -> &str {
    let refusal = record.split(": refused with ").nth(1).unwrap_or_default();
    let reason = refusal.split_once(": ").unwrap_or_default().1;
    let cut = |end| reason.split_once(end);
    let cut = cut("; would be accepted: ").or_else(|| cut("; by uid "));
    cut.unwrap_or_default().0
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

/// Returns the names in a directory, sorted.
fn entries(directory: &Path) -> Result<BTreeSet<OsString>, CommandError> {
    fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .doing("list a directory")
}

fn not_made(error: io::Error) -> CommandError {
    CommandError::io("make a temporary directory", &error)
        .hint("set TMPDIR to a directory on ext4, xfs, btrfs or tmpfs that you may write to")
}
