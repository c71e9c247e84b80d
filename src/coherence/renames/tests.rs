use super::*;
use crate::fs::samples::CALLER;

const A: Caller = Caller { pid: 1, ..CALLER };
const B: Caller = Caller { pid: 2, ..CALLER };

#[test]
fn a_rename_is_let_through_when_its_own_caller_has_looked_the_name_up() {
    let renames = Renames::default();
    assert!(!renames.is_forgotten(A, 7, b"a"));
    assert!(!renames.allows(7, b"a") && renames.allows(7, b"b") && renames.allows(8, b"a"));
    renames.looked_up(B, 7, b"a");
    assert!(!renames.is_forgotten(A, 7, b"a") && !renames.is_forgotten(B, 7, b"a"));
    renames.looked_up(A, 7, b"a");
    // Another rename of the same name comes first, and ends.
    renames.ended(B, 7, b"a");
    assert!(!renames.allows(7, b"a"));
    assert!(renames.is_forgotten(A, 7, b"a"));
    renames.ended(A, 7, b"a");
    assert!(renames.allows(7, b"a"));
    assert_eq!(renames.count(), 0);
}

/// Law N10: whose process is of another pid namespace has no number, and is told from nobody else of the same user.
#[test]
fn n10_each_rename_of_callers_who_are_not_told_apart_is_answered_with_estale_once_at_most() {
    const UNKNOWN: Caller = Caller { pid: 0, ..CALLER };
    let renames = Renames::default();
    assert!(!renames.is_forgotten(UNKNOWN, 7, b"a"), "one");
    assert!(!renames.is_forgotten(UNKNOWN, 7, b"a"), "another");
    // The kernel lets nobody in between this lookup and this rename.
    renames.looked_up(UNKNOWN, 7, b"a");
    assert!(renames.is_forgotten(UNKNOWN, 7, b"a"), "one, again");
    renames.ended(UNKNOWN, 7, b"a");
    assert!(!renames.allows(7, b"a"), "the other is to come");
    // He renames it back, and misses another name: neither is of the other's doing.
    renames.replaced(7, b"a");
    renames.ended(UNKNOWN, 7, b"a");
    assert!(
        !renames.is_forgotten(UNKNOWN, 7, b"a"),
        "it is a new dentry"
    );
    renames.looked_up(UNKNOWN, 7, b"a");
    assert!(renames.is_forgotten(UNKNOWN, 7, b"a"), "another, again");
    assert!(!renames.is_forgotten(UNKNOWN, 7, b"a"), "a lookup for each");
}

/// Law N10: its dentry has the timeout that it had under the other name.
#[test]
fn a_name_that_another_dentry_was_moved_to_is_looked_up_anew() {
    let renames = Renames::default();
    assert!(!renames.is_forgotten(A, 7, b"a"));
    renames.looked_up(A, 7, b"a");
    renames.replaced(7, b"a");
    assert!(!renames.is_forgotten(A, 7, b"a"));
}

/// Somebody may hold the lock of the directory meanwhile.
#[test]
fn a_mark_lasts_until_there_are_too_many_and_goes_by_those_of_its_own_user_first() {
    const OTHER: Caller = Caller {
        uid: CALLER.uid + 1,
        ..B
    };
    let renames = Renames::default();
    let is_marked = |number| !renames.allows(number, b"a");
    let most = u64::try_from(MOST).unwrap();
    assert!(!renames.is_forgotten(OTHER, 0, b"a"));
    for number in 1..=most {
        assert!(!renames.is_forgotten(A, number, b"a"));
    }
    assert!((MOST / 2..=MOST).contains(&renames.count()));
    assert!(is_marked(0), "of a user with one");
    assert!(!is_marked(1) && is_marked(most / 2 + 9) && is_marked(most));
    renames.looked_up(OTHER, 0, b"a");
    assert!(renames.is_forgotten(OTHER, 0, b"a"));
}
