//! Numbers of files: node ids towards the kernel, and the inode numbers that programs see.

use rustix::fs::{major, minor};

/// The root's number, by the protocol.
pub const ROOT: u64 = 1;

/// A device's number as the kernel has it, in 32 bits: 12 of the driver, 20 of its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Device(u32);

impl Device {
    /// The device that `makedev` gave `dev` for.
    pub(super) fn new(dev: u64) -> Self {
        Self((major(dev) & 0xFFF) << 20 | minor(dev) & 0xF_FFFF)
    }

    /// Returns the device in the upper half of a number. Its bits are reversed, so that those that differ most are at the top, where no
    /// inode number reaches.
    fn on_top(self) -> u64 {
        u64::from(self.0.reverse_bits()) << 32
    }
}

/// Node ids and visible inode numbers. Both depend on the file's device and inode number alone.
///
/// A node id is the kernel's key of an inode. It wants 1 for the root: so the root's and 1 change places, and files of other devices get
/// their device's number on top. Files of the root's device that are reached through another mount get one by the same way as clashes.
/// A node id can belong to another file still: to one that is gone and not forgotten yet, or to one of another device, where inode
/// numbers are over 32 bits long. Then the file gets another, see [`Numbering::other`].
///
/// The visible number of a file of the root's device is its inode number below, whatever its node id is (law F10). All files have one
/// `st_dev` here, so that those of other devices get their device's number on top.
#[derive(Debug)]
pub(super) struct Numbering {
    root: Device,
    root_ino: u64,
}

impl Numbering {
    pub(super) fn new(root_dev: u64, root_ino: u64) -> Self {
        Self {
            root: Device::new(root_dev),
            root_ino,
        }
    }

    /// The node id of the file `ino` on `device`; is it reached through another mount than the root's?
    pub(super) fn number(&self, device: Device, ino: u64, is_elsewhere: bool) -> u64 {
        if device == self.root {
            return match ino {
                ino if is_elsewhere => Self::other(device, ino, 0),
                ino if ino == self.root_ino => ROOT,
                ROOT => self.root_ino,
                other => other,
            };
        }
        match ino ^ device.on_top() {
            // 0 says "no such file" to the kernel.
            0 | ROOT => Self::other(device, ino, 0),
            number => number,
        }
    }

    /// Returns the inode number that stat(2), statx(2) and readdir(3) show.
    pub(super) fn shown(&self, device: Device, ino: u64) -> u64 {
        match device == self.root {
            true => ino,
            false => self.number(device, ino, true),
        }
    }

    /// The node id of a file whose own is taken by another, and so were `tried` others.
    pub(super) fn other(device: Device, ino: u64, tried: u32) -> u64 {
        // The finalizer of splitmix64, which leaves no two inputs alike.
        let mut hash = ino ^ u64::from(device.0).rotate_left(32) ^ u64::from(tried).rotate_left(16);
        hash = hash.wrapping_add(0x9E37_79B9_7F4A_7C15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (hash ^ hash >> 31) | 1 << 63
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::makedev;

    use super::*;

    #[test]
    fn the_root_and_1_change_places() {
        let numbering = Numbering::new(makedev(0, 7), 42);
        let root = Device::new(makedev(0, 7));
        assert_eq!(numbering.number(root, 42, false), ROOT);
        assert_eq!(numbering.number(root, 1, false), 42);
        assert_eq!(numbering.number(root, 43, false), 43);
        // Through another mount no file has the node id of one that is reached through the root's.
        assert!(numbering.number(root, 42, true) > u64::from(u32::MAX));
        for ino in [1, 42, 43] {
            assert_eq!(numbering.shown(root, ino), ino);
        }
    }

    #[test]
    fn numbers_on_other_devices_are_told_apart_in_whatever_order_they_are_seen() {
        let devices = [
            makedev(0, 8),
            makedev(0, 9),
            makedev(259, 3),
            makedev(8, 1 << 18),
        ];
        let numbers = |order: &[u64]| {
            let numbering = Numbering::new(makedev(0, 7), 42);
            let mut numbers: Vec<u64> = order
                .iter()
                .flat_map(|&dev| (1..100).map(move |ino| (dev, ino)))
                .map(|(dev, ino)| numbering.number(Device::new(dev), ino, false))
                .collect();
            numbers.sort_unstable();
            numbers
        };
        let mut reversed = devices;
        reversed.reverse();
        let all = numbers(&devices);
        assert_eq!(all, numbers(&reversed));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(
            all[0] > 1 << 40,
            "none is one of the root's device, however large that is"
        );
    }

    #[test]
    fn no_number_is_0_or_that_of_the_root() {
        let numbering = Numbering::new(makedev(0, 7), 42);
        let device = Device::new(makedev(0, 9));
        for wanted in [0, ROOT] {
            let ino = wanted ^ device.on_top();
            assert!(numbering.number(device, ino, false) > ROOT);
        }
        assert_ne!(
            Numbering::other(device, 5, 0),
            Numbering::other(device, 5, 1)
        );
    }
}
