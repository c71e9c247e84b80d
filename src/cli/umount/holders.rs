//! Which processes hold something on a mount: what is told to fuser(1) and lsof(8), by `/proc`. The mount is not asked.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::askers;
use crate::names::Quoted;

/// So many are named, the rest is counted.
const NAMED: usize = 5;

/// Processes that hold something.
#[derive(Debug, Default)]
pub(super) struct Holders {
    /// With their commands.
    others: Vec<(u32, Vec<u8>)>,
    /// Those that only ask the mount how it does.
    askers: Vec<u32>,
    /// Those that are ending, and have not closed everything yet.
    ending: Vec<u32>,
}

impl Holders {
    /// Each in a few words; the last entry may be a number of others.
    pub(super) fn shown(&self) -> Vec<String> {
        let named = self.others.iter().take(NAMED);
        let mut shown: Vec<String> = named
            .map(|(pid, command)| format!("process {pid} ({})", Quoted(command)))
            .collect();
        let others = self.others.len().checked_sub(NAMED);
        if let Some(others) = others.filter(|others| *others > 0) {
            shown.push(format!("{others} others"));
        }
        let askers = self.askers.iter().take(NAMED);
        shown.extend(askers.map(|pid| format!("process {pid}, which asks how the mount does")));
        let ending = self.ending.iter().take(NAMED);
        shown.extend(ending.map(|pid| format!("process {pid}, which is ending")));
        shown
    }

    /// Those that ask or are ending, perhaps none any more, where nobody else is seen to hold anything.
    pub(super) fn soon_gone(&self) -> Option<Vec<u32>> {
        let soon_gone = || [&*self.askers, &self.ending].concat();
        self.others.is_empty().then(soon_gone)
    }
}

/// Who holds something at or below `point`, an absolute path without symlinks; as far as this user may look. This process is no
/// holder, nor is one that it had ask the mount.
pub(super) fn of(point: &Path) -> Holders {
    let ourselves = std::process::id();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut holders = Holders::default();
    for entry in processes {
        let pid = entry.file_name().to_str().and_then(|pid| pid.parse().ok());
        let Some(pid) = pid.filter(|pid| *pid != ourselves) else {
            continue;
        };
        let process = entry.path();
        if !holds(&process, point) {
            continue;
        }
        match askers::is_asker(&process) {
            true if askers::is_ours(&process) => {}
            true => holders.askers.push(pid),
            // It does not say any more what it was.
            false if is_ending(&process) => holders.ending.push(pid),
            false => {
                let command = fs::read(process.join("comm")).unwrap_or_default();
                let command = command.trim_ascii_end().to_vec();
                holders.others.push((pid, command));
            }
        }
    }
    holders.others.sort();
    holders
}

/// Is this process ending, by its directory in `/proc`? It has given its memory back before its descriptors.
fn is_ending(process: &Path) -> bool {
    fs::read(process.join("stat")).is_ok_and(|stat| has_exiting_flag(&stat))
}

/// `PF_EXITING` among the flags, the ninth field of `/proc/PID/stat` (`proc_pid_stat(5)`).
fn has_exiting_flag(stat: &[u8]) -> bool {
    const PF_EXITING: u32 = 4;
    // The second is a name in parentheses, with anything in it.
    let rest = stat.rsplit(|octet| *octet == b')').next();
    let rest = rest.and_then(|rest| std::str::from_utf8(rest).ok());
    let flags = rest.and_then(|rest| rest.split_whitespace().nth(6)?.parse::<u32>().ok());
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

/// By the texts of its links, which the kernel makes without asking the filesystem.
fn holds(process: &Path, point: &Path) -> bool {
    let is_inside = |link: &Path| {
        fs::read_link(link).is_ok_and(|target| {
            // It says so of an open file whose name is gone.
            let target = target.as_os_str().as_bytes();
            let target = target.strip_suffix(b" (deleted)").unwrap_or(target);
            Path::new(std::ffi::OsStr::from_bytes(target)).starts_with(point)
        })
    };
    ["cwd", "root", "exe"]
        .iter()
        .any(|link| is_inside(&process.join(link)))
        || ["fd", "map_files"].iter().any(|folder| {
            let links = fs::read_dir(process.join(folder));
            let mut links = links.into_iter().flatten().flatten();
            links.any(|link| is_inside(&link.path()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_holders_are_counted() {
        let some = |count| Holders {
            others: (0..count).map(|pid| (pid, b"a\n\xFF".to_vec())).collect(),
            ..Holders::default()
        };
        assert_eq!(some(1).shown(), [r#"process 0 ("a\n\xFF")"#]);
        assert_eq!(some(5).shown().len(), 5);
        assert_eq!(some(7).shown()[5], "2 others");
        assert_eq!(some(1).soon_gone(), None);
        assert_eq!(some(0).soon_gone(), Some(vec![]));
        let asked = Holders {
            askers: vec![7],
            ending: vec![9],
            ..Holders::default()
        };
        assert_eq!(asked.soon_gone(), Some(vec![7, 9]));
        let shown = [
            "process 7, which asks how the mount does",
            "process 9, which is ending",
        ];
        assert_eq!(asked.shown(), shown);
    }

    #[test]
    fn who_is_ending_is_known_by_a_flag_whatever_its_name() {
        for (stat, expected) in [
            (&b"7 (cat) S 1 7 7 0 -1 4194304 88 0"[..], false),
            // _do_exit_ has begun.
            (b"7 (cat) R 1 7 7 0 -1 4194308 88 0", true),
            (b"7 (a) R 1 7 7 0 -1 4) S 1 7 7 0 -1 4194304 88 0", false),
            (b"7 (\xFF\n) X 1 7 7 0 -1 4 88 0", true),
            (b"7 (cat) S 1 7", false),
            (b"", false),
        ] {
            assert_eq!(has_exiting_flag(stat), expected, "{}", stat.escape_ascii());
        }
        assert!(!is_ending(Path::new("/proc/self")));
    }

    #[test]
    fn who_works_in_a_directory_or_has_a_file_open_is_found() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("d");
        fs::create_dir(&inside).unwrap();
        let mut child = std::process::Command::new("cat")
            .current_dir(&inside)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let point = place.path().canonicalize().unwrap();
        let found = of(&point).shown();
        let nobody = of(&point.join("d/none")).shown();
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(found, [format!("process {} (\"cat\")", child.id())]);
        assert!(nobody.is_empty());
    }
}
