//! `--policy`: what holds where and for whom, and files that are replaced while they are in force (docs/policy.md).

mod held_directory;
mod refused;
mod sections;
mod shown;
mod spellings;
mod strangers;
mod told;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::{Mount, Tree, at, status};

const IN_FORCE: &str = "was reloaded and is in force";
const KEPT: &str = "the previous one stays in force";
const BAD: &[u8] = b"caf\xE9";

/// A policy file beside the tree.
struct Policy {
    path: PathBuf,
    /// What is written beside it, the daemon's log among it, wakes who waits.
    watch: OwnedFd,
}

impl Policy {
    fn new(tree: &Tree, text: &str) -> Self {
        Self::named(tree, b"policy.toml", text)
    }

    fn named(tree: &Tree, name: &[u8], text: &str) -> Self {
        let path = tree.parent().join(OsStr::from_bytes(name));
        std::fs::write(&path, text).unwrap();
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        for place in [tree.parent(), tree.logs()] {
            inotify::add_watch(&watch, place, inotify::WatchFlags::MODIFY).unwrap();
        }
        Self { path, watch }
    }

    fn option(&self) -> [&str; 2] {
        ["--policy", self.path.to_str().unwrap()]
    }

    /// Puts another file in its place, as editors do.
    fn replace(&self, text: &str) {
        let new = self.path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        rustix::fs::rename(&new, &self.path).unwrap();
    }

    /// Has the daemon read it anew, and waits until it says how that went.
    fn reload(&self, mount: &Mount<'_>) -> &'static str {
        let said = |what: &str| mount.stderr().matches(what).count();
        let before = [IN_FORCE, KEPT].map(said);
        mount.signal(Signal::HUP);
        let is_said = || {
            let mut all = [IN_FORCE, KEPT].into_iter().zip(before);
            all.find(|(what, before)| said(what) > *before)
        };
        self.wait(|| is_said().is_some());
        is_said().unwrap().0
    }

    /// Waits until something holds that comes with a file beside the tree, or a log, being written to.
    fn wait(&self, holds: impl Fn() -> bool) {
        while !holds() {
            let patience = Timespec {
                tv_sec: 120,
                tv_nsec: 0,
            };
            let mut fds = [PollFd::new(&self.watch, PollFlags::IN)];
            assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "no answer");
            rustix::io::read(&self.watch, &mut [0; 4096]).unwrap();
        }
    }
}

fn everybody_may(tree: &Tree) {
    std::fs::set_permissions(tree.backing(), PermissionsExt::from_mode(0o777)).unwrap();
}

fn told(mount: &Mount<'_>) -> Value {
    status::of(&mount.point())["policy"].clone()
}

