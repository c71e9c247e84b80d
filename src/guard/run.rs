//! The life of a guard: from its options to SIGTERM.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use signal_hook::consts::SIGHUP;
use signal_hook::flag;

use super::config::{GuardOptions, check, refuse_unfit};
use super::directories::Directories;
use super::guarded::Guarded;
use super::judge::Judge;
use super::scan_requests::ALL;
use super::status::StatusFile;
use super::{hearing, mending, scan};
use crate::backing::{FileHandle, sys};
use crate::daemon::command_error::{CommandError, Doing, reason};
use crate::daemon::confinement::{Outside, confine};
use crate::daemon::mount_policy::Reading;
use crate::daemon::policy_reload::{Reloader, note_reload};
use crate::daemon::program_log;
use crate::guard::name_events::NameEvents;
use crate::names::Quoted;
use crate::os::helper;
use crate::os::sd_notify::Manager;
use crate::os::{Privilege, Sandbox, catch_signals, credentials};
use crate::records::PolicyFile;
use crate::tree::tree_lock::TreeLock;
use crate::tree::undo_journal::{Journal, JournalError, JournalRegister, open_guard_journal};

/// Nice value of the thread that reads the events.
const NICE: i32 = -10;

/// Guards a directory until SIGINT or SIGTERM.
///
/// # Errors
/// Options that are wrong or contradict each other, an unfit directory, and what ended the guard.
pub fn run(mut options: GuardOptions) -> Result<(), CommandError> {
    let mut checked = check(&mut options)?;
    let path = checked.backing.as_os_str().as_bytes().to_vec();
    let mut signals = catch_signals().doing("catch signals")?;
    // By it the kernel asks a lease back.
    flag::register(libc::SIGIO, Arc::default()).doing("catch signals")?;
    let manager = Manager::find();
    let directories = Directories::new(&checked.backing).doing("open the directory")?;
    let events = NameEvents::of(&directories.root).map_err(|error| cannot_hear(&path, &error))?;
    let handle = FileHandle::of(&directories.root).doing("look at the directory")?;
    if handle.is_none_or(|handle| directories.find(&handle).is_none()) {
        return Err(cannot_hear(
            &path,
            &io::Error::from_raw_os_error(libc::EOPNOTSUPP),
        ));
    }
    let status = StatusFile::open(&directories.root).map_err(|error| {
        CommandError::io("write the status to /run/utf8fs", &error)
            .hint("one guard of a directory is enough")
    })?;
    let lock_and_journal =
        open_journal(options.journal.as_deref(), &checked.backing, &directories)?;
    let auditor = checked.open_log()?;
    let (end, keep_on) = io::pipe().doing("make a pipe")?;
    // Beside many busy programs an equal share of the processors does not do: the kernel's queue would overflow.
    if let Err(error) = sys::set_nice(NICE) {
        log::debug!("new names are read at no higher priority: {error}");
    }
    // No thread runs yet, so that all of them inherit what is given up.
    if options.sandbox == Sandbox::Full {
        let (privilege, kept) = (Privilege::Root, credentials::KEPT_BY_GUARD);
        let outside = Outside::StatusFile(status.path());
        confine(&mut checked, outside, privilege, false, kept).doing("confine the guard")?;
    }
    let at_start = checked.resolved.keys.clone();
    let guarded = Arc::new(Guarded::new(
        path.clone(),
        directories,
        checked.policy_status(),
        Judge::new(checked.resolved, &options.charset_map),
        Arc::clone(&auditor),
        options.grace,
    ));
    program_log::begin().doing("write the log")?;
    auditor.begin().doing("write the audit log")?;
    if options.initial_scan {
        guarded.requests.ask_for_all(ALL);
    }
    let guarded_too = Arc::clone(&guarded);
    let reloader = Reloader::start(checked.policy, move |read| {
        reload(&guarded_too, &options, &at_start, read);
    })?;
    let handle = signals.handle();
    let served = thread::scope(|scope| {
        let start = |name: &str| thread::Builder::new().name(name.to_owned());
        let obey = || {
            for signal in &mut signals {
                if signal != SIGHUP {
                    break;
                }
                auditor.reopen();
                reloader.knock();
            }
            drop(keep_on);
        };
        let others = || -> io::Result<()> {
            start("signals").spawn_scoped(scope, obey)?;
            start("status").spawn_scoped(scope, || status.write_all(&guarded, &end))?;
            start("scan").spawn_scoped(scope, || scan::scan_all(&guarded))?;
            if let Some((_, journal)) = &lock_and_journal {
                start("renames").spawn_scoped(scope, || mending::mend_all(&guarded, journal))?;
            }
            Ok(())
        };
        let served = others().doing("start a thread").and_then(|()| {
            let shown = format!("{} is guarded", Quoted(&path));
            log::info!("{shown}");
            manager.ready(&shown);
            let heard = hearing::hear(&guarded, events, &end);
            manager.stopping();
            heard.doing("hear of new names")
        });
        handle.close();
        // The others see what was heard last.
        guarded.end();
        served
    });
    auditor.finish(guarded.status.lock().events);
    if let Err(error) = status.remove() {
        log::debug!("the file of the status stays: {error}");
    }
    if let Err(error) = helper::dismiss() {
        log::debug!("the helper process may live on: {error}");
    }
    served
}

