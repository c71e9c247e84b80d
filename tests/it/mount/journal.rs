//! The audit log in the system's journal: one of the test's own, and a real one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::wait::until;
use crate::support::{Mount, Tree, at, needs, page, status};

/// Reaching it is a failure, never a result.
const PATIENCE: Duration = Duration::from_secs(120);

/// A name that would be a record and a field of its own.
const FORGED: &[u8] =
    b"x\nMESSAGE=forged\n{\"event\":\"offence\",\"rule\":\"ill-formed\"}\n\x1B[2J\xE9";

fn bind(path: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    // Anybody may write to the real one.
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    socket
}

/// The fields of the next datagram, as the protocol has them.
fn receive(socket: &UnixDatagram) -> BTreeMap<String, Vec<u8>> {
    let mut buffer = vec![0; 1 << 18];
    let length = socket.recv(&mut buffer).unwrap();
    let mut rest = &buffer[..length];
    let mut fields = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        let (key, value) = match line.iter().position(|byte| *byte == b'=') {
            Some(equals) => {
                rest = after;
                (&line[..equals], &line[equals + 1..])
            }
            None => {
                let (length, after) = after.split_at(8);
                let length = u64::from_le_bytes(length.try_into().unwrap());
                let (value, after) = after.split_at(usize::try_from(length).unwrap());
                rest = after.strip_prefix(b"\n").unwrap();
                (line, value)
            }
        };
        let key = String::from_utf8(key.to_vec()).unwrap();
        let is_new = fields.insert(key.clone(), value.to_vec()).is_none();
        assert!(is_new, "{key} comes twice");
    }
    fields
}

fn text<'f>(fields: &'f BTreeMap<String, Vec<u8>>, key: &str) -> &'f str {
    std::str::from_utf8(&fields[key]).unwrap()
}

fn dropped(mount: &Mount<'_>) -> u64 {
    let status = status::of(&mount.point());
    status["audit_records"]["dropped"].as_u64().unwrap()
}

fn wait_for_dropped(mount: &Mount<'_>, count: u64) {
    until(|| dropped(mount) >= count);
}

/// Law F6: what is asked for while there is no journal is refused as ever, and counted.
#[test]
fn f6_a_journal_that_is_gone_and_comes_back_costs_records_only() {
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        let path = tree.parent().join("socket");
        let log = format!("journald:{}", path.to_str().unwrap());
        let mut mount = tree.mount(&["--sandbox", sandbox, "--audit-log", &log]);
        mount.allow_warning("cannot write to the audit log");
        let offend = |mount: &Mount<'_>, name: &[u8]| {
            assert_eq!(at::mkdir(mount.dir(), name), Err(Errno::ILSEQ));
        };
        offend(&mount, b"\xF1");
        wait_for_dropped(&mount, 1);
        let fails = || status::of(&mount.point())["audit_log_fails"] == true;
        assert!(fails());
        let socket = bind(&path);
        offend(&mount, b"\xF2");
        assert_eq!(text(&receive(&socket), "UTF8FS_NAME"), r#""\xF2""#);
        until(|| !fails());
        drop(socket);
        offend(&mount, b"\xF3");
        wait_for_dropped(&mount, 2);
        std::fs::remove_file(&path).unwrap();
        offend(&mount, b"\xF4");
        wait_for_dropped(&mount, 3);
        let socket = bind(&path);
        offend(&mount, b"\xF5");
        assert_eq!(text(&receive(&socket), "UTF8FS_NAME"), r#""\xF5""#);
        mount.stop();
        let summary = receive(&socket);
        let numbers = ["OFFENCES_ILL_FORMED", "REFUSED", "WRITTEN", "DROPPED"]
            .map(|key| text(&summary, &format!("UTF8FS_{key}")));
        assert_eq!(numbers, ["5", "5", "2", "3"], "{sandbox}");
    }
}

/// Law L1: a name is one value, whatever is in it.
#[test]
fn l1_a_record_has_the_fields_that_are_documented_and_no_name_makes_one() {
    let tree = Tree::new();
    let path = tree.parent().join("socket");
    let socket = bind(&path);
    let log = format!("journald:{}", path.to_str().unwrap());
    let mount = tree.mount(&["--audit-log", &log]);
    at::mkdir(mount.dir(), FORGED).unwrap_err();
    let fields = receive(&socket);
    assert_eq!(
        fields["MESSAGE"], fields["UTF8FS_RECORD"],
        "the format is json"
    );
    for value in fields.values() {
        let value = std::str::from_utf8(value).unwrap();
        assert!(!value.contains(char::is_control), "{value:?}");
    }
    let record: Value = serde_json::from_slice(&fields["UTF8FS_RECORD"]).unwrap();
    for (key, value) in record.as_object().unwrap() {
        let field = format!("UTF8FS_{}", key.to_uppercase());
        match value {
            Value::Null => assert!(!fields.contains_key(&field), "{field}"),
            Value::Object(_) => assert!(text(&fields, &field).starts_with('"'), "{field}"),
            Value::String(value) => assert_eq!(text(&fields, &field), value),
            _ => assert_eq!(text(&fields, &field), value.to_string()),
        }
    }
    assert_eq!(text(&fields, "PRIORITY"), "4");
    assert_eq!(text(&fields, "SYSLOG_IDENTIFIER"), "utf8fs");
    let page = page("docs/audit.md");
    assert!(page.contains(text(&fields, "MESSAGE_ID")));
    mount.stop();
    assert_eq!(text(&receive(&socket), "UTF8FS_EVENT"), "summary");
}

