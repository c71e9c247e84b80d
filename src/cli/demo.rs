//! `utf8fs demo`: the program at work, on a directory made for the purpose.
//!
//! What is shown is the product itself: each scene runs this program's own `mount`, with the very options it prints.

mod old_names;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Finished, Stdio};
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

/// The audit log, in the demo's directory.
const LOG: &str = "audit.log";

/// Time in which a daemon writes the end of its log.
const PATIENCE: Duration = Duration::from_secs(10);

const HINT: &str = "mounting takes /dev/fuse, and root or fusermount3; a container needs --device /dev/fuse --cap-add SYS_ADMIN";

/// Runs the demo. Whatever happens, nothing that it made or mounted is left.
///
/// # Errors
/// It cannot mount or make its directory, a signal ended it, or something was not as it should be.
pub(super) fn run() -> Result<ExitCode, CliError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| failed("catch signals", &error))?;
    }
    let mut demo = Demo::new(Arc::clone(&interrupted))?;
    let shown = demo.show();
    let is_read = !demo.out.is_closed();
    let cleared = demo.directory.close();
    if shown.is_ok() || !is_read || interrupted.load(Ordering::Relaxed) {
        cleared.map_err(|error| failed("remove the demo's directory", &error))?;
    }
    if interrupted.load(Ordering::Relaxed) {
        let message = "interrupted; all that was made is removed";
        return Err(CliError::failure(message));
    }
    // Whoever reads no further has seen enough.
    if is_read {
        shown.map(|()| ExitCode::Ok)
    } else {
        Ok(ExitCode::Ok)
    }
}

