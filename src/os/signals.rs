//! Threads of other programs that wait for an answer: has a signal come for one?

/// Has a signal come that would end the waiting of thread `tid`? `None` where that can't be told.
///
/// From `/proc/TID/status` (proc(5)). A signal for a whole program is said to have come to its first thread, unless that
/// one blocks it: the kernel gives it to another only then.
#[must_use]
pub fn is_interrupted(tid: u32) -> Option<bool> {
    if tid == 0 {
        return None;
    }
    let status = super::status_of(tid).ok()?;
    interrupted_by(&status, tid)
}

fn interrupted_by(status: &[u8], tid: u32) -> Option<bool> {
    let field = |name: &str| {
        status
            .split(|&byte| byte == b'\n')
            .find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":"))
            .and_then(|value| core::str::from_utf8(value).ok())
            .map(str::trim)
    };
    let signals = |name| u64::from_str_radix(field(name)?, 16).ok();
    let blocked = signals("SigBlk")?;
    let is_first = field("Tgid")? == tid.to_string() || field("Threads")? == "1";
    let shared = if is_first { signals("ShdPnd")? } else { 0 };
    Some((signals("SigPnd")? | shared) & !blocked != 0)
}

#[cfg(test)]
mod tests {
    use super::{interrupted_by, is_interrupted};

    fn status(tgid: u32, threads: u32, own: &str, shared: &str, blocked: &str) -> Vec<u8> {
        format!(
            "Name:\tx\nTgid:\t{tgid}\nPid:\t7\nThreads:\t{threads}\nSigQ:\t0/1\nSigPnd:\t{own}\n\
            ShdPnd:\t{shared}\nSigBlk:\t{blocked}\nSigIgn:\t0000000000000000\n"
        )
        .into_bytes()
    }

    #[test]
    fn a_signal_counts_where_it_is_for_this_thread_and_not_blocked() {
        const NONE: &str = "0000000000000000";
        const KILL: &str = "0000000000000100";
        // The first thread's number, threads, pending for the thread, for the program, blocked, expected.
        let rows = [
            (7, 1, NONE, NONE, NONE, false),
            (7, 1, KILL, NONE, NONE, true),
            (7, 1, NONE, KILL, NONE, true),
            (7, 1, NONE, KILL, KILL, false),
            (7, 3, NONE, KILL, NONE, true),
            (6, 3, NONE, KILL, NONE, false),
            (6, 3, KILL, NONE, NONE, true),
            (6, 3, KILL, NONE, KILL, false),
        ];
        for (tgid, threads, own, shared, blocked, expected) in rows {
            let status = status(tgid, threads, own, shared, blocked);
            assert_eq!(interrupted_by(&status, 7), Some(expected), "{tgid} {own}");
        }
        assert_eq!(interrupted_by(b"Name:\tx\n", 7), None);
    }

    #[test]
    fn nobody_and_ourselves_are_told_apart() {
        assert_eq!(is_interrupted(0), None);
        assert_eq!(is_interrupted(std::process::id()), Some(false));
    }
}
