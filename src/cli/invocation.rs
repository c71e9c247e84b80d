//! The way the program was called: by its own name with a command, or by mount(8). The latter wants other arguments
//! and exit codes.
//!
//! mount(8) runs `mount.fuse.utf8fs BACKING MOUNTPOINT [-sfnv] [-N NAMESPACE] -o OPTIONS [-t TYPE]`. Where that helper is
//! not installed, `mount.fuse` of libfuse runs `utf8fs BACKING MOUNTPOINT -o OPTIONS`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use clap::{ArgAction, CommandFactory, Parser};

use super::ExitCode;
use super::args::Cli;
use crate::names::Quoted;

/// The name by which mount(8) finds us.
const HELPER: &str = "mount.fuse.utf8fs";

/// The arguments as mount(8) writes them.
#[derive(Debug, Parser)]
#[command(
    name = HELPER,
    disable_help_flag = true,
    override_usage = "mount.fuse.utf8fs BACKING MOUNTPOINT [-sfnv] -o OPTIONS, as mount(8) calls it; people write utf8fs mount"
)]
pub(super) struct MountHelper {
    backing: OsString,
    mountpoint: OsString,
    #[arg(short, action = ArgAction::Count)]
    sloppy: u8,
    #[arg(short, action = ArgAction::Count)]
    fake: u8,
    #[arg(short, action = ArgAction::Append, allow_hyphen_values = true)]
    options: Vec<OsString>,
    #[arg(short = 'N', value_parser = namespace)]
    namespace: Option<String>,
    /// Is without effect: there is no mtab to leave alone.
    #[arg(short, action = ArgAction::Count)]
    no_mtab: u8,
    /// Is without effect: the daemon would say more for as long as it lives.
    #[arg(short, action = ArgAction::Count)]
    verbose: u8,
    /// Is without effect.
    #[arg(short, action = ArgAction::Append)]
    type_of: Vec<OsString>,
}

fn namespace(_file: &str) -> Result<String, String> {
    Err("a mount in another namespace is not possible; enter it first: nsenter --mount=FILE mount ...".to_owned())
}

/// The caller, and the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The arguments, with a command.
    pub(super) args: Vec<OsString>,
    /// Was it mount(8)?
    pub(super) by_mount: bool,
}

impl Invocation {
    /// Makes the way in which mount(8) calls the command that it stands for: a mount in the background.
    ///
    /// # Errors
    /// It was mount(8), and the arguments are not as it writes them.
    pub(super) fn read(args: Vec<OsString>) -> Result<Self, clap::Error> {
        let is_helper =
            |program: &OsString| Path::new(program).file_name() == Some(HELPER.as_ref());
        let is_operand = |arg: &OsString| !arg.as_bytes().starts_with(b"-");
        let is_command = |arg: &OsString| Cli::command().find_subcommand(arg).is_some();
        let (options, operands) = if args.first().is_some_and(is_helper) {
            let helper = MountHelper::try_parse_from(&args)?;
            let lists = helper.options.into_iter();
            let mut options: Vec<OsString> = lists.flat_map(|list| ["-o".into(), list]).collect();
            options.extend((helper.sloppy > 0).then(|| "-osloppy".into()));
            options.extend((helper.fake > 0).then(|| "--dry-run".into()));
            (options, [helper.backing, helper.mountpoint])
        } else if let [_, backing, mountpoint, option, options] = &*args
            && option == "-o"
            && is_operand(backing)
            && is_operand(mountpoint)
            && !is_command(backing)
        {
            let options = vec!["-o".into(), without_defaults(options)];
            (options, [backing.clone(), mountpoint.clone()])
        } else {
            return Ok(Self {
                args,
                by_mount: false,
            });
        };
        let program = args.into_iter().next().unwrap_or_default();
        let mut args = vec![program, "mount".into(), "--background".into()];
        args.extend(options);
        args.push("--".into());
        args.extend(operands);
        let by_mount = true;
        Ok(Self { args, by_mount })
    }

    /// The mount point, for errors, where mount(8) called: whoever reads them sees those of many mounts.
    pub(super) fn mountpoint(&self) -> Option<Quoted<'_>> {
        let mountpoint = self.args.last().filter(|_| self.by_mount);
        mountpoint.map(|mountpoint| Quoted(mountpoint.as_bytes()))
    }

    /// The exit code for who called: mount(8) has its own.
    pub(super) fn code(&self, exit: ExitCode) -> u8 {
        match (self.by_mount, exit) {
            (true, ExitCode::Usage) => MOUNT_USAGE,
            // A mount in the background ends with such a code already.
            (true, ExitCode::Failure) => MOUNT_FAILED,
            _ => exit.code(),
        }
    }
}

