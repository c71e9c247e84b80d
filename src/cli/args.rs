//! The command line: exactly what was typed. What it means is for `config` to say.

pub mod audit_args;
pub mod migrate_args;
pub mod scan_args;
pub mod status_args;
pub(in crate::cli) mod values;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use log::LevelFilter;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand, ValueHint};

use crate::codec::{Charset, Coding, Encoding, Repair};
use crate::daemon::auditor::Format;
use crate::fs::LocksAt;
use crate::fuse::{Passthrough, Uring};
use crate::guard::Action;
use crate::names::{Legacy, OnViolation, charset, not_on_offer};
use crate::os::Sandbox;
use crate::os::user_tables::{GROUP, PASSWD, groups_of, number_in, table};
use crate::policy::{Alike, Class, ErrnoChoice, NAME_MAX, Normalization, Profile, SMALLEST_LIMIT};
use crate::records::{CacheMode, Id, SinkKind};
pub use audit_args::{AuditLogArgs, TimeUnit};
pub use migrate_args::{JournalArgs, MigrateArgs, UndoArgs};
pub use scan_args::ScanArgs;
pub use status_args::StatusArgs;
use values::{one_of, word};

/// Shows a directory through FUSE so that every file name is well-formed UTF-8.
///
/// Other names (Latin-1, KOI8-R, broken UTF-8, ...) are shown decoded or escaped, and open all the same. Nothing on
/// disk changes. New names have to conform, and a log says who tried otherwise.
#[derive(Debug, Parser)]
#[command(
    name = "utf8fs",
    max_term_width = 100,
    disable_version_flag = true,
    arg_required_else_help = true,
    override_usage = "utf8fs <COMMAND>\n       utf8fs --version [--verbose]",
    after_long_help = include_str!("args/help/utf8fs.txt")
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Print the version; with --verbose also that of Unicode whose normalization and case folding are applied
    #[arg(short = 'V', long)]
    pub version: bool,

    /// The options of all commands.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The options of all commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Messages")]
pub struct CommonArgs {
    /// Print more messages; twice: all
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,

    /// Print warnings and errors only, besides the output
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Use colours in messages and help
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: ColorChoice,
}

impl CommonArgs {
    /// Returns how much the program's own log says.
    pub fn verbosity(&self) -> LevelFilter {
        match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::Warn,
            (false, 0) => LevelFilter::Info,
            (false, 1) => LevelFilter::Debug,
            (false, _) => LevelFilter::Trace,
        }
    }
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Mount a directory so that every name in it is well-formed UTF-8
    Mount(Box<MountArgs>),
    /// Explain names: their bytes and characters, whether they conform, and how a mount would show them
    Explain(ExplainArgs),
    /// List the names of a tree that have problems, where they are, and their probable charsets
    ///
    /// Reads directories only, and changes nothing.
    Scan(Box<ScanArgs>),
    /// Convert a stream between encodings: any form of UTF-8, what it encodes, legacy charsets
    ///
    /// Reads standard input and writes standard output. Stops at malformed input and at characters that the target
    /// lacks, after writing everything before.
    Convert(ConvertArgs),
    /// Rename what is not UTF-8, or not as it should be, for good: planned, journalled, undoable
    ///
    /// Symlinks follow the names that they lead to. Nothing is ever overwritten.
    Migrate(Box<MigrateArgs>),
    /// Watch a directory without a mount: report each new name that does not conform, or rename it
    Guard(Box<GuardArgs>),
    /// Unmount utf8fs mounts, and no others
    Umount(UmountArgs),
    /// Show the status of a mount: requests, errors, times, caches, offences, options
    ///
    /// Asks the daemon of the mount. Only root and the user who mounted may ask.
    Status(StatusArgs),
    /// Summarize audit logs: who asked for names that do not conform, where, against which rule, how often
    ///
    /// Reads logs of either --audit-format, of any size.
    Audit(Box<AuditLogArgs>),
    /// Undo a migration, by its journal
    ///
    /// Without --apply it only prints what it would do.
    Undo(UndoArgs),
    /// Print an undo journal, and how far its migration got
    Journal(JournalArgs),
    /// Check a policy file, or explain what it does with a name
    #[command(subcommand)]
    Policy(PolicyAction),
    /// Print the script that completes commands and options in a shell
    #[command(after_long_help = include_str!("args/help/completion.txt"))]
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Show what utf8fs does, on a temporary directory
    ///
    /// Makes a directory of legacy and hostile names, mounts it, shows backing and visible names side by side, tries
    /// to make names that do not conform, and removes everything again.
    Demo,
}

