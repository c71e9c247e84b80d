//! strace(1), attached to a daemon.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Mount;

/// strace, attached to every thread of a daemon. It is killed at the end: the kernel lets go of the daemon then, if that
/// lives; strace itself would wait for what is dead.
pub(crate) struct Strace(Child);

impl Strace {
    /// Attaches with these arguments, and waits until it stands at all threads.
    pub(crate) fn attach(mount: &Mount<'_>, arguments: &[&str]) -> Self {
        let mut strace = Command::new("strace")
            .args(["-f", "-p", &mount.id().to_string()])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace(1) is installed");
        let mut said = BufReader::new(strace.stderr.take().unwrap()).lines();
        let first = said.next().map(Result::unwrap).unwrap_or_default();
        assert!(first.contains("attached"), "{first}");
        // Should it say more, it must not wait for a reader.
        std::thread::spawn(move || said.for_each(drop));
        Self(strace)
    }

    /// Lets go of the daemon; what it writes is whole then.
    pub(crate) fn detach(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
