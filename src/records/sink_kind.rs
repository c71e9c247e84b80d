//! The destination of the audit log.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Name;
use crate::names::Quoted;

/// The socket of the system's journal; that of the namespace NAME is `/run/systemd/journal.NAME/socket`
/// (systemd-journald.service(8)).
const JOURNAL: &str = "/run/systemd/journal/socket";

/// The destination of the audit log: the value of `--audit-log`, and of `audit_log` in a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkKind {
    /// Standard error, one line each.
    Stderr,
    /// A file, appended to, made with mode 0640 if it is not there; may be a FIFO or a character device. No symlink is
    /// followed to it; it is ours or root's, and has one name.
    File(PathBuf),
    /// The system's log, through `/dev/log`.
    Syslog,
    /// The system's journal, through its socket at this path, with a field for each fact.
    Journal(PathBuf),
}

impl SinkKind {
    /// Reads what a user wrote: `-`, `syslog`, `journald`, `journald:` and the path of a socket, or a file.
    ///
    /// # Errors
    /// It can be no log; and what to write instead.
    pub fn parse(text: &OsStr) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("{}: {why}", Quoted::of(text)));
        Ok(match text.as_bytes() {
            b"-" => Self::Stderr,
            b"syslog" => Self::Syslog,
            b"journald" => Self::Journal(JOURNAL.into()),
            octets => match octets.strip_prefix(b"journald:") {
                Some(socket) if socket.starts_with(b"/") => {
                    Self::Journal(OsStr::from_bytes(socket).into())
                }
                Some(_) => {
                    return wrong(
                        "the socket has no path that begins with /; a file of such a name is written as ./journald:...; the journal of the namespace NAME is journald:/run/systemd/journal.NAME/socket",
                    );
                }
                None if Path::new(text).file_name().is_none() || octets.contains(&0) => {
                    return wrong("it is not a file; give the path of a file");
                }
                None => Self::File(text.into()),
            },
        })
    }
}

/// The form in documents: a word, or a path.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "it takes a path, -, syslog or journald")]
enum Form {
    Word(Cow<'static, str>),
    Path(Name),
}

impl Serialize for SinkKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            Self::Stderr => Form::Word("-".into()),
            Self::Syslog => Form::Word("syslog".into()),
            Self::Journal(path) if path.as_os_str() == JOURNAL => Form::Word("journald".into()),
            Self::Journal(path) => {
                Form::Path([b"journald:", path.as_os_str().as_bytes()].concat().into())
            }
            Self::File(path) => Form::Path(Name::of_path(path)),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SinkKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let text = match &form {
            Form::Word(word) => word.as_bytes(),
            Form::Path(path) => path.as_bytes(),
        };
        Self::parse(OsStr::from_bytes(text)).map_err(de::Error::custom)
    }
}
