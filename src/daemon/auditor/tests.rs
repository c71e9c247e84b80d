//! The audit log as a whole. No test sleeps; each waits for the writer, most by finishing.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::record_tests::{latin1, record, text, time};
use super::{AuditConfig, Auditor, Format, Sink, SinkKind};
use crate::codec::Form;
use crate::fs::audit::{AuditLog, Counts, Verdict};
use crate::policy::{Class, Rule};
use crate::records::{Name, OffenceRecord};
use crate::wait::until;

/// Records that pass at once, and each minute.
const UNLIMITED: (u32, u32) = (u32::MAX, 1);

/// A bound on `finish` with room for a busy machine; the promise is 2 seconds, and what would break it is for ever.
const SOON: Duration = Duration::from_secs(60);

/// A directory of its own, and a path in it for the log. In memory where there is any: a disk that others are busy with can
/// keep a write for longer than [`Auditor::finish`] waits.
fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    };
    let path = dir.path().join("audit.log");
    (dir, path)
}

fn config(
    (audit_burst, audit_per_minute): (u32, u32),
    path: &Path,
    audit_format: Format,
) -> AuditConfig {
    AuditConfig {
        audit_log: SinkKind::File(path.to_owned()),
        audit_format,
        audit_burst,
        audit_per_minute,
    }
}

fn auditor(limit: (u32, u32), path: &Path, format: Format) -> Arc<Auditor> {
    let config = config(limit, path, format);
    begun(&config, Sink::open(config.audit_log.clone()).unwrap())
}

fn over(sink: Sink) -> Arc<Auditor> {
    begun(
        &config(UNLIMITED, Path::new("audit.log"), Format::Text),
        sink,
    )
}

fn begun(config: &AuditConfig, sink: Sink) -> Arc<Auditor> {
    let auditor = Auditor::new(config, sink, b"/mnt/x".to_vec());
    auditor.begin().unwrap();
    auditor
}

/// A sink that is open already.
fn through(descriptor: impl Into<OwnedFd>, kind: SinkKind) -> Sink {
    let mut sink = Sink::of(kind);
    sink.file = Some(descriptor.into().into());
    sink
}

/// Hands on a record with the command name that it has.
fn offend(log: &Auditor, record: OffenceRecord, directory: u64) {
    let command = record.command.as_bytes().to_vec();
    log.offence_at(time(), record, directory, Instant::now(), |_pid| command);
}

/// Every offence is in one place only.
fn adds_up(counts: Counts) {
    assert_eq!(
        counts.offences(),
        counts.records.written + counts.records.left_out + counts.records.dropped,
        "{counts:?}"
    );
}

/// Waits until the queue is empty, for logs of more than can be written in the time of [`Auditor::finish`] by a thread that
/// gets little of the processor.
fn wait_for_the_writer(auditor: &Auditor) {
    let is_behind = |counts: Counts| {
        counts.offences()
            > counts.records.written + counts.records.left_out + counts.records.dropped
    };
    until(|| !is_behind(auditor.counts()));
}

fn finish_soon(auditor: &Auditor) -> Counts {
    let start = Instant::now();
    auditor.finish(1);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let counts = auditor.counts();
    adds_up(counts);
    counts
}

#[test]
fn an_auditor_can_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Auditor>();
}

/// Law L1: a name cannot write a line of its own.
#[test]
fn a_newline_in_a_name_forges_no_line() {
    let name = b"x\n2025-11-21T10:36:00.000000Z unlink \"/etc\": refused\r\x1B[1A";
    for format in [Format::Text, Format::Json] {
        let (_dir, path) = place();
        let log = auditor(UNLIMITED, &path, format);
        let forged = OffenceRecord {
            command: b"\n\n".into(),
            ..record(name, Rule::Forbidden(Class::Control), 1, 1)
        };
        offend(&log, forged, 1);
        finish_soon(&log);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.ends_with('\n') && !text.contains(['\r', '\x1B']));
    }
}

