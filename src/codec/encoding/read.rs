//! From octets to code points.

use super::{DecodeError, Encoding, Fault, LOOKAHEAD, Piece, Scheme, draft, octets, units};

impl Encoding {
    /// Checks that `bytes` are well-formed; allocates nothing.
    ///
    /// # Errors
    /// The first ill-formed sequence, with its offset, length and kind.
    pub fn validate(self, bytes: &[u8]) -> Result<(), DecodeError> {
        match self.scheme() {
            Scheme::Octets(rules) => octets::validate(bytes, rules),
            Scheme::Escaping(_) => Ok(()),
            Scheme::Draft | Scheme::Units(..) => {
                let fault = self.pieces(bytes).find_map(|piece| piece.error());
                fault.map_or(Ok(()), Err)
            }
        }
    }

    /// The ill-formed sequences of `bytes`, first to last; none overlap.
    pub fn ill_formed(self, bytes: &[u8]) -> impl Iterator<Item = DecodeError> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let error = self.validate(bytes.get(start..)?).err()?;
            let found = DecodeError {
                offset: start + error.offset,
                ..error
            };
            start = found.offset + found.length;
            Some(found)
        })
    }

    /// The sequence that `bytes` start with; `None` if they are empty. It looks at [`LOOKAHEAD`] octets at most.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// let piece = Encoding::Utf8.first("é.txt".as_bytes()).unwrap();
    /// assert_eq!((piece.length, piece.spells), (2, Ok(0xE9)));
    /// ```
    #[must_use]
    pub fn first(self, bytes: &[u8]) -> Option<Piece> {
        if bytes.is_empty() {
            return None;
        }
        let found = match self.scheme() {
            Scheme::Octets(rules) => octets::first(bytes, rules),
            Scheme::Escaping(rules) => octets::first(bytes, rules).or_else(|_fault| escaped(bytes)),
            Scheme::Draft => draft::first(bytes),
            Scheme::Units(unit, order) => units::first(bytes, unit, order),
        };
        let (length, spells) = match found {
            Ok((code_point, length)) => (length, Ok(code_point)),
            Err(Fault { length, kind }) => (length, Err(kind)),
        };
        Some(Piece {
            offset: 0,
            length,
            spells,
        })
    }

    /// The sequences of `bytes`, well-formed and ill-formed, first to last, without a gap.
    pub fn pieces(self, bytes: &[u8]) -> impl Iterator<Item = Piece> {
        let mut offset = 0;
        std::iter::from_fn(move || {
            let piece = self.first(bytes.get(offset..)?)?;
            let found = Piece { offset, ..piece };
            offset += piece.length;
            Some(found)
        })
    }

    /// The code points that `bytes` spell.
    ///
    /// # Errors
    /// The first ill-formed sequence.
    pub fn decode(self, bytes: &[u8]) -> Result<Vec<u32>, DecodeError> {
        let mut code_points = Vec::new();
        self.decode_into(bytes, true, &mut code_points)?;
        Ok(code_points)
    }

    /// Adds the code points that `bytes` spell to `code_points` and says how many octets these were: all of them if
    /// `is_last`. Else up to five octets at the end may be left, whose meaning hangs on what follows: give them again,
    /// in front of it.
    ///
    /// # Errors
    /// The first ill-formed sequence; what comes before it was added.
    pub fn decode_into(
        self,
        bytes: &[u8],
        is_last: bool,
        code_points: &mut Vec<u32>,
    ) -> Result<usize, DecodeError> {
        let kept = if is_last { 0 } else { LOOKAHEAD - 1 };
        match self.scheme() {
            Scheme::Octets(rules) => {
                decode_with(bytes, kept, code_points, rules.has_nul(), |rest| {
                    octets::first(rest, rules)
                })
            }
            Scheme::Escaping(rules) => decode_with(bytes, kept, code_points, true, |rest| {
                octets::first(rest, rules).or_else(|_fault| escaped(rest))
            }),
            Scheme::Draft => decode_with(bytes, kept, code_points, true, draft::first),
            Scheme::Units(unit, order) => units::decode_into(bytes, kept, unit, order, code_points),
        }
    }
}

/// UTF-8B's character for the first octet of what is ill-formed.
fn escaped(bytes: &[u8]) -> Result<(u32, usize), Fault> {
    let octet = bytes.first().copied().unwrap_or_default();
    Ok((0xDC00 | u32::from(octet), 1))
}

/// Decodes `bytes`, but for the last `kept`, by what `first` makes of the start of what is left; runs of ASCII, among
/// which NUL is one if `has_nul`, are taken in blocks. Says how many octets were decoded.
#[inline]
fn decode_with(
    bytes: &[u8],
    kept: usize,
    code_points: &mut Vec<u32>,
    has_nul: bool,
    first: impl Fn(&[u8]) -> Result<(u32, usize), Fault>,
) -> Result<usize, DecodeError> {
    const BLOCK: usize = 16;
    code_points.reserve(bytes.len());
    let mut rest = bytes;
    while rest.len() > kept {
        while let Some((block, behind)) = rest.split_first_chunk::<BLOCK>()
            && block.is_ascii()
            && (has_nul || !block.contains(&0))
        {
            code_points.extend_from_slice(&block.map(u32::from));
            rest = behind;
        }
        // After as many characters, there may be a run again.
        for _ in 0..BLOCK {
            if rest.len() <= kept {
                break;
            }
            let (code_point, length) = first(rest).map_err(|fault| DecodeError {
                offset: bytes.len() - rest.len(),
                length: fault.length,
                kind: fault.kind,
            })?;
            code_points.push(code_point);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    Ok(bytes.len() - rest.len())
}
