//! How the program was called: by its own name with a command, or by mount(8), which wants another way to write the
//! arguments and other exit codes.
//!
//! mount(8) runs `mount.fuse.utf8fs BACKING MOUNTPOINT [-sfnv] [-N NAMESPACE] -o OPTIONS [-t TYPE]`. Where that helper is
//! not installed, `mount.fuse` of libfuse runs `utf8fs BACKING MOUNTPOINT -o OPTIONS`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use clap::CommandFactory;

use super::args::Cli;
use super::{CliError, ExitCode};

/// The name by which mount(8) finds us.
const HELPER: &str = "mount.fuse.utf8fs";

/// Who called, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The arguments, with a command.
    pub(super) args: Vec<OsString>,
    /// Was it mount(8)?
    pub(super) by_mount: bool,
    /// Nothing is to be mounted: everything else is done (`mount --fake`).
    pub(super) fake: bool,
}

impl Invocation {
    /// Makes the way in which mount(8) calls the command that it stands for: a mount in the background.
    ///
    /// # Errors
    /// It was mount(8), and the arguments are not as it writes them.
    pub(super) fn read(args: Vec<OsString>) -> Result<Self, CliError> {
        let name = args.first().map(|name| Path::new(name).file_name());
        if name.flatten().is_some_and(|name| name == HELPER) {
            return Self::as_helper(args);
        }
        let is_operand = |arg: &OsString| !arg.as_bytes().starts_with(b"-");
        let (args, by_mount) = match args.as_slice() {
            [program, backing, mountpoint, option, options]
                if option == "-o"
                    && is_operand(backing)
                    && is_operand(mountpoint)
                    && !Cli::command()
                        .get_subcommands()
                        .any(|command| backing == command.get_name()) =>
            {
                let options = vec![options.clone()];
                (command(program, options, [backing, mountpoint]), true)
            }
            _ => (args, false),
        };
        Ok(Self {
            args,
            by_mount,
            fake: false,
        })
    }

    fn as_helper(args: Vec<OsString>) -> Result<Self, CliError> {
        let usage = |what: String| {
            let hint = format!(
                "usage: {HELPER} BACKING MOUNTPOINT [-sfnv] -o OPTIONS, as mount(8) calls it; people write utf8fs mount"
            );
            CliError::usage(what).hint(hint)
        };
        let mut words = args.iter();
        let (program, mut operands, mut options, mut fake) = (words.next(), vec![], vec![], false);
        while let Some(word) = words.next() {
            let Some(letters) = word
                .as_bytes()
                .strip_prefix(b"-")
                .filter(|rest| !rest.is_empty())
            else {
                operands.push(word);
                continue;
            };
            for (index, letter) in letters.iter().enumerate() {
                match letter {
                    b's' => options.push("sloppy".into()),
                    b'f' => fake = true,
                    // There is no mtab to leave alone, and -v would have the daemon say more for as long as it lives.
                    b'n' | b'v' => {}
                    b'o' | b't' | b'N' => {
                        let rest = letters.get(index + 1..).unwrap_or_default();
                        let value = match rest {
                            [] => words.next().cloned(),
                            _ => Some(OsString::from_vec(rest.to_vec())),
                        };
                        let value = value.ok_or_else(|| {
                            usage(format!("-{} needs a value", char::from(*letter)))
                        })?;
                        match letter {
                            b'o' => options.push(value),
                            b'N' => {
                                return Err(CliError::usage(
                                    "-N: a mount in another namespace is not possible",
                                )
                                .hint("enter it first: nsenter --mount=FILE mount ..."));
                            }
                            _ => {}
                        }
                        break;
                    }
                    other => {
                        return Err(usage(format!("unknown option -{}", other.escape_ascii())));
                    }
                }
            }
        }
        let [backing, mountpoint] = *operands else {
            return Err(usage(format!(
                "two directories are needed, not {}",
                operands.len()
            )));
        };
        let program = program.map_or(OsStr::new("utf8fs"), OsString::as_os_str);
        Ok(Self {
            args: command(program, options, [backing, mountpoint]),
            by_mount: true,
            fake,
        })
    }

    /// The exit code for who called: mount(8) has its own.
    pub(super) fn code(&self, exit: ExitCode) -> u8 {
        match exit {
            ExitCode::Ok => 0,
            // What the daemon of a mount in the background ended with is such a code already.
            ExitCode::Daemon(code) | ExitCode::Asked(code) => code,
            ExitCode::Usage if self.by_mount => MOUNT_USAGE,
            _ if self.by_mount => MOUNT_FAILED,
            ExitCode::Usage
            | ExitCode::Failure
            | ExitCode::NotConforming
            | ExitCode::Incomplete
            | ExitCode::Stopped(_) => exit.code(),
        }
    }
}

/// Wrong invocation, as mount(8) tells it.
pub(super) const MOUNT_USAGE: u8 = 1;
/// The mount failed.
const MOUNT_FAILED: u8 = 32;

fn command(program: &OsStr, options: Vec<OsString>, operands: [&OsString; 2]) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![program.to_owned(), "mount".into(), "--background".into()];
    for option in options {
        args.extend(["-o".into(), option]);
    }
    args.push("--".into());
    args.extend(operands.map(OsString::clone));
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(args: &[&str]) -> Result<Invocation, CliError> {
        Invocation::read(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn what_libfuse_calls_is_a_mount_in_the_background() {
        let got = called(&["utf8fs", "/old", "/mnt", "-o", "rw,from=koi8-r"]).unwrap();
        let line = "utf8fs mount --background -o rw,from=koi8-r -- /old /mnt";
        assert_eq!(got.args, line.split(' ').collect::<Vec<_>>());
        assert!(got.by_mount && !got.fake);
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
            assert!(got.by_mount && !got.fake, "{line}");
        }
        let fake = called(&["mount.fuse.utf8fs", "/old", "/mnt", "-sf", "-o", "x"]).unwrap();
        assert!(fake.fake);
        assert!(fake.args.iter().any(|arg| arg == "sloppy"));
    }

    #[test]
    fn what_mount_8_would_not_call_is_refused() {
        for (line, message) in [
            ("/old", "two directories are needed, not 1"),
            ("/old /mnt /other", "two directories are needed, not 3"),
            ("/old /mnt -o", "-o needs a value"),
            ("/old /mnt -x", "unknown option -x"),
            (
                "/old /mnt -N /proc/1/ns/mnt",
                "-N: a mount in another namespace is not possible",
            ),
        ] {
            let line = format!("mount.fuse.utf8fs {line}");
            let error = called(&line.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert_eq!(error.message, message);
        }
    }

    #[test]
    fn mount_8_gets_its_own_exit_codes() {
        let mut called = called(&["utf8fs", "/old", "/mnt", "-o", "rw"]).unwrap();
        let all = [
            ExitCode::Ok,
            ExitCode::Usage,
            ExitCode::Failure,
            ExitCode::Daemon(32),
        ];
        assert_eq!(all.map(|exit| called.code(exit)), [0, 1, 32, 32]);
        called.by_mount = false;
        assert_eq!(all.map(|exit| called.code(exit)), [0, 2, 1, 32]);
    }
}
