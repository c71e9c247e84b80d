//! The command line: exactly what was typed. What it means is for `config` to say.

pub mod audit_args;
pub mod guard_args;
pub mod journal_args;
pub mod migrate_args;
pub mod new_name_args;
pub mod policy_args;
pub mod scan_args;
pub mod status_args;
pub mod umount_args;
pub(in crate::cli) mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use log::LevelFilter;

use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand, ValueHint};

use crate::codec::{Encoding, Repair};
use crate::daemon::auditor::Format;
use crate::daemon::mount_config::CacheMode;
use crate::daemon::transport::Uring;
use crate::fs::LocksAt;
use crate::fuse::Passthrough;
use crate::names::{Legacy, OnViolation};
use crate::os::Sandbox;
use crate::policy::{Class, ErrnoChoice, NAME_MAX, Normalization, Profile, SMALLEST_LIMIT};
pub use audit_args::{AuditLogArgs, TimeUnit};
pub use guard_args::GuardArgs;
pub use journal_args::{JournalArgs, UndoArgs};
pub use migrate_args::{MigrateArgs, PlanFormat};
pub use new_name_args::NewNameArgs;
pub use policy_args::{PolicyAction, PolicyCommandArgs, PolicyFileArgs};
pub use scan_args::{ScanArgs, ShardValue};
pub use status_args::StatusArgs;
pub use umount_args::UmountArgs;
use values::{forbidden_class, one_of, word};

/// Shows a directory through FUSE so that every file name is well-formed UTF-8.
///
/// Names that are not (Latin-1, KOI8-R, broken UTF-8, ...) are shown decoded or escaped, and open all the same;
/// what lies on disk stays as it is. New names have to conform, and a log says who tried otherwise.
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
    #[must_use]
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
    /// Say what names are made of, whether they conform, and what they would be visible as
    Explain(ExplainArgs),
    /// Say which names of a tree offend, where they are, and which charset they are likely in
    ///
    /// Reads directories only, and changes nothing.
    Scan(Box<ScanArgs>),
    /// Convert a stream between encodings: any form of UTF-8, what it encodes, legacy charsets
    ///
    /// Reads standard input and writes standard output. Strict: what is malformed, or what the target lacks, ends it, and
    /// everything before that is written.
    Convert(ConvertArgs),
    /// Rename what is not UTF-8, or not as it should be, for good: planned, journalled, undoable
    ///
    /// Names get what they are text of; symlinks that lead to them follow. Nothing is ever overwritten.
    Migrate(Box<MigrateArgs>),
    /// Watch a directory without a mount: report each new name that does not conform, or rename it
    Guard(Box<GuardArgs>),
    /// Unmount: take mounts of utf8fs away, and nothing else
    Umount(UmountArgs),
    /// Say how a mount does: requests, errors, time, caches, offences, options
    ///
    /// Asks the daemon of the mount. Only root and the user who mounted may ask.
    Status(StatusArgs),
    /// Sum audit logs up: who asked for names that do not conform, where, by which rule, how often over time
    ///
    /// Reads logs of --audit-format json, of any size.
    Audit(Box<AuditLogArgs>),
    /// Take a migration back, by its journal
    ///
    /// Without --apply it only says what it would do.
    Undo(UndoArgs),
    /// Show what a journal holds, and how far its migration got
    ///
    /// Every byte of it is checked.
    Journal(JournalArgs),
    /// Check a policy file, or say what holds by it
    Policy(PolicyCommandArgs),
    /// Print the script that completes commands and options in a shell
    #[command(after_long_help = include_str!("args/help/completion.txt"))]
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Show all of it on a directory made for the purpose, and clean up
    ///
    /// Makes a directory of legacy and hostile names in a temporary place, mounts it, shows backing and visible names
    /// side by side, tries to make names that do not conform, and removes all of it again.
    Demo,
}

/// Which names conform, and what becomes of those that do not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Names")]
pub struct PolicyArgs {
    /// Charsets that ill-formed names may be in, in the order in which they are tried
    ///
    /// By IANA name: iso-8859-1, windows-1252, koi8-r, big5, ... A charset is taken where it gives the name back
    /// byte for byte.
    #[arg(long, value_name = "CHARSET,...", value_delimiter = ',', action = ArgAction::Append)]
    pub from: Option<Vec<String>>,

    /// How names on disk that do not conform are shown
    #[arg(long, value_name = "WAY", value_parser = word::<Legacy>())]
    pub legacy: Option<Legacy>,

    /// Charset that new names are stored in, shown as UTF-8 all the same; one that it lacks is refused
    ///
    /// For a directory that programs of that charset go on working in. Implies --from with it in front. A name whose
    /// bytes in it would be well-formed UTF-8 is stored in UTF-8.
    #[arg(long, value_name = "CHARSET")]
    pub store_as: Option<String>,

