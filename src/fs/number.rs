//! Numbers of files towards the kernel.

use std::sync::Mutex;

use super::inode::{ROOT, lock};

/// Numbers of files towards the kernel. The kernel wants 1 for the root, and fuser wants the number of each inode to
/// be its `st_ino`: so the root's and 1 change places, and files of other devices get their device's index on top.
#[derive(Debug)]
pub(super) struct Numbering {
    root_dev: u64,
    root_ino: u64,
    others: Mutex<Vec<u64>>,
}

impl Numbering {
    pub(super) fn new(root_dev: u64, root_ino: u64) -> Self {
        Self {
            root_dev,
            root_ino,
            others: Mutex::new(Vec::new()),
        }
    }

    /// The number of the file `ino` on the root's device.
    pub(super) fn on_root_device(&self, ino: u64) -> u64 {
        self.number(self.root_dev, ino)
    }

    /// The number of the file `ino` on `dev`.
    pub(super) fn number(&self, dev: u64, ino: u64) -> u64 {
        if dev != self.root_dev {
            let mut others = lock(&self.others);
            let index = others
                .iter()
                .position(|&other| other == dev)
                .unwrap_or_else(|| {
                    others.push(dev);
                    others.len() - 1
                });
            return ino ^ ((index as u64 + 1) << 48);
        }
        match ino {
            ino if ino == self.root_ino => ROOT,
            ROOT => self.root_ino,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_and_1_change_places_and_devices_are_told_apart() {
        let numbering = Numbering::new(7, 42);
        assert_eq!(numbering.on_root_device(42), ROOT);
        assert_eq!(numbering.on_root_device(1), 42);
        assert_eq!(numbering.number(7, 43), 43);
        let others = [
            numbering.number(8, 42),
            numbering.number(9, 42),
            numbering.number(8, 42),
        ];
        assert_eq!(others[0], others[2]);
        assert!(others[0] != others[1] && !others.contains(&42) && !others.contains(&ROOT));
    }
}