#[test]
fn the_log_is_made_for_its_owner_and_group_and_ends_in_a_summary() {
    let (_dir, path) = place();
    let log = auditor(UNLIMITED, &path, Format::Json);
    offend(&log, latin1(), 1);
    let normalized = OffenceRecord {
        verdict: Verdict::Normalized,
        ..record(b"x", Rule::NotNormalized(Form::Nfd), 0, 1)
    };
    offend(&log, normalized, 1);
    log.finish(99);
    assert_eq!(log.counts().offences(), 2);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o7137, 0, "{mode:o}");
    let text = fs::read_to_string(&path).unwrap();
    let mut last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(last["time"].take().is_string());
    assert_eq!(
        last.to_string(),
        concat!(
            r#"{"time":null,"mount":{"text":"/mnt/x"},"event":"summary","operations":99,"#,
            r#""offences":{"ill-formed":1,"too-long":0,"forbidden":0,"not-normalized":1,"unmappable":0,"not-unique":0,"not-a-component":0},"#,
            r#""refused":1,"normalized":1,"reported":0,"written":2,"left_out":0,"dropped":0}"#
        )
    );
}

#[test]
fn a_second_finish_writes_nothing_and_a_late_offence_is_dropped() {
    let (_dir, path) = place();
    let log = auditor(UNLIMITED, &path, Format::Text);
    log.finish(1);
    offend(&log, latin1(), 1);
    log.reopen();
    log.finish(2);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(
        text.starts_with("20")
            && text.contains(" summary of \"/mnt/x\": 1 operations; 0 offences (")
    );
    assert_eq!(log.counts().records.dropped, 1);
    adds_up(log.counts());
}

/// Law L3: what was left out is told by the next record, or at the end.
#[test]
fn what_is_left_out_is_told() {
    let (_dir, path) = place();
    let log = auditor((2, 60), &path, Format::Json);
    let start = Instant::now();
    for _ in 0..5 {
        log.offence_at(time(), latin1(), 1, start, |_pid| Vec::new());
    }
    for _ in 0..4 {
        log.offence_at(
            time(),
            latin1(),
            1,
            start + Duration::from_secs(1),
            |_pid| Vec::new(),
        );
    }
    let counts = finish_soon(&log);
    assert_eq!((counts.records.written, counts.records.left_out), (3, 6));
    let lines: Vec<Value> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<(&Value, &Value)> = lines
        .iter()
        .map(|line| (&line["event"], &line["left_out"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("offence"), &json!(0)),
            (&json!("offence"), &json!(0)),
            (&json!("offence"), &json!(3)),
            (&json!("left-out"), &json!(3)),
            (&json!("summary"), &json!(6)),
        ]
    );
    assert_eq!(lines[3]["uid"], 1000);
    assert_eq!(lines[3]["directory"], json!({"text": "/dir"}));
}

/// Law F6: finding a command name takes time, which a flood must not cost.
#[test]
fn the_command_is_asked_for_only_where_the_rate_limit_admits_the_record() {
    let (_dir, path) = place();
    let log = auditor((2, 0), &path, Format::Json);
    let unnamed = || OffenceRecord {
        command: Name::default(),
        ..latin1()
    };
    let mut asked = Vec::new();
    for number in 0..5 {
        log.offence_at(time(), unnamed(), 1, Instant::now(), |pid| {
            asked.push(pid);
            format!("command {number}").into_bytes()
        });
    }
    let counts = finish_soon(&log);
    assert_eq!((counts.records.written, counts.records.left_out), (2, 3));
    assert_eq!(asked, [latin1().pid; 2]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("command 0") && text.contains("command 1"));
}

/// Laws F6 and L3: nothing waits, and the sum holds.
#[test]
fn a_flood_from_four_threads_adds_up() {
    const EACH: u32 = 25_000;
    for limit in [UNLIMITED, (100, 60)] {
        let (_dir, path) = place();
        let log = auditor(limit, &path, Format::Json);
        std::thread::scope(|scope| {
            for uid in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let record = OffenceRecord { uid, ..latin1() };
                        offend(log, record, u64::from(number % 3));
                    }
                });
            }
        });
        wait_for_the_writer(&log);
        let counts = finish_soon(&log);
        assert_eq!(log.counts().offences(), 4 * u64::from(EACH));
        let text = fs::read_to_string(&path).unwrap();
        let records = text.lines().filter(|line| line.contains(r#""offence""#));
        assert_eq!(
            u64::try_from(records.count()).unwrap(),
            counts.records.written
        );
        if limit != UNLIMITED {
            assert!(
                counts.records.written >= 12 * 100 && counts.records.left_out > 0,
                "{counts:?}"
            );
        }
    }
}

