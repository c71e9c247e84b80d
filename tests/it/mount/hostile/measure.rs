//! What hostile directories cost, for `scripts/long hostile`; it prints, and judges by processor time alone.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::names::crowds::{Crowd, PEACEFUL};
use crate::support::{Mount, Tree, at};

/// How much more than ten times a hostile directory of ten times the size may take: n log n from 10,000 to 100,000 is
/// 12.5 times as much. What a peaceful directory takes beyond ten times is the machine's share, whose caches end there.
const MOST_GROWTH: f64 = 1.3;

/// How often a directory is measured at most; other work on the machine makes a figure larger, never smaller.
const ROUNDS: usize = 3;

/// One of the things that are done to a directory.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Processor time of the daemon, in its own code and in the kernel.
    daemon: f64,
}

impl Cost {
    fn growth(&self, before: &Self) -> f64 {
        self.daemon / before.daemon.max(0.01)
    }
}

/// What a directory cost.
struct Costs {
    steps: [(&'static str, Cost); 3],
    /// The most memory that the daemon had.
    peak_kib: u64,
    /// Lookups of a neighbour's meanwhile: half of them took no longer, and none did.
    neighbour: (Duration, Duration),
}

impl Costs {
    /// Takes the lesser of two measurements: what else the machine does only adds.
    fn or_less(&mut self, other: &Self) {
        for ((_, one), (_, other)) in self.steps.iter_mut().zip(&other.steps) {
            one.wall = one.wall.min(other.wall);
            one.daemon = one.daemon.min(other.daemon);
        }
        self.peak_kib = self.peak_kib.min(other.peak_kib);
        self.neighbour = self.neighbour.min(other.neighbour);
    }
}

/// The steps that cost too much for ten times the names.
fn grown(few: &Costs, many: &Costs, machine: &[f64; 3]) -> Vec<&'static str> {
    let steps = few.steps.iter().zip(&many.steps).zip(machine);
    steps
        .filter(|(((_, before), (_, cost)), machine)| {
            // What takes a few ticks of the clock cannot be compared.
            cost.daemon - 0.02 > MOST_GROWTH * **machine * (before.daemon + 0.02)
        })
        .map(|((_, (step, _)), _)| *step)
        .collect()
}

fn processor_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // The name of the program is in parentheses, and has no others.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks: f64 = [11, 12]
        .map(|field| fields[field].parse::<f64>().unwrap())
        .iter()
        .sum();
    // USER_HZ, which is 100 wherever Linux tells ticks to programs.
    ticks / 100.0
}

fn peak_kib(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

/// Looks a mapped name up again and again, which the kernel never keeps, until the sender of `over` is gone.
fn neighbour(mount: &Mount<'_>, over: &Receiver<()>) -> (Duration, Duration) {
    let beside = mount.sub("beside");
    let name = at::list(&beside).remove(0);
    let mut took = Vec::new();
    while over.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
        let start = Instant::now();
        at::stat(&beside, &name).unwrap();
        took.push(start.elapsed());
    }
    took.sort_unstable();
    (took[took.len() / 2], took[took.len() - 1])
}

fn run(program: &str, arguments: &[&str], path: &Path) {
    let mut command = Command::new(program);
    command.args(arguments).arg(path).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "{program}");
}

/// As often as it takes.
fn remove(crowd: &Crowd, path: &Path) {
    let is_done = (0..crowd.runs).any(|_| {
        let mut rm = Command::new("rm");
        rm.arg("-rf").arg(path).stderr(Stdio::null());
        rm.status().unwrap().success()
    });
    assert!(is_done, "{}", crowd.label);
}

fn stat_each(dir: impl AsFd) {
    for name in at::list(&dir) {
        at::stat(&dir, &name).unwrap();
    }
}

fn measure(crowd: &Crowd, count: usize) -> Costs {
    let tree = Tree::in_memory();
    let below = tree.directory(b"crowd");
    for name in crowd.names(count) {
        at::write_new(&below, &name, b"").unwrap();
    }
    at::write_new(tree.directory(b"beside"), b"caf\xE9", b"").unwrap();
    let mount = tree.mount(crowd.options);
    let path = mount.point().join("crowd");
    let timed = |act: &dyn Fn()| {
        let (start, before) = (Instant::now(), processor_seconds(mount.id()));
        act();
        Cost {
            wall: start.elapsed(),
            daemon: processor_seconds(mount.id()) - before,
        }
    };
    let (steps, neighbour) = std::thread::scope(|scope| {
        // Dropped also where something fails.
        let (until, over) = channel();
        let mount = &mount;
        let beside = scope.spawn(move || neighbour(mount, &over));
        let steps = [
            ("ls", timed(&|| run("ls", &["-U"], &path))),
            ("stat each", timed(&|| stat_each(mount.sub("crowd")))),
            ("rm -rf", timed(&|| remove(crowd, &path))),
        ];
        drop(until);
        (steps, beside.join().unwrap())
    });
    assert_eq!(at::list(tree.below_dir()), [b"beside"]);
    let peak_kib = peak_kib(mount.id());
    mount.stop();
    Costs {
        steps,
        peak_kib,
        neighbour,
    }
}

/// Prints the table, and fails where ten times the names cost more than n log n.
#[test]
#[ignore = "measures; scripts/long hostile runs it"]
fn costs() {
    let count = std::env::var("UTF8FS_HOSTILE_ENTRIES").map_or(10_000, |n| n.parse().unwrap());
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "directory        entries  step       wall ms  daemon ms   times  peak MB  neighbour: median, worst ms"
    );
    let mut too_much = Vec::new();
    let mut machine = [10.0; 3];
    for (kind, crowd) in std::iter::once(&PEACEFUL).chain(Crowd::ALL).enumerate() {
        let (mut few, mut many) = (measure(crowd, count), measure(crowd, 10 * count));
        for _ in 1..ROUNDS {
            if kind > 0 && grown(&few, &many, &machine).is_empty() {
                break;
            }
            few.or_less(&measure(crowd, count));
            many.or_less(&measure(crowd, 10 * count));
        }
        for (costs, entries) in [(&few, count), (&many, 10 * count)] {
            for (place, (step, cost)) in costs.steps.iter().enumerate() {
                println!(
                    "{:<16} {entries:>7}  {step:<9} {:>8.0}  {:>9.0}  {:>6.1}  {:>7.1}  {:.2}, {:.1}",
                    crowd.label,
                    ms(cost.wall),
                    cost.daemon * 1e3,
                    cost.growth(&few.steps[place].1),
                    (costs.peak_kib as f64) / 1024.0,
                    ms(costs.neighbour.0),
                    ms(costs.neighbour.1),
                );
            }
        }
        if kind == 0 {
            machine = [0, 1, 2].map(|place| {
                let (few, many) = (few.steps[place].1, many.steps[place].1);
                many.growth(&few).max(10.0)
            });
        } else {
            let steps = grown(&few, &many, &machine);
            too_much.extend(steps.iter().map(|step| format!("{}: {step}", crowd.label)));
        }
    }
    assert!(too_much.is_empty(), "worse than n log n: {too_much:?}");
}
