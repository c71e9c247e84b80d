//! From any encoding or charset to any other, piece by piece of a stream.

#[cfg(test)]
mod tests;

use std::fmt;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::charset::{Charset, UnknownCharset};
use super::encoding::{Encoding, LOOKAHEAD};
use super::{DecodeError, Malformed};

/// A form of UTF-8 or what it encodes, or a legacy charset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// A form of law C1.
    Form(Encoding),
    /// A charset of law C4.
    Legacy(Charset),
}

impl Coding {
    /// Finds the form or charset with this label; neither case nor `-` and `_` matter.
    ///
    /// # Errors
    /// There is none, or it is kept out on purpose.
    pub fn from_label(label: &str) -> Result<Self, UnknownCharset> {
        match Encoding::from_label(label) {
            Some(encoding) => Ok(Self::Form(encoding)),
            None => Charset::from_label(label).map(Self::Legacy),
        }
    }

    /// The label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Form(encoding) => encoding.label(),
            Self::Legacy(charset) => charset.label(),
        }
    }

    /// See [`Encoding::decode_into`].
    fn decode_into(
        self,
        bytes: &[u8],
        is_last: bool,
        code_points: &mut Vec<u32>,
    ) -> Result<usize, DecodeError> {
        match self {
            Self::Form(encoding) => encoding.decode_into(bytes, is_last, code_points),
            Self::Legacy(charset) => charset.decode_into(bytes, is_last, code_points),
        }
    }

    /// See [`Encoding::encode_into`].
    pub(crate) fn encode_into(self, code_points: &[u32], bytes: &mut Vec<u8>) -> Result<(), usize> {
        match self {
            Self::Form(encoding) => encoding.encode_into(code_points, bytes),
            Self::Legacy(charset) => charset.encode_into(code_points, bytes),
        }
    }
}

/// The substitute for malformed or unmappable input. Each is known from some program of the past, and each but
/// UTF-8B's loses the input.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Repair {
    /// U+FFFD for each maximal subpart, as Unicode has it; ? where the target lacks U+FFFD
    Replace,
    /// U+DC80..U+DCFF for each byte, which wtf-8, utf-8b, ucs-2 and older forms can hold
    #[strum(serialize = "utf-8b")]
    Utf8b,
    /// Each byte as its character in ISO-8859-1
    Latin1,
    /// Each byte as its character in windows-1252
    #[strum(serialize = "cp1252")]
    Windows1252,
}

/// Why a conversion stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvertError {
    /// Offset of the sequence in the whole input, in bytes.
    pub offset: u64,
    /// Length of the sequence in bytes, 1 or more.
    pub length: usize,
    /// The fault of the sequence.
    pub fault: ConvertFault,
    /// The code point that the repair would put there and that the target lacks too; `None` if nothing was to be repaired.
    pub no_repair: Option<u32>,
}

/// The fault of a sequence of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConvertFault {
    /// The sequence does not decode.
    Malformed(Malformed),
    /// The target lacks this code point.
    Unmappable(u32),
}

impl fmt::Display for ConvertFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(kind) => {
                f.write_str(kind.into())?;
                let code_point = kind.code_point();
                code_point.map_or(Ok(()), |code_point| write!(f, " (U+{code_point:04X})"))
            }
            Self::Unmappable(code_point) => write!(f, "unmappable (U+{code_point:04X})"),
        }
    }
}

/// Counts of repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// Sequences that were malformed or unmappable.
    pub count: u64,
    /// The first of them.
    pub first: Option<ConvertError>,
}

/// A conversion of a stream.
///
/// ```
/// use utf8fs::codec::{Coding, Converter};
/// let [from, to] = ["iso-8859-1", "utf-8"].map(|label| Coding::from_label(label).unwrap());
/// let mut converter = Converter::new(from, to, None);
/// let mut output = Vec::new();
/// converter.convert(b"caf", &mut output).unwrap();
/// converter.convert(b"\xE9", &mut output).unwrap();
/// converter.finish(&mut output).unwrap();
/// assert_eq!(output, "café".as_bytes());
/// ```
#[derive(Debug)]
pub struct Converter {
    from: Coding,
    to: Coding,
    lossy: Option<Repair>,
    /// Input that is not converted yet, since its meaning depends on what follows.
    kept: Vec<u8>,
    /// Offset of `kept` in the whole input.
    offset: u64,
    /// Output that is not given out yet, since what follows may change it.
    written: Vec<u8>,
    /// What was repaired so far.
    pub repairs: Repairs,
}

impl Converter {
    /// A conversion that stops at what is malformed or unmappable, or repairs it.
    pub fn new(from: Coding, to: Coding, lossy: Option<Repair>) -> Self {
        Self {
            from,
            to,
            lossy,
            kept: Vec::new(),
            offset: 0,
            written: Vec::new(),
            repairs: Repairs::default(),
        }
    }