#[test]
fn it_is_watched_first_and_enforced_by_a_signal_and_a_wrong_file_changes_nothing() {
    let tree = Tree::new();
    let policy = Policy::new(&tree, "mode = \"report\"\n");
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("policy:");
    mount.allow_warning(KEPT);
    at::write_new(mount.dir(), b"one\xE9", b"1").unwrap();
    assert_eq!(told(&mount)["reloads"], json!(0));
    policy.replace("mode = \"enforce\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    // What was let through is reached by the name that it was made by.
    assert_eq!(at::read(mount.dir(), b"one\xE9").unwrap(), b"1");
    assert_eq!(at::list(mount.dir()), [b"one%E9"]);
    let since = told(&mount)["since"].clone();
    policy.replace("mode = \"of\"\nmax_bytes = 7\n");
    assert_eq!(policy.reload(&mount), KEPT);
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    let words = status::run(&[mount.point().as_os_str()]);
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(
        words.contains("in force since") && words.contains("unknown word"),
        "{words}"
    );
    let now = told(&mount);
    assert_eq!(
        (&now["reloads"], &now["failed_reloads"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(now["since"], since);
    let path = policy.path.to_str().unwrap();
    let fault =
        format!("{path}:1:8: error: unknown word \"of\"; it takes enforce, normalize, report, off");
    assert_eq!(now["fault"]["lines"], json!([fault]));
    let logged = mount.stderr().contains(&fault.replace('"', "\\\""));
    assert!(logged, "{fault}");
    policy.replace("mode = \"off\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    assert_eq!(told(&mount)["fault"], Value::Null);
    assert_eq!(
        status::of(&mount.point())["options"]["on-violation"],
        json!("off")
    );
    at::mkdir(mount.dir(), BAD).unwrap();
    let records = mount.stop();
    let verdicts: Vec<&str> = records
        .iter()
        .map(|record| record.text("verdict"))
        .collect();
    assert_eq!(verdicts, ["reported", "refused", "refused"]);
}

/// What cannot be a policy is refused at once, without waiting, and the one before stays.
#[test]
fn a_file_that_is_gone_or_no_file_or_too_large_keeps_the_old_one() {
    for sandbox in ["full", "none"] {
        let tree = Tree::new();
        let policy = Policy::new(&tree, "mode = \"enforce\"\n");
        let options = [&policy.option()[..], &["--sandbox", sandbox]].concat();
        let mut mount = tree.mount(&options);
        mount.allow_warning("policy");
        let path = &policy.path;
        let rows: [(&dyn Fn(), &str); 6] = [
            (&|| (), "cannot be read: No such file or directory"),
            (&|| std::fs::create_dir(path).unwrap(), "is a directory"),
            (
                &|| mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
                "is a FIFO",
            ),
            (
                &|| {
                    let file = std::fs::File::create(path).unwrap();
                    file.set_len(1 << 30).unwrap();
                },
                "is too large: a policy has at most 1024 KiB",
            ),
            (
                &|| {
                    std::fs::write(path, "mode = \"off\"\n").unwrap();
                    std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).unwrap();
                },
                "can be written by everybody",
            ),
            (
                &|| std::fs::write(path, b"mode = \"off\" # \xFF\n").unwrap(),
                "is not well-formed UTF-8 from line 1, column 16 on (byte 15)",
            ),
        ];
        for (make, reason) in rows {
            if path.is_dir() {
                std::fs::remove_dir(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
            make();
            assert_eq!(policy.reload(&mount), KEPT, "{reason}");
            let fault = told(&mount)["fault"]["lines"][0].clone();
            let expected = format!("{}: error: {reason}", path.to_str().unwrap());
            assert!(fault.as_str().unwrap().starts_with(&expected), "{fault}");
            assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ), "{reason}");
            if reason.contains("No such file") {
                std::fs::write(path, "").unwrap();
            }
        }
        policy.replace("mode = \"report\"\n");
        assert_eq!(policy.reload(&mount), IN_FORCE);
        at::mkdir(mount.dir(), BAD).unwrap();
        mount.stop();
    }
}

/// Names are shown as they were mounted: what would change that is told to take a remount, and nothing of the file holds.
#[test]
fn what_names_are_shown_as_takes_a_remount() {
    let tree = Tree::new();
    let policy = Policy::new(&tree, "mode = \"enforce\"\n");
    let mut mount = tree.mount(&policy.option());
    mount.allow_warning("policy");
    let rows = [
        ("profile = \"portable\"", "1:11", "profile"),
        ("forbid = [\"bidi\"]", "1:10", "forbid"),
        ("from = \"koi8-r\"", "1:8", "from"),
        ("legacy = \"raw\"", "1:10", "legacy"),
        ("normalization = \"nfc\"", "1:17", "normalization"),
        ("encoding = \"fss-utf\"", "1:12", "encoding"),
        ("store_as = \"koi8-r\"", "1:12", "store_as"),
        ("max_bytes = 99", "1:13", "max_bytes"),
        ("max_chars = 99", "1:13", "max_chars"),
        ("unique = \"nfc\"", "1:10", "unique"),
        ("mode = \"normalize\"", "1:8", "mode normalize"),
        ("[[section]]\nmode = \"normalize\"", "2:8", "mode normalize"),
    ];
    for (text, place, key) in rows {
        // Another change in the same file: all of it, or nothing.
        policy.replace(&format!("{text}\n[[section]]\nmode = \"off\"\n"));
        assert_eq!(policy.reload(&mount), KEPT, "{text}");
        let path = policy.path.to_str().unwrap();
        let ready = match key {
            "mode normalize" => {
                ", with a section that has it from the start, for users = [\"nobody\"]"
            }
            _ => "",
        };
        let fault = format!(
            "{path}:{place}: error: {key} cannot change while it is mounted: unmount and mount again{ready}"
        );
        let lines = told(&mount)["fault"]["lines"].clone();
        assert!(lines.as_array().unwrap().contains(&json!(fault)), "{lines}");
        assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ), "{text}");
    }
    mount.stop();
}

#[test]
fn options_override_the_file_also_when_it_is_read_anew() {
    let tree = Tree::new();
    let policy = Policy::new(
        &tree,
        "profile = \"posix\"\nmode = \"off\"\naudit_log = \"/none/x\"\n",
    );
    let path = policy.path.to_str().unwrap();
    let o = format!("profile=utf8,policy={path}");
    let mount = tree.mount(&["-o", &o, "--on-violation", "reject"]);
    at::mkdir(mount.dir(), "ä".as_bytes()).unwrap();
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::ILSEQ));
    policy.replace(
        "profile = \"safe\"\nmode = \"report\"\nerrno = \"eperm\"\naudit_log = \"/none/y\"\n",
    );
    assert_eq!(policy.reload(&mount), IN_FORCE);
    at::mkdir(mount.dir(), b"-x").unwrap();
    assert_eq!(at::mkdir(mount.dir(), BAD), Err(Errno::PERM));
    mount.stop();
}

