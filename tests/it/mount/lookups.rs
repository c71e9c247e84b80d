//! Law N8 from outside: strace(1) writes down every system call of the daemon, and those that have a name in them are
//! counted.

use std::time::Duration;

use crate::support::at;
use crate::support::strace::Strace;
use crate::support::wait::until;
use crate::support::{Tree, memory, needs};

/// One call with the name in it for each lookup, whether it finds the name or not, and no reading of the directory. A file that is seen
/// for the first time is asked for its handle as well.
#[test]
fn n8_a_conforming_ascii_name_costs_one_system_call_that_names_it() {
    if !needs::root("tracing the daemon") {
        return;
    }
    let _kept = memory::kept();
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
        // A file that was just made is looked at anew each time.
        let last = tree.backing().join("present-%").metadata().unwrap();
        let made = last.modified().unwrap();
        until(|| made.elapsed().unwrap_or_default() >= Duration::from_millis(100));
        let options = format!("--cache=none {options}");
        let mount = tree.mount(&options.split(' ').collect::<Vec<_>>());
        mount.dir();
        let log = tree.parent().join("calls");
        let tracer = Strace::attach(&mount, &["-s", "300", "-o", log.to_str().unwrap()]);
        let names = ["present-1", "absent-1", "present-2", "absent-2"];
        for _ in 0..2 {
            for name in names {
                let found = at::stat(mount.dir(), name.as_bytes()).is_ok();
                assert_eq!(found, name.starts_with("present"), "{options}: {name}");
            }
        }
        tracer.detach();
        let calls = std::fs::read(&log).unwrap().escape_ascii().to_string();
        let calls: Vec<&str> = calls.split("\\n").collect();
        for name in names {
            let quoted = format!("\\\"{name}\\\"");
            let mentions: Vec<_> = calls.iter().filter(|call| call.contains(&quoted)).collect();
            let expected = 2 + usize::from(name.starts_with("present"));
            assert_eq!(mentions.len(), expected, "{options}: {name}: {mentions:?}");
        }
        assert!(
            !calls.iter().any(|call| call.contains("getdents")),
            "{options}"
        );
        mount.stop();
    }
}
