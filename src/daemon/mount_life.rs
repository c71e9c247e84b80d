//! The life of a mount: from a [`MountConfig`] to a served mount and its end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use parking_lot::Mutex;

use super::auditor::Auditor;
use super::command_error::{CommandError, Doing, reason};
use super::confinement::{Outside, confine};
use super::fuse_mount::mount;
use super::mount_config::{Checked, MountConfig};
use super::mount_policy::Reading;
use super::policy_reload::{Reloader, note_reload};
use super::session::{Ended, Session};
use super::{mount_flags, program_log};
use crate::backing::{Dir, Entries, file, private_clone, stat_filesystem};
use crate::coherence::{Coherence, Keeping};
use crate::fs::{Config, LocksAt, Settings, Utf8Fs};
use crate::fuse::mounting::{MountSpec, Mounted};
use crate::fuse::{About, Connection, Handshake, Plan, Rings, Service};
use crate::names::Quoted;
use crate::os::background::Daemon;
use crate::os::helper;
use crate::os::mountinfo;
use crate::os::sd_notify::Manager;
use crate::os::{Privilege, Sandbox, catch_signals, credentials, map_large_blocks};
use crate::records::CacheMode;

/// Descriptors of the daemon beside its threads: standard streams, logs, signals, helper processes, the backing directory.
const OWN_DESCRIPTORS: usize = 33;

/// The doing that fails where the kernel and this process do not get along.
const SERVE: &str = "serve the mount";

/// With fewer than this nothing can be served.
const FEWEST_DESCRIPTORS: usize = 32;

/// Mounts and serves until the mount is taken away. In the background this is the process that [`start`](crate::os::background::start) started.
///
/// # Errors
/// What stands in the way of the mount, or ended it.
pub fn run(mut config: MountConfig) -> Result<Ended, CommandError> {
    let daemon = config.background.then(Daemon::new).transpose();
    let daemon = daemon.doing("go to the background")?;
    let signals = catch_signals().doing("catch signals")?;
    // In the background the manager did not start this very process, and waits for another.
    let manager = match config.background {
        true => Manager::default(),
        false => Manager::find(),
    };
    credentials::raise_limits();
    let descriptors = credentials::raise_nofile().doing("raise the limit of open files")?;
    let rings = Plan::of_mount(config.uring, config.locks, config.threads, descriptors);
    let threads = config.threads + rings.as_ref().map_or(0, Plan::threads);
    // Each thread has one towards the kernel.
    let descriptors = descriptors.saturating_sub(OWN_DESCRIPTORS + threads);
    let descriptors = descriptors.max(FEWEST_DESCRIPTORS);
    let (fs, keeping, auditor) = filesystem(&mut config, descriptors)?;
    let pipe = io::pipe().doing("make a pipe")?;
    // Where nothing is mounted there is nothing to sum up.
    let mounted = mount(&MountSpec {
        source: config.fsname.clone(),
        mountpoint: config.checked.mountpoint.clone(),
        flags: config.flags(),
        allow_other: config.allows_others(),
        checks_rights: fs.is_shared(),
    })?;
    if config.cross_mounts || mounted.is_unprivileged {
        fs.mounted_as(mounted.attached.spot.id.device);
    } else {
        warn_of_covered(&config.checked);
    }
    if mounted.is_unprivileged {
        log::info!(
            "mounted without root: new files are yours whoever creates them, mounts inside the backing directory are entered, devices and set-user-ID bits do not work"
        );
    }
    let rings = rings.and_then(|plan| Rings::new(&mounted.fuse_fd, plan));
    // No thread runs yet, so that all of them inherit what is given up.
    confine_daemon(&mut config, &mounted).doing("confine the daemon")?;
    program_log::begin().doing("write the log")?;
    auditor.begin().doing("write the audit log")?;
    let about = Arc::new(Mutex::new(About {
        owner: rustix::process::getuid().as_raw(),
        backing: config.checked.backing.as_os_str().as_bytes().to_vec(),
        mountpoint: config.checked.mountpoint.as_os_str().as_bytes().to_vec(),
        options: Some(config.options()),
        policy: config.checked.policy_status(),
    }));
    let (mut own, own_fs, own_about) = (config.clone(), Arc::clone(&fs), Arc::clone(&about));
    let reloader = Reloader::start(config.checked.policy.clone(), move |read| {
        reload(&mut own, &own_fs, &own_about, read);
    })?;
    map_large_blocks();
    // Whoever sees the mount can read what it warned of.
    program_log::flush();
    let handshake =
        Handshake::agree(mounted.fuse_fd, &fs, config.passthrough, rings.is_ok()).doing(SERVE)?;
    let keeping = keeping.for_kernel(handshake.expires_names, config.cache);
    let keeping = keeping.map_err(|error| cannot_watch(&error))?;
    let service = Service {
        coherence: Arc::new(Coherence::new(Arc::clone(&fs), keeping)),
        passthrough: config.passthrough,
        threads: config.threads,
        // More than one thread per CPU serve nobody faster, nor do very many.
        readers: thread::available_parallelism().map_or(1, |cpus| cpus.get().min(8)),
        about,
    };
    let session = Session {
        attached: mounted.attached,
        coherence: Arc::clone(&service.coherence),
        auditor: Arc::clone(&auditor),
        reloader,
        manager,
        shown: format!(
            "{} is shown at {}",
            Quoted::of(&config.checked.backing),
            Quoted::of(&config.checked.mountpoint)
        ),
        unmounted: AtomicBool::new(false),
        aborted: AtomicBool::new(false),
    };
    let connection = Connection::new(handshake, service, rings);
    let served = session
        .serve(connection, daemon, signals, pipe)
        .doing(SERVE);
    auditor.finish(fs.operations());
    if let Err(error) = helper::dismiss() {
        log::debug!("the helper process may live on: {error}");
    }
    served
}

