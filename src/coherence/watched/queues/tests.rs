use super::*;

/// The inode that a task is about, with its notice.
fn taken(queues: &Queues) -> (u64, Notice, Job<'_>) {
    let (job, notice) = queues.take().unwrap();
    match job.1 {
        Task::Notify(number, _) => (number, notice, job),
        Task::Sweep | Task::Unmark(..) => panic!("{job:?}"),
    }
}

/// The inode of the next task, if there is one that can be done now.
fn next(queues: &Queues) -> Option<(u64, Job<'_>)> {
    let state = queues.state.lock();
    let is_any = state.first_free().is_some();
    drop(state);
    is_any.then(|| {
        let (number, _, job) = taken(queues);
        (number, job)
    })
}

fn push(queues: &Queues, number: u64) {
    queues.add_once(number, Notice::of_itself());
}

#[test]
fn one_worker_at_a_time_works_on_an_inode() {
    let queues = Queues::default();
    push(&queues, 7);
    let (number, job) = next(&queues).unwrap();
    assert_eq!(number, 7);
    push(&queues, 7);
    push(&queues, 8);
    let (number, other) = next(&queues).unwrap();
    assert_eq!(number, 8);
    assert!(next(&queues).is_none(), "7 is worked on");
    drop(other);
    assert!(next(&queues).is_none());
    drop(job);
    assert_eq!(next(&queues).unwrap().0, 7);
    assert!(next(&queues).is_none());
}

#[test]
fn another_worker_is_needed_where_the_others_make_no_progress() {
    let queues = Queues::default();
    assert_eq!(queues.tend().lacks_workers, 1, "the first");
    push(&queues, 7);
    let held = next(&queues).unwrap();
    push(&queues, 8);
    let age = |at: &mut Instant| *at = at.checked_sub(TENDED).unwrap();
    queues.state.lock().taken.iter_mut().for_each(age);
    assert_eq!(queues.tend().lacks_workers, 0, "8 has just come");
    queues
        .state
        .lock()
        .ready
        .iter_mut()
        .for_each(|(_, since)| age(since));
    assert_eq!(queues.tend().lacks_workers, 1);
    let other = next(&queues).unwrap();
    assert_eq!(queues.tend().lacks_workers, 0, "nothing to do");
    drop((held, other));
}

#[test]
fn a_mark_that_cannot_be_taken_away_delays_no_notification() {
    let queues = Queues::default();
    assert_eq!(queues.tend().lacks_workers, 1, "the first");
    queues.unmark(7, FileHandle::from_parts(1, b"directory").unwrap());
    let (held, _) = queues.take().unwrap();
    assert!(matches!(held.1, Task::Unmark(7, _)), "{held:?}");
    push(&queues, 8);
    let age = |at: &mut Instant| *at = at.checked_sub(TENDED).unwrap();
    let mut state = queues.state.lock();
    state.taken.iter_mut().for_each(age);
    state.ready.iter_mut().for_each(|(_, since)| age(since));
    drop(state);
    assert_eq!(queues.tend().lacks_workers, 1);
    drop(held);
}

/// It is not lost, though another inode is stalled for longer.
#[test]
fn what_comes_for_a_stalled_inode_waits_until_that_is_over() {
    let queues = Queues::default();
    push(&queues, 7);
    let (_, job) = next(&queues).unwrap();
    assert_eq!(queues.tend().stalled, None);
    let long_ago = Instant::now().checked_sub(STALL).unwrap();
    queues.state.lock().running.insert(7, long_ago);
    assert_eq!(queues.tend().stalled, Some(7));
    queues.add_once(7, Notice::of_expired(b"name"));
    let swept = Swept {
        absent: vec![b"name"[..].into()],
        ..Swept::default()
    };
    queues.add_swept([(7, swept)]);
    // The next notification of a sweep is another matter.
    job.step();
    assert_eq!(queues.tend().stalled, None);
    drop(job);
    let (7, notice, _job) = taken(&queues) else {
        panic!("7 is to come");
    };
    assert_eq!((notice.len(), notice.swept.absent.len()), (1, 1));
}

#[test]
fn everything_is_expired_where_too_much_waits() {
    let queues = Queues::default();
    for number in 1..=MOST_WAITING {
        push(&queues, number as u64);
    }
    assert!(queues.tend().is_full);
    queues.sweep();
    assert!(!queues.tend().is_full);
    let (job, _) = queues.take().unwrap();
    assert!(matches!(job.1, Task::Sweep));
    assert!(next(&queues).is_none());
    drop(job);
}

#[test]
fn a_directory_that_another_one_leaves_is_not_worked_on_for_a_moment() {
    let queues = Queues::default();
    queues.leave(2, 7);
    push(&queues, 7);
    push(&queues, 8);
    assert_eq!(next(&queues).unwrap().0, 8);
    let start = Instant::now();
    let (7, _, _job) = taken(&queues) else {
        panic!("7 is to come");
    };
    assert!(start.elapsed() < PATIENCE + TAKES);
}

#[test]
fn whoever_leaves_waits_for_the_worker_but_not_for_ever() {
    let queues = Queues::default();
    push(&queues, 7);
    let (_, job) = next(&queues).unwrap();
    let start = Instant::now();
    queues.leave(2, 8);
    assert!(start.elapsed() < PATIENCE, "nobody works on 8");
    queues.leave(2, 7);
    assert!(start.elapsed() >= PATIENCE);
    drop(job);
}

