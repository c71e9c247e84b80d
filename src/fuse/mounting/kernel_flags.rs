//! The flags of a mount.

use rustix::mount::MountFlags as KernelFlags;

/// Each flag: the word of `mount -o` that sets it, the word that clears it, and the kernel's flag.
const FLAGS: [(&str, &str, KernelFlags); 10] = [
    ("ro", "rw", KernelFlags::RDONLY),
    ("nosuid", "suid", KernelFlags::NOSUID),
    ("nodev", "dev", KernelFlags::NODEV),
    ("noexec", "exec", KernelFlags::NOEXEC),
    ("noatime", "atime", KernelFlags::NOATIME),
    ("nodiratime", "diratime", KernelFlags::NODIRATIME),
    ("relatime", "norelatime", KernelFlags::RELATIME),
    ("strictatime", "nostrictatime", KernelFlags::STRICTATIME),
    ("sync", "async", KernelFlags::SYNCHRONOUS),
    // mount(8) has no word that clears it.
    ("dirsync", "dirsync", KernelFlags::DIRSYNC),
];

/// `suid` and `dev` are defaults of mount(8), which drops them before it calls its helper. These words reach it.
const ALLOWS: [(&str, KernelFlags); 2] = [
    ("allow_suid", KernelFlags::NOSUID),
    ("allow_dev", KernelFlags::NODEV),
];

/// The flags of which only the last holds.
const ACCESS_TIMES: KernelFlags = KernelFlags::NOATIME
    .union(KernelFlags::RELATIME)
    .union(KernelFlags::STRICTATIME);

/// The flags that mount(8) calls filesystem-independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountFlags(pub(super) KernelFlags);

impl MountFlags {
    /// Returns the flags that words of `mount -o`, such as `ro` and `suid`, make of `nosuid` and `nodev`. Of words that contradict
    /// each other the later holds, but `nosuid` and `nodev` before `allow_suid` and `allow_dev` in any order: mount(8) does not keep
    /// the order. Unknown words are without effect.
    pub fn of(words: &[&str]) -> Self {
        let mut flags = KernelFlags::NOSUID | KernelFlags::NODEV;
        for (_, flag) in ALLOWS.iter().filter(|(allow, _)| words.contains(allow)) {
            flags.remove(*flag);
        }
        for word in words {
            let mut known = FLAGS.iter();
            if let Some((on, _, flag)) = known.find(|(on, off, _)| [on, off].contains(&word)) {
                if word == on && ACCESS_TIMES.contains(*flag) {
                    flags.remove(ACCESS_TIMES);
                }
                flags.set(*flag, word == on);
            }
        }
        Self(flags)
    }

    /// Returns all words that [`Self::of`] knows.
    pub fn all_words() -> impl Iterator<Item = &'static str> {
        let of_flags = FLAGS.into_iter().flat_map(|(on, off, _)| [on, off]);
        of_flags.chain(ALLOWS.map(|(allow, _)| allow))
    }

    /// Is the flag set that this word sets?
    pub fn has(self, word: &str) -> bool {
        self.words().any(|set| set == word)
    }

    /// Returns the words of those that are set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let set = FLAGS
            .into_iter()
            .filter(move |(.., flag)| self.0.contains(*flag));
        set.map(|(word, ..)| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_sets_or_clears_its_flag_and_no_other() {
        for (on, off, flag) in FLAGS {
            assert!(MountFlags::of(&[on]).has(on));
            assert_eq!(MountFlags::of(&[off, on]).0.difference(flag), {
                let default = KernelFlags::NOSUID | KernelFlags::NODEV;
                default.difference(flag)
            });
            assert_eq!(MountFlags::of(&[on, off]).has(on), on == off);
        }
        let words = ["defaults", "RO", "", "suid", "dev"];
        assert_eq!(MountFlags::of(&words).words().count(), 0);
    }

    #[test]
    fn what_is_allowed_for_fstab_holds_unless_it_is_forbidden_before_or_after() {
        for (words, set) in [
            (&["allow_suid"][..], &["nodev"][..]),
            (&["allow_dev"], &["nosuid"]),
            (&["allow_suid", "allow_dev"], &[]),
            // As mount(8) gives what a line has that says user,allow_suid.
            (
                &["noexec", "nosuid", "nodev", "allow_suid"],
                &["nosuid", "nodev", "noexec"],
            ),
            (&["allow_suid", "allow_dev", "nosuid"], &["nosuid"]),
            // And user,suid,allow_dev.
            (&["noexec", "nosuid", "allow_dev", "suid"], &["noexec"]),
        ] {
            let got: Vec<_> = MountFlags::of(words).words().collect();
            assert_eq!(got, set, "{words:?}");
        }
    }
}
