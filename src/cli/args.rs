//! The command line: exactly what was typed. What it means is for `config` to say.

pub mod audit;
pub mod journal;
pub mod migrate;
pub mod new_names;
pub mod policy;
pub mod scan;
pub mod status;
pub mod umount;
pub mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueHint};

use crate::daemon::mount_config::CacheMode;
use crate::policy::{NAME_MAX, SMALLEST_LIMIT};
pub use audit::{AuditLogArgs, TimeUnit};
pub use journal::{JournalArgs, UndoArgs};
pub use migrate::MigrateArgs;
pub use new_names::NewNameArgs;
pub use policy::{PolicyAction, PolicyCommandArgs, PolicyFileArgs};
pub use scan::{ScanArgs, ShardValue};
pub use status::StatusArgs;
pub use umount::UmountArgs;
pub use values::{
    AuditFormatValue, CollisionValue, EncodingValue, ErrnoValue, ForbidValue, LegacyValue,
    LocksValue, LossyValue, ModeValue, MountEncodingValue, NormalizationValue, NormalizeValue,
    OffenceValue, OnViolationValue, PassthroughValue, ProfileValue, SandboxValue,
    StatusFormatValue, UniqueValue, UnitValue, UringValue,
};

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
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  See what it does, with nothing prepared:
    utf8fs demo
  Use an old tree of Latin-1 names as UTF-8:
    utf8fs mount --from iso-8859-1 /srv/old /mnt/old
  Ask why a name is refused:
    utf8fs explain --profile portable 'what?.txt'

Exit status:
  0  done; every name conforms
  1  failed, or some names do not conform
  2  wrong arguments or directories; nothing was done
  3  not everything could be read"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,

    /// With --version: also the version of Unicode whose normalization and case folding are applied
    #[arg(short, long, requires = "version")]
    pub verbose: bool,
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
    /// Every octet of it is checked.
    Journal(JournalArgs),
    /// Check a policy file, or say what holds by it
    Policy(PolicyCommandArgs),
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
    #[arg(long, value_name = "WAY", value_enum)]
    pub legacy: Option<LegacyValue>,

    /// Charset that new names are stored in, shown as UTF-8 all the same; one that it lacks is refused
    ///
    /// For a directory that programs of that charset go on working in. Implies --from with it in front. A name whose
    /// octets in it would be well-formed UTF-8 is stored in UTF-8.
    #[arg(long, value_name = "CHARSET")]
    pub store_as: Option<String>,

    /// What becomes of a new name that does not conform
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_violation: Option<OnViolationValue>,

    /// Error that programs get for a refused name; one that is too long always gets ENAMETOOLONG
    #[arg(long, value_name = "ERRNO", value_enum)]
    pub errno: Option<ErrnoValue>,

    /// What conforms; the options below make it stricter
    ///
    /// [default: utf8]
    #[arg(long, value_name = "NAME", value_enum, verbatim_doc_comment)]
    pub profile: Option<ProfileValue>,

    /// Normalization form that names must have
    ///
    /// [default: preserve]
    #[arg(long, value_name = "FORM", value_enum, verbatim_doc_comment)]
    pub normalization: Option<NormalizationValue>,

    /// Characters and shapes that names must not have, besides those of the profile
    #[arg(long, value_name = "CLASS,...", value_enum, value_delimiter = ',', action = ArgAction::Append)]
    pub forbid: Option<Vec<ForbidValue>>,

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

/// Where offences are logged.
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
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub audit_format: Option<AuditFormatValue>,

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
    after_long_help = "\
Options of -o:
  ro rw suid nosuid dev nodev exec noexec sync async dirsync
  atime noatime diratime nodiratime relatime norelatime strictatime
      as mount(8) says; nosuid and nodev unless told otherwise
  allow_other noallow_other
      other users may use the mount; by default if root mounts it
  fsname=TEXT
      the source in /proc/mounts; by default BACKING
  from=CHARSET:... max-bytes=N cross-mounts and so on
      every option above that begins with --, but --background and --foreground,
      without its dashes, for a line of fstab; a colon stands between values,
      a comma in a value is \\,; a pattern of exempt with a colon in it is given
      by --exempt, or with ? for the colon
  defaults auto noauto user nouser users nousers owner noowner group nogroup
  nofail _netdev x-* comment= subtype= default_permissions
      taken, for mount(8), systemd and libfuse; without effect here
  sloppy
      leave unknown options out