    /// What becomes of a new name that does not conform
    #[arg(long, value_name = "WHAT", value_parser = word::<OnViolation>())]
    pub on_violation: Option<OnViolation>,

    /// Error that programs get for a refused name; one that is too long always gets ENAMETOOLONG
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
    /// What conforms; the options below make it stricter
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
    #[arg(long, value_name = "CLASS,...", value_parser = forbidden_class(), value_delimiter = ',', action = ArgAction::Append)]
    pub forbid: Option<Vec<Class>>,

    /// Most bytes in a name, 24 to 255
    ///
    /// [default: 255]
    #[arg(long, value_name = "N", value_parser = max_bytes, allow_negative_numbers = true, verbatim_doc_comment)]
    pub max_bytes: Option<usize>,

    /// Most characters in a name, 24 or more
    ///
    /// [default: no limit but that of bytes]
    #[arg(long, value_name = "N", value_parser = max_chars, allow_negative_numbers = true, verbatim_doc_comment)]
    pub max_chars: Option<usize>,
}

/// Options of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Audit log")]
pub struct AuditArgs {
    /// File to which a record is added for each name that does not conform; - for standard error, syslog, or journald
    ///
    /// The file is opened anew on SIGHUP. journald gets each fact as a field (docs/audit.md); journald:SOCKET is one at another
    /// path, such as /run/systemd/journal.NAME/socket. A file of such a name is written as ./-, ./syslog, ./journald.
    ///
    /// [default: - in the foreground, syslog in the background]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub audit_log: Option<OsString>,

    /// How records are written
    #[arg(long, value_name = "FORMAT", value_parser = word::<Format>())]
    pub audit_format: Option<Format>,

    /// Records that one user may cause at once in one directory; those left out are counted
    ///
    /// [default: 100]
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    pub audit_burst: Option<u32>,

    /// Records a minute that one user may cause in one directory in the long run
    ///
    /// [default: 60]
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    pub audit_per_minute: Option<u32>,
}

/// `utf8fs mount`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(
    args_override_self = true,
    after_long_help = include_str!("args/help/mount.txt")
)]
pub struct MountArgs {
    /// Directory whose names are to be shown; nothing in it is renamed, and as root no mount inside it is entered without --cross-mounts
    #[arg(value_hint = ValueHint::DirPath)]
    pub backing: PathBuf,

    /// Directory where it is to be seen; may be BACKING itself, but must not be inside it
    #[arg(value_hint = ValueHint::DirPath)]
    pub mountpoint: PathBuf,

    /// Return once the mount answers, and go on in the background
    #[arg(long, overrides_with = "foreground")]
    pub background: bool,

    /// Stay in the foreground until unmounted (the default)
    #[arg(short, long, overrides_with = "background")]
    pub foreground: bool,

    /// Mount options, as mount(8) takes them; listed below
    #[arg(short, value_name = "OPT,...", action = ArgAction::Append)]
    pub options: Vec<OsString>,

    /// Definition of UTF-8 by which names are well-formed
    ///
    /// [default: utf-8]
    #[arg(long, value_name = "LABEL", value_parser = one_of(&Encoding::MOUNTABLE), verbatim_doc_comment)]
    pub encoding: Option<Encoding>,

    /// How long a change that others make below may go unseen, since the kernel keeps names and attributes
    ///
    /// Changes made through the mount are seen at once.
    ///
    ///   SECONDS    so long, 0 to 86400
    ///   none       not at all: the kernel asks each time
    ///   watch      some milliseconds in a directory in which nothing has changed for two
    ///              seconds: changes are heard of, and the kernel keeps names for a minute;
    ///              else a second; for what cannot be heard, as what is written by a mapping,
    ///              up to a minute for a file that was left alone for so long; for root, on
    ///              filesystems of this machine, from Linux 6.2
    ///   exclusive  for ever: nobody else changes anything
    ///
    /// [default: none where other machines share the filesystem, watch where it can be had, else 1]
    #[arg(long, value_name = "HOW", value_parser = cache, allow_negative_numbers = true, verbatim_doc_comment)]
    pub cache: Option<CacheMode>,

    /// Where locks of programs are held (fcntl, flock)
    ///
    /// With backing, a lock of the whole file counts as one of either call, as on NFS; a lock that is waited for below
    /// is had within 50 ms.
    #[arg(long, value_name = "WHERE", value_parser = word::<LocksAt>())]
    pub locks: Option<LocksAt>,

    /// Enter mounts inside BACKING, those made later too; an ordinary user's mount always does
    ///
    /// What is mounted there is shown as it is there, and is not kept in use.
    #[arg(long)]
    pub cross_mounts: bool,

    /// Whether the kernel reads and writes files by itself, at the speed of the backing filesystem
    ///
    /// It can where root mounts, from Linux 6.9 on. Rights, set-user-ID bits and logs are the same either way.
    ///
    /// [default: auto]
    #[arg(long, value_name = "WHETHER", value_parser = word::<Passthrough>(), verbatim_doc_comment)]
    pub passthrough: Option<Passthrough>,

