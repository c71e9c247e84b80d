//! From octets to code points.

use super::{DecodeError, Encoding, LOOKAHEAD, Piece, Scheme, draft, octets, units};

impl Encoding {
    /// Checks that `bytes` are well-formed; allocates nothing.
    ///
    /// # Errors
    /// The first ill-formed sequence, with its offset, length and kind.
    #[inline]
    pub fn validate(self, bytes: &[u8]) -> Result<(), DecodeError> {
        // These have all of RFC 3629.
        let is_wider = matches!(
            self,
            Self::Utf8 | Self::Utf8Rfc2279 | Self::FssUtf | Self::FssUtfXutf | Self::Wtf8
        );
        let is_known = if self == Self::Utf8Bmp {
            bytes.is_ascii()
                || core::str::from_utf8(bytes).is_ok() && !octets::has_octet_from_f0(bytes)
        } else {
            self == Self::Utf8b || is_wider && core::str::from_utf8(bytes).is_ok()
        };
        if is_known {
            return Ok(());
        }
        self.look_closely(bytes)
    }

    /// [`Self::validate`], where it has not been seen at a glance.
    fn look_closely(self, bytes: &[u8]) -> Result<(), DecodeError> {
        match self.scheme() {
            Scheme::Octets(rules) => octets::validate(bytes, rules),
            Scheme::Draft | Scheme::Units(..) => {
                let fault = self.pieces(bytes).find_map(Piece::error);
                fault.map_or(Ok(()), Err)
            }
        }
    }

    /// The ill-formed sequences of `bytes`, first to last; none overlap.
    pub fn ill_formed(self, bytes: &[u8]) -> impl Iterator<Item = DecodeError> {
        // Most names have none, and are quickly known.
        let bytes = if self.validate(bytes).is_ok() {
            b""
        } else {
            bytes
        };
        self.pieces(bytes).filter_map(Piece::error)
    }