Examples:
  Names of an old tree are Shift_JIS, the others CP1252:
    utf8fs mount --from shift_jis,windows-1252 /srv/old /mnt/old
  Over the directory itself, in the background, for Windows clients:
    utf8fs mount --background --profile portable --unique casefold /srv/share /srv/share
  For everybody, read-only, with the offences in a file:
    utf8fs mount -o ro,allow_other --audit-log /var/log/utf8fs.log /srv/share /mnt/share
  The first one as a line of /etc/fstab:
    /srv/old  /mnt/old  fuse.utf8fs  from=shift_jis:windows-1252  0  0
  Unmount:
    utf8fs umount /mnt/old

Exit status:
  0  unmounted again; with --background, mounted
  1  the mount failed or was cut off
  2  wrong arguments or directories; nothing was mounted
  As a helper of mount(8): 0, 1 for wrong arguments, 32 for a failure"
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
    #[arg(long, value_name = "LABEL", value_enum, verbatim_doc_comment)]
    pub encoding: Option<MountEncodingValue>,

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
    #[arg(long, value_name = "WHERE", value_enum)]
    pub locks: Option<LocksValue>,

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
    #[arg(long, value_name = "WHETHER", value_enum, verbatim_doc_comment)]
    pub passthrough: Option<PassthroughValue>,

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
    #[arg(long, value_name = "WHETHER", value_enum, verbatim_doc_comment)]
    pub uring: Option<UringValue>,

    /// How far the daemon confines itself once it has mounted
    #[arg(long, value_name = "HOW", value_enum)]
    pub sandbox: Option<SandboxValue>,

    /// Say more; twice: say all
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,

    /// Say nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,

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
#[command(after_long_help = "\
Examples:
  A name whose e-acute is Latin-1:
    utf8fs explain --from iso-8859-1 $'caf\\xE9.txt'
  The same name by its octets:
    utf8fs explain --hex '63 61 66 E9 2E 74 78 74'
  Which charset are the names below a directory in?
    find . -printf '%f\\0' | utf8fs explain -0 --guess
  What Java's Modified UTF-8 makes of the same octets:
    utf8fs explain --encoding mutf-8 --hex 'C0 80 ED A0 BD ED B8 80'
  Every name below a directory that a Windows client would refuse:
    find . -printf '%f\\0' | utf8fs explain -0 --profile portable --json | grep '\"refused\"'

Exit status:
  0  every name conforms
  1  some do not
  2  wrong arguments")]
pub struct ExplainArgs {
    /// Names, each one component of a path; one that starts with a dash goes after --
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,

    /// A name by its octets, two hex digits each; spaces between them are ignored
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
    #[arg(long, value_name = "LABEL", value_enum, verbatim_doc_comment)]
    pub encoding: Option<EncodingValue>,

    /// Which names conform.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

/// `utf8fs convert`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(
    override_usage = "utf8fs convert --from LABEL --to LABEL [--lossy REPAIR] <INPUT >OUTPUT\n       utf8fs convert --list",
    after_long_help = "\
Examples:
  What does this old text say?
    utf8fs convert --from cp437 --to utf-8 <README.TXT
  A file of names in the octets of 1992, as programs of today read them:
    utf8fs convert --from fss-utf-draft --to utf-8 <names.txt
  Text that was cut in the midst of characters, each cut marked by U+FFFD:
    utf8fs convert --from utf-8 --to utf-8 --lossy replace <log >log.utf8

Exit status:
  0  converted; what --lossy had to repair is told on standard error
  1  the input is malformed or unmappable, or could not be read or written
  2  wrong arguments; nothing was read"
)]
pub struct ConvertArgs {
    /// What the input is in: a label of --list
    #[arg(long, value_name = "LABEL", required_unless_present = "list")]
    pub from: Option<String>,

    /// What the output is to be in: a label of --list
    #[arg(long, value_name = "LABEL", required_unless_present = "list")]
    pub to: Option<String>,

    /// What stands for input that is malformed or that the target lacks, instead of stopping there
    #[arg(long, value_name = "REPAIR", value_enum)]
    pub lossy: Option<LossyValue>,

    /// Print every label and what it stands for, and do nothing else
    #[arg(long, conflicts_with_all = ["from", "to", "lossy"])]
    pub list: bool,
}

/// A name that was given by its octets.
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
        .ok_or_else(|| "it must be two hex digits for each octet".to_owned())
}
