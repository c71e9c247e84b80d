//! `utf8fs guard`: a directory that is watched without a mount (issue 22).

mod mended;
mod refused;
mod reported;

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::support::mount::binary;
use crate::support::wait::{until, until_some};
use crate::support::{Tree, audit};

/// A guard of the backing directory of a tree, which ends with the test.
struct Guard<'t> {
    tree: &'t Tree,
    child: Child,
}

impl<'t> Guard<'t> {
    /// Starts a guard and waits until it hears.
    fn start(tree: &'t Tree, options: &[&str]) -> Self {
        Self::start_by(Command::new(binary()), tree, options)
    }

    /// As [`Guard::start`], by a command.
    fn start_by(command: Command, tree: &'t Tree, options: &[&str]) -> Self {
        let log = tree.audit_log();
        let log = [
            "--audit-format",
            "json",
            "--audit-log",
            log.to_str().unwrap(),
        ];
        Self::spawn(command, tree, &[&log, options].concat())
    }

    /// As [`Guard::start`], with a log that the options or their policy name.
    fn start_without_log(tree: &'t Tree, options: &[&str]) -> Self {
        Self::spawn(Command::new(binary()), tree, options)
    }

    fn spawn(mut command: Command, tree: &'t Tree, options: &[&str]) -> Self {
        let stderr = File::create(tree.parent().join("stderr")).unwrap();
        let child = command
            .arg("guard")
            .args(options)
            .arg(tree.backing())
            .env_remove("RUST_LOG")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut guard = Self { tree, child };
        until(|| {
            let ended = guard.child.try_wait().unwrap();
            assert_eq!(ended, None, "{}", guard.stderr());
            guard.stderr().contains(" is guarded")
        });
        guard
    }

    /// Starts a guard that renames after a moment.
    fn mending(tree: &'t Tree, options: &[&str]) -> Self {
        Self::mending_by(Command::new(binary()), tree, options)
    }

    /// As [`Guard::mending`], by a command.
    fn mending_by(command: Command, tree: &'t Tree, options: &[&str]) -> Self {
        let journal = tree.logs().join("journal");
        let mut all = vec!["--on-violation", "normalize", "--from", "iso-8859-1"];
        all.extend(["--grace", "0.1", "--journal", journal.to_str().unwrap()]);
        all.extend(options);
        Self::start_by(command, tree, &all)
    }

    fn stderr(&self) -> String {
        std::fs::read_to_string(self.tree.parent().join("stderr")).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops the guard until [`Signal::CONT`]. The signal stops one thread after the other: until all are, events are read.
    fn pause(&self) {
        self.signal(Signal::STOP);
        let process = WaitId::Pid(Pid::from_child(&self.child));
        let until = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = retry_on_intr(|| waitid(process.clone(), until)).unwrap();
        assert!(status.is_some_and(|status| status.stopped()), "it ended");
    }

    /// Waits until so many offences are in the log.
    fn wait_for(&self, count: usize) -> Vec<audit::Record> {
        until_some(|| {
            let offences = audit::offences_so_far(&self.tree.audit_log());
            (offences.len() >= count).then_some(offences)
        })
    }

    /// Ends it in the orderly way, within a second, and returns the offences of its log.
    fn stop(mut self) -> Vec<audit::Record> {
        let start = Instant::now();
        self.signal(Signal::TERM);
        let status = self.child.wait().unwrap();
        let log = self.stderr();
        assert!(status.success(), "{status}: {log}");
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
        assert!(!log.contains("utf8fs: error:"), "{log}");
        audit::offences(&self.tree.audit_log())
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Only our own child, and only while it is ours.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
        if std::thread::panicking() {
            eprintln!("the guard's log:\n{}", self.stderr());
        }
    }
}

/// The operation, the path and the verdict of a record.
fn short(record: &audit::Record) -> (String, Vec<u8>, String) {
    (
        record.text("operation").to_owned(),
        record.name("path").unwrap(),
        record.text("verdict").to_owned(),
    )
}