#[test]
fn whoever_holds_what_may_be_wrong_takes_a_part_of_the_workers_only() {
    let queues = Queues::default();
    for number in 1..=2 * MOST_SWEEPERS {
        queues.add_swept([(number as u64, Swept::default())]);
    }
    let held: Vec<_> = (0..MOST_SWEEPERS).map(|_| taken(&queues).2).collect();
    assert!(queues.state.lock().next().is_none(), "no more than that");
    // What changed meanwhile does not wait, new or among what does.
    let last = 2 * MOST_SWEEPERS as u64;
    for changed in [last + 1, last] {
        push(&queues, changed);
        assert_eq!(next(&queues).unwrap().0, changed);
    }
    drop(held);
    let left = std::iter::from_fn(|| {
        let is_any = queues.state.lock().may_sweep() > 0;
        is_any.then(|| queues.take().map(|(job, _)| drop(job)))
    });
    assert_eq!(left.count(), MOST_SWEEPERS - 1);
}

/// Law F5.
#[test]
fn a_directory_that_is_swept_again_and_again_waits_for_the_others() {
    let queues = Queues::default();
    for number in [7, 8, 9] {
        queues.add_swept([(number, Swept::default())]);
    }
    let taken = |_| {
        let (number, _, job) = taken(&queues);
        drop(job);
        queues.add_swept([(number, Swept::default())]);
        number
    };
    assert!((0..6).map(taken).eq([7, 8, 9, 7, 8, 9]));
}

/// Law F5.
#[test]
fn what_is_expired_in_one_directory_delays_no_other_and_no_change() {
    let queues = Queues::default();
    let names = |count: usize| (0..count).map(|number| number.to_string().into_bytes().into());
    let swept = |count| Swept {
        absent: names(count).collect(),
        ..Swept::default()
    };
    queues.add_swept([(7, swept(2 * MOST_WAITING))]);
    queues.add_swept([(8, swept(1))]);
    assert!(!queues.tend().is_full);
    let take = || {
        let (number, notice, job) = taken(&queues);
        (number, notice.swept.absent.len(), job)
    };
    let (number, count, slow) = take();
    assert_eq!((number, count), (7, 2 * MOST_WAITING));
    let (number, count, _job) = take();
    assert_eq!((number, count), (8, 1));
    assert!(slow.step());
    push(&queues, 7);
    assert!(!slow.step(), "it has to give way");
    queues.add_swept([(7, swept(3))]);
    drop(slow);
    assert_eq!(take().1, 3);
}

#[test]
fn two_users_who_hold_what_they_may_leave_other_directories_to_be_expired() {
    let queues = Queues::default();
    let directories = 1..=2 * MOST_DIRECTORIES as u64 + 1;
    let swept = || Swept {
        inodes: vec![1],
        ..Swept::default()
    };
    queues.add_swept(directories.clone().map(|number| (number, swept())));
    let mut held = Vec::new();
    for _ in directories {
        assert!(queues.state.lock().may_sweep() > 0, "{}", held.len());
        held.push(queues.take().unwrap());
    }
}

#[test]
fn changes_are_repeated_once() {
    let queues = Queues::default();
    let name: Box<[u8]> = b"name"[..].into();
    let lost_by = HashSet::from([FileHandle::from_parts(1, b"file").unwrap()]);
    let changed = ChangedName {
        lost_by: lost_by.clone(),
        is_first: true,
    };
    let notice = Notice {
        names: HashMap::from([(name.clone(), changed)]),
        ..Notice::of_expired(b"expired")
    };
    queues.add(HashMap::from([(7, notice)]));
    drop(next(&queues).unwrap());
    assert!(next(&queues).is_none());
    let due = || {
        let mut state = queues.state.lock();
        state.repetitions.since = Instant::now().checked_sub(REPEATED);
    };
    due();
    queues.tend();
    assert!(next(&queues).is_none(), "at least a whole period");
    due();
    queues.tend();
    let (7, notice, _job) = taken(&queues) else {
        panic!("7 is to come");
    };
    assert!(!notice.names[&name].is_first);
    assert_eq!(notice.names[&name].lost_by, lost_by);
    assert_eq!(notice.expired, HashSet::from([b"expired"[..].into()]));
    assert_eq!(queues.tend().next, Some(TENDED), "7 is worked on");
}

/// Law F5: the kernel may have been told of any number of files that it has taken no note of.
#[test]
fn f5_what_is_awaited_is_no_overflow_and_each_has_its_turn() {
    let queues = Queues::default();
    let count = 3 * MOST_WAITING as u64;
    (1..=count).for_each(|number| queues.await_inode(number));
    queues.state.lock().awaited.next = Some((Instant::now(), AWAITED.0));
    let mut tried = HashSet::new();
    while tried.len() < 3 * MOST_WAITING {
        let tended = queues.tend();
        assert!(!tended.is_full);
        assert!(tended.next.is_some_and(|next| next <= AWAITED.1));
        while let Some((number, job)) = next(&queues) {
            drop(job);
            queues.await_inode(number);
            assert!(tried.insert(number), "not before the others");
        }
    }
}

impl Queues {
    /// Has every job begun earlier.
    pub(in super::super) fn age_running(&self, by: Duration) {
        for since in self.state.lock().running.values_mut() {
            *since = since.checked_sub(by).unwrap();
        }
    }
}
