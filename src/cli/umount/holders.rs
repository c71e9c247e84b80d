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
        shown
    }

    /// Those that ask, perhaps none any more, where nobody else is seen to hold anything.
    pub(super) fn only_askers(&self) -> Option<&[u32]> {
        self.others.is_empty().then_some(&self.askers)
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
        assert_eq!(some(1).only_askers(), None);
        let asked = Holders {
            askers: vec![7],
            ..Holders::default()
        };
        assert_eq!(asked.only_askers(), Some(&[7][..]));
        assert_eq!(asked.shown(), ["process 7, which asks how the mount does"]);
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
