//! Reading a charset map (`--charset-map`).

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::CliError;
use super::error::reason;
use crate::daemon::mount_policy::line_and_column;
use crate::names::{CharsetMap, Quoted};
use crate::records::CharsetMapFile;

/// Reads a charset map.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) fn read(path: &Path) -> Result<CharsetMap, CliError> {
    let name = Quoted(path.as_os_str().as_bytes());
    let text = std::fs::read_to_string(path).map_err(|error| {
        CliError::usage(format!(
            "the charset map {name} cannot be read: {}",
            reason(&error)
        ))
        .hint("utf8fs scan --propose-map FILE DIR writes one")
    })?;
    CharsetMapFile::parse(&text).map_err(|fault| {
        let (line, column) = line_and_column(text.as_bytes(), fault.offset);
        CliError::usage(format!(
            "{name}:{line}:{column}: {}",
            fault.message.replace('\n', " ")
        ))
        .hint("docs/migrating.md has the keys of a charset map")
    })
}