/// Law F6, with a FIFO that nobody reads.
#[test]
fn a_fifo_without_a_reader_blocks_nobody() {
    let (_dir, path) = place();
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let log = auditor(UNLIMITED, &path, Format::Json);
    for _ in 0..10_000 {
        offend(&log, latin1(), 1);
    }
    let counts = finish_soon(&log);
    assert!(
        counts.records.written > 0 && counts.records.dropped > 0,
        "{counts:?}"
    );
}

/// Law F6, with a write that never returns.
#[test]
fn a_blocked_writer_does_not_keep_the_mount() {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let log = over(through(write, SinkKind::Stderr));
    // An empty pipe is ready, but does not take that much.
    offend(
        &log,
        record(&[b'x'; 1 << 20], Rule::Forbidden(Class::NotPosix), 0, 1),
        1,
    );
    for _ in 0..10_000 {
        offend(&log, latin1(), 1);
    }
    let counts = finish_soon(&log);
    assert_eq!(
        (counts.records.written, counts.records.dropped),
        (0, 10_001)
    );
    // Let go, the writer ends without counting or writing more.
    let mut taken = Vec::new();
    File::from(read).read_to_end(&mut taken).unwrap();
    assert_eq!(taken.iter().filter(|&&octet| octet == b'\n').count(), 1);
    assert_eq!(log.counts(), counts);
}

/// No write has failed, nor is anything dropped yet.
#[test]
fn a_log_that_hangs_is_not_well() {
    let (mut read, write) = std::io::pipe().unwrap();
    let log = over(through(write, SinkKind::Stderr));
    let long = [b'x'; 1 << 20];
    offend(
        &log,
        record(&long, Rule::Forbidden(Class::NotPosix), 0, 1),
        1,
    );
    until(|| log.counts().failing);
    assert_eq!(log.counts().records.dropped, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| read.read_to_end(&mut Vec::new()));
        until(|| !log.counts().failing);
        assert_eq!(finish_soon(&log).records.written, 1);
    });
}

/// Law F6, with a full disk.
#[test]
fn a_full_disk_costs_records_only() {
    let log = auditor(UNLIMITED, Path::new("/dev/full"), Format::Text);
    for _ in 0..10 {
        offend(&log, latin1(), 1);
    }
    let counts = finish_soon(&log);
    assert_eq!((counts.records.written, counts.records.dropped), (0, 10));
}

#[test]
fn a_renamed_log_is_left_and_a_new_one_begun() {
    let (dir, path) = place();
    fs::write(&path, "kept\n").unwrap();
    let log = auditor(UNLIMITED, &path, Format::Text);
    let old = dir.path().join("old");
    rustix::fs::rename(&path, &old).unwrap();
    log.reopen();
    offend(&log, latin1(), 1);
    finish_soon(&log);
    assert_eq!(fs::read_to_string(&old).unwrap(), "kept\n");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
}

/// Its disk was full, whoever wrote it: this mount, or one before it.
#[test]
fn a_log_that_ends_within_a_line_is_gone_on_with_in_a_new_one() {
    let (_dir, path) = place();
    fs::write(&path, "cut").unwrap();
    let log = auditor(UNLIMITED, &path, Format::Text);
    offend(&log, latin1(), 1);
    wait_for_the_writer(&log);
    let whole = fs::read(&path).unwrap();
    // Another mount's record was cut since.
    fs::write(&path, whole.strip_suffix(b"\n").unwrap()).unwrap();
    offend(&log, latin1(), 1);
    finish_soon(&log);
    let text = fs::read_to_string(&path).unwrap();
    let [cut, first, second, _summary] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    assert_eq!(cut, "cut");
    assert_eq!(
        first.split_once(' ').unwrap().1,
        second.split_once(' ').unwrap().1
    );
}