/// Puts a policy in force that was read anew, where all that it changes can change while it is mounted.
fn reload(config: &mut MountConfig, fs: &Utf8Fs, about: &Mutex<About>, read: Reading) {
    let read = read.and_then(|(policy, new)| {
        let old = &config.checked.resolved;
        let faults = old.remount_faults(&new, &policy, config.background);
        if !faults.is_empty() {
            return Err(faults);
        }
        let sections = new.rules.sections.len();
        fs.replace_rules(new.rules.clone());
        config.checked.resolved.rules = new.rules;
        // Locked for a moment only: whoever asks for the status waits for that.
        let options = config.options();
        about.lock().options = Some(options);
        Ok(sections)
    });
    note_reload(&mut about.lock().policy, read);
}

/// Checks whether the backing directory can be opened, and has what the cache mode takes.
///
/// # Errors
/// It is not so.
pub fn check_backing(config: &MountConfig) -> Result<(), CommandError> {
    open_backing(config).map(drop)
}

/// The backing directory, opened as it is served: by a view of its own, or as all others see it.
struct BackingRoot {
    /// An `O_PATH` descriptor.
    root: OwnedFd,
    /// A descriptor by which file handles of its filesystem are opened, for who may.
    by_handle: Option<OwnedFd>,
    /// The flags of the mount that it lies on, `ST_RDONLY` and so on; a view has more.
    flags: u64,
    /// Are mounts inside it entered?
    enters: bool,
    /// Has each file to be opened so that reading it changes no access time?
    reads_quietly: bool,
    keeping: Keeping,
}

/// Opens the backing directory.
///
/// For root it is a clone of the directory's mount alone: mounts inside it are not entered, and later ones over it,
/// ours included, do not appear (law F2). With `--cross-mounts` it is the directory as all others see it, except for
/// mounts over the directory itself.
fn open_backing(config: &MountConfig) -> Result<BackingRoot, CommandError> {
    let backing = &config.checked.backing;
    let opening = format!("open {}", Quoted::of(backing));
    let root = Dir::open_root(backing).doing(&opening)?.into_fd();
    // Only who may list it can show it.
    drop(Entries::open(&root, 0).doing(&opening)?);
    let flags = stat_filesystem(&root).doing(&opening)?.f_flag.bits();
    let is_root = Privilege::of_thread() == Privilege::Root;
    let view = (is_root && !config.cross_mounts).then(|| private_clone(&root));
    let view = view.and_then(|view| {
        let warn = |error: &_| {
            log::warn!(
                "mounts inside the backing directory are entered, since this kernel gives no view without them: {error}"
            );
        };
        view.inspect_err(warn).ok()
    });
    let reads_quietly = mount_flags::set_access_times(config, view.as_ref());
    let enters = view.is_none();
    let root = view.unwrap_or(root);
    let for_handles = libc::O_RDONLY | libc::O_DIRECTORY;
    let by_handle = is_root.then(|| file::reopen(&root, for_handles));
    let by_handle = by_handle.transpose().doing(&opening)?;
    // Who gets a lock is to see what its last holder did, above or below, which names and attributes that are kept would hide.
    let cache = match config.locks {
        LocksAt::Backing => Some(CacheMode::Seconds(0.0)),
        LocksAt::Local => config.cache,
    };
    let keeping = Keeping::decide(cache, &root, by_handle.as_ref(), enters);
    let keeping = keeping.map_err(|error| cannot_watch(&error))?;
    Ok(BackingRoot {
        root,
        by_handle,
        flags,
        enters,
        reads_quietly,
        keeping,
    })
}