    /// The sequence that `bytes` start with; `None` if they are empty. It looks at [`LOOKAHEAD`] octets at most.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// let piece = Encoding::Utf8.first("é.txt".as_bytes()).unwrap();
    /// assert_eq!((piece.length, piece.spells), (2, Ok(0xE9)));
    /// ```
    pub fn first(self, bytes: &[u8]) -> Option<Piece> {
        if bytes.is_empty() {
            return None;
        }
        let found = match self.scheme() {
            Scheme::Octets(rules) => octets::first(bytes, rules),
            Scheme::Draft => draft::first(bytes),
            Scheme::Units(unit, order) => units::first(bytes, unit, order),
        };
        let (length, spells) = match found {
            Ok((code_point, length)) => (length, Ok(code_point)),
            Err(error) => (error.length, Err(error.kind)),
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

    /// Returns the length of the maximal subpart of the ill-formed sequence at the start of `bytes`, which one U+FFFD
    /// replaces. That is the most octets that a well-formed sequence could start with, or 1 (Unicode 3.9, "U+FFFD
    /// Substitution of Maximal Subparts"). Units of two or four octets are taken whole.
    ///
    /// ```
    /// use utf8fs::codec::Encoding;
    /// assert_eq!(Encoding::Utf8.maximal_subpart(b"\xF0\x9F\x98a"), 3); // a truncated sequence is one
    /// assert_eq!(Encoding::Utf8.maximal_subpart(b"\xE0\x80\xAF"), 1); // no well-formed one starts with E0 80
    /// ```
    pub fn maximal_subpart(self, bytes: &[u8]) -> usize {
        let Some(piece) = self.first(bytes) else {
            return 0;
        };
        let starts = |length: &usize| self.may_start(bytes.get(..*length).unwrap_or_default());
        match self.scheme() {
            Scheme::Units(..) => piece.length,
            Scheme::Octets(_) | Scheme::Draft => (2..=piece.length).rev().find(starts).unwrap_or(1),
        }
    }

    /// Says whether a well-formed sequence of octets can start with `prefix`. It can if `prefix` filled up with the
    /// least or the greatest continuation octets does, or with a surrogate that makes a pair: the rules exclude only
    /// one end of a length.
    fn may_start(self, prefix: &[u8]) -> bool {
        const FILLINGS: [[u8; LOOKAHEAD]; 4] = [
            [0x80; LOOKAHEAD],
            [0xBF; LOOKAHEAD],
            [0xFF; LOOKAHEAD],
            *b"\x80\x80\x80\xED\xB0\x80",
        ];
        FILLINGS.into_iter().any(|mut whole| {
            let octets = whole.iter_mut().zip(prefix);
            octets.for_each(|(to, from)| *to = *from);
            let piece = self.first(&whole);
            piece.is_some_and(|piece| piece.spells.is_ok() && piece.length >= prefix.len())
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
                let run = |rest, to: &mut _| decode_ascii(rest, !rules.is_nul_two_octets, to);
                let usual = |rest: &[u8]| octets::usual(rest, rules);
                let other = |rest: &[u8]| octets::unusual(rest, rules);
                decode_with(bytes, kept, code_points, run, usual, other)
            }
            Scheme::Draft => {
                let run = |rest, to: &mut _| decode_ascii(rest, true, to);
                decode_with(bytes, kept, code_points, run, draft::usual, draft::first)
            }
            Scheme::Units(unit, order) => {
                let run = |rest, to: &mut _| units::take_run(rest, unit, order, to);
                let first = |rest: &[u8]| units::first(rest, unit, order);
                decode_with(bytes, kept, code_points, run, |_| None, first)
            }
        }
    }
}

/// Decodes `bytes`, except for the last `kept`: runs that `run` takes as a whole, and what is between them character by
/// character, by `usual` or else `other`. Apart, the usual ones take two thirds of the time. Returns the number of
/// octets decoded.
#[inline]
fn decode_with<'a>(
    bytes: &'a [u8],
    kept: usize,
    code_points: &mut Vec<u32>,
    run: impl Fn(&'a [u8], &mut Vec<u32>) -> &'a [u8],
    usual: impl Fn(&[u8]) -> Option<(u32, usize)>,
    other: impl Fn(&[u8]) -> Result<(u32, usize), DecodeError>,
) -> Result<usize, DecodeError> {
    /// Number of characters that are read one by one before a run is looked for again.
    const BLOCK: usize = 16;
    code_points.reserve(bytes.len());
    let mut rest = bytes;
    while rest.len() > kept {
        rest = run(rest, code_points);
        for _ in 0..BLOCK {
            if rest.len() <= kept {
                break;
            }
            let (code_point, length) = match usual(rest) {
                Some(found) => found,
                None => other(rest).map_err(|error| DecodeError {
                    offset: bytes.len() - rest.len(),
                    ..error
                })?,
            };
            code_points.push(code_point);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    Ok(bytes.len() - rest.len())
}

/// Decodes the run of ASCII at the start of `bytes`, in whole blocks, and gives what is behind it; NUL ends it if not
/// `has_nul`.
#[inline]
fn decode_ascii<'a>(bytes: &'a [u8], has_nul: bool, code_points: &mut Vec<u32>) -> &'a [u8] {
    match bytes {
        [0..0x80, ..] => decode_ascii_blocks(bytes, has_nul, code_points),
        _ => bytes,
    }
}

/// [`decode_ascii`], where there may be such a run. Apart from what surrounds it, so that it is the same quick loop for every form.
#[inline(never)]
fn decode_ascii_blocks<'a>(bytes: &'a [u8], has_nul: bool, code_points: &mut Vec<u32>) -> &'a [u8] {
    const BLOCK: usize = 16;
    let least = u8::from(!has_nul);
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let is_plain = |block: &&[u8; BLOCK]| {
        let plain = block
            .iter()
            .map(|octet| octet.wrapping_sub(least) < 0x80 - least);
        plain.fold(true, |all, one| all & one)
    };
    let run = BLOCK * blocks.iter().take_while(is_plain).count();
    let (ascii, behind) = bytes.split_at_checked(run).unwrap_or((&[], bytes));
    code_points.extend(ascii.iter().map(|&octet| u32::from(octet)));
    behind
}
