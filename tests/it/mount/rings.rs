//! FUSE over io_uring: which threads serve, and that none holds up another.

use std::fs;
use std::thread;

use super::locks::Locker;
use crate::support::cpu::{bind, first};
use crate::support::{Tree, needs, status};

#[test]
fn each_cpu_has_threads_of_its_own() {
    if !needs::rings("threads of each CPU") {
        return;
    }
    let tree = Tree::new();
    let mount = tree.mount(&["--threads", "3"]);
    let transport = &status::of(&mount.point())["transport"];
    assert_eq!(transport["kind"], "io_uring");
    assert_eq!(transport["threads_per_cpu"], 3);
    let mut bound = 0;
    for (name, task) in mount.threads() {
        let name = String::from_utf8(name).unwrap();
        let Some(cpu) = name.strip_prefix("ring-") else {
            continue;
        };
        let cpu = cpu.split('-').next().unwrap();
        let status = fs::read_to_string(task.join("status")).unwrap();
        bound += usize::from(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")));
    }
    let online = thread::available_parallelism().unwrap().get();
    assert!(
        bound >= 3 * online,
        "{bound} threads are bound to their CPU"
    );
    mount.stop();
}

#[test]
fn without_them_requests_come_by_the_device() {
    let tree = Tree::new();
    tree.file(b"file", b"content");
    let mount = tree.mount(&["--uring", "off"]);
    assert_eq!(fs::read(mount.point().join("file")).unwrap(), b"content");
    let transport = &status::of(&mount.point())["transport"];
    assert_eq!(transport["kind"], "device");
    assert_eq!(transport["no_rings"], "off");
    mount.stop();
}

#[test]
fn on_one_cpu_requests_come_by_the_device() {
    let tree = Tree::new();
    bind(None, first());
    let mount = tree.mount(&[]);
    let transport = &status::of(&mount.point())["transport"];
    assert_eq!(transport["kind"], "device");
    if needs::rings("why there are none on one CPU") {
        assert_eq!(transport["no_rings"], "one-cpu");
    }
    mount.stop();
}

/// Programs wait for a lock, on each CPU as many as it would have threads: requests come by the device, which serves others meanwhile.
#[test]
fn where_programs_wait_for_locks_requests_come_by_the_device() {
    const WAITERS: usize = 12;
    let tree = Tree::new();
    tree.file(b"locked", b"");
    let mount = tree.mount(&["--locks", "backing", "--threads", "4"]);
    let transport = &status::of(&mount.point())["transport"];
    assert_eq!(transport["kind"], "device");
    if needs::rings("why there are none with locks") {
        assert_eq!(transport["no_rings"], "locks");
    }
    let cpu = first();
    let mut lockers: Vec<Locker> = (0..=WAITERS)
        .map(|_| {
            let mut locker = Locker::start(&mount.point());
            bind(Some(locker.pid()), cpu);
            assert_eq!(locker.ask("open 1 @locked rw"), "ok");
            locker
        })
        .collect();
    let mut holder = lockers.remove(0);
    assert_eq!(holder.ask("flock 1 w"), "ok");
    for locker in &mut lockers {
        locker.tell("flock 1 w wait");
        locker.wait_until_in(libc::SYS_flock);
    }
    bind(None, cpu);
    for round in 0..20 {
        let name = mount.point().join(format!("new {round}"));
        fs::write(&name, "content").unwrap();
        fs::remove_file(name).unwrap();
    }
    // Each of them has the lock once, in whatever order.
    assert_eq!(holder.ask("flock 1 u"), "ok");
    thread::scope(|scope| {
        for locker in &mut lockers {
            scope.spawn(|| {
                assert_eq!(locker.answer(), "ok");
                assert_eq!(locker.ask("flock 1 u"), "ok");
            });
        }
    });
    drop((holder, lockers));
    mount.stop();
}

/// Writes of a megabyte do not fit where the arguments of other requests are copied to.
#[test]
fn long_writes_and_reads_come_whole() {
    let tree = Tree::new();
    let mount = tree.mount(&["--passthrough", "off"]);
    let content: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte % 251) as u8).collect();
    let file = mount.point().join("long");
    fs::write(&file, &content).unwrap();
    assert!(fs::read(tree.backing().join("long")).unwrap() == content);
    assert!(fs::read(&file).unwrap() == content);
    mount.stop();
}
