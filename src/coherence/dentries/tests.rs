use super::*;

const KEPT: Duration = Duration::from_secs(60);
const A: Name<'_> = (1, b"a");
const B: Name<'_> = (1, b"b");

fn inode(number: u64) -> Option<Target> {
    Some(Target::Inode(number))
}

#[test]
fn a_name_leads_to_what_was_told_last() {
    let dentries = Dentries::default();
    assert_eq!(dentries.target(A), None);
    dentries.set(A, Target::Inode(7), KEPT);
    dentries.set(B, Target::Inode(8), KEPT);
    assert_eq!(
        [A, B].map(|name| dentries.target(name)),
        [inode(7), inode(8)]
    );
    assert_eq!(dentries.target((2, b"a")), None, "of another directory");
    dentries.renamed(A, B, true);
    assert_eq!(
        [A, B].map(|name| dentries.target(name)),
        [inode(8), inode(7)]
    );
    dentries.renamed(A, B, false);
    assert_eq!([A, B].map(|name| dentries.target(name)), [None, inode(8)]);
    dentries.renamed((1, b"never told"), B, false);
    assert_eq!(dentries.target(B), None);
}

#[test]
fn a_name_that_led_to_another_directory_is_doubtful_until_the_lock_is_held() {
    let dentries = Dentries::default();
    let look = |number, is_directory: bool| {
        dentries.looked_up(A, Target::Inode(number), KEPT, |_| is_directory)
    };
    assert_eq!(look(7, true), None);
    assert_eq!(look(7, true), None, "the same");
    assert_eq!(look(8, false), Some(7), "a file");
    assert_eq!(dentries.target(A), inode(8));
    assert_eq!(look(9, true), Some(8));
    assert_eq!(dentries.target(A), Some(Target::Doubtful));
    assert_eq!(look(9, false), None, "it is not known what the kernel took");
    assert_eq!(dentries.target(A), Some(Target::Doubtful));
    dentries.set(A, Target::Inode(9), KEPT);
    assert_eq!(dentries.target(A), inode(9));
}

/// Law N10: whether a name has to be taken from the kernel.
#[test]
fn n10_a_name_may_be_kept_unless_it_is_known_not_to_be() {
    let dentries = Dentries::default();
    assert!(dentries.may_be_kept(A), "nothing is known");
    dentries.set(A, Target::Inode(7), Duration::ZERO);
    assert!(!dentries.may_be_kept(A));
    dentries.is_being_looked_up(A, KEPT);
    assert!(dentries.may_be_kept(A), "the answer may be on its way");
    assert_eq!(dentries.target(A), inode(7));
    dentries.looked_up(A, Target::Inode(7), Duration::ZERO, |_| false);
    assert!(!dentries.may_be_kept(A));
    dentries.set(A, Target::Inode(7), Duration::MAX);
    assert!(dentries.may_be_kept(A));
    dentries.renamed(A, B, false);
    assert!(dentries.may_be_kept(B), "it is kept wherever it is moved");
    dentries.expire(B, || {
        assert!(dentries.may_be_kept(B), "somebody works in the directory");
    });
    assert!(!dentries.may_be_kept(B));
    assert_eq!(dentries.target(B), inode(7));
    dentries.expire(B, || dentries.set(B, Target::Inode(7), KEPT));
    assert!(dentries.may_be_kept(B), "it was looked up meanwhile");
}

#[test]
fn absent_names_are_known_for_as_long_as_the_kernel_may_keep_them() {
    let dentries = Dentries::default();
    assert!(dentries.keep_absence(A, KEPT));
    assert!(dentries.keep_absence(B, KEPT));
    assert!(dentries.keep_absence((2, b"a"), Duration::ZERO));
    assert_eq!(dentries.absent_names().len(), 2);
    dentries.set(A, Target::Inode(7), KEPT);
    assert_eq!(
        dentries.absent_names(),
        [(1, b"b"[..].into())],
        "it was made"
    );
    dentries.expire(B, || ());
    assert_eq!(dentries.absent_names(), []);
    assert_eq!(dentries.target(B), Some(Target::Absent));
}

/// Nobody fills the memory of the daemon with names, and an absent one is never forgotten while the kernel may hold it.
#[test]
fn records_go_by_age_and_absent_names_when_their_time_is_over() {
    let dentries = Dentries::default();
    let all = SHARDS * MOST_RECENT;
    assert!(dentries.keep_absence(A, KEPT));
    dentries.set(B, Target::Inode(7), KEPT);
    let numbers = |range: std::ops::Range<usize>| {
        for number in range {
            dentries.set((2, &number.to_ne_bytes()), Target::Inode(1), KEPT);
        }
    };
    numbers(0..all / 2);
    assert_eq!(dentries.target(B), inode(7));
    numbers(all / 2..4 * all);
    assert_eq!(dentries.target(B), None);
    let last = (4 * all - 1).to_ne_bytes();
    assert_eq!(dentries.target((2, &last)), inode(1));
    assert_eq!(dentries.absent_names(), [(1, b"a"[..].into())]);
    let count = |shard: &Mutex<Shard>| shard.lock().all().count();
    let records: usize = dentries.shards.iter().map(count).sum();
    assert!((all / 2..=2 * all + 1).contains(&records), "{records}");
    let is_absent_kept = |number: usize| dentries.keep_absence((3, &number.to_ne_bytes()), KEPT);
    let kept = (0..2 * SHARDS * MOST_ABSENT)
        .filter(|&number| is_absent_kept(number))
        .count();
    assert!(
        kept <= SHARDS * MOST_ABSENT && kept > SHARDS * MOST_ABSENT / 2,
        "{kept}"
    );
}
