//! Numbers, times and names as bytes, little-endian.

use crate::backing::{Kind, Time};
use crate::names::BackingName;
use crate::tree::change::InodeId;

/// Bytes being written.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn time(&mut self, time: Time) {
        self.0.extend(time.secs.to_le_bytes());
        self.u32(time.nanos);
    }

    pub(super) fn id(&mut self, id: &InodeId) {
        self.u64(id.ino);
        self.u8(id.born.is_some().into());
        if let Some(born) = id.born {
            self.time(born);
        }
    }

    /// Bytes with their number in front; `None` if that does not fit.
    pub(super) fn octets(&mut self, octets: &[u8]) -> Option<()> {
        self.u32(u32::try_from(octets.len()).ok()?);
        self.0.extend(octets);
        Some(())
    }

    /// A name has 65,535 bytes at most, on any filesystem.
    pub(super) fn name(&mut self, name: &BackingName) -> Option<()> {
        let octets = name.as_bytes();
        let length = u16::try_from(octets.len()).ok()?;
        self.0.extend(length.to_le_bytes());
        self.0.extend(octets);
        Some(())
    }
}

/// Bytes being read. Everything is `None` where they are no such thing or too few.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn time(&mut self) -> Option<Time> {
        let (secs, nanos) = (self.i64()?, self.u32()?);
        (nanos < 1_000_000_000).then_some(Time { secs, nanos })
    }

    pub(super) fn id(&mut self) -> Option<InodeId> {
        let ino = self.u64()?;
        let born = match self.u8()? {
            0 => None,
            1 => Some(self.time()?),
            _ => return None,
        };
        Some(InodeId { ino, born })
    }

    pub(super) fn octets(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.take(length)
    }

    pub(super) fn name(&mut self) -> Option<BackingName> {
        let length = u16::from_le_bytes(self.array()?);
        BackingName::parse(self.take(length.into())?).ok()
    }

    /// Nothing is left.
    pub(super) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// A kind as it stands in a mode, shifted down (`d_type`).
pub(super) fn kind_octet(kind: Kind) -> u8 {
    u8::try_from(kind.mode_bits() >> 12).unwrap_or(0)
}
