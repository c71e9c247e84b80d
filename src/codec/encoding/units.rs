//! UTF-16, UCS-2 and UCS-4: units of two or four octets.

use super::{DecodeError, Malformed, is_surrogate, malformed, pair_of, paired};

/// A kind of code unit, and how units make a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// 16 bits; beyond U+FFFF two of them, a pair of surrogates, which are nothing by themselves.
    Utf16,
    /// 16 bits: a code point.
    Ucs2,
    /// 32 bits, the highest of them 0: a code point.
    Ucs4,
}

/// The order of a unit's octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The highest first.
    Big,
    /// The lowest first.
    Little,
}

impl Unit {
    /// The greatest code point.
    pub(super) fn limit(self) -> u32 {
        match self {
            Self::Utf16 => 0x10_FFFF,
            Self::Ucs2 => 0xFFFF,
            Self::Ucs4 => 0x7FFF_FFFF,
        }
    }

    /// Octets in a unit.
    pub(super) fn octets(self) -> usize {
        match self {
            Self::Utf16 | Self::Ucs2 => 2,
            Self::Ucs4 => 4,
        }
    }

    /// The unit that `bytes` start with, if it is there whole.
    pub(super) fn read(self, order: Order, bytes: &[u8]) -> Option<u32> {
        let octets = bytes.get(..self.octets())?.iter();
        let add = |unit, octet: &u8| unit << 8 | u32::from(*octet);
        Some(match order {
            Order::Big => octets.fold(0, add),
            Order::Little => octets.rev().fold(0, add),
        })
    }

    fn write(self, unit: u32, order: Order, bytes: &mut Vec<u8>) {
        let octets = unit.to_le_bytes().into_iter().take(self.octets());
        match order {
            Order::Big => bytes.extend(octets.rev()),
            Order::Little => bytes.extend(octets),
        }
    }
}

/// The character that `bytes`, which are not empty, start with, and its length in octets.
pub(super) fn first(bytes: &[u8], unit: Unit, order: Order) -> Result<(u32, usize), DecodeError> {
    let octets = unit.octets();
    let Some(value) = unit.read(order, bytes) else {
        return malformed(bytes.len(), Malformed::Truncated);
    };
    match unit {
        Unit::Ucs4 if value > unit.limit() => malformed(octets, Malformed::OutOfRange(value)),
        Unit::Utf16 if is_surrogate(value) => {
            let next = bytes.get(octets..).unwrap_or_default();
            match unit.read(order, next) {
                Some(low) => match paired(value, low) {
                    Some(code_point) => Ok((code_point, 2 * octets)),
                    None => malformed(octets, Malformed::Surrogate(value)),
                },
                None if value < 0xDC00 && may_be_low(next, order) => {
                    malformed(bytes.len(), Malformed::Truncated)
                }
                None => malformed(octets, Malformed::Surrogate(value)),
            }
        }
        Unit::Utf16 | Unit::Ucs2 | Unit::Ucs4 => Ok((value, octets)),
    }
}

/// Can these octets, less than a unit, start a surrogate of the lower half?
fn may_be_low(octets: &[u8], order: Order) -> bool {
    match (octets, order) {
        (&[high, ..], Order::Big) => matches!(high, 0xDC..=0xDF),
        _ => true,
    }
}

/// Adds the code points of the units at the start of `bytes` that are characters by themselves, in whole blocks, and
/// gives what is behind them.
pub(super) fn take_run<'a>(
    bytes: &'a [u8],
    unit: Unit,
    order: Order,
    code_points: &mut Vec<u32>,
) -> &'a [u8] {
    match (unit, order) {
        (Unit::Utf16 | Unit::Ucs2, Order::Big) => {
            let value = |octets| u16::from_be_bytes(octets).into();
            take_blocks(bytes, unit, value, code_points)
        }
        (Unit::Utf16 | Unit::Ucs2, Order::Little) => {
            let value = |octets| u16::from_le_bytes(octets).into();
            take_blocks(bytes, unit, value, code_points)
        }
        (Unit::Ucs4, Order::Big) => take_blocks(bytes, unit, u32::from_be_bytes, code_points),
        (Unit::Ucs4, Order::Little) => take_blocks(bytes, unit, u32::from_le_bytes, code_points),
    }
}

/// Number of units that are looked at together.
const BLOCK: usize = 16;

/// Adds the code points of the units of N octets at the start of `bytes`, a block at a time, for as long as `value`
/// returns one for each. Returns the rest.
#[inline]
fn take_blocks<'a, const N: usize>(
    bytes: &'a [u8],
    unit: Unit,
    value: impl Fn([u8; N]) -> u32,
    code_points: &mut Vec<u32>,
) -> &'a [u8] {
    let (units, _) = bytes.as_chunks::<N>();
    let (blocks, _) = units.as_chunks::<BLOCK>();
    let has_exception = |values: &[u32; BLOCK]| match unit {
        Unit::Utf16 => {
            let surrogates = values.iter().map(|&value| value & 0xF800 == 0xD800);
            surrogates.fold(false, |found, one| found | one)
        }
        Unit::Ucs2 => false,
        // The limit is all ones.
        Unit::Ucs4 => values.iter().fold(0, |all, value| all | value) > unit.limit(),
    };
    let mut done = 0;
    for block in blocks {
        let values = block.map(&value);
        if has_exception(&values) {
            break;
        }
        code_points.extend_from_slice(&values);
        done += BLOCK * N;
    }
    bytes.get(done..).unwrap_or_default()
}

/// Adds the octets of `code_point`; `None` if there are none.
pub(super) fn push(code_point: u32, unit: Unit, order: Order, bytes: &mut Vec<u8>) -> Option<()> {
    match unit {
        _ if code_point > unit.limit() => return None,
        Unit::Utf16 if is_surrogate(code_point) => return None,
        Unit::Utf16 if code_point > 0xFFFF => {
            let (high, low) = pair_of(code_point);
            unit.write(high, order, bytes);
            unit.write(low, order, bytes);
        }
        Unit::Utf16 | Unit::Ucs2 | Unit::Ucs4 => unit.write(code_point, order, bytes),
    }
    Some(())
}