/// Opens the backing directory and the audit log, and lays the filesystem over them. Returns it with what the kernel may keep of it,
/// if that can expire names. Starts no thread.
///
/// What the mounts below forbid is added to the flags.
fn filesystem(
    config: &mut MountConfig,
    most_descriptors: usize,
) -> Result<(Arc<Utf8Fs>, Keeping, Arc<Auditor>), CommandError> {
    let privilege = Privilege::of_thread();
    if privilege == Privilege::Root {
        credentials::keep_capabilities().map_err(|error| cannot_act(&error))?;
    }
    let backing = open_backing(config)?;
    mount_flags::follow(config, backing.flags, backing.enters).doing("read the table of mounts")?;
    let checked = config.checked.clone();
    let auditor = checked.open_log()?;
    let fs = Utf8Fs::new(Config {
        map: checked.resolved.map,
        rules: checked.resolved.rules,
        root: backing.root,
        by_handle: backing.by_handle,
        opens_by_name: backing.keeping.watcher.is_ok(),
        most_descriptors,
        settings: Settings {
            unique: checked.resolved.unique,
            unseen: backing.keeping.times.unheard,
            names_kept: backing.keeping.times.heard,
            rules_may_change: checked.policy.is_some(),
            locks: config.locks,
            waits: mount_flags::wait(config),
            reads_quietly: backing.reads_quietly,
            privilege,
            // Others use it than the user of this process, or this process may do more than other programs of that user.
            is_shared: config.allows_others() || !credentials::in_effect().is_empty(),
            auditor: Arc::clone(&auditor) as _,
            covered: (checked.mountpoint == checked.backing)
                .then(|| checked.mountpoint.into_os_string().into_vec()),
        },
    })
    .doing("look at the backing directory")?;
    Ok((Arc::new(fs), backing.keeping, auditor))
}

/// Returns why `--cache watch` cannot be had.
fn cannot_watch(error: &io::Error) -> CommandError {
    let why = reason(error);
    CommandError::failure(format!("--cache watch is not possible: {why}"))
        .hint("give a number of seconds, or none to see changes at once")
}

/// Returns why a daemon that has root's capabilities cannot act as other users.
fn cannot_act(error: &io::Error) -> CommandError {
    if !credentials::groups_are_denied() {
        return CommandError::io("act as other users", error);
    }
    CommandError::failure("cannot act as other users: this user namespace does not let groups be set")
        .hint("run utf8fs outside of it; or in one whose /proc/self/setgroups says allow, as newuidmap and newgidmap make them")
}

/// Gives up what serving does not take.
fn confine_daemon(config: &mut MountConfig, mounted: &Mounted) -> io::Result<()> {
    let privilege = Privilege::of_thread();
    let (outside, kept) = (Outside::Mount(&mounted.attached), credentials::KEPT);
    match (config.sandbox, privilege) {
        (Sandbox::Full, _) => {
            let among_all = config.cross_mounts;
            confine(&mut config.checked, outside, privilege, among_all, kept)
        }
        // Those are of the matter: the kernel clears set-id bits only for who has not all of them.
        (Sandbox::None, Privilege::Root) => credentials::limit_capabilities(kept),
        (Sandbox::None, Privilege::User) => Ok(()),
    }
}

/// Logs the mounts inside the backing directory, which are not entered.
fn warn_of_covered(checked: &Checked) {
    let inside = mountinfo::read_inside(&checked.backing).unwrap_or_default();
    let ours = &checked.mountpoint;
    for mount in inside.iter().filter(|mount| mount.path() != *ours) {
        log::warn!(
            "{} is mounted inside the backing directory; what it covers is shown instead of it",
            Quoted(&mount.mount_point)
        );
    }
}
