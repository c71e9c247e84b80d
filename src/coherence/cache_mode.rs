//! The effect of `--cache` on the backing filesystem at hand.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::watched::LONGEST;
use super::{Keeping, Times};
use crate::backing::watch::Watcher;
use crate::backing::{FileHandle, FsType, reason};
use crate::records::CacheMode;

/// Time that a change made below may go unseen by default.
const USUAL: Duration = Duration::from_secs(1);

/// An endless timeout: longer than machines run.
const FOR_EVER: Duration = Duration::from_secs(86_400 * 3650);

impl Keeping {
    /// Decides what the kernel may keep of the filesystem of `root`: as asked, or what is right there. `by_handle` opens file handles
    /// of it, for root; `enters` says whether mounts inside are entered. The kernel is not asked yet:
    /// [`for_kernel`](Self::for_kernel) is to be called once it is.
    ///
    /// # Errors
    /// `--cache watch` was asked for and cannot be had.
    pub fn decide(
        asked: Option<CacheMode>,
        root: &OwnedFd,
        by_handle: Option<&OwnedFd>,
        enters: bool,
    ) -> io::Result<Self> {
        let below = FsType::of(root).ok();
        let watcher = || watcher(below, root, by_handle, enters);
        let by_option = || Err("as --cache says".to_owned());
        let (unheard, watcher) = match asked {
            Some(CacheMode::Seconds(kept)) => (Duration::from_secs_f64(kept), by_option()),
            Some(CacheMode::Exclusive) => (FOR_EVER, by_option()),
            Some(CacheMode::Watch) => (USUAL, Ok(watcher()?)),
            None if below.is_some_and(FsType::is_shared) => {
                (Duration::ZERO, Err("other hosts may change it".to_owned()))
            }
            None => (USUAL, watcher().map_err(|error| reason(&error))),
        };
        Ok(Self::new(asked, unheard, watcher))
    }

    fn new(asked: Option<CacheMode>, unheard: Duration, watcher: Result<Watcher, String>) -> Self {
        let is_watched = watcher.is_ok();
        let heard = if is_watched { LONGEST } else { unheard };
        Self {
            times: Times { heard, unheard },
            watcher,
            // They are kept while their attributes are fresh.
            keeps_lists: is_watched || asked == Some(CacheMode::Exclusive),
        }
    }

    /// Decides what is right for the kernel at hand, which has said whether it `expires_names`. Where it does not, changes are not
    /// followed: after more of them than could be reported, it has to look all names up anew.
    ///
    /// # Errors
    /// `--cache watch` was asked for and cannot be had.
    pub fn for_kernel(self, expires_names: bool, asked: Option<CacheMode>) -> io::Result<Self> {
        if expires_names || self.watcher.is_err() {
            return Ok(self);
        }
        let lack = "this kernel cannot be told that a name may have changed (FUSE_HAS_EXPIRE_ONLY of Linux 6.2)";
        match asked {
            Some(CacheMode::Watch) => Err(io::Error::other(lack)),
            _ => Ok(Self::new(asked, self.times.unheard, Err(lack.to_owned()))),
        }
    }
}

fn watcher(
    below: Option<FsType>,
    root: &OwnedFd,
    by_handle: Option<&OwnedFd>,
    enters: bool,
) -> io::Result<Watcher> {
    let Some(by_handle) = by_handle else {
        return Err(io::Error::other("it is for root"));
    };
    if !below.is_some_and(FsType::is_local) {
        let lack = "this filesystem may not tell of all changes";
        return Err(io::Error::other(lack));
    }
    let opened = FileHandle::of(root)?.map(|handle| handle.open(by_handle.as_fd(), libc::O_PATH));
    if !matches!(opened, Some(Ok(Some(_)))) {
        let lack = "this filesystem has no file handles that can be opened";
        return Err(io::Error::other(lack));
    }
    let mut watcher = Watcher::new()?;
    // What is written to a file that the kernel's NFS server opens by its handle is not reported. Where that runs, this is mounted.
    let is_exported = std::fs::metadata("/proc/fs/nfsd/threads").is_ok();
    // What is written through a mount of ours alone is known anyway.
    if !enters
        && !is_exported
        && let Err(error) = watcher.leave_out_writes_through(root)
    {
        log::debug!("the closing of what we write is reported too: {error}");
    }
    // Only to find out whether that works here: directories are marked when they are idle.
    watcher.add(root)?;
    watcher.remove(root)?;
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is decided for a kernel that does not expire names, where changes could be followed.
    fn without_expiry(asked: Option<CacheMode>) -> Option<io::Result<Keeping>> {
        let watcher = match Watcher::new() {
            Ok(watcher) => watcher,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
                return None;
            }
        };
        Some(Keeping::new(asked, USUAL, Ok(watcher)).for_kernel(false, asked))
    }

    #[test]
    fn f5_changes_are_followed_only_where_the_kernel_expires_names() {
        let (Some(usual), Some(asked)) =
            (without_expiry(None), without_expiry(Some(CacheMode::Watch)))
        else {
            return;
        };
        let usual = usual.unwrap();
        let second = Times {
            heard: USUAL,
            unheard: USUAL,
        };
        assert_eq!((usual.times, usual.keeps_lists), (second, false));
        let reason = usual.watcher.unwrap_err();
        assert!(reason.contains("FUSE_HAS_EXPIRE_ONLY"), "{reason}");
        assert_eq!(asked.unwrap_err().to_string(), reason);
        let watcher = Watcher::new();
        let keeping = Keeping::new(None, USUAL, Ok(watcher.unwrap()));
        let keeping = keeping.for_kernel(true, None).unwrap();
        assert!(keeping.watcher.is_ok() && keeping.keeps_lists);
    }
}