/// Wrong invocation, as mount(8) tells it.
pub(super) const MOUNT_USAGE: u8 = 1;
/// The mount failed.
const MOUNT_FAILED: u8 = 32;

/// Leaves out the `dev` and `suid` that `mount.fuse` of libfuse adds at the end unless it gets `nodev` and `nosuid`. It drops
/// those that people write, so that these are never theirs.
fn without_defaults(options: &OsStr) -> OsString {
    let mut words: Vec<_> = options.as_bytes().split(|byte| *byte == b',').collect();
    for added in [&b"suid"[..], b"dev"] {
        words.pop_if(|word| *word == added);
    }
    OsString::from_vec(words.join(&b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(args: &[&str]) -> Result<Invocation, clap::Error> {
        Invocation::read(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn what_libfuse_calls_is_a_mount_in_the_background() {
        let got = called(&["utf8fs", "/old", "/mnt", "-o", "rw,from=koi8-r"]).unwrap();
        let line = "utf8fs mount --background -o rw,from=koi8-r -- /old /mnt";
        assert_eq!(got.args, line.split(' ').collect::<Vec<_>>());
        assert!(got.by_mount);
        for others in [
            &["utf8fs", "mount", "/mnt", "-o", "rw"][..],
            &["utf8fs", "/old", "/mnt"],
            &["utf8fs", "--version", "/mnt", "-o", "rw"],
            &["utf8fs"],
            &[],
        ] {
            let got = called(others).unwrap();
            assert_eq!(got.args, others);
            assert!(!got.by_mount);
        }
    }

    /// `mount.fuse` adds them whatever fstab says, and the defaults are nosuid and nodev.
    #[test]
    fn devices_and_set_user_id_that_libfuse_adds_are_not_taken() {
        for (options, taken) in [
            ("rw,from=koi8-r,dev,suid", "rw,from=koi8-r"),
            ("rw,nosuid,dev", "rw,nosuid"),
            ("rw,nodev,suid", "rw,nodev"),
            ("dev,suid", ""),
            ("rw,fsname=dev", "rw,fsname=dev"),
        ] {
            let got = called(&["utf8fs", "/old", "/mnt", "-o", options]).unwrap();
            assert_eq!(got.args[4], taken, "{options}");
        }
    }

    #[test]
    fn what_mount_8_calls_is_taken_in_every_order() {
        for line in [
            "/sbin/mount.fuse.utf8fs /old /mnt -o rw,ro=1",
            "/sbin/mount.fuse.utf8fs /old /mnt -n -v -o rw,ro=1 -t fuse.utf8fs",
            "/sbin/mount.fuse.utf8fs -nv -orw,ro=1 /old /mnt",
        ] {
            let got = called(&line.split(' ').collect::<Vec<_>>()).unwrap();
            let wanted = "/sbin/mount.fuse.utf8fs mount --background -o rw,ro=1 -- /old /mnt";
            assert_eq!(got.args, wanted.split(' ').collect::<Vec<_>>(), "{line}");
            assert!(got.by_mount, "{line}");
        }
        let fake = called(&["mount.fuse.utf8fs", "/old", "/mnt", "-sf", "-o", "x"]).unwrap();
        let line = "mount.fuse.utf8fs mount --background -o x -osloppy --dry-run -- /old /mnt";
        assert_eq!(fake.args, line.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn what_mount_8_would_not_call_is_refused() {
        for (line, message) in [
            ("/old", "<MOUNTPOINT>"),
            ("/old /mnt /other", "unexpected argument '/other'"),
            ("/old /mnt -o", "a value is required for '-o <OPTIONS>'"),
            ("/old /mnt -x", "unexpected argument '-x'"),
            (
                "/old /mnt -N /proc/1/ns/mnt",
                "a mount in another namespace is not possible",
            ),
        ] {
            let line = format!("mount.fuse.utf8fs {line}");
            let error = called(&line.split(' ').collect::<Vec<_>>()).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn mount_8_gets_its_own_exit_codes() {
        let mut called = called(&["utf8fs", "/old", "/mnt", "-o", "rw"]).unwrap();
        let all = [
            ExitCode::Ok,
            ExitCode::Usage,
            ExitCode::Failure,
            ExitCode::Passed(32),
        ];
        assert_eq!(all.map(|exit| called.code(exit)), [0, 1, 32, 32]);
        called.by_mount = false;
        assert_eq!(all.map(|exit| called.code(exit)), [0, 2, 1, 32]);
    }
}