#[test]
fn included_files_are_read_anew_too() {
    let tree = Tree::new();
    let sub = tree.parent().join("policy.d");
    std::fs::create_dir(&sub).unwrap();
    std::fs::write(sub.join("a.toml"), "mode = \"report\"\nerrno = \"eperm\"\n").unwrap();
    let policy = Policy::new(
        &tree,
        "include = [\"policy.d/a.toml\"]\nerrno = \"einval\"\n",
    );
    let mount = tree.mount(&policy.option());
    at::mkdir(mount.dir(), BAD).unwrap();
    std::fs::write(
        sub.join("a.toml"),
        "mode = \"enforce\"\nerrno = \"eperm\"\n",
    )
    .unwrap();
    assert_eq!(policy.reload(&mount), IN_FORCE);
    assert_eq!(at::mkdir(mount.dir(), b"\xFF"), Err(Errno::INVAL));
    mount.stop();
}

/// A hundred readings while names are made: each operation is answered as one of the two policies has it.
#[test]
fn reading_it_anew_under_load_costs_no_operation_anything() {
    const TEXTS: [&str; 2] = [
        "mode = \"report\"\naudit_burst = 0\n",
        "mode = \"enforce\"\naudit_burst = 0\n[[section]]\npath = \"/nothing/**\"\nforbid = \"windows\"\n",
    ];
    let tree = Tree::in_memory();
    let policy = Policy::new(&tree, TEXTS[0]);
    let mount = tree.mount(&policy.option());
    let is_over = AtomicBool::new(false);
    let dir = mount.dir();
    let (made, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let (is_over, made, refused) = (&is_over, &made, &refused);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let good = format!("good-{worker}");
                        at::mkdir(dir, good.as_bytes()).unwrap();
                        at::rmdir(dir, good.as_bytes()).unwrap();
                        let bad = [good.as_bytes(), b"\xFF"].concat();
                        match at::mkdir(dir, &bad) {
                            Ok(()) => {
                                made.fetch_add(1, Ordering::Relaxed);
                                at::rmdir(dir, &bad).unwrap();
                            }
                            Err(Errno::ILSEQ) => {
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(other) => panic!("{other}"),
                        }
                    }
                })
            })
            .collect();
        for turn in 1..=100 {
            policy.replace(TEXTS[turn % 2]);
            assert_eq!(policy.reload(&mount), IN_FORCE);
            // Each policy is met once; the rest comes as fast as it can.
            let met = if turn % 2 == 1 { &refused } else { &made };
            until(|| {
                met.load(Ordering::Relaxed) > 0 || workers.iter().any(|worker| worker.is_finished())
            });
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(told(&mount)["reloads"], json!(100));
    mount.stop();
}

/// One signal does both: the log is opened anew, and the policy read anew.
#[test]
fn the_signal_opens_the_log_anew_as_well() {
    let tree = Tree::new();
    let policy = Policy::new(&tree, "mode = \"report\"\n");
    let mount = tree.mount(&policy.option());
    let [log, old] = ["audit.jsonl", "audit.jsonl.1"].map(|name| tree.logs().join(name));
    at::mkdir(mount.dir(), BAD).unwrap();
    policy.wait(|| !std::fs::read(&log).unwrap().is_empty());
    rustix::fs::rename(&log, &old).unwrap();
    policy.replace("mode = \"enforce\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    assert_eq!(at::mkdir(mount.dir(), b"\xFF"), Err(Errno::ILSEQ));
    let records = mount.stop();
    let verdicts: Vec<&str> = records
        .iter()
        .map(|record| record.text("verdict"))
        .collect();
    assert_eq!(verdicts, ["refused"]);
    let before = crate::support::audit::offences(&old);
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].text("verdict"), "reported");
}