    /// Most operations that are worked on at a time
    ///
    /// Usually a few threads do, at most one per CPU; each operation that waits for a slow disk gets another one in its place.
    /// By rings (--uring) so many on each CPU, and fewer where there are more than 16 CPUs.
    ///
    /// [default: 32]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true, verbatim_doc_comment)]
    pub threads: Option<usize>,

    /// Whether requests come by rings (FUSE over io_uring), where the kernel has them
    ///
    /// They cost a fraction of requests by /dev/fuse. From Linux 6.14, where its parameter `enable_uring` is on; utf8fs status
    /// says by which they come.
    ///
    /// [default: auto]
    #[arg(long, value_name = "WHETHER", value_parser = word::<Uring>(), verbatim_doc_comment)]
    pub uring: Option<Uring>,

    /// How far the daemon confines itself once it has mounted
    #[arg(long, value_name = "HOW", value_parser = word::<Sandbox>())]
    pub sandbox: Option<Sandbox>,

    /// Check everything, and mount nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Which names conform.
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// What is said in a file.
    #[command(flatten)]
    pub policy_file: PolicyFileArgs,

    /// Which new names are refused or let through besides.
    #[command(flatten)]
    pub new_names: NewNameArgs,

    /// Where offences are logged.
    #[command(flatten)]
    pub audit: AuditArgs,
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
    pub hex: Vec<Octets>,

    /// Read names from standard input, each ended by a NUL
    #[arg(short = '0', long = "null")]
    pub null: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,

    /// Guess which charset the ill-formed names are in, by all of them together, instead of explaining each
    ///
    /// A guess is a suggestion: look at the readings that are shown with it. It also tells of names that are UTF-8
    /// encoded twice. The exit status is 0.
    #[arg(long, conflicts_with = "encoding")]
    pub guess: bool,

    /// Definition by which a name is well-formed
    ///
    /// Only utf-8, utf-8-rfc2279, fss-utf and utf-8-bmp can be mounted. Of a name in another, what it spells is told, not its view.
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
    /// What the input is in: a label of --list
    #[arg(long, value_name = "LABEL", required_unless_present = "list")]
    pub from: Option<String>,

    /// What the output is to be in: a label of --list
    #[arg(long, value_name = "LABEL", required_unless_present = "list")]
    pub to: Option<String>,

    /// What stands for input that is malformed or that the target lacks, instead of stopping there
    #[arg(long, value_name = "REPAIR", value_parser = word::<Repair>())]
    pub lossy: Option<Repair>,

    /// Print every label and what it stands for, and do nothing else
    #[arg(long, conflicts_with_all = ["from", "to", "lossy"])]
    pub list: bool,
}

/// A name that was given by its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Octets(pub Vec<u8>);

/// Takes the value of `--max-bytes`.
pub(super) fn max_bytes(text: &str) -> Result<usize, String> {
    number(text, SMALLEST_LIMIT..=NAME_MAX)
}

/// Takes the value of `--max-chars`.
pub(super) fn max_chars(text: &str) -> Result<usize, String> {
    number(text, SMALLEST_LIMIT..=usize::MAX)
}

/// Takes the value of `--cache`.
pub(super) fn cache(text: &str) -> Result<CacheMode, String> {
    /// A day: longer is as good as for ever, and the kernel's times are bounded.
    const MOST: f64 = 86_400.0;
    match text {
        "none" => return Ok(CacheMode::Seconds(Duration::ZERO)),
        "watch" => return Ok(CacheMode::Watch),
        "exclusive" => return Ok(CacheMode::Exclusive),
        _ => {}
    }
    let seconds: f64 = text
        .parse()
        .map_err(|_no_number| "it must be a number of seconds, none, watch or exclusive")?;
    let is_possible = (0.0..=MOST).contains(&seconds);
    let duration = is_possible.then(|| Duration::try_from_secs_f64(seconds).ok());
    duration
        .flatten()
        .map(CacheMode::Seconds)
        .ok_or_else(|| "it must be 0 to 86400 seconds".to_owned())
}

/// Takes the value of `--threads`.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    number(text, 1..=1024)
}

/// Takes the value of `--shard-depth`.
pub(super) fn shard_depth(text: &str) -> Result<usize, String> {
    number(text, 1..=64)
}

fn number(text: &str, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    if let Ok(number) = text.parse()
        && range.contains(&number)
    {
        return Ok(number);
    }
    Err(match range.into_inner() {
        (least, usize::MAX) => format!("it must be {least} or more"),
        (least, most) => format!("it must be {least} to {most}"),
    })
}

fn hex(text: &str) -> Result<Octets, String> {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16))
        .collect();
    let digits = digits.ok_or("it must be hex digits")?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            &[high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()
        .map(Octets)
        .ok_or_else(|| "it must be two hex digits for each byte".to_owned())
}
