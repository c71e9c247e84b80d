//! Other spellings of names, which come and go with `mode = "normalize"`.

use rustix::io::Errno;

use super::{BAD, IN_FORCE, Policy};
use crate::support::{Tree, at};

const START: &str = "from = \"iso-8859-1\"\n";
const SPELT: &[u8] = "caf\u{e9}".as_bytes();

/// A policy that normalizes no more leaves no trace of it: each name does what it does on a mount that never did.
#[test]
fn spellings_end_with_the_policy_that_gave_them() {
    let normalizing = [
        "mode = \"normalize\"",
        "[[section]]\npath = \"/elsewhere/**\"\nmode = \"normalize\"",
    ];
    for first in normalizing {
        for (later, is_made) in [("off", true), ("report", true), ("enforce", false)] {
            let tree = Tree::new();
            let policy = Policy::new(&tree, &[START, first].concat());
            let mount = tree.mount(&policy.option());
            at::write_new(mount.dir(), SPELT, b"old").unwrap();
            at::write_new(mount.dir(), b"two", b"two").unwrap();
            assert_eq!(at::read(mount.dir(), BAD).unwrap(), b"old");

            policy.replace(&format!("{START}mode = \"{later}\""));
            assert_eq!(policy.reload(&mount), IN_FORCE);
            assert_eq!(at::stat(mount.dir(), BAD).err(), Some(Errno::NOENT));
            let renamed = at::rename(mount.dir(), b"two", BAD);
            let expected = if is_made { Ok(()) } else { Err(Errno::ILSEQ) };
            assert_eq!(renamed, expected, "{first} {later}");
            assert_eq!(at::read(mount.dir(), SPELT).unwrap(), b"old", "{later}");
            assert_eq!(at::sorted(mount.dir()).len(), 2, "{first} {later}");
            if is_made {
                assert_eq!(at::read(mount.dir(), BAD).unwrap(), b"two", "{later}");
            }

            // And come back with it.
            policy.replace(&[START, first].concat());
            assert_eq!(policy.reload(&mount), IN_FORCE);
            let there: &[u8] = if is_made { b"two" } else { b"old" };
            assert_eq!(at::read(mount.dir(), BAD).unwrap(), there, "{later}");
            mount.stop();
        }
    }
}
