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
    /// of it, for root; `enters` says whether mounts inside are entered.
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
        let is_watched = watcher.is_ok();
        let heard = if is_watched { LONGEST } else { unheard };
        Ok(Self {
            times: Times { heard, unheard },
            watcher,
            // They are kept while their attributes are fresh.
            keeps_lists: is_watched || asked == Some(CacheMode::Exclusive),
        })
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
    if !doubts_names() {
        return Err(io::Error::other("it takes Linux 6.2"));
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

/// Can the kernel be told to look a name up anew, where more happened than could be reported (Linux 6.2)?
fn doubts_names() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_bytes();
    let numbers = release
        .split(|octet| !octet.is_ascii_digit())
        .map_while(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
    numbers.ge([6, 2])
}