    /// Takes the next piece of the input, and adds to `output` what is certain by now.
    ///
    /// # Errors
    /// The input is malformed or unmappable, and is not to be repaired, or cannot: the target lacks the repair too.
    /// Everything before it was added; the conversion is over.
    pub fn convert(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), ConvertError> {
        self.kept.extend_from_slice(input);
        let done = self.run(false);
        // A surrogate may turn out to be half of a pair of WTF-8.
        let certain = if done.is_err() {
            self.written.len()
        } else {
            self.written.len().saturating_sub(LOOKAHEAD)
        };
        output.extend(self.written.drain(..certain));
        done
    }

    /// Ends the input, and adds the rest to `output`.
    ///
    /// # Errors
    /// As for [`Converter::convert`].
    pub fn finish(&mut self, output: &mut Vec<u8>) -> Result<(), ConvertError> {
        let done = self.run(true);
        output.append(&mut self.written);
        done
    }

    fn run(&mut self, is_last: bool) -> Result<(), ConvertError> {
        let kept = std::mem::take(&mut self.kept);
        let mut rest = kept.as_slice();
        let mut code_points = Vec::new();
        loop {
            code_points.clear();
            let decoded = self.from.decode_into(rest, is_last, &mut code_points);
            let length = decoded.unwrap_or_else(|error| error.offset);
            let (known, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            self.encode(known, &code_points)?;
            self.offset += as_u64(known.len());
            rest = behind;
            let Err(error) = decoded else {
                break;
            };
            let length = match (self.lossy, self.from) {
                (Some(Repair::Replace), Coding::Form(encoding)) => encoding.maximal_subpart(rest),
                _ => error.length,
            };
            let (malformed, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let fault = ConvertFault::Malformed(error.kind);
            self.repair(self.offset, malformed, error.length, fault)?;
            self.offset += as_u64(malformed.len());
            rest = behind;
        }
        self.kept = rest.to_vec();
        Ok(())
    }

    /// Writes the characters that `known` decoded to.
    fn encode(&mut self, known: &[u8], code_points: &[u32]) -> Result<(), ConvertError> {
        let mut left = code_points;
        // Where in `known` the first of `left` is.
        let mut place = 0;
        while let Err(index) = self.to.encode_into(left, &mut self.written) {
            let mut length = 0;
            for _ in 0..=index {
                place += length;
                let rest = known.get(place..).unwrap_or_default();
                length = match self.from {
                    Coding::Form(encoding) => encoding.first(rest).map(|piece| piece.length),
                    Coding::Legacy(charset) => charset.first_len(rest),
                }
                .unwrap_or(1);
            }
            let unmappable = known.get(place..place + length).unwrap_or_default();
            let code_point = left.get(index).copied().unwrap_or_default();
            let fault = ConvertFault::Unmappable(code_point);
            self.repair(self.offset + as_u64(place), unmappable, length, fault)?;
            place += length;
            left = left.get(index + 1..).unwrap_or_default();
        }
        Ok(())
    }

    /// Writes what stands for `sequence`, which lies at this offset of the whole input.
    fn repair(
        &mut self,
        offset: u64,
        sequence: &[u8],
        length: usize,
        fault: ConvertFault,
    ) -> Result<(), ConvertError> {
        let error = ConvertError {
            offset,
            length,
            fault,
            no_repair: None,
        };
        let repair = self.lossy.ok_or(error)?;
        self.repairs.count += 1;
        self.repairs.first.get_or_insert(error);
        let by_octet =
            |code_point: fn(u8) -> u32| sequence.iter().copied().map(code_point).collect();
        let code_points: Vec<u32> = match repair {
            Repair::Replace => vec![0xFFFD],
            Repair::Utf8b => by_octet(|octet| match octet {
                0..0x80 => octet.into(),
                0x80.. => 0xDC00 | u32::from(octet),
            }),
            Repair::Latin1 => by_octet(u32::from),
            // The library has C1 controls where windows-1252 has no characters.
            Repair::Windows1252 => {
                let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(sequence);
                text.chars().map(u32::from).collect()
            }
        };
        let before = self.written.len();
        match self.to.encode_into(&code_points, &mut self.written) {
            Ok(()) => Ok(()),
            Err(_) if repair == Repair::Replace => {
                let mark = self.to.encode_into(&[0x3F], &mut self.written);
                mark.map_err(|_index| error)
            }
            Err(index) => {
                self.written.truncate(before);
                Err(ConvertError {
                    no_repair: code_points.get(index).copied(),
                    ..error
                })
            }
        }
    }
}

/// A length in bytes, as a part of an offset.
fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