struct Demo {
    out: Output,
    interrupted: Arc<AtomicBool>,
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
            failed("make a temporary directory", &error)
                .hint("set TMPDIR to a directory that you may write to")
        };
        let directory = tempfile::Builder::new().prefix("utf8fs-demo-").tempdir();
        let directory = directory.map_err(not_made)?;
        let root = directory.path().canonicalize().map_err(not_made)?;
        for name in ["mnt", "old", "new"] {
            fs::create_dir(root.join(name)).map_err(not_made)?;
        }
        let names = old_names();
        for name in &names {
            let directory = root.join("old").join(name.directory);
            fs::create_dir_all(&directory).map_err(not_made)?;
            let file = directory.join(OsStr::from_bytes(&name.bytes));
            fs::write(file, name.content()).map_err(|error| {
                failed(&format!("make {}", Quoted(&name.bytes)), &error).hint(
                    "set TMPDIR to a directory that takes any name: on ext4, xfs, btrfs or tmpfs",
                )
            })?;
        }
        Ok(Self {
            out: Output::stdout(),
            interrupted,
            directory,
            root,
            names,
        })
    }

    fn show(&mut self) -> Result<(), CliError> {
        self.text(
            "utf8fs shows a directory so that every file name in it is well-formed UTF-8.\n\n\
             For this demo there is a directory \"old\", as it comes from old disks: names in four\n\
             charsets, in a sub-directory each, names that broken programs left, and hostile ones.\n\
             It is mounted at \"mnt\". Both are in a temporary directory, removed at the end.\n\
             Names are printed quoted: \\xE9 stands for an octet E9 that is not UTF-8.\n\n\
             1. Whatever its bytes, every name can be used\n",
        )?;
        self.show_all()?;
        self.text("\n2. Say which charset they are in, and they read as text\n")?;
        self.show_decoded()?;
        self.text("\n3. Nobody can make such names any more, and the log says who tried\n")?;
        self.show_refused()?;
        self.text("\n4. Or old programs go on as they did, and what they make is UTF-8\n")?;
        self.show_normalized()?;
        self.text(
            "\nWhat to do next (Ctrl-C or umount ends a mount)\n\n  \
             utf8fs mount --from iso-8859-1 OLD MOUNTPOINT   use your own old tree\n  \
             utf8fs explain --profile safe $'caf\\xE9.txt'     ask why a name is refused\n  \
             utf8fs mount --help                             see every option",
        )?;
        self.out.flush()
    }

    fn show_all(&mut self) -> Result<(), CliError> {
        let mount = self.mount(&["old", "mnt"])?;
        self.row("on disk", "in the mount", "what it is")?;
        let mut directories: Vec<&str> = self.names.iter().map(|name| name.directory).collect();
        directories.dedup();
        let mut total = 0;
        for directory in directories {
            total += self.show_directory(directory, &self.root.join("mnt").join(directory))?;
        }
        drop(mount);
        expect(
            total == self.names.len(),
            "a file is missing in the mount, or doubled",
        )?;
        self.text(&format!(
            "\n  {total} files on disk, {total} in the mount; each was opened by its visible name, and read the\n  \
             same as on disk. Names that are UTF-8 stay as they are. On disk nothing changes."
        ))
    }

    fn show_decoded(&mut self) -> Result<(), CliError> {
        for (charset, directory) in [
            ("iso-8859-1", "latin-1"),
            ("windows-1252", "cp1252"),
            ("shift_jis", "shift_jis"),
            ("koi8-r", "koi8-r"),
        ] {
            let mount = self.mount(&["--from", charset, &format!("old/{directory}"), "mnt"])?;
            self.show_directory(directory, &self.root.join("mnt"))?;
            drop(mount);
        }
        Ok(())
    }

    fn show_refused(&mut self) -> Result<(), CliError> {
        let mount = self.mount(&[
            "--profile",
            "safe",
            "--audit-log",
            LOG,
            "old/hostile",
            "mnt",
        ])?;
        self.text(
            "  Profile \"safe\" is stricter than UTF-8. What is there already is shown escaped:",
        )?;
        let before = self.show_directory("hostile", &self.root.join("mnt"))?;
        let attempts: Vec<_> = attempts()
            .into_iter()
            .map(|(act, name)| {
                let done = make(act, &name, &self.root.join("mnt"));
                (act, name, done)
            })
            .collect();
        drop(mount);
        let records = self.records()?;
        self.text("\n  A program that tries to make new ones gets an error, and leaves a record in the log:")?;
        let mut refusals = records.iter();
        for (act, name, done) in &attempts {
            let (result, record) = match done {
                Ok(()) => ("made", None),
                Err(error) => (error.raw_os_error().map_or("EIO", symbol), refusals.next()),
            };
            self.text(&format!(
                "  {}{}{result}",
                padded(act, 9),
                padded(&shown(name), 32)
            ))?;
            if let Some(reason) = record.and_then(|record| reason_in(record)) {
                self.text(&format!("           {reason}"))?;
            }
            let is_plain = name.as_slice() == PLAIN.as_bytes();
            let what = "a name was made that should have been refused, or with another error";
            expect(is_plain == done.is_ok(), what)?;
        }
        expect(
            records.len() + 1 == attempts.len() && refusals.next().is_none(),
            "the audit log does not have one record for each refusal",
        )?;
        let after = entries(&self.root.join("old/hostile"))?.len();
        expect(after == before + 1, "a refusal left something behind")?;
        self.text("\n  On disk nothing was made but \"plain.txt\". One of the records in full:")?;
        let record = records.get(1).cloned().unwrap_or_default();
        self.text(&format!("  {record}"))
    }

    fn show_normalized(&mut self) -> Result<(), CliError> {
        const ASKED: &[u8] = b"caf\xE9.txt";
        let mount = self.mount(&[
            "--from",
            "iso-8859-1",
            "--on-violation",
            "normalize",
            "new",
            "mnt",
        ])?;
        let asked = self.root.join("mnt").join(OsStr::from_bytes(ASKED));
        let written = fs::write(&asked, "made by an old program\n");
        written.map_err(|error| failed(&format!("make {}", Quoted(ASKED)), &error))?;
        let is_there = fs::metadata(&asked).is_ok();
        drop(mount);
        let made = entries(&self.root.join("new"))?;
        let made = made.first().map_or(&[][..], |name| name.as_bytes());
        expect(is_there, "the old spelling leads nowhere")?;
        expect(made == "café.txt".as_bytes(), "the name was not normalized")?;
        self.text(&format!(
            "  create {} made {}, on disk too; both spellings open it.",
            Quoted(ASKED),
            Quoted(made)
        ))
    }

    /// Prints the command that a user would type, and runs it in the background.
    fn mount(&mut self, args: &[&str]) -> Result<Mount, CliError> {
        self.text(&format!("\n$ utf8fs mount {}", args.join(" ")))?;
        self.out.flush()?;
        let mut command = utf8fs();
        command.args(["mount", "--quiet", "--background", "--audit-log", LOG]);
        let started = command.args(args).current_dir(&self.root).output();
        let started = started.map_err(|error| failed("run utf8fs mount", &error))?;
        if !started.status.success() {
            return Err(refusal(&started));
        }
        let mount = Mount(self.root.join("mnt"));
        self.go_on()?;
        Ok(mount)
    }

    /// Shows the files of a directory: each is opened and read by the name that it is listed with.
    fn show_directory(&mut self, directory: &str, mounted: &Path) -> Result<usize, CliError> {
        let mut seen = HashMap::new();
        for name in entries(mounted)? {
            expect(
                name.to_str().is_some(),
                "a visible name is not well-formed UTF-8",
            )?;
            let content = fs::read(mounted.join(&name)).map_err(|error| {
                failed(
                    &format!("read {} through the mount", Quoted(name.as_bytes())),
                    &error,
                )
            })?;
            let is_new = seen.insert(content, name).is_none();
            expect(is_new, "one file has two visible names")?;
        }
        let names: Vec<(String, String, &str)> = self
            .names
            .iter()
            .filter(|name| name.directory == directory)
            .filter_map(|name| {
                let visible = seen.get(name.content().as_bytes())?;
                Some((shown(&name.bytes), shown(visible.as_bytes()), name.what))
            })
            .collect();
        expect(
            names.len() == seen.len(),
            "a file in the mount is not one of those on disk",
        )?;
        for (on_disk, visible, what) in names {
            self.row(&on_disk, &visible, what)?;
        }
        Ok(seen.len())
    }

    /// Returns the records of the audit log, which is complete when its summary is there.
    fn records(&self) -> Result<Vec<String>, CliError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.root.join(LOG))
                .map_err(|error| failed("read the audit log", &error))?;
            let is_of_us = |line: &&str| line.contains(" summary of mount ");
            if log.lines().filter(is_of_us).count() > SCENES_BEFORE || Instant::now() > until {
                let records = log.lines().filter(|line| !line.starts_with("utf8fs: "));
                return Ok(records.map(str::to_owned).collect());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn row(&mut self, on_disk: &str, visible: &str, what: &str) -> Result<(), CliError> {
        let line = format!("  {}{}{what}", padded(on_disk, 28), padded(visible, 25));
        self.text(line.trim_end())
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

/// Mounts of the scenes before the one with refusals.
const SCENES_BEFORE: usize = 5;

/// The name of the file that may be made.
const PLAIN: &str = "plain.txt";

/// Returns a plain name, which may be made, and then one of each kind that may not, with the way to make it.
fn attempts() -> Vec<(&'static str, Vec<u8>)> {
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
    rows.map(|(act, name)| (act, name.to_vec())).into()
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

/// Returns the error of a mount that was not made.
fn refusal(mount: &Finished) -> CliError {
    let said = std::str::from_utf8(&mount.stderr).unwrap_or_default();
    let line = |start| said.lines().find_map(|line| line.strip_prefix(start));
    let error = line("error: ").unwrap_or("utf8fs mount ended and did not say why");
    CliError::failure(error).hint(line("hint: ").unwrap_or(HINT))
}

fn expect(is_so: bool, otherwise: &str) -> Result<(), CliError> {
    if is_so {
        return Ok(());
    }
    Err(CliError::failure(format!("utf8fs is at fault here: {otherwise}"))
        .hint("please report it, with your kernel's version and the filesystem of the temporary directory"))
}

fn failed(doing: &str, error: &io::Error) -> CliError {
    CliError::failure(format!("cannot {doing}: {}", reason(error)))
}