/// Which names conform, and what becomes of those that do not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Names")]
pub struct PolicyArgs {
    /// Charsets that ill-formed names may be in, in the order in which they are tried
    ///
    /// By IANA name: iso-8859-1, windows-1252, koi8-r, big5, ... The first charset that decodes a name, and encodes it
    /// back to the same bytes, is taken.
    #[arg(long, value_name = "CHARSET,...", value_parser = charset, value_delimiter = ',', action = ArgAction::Append)]
    pub from: Option<Vec<Charset>>,

    /// How names on disk that do not conform are shown
    #[arg(long, value_name = "WAY", value_parser = word::<Legacy>())]
    pub legacy: Option<Legacy>,

    /// Charset in which new names are stored; the mount shows them as UTF-8, and refuses characters that it lacks
    ///
    /// For directories in which other programs go on using that charset. Puts it in front of --from. A name whose
    /// bytes in that charset would be well-formed UTF-8 is stored in UTF-8.
    #[arg(long, value_name = "CHARSET", value_parser = charset)]
    pub store_as: Option<Charset>,

    /// Action on a new name that does not conform
    #[arg(long, value_name = "WHAT", value_parser = word::<OnViolation>())]
    pub on_violation: Option<OnViolation>,

    /// Error that programs get for a refused name; for one that is too long it is always ENAMETOOLONG
    #[arg(long, value_name = "ERRNO", value_parser = word::<ErrnoChoice>())]
    pub errno: Option<ErrnoChoice>,

    /// What conforms.
    #[command(flatten)]
    pub conforming: ConformingArgs,
}

/// Which names conform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Names")]
pub struct ConformingArgs {
    /// Names that conform; the options below make it stricter
    ///
    /// [default: utf8]
    #[arg(long, value_name = "NAME", value_parser = word::<Profile>(), verbatim_doc_comment)]
    pub profile: Option<Profile>,

    /// Normalization form that names must have
    ///
    /// [default: preserve]
    #[arg(long, value_name = "FORM", value_parser = word::<Normalization>(), verbatim_doc_comment)]
    pub normalization: Option<Normalization>,

    /// Characters and shapes that names must not have, besides those of the profile
    #[arg(long, value_name = "CLASS,...", value_parser = word::<Class>(), value_delimiter = ',', action = ArgAction::Append)]
    pub forbid: Option<Vec<Class>>,

    /// Most bytes in a name, 24 to 255
    ///
    /// [default: 255]
    #[arg(long, value_name = "N", value_parser = number::<SMALLEST_LIMIT, NAME_MAX>, allow_negative_numbers = true, verbatim_doc_comment)]
    pub max_bytes: Option<usize>,

    /// Most characters in a name, 24 or more
    ///
    /// [default: no limit but that of bytes]
    #[arg(long, value_name = "N", value_parser = number::<SMALLEST_LIMIT, { usize::MAX }>, allow_negative_numbers = true, verbatim_doc_comment)]
    pub max_chars: Option<usize>,
}

/// The options that a mount and a guard share: the policy file, exemptions and the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Audit log")]
pub struct SharedArgs {
    /// Policy file: the options on names and the audit log, and rules for places, users and groups
    ///
    /// Options override it. SIGHUP reloads it; a file with errors changes nothing. docs/policy.md has its keys.
    #[arg(long, value_name = "FILE", help_heading = "Names")]
    pub policy: Option<PathBuf>,

