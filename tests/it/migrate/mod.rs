//! Laws T1 to T7: what is planned, and done.

/// Plans that somebody altered, and trees that somebody changed since.
mod altered;
/// Trees that are migrated and taken back.
mod applied;
/// Charsets by directory.
mod charset_map;
/// The program from outside: what it prints, and its exit status.
mod command;
/// Texts with control characters.
mod control;
/// Names whose charset or text is in doubt.
mod doubt;
/// Ended in the middle.
mod ended;
/// Entries that are given by name.
mod entries;
/// How it ends, and what it says then.
mod exits;
/// Names whose text is known, guessed.
mod guessed;

mod histories;
/// Targets of symbolic links.
mod links;
/// A mount over a tree that is migrated meanwhile.
mod live;
/// Parts of a tree, and the links of all of it.
mod parts;
/// Bugs of others, tried on ours.
mod peers;
/// The planner as a function of listings.
mod planner;
/// Plans in the readable format.
mod readable;
/// What the planner is tried on.
mod strategies;
/// Names in a legacy charset.
mod to_charset;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use utf8fs::backing::Dir;
use utf8fs::codec::Charset;
use utf8fs::policy::Policy;
use utf8fs::records::PlanLine;
use utf8fs::tree::plan::planner::Planner;
use utf8fs::tree::plan::{CharsetSource, Filter, PlanObserver, PlanOptions};
use utf8fs::tree::tree_walk::Place;

/// No run takes longer, by timeout(1).
const PATIENCE: &str = "300";

/// What a run of the program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

/// Runs `utf8fs migrate` in `directory`, which also is its home.
fn migrate(directory: &Path, arguments: &[&str]) -> Run {
    let arguments: Vec<&[u8]> = arguments
        .iter()
        .map(|argument| argument.as_bytes())
        .collect();
    utf8fs(
        directory,
        &[&[b"migrate".as_slice()], arguments.as_slice()].concat(),
    )
}

fn utf8fs(directory: &Path, arguments: &[&[u8]]) -> Run {
    let output = Command::new("timeout")
        .args([PATIENCE, env!("CARGO_BIN_EXE_utf8fs")])
        .args(arguments.iter().map(|argument| OsStr::from_bytes(argument)))
        .current_dir(directory)
        .env_remove("UTF8FS_LOG")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let run = Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("errors are UTF-8"),
    };
    let mut printed = run.stdout.chars().chain(run.stderr.chars());
    // Law L1.
    assert!(!printed.any(|c| c != '\n' && c.is_control()), "{run:?}");
    run
}

fn charsets(labels: &[&str]) -> CharsetSource {
    let charset = |label: &&str| Charset::from_label(label).unwrap();
    CharsetSource::Charsets(labels.iter().map(charset).collect())
}

fn options(labels: &[&str]) -> PlanOptions {
    PlanOptions::new(Policy::default(), charsets(labels))
}

/// The lines of a plan, by the path of the directory.
type Lines = BTreeMap<Vec<u8>, Vec<PlanLine>>;

/// Everything that is planned for a tree.
fn planned(root: &Path, options: &PlanOptions) -> Lines {
    struct Readable;
    impl PlanObserver for Readable {
        fn unread(&self, place: &Place, error: &std::io::Error) {
            panic!("{place:?}: {error}");
        }
    }
    let root = Dir::open_root(root).unwrap().into_fd();
    let filter = Filter::default();
    let planner = Planner {
        root: &root,
        options,
        filter: &filter,
    };
    let all = Mutex::new(Lines::new());
    let planned = planner.plan(&Readable, &|plan| {
        // Directories without lines have no path.
        if !plan.lines.is_empty() {
            let lines = plan.lines.clone();
            assert!(all.lock().unwrap().insert(plan.path(), lines).is_none());
        }
    });
    planned.unwrap();
    all.into_inner().unwrap()
}