/// A journal of our own: journald where `/run` is a directory of the test.
struct Journald {
    child: Child,
    run: PathBuf,
}

impl Journald {
    /// Starts it and waits until it says that it is ready.
    fn start(program: &Path, tree: &Tree) -> Self {
        let run = tree.parent().join("run");
        for directory in ["systemd/journal", "log/journal"] {
            std::fs::create_dir_all(run.join(directory)).unwrap();
        }
        let ready = bind(&tree.parent().join("ready"));
        // Each of these becomes the next, so that the child is journald in the end.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--"])
            .args(["unshare", "--mount", "sh", "-c"])
            .arg(r#"mount --bind "$0" /run && exec "$1""#)
            .args([&run, program])
            .env("NOTIFY_SOCKET", tree.parent().join("ready"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let journald = Self { child, run };
        let mut said = [0; 4096];
        loop {
            let length = ready.recv(&mut said).unwrap();
            if said[..length].starts_with(b"READY=1") {
                return journald;
            }
        }
    }

    fn socket(&self) -> String {
        let socket = self.run.join("systemd/journal/socket");
        format!("journald:{}", socket.to_str().unwrap())
    }

    fn journalctl(&self) -> Command {
        let mut command = Command::new("journalctl");
        command
            .args(["--quiet", "--no-pager", "--directory"])
            .arg(self.run.join("log/journal"));
        command
    }
}

impl Drop for Journald {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).ok();
        drop(self.child.wait());
    }
}

/// With the queries of docs/audit.md.
#[test]
fn a_real_journal_takes_records_and_answers_the_queries_of_the_page() {
    let program = Path::new("/usr/lib/systemd/systemd-journald");
    if !needs::root("a journal of our own") {
        return;
    }
    if !program.is_file() {
        panic!("there is no {program:?}; install systemd, as scripts/test does");
    }
    let tree = Tree::new();
    let journald = Journald::start(program, &tree);
    let mount = tree.mount(&["--audit-log", &journald.socket()]);
    at::mkdir(mount.dir(), FORGED).unwrap_err();
    at::mkdir(mount.dir(), b"caf\xE9").unwrap_err();
    mount.stop();

    // The summary is the last: when it is there, all is.
    let mut follow = journald
        .journalctl()
        .args([
            "--follow",
            "--lines=all",
            "-o",
            "cat",
            "--output-fields=UTF8FS_RECORD",
        ])
        .arg("SYSLOG_IDENTIFIER=utf8fs")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut records = Vec::new();
    for line in BufReader::new(follow.stdout.take().unwrap()).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let is_last = record["event"] == "summary";
        records.push(record);
        if is_last {
            break;
        }
    }
    follow.kill().unwrap();
    follow.wait().unwrap();
    let events: Vec<&Value> = records.iter().map(|record| &record["event"]).collect();
    assert_eq!(events, ["offence", "offence", "summary"]);
    assert_eq!(records[1]["name"]["bytes"], "Y2Fm6Q==");

    let directory = journald.run.join("log/journal");
    let stub = format!(
        "journalctl() {{ command journalctl --quiet --directory {} \"$@\"; }}\n",
        directory.to_str().unwrap()
    );
    let path = format!(
        "{}:{}",
        Path::new(crate::support::mount::binary())
            .parent()
            .unwrap()
            .to_str()
            .unwrap(),
        std::env::var("PATH").unwrap()
    );
    let page = page("docs/audit.md");
    let queries: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("journalctl "))
        .collect();
    assert!(!queries.is_empty());
    for query in queries {
        let output = Command::new("sh")
            .args(["-c", &format!("{stub}{query}")])
            .env("PATH", &path)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        println!("{query}\n{said}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{query}");
        assert!(!said.trim().is_empty(), "{query}");
        assert!(
            !said.contains(|c: char| c.is_control() && c != '\n'),
            "{query}: {said:?}"
        );
    }
}