    /// Refuse, with EEXIST, a new name that differs from a sibling only in this; a guard reports it
    ///
    /// For volumes shared with Windows and macOS. Such names that exist are shown and can be opened.
    #[arg(long, value_name = "HOW", value_parser = word::<Alike>(), help_heading = "Names")]
    pub unique: Option<Alike>,

    /// Users, by number, whose names need not conform: a mount only reports them, a guard does not check them
    #[arg(long, value_name = "UID,...", value_parser = uid, value_delimiter = ',', action = ArgAction::Append, help_heading = "Names")]
    pub exempt_uid: Option<Vec<Id>>,

    /// Names that need not conform, as those of exempt users: a glob; may be repeated
    ///
    /// A pattern with a / matches the visible path from the root of the mount or guard, as in /backups/**. One without
    /// matches the name in every directory. ? is one byte, * any number of them but /, ** any number of components.
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, help_heading = "Names")]
    pub exempt: Option<Vec<String>>,

    /// File that gets a record for each name that does not conform; or - (standard error), syslog, journald
    ///
    /// SIGHUP reopens the file. In journald each fact is a field (docs/audit.md); journald:SOCKET is a journal at another
    /// path, such as /run/systemd/journal.NAME/socket. For files with these names write ./-, ./syslog, ./journald.
    ///
    /// [default: - in the foreground, syslog in the background]
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().try_map(|text| SinkKind::parse(&text)), value_hint = ValueHint::FilePath)]
    pub audit_log: Option<SinkKind>,

    /// How records are written
    #[arg(long, value_name = "FORMAT", value_parser = word::<Format>())]
    pub audit_format: Option<Format>,

    /// Most records at once of one user in one directory; those left out are counted
    ///
    /// [default: 100]
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    pub audit_burst: Option<u32>,

    /// Most records a minute of one user in one directory, in the long run
    ///
    /// [default: 60]
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    pub audit_per_minute: Option<u32>,
}

/// `utf8fs mount`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(
    args_override_self = true,
    after_long_help = include_str!("args/help/mount.txt")
)]
pub struct MountArgs {
    /// Directory to show; nothing in it is renamed, and root enters no mount inside it without --cross-mounts
    #[arg(value_hint = ValueHint::DirPath)]
    pub backing: PathBuf,

    /// Directory to mount on; may be BACKING itself, but must not be inside it
    #[arg(value_hint = ValueHint::DirPath)]
    pub mountpoint: PathBuf,

    /// Return once the mount answers, and serve it in the background
    #[arg(long, overrides_with = "foreground")]
    pub background: bool,

    /// Stay in the foreground until unmounted (the default)
    #[arg(short, long, overrides_with = "background")]
    pub foreground: bool,

    /// Mount options, as mount(8) takes them; listed below
    #[arg(short, value_name = "OPT,...", action = ArgAction::Append)]
    pub options: Vec<OsString>,

    /// Source in /proc/mounts; by default BACKING
    #[arg(long, value_name = "TEXT", hide = true)]
    pub fsname: Option<PathBuf>,

    /// Definition of UTF-8 by which names are well-formed
    ///
    /// [default: utf-8]
    #[arg(long, value_name = "LABEL", value_parser = one_of(&Encoding::MOUNTABLE), verbatim_doc_comment)]
    pub encoding: Option<Encoding>,

