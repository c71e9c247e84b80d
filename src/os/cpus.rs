//! The CPUs of the machine (`/sys/devices/system/cpu`).

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the numbers of the CPUs in one of the kernel's lists, in order: those that can ever run (`possible`), by which it numbers
/// its queues, or those that run now (`online`).
///
/// # Errors
/// The kernel does not say, or in no known form.
pub fn cpus(list: &str) -> io::Result<Vec<usize>> {
    let list = std::fs::read_to_string(format!("/sys/devices/system/cpu/{list}"))?;
    parse(&list).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Runs this thread on `cpu` alone.
///
/// # Errors
/// `EINVAL`: the CPU is offline, or not for this process (cpuset(7)).
pub fn run_on(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Returns the number of CPUs that this thread may run on; 0 where the machine has more than the C library's set holds.
pub fn cpus_allowed() -> u32 {
    sched_getaffinity(None).map_or(0, |allowed| allowed.count())
}

/// The numbers of a list such as `0-3,8`.
fn parse(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_hold_numbers_and_ranges() {
        let rows = [
            ("0\n", Some(vec![0])),
            ("0-1\n", Some(vec![0, 1])),
            ("0,2-4,7\n", Some(vec![0, 2, 3, 4, 7])),
            ("\n", None),
            ("0-\n", None),
        ];
        for (list, expected) in rows {
            assert_eq!(parse(list), expected, "{list:?}");
        }
        let online = cpus("online").unwrap();
        let possible = cpus("possible").unwrap();
        assert!(online.iter().all(|cpu| possible.contains(cpu)));
        assert!(!online.is_empty());
    }

    #[test]
    fn a_thread_runs_on_the_one_cpu_it_is_bound_to() {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU)
            .find(|cpu| allowed.is_set(*cpu))
            .unwrap();
        std::thread::spawn(move || {
            run_on(cpu).unwrap();
            assert_eq!(rustix::thread::sched_getcpu(), cpu);
        })
        .join()
        .unwrap();
        assert!(run_on(CpuSet::MAX_CPU).is_err());
    }
}
