//! The charsets of names, as options say them: `--from`, `--charset-map`, `--set-charset`.

use std::path::Path;

use super::output::{print_warning, quoted};
use super::{CommandError, cannot_be};
use crate::daemon::mount_policy::{line_and_column, table_fault};
use crate::names::{CharsetMap, CharsetRule, CharsetSource, DirectoryPattern, Quoted};
use crate::records::CharsetMapFile;

/// Reads a charset map.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) fn read(path: &Path) -> Result<CharsetMap, CommandError> {
    let name = Quoted::of(path);
    let text = std::fs::read_to_string(path).map_err(|error| {
        let what = format!("the charset map {name}");
        CommandError::usage(cannot_be("read", what, &error))
            .hint("utf8fs scan --propose-map FILE DIR writes one")
    })?;
    CharsetMapFile::parse(&text).map_err(|fault| {
        let start = fault.span().map_or(text.len(), |span| span.start);
        let (line, column) = line_and_column(text.as_bytes(), start);
        let fault = table_fault(&fault, "directory").replace('\n', " ");
        CommandError::usage(format!("{name}:{line}:{column}: {fault}"))
            .hint("docs/migrating.md has the keys of a charset map")
    })
}

/// Warns of entries that no directory of those that were read matches.
pub(super) fn warn_of_unmatched(map: &CharsetMap) {
    let unmatched = map.unmatched().map(|path| quoted(path.as_bytes()));
    let unmatched: Vec<String> = unmatched.collect();
    if !unmatched.is_empty() {
        print_warning(&format!(
            "warning: no directory matches {} of the charset map: paths start at the root of the tree, bytes that are not UTF-8 are written as %E9, and a migration renames directories: make a new map for what is left",
            unmatched.join(", ")
        ));
    }
}

/// Adds an entry `DIR=CHARSET` in front of those of a charset map, so that it wins over them.
///
/// # Errors
/// It has another shape, or a part of it is unknown.
pub(super) fn set(map: &mut CharsetMap, entry: &str) -> Result<(), CommandError> {
    const HINT: &str = "such as /letters=koi8-r, with the path from the root of the tree, or letters=koi8-r for a name anywhere";
    let wrong = |why: &str| {
        let entry = Quoted::of(entry);
        CommandError::usage(format!("--set-charset {entry}: {why}")).hint(HINT)
    };
    let parts = entry.rsplit_once('=');
    let (path, charsets) = parts.ok_or_else(|| wrong("it must be DIR=CHARSET"))?;
    let pattern = DirectoryPattern::parse(path).map_err(|error| wrong(&error.reason))?;
    let charsets: Vec<&str> = charsets.split(',').collect();
    let source = source("--set-charset", &charsets)?;
    map.rules.insert(0, CharsetRule::new(pattern, source));
    Ok(())
}

/// Returns what the labels of an option stand for: charsets, or the word `auto` or `leave`.
///
/// # Errors
/// A charset that is not on offer, or a word among others.
pub(super) fn source(option: &str, labels: &[&str]) -> Result<CharsetSource, CommandError> {
    CharsetSource::of(labels).map_err(|fault| CommandError::usage(format!("{option}: {fault}")))
}