    /// Time after which changes made directly in BACKING are visible; until then the kernel caches names and attributes
    ///
    /// Changes made through the mount are visible at once.
    ///
    ///   SECONDS    after this time, 0 to 86400
    ///   none       at once: the kernel caches nothing
    ///   watch      within milliseconds, by fanotify, in a directory without changes for two
    ///              seconds, else within a second. Writes through mmap, of which fanotify
    ///              reports nothing, can take a minute. For root, on local filesystems, from
    ///              Linux 6.2
    ///   exclusive  perhaps never: nobody else changes anything
    ///
    /// [default: none on network filesystems and FUSE, else watch if possible, else 1]
    #[arg(long, value_name = "HOW", value_parser = cache, allow_negative_numbers = true, verbatim_doc_comment)]
    pub cache: Option<CacheMode>,

    /// Place of locks (fcntl, flock)
    ///
    /// With backing, programs above and below that lock the same files see each other's work: nothing is cached, as
    /// with --cache none. A shared mapping of a file needs a mount of root's with passthrough; else mmap(2) fails with
    /// ENODEV, as for a database in WAL mode. Locks of both calls on a whole file may exclude each other, as on NFS. Who
    /// waits for a lock held below gets it within 50 ms.
    #[arg(long, value_name = "WHERE", value_parser = word::<LocksAt>())]
    pub locks: Option<LocksAt>,

    /// Enter mounts inside BACKING, later ones too; mounts of unprivileged users always do
    ///
    /// Only open files keep such a mount busy.
    #[arg(long)]
    pub cross_mounts: bool,

    /// Let the kernel read and write files itself, at native speed
    ///
    /// Works for root, from Linux 6.9. Rights, set-user-ID bits and logs are the same either way.
    ///
    /// [default: auto]
    #[arg(long, value_name = "WHETHER", value_parser = word::<Passthrough>(), verbatim_doc_comment)]
    pub passthrough: Option<Passthrough>,

    /// Most operations at a time
    ///
    /// Usually a few threads do, at most one per CPU. Another one takes over while an operation waits for a slow disk.
    /// With rings (--uring) this is the number for each CPU, fewer with more than 16 CPUs.
    ///
    /// [default: 32]
    #[arg(long, value_name = "N", value_parser = number::<1, 1024>, allow_negative_numbers = true, verbatim_doc_comment)]
    pub threads: Option<usize>,

    /// Take requests by rings (FUSE over io_uring), which cost less than /dev/fuse
    ///
    /// Works from Linux 6.14, if the parameter `enable_uring` of its module fuse is on; utf8fs status shows whether it is used.
    ///
    /// [default: auto]
    #[arg(long, value_name = "WHETHER", value_parser = word::<Uring>(), verbatim_doc_comment)]
    pub uring: Option<Uring>,

    /// Confinement of the daemon once it has mounted
    #[arg(long, value_name = "HOW", value_parser = word::<Sandbox>())]
    pub sandbox: Option<Sandbox>,

    /// Check everything, and mount nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Which names conform.
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// The policy file, exemptions and the audit log.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// `utf8fs guard`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("args/help/guard.txt"))]
pub struct GuardArgs {
    /// Directory whose names are checked, at any depth on its filesystem
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// Action on an entry whose name does not conform
    ///
    /// [default: that of the policy, else report]
    #[arg(long, value_name = "WHAT", value_parser = word::<Action>(), verbatim_doc_comment)]
    pub on_violation: Option<Action>,

    /// Seconds before an entry is renamed; an entry that is being written to is renamed later
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2", allow_negative_numbers = true)]
    pub grace: Duration,

    /// Undo journal of the renames, outside DIR; an existing one is continued
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub journal: Option<PathBuf>,

    /// Do not check the names that exist at the start
    #[arg(long)]
    pub no_initial_scan: bool,

    /// Confinement of the guard
    #[arg(long, value_name = "HOW", value_parser = word::<Sandbox>())]
    pub sandbox: Option<Sandbox>,

    /// What conforms.
    #[command(flatten)]
    pub conforming: ConformingArgs,

    /// Charsets of the names that are not UTF-8, in the order in which they are tried
    ///
    /// [default: the likeliest, by all names of the directory]
    #[arg(long, value_name = "CHARSET,...", value_parser = charset, value_delimiter = ',', action = ArgAction::Append, verbatim_doc_comment, help_heading = "Names")]
    pub from: Option<Vec<Charset>>,

