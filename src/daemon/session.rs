//! Serving a mount: threads, readiness, signals, the end.

use std::io::{self, PipeReader, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use super::auditor::Auditor;
use super::policy_reload::Reloader;
use super::program_log;
use crate::coherence::{Coherence, Kernel};
use crate::fuse::Connection;
use crate::fuse::mounting::{Attached, UnmountOutcome};
use crate::names::Quoted;
use crate::os::background::Daemon;
use crate::os::sd_notify::Manager;

/// The end of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was unmounted, by somebody or after SIGINT or SIGTERM.
    Unmounted,
    /// Its connection was cut, by a second signal or by the administrator; what was in use got errors.
    Aborted,
}

/// The mount of this process, with all that takes part in serving it.
pub(super) struct Session {
    pub(super) attached: Attached,
    pub(super) coherence: Arc<Coherence>,
    pub(super) auditor: Arc<Auditor>,
    pub(super) reloader: Reloader,
    pub(super) manager: Manager,
    /// The message of a mount that answers.
    pub(super) shown: String,
    /// We unmounted.
    pub(super) unmounted: AtomicBool,
    /// We cut the connection.
    pub(super) aborted: AtomicBool,
}

impl Session {
    /// Serves the mount until it is unmounted, and leaves no mount behind. Once it answers, the process that waits for this `daemon`
    /// is told, and the service manager. Changes below are followed until one end of the pipe is closed.
    ///
    /// The first SIGINT or SIGTERM unmounts (law F7). What is in use then is detached and served on; what has a foreign
    /// filesystem on it or in it is left as it is. The next such signal tries again and then cuts the connection.
    ///
    /// # Errors
    /// Threads cannot be had, the mount does not answer or nobody waits for it any more, or the connection failed.
    pub(super) fn serve(
        self,
        connection: Connection,
        daemon: Option<Daemon>,
        mut signals: Signals,
        (end, keep_on): (PipeReader, PipeWriter),
    ) -> io::Result<Ended> {
        let handle = signals.handle();
        thread::scope(|scope| {
            let watcher = thread::Builder::new().name("signals".to_owned());
            let watcher = watcher.spawn_scoped(scope, || self.watch(&mut signals))?;
            let kernel: Arc<dyn Kernel> = Arc::new(connection.forgetting());
            self.coherence.notifies(&kernel);
            let follower = follow(&self.coherence, &kernel, end);
            let mut ready = Ok(());
            let result = connection.run(|answers| ready = self.start(answers, daemon));
            drop(keep_on);
            let ended = self.end(result);
            handle.close();
            let panicked = |_panic| io::Error::other("a thread of the session panicked");
            watcher.join().map_err(panicked)?;
            if follower.is_some_and(|follower| follower.join().is_err()) {
                log::error!("following changes below ended by an internal error; please report it");
            }
            ready.and(ended)
        })
    }

    /// Says that the mount answers. Where its root does not, or nobody wants it any more, takes it away.
    fn start(&self, answers: io::Result<()>, daemon: Option<Daemon>) -> io::Result<()> {
        let ready = answers.and_then(|()| {
            // Not earlier: whoever reads it may unmount at once. Not later: a daemon in the background closes standard error.
            log::info!("{}", self.shown);
            if let Some(daemon) = daemon {
                program_log::flush();
                daemon.ready()?;
            }
            self.manager.ready(&self.shown);
            Ok(())
        });
        if let Err(error) = &ready {
            log::error!("{} is not ready: {error}", self.mountpoint());
            self.attached.spot.detach().map(drop)?;
        }
        ready
    }

    fn watch(&self, signals: &mut Signals) {
        let mut again = false;
        for signal in signals.forever() {
            if signal == SIGHUP {
                self.auditor.reopen();
                self.reloader.knock();
                continue;
            }
            self.manager.stopping();
            self.stop(again);
            again = true;
        }
    }

    /// Acts on a signal to end; `again` if it is not the first.
    fn stop(&self, again: bool) {
        let mount = self.mountpoint();
        let spot = &self.attached.spot;
        let outcome = match again {
            true => spot.unmount(),
            false => spot.unmount_patiently(),
        };
        match outcome {
            Ok(UnmountOutcome::Done) => {
                self.unmounted.store(true, Ordering::Release);
                log::info!("{mount} is unmounted");
            }
            _ if again => self.cut(),
            Ok(UnmountOutcome::Gone) => {
                log::info!("{mount} was unmounted before; serving what is open");
            }
            Ok(UnmountOutcome::Busy) => match spot.detach() {
                Ok(_) => log::warn!(
                    "{mount} is still in use: detached; serving what is open, send the signal again to end at once"
                ),
                Err(error) => log::error!("{mount} cannot be detached: {error}"),
            },
            Ok(UnmountOutcome::Covered) => log::warn!(
                "{mount} has another filesystem mounted on it or in it; unmount that first, or send the signal again to end at once"
            ),
            Err(error) => {
                log::error!(
                    "{mount} cannot be unmounted: {error}; unmount it by umount(8), or send the signal again to end at once"
                );
            }
        }
    }

    fn cut(&self) {
        let mount = self.mountpoint();
        let aborted = match self.aborted.swap(true, Ordering::AcqRel) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => self.attached.abort(),
        };
        match aborted {
            Ok(()) => log::warn!("the connection of {mount} is cut"),
            Err(error) => {
                log::warn!("the connection of {mount} cannot be cut: {error}; ending");
                self.auditor.finish(self.coherence.fs.operations());
                program_log::flush();
                std::process::exit(1);
            }
        }
    }

    /// Clears up and says how it went.
    fn end(&self, result: io::Result<()>) -> io::Result<Ended> {
        self.manager.stopping();
        // A notifier that somebody kept would leave callers waiting for nobody.
        if let Err(error) = self.attached.abort() {
            log::debug!("the connection was not aborted: {error}");
        }
        let left = self.attached.spot.detach();
        // A read at the end of the connection, as of the release of the last file before a mere unmount, fails
        // with ECONNABORTED too. So the error does not say how it ended.
        if let Err(error) = result
            && error.raw_os_error() != Some(libc::ECONNABORTED)
        {
            return Err(error);
        }
        let there = matches!(left, Ok(UnmountOutcome::Done | UnmountOutcome::Covered));
        let is_cut = there || self.aborted.load(Ordering::Acquire);
        Ok(match is_cut && !self.unmounted.load(Ordering::Acquire) {
            true => Ended::Aborted,
            false => Ended::Unmounted,
        })
    }

    fn mountpoint(&self) -> Quoted<'_> {
        Quoted::of(&self.attached.spot.path)
    }
}

/// Starts the thread that follows changes below, if they are to be followed, until the other side of `end` is closed. It holds the
/// connection open, so that it must not outlive the session.
fn follow(
    coherence: &Coherence,
    kernel: &Arc<dyn Kernel>,
    end: PipeReader,
) -> Option<JoinHandle<()>> {
    let watched = coherence.watched.as_ref().ok()?;
    let (follower, kernel) = (Arc::clone(watched), Arc::clone(kernel));
    thread::Builder::new()
        .name("changes".to_owned())
        .spawn(move || follower.follow(&kernel, end))
        .inspect_err(|error| {
            watched.follow_no_more();
            log::error!(
                "changes in the backing directory cannot be followed, so nothing is cached: {error}"
            );
        })
        .ok()
}

#[cfg(test)]
mod tests;
