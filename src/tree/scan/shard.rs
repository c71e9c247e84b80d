//! A part of a tree, or of a list, that one of several scans looks at.

use std::str::FromStr;

use super::ascii_names;
use crate::names::BackingName;
use crate::records::join_path;

/// A part of a tree or list. The parts of one tree have no directory in common, and are all of it together.
///
/// A directory `depth` levels below a root belongs to one part with all that is below it. The names that lead to it
/// decide which: the same on every host, and whatever lies beside it. Those above are read in every part, and judged
/// in one. So a directory is never divided, and names that collide are in one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Its number, counted from 1.
    pub number: u64,
    /// The number of parts.
    pub of: u64,
    /// The depth below a root at which directories are shared out.
    pub depth: usize,
}

/// The depth where none is asked for: homes of users, say, by groups.
const USUAL_DEPTH: usize = 2;

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// More hosts than there are.
        const MOST: u64 = 65_536;
        let parts = text.split_once('/').filter(|_| !text.contains('+'));
        let parts = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) && of <= MOST => Ok(Self {
                number,
                of,
                depth: USUAL_DEPTH,
            }),
            _ => Err(format!(
                "it must be I/N, with I from 1 to N and N up to {MOST}"
            )),
        }
    }
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self {
        number: 1,
        of: 1,
        depth: 1,
    };

    /// Is the directory that these names lead to judged in this part? One below the depth is where that at the depth is.
    pub(super) fn has(self, root: usize, names: &[BackingName]) -> bool {
        let names = names.get(..self.depth).unwrap_or(names);
        self.has_path(root, &join_path(names))
    }

    /// Is the directory of this very path in a list judged in this part?
    pub(super) fn has_path(self, root: usize, path: &[u8]) -> bool {
        let root = u64::try_from(root).unwrap_or(u64::MAX);
        mixed(ascii_names::key(path) ^ root.rotate_left(40)) % self.of == self.number - 1
    }
}

/// The last steps of `MurmurHash3`: every bit of the number decides on every bit of the result.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let number = (number ^ (number >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    number ^ (number >> 33)
}

#[cfg(test)]
mod tests {
    use super::Shard;
    use crate::names::BackingName;

    fn name_of(name: &[u8]) -> BackingName {
        BackingName::parse(name).unwrap()
    }

    #[test]
    fn parts_are_numbered_from_one() {
        for wrong in ["0/1", "2/1", "1/0", "1", "+1/2", "1/65537"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        let last = Shard {
            number: 8,
            of: 8,
            depth: 2,
        };
        assert_eq!("8/8".parse(), Ok(last));
    }

    /// Hosts of any kind have to agree.
    #[test]
    fn what_is_in_which_part_never_changes() {
        let part_of = |names: &[&[u8]]| {
            let path: Vec<_> = names.iter().map(|name| name_of(name)).collect();
            let has = |number| {
                let (of, depth) = (8, 2);
                Shard { number, of, depth }.has(0, &path)
            };
            let parts: Vec<u64> = (1..=8).filter(|number| has(*number)).collect();
            let [part] = parts[..] else {
                panic!("{names:?} is in {parts:?}");
            };
            part
        };
        let rows: [(&[&[u8]], u64); 4] = [
            (&[], 1),
            (&[b"home"], 4),
            (&[b"home", b"caf\xE9"], 5),
            (&[b"home", b"b"], 1),
        ];
        for (names, part) in rows {
            assert_eq!(part_of(names), part, "{names:?}");
        }
        let deep: [&[u8]; 4] = [b"home", b"caf\xE9", b"x", b"y"];
        assert_eq!(part_of(&deep), part_of(&[b"home", b"caf\xE9"]));
    }

    #[test]
    fn parts_are_about_as_large() {
        for of in [2_u64, 3, 8, 100] {
            let shards: Vec<Shard> = (1..=of)
                .map(|number| Shard {
                    number,
                    of,
                    depth: 1,
                })
                .collect();
            let mut sizes = vec![0_u64; shards.len()];
            for number in 0..of * 1000 {
                let name = format!("user{number:06}");
                for (size, shard) in sizes.iter_mut().zip(&shards) {
                    *size += u64::from(shard.has(0, &[name_of(name.as_bytes())]));
                }
            }
            assert_eq!(sizes.iter().sum::<u64>(), of * 1000);
            assert!(
                sizes.iter().all(|size| (850..1150).contains(size)),
                "{sizes:?}"
            );
        }
    }
}