    /// Charset map: a file of the charsets of directories, where --from does not hold; 'utf8fs scan --propose-map' writes one
    ///
    /// It is read at the start only.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Names")]
    pub charset_map: Option<PathBuf>,

    /// The policy file, exemptions and the audit log.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// `utf8fs umount`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("args/help/umount.txt"))]
pub struct UmountArgs {
    /// Mount points
    #[arg(required_unless_present = "all", value_hint = ValueHint::DirPath)]
    pub mountpoint: Vec<PathBuf>,

    /// Detach a mount that is in use; its users are served until they close it; whoever comes later is in the directory below, without rules
    #[arg(short, long)]
    pub lazy: bool,

    /// List all utf8fs mounts, ask, and unmount them, the youngest first; without root, your own
    #[arg(short, long, conflicts_with = "mountpoint")]
    pub all: bool,

    /// Print what would be unmounted, and unmount nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Print one JSON object for each mount
    #[arg(long)]
    pub json: bool,

    /// With --all: do not ask. Required if standard input or output is not a terminal
    #[arg(short, long, requires = "all")]
    pub yes: bool,
}

/// `utf8fs policy`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum PolicyAction {
    /// Check policy files, and print each fault with line and column
    #[command(after_long_help = include_str!("args/help/policy-check.txt"))]
    Check {
        /// Policy files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,

        /// Print one JSON object for each file
        #[arg(long)]
        json: bool,
    },
    /// Explain what happens to a new name, by which lines of the file
    Show(PolicyShowArgs),
}

/// `utf8fs policy show`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("args/help/policy-show.txt"))]
pub struct PolicyShowArgs {
    /// The policy file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Visible path of the new name, from the root of the mount
    #[arg(value_name = "PATH")]
    pub path: OsString,

    /// User who creates it, by name or number
    ///
    /// [default: root]
    #[arg(long, value_name = "USER", value_parser = user)]
    pub user: Option<(u32, BTreeSet<u32>)>,

    /// Group of that user, by name or number; may be repeated
    ///
    /// [default: those of /etc/passwd and /etc/group, if the user is given by name]
    #[arg(long, value_name = "GROUP", value_parser = |text: &str| id(GROUP, text))]
    pub group: Vec<u32>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `utf8fs explain`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_long_help = include_str!("args/help/explain.txt"))]
pub struct ExplainArgs {
    /// Names, each one component of a path; one that starts with a dash goes after --
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,

    /// A name by its bytes, two hex digits each; spaces between them are ignored
    #[arg(long, value_name = "BYTES", value_parser = hex, action = ArgAction::Append)]
    pub hex: Vec<OsString>,

    /// Read names from standard input, each ended by a NUL
    #[arg(short = '0', long = "null")]
    pub null: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,

    /// Guess the charset of the ill-formed names, by all of them together, instead of explaining each
    ///
    /// A guess is a suggestion: look at the readings. Names that are UTF-8 encoded twice are reported too. The exit
    /// status is 0.
    #[arg(long, conflicts_with = "encoding")]
    pub guess: bool,

    /// Definition by which a name is well-formed
    ///
    /// Only utf-8, utf-8-rfc2279, fss-utf and utf-8-bmp can be mounted; for others no visible name is printed.
    ///
    /// [default: utf-8]
    #[arg(long, value_name = "LABEL", value_parser = word::<Encoding>(), verbatim_doc_comment)]
    pub encoding: Option<Encoding>,

    /// Which names conform.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

/// `utf8fs convert`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(
    override_usage = "utf8fs convert --from LABEL --to LABEL [--lossy REPAIR] <INPUT >OUTPUT\n       utf8fs convert --list",
    after_long_help = include_str!("args/help/convert.txt")
)]
pub struct ConvertArgs {
    /// Encoding of the input: a label of --list
    #[arg(long, value_name = "LABEL", value_parser = coding, required_unless_present = "list")]
    pub from: Option<Coding>,