/// Opens the journal, if there is one, and locks the tree against migrations: both would rename the same entries.
fn open_journal(
    journal: Option<&Path>,
    directory: &Path,
    directories: &Directories,
) -> Result<Option<(TreeLock, Journal)>, CommandError> {
    let Some(path) = journal else {
        return Ok(None);
    };
    let unfit = |error: JournalError| {
        let path = Quoted::of(path);
        let fault = CommandError::failure(format!("the journal {path} cannot be used: {error}"));
        if matches!(error, JournalError::Undone) {
            fault.hint("move it away, or give another one with --journal")
        } else {
            fault
        }
    };
    let lock = TreeLock::take(&directories.root).map_err(unfit)?;
    let (root, tree) = (&directories.root, directory.as_os_str().as_bytes());
    let journal = open_guard_journal(path, root, tree).map_err(unfit)?;
    if let Err(error) = JournalRegister::usual().record(&journal) {
        log::warn!(
            "the journal is in no register, and 'utf8fs undo' does not list it: {}",
            reason(&error)
        );
    }
    Ok(Some((lock, journal)))
}

/// Puts a policy in force that was read anew, unless the next start would refuse it.
fn reload(guarded: &Guarded, options: &GuardOptions, at_start: &PolicyFile, read: Reading) {
    let read = read.and_then(|(policy, resolved)| {
        let has_journal = options.journal.is_some();
        refuse_unfit(&resolved, has_journal).map_err(|refused| vec![refused.message])?;
        // Whether a file can be the log is known of the one that is open.
        if let Some(fault) = resolved.audit_log_fault(at_start, &policy) {
            return Err(vec![fault]);
        }
        let sections = resolved.rules.sections.len();
        *guarded.judge.lock() = Arc::new(Judge::new(resolved, &options.charset_map));
        Ok(sections)
    });
    note_reload(&mut guarded.status.lock().policy, read);
}

/// Says why the names of a filesystem cannot be heard.
fn cannot_hear(path: &[u8], error: &io::Error) -> CommandError {
    let path = Quoted(path);
    match error.raw_os_error() {
        Some(libc::EPERM) => CommandError::failure("a guard takes root (CAP_SYS_ADMIN)")
            .hint("run it as root; an ordinary user can mount the directory instead"),
        Some(libc::EINVAL | libc::ENOSYS) => {
            CommandError::failure("this kernel cannot report names: a guard takes Linux 5.17 or later")
                .hint("mount the directory instead")
        }
        Some(libc::ENODEV | libc::EXDEV | libc::EOPNOTSUPP) => CommandError::failure(format!(
            "the filesystem of {path} cannot report names: it has no file handles, or no number of its own ({})",
            reason(error)
        ))
        .hint("guard it on the machine that its disks are on, or mount the directory; of btrfs, guard the root subvolume"),
        _ => CommandError::failure(format!(
            "the filesystem of {path} cannot be marked: {}",
            reason(error)
        )),
    }
}
