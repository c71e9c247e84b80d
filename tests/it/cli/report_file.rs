//! `--html FILE` of `scan` and `audit`: what FILE may be, who may read it, and what becomes of an output that cannot be written.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Run, run, utf8fs};

const RECORD: &str = r#"{"time":"2026-11-21T11:49:58.965881Z","event":"offence","mount":{"text":"/mnt"},"operation":"create","path":{"text":"/x"},"name":{"text":"x"},"rule":"ill-formed","kind":"truncated","offset":3,"length":1,"code_point":null,"verdict":"refused","exempt":null,"errno":"EILSEQ","visible":null,"backing":null,"accepted":null,"sibling":null,"uid":7,"gid":7,"pid":1,"command":{"text":"touch"},"left_out":2}"#;

/// A directory with a log and a tree, each with one offence.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.at("log"), format!("{RECORD}\n")).unwrap();
        fs::create_dir(place.at("tree")).unwrap();
        fs::write(place.at("tree").join(OsStr::from_bytes(b"caf\xE9")), "").unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Both programs that write pages, with one there.
    fn pages_at(&self, page: &Path) -> [Vec<Vec<u8>>; 2] {
        [("audit", "log"), ("scan", "tree")].map(|(command, of)| {
            let of = self.at(of);
            let all = [command.as_bytes(), b"--html", bytes(page), bytes(&of)];
            all.map(<[u8]>::to_vec).to_vec()
        })
    }

    /// No file but those that are meant to be there, and the log as it was.
    fn assert_has(&self, mut names: Vec<&str>) {
        names.extend(["log", "tree"]);
        names.sort_unstable();
        let all = fs::read_dir(self.0.path()).unwrap();
        let mut all: Vec<String> = all
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!(all, names);
        let log = fs::read_to_string(self.at("log")).unwrap();
        assert_eq!(log, format!("{RECORD}\n"));
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn slices(arguments: &[Vec<u8>]) -> Vec<&[u8]> {
    arguments.iter().map(Vec::as_slice).collect()
}

fn is_page(text: &str) -> bool {
    text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n")
}

fn is_page_at(path: &Path) -> bool {
    is_page(&fs::read_to_string(path).unwrap())
}

/// A FIFO and a device stay what they are, and get the page.
#[test]
fn what_is_no_regular_file_is_written_to_and_not_replaced() {
    let place = Place::new();
    let fifo = place.at("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    symlink("fifo", place.at("link")).unwrap();
    for to in ["fifo", "link"] {
        for arguments in place.pages_at(&place.at(to)) {
            // Open for both, so that neither end waits for the other, whatever the program does.
            let both = File::options().read(true).write(true).open(&fifo).unwrap();
            rustix::pipe::fcntl_setpipe_size(&both, 1 << 20).unwrap();
            assert_eq!(run(&slices(&arguments)).code, Some(1), "{to}");
            assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
            let waiting = rustix::io::ioctl_fionread(&both).unwrap();
            let mut page = vec![0; usize::try_from(waiting).unwrap()];
            (&both).read_exact(&mut page).unwrap();
            assert!(is_page(&String::from_utf8(page).unwrap()), "{to}");
        }
    }
    // A device, here by a link to it: as root, another program's would be gone.
    symlink("/dev/null", place.at("null")).unwrap();
    let before = fs::metadata("/dev/null").unwrap();
    for arguments in place.pages_at(&place.at("null")) {
        assert_eq!(run(&slices(&arguments)).code, Some(1));
    }
    let after = fs::metadata("/dev/null").unwrap();
    assert!(after.file_type().is_char_device());
    assert_eq!(after.ino(), before.ino());
    place.assert_has(vec!["fifo", "link", "null"]);
    for arguments in place.pages_at(&place.at("tree")) {
        let refused = run(&slices(&arguments));
        assert!(refused.refusal().0.contains("Is a directory"));
    }
}

/// Standard output goes on behind the page, and nothing of either is lost, whatever it is.
#[test]
fn standard_output_gets_the_page_and_the_summary_behind_it() {
    let place = Place::new();
    for to in ["/dev/stdout", "/proc/self/fd/1"] {
        for arguments in place.pages_at(Path::new(to)) {
            let piped = run(&slices(&arguments)).stdout;
            let (page, summary) = piped.split_once("</html>\n").unwrap();
            assert!(page.starts_with("<!DOCTYPE html>") && !summary.is_empty());
            let out = place.at("out");
            let file = File::create(&out).unwrap();
            let ended = utf8fs(&slices(&arguments)).stdout(file).status().unwrap();
            assert_eq!(ended.code(), Some(1));
            assert_eq!(fs::read_to_string(&out).unwrap(), piped, "{to}");
            fs::remove_file(out).unwrap();
        }
    }
    place.assert_has(vec![]);
}

/// Also where nothing is there yet, and over several links.
#[test]
fn a_symlink_leads_to_the_page_and_stays() {
    let place = Place::new();
    fs::create_dir(place.at("to")).unwrap();
    fs::write(place.at("to/old"), "old").unwrap();
    symlink("to/old", place.at("a")).unwrap();
    symlink("b2", place.at("b")).unwrap();
    symlink("to/../to/new", place.at("b2")).unwrap();
    for (link, end) in [("a", "to/old"), ("b", "to/new")] {
        for arguments in place.pages_at(&place.at(link)) {
            let before = fs::metadata(place.at(end)).map(|file| file.ino()).ok();
            assert_eq!(run(&slices(&arguments)).code, Some(1));
            assert!(fs::symlink_metadata(place.at(link)).unwrap().is_symlink());
            let after = fs::symlink_metadata(place.at(end)).unwrap();
            assert!(after.is_file() && is_page_at(&place.at(end)));
            assert_ne!(Some(after.ino()), before, "made aside, and put there whole");
        }
    }
    assert_eq!(fs::read_dir(place.at("to")).unwrap().count(), 2);
    place.assert_has(vec!["a", "b", "b2", "to"]);
}

#[test]
fn what_is_read_is_not_written() {
    let place = Place::new();
    let log = place.at("log");
    symlink("log", place.at("link")).unwrap();
    fs::hard_link(&log, place.at("other")).unwrap();
    let refused = |arguments: &[&[u8]]| {
        let mut command = utf8fs(arguments);
        command.current_dir(place.0.path());
        let refused = Run::of(command, b"");
        let (error, _hint) = refused.refusal();
        assert!(error.contains("is read, as"), "{error}");
        place.assert_has(vec!["link", "other"]);
    };
    for page in [&b"log"[..], b"link", b"other", b"./log"] {
        refused(&[b"audit", b"--html", page, b"/dev/null", b"log"]);
        refused(&[b"scan", b"--html", page, b"--names-from", b"log"]);
        refused(&[b"scan", b"--html", page, b"--merge", b"/dev/null", b"log"]);
    }
    for arguments in [
        ["audit", "--html", "log", "-"].as_slice(),
        &["scan", "--html", "log", "--names-from", "-"],
    ] {
        let arguments: Vec<&[u8]> = arguments
            .iter()
            .map(|argument| argument.as_bytes())
            .collect();
        let mut command = utf8fs(&arguments);
        command.current_dir(place.0.path());
        let ended = command.stdin(File::open(&log).unwrap()).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        place.assert_has(vec!["link", "other"]);
    }
}

/// As the umask has it, and no wider than what it tells of.
#[test]
fn the_page_is_for_those_who_may_read_what_it_tells_of() {
    let place = Place::new();
    fs::write(place.at("second"), "").unwrap();
    let mode = |name: &str| fs::metadata(place.at(name)).unwrap().mode() & 0o7777;
    let made = |umask: &str, arguments: &[&str], input: &[u8]| {
        let script = format!("umask {umask}; exec \"$@\"");
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_utf8fs")])
            .args(arguments)
            .current_dir(place.0.path());
        assert_eq!(Run::of(command, input).code, Some(1));
        mode("page")
    };
    for (umask, modes, wanted) in [
        ("022", [0o644, 0o644], 0o644),
        ("000", [0o777, 0o644], 0o644),
        ("022", [0o644, 0o640], 0o640),
        ("022", [0o600, 0o644], 0o600),
        ("022", [0o640, 0o604], 0o600),
        ("077", [0o644, 0o644], 0o600),
    ] {
        for (name, mode) in ["log", "second"].into_iter().zip(modes) {
            fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let page = made(umask, &["audit", "--html", "page", "log", "second"], b"");
        assert_eq!(page, wanted, "{umask} {modes:?}");
    }
    // Who could read what came through a pipe is not known.
    let log = fs::read(place.at("log")).unwrap();
    assert_eq!(made("022", &["audit", "--html", "page", "-"], &log), 0o600);
    // Nor is who can list each directory of a tree: the page has the names of all.
    for (umask, wanted) in [("027", 0o600), ("000", 0o600), ("022", 0o600), ("777", 0)] {
        assert_eq!(
            made(umask, &["scan", "--html", "page", "tree"], b""),
            wanted
        );
    }
    // A list of names is one file, and so is the report of a part.
    fs::write(place.at("list"), b"tree/caf\xE9\0").unwrap();
    for (mode, wanted) in [(0o644, 0o644), (0o640, 0o640), (0o600, 0o600)] {
        fs::set_permissions(place.at("list"), fs::Permissions::from_mode(mode)).unwrap();
        let from = ["scan", "--html", "page", "--names-from", "list"];
        assert_eq!(made("022", &from, b""), wanted);
    }
}

/// 1 says that there are offences, and is not for this.
#[test]
fn l4_output_that_cannot_be_written_ends_it_with_3() {
    let place = Place::new();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for (command, of) in [("audit", "log"), ("scan", "tree")] {
        let of = place.at(of);
        for option in [None, Some("--json"), Some("-0")] {
            if (command, option) == ("audit", Some("-0")) {
                continue;
            }
            let arguments = [Some(command), option].into_iter().flatten();
            let mut arguments: Vec<&[u8]> = arguments.map(str::as_bytes).collect();
            arguments.push(bytes(&of));
            let ended = utf8fs(&arguments).stdout(full()).output().unwrap();
            assert_eq!(ended.status.code(), Some(3), "{command} {option:?}");
            assert!(
                String::from_utf8(ended.stderr)
                    .unwrap()
                    .contains("No space left")
            );
        }
    }
    symlink("/dev/full", place.at("page")).unwrap();
    for arguments in place.pages_at(&place.at("page")) {
        let ended = run(&slices(&arguments));
        assert_eq!(ended.code, Some(3));
        assert!(ended.stderr.contains("No space left"), "{ended:?}");
    }
    place.assert_has(vec!["page"]);
}
