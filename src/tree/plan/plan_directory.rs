//! The plan of one directory: a function of its listing and of the options, and of nothing else.

use super::charset_choice::CharsetChoice;
use super::collisions::{self, Same};
use super::name_change::{may_change, name_change};
use super::name_spelling::candidates;
use super::plan_options::PlanOptions;
use crate::codec::guess::{Guesser, may_deceive};
use crate::names::{BackingName, CharsetSource};
use crate::records::{PlanLine, Reason, Warning};
use crate::tree::entry_list::{EntryList, ListedEntry};

/// Returns a line for each entry that changes, or with which something is amiss, in the order of the bytes of their names.
///
/// Of all new names no two are one, and none is a name of the listing (law T2). They conform to the options, and planning
/// again after they were given finds nothing to do, but for what was guessed. Entries for which `is_included` does not hold
/// keep their names. Targets of links are not looked at, and the directory is left to the caller.
pub fn plan(
    options: &PlanOptions,
    tree: &CharsetChoice,
    listing: &EntryList,
    is_included: &dyn Fn(&ListedEntry<'_>) -> bool,
    same: &Same<'_>,
) -> Vec<PlanLine> {
    let mut lines: Vec<PlanLine> = Vec::new();
    let concerned = |entry: &ListedEntry<'_>| may_change(options, entry.name) && is_included(entry);
    let mut entries = listing.iter().filter(concerned).peekable();
    if entries.peek().is_none() {
        return lines;
    }
    let choice = tree.of_directory(options, listing);
    for ListedEntry { name, kind, inode } in entries {
        // A broken filesystem may give what is no name.
        let old = BackingName::parse(name).ok();
        if let Some(mut line) = old.and_then(|old| name_change(options, &choice, &old)) {
            (line.kind, line.inode) = (kind, inode);
            if options.from == CharsetSource::Auto && may_deceive(name) {
                line.warning = Some(Warning::Overlong);
            }
            lines.push(line);
        }
    }
    lines.sort_unstable_by(|one, other| one.old.cmp(&other.old));
    // A directory that changes while it is read can list an entry twice.
    lines.dedup_by(|one, other| one.old == other.old);
    let is_unread = |line: &PlanLine| matches!(line.reason, Reason::Unreadable | Reason::Control);
    if options.from != CharsetSource::Auto && lines.iter().any(is_unread) {
        // People choose from what these names may be.
        let mut names = Guesser::default();
        let left = lines.iter().filter(|line| is_unread(line));
        left.for_each(|line| names.add(line.old.as_bytes()));
        let mixture = tree.part(&names, names.ill_formed);
        for line in lines.iter_mut().filter(|line| is_unread(line)) {
            let name = line.old.as_bytes();
            line.candidates = candidates(options, &mixture.read(name), name);
        }
    }
    collisions::resolve(options, listing, &mut lines, same);
    lines
}