    /// Encoding of the output: a label of --list
    #[arg(long, value_name = "LABEL", value_parser = coding, required_unless_present = "list")]
    pub to: Option<Coding>,

    /// Substitute for malformed input and for characters that the target lacks, instead of stopping there
    #[arg(long, value_name = "REPAIR", value_parser = word::<Repair>())]
    pub lossy: Option<Repair>,

    /// Print every label and what it stands for, and do nothing else
    #[arg(long, conflicts_with_all = ["from", "to", "lossy"])]
    pub list: bool,
}

/// Takes an encoding that `convert` reads or writes.
fn coding(label: &str) -> Result<Coding, String> {
    Coding::from_label(label).map_err(|mut unknown| {
        let key = |label: &str| label.to_ascii_lowercase().replace(['-', '_'], "");
        let forms = Encoding::ALL.iter().map(|encoding| encoding.label());
        let like: Vec<&str> = forms
            .filter(|form| key(form).starts_with(&key(label)) && key(label).len() > 3)
            .collect();
        if !like.is_empty() {
            // It is one of a few that differ in the order of bytes, say.
            (unknown.reason, unknown.near) = (None, like);
        }
        not_on_offer(&unknown, "'utf8fs convert --list' lists what it takes")
    })
}

/// Takes the value of `--cache`.
fn cache(text: &str) -> Result<CacheMode, String> {
    match text {
        "none" => Ok(CacheMode::Seconds(0.0)),
        "watch" => Ok(CacheMode::Watch),
        "exclusive" => Ok(CacheMode::Exclusive),
        _ => seconds(text)
            .map(|time| CacheMode::Seconds(time.as_secs_f64()))
            .map_err(|wrong| format!("{wrong}, none, watch or exclusive")),
    }
}

/// Takes a number of seconds, up to a day: longer is as good as for ever, and the kernel's times are bounded.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "it must be 0 to 86400 seconds".to_owned())
}

/// Takes a number from `LEAST` to `MOST`.
pub(super) fn number<const LEAST: usize, const MOST: usize>(text: &str) -> Result<usize, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| match MOST {
        usize::MAX => format!("it must be {LEAST} or more"),
        _ => format!("it must be {LEAST} to {MOST}"),
    })
}

/// Takes a user id.
fn uid(text: &str) -> Result<Id, &'static str> {
    // The last one is that of nobody at all: chown(2).
    let uid = text.parse().ok().filter(|&uid| uid != u32::MAX);
    uid.map(Id::Number)
        .ok_or("it must be the number of a user, as 'id -u NAME' prints it")
}

/// Takes a user or a group, by number or by name of the `file`.
pub(super) fn id(file: &str, text: &str) -> Result<u32, String> {
    let id = text.parse().ok().or_else(|| number_in(&table(file), text));
    id.ok_or_else(|| format!("it must be a number or a name of {file}"))
}

/// Takes a user, and returns the groups of one who is given by name.
fn user(text: &str) -> Result<(u32, BTreeSet<u32>), String> {
    Ok((id(PASSWD, text)?, groups_of(text)))
}

/// Takes a name by its bytes.
fn hex(text: &str) -> Result<OsString, &'static str> {
    let digits = text.chars().filter(|c| !c.is_ascii_whitespace());
    let digits = digits.map(|c| u8::try_from(c.to_digit(16)?).ok());
    let digits: Option<Vec<u8>> = digits.collect();
    match digits.ok_or("it must be hex digits")?.as_chunks() {
        (pairs, []) => {
            let bytes = pairs.iter().map(|[high, low]| high * 16 + low);
            Ok(OsString::from_vec(bytes.collect()))
        }
        _ => Err("it must be two hex digits for each byte"),
    }
}