/// Whoever has it opened anew has made room.
#[test]
fn a_log_that_could_not_be_written_is_well_once_it_is_reopened() {
    let log = auditor(UNLIMITED, Path::new("/dev/full"), Format::Text);
    offend(&log, latin1(), 1);
    until(|| log.counts().failing);
    log.reopen();
    until(|| !log.counts().failing);
}

#[test]
fn a_log_that_cannot_be_reopened_stays_open() {
    let (dir, path) = place();
    let log = auditor(UNLIMITED, &path, Format::Text);
    let old = dir.path().join("old");
    rustix::fs::rename(&path, &old).unwrap();
    fs::create_dir(&path).unwrap();
    log.reopen();
    offend(&log, latin1(), 1);
    finish_soon(&log);
    assert_eq!(fs::read_to_string(&old).unwrap().lines().count(), 2);
}

#[test]
fn a_log_that_cannot_be_reopened_fails_until_it_can_be() {
    let (_dir, path) = place();
    let log = auditor(UNLIMITED, &path, Format::Text);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for is_failing in [true, false] {
        log.reopen();
        until(|| log.counts().failing == is_failing);
        // A record that the old file takes changes nothing.
        offend(&log, latin1(), 1);
        wait_for_the_writer(&log);
        assert_eq!(log.counts().failing, is_failing);
        fs::remove_dir(&path).ok();
    }
    assert_eq!(finish_soon(&log).records.written, 2);
}

#[test]
fn a_log_that_cannot_be_opened_is_an_error() {
    let (dir, _) = place();
    let config = config(UNLIMITED, dir.path(), Format::Text);
    assert!(Sink::open(config.audit_log).is_err());
    assert!(Sink::open(SinkKind::Stderr).is_ok());
    assert!(Sink::open(SinkKind::Syslog).is_ok());
}

/// The socket may come and go; its messages carry facility, severity, tag and process.
#[test]
fn the_system_log_gets_datagrams_once_it_is_there() {
    let (_dir, path) = place();
    let missing = over(Sink::of(SinkKind::Journal(path.clone())));
    offend(&missing, latin1(), 1);
    let counts = finish_soon(&missing);
    assert_eq!((counts.records.dropped, counts.failing), (1, true));

    let socket = UnixDatagram::bind(&path).unwrap();
    let connected = UnixDatagram::unbound().unwrap();
    connected.connect(&path).unwrap();
    let log = over(through(connected, SinkKind::Syslog));
    offend(&log, latin1(), 1);
    let counts = finish_soon(&log);
    assert_eq!((counts.records.written, counts.failing), (1, false));
    let mut buffer = [0; 4096];
    let mut receive = || {
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let tag = format!("utf8fs[{}]: ", std::process::id());
    assert_eq!(receive(), format!("<28>{tag}{}", text(&latin1())));
    assert!(receive().starts_with(&format!("<30>{tag}20")));
}

/// Law F6, with a log daemon that hangs, and with a line too long for a datagram.
#[test]
fn a_hanging_or_choosy_system_log_costs_records_only() {
    let (_dir, path) = place();
    let _socket = UnixDatagram::bind(&path).unwrap();
    let log = over(Sink::of(SinkKind::Journal(path)));
    offend(
        &log,
        record(&[b'x'; 1 << 20], Rule::Forbidden(Class::NotPosix), 0, 1),
        1,
    );
    for _ in 0..10_000 {
        offend(&log, latin1(), 1);
    }
    let counts = finish_soon(&log);
    assert!(
        counts.records.written > 0 && counts.records.dropped > 0,
        "{counts:?}"
    );
}

/// A FIFO whose reader went away is read on by the next one.
#[test]
fn a_fifo_survives_its_reader() {
    let (_dir, path) = place();
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let log = auditor(UNLIMITED, &path, Format::Text);
    drop(File::open(&path).unwrap());
    offend(&log, latin1(), 1);
    let next = File::open(&path).unwrap();
    assert_eq!(finish_soon(&log).records.written, 1);
    let first = BufReader::new(next).lines().next().unwrap().unwrap();
    assert_eq!(first, text(&latin1()));
}
