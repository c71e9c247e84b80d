//! Legacy charsets by their IANA label.

/// A stateless legacy charset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Charset(&'static str);

impl std::fmt::Debug for Charset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// A label that names no charset on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCharset {
    /// The label as given.
    pub label: String,
    /// Why a known charset is not on offer (UTF-7, UTF-16, ISO-2022, EBCDIC, UTF-8 itself); `None` if it is just not known.
    pub reason: Option<&'static str>,
    /// Offered labels that look like it, nearest first, at most five.
    pub near: Vec<&'static str>,
}

/// A character that the charset lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeError {
    /// Its offset in the text, in bytes.
    pub offset: usize,
    /// The character.
    pub unmappable: char,
}

impl Charset {
    /// Finds the charset with this label or alias; case does not matter.
    ///
    /// # Errors
    /// No such charset, or one that is kept out on purpose.
    pub fn from_label(label: &str) -> Result<Self, UnknownCharset> {
        let _x = label;
        todo!()
    }
    /// The preferred label, lower case: `iso-8859-1`.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.0
    }
    /// Every charset on offer.
    pub fn all() -> impl Iterator<Item = Self> {
        [].into_iter()
    }
    /// Decodes; strict. Not checked: that the text encodes back to the same bytes.
    ///
    /// # Errors
    /// Offset of the first byte that does not decode.
    pub fn decode(self, bytes: &[u8]) -> Result<String, usize> {
        let _x = bytes;
        todo!()
    }
    /// Encodes; strict.
    ///
    /// # Errors
    /// The first character that the charset lacks.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let _x = text;
        todo!()
    }
    /// Decodes if the text encodes back to just these bytes (law N6); else `None`.
    #[must_use]
    pub fn decode_reversibly(self, bytes: &[u8]) -> Option<String> {
        let _x = bytes;
        todo!()
    }
}
