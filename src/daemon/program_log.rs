//! The log of the program's own messages. In a daemon only the thread that writes them waits for the log (law F6).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use log::Level;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::auditor::{Sink, SinkKind};
use crate::os::syslog;

/// Most messages that wait for the thread.
const QUEUE: usize = 1024;

/// Time that [`flush`] waits for a log that takes nothing, or not all.
const PATIENCE: Duration = Duration::from_secs(2);

/// A message.
#[derive(Clone)]
struct Message {
    /// Lines for standard error.
    text: String,
    /// The datagram for the system's log.
    datagram: Option<String>,
}

impl Message {
    fn new(level: Level, time: &str, text: &str) -> Self {
        let line = format!("{}: {text}", level.as_str().to_ascii_lowercase());
        Self {
            datagram: Some(syslog::message(&line, level)),
            text: format!("{time}utf8fs: {line}\n"),
        }
    }

    /// Writes the message; returns whether it was taken. Where there is no system's log, none is missed.
    fn write(&self, syslog: Option<&mut Sink>) -> bool {
        let is_printed = io::stderr().write_all(self.text.as_bytes()).is_ok();
        let (Some(datagram), Some(log)) = (&self.datagram, syslog) else {
            return is_printed;
        };
        let sent = log.send(datagram.as_bytes());
        is_printed && !sent.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut)
    }
}

/// The messages of a daemon that wait for the thread.
struct Queue {
    messages: VecDeque<Message>,
    /// Number of messages left out since the last notice.
    left_out: u64,
    /// Are messages queued?
    is_open: bool,
    /// Is there the thread that writes them?
    has_thread: bool,
    /// The system's log, until the thread has it.
    syslog: Option<Sink>,
}

static LOG: Mutex<Queue> = Mutex::new(Queue {
    messages: VecDeque::new(),
    left_out: 0,
    is_open: false,
    has_thread: false,
    syslog: None,
});

/// The first message came, or the last one is written.
static CHANGED: Condvar = Condvar::new();

/// Queues messages from now on, for a daemon. In the background they also go to the system's log: standard error is
/// `/dev/null` once the mount answers.
pub fn queue(is_background: bool) {
    let syslog = is_background.then(|| Sink::of(SinkKind::Syslog));
    let mut log = LOG.lock();
    log.is_open = true;
    log.syslog = syslog;
}

/// Starts the thread that writes what is queued; a second call does nothing.
///
/// # Errors
/// There are too many threads.
pub fn begin() -> io::Result<()> {
    let mut log = LOG.lock();
    if !log.has_thread {
        let syslog = log.syslog.take();
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(|| write_queue(syslog)).map(drop)?;
        log.has_thread = true;
    }
    Ok(())
}

fn write_queue(mut syslog: Option<Sink>) {
    let mut log = LOG.lock();
    loop {
        let Some(message) = log.messages.front().cloned() else {
            CHANGED.notify_all();
            CHANGED.wait(&mut log);
            continue;
        };
        let is_written = MutexGuard::unlocked(&mut log, || message.write(syslog.as_mut()));
        let left_out = log.left_out;
        if !is_written {
            log.left_out += 1;
        } else if log.messages.len() == 1 && left_out > 0 {
            let text = format!("messages left out, since the log took none: {left_out}");
            let notice = Message::new(Level::Warn, "", &text);
            if MutexGuard::unlocked(&mut log, || notice.write(syslog.as_mut())) {
                log.left_out -= left_out;
            }
        }
        log.messages.pop_front();
    }
}

/// Logs `text`, which is harmless to a terminal: on standard error with `time` in front.
pub fn log(level: Level, time: &str, text: &str) {
    put(Message::new(level, time, text));
}

/// Writes a line to standard error. One that cannot be written is lost: there is nobody left to tell.
pub fn print(line: &str) {
    put(Message {
        text: format!("{line}\n"),
        datagram: None,
    });
}

fn put(message: Message) {
    let mut log = LOG.lock();
    if !log.is_open {
        drop(log);
        message.write(None);
    } else if log.messages.len() < QUEUE {
        log.messages.push_back(message);
        CHANGED.notify_all();
    } else {
        log.left_out += 1;
    }
}

/// Waits until what is queued is written, 2 seconds at most: a log that takes nothing does not keep a daemon from ending.
pub fn flush() {
    if LOG.lock().messages.is_empty() {
        return;
    }
    let begun = begin();
    let mut log = LOG.lock();
    if begun.is_ok() {
        CHANGED.wait_while_for(&mut log, |log| !log.messages.is_empty(), PATIENCE);
    } else {
        for message in log.messages.drain(..) {
            message.write(None);
        }
    }
}
