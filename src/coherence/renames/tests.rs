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
    renames.looked_up(UNKNOWN, 7, b"a");
    assert!(renames.is_forgotten(UNKNOWN, 7, b"a"), "one, again");
    renames.ended(UNKNOWN, 7, b"a");
    renames.looked_up(UNKNOWN, 7, b"a");
    assert!(renames.is_forgotten(UNKNOWN, 7, b"a"), "another, again");
    renames.ended(UNKNOWN, 7, b"a");
    assert_eq!(renames.count(), 0);
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

#[test]
fn marks_of_renames_that_are_not_repeated_go_in_time_and_are_never_too_many() {
    let mut marks = Marks::default();
    let now = Instant::now();
    let add = |marks: &mut Marks, number: u64, since| {
        let mark = Mark {
            caller: A,
            is_looked_up: false,
            since,
        };
        marks.by_name.insert((number, (*b"a").into()), vec![mark]);
    };
    add(&mut marks, 1, now);
    marks.sweep(now);
    add(&mut marks, 2, now + PATIENCE / 2);
    marks.sweep(now + PATIENCE / 2);
    assert_eq!(marks.by_name.len(), 2);
    marks.sweep(now + PATIENCE);
    assert_eq!(marks.by_name.len(), 1);
    let most = u64::try_from(MOST).unwrap();
    (0..most).for_each(|number| add(&mut marks, number, now + PATIENCE));
    marks.sweep(now + PATIENCE);
    assert_eq!(marks.by_name.len(), 0);
}
