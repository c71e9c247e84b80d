//! What becomes of the names of one directory: a function of its listing and of what is asked, and of nothing else.

use super::choose::{Choice, TreeGuess};
use super::collide;
use super::fate::{Fate, candidates, fate, may_change};
use super::line::{Line, Reason};
use super::listing::{Listed, Listing};
use super::wishes::{From, Wishes};
use crate::names::BackingName;

/// Have two regular files of the directory, by their names, the same content?
pub type Same<'s> = dyn FnMut(&[u8], &[u8]) -> bool + 's;

/// What becomes of each entry about which something is to be done or said, in the order of the bytes of their names.
///
/// Of all new names no two are one, and none is a name of the listing (law T2). They conform to what is asked, and planning
/// again after they were given finds nothing to do, but for what was guessed. Entries for which `is_included` does not hold
/// keep their names. Targets of links are not looked at.
pub fn plan(
    wishes: &Wishes,
    tree: &TreeGuess,
    listing: &Listing,
    is_included: &dyn Fn(&[u8]) -> bool,
    same: &mut Same<'_>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let concerned = |entry: &Listed<'_>| may_change(wishes, entry.name) && is_included(entry.name);
    let mut entries = listing.iter().filter(concerned).peekable();
    if entries.peek().is_none() {
        return lines;
    }
    let mut choice = Choice::of(wishes, tree, listing);
    for entry in entries {
        lines.extend(line(wishes, &choice, entry));
    }
    lines.sort_unstable_by(|one, other| one.old.cmp(&other.old));
    // A directory that changes while it is read can list an entry twice.
    lines.dedup_by(|one, other| one.old == other.old);
    let is_unread = |line: &Line| matches!(line.reason, Reason::Unreadable | Reason::Control);
    if wishes.from != From::Auto && lines.iter().any(is_unread) {
        let left = lines.iter().filter(|line| is_unread(line));
        choice.guess_others(tree, left.map(|line| line.old.as_bytes()));
        for line in lines.iter_mut().filter(|line| is_unread(line)) {
            let name = line.old.as_bytes();
            line.candidates = candidates(wishes, &choice.guessed(name), name);
        }
    }
    collide::settle(wishes, listing, &mut lines, same);
    lines
}

fn line(wishes: &Wishes, choice: &Choice, entry: Listed<'_>) -> Option<Line> {
    // What a broken filesystem gives has no name.
    let old = BackingName::parse(entry.name).ok()?;
    let mut line = Line {
        old,
        inode: entry.inode,
        kind: entry.kind,
        new: None,
        same_as: None,
        target: None,
        new_target: None,
        reason: Reason::NoSpelling,
        warning: None,
        charset: None,
        confidence: None,
        candidates: Vec::new(),
    };
    match fate(wishes, choice, entry.name) {
        Fate::Keep => return None,
        Fate::Left(reason, candidates) => {
            line.reason = reason;
            line.candidates = candidates;
        }
        // Checked after the last step: it is one component of a path (law C5).
        Fate::New(new) => {
            if let Ok(name) = BackingName::parse(&new.name) {
                line.new = Some(name);
                line.reason = new.reason;
                line.warning = new.warning;
                line.charset = new.charset;
                line.confidence = new.confidence;
                line.candidates = new.candidates;
            }
        }
    }
    Some(line)
}
