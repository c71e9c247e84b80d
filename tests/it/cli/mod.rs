//! The program from outside: its arguments, its words, its exit codes (laws L1, L2, L4).

mod arguments;
mod audit;
mod conventions;
mod convert;
mod demo;
mod explain;
mod explain_rules;
mod generated;
mod help;
mod journal;
mod policy;
mod report_file;
mod scan;
mod scan_page;
mod shards;
mod status;
mod view;

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

/// No run takes longer, on however busy a machine; reaching it is a failure, never a result.
const PATIENCE: Duration = Duration::from_secs(300);

/// What a run of the program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    /// Runs `command` with `input` on standard input. What it prints must be UTF-8 and harmless to a terminal (law L1).
    fn of(mut command: Command, input: &[u8]) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that refuses its arguments reads nothing.
        drop(child.stdin.take().unwrap().write_all(input));
        // A mount that was to be refused and is not would stay for ever; on SIGTERM it goes.
        let pid = rustix::process::Pid::from_child(&child);
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                rustix::process::kill_process(pid, Signal::TERM).unwrap();
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(done);
        watch.join().unwrap();
        let run = Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("errors are UTF-8"),
        };
        let printed = || run.stdout.chars().chain(run.stderr.chars());
        assert!(
            !printed().any(|c| c != '\n' && is_dangerous(c)),
            "a terminal can be moved by {run:?}"
        );
        run
    }

    /// The error and the hint, where the program refused its arguments: exit code 2, no output. A hint is one line, or what clap
    /// adds to its own errors.
    fn refusal(&self) -> (&str, &str) {
        let lines = self.stderr.strip_prefix("error: ");
        let (error, rest) = lines
            .and_then(|lines| lines.split_once('\n'))
            .unwrap_or_default();
        let hint = rest
            .strip_prefix("hint: ")
            .filter(|hint| hint.lines().count() == 1);
        let hint =
            hint.or(Some(rest).filter(|rest| rest.contains("For more information, try '--help'.")));
        let (Some(hint), Some(2), "") = (hint, self.code, self.stdout.as_str()) else {
            panic!("no refusal: {self:?}");
        };
        (error, hint)
    }

    /// Standard output as JSON objects, one a line.
    fn objects(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap();
        self.stdout.lines().map(parse).collect()
    }
}

/// Controls, C1, bidi controls, line separators and zero-width characters.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// The program, with arguments that are bytes.
fn utf8fs(arguments: &[&[u8]]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_utf8fs"));
    command
        .args(arguments.iter().map(|argument| OsStr::from_bytes(argument)))
        .env("COLUMNS", "100")
        .env_remove("UTF8FS_LOG");
    command
}

/// Runs the program without input.
fn run(arguments: &[&[u8]]) -> Run {
    Run::of(utf8fs(arguments), b"")
}
