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

/// The flags that mount(8) calls filesystem-independent; none is set by default.
///
/// fusermount3 always sets `nosuid` and `nodev` for an ordinary user, and does not know `nodiratime`, `relatime`
/// and `strictatime`. Those are not handed to it: FUSE leaves access times to the daemon anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountFlags(pub(super) KernelFlags);

impl Default for MountFlags {
    fn default() -> Self {
        Self(KernelFlags::empty())
    }
}

impl MountFlags {
    /// Takes one word of `mount -o`, such as `ro` or `suid`, and says whether it is one of these flags.
    pub fn set(&mut self, word: &str) -> bool {
        let known = FLAGS
            .iter()
            .find(|(on, off, _)| [*on, *off].contains(&word));
        known.is_some_and(|(on, _, flag)| {
            self.0.set(*flag, word == *on);
            true
        })
    }

    /// Returns all words that [`Self::set`] takes.
    pub fn all_words() -> impl Iterator<Item = &'static str> {
        FLAGS.into_iter().flat_map(|(on, off, _)| [on, off])
    }

    /// Is the flag set that this word sets?
    #[must_use]
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

    /// Returns the words that fusermount3 knows.
    pub(super) fn to_helper(self) -> impl Iterator<Item = &'static str> {
        self.words()
            .filter(|word| !matches!(*word, "nodiratime" | "relatime" | "strictatime"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_mount_that_are_flags_are_taken() {
        let mut flags = MountFlags::default();
        for word in [
            "ro",
            "nosuid",
            "nodev",
            "noexec",
            "noatime",
            "nodiratime",
            "relatime",
            "strictatime",
            "sync",
            "dirsync",
        ] {
            assert!(flags.set(word));
        }
        assert_eq!(flags.0.iter().count(), 10);
        for word in [
            "rw",
            "suid",
            "dev",
            "exec",
            "atime",
            "diratime",
            "norelatime",
            "nostrictatime",
            "async",
        ] {
            assert!(flags.set(word));
        }
        assert_eq!(flags.words().collect::<Vec<_>>(), ["dirsync"]);
        assert!(!flags.set("defaults") && !flags.set("RO") && !flags.set(""));
    }
}
