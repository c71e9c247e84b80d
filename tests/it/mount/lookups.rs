//! Law N8 from outside: strace(1) writes down every system call of the daemon, and those that have a name in them are
//! counted.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::at;
use crate::support::{Mount, Tree, needs};

/// strace, attached to every thread of a daemon.
struct Tracer(Child);

impl Tracer {
    fn attach(mount: &Mount<'_>, log: &std::path::Path) -> Self {
        let mut strace = Command::new("strace")
            .args(["-f", "-s", "300", "-p", &mount.id().to_string(), "-o"])
            .arg(log)
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace(1) is installed");
        let mut said = BufReader::new(strace.stderr.take().unwrap()).lines();
        let first = said.next().map(Result::unwrap).unwrap_or_default();
        assert!(first.contains("attached"), "{first}");
        std::thread::spawn(move || said.for_each(drop));
        Self(strace)
    }

    /// Lets go of the daemon; the log is whole then.
    fn detach(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// One call with the name in it for each lookup, whether it finds the name or not, and no reading of the directory.
#[test]
fn n8_a_conforming_ascii_name_costs_one_system_call_that_names_it() {
    if !needs::root("tracing the daemon") {
        return;
    }
    for options in [
        "--legacy=escape",
        "--from=iso-8859-1 --on-violation=normalize --normalization=nfc",
        "--store-as=shift_jis --unique=casefold --profile=portable",
        "--legacy=raw --on-violation=report --exempt=*",
        "--legacy=hide --profile=posix --encoding=fss-utf",
    ] {
        let tree = Tree::in_memory();
        for name in [&b"present-1"[..], b"present-2", b"caf\xE9", b"present-%"] {
            tree.file(name, b"");
        }
        let mount = tree.mount(&options.split(' ').collect::<Vec<_>>());
        mount.dir();
        let log = tree.parent().join("calls");
        let tracer = Tracer::attach(&mount, &log);
        let names = ["present-1", "absent-1", "present-2", "absent-2"];
        for name in names {
            let found = at::stat(mount.dir(), name.as_bytes()).is_ok();
            assert_eq!(found, name.starts_with("present"), "{options}: {name}");
        }
        tracer.detach();
        let calls = std::fs::read(&log).unwrap().escape_ascii().to_string();
        let calls: Vec<&str> = calls.split("\\n").collect();
        for name in names {
            let quoted = format!("\\\"{name}\\\"");
            let mentions: Vec<_> = calls.iter().filter(|call| call.contains(&quoted)).collect();
            assert_eq!(mentions.len(), 1, "{options}: {name}: {mentions:?}");
        }
        assert!(
            !calls.iter().any(|call| call.contains("getdents")),
            "{options}"
        );
        mount.stop();
    }
}
